"""What turns text into vectors and into token counts?"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from mnemic.types import Vector


def input_hash(tenant_id: str, model_id: str, text: str) -> bytes:
    """Hash a whole model input under its tenant and model: the key of a cached vector (REQ-010-037)."""
    parts = (part.encode("utf-8", "surrogatepass") for part in (tenant_id, model_id, text))
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "big") + part for part in parts)).digest()


class Embedder(ABC):
    """Text to normalised vectors of one space; vectors of two ``model_id`` are never compared."""

    model_id: str
    """Names the space: model files, pooling, truncation, prefixes, whatever moves a vector."""
    dim: int
    max_tokens: int
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

    async def open(self) -> None:
        """Load and verify; may be repeated."""

    async def close(self) -> None:
        """Let go of the model; may be repeated."""

    def count_tokens(self, text: str) -> int:
        """Tokens of this model's own tokenizer, special ones left out."""
        return len(text) // 4 + 1


class EmbeddingCache(ABC):
    """Keeps vectors by a hash of the whole model input; holds no text (REQ-010-037)."""

    @abstractmethod
    async def cached(self, tenant_id: str, model_id: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors that are known."""

    @abstractmethod
    async def keep(self, tenant_id: str, model_id: str, vectors: Mapping[bytes, Vector]) -> None:
        """Remember vectors across restarts, within a bound."""


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
