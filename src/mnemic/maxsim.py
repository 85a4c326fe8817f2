"""How alike are a question and a text, token by token? Late interaction over stored token vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from mnemic.types import Vector

__all__ = ["maxsim", "pack_tokens", "unpack_tokens"]

Pairs = npt.NDArray[np.uint8]

_LEVELS: Final = 7
_MIDDLE: Final = 8
_SCALE: Final = np.dtype("<f2")
_SINGLE_THREAD: Final = 1 << 18
"""Products of up to so many multiplications take no BLAS threads, which here cost many times what they save."""


def pack_tokens(tokens: Vector) -> bytes:
    """Store token vectors compactly: 4 bits a number with one float16 scale for each token, the scales first.

    Args:
        tokens: float32 [tokens, dim], ``dim`` even.

    Returns:
        tokens * (dim / 2 + 2) bytes.
    """
    largest = np.abs(tokens).max(axis=1, keepdims=True, initial=1e-4)
    scales = (largest / _LEVELS).astype(_SCALE)
    levels = np.clip(np.rint(tokens / scales.astype(np.float32)), -_LEVELS, _LEVELS) + _MIDDLE
    pairs = levels.astype(np.uint8)
    packed: bytes = scales.tobytes() + (pairs[:, ::2] | pairs[:, 1::2] << 4).tobytes()
    return packed


def unpack_tokens(packed: bytes, dim: int) -> Vector:
    """Give token vectors as they were stored, float32 [tokens, dim]."""
    scales, pairs = _parts([packed], dim)
    tokens = np.empty((len(pairs), dim), dtype=np.float32)
    tokens[:, ::2], tokens[:, 1::2] = pairs & 15, pairs >> 4
    tokens -= _MIDDLE
    tokens *= scales[:, None]
    return tokens


def maxsim(question: Vector, packed: Sequence[bytes]) -> Vector:
    """Score texts by the mean over the question's tokens of the best product with a token of the text.

    Args:
        question: Token vectors of the question, float32 [tokens, dim].
        packed: Token vectors of each text, as ``pack_tokens`` gives them, at least one token each.

    Returns:
        float32 [texts]; about -1 to 1.

    Source: late interaction (ColBERT); measured in retrieval over the packaged model's own token vectors.
    """
    if not len(packed) or not len(question):
        return np.zeros(len(packed), dtype=np.float32)
    dim = question.shape[1]
    scales, pairs = _parts(packed, dim)
    products = _products(question, pairs)
    products *= scales
    ends = np.cumsum([_count(blob, dim) for blob in packed])
    best: Vector = np.maximum.reduceat(products, [0, *ends[:-1]], axis=1).mean(axis=0)
    return best


def _products(question: Vector, pairs: Pairs) -> Vector:
    """Multiply each question token with the levels of each text token: float32 [question tokens, text tokens]."""
    even, odd = np.ascontiguousarray(question[:, ::2]), np.ascontiguousarray(question[:, 1::2])
    products = np.empty((len(question), len(pairs)), dtype=np.float32)
    step = max(1, _SINGLE_THREAD // even.size)
    for start in range(0, len(pairs), step):
        part = pairs[start : start + step]
        products[:, start : start + step] = even @ (part & 15).astype(np.float32).T
        products[:, start : start + step] += odd @ (part >> 4).astype(np.float32).T
    products -= _MIDDLE * question.sum(axis=1, keepdims=True)
    return products


def _count(blob: bytes, dim: int) -> int:
    return len(blob) // (dim // 2 + _SCALE.itemsize)


def _parts(packed: Sequence[bytes], dim: int) -> tuple[Vector, Pairs]:
    """The scales [tokens] and the pairs of levels [tokens, dim / 2] of all texts, one behind the other."""
    starts = [_count(blob, dim) * _SCALE.itemsize for blob in packed]
    scales = b"".join(blob[:start] for blob, start in zip(packed, starts, strict=True))
    pairs = b"".join(blob[start:] for blob, start in zip(packed, starts, strict=True))
    levels: Pairs = np.frombuffer(pairs, np.uint8).reshape(-1, dim // 2)
    return np.frombuffer(scales, _SCALE).astype(np.float32), levels
