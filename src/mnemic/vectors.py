"""How are vectors compared, packed and scanned?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mnemic.errors import DimensionError
from mnemic.types import Vector

__all__ = ["VectorIndex", "cosine", "normalise", "pack", "unpack"]

Ids = npt.NDArray[np.int64]

_RESCORED = 400
_EXACT_SUBSET = 4_096
_WORD_BITS = 64
_DECIMALS = 6


def normalise(vector: Sequence[float] | Vector, *, dim: int | None = None) -> Vector:
    """Give one vector of length 1 in float32.

    Args:
        vector: Numbers.
        dim: The size it must have; None means any.

    Raises:
        DimensionError: Another size or shape, NaN, infinity, or all zeros.
    """
    try:
        given = np.asarray(vector, dtype=np.float64)
    except (TypeError, ValueError):
        raise DimensionError("embedding is no list of numbers; give a vector of floats") from None
    if given.ndim != 1 or given.size == 0 or (dim is not None and given.size != dim):
        wanted = f"{dim} numbers" if dim else "one row of numbers"
        raise DimensionError(f"embedding has the shape {given.shape}; give {wanted}")
    if not np.isfinite(given).all():
        raise DimensionError("embedding holds NaN or infinity; give finite numbers")
    largest = float(np.abs(given).max())
    if largest == 0.0:
        raise DimensionError("embedding is all zeros, so it has no direction; give another vector")
    scaled = given / largest  # the squares of very large or very small numbers would leave the range of floats
    unit: Vector = (scaled / np.sqrt(np.square(scaled).sum())).astype(np.float32)  # a BLAS norm gives up the lock
    return unit


def cosine(one: Sequence[float] | Vector, other: Sequence[float] | Vector) -> float:
    """Give the cosine of the angle between two vectors, in [-1, 1].

    Raises:
        DimensionError: Their sizes differ, or one cannot be normalised.
    """
    left = normalise(one)
    return float(np.clip(np.dot(left, normalise(other, dim=left.size)), -1.0, 1.0))


def pack(vector: Sequence[float] | Vector) -> bytes:
    """Give the stored form: normalised, float16, little-endian (cosine to the given one at least 0.9999)."""
    return normalise(vector).astype("<f2").tobytes()


def unpack(packed: bytes | Sequence[bytes]) -> Vector:
    """Give one stored vector, or rows of them, in float32 and of length 1 again."""
    joined = packed if isinstance(packed, bytes) else b"".join(packed)
    rows = np.frombuffer(joined, dtype="<f2").astype(np.float32)
    if not isinstance(packed, bytes):
        rows = rows.reshape(len(packed), -1)
    lengths: Vector = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows / lengths


class VectorIndex:
    """Rows of one vector space by integer id: an exact scan up to ``exact_limit`` rows, sign bits above.

    Above the limit rows are kept as float16, each with the signs of its numbers as bits; the nearest by Hamming
    distance are rescored exactly. Not safe for use by two threads at once.
    """

    def __init__(self, dim: int, *, exact_limit: int = 50_000) -> None:
        self.dim = dim
        self._exact_limit = exact_limit
        self._count = 0
        self._ids: Ids = np.empty(0, np.int64)
        self._rows: npt.NDArray[Any] = np.empty((0, dim), np.float32)
        self._bits = np.empty((0, -(-dim // _WORD_BITS)), np.uint64)
        self._place: dict[int, int] = {}

    def __len__(self) -> int:
        return self._count

    def __contains__(self, id_: int) -> bool:
        return id_ in self._place

    @property
    def exact(self) -> bool:
        """Whether every row is compared."""
        return self._rows.dtype == np.float32

    def put(self, ids: Sequence[int], rows: Vector) -> None:
        """Add rows of length 1, or replace those that are there.

        Raises:
            DimensionError: The rows have another size.
        """
        if rows.ndim != 2 or rows.shape[1] != self.dim:
            raise DimensionError(f"rows have the shape {rows.shape}; give rows of {self.dim} numbers")
        places = np.array([self._place.setdefault(id_, len(self._place)) for id_ in ids], np.int64)
        self._count = len(self._place)
        self._make_room()
        self._ids[places] = ids
        self._rows[places] = rows
        if not self.exact:
            self._bits[places] = _signs(rows)

    def remove(self, ids: Sequence[int]) -> None:
        """Take rows away; unknown ids are none."""
        for id_ in ids:
            place = self._place.pop(id_, None)
            if place is None:
                continue
            self._count -= 1
            last = self._count
            if place != last:
                for column in (self._ids, self._rows, self._bits):
                    if len(column):
                        column[place] = column[last]
                self._place[int(self._ids[place])] = place

    def search(self, query: Vector, k: int, *, allowed: Sequence[int] | Ids | None = None) -> tuple[Ids, Vector]:
        """Find the nearest rows, best first.

        Args:
            query: A vector of length 1.
            k: So many rows at least, where there are as many; ties with the last one come along.
            allowed: Only rows of these ids; None means all.

        Returns:
            Ids and scores: max(0, cosine), to 6 decimals, so that equal vectors have equal scores.

        Raises:
            DimensionError: The query has another size.
        """
        if query.shape != (self.dim,):
            raise DimensionError(f"query has the shape {query.shape}, stored vectors have {self.dim} numbers")
        places = None if allowed is None else self._places(allowed)
        total = self._count if places is None else len(places)
        if not self.exact and total > _EXACT_SUBSET:
            places = self._nearest_signs(query, max(_RESCORED, 4 * k), places)
        scores: Vector = np.maximum(self._cosines(query, places), 0.0).round(_DECIMALS)
        ids = self._ids[: self._count] if places is None else self._ids[places]
        best = _top(scores, k)
        return ids[best], scores[best]

    def _places(self, allowed: Sequence[int] | Ids) -> Ids:
        known = (self._place.get(int(id_)) for id_ in allowed)
        return np.array([place for place in known if place is not None], np.int64)

    def _cosines(self, query: Vector, places: Ids | None) -> Vector:
        rows = self._rows[: self._count] if places is None else self._rows[places]
        # vecdot takes no BLAS threads, which on small products cost many times what they save.
        cosines: Vector = np.vecdot(rows.astype(np.float32, copy=False), query.astype(np.float32, copy=False))
        return cosines

    def _nearest_signs(self, query: Vector, wanted: int, places: Ids | None) -> Ids:
        bits = self._bits[: self._count] if places is None else self._bits[places]
        wanted_bits = _signs(query[np.newaxis])[0]
        distance = np.zeros(len(bits), np.uint16)
        for column in range(bits.shape[1]):
            distance += np.bitwise_count(bits[:, column] ^ wanted_bits[column])
        if wanted >= len(distance):
            return np.arange(len(distance)) if places is None else places
        nearest = np.argpartition(distance, wanted)[:wanted]
        return nearest if places is None else places[nearest]

    def _make_room(self) -> None:
        if self._count > self._exact_limit and self.exact:
            self._rows = self._rows.astype(np.float16)
            self._bits = _signs(self._rows)
        if self._count > len(self._ids):
            size = max(64, self._count + self._count // 2)
            self._ids = _grown(self._ids, size)
            self._rows = _grown(self._rows, size)
            if not self.exact:
                self._bits = _grown(self._bits, size)


def _signs(rows: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    packed = np.packbits(rows > 0, axis=1)
    padding = -packed.shape[1] % (_WORD_BITS // 8)
    return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, padding)))).view(np.uint64)


def _grown(column: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    grown = np.zeros((size, *column.shape[1:]), column.dtype)
    grown[: len(column)] = column
    return grown


def _top(scores: Vector, k: int) -> Ids:
    """Places of the k best and of what ties with the last of them, best first."""
    if k < len(scores):
        floor = np.partition(scores, len(scores) - k)[len(scores) - k]
        places = np.flatnonzero(scores >= floor)
    else:
        places = np.arange(len(scores))
    return places[np.argsort(-scores[places], kind="stable")]
