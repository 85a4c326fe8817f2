"""A deterministic embedder for tests: words hashed to directions, no model."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from mnemic.errors import ConfigurationError
from mnemic.ports import Embedder
from mnemic.types import Vector

__all__ = ["Hashing"]


class Hashing(Embedder):
    """Texts that share words are near each other, whatever the order of the words; nothing else is known.

    Args:
        dim: Numbers in a vector.
        seed: Another seed is another space.
    """

    precision = "float32"
    batch_invariant = True
    max_tokens = 1_000_000

    def __init__(self, *, dim: int = 64, seed: int = 0) -> None:
        if dim < 1:
            raise ConfigurationError(f"embedding.dimension is {dim}, must be at least 1")
        self.dim = dim
        self.model_id = f"hashing:{dim}:{seed}"
        self._seed = seed

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vector:
        """Return one row for each text, in order: of length 1, or zeros for a text without a word."""
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            words = sorted(text.casefold().split())  # sorted: a sum of floats depends on the order
            if words:
                total = np.sum([_direction(word, self.dim, self._seed) for word in words], axis=0)
                vectors[row] = total / math.sqrt(total @ total)
        return vectors

    def count_tokens(self, text: str) -> int:
        """Count the words of a text."""
        return len(text.split())


@lru_cache(maxsize=20_000)
def _direction(word: str, dim: int, seed: int) -> Vector:
    digest = hashlib.shake_128(f"{seed}:{word}".encode("utf-8", "surrogatepass")).digest(2 * dim)
    direction = np.frombuffer(digest, "<u2").astype(np.float32) - 32767.5
    return direction / math.sqrt(direction @ direction)
