"""What turns text into vectors and into token counts?"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from mnemic.maxsim import pack_tokens
from mnemic.types import Address, Vector


def input_hash(tenant_id: str, model_id: str, text: str) -> bytes:
    """Hash a whole model input under its tenant and model: the key of a cached vector (REQ-010-037)."""
    parts = (part.encode("utf-8", "surrogatepass") for part in (tenant_id, model_id, text))
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "big") + part for part in parts)).digest()


@dataclass(frozen=True, slots=True)
class ModelInput:
    """A text, and what stands before it and lends it meaning: the turn that it answers."""

    text: str
    before: str = ""

    @property
    def whole(self) -> str:
        """All that moves the vector, as one text, for the key of a cache."""
        return f"{self.before}\x1e{self.text}" if self.before else self.text


@dataclass(frozen=True, slots=True)
class Encoded:
    """What a model makes of an input.

    ``vector`` has length 1, or is all zeros where the model sees no token. ``tokens`` are the vectors of the text's own
    tokens, float32 [tokens, token_dim], of length 1 at most; None where the model gives none.
    """

    vector: Vector
    tokens: Vector | None = None


@dataclass(frozen=True, slots=True)
class Embedding:
    """What is kept of ``Encoded``: the token vectors by ``maxsim.pack_tokens``, no bytes where there are none."""

    vector: Vector
    tokens: bytes = b""

    @classmethod
    def of(cls, encoded: Encoded) -> Self:
        """Pack what a model made."""
        return cls(encoded.vector, b"" if encoded.tokens is None else pack_tokens(encoded.tokens))


class Embedder(ABC):
    """Text to normalised vectors of one space; vectors of two ``model_id`` are never compared."""

    model_id: str
    """Names the space: model files, pooling, truncation, prefixes, whatever moves a vector."""
    dim: int
    max_tokens: int
    token_dim: int = 0
    """Size of the token vectors that ``encode`` gives; 0 where it gives none."""
    sees_before: bool = False
    """Whether ``encode`` reads a text behind what stands before it."""
    precision: str = "float32"
    batch_invariant: bool = True

    @abstractmethod
    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vector:
        """Embed texts.

        Args:
            texts: Any texts, also none.
            urgent: A query: it does not wait behind batches of writes.

        Returns:
            float32 [n, dim], rows of length 1; a row of zeros where the model sees no token.

        Raises:
            EmbedderError: The model cannot answer.
        """

    async def embed_for(self, tenant_id: str, texts: Sequence[str], *, urgent: bool = False) -> Vector:
        """Embed a tenant's texts; an embedder that remembers vectors does so for each tenant apart."""
        return await self.embed(texts, urgent=urgent)

    async def encode(self, inputs: Sequence[ModelInput], *, urgent: bool = False) -> list[Encoded]:
        """Embed texts behind what stands before them, token vectors included; a plain model does neither."""
        rows = await self.embed([item.text for item in inputs], urgent=urgent)
        return [Encoded(row) for row in rows]

    async def encode_for(
        self, tenant_id: str, inputs: Sequence[ModelInput], *, urgent: bool = False
    ) -> list[Embedding]:
        """Encode a tenant's texts into the form that is kept; what is remembered, is so for each tenant apart."""
        return [Embedding.of(encoded) for encoded in await self.encode(inputs, urgent=urgent)]

    async def open(self) -> None:
        """Load and verify; may be repeated."""

    async def close(self) -> None:
        """Let go of the model; may be repeated."""

    def count_tokens(self, text: str) -> int:
        """Tokens of this model's own tokenizer, special ones left out."""
        return len(text) // 4 + 1


class EmbeddingCache(ABC):
    """Keeps vectors and token vectors by a hash of the whole model input; holds no text (REQ-010-037).

    What was committed as an entry's is known as long as it is that entry's, and goes with it, wherever it was kept.
    """

    @abstractmethod
    async def cached(self, tenant_id: str, model_id: str, hashes: Sequence[bytes]) -> dict[bytes, Embedding]:
        """What is known; ``tokens`` is empty where only the vector is."""

    @abstractmethod
    async def keep(self, tenant_id: str, model_id: str, embeddings: Mapping[bytes, Embedding]) -> None:
        """Remember what belongs to no entry, across restarts, within a bound."""

    @abstractmethod
    async def tokens_of(self, tenant_id: str, model_id: str, addresses: Sequence[Address]) -> dict[Address, bytes]:
        """The packed token vectors of live entries whose current vector is of that model; the others are left out."""


class ITokenCounter(ABC):
    """Counts and cuts text by the tokens of one model family (FR-011); offline and thread-safe."""

    name: str
    estimated: bool = False
    """Whether the count is an estimate rather than the model's own."""

    @abstractmethod
    def count(self, text: str) -> int:
        """Tokens of the text; special-token text counts as plain text; the empty text has 0."""

    @abstractmethod
    def truncate(self, text: str, max_tokens: int) -> str:
        """The longest prefix found that has at most ``max_tokens`` tokens; idempotent, valid Unicode."""
