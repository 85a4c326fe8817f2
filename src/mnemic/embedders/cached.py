"""An embedder that asks its model once for each text of a tenant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mnemic.embedders.checked import checked
from mnemic.ports import Embedder, EmbeddingCache, input_hash
from mnemic.types import Vector

__all__ = ["CachedEmbedder"]


class CachedEmbedder(Embedder):
    """Remembers an embedder's vectors for each tenant, and checks every answer of the embedder.

    It has no lock: two calls for the same text at the same time may both ask the model, and get the same vector.

    Args:
        embedder: What computes vectors.
        cache: Where they are kept; None only checks.
        index_format: Names the form of the texts, where it moves their vectors; a part of the model id.
    """

    def __init__(self, embedder: Embedder, cache: EmbeddingCache | None = None, *, index_format: str = "") -> None:
        self._embedder = embedder
        self._cache = cache
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
        if self._cache is None:
            return await self.embed(texts, urgent=urgent)
        model_id = self.model_id
        hashes = [input_hash(tenant_id, model_id, text) for text in texts]
        found = dict(await self._cache.cached(tenant_id, model_id, list(dict.fromkeys(hashes))))
        missing = {key: text for key, text in zip(hashes, texts, strict=True) if key not in found}
        if missing:
            new = dict(zip(missing, await self.embed(list(missing.values()), urgent=urgent), strict=True))
            found |= new
            # A text without a token has no vector to keep.
            await self._cache.keep(tenant_id, model_id, {key: vector for key, vector in new.items() if vector.any()})
        return np.array([found[key] for key in hashes], dtype=np.float32).reshape(len(texts), self._embedder.dim)

    def _describe(self) -> None:
        self.model_id = getattr(self._embedder, "model_id", "") + self._suffix
        self.dim = getattr(self._embedder, "dim", 0)
        self.max_tokens = self._embedder.max_tokens
        self.precision = self._embedder.precision
        self.batch_invariant = self._embedder.batch_invariant
