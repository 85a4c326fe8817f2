"""Vectors: what is refused, what packing keeps, and that the index is a plain scan in disguise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import DimensionError
from mnemic.testing import requirement
from mnemic.types import Vector
from mnemic.vectors import VectorIndex, cosine, normalise, pack, unpack

numbers = st.floats(-1e30, 1e30, allow_nan=False, width=64)
vectors = st.lists(numbers, min_size=1, max_size=40).filter(lambda v: any(abs(x) > 1e-30 for x in v))


@given(vectors)
def test_normalising_gives_length_one(vector: list[float]) -> None:
    assert np.linalg.norm(normalise(vector)) == pytest.approx(1.0, abs=1e-5)


@requirement("TYP-015")
@given(vectors)
def test_packing_keeps_the_direction(vector: list[float]) -> None:
    assert cosine(unpack(pack(vector)), vector) >= 0.9999


@given(vectors, st.floats(1e-3, 1e3))
def test_cosine_ignores_length(vector: list[float], factor: float) -> None:
    assert cosine(vector, [x * factor for x in vector]) == pytest.approx(1.0, abs=1e-5)
    assert cosine(vector, [-x for x in vector]) == pytest.approx(-1.0, abs=1e-5)


@requirement("PRV-028")
@pytest.mark.parametrize(
    "bad", [[], [0.0, 0.0], [float("nan"), 1.0], [float("inf")], [[1.0], [2.0]], None, "text", [1.0, "x"], ["a"], {}]
)
def test_what_has_no_direction_is_refused(bad: list[float]) -> None:
    with pytest.raises(DimensionError):
        normalise(bad)


def test_another_size_is_refused() -> None:
    with pytest.raises(DimensionError, match="3 numbers"):
        normalise([1.0, 2.0], dim=3)
    with pytest.raises(DimensionError):
        cosine([1.0], [1.0, 2.0])
    index = VectorIndex(3)
    with pytest.raises(DimensionError):
        index.search(rows(1, 2)[0], 1)
    with pytest.raises(DimensionError):
        index.put([1], rows(1, 2))


def rows(count: int, dim: int, seed: int = 0) -> Vector:
    found: Vector = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


@requirement("REQ-010-017")
@given(st.data())
def test_the_index_finds_what_a_scan_finds(data: st.DataObject) -> None:
    index, pool = VectorIndex(8, exact_limit=data.draw(st.sampled_from([4, 1000]))), rows(30, 8)
    kept: dict[int, Vector] = {}
    changes = st.lists(st.tuples(st.integers(0, 20), st.integers(-1, 29)), max_size=60)
    for id_, choice in data.draw(changes):
        if choice < 0:
            index.remove([id_])
            kept.pop(id_, None)
        else:
            index.put([id_], pool[choice : choice + 1])
            kept[id_] = pool[choice]
    query, k = rows(1, 8, seed=1)[0], data.draw(st.integers(1, 25))
    allowed = data.draw(st.none() | st.lists(st.integers(0, 25), unique=True))
    ids, scores = index.search(query, k, allowed=allowed)
    wanted = {i: max(0.0, float(v @ query)) for i, v in kept.items() if allowed is None or i in allowed}
    assert len(index) == len(kept)
    assert len(ids) >= min(k, len(wanted))
    assert list(scores) == sorted(scores, reverse=True)
    assert [wanted[i] for i in ids.tolist()] == pytest.approx(scores.tolist(), abs=2e-3)
    if len(ids) < len(wanted):
        assert min(wanted[i] for i in ids.tolist()) >= max(v for i, v in wanted.items() if i not in ids) - 2e-3


def test_ties_with_the_last_come_along() -> None:
    index = VectorIndex(4)
    index.put([1, 2, 3], np.repeat(rows(1, 4), 3, axis=0))
    ids, scores = index.search(rows(1, 4)[0], 1)
    assert sorted(ids.tolist()) == [1, 2, 3]
    assert set(scores.tolist()) == {1.0}


def test_an_empty_index_finds_nothing() -> None:
    ids, scores = VectorIndex(4).search(rows(1, 4)[0], 5)
    assert len(ids) == len(scores) == 0


@requirement("REQ-010-040")
@pytest.mark.parametrize("share", [1.0, 0.1, 0.01])
def test_sign_bits_with_rescoring_keep_recall(share: float) -> None:
    centres, rng = rows(60, 384, seed=3), np.random.default_rng(4)
    points = centres[rng.integers(0, 60, 12_000)] + rng.standard_normal((12_000, 384)).astype(np.float32) * 0.04
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    index = VectorIndex(384, exact_limit=5_000)
    index.put(range(12_000), points)
    assert not index.exact
    allowed = np.sort(rng.permutation(12_000)[: int(12_000 * share)])
    found = 0
    for query in points[rng.integers(0, 12_000, 20)]:
        best = allowed[np.argsort(-(points[allowed] @ query))[:10]]
        ids, _ = index.search(query, 10, allowed=None if share == 1.0 else allowed)
        found += len(set(best.tolist()) & set(ids[:10].tolist()))
    assert found / 200 >= 0.95
