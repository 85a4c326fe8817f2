"""An embedder that asks its model once for each text of a tenant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mnemic.embedders.checked import checked
from mnemic.errors import DimensionError
from mnemic.ports import Embedder, Embedding, EmbeddingCache, Encoded, ModelInput, input_hash
from mnemic.types import Vector

__all__ = ["CachedEmbedder"]


class CachedEmbedder(Embedder):
    """Remembers an embedder's vectors for each tenant, and checks every answer of the embedder.

    It has no lock: two calls for the same text at the same time may both ask the model, and get the same vector.

    Args:
        embedder: What computes vectors.
        cache: Where they are kept; None only checks.
        index_format: Names the form of the texts, where it moves their vectors; a part of the model id.
        token_vectors: Whether `encode` and `encode_for` give the token vectors that the embedder has.
    """

    def __init__(
        self,
        embedder: Embedder,
        cache: EmbeddingCache | None = None,
        *,
        index_format: str = "",
        token_vectors: bool = True,
    ) -> None:
        self._embedder = embedder
        self._cache = cache
        self._token_vectors = token_vectors
        self._suffix = f"+{index_format}" if index_format else ""
        self._describe()

    async def open(self) -> None:
        """Open the embedder."""
        await self._embedder.open()
        self._describe()

    async def close(self) -> None:
        """Close the embedder; the cache belongs to its store."""
        await self._embedder.close()

    def count_tokens(self, text: str) -> int:
        """Count by the embedder's tokenizer."""
        return self._embedder.count_tokens(text)

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vector:
        """Embed texts that belong to no tenant: nothing is looked up or kept.

        Raises:
            EmbedderError: The model cannot answer, or answered with another number of vectors.
            DimensionError: The model answered with vectors of another size, or not finite.
        """
        return checked(await self._embedder.embed(texts, urgent=urgent), len(texts), self._embedder.dim)

    async def embed_for(self, tenant_id: str, texts: Sequence[str], *, urgent: bool = False) -> Vector:
        """Embed a tenant's texts, each different one at most once.

        Args:
            tenant_id: Whose texts these are; nothing is shared between tenants.
            texts: Whole model inputs, context included.
            urgent: A query: it does not wait behind batches of writes.

        Returns:
            One row for each text, in order, as `embed` does.

        Raises:
            EmbedderError: The model cannot answer, or answered with another number of vectors.
            DimensionError: The model answered with vectors of another size, or not finite.
        """
        hashes = self._hashes(tenant_id, texts)
        found = await self._known(tenant_id, hashes)
        missing = {key: text for key, text in zip(hashes, texts, strict=True) if key not in found}
        if missing:
            rows = await self.embed(list(missing.values()), urgent=urgent)
            new = dict(zip(missing, map(Embedding, rows), strict=True))
            await self._keep(tenant_id, new)
            found |= new
        return np.array([found[key].vector for key in hashes], dtype=np.float32).reshape(len(texts), self._embedder.dim)

    async def encode(self, inputs: Sequence[ModelInput], *, urgent: bool = False) -> list[Encoded]:
        """Encode texts that belong to no tenant: nothing is looked up or kept.

        Raises:
            EmbedderError: The model cannot answer, or answered with another number of vectors.
            DimensionError: The model answered with vectors of another size, or not finite.
        """
        encoded = await self._embedder.encode(inputs, urgent=urgent)
        rows = checked([item.vector for item in encoded], len(inputs), self._embedder.dim)
        return [Encoded(row, self._tokens(item)) for row, item in zip(rows, encoded, strict=True)]

    async def encode_for(
        self, tenant_id: str, inputs: Sequence[ModelInput], *, urgent: bool = False
    ) -> list[Embedding]:
        """Encode a tenant's texts, each different one at most once.

        What was made for a query is kept. What was made for a write is not: it is known from its entry once it is
        committed there, and goes with it (FR-010).

        Args:
            tenant_id: Whose texts these are; nothing is shared between tenants.
            inputs: Texts with what stands before them.
            urgent: A query: it does not wait behind batches of writes.

        Returns:
            A vector with packed token vectors for each text, in order.

        Raises:
            EmbedderError: The model cannot answer, or answered with another number of vectors.
            DimensionError: The model answered with vectors of another size, or not finite.
        """
        hashes = self._hashes(tenant_id, [item.whole for item in inputs])
        known = await self._known(tenant_id, hashes)
        found = {key: embedding for key, embedding in known.items() if embedding.tokens or not self.token_dim}
        missing = {key: item for key, item in zip(hashes, inputs, strict=True) if key not in found}
        if missing:
            encoded = await self.encode(list(missing.values()), urgent=urgent)
            new = dict(zip(missing, map(Embedding.of, encoded), strict=True))
            if urgent:
                await self._keep(tenant_id, new)
            found |= new
        return [found[key] for key in hashes]

    def _hashes(self, tenant_id: str, texts: Sequence[str]) -> list[bytes]:
        return [input_hash(tenant_id, self.model_id, text) for text in texts]

    async def _known(self, tenant_id: str, hashes: Sequence[bytes]) -> dict[bytes, Embedding]:
        if self._cache is None:
            return {}
        return dict(await self._cache.cached(tenant_id, self.model_id, list(dict.fromkeys(hashes))))

    async def _keep(self, tenant_id: str, new: Mapping[bytes, Embedding]) -> None:
        if self._cache is not None:
            # A text without a token has no vector to keep.
            telling = {key: embedding for key, embedding in new.items() if embedding.vector.any()}
            await self._cache.keep(tenant_id, self.model_id, telling)

    def _tokens(self, item: Encoded) -> Vector | None:
        if item.tokens is None or not self.token_dim:
            return None
        if item.tokens.ndim != 2 or item.tokens.shape[1] != self.token_dim or not np.isfinite(item.tokens).all():
            raise DimensionError(f"the embedder's token vectors are no table of finite numbers [any, {self.token_dim}]")
        return item.tokens

    def _describe(self) -> None:
        self.model_id = getattr(self._embedder, "model_id", "") + self._suffix
        self.dim = getattr(self._embedder, "dim", 0)
        self.token_dim = self._embedder.token_dim if self._token_vectors else 0
        self.sees_before = self._embedder.sees_before
        self.max_tokens = self._embedder.max_tokens
        self.precision = self._embedder.precision
        self.batch_invariant = self._embedder.batch_invariant
