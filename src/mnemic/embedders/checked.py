"""Are these vectors what an embedder owes?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mnemic.errors import DimensionError, EmbedderError
from mnemic.types import Vector

__all__ = ["checked"]

_TOLERANCE = 1e-4


def checked(vectors: npt.ArrayLike, count: int, dim: int) -> Vector:
    """Return an embedder's answer once it is proven to be one vector for each text.

    Args:
        vectors: What the embedder returned.
        count: Texts that were asked for.
        dim: Numbers in a vector of its space.

    Returns:
        float32 [count, dim], each row of length 1 or all zeros (the model saw no token).

    Raises:
        EmbedderError: Another number of vectors than of texts.
        DimensionError: Another number of numbers, or some that are not finite.
    """
    try:
        with np.errstate(over="ignore"):
            array = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise DimensionError(f"the embedder's answer is no table of numbers [{count}, {dim}]") from error
    seen = len(array) if array.ndim else 0
    if seen != count:
        raise EmbedderError(f"the embedder returned {seen} vectors for {count} texts")
    if not count:
        return np.zeros((0, dim), dtype=np.float32)
    if array.shape != (count, dim):
        raise DimensionError(f"the embedder returned vectors of shape {array.shape[1:]}, its space has {dim} numbers")
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        raise DimensionError(f"the embedder returned NaN or infinity for text {int(finite.argmin())} of this call")
    lengths = np.linalg.norm(array.astype(np.float64), axis=1)
    off = (np.abs(lengths - 1) > _TOLERANCE) & (lengths > 0)
    return np.where(off[:, None], array / np.where(off, lengths, 1)[:, None], array).astype(np.float32)
