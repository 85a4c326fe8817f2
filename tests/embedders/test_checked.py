"""An embedder's answer is checked before anybody uses it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.embedders.cached import CachedEmbedder
from mnemic.embedders.checked import checked
from mnemic.embedders.hashing import Hashing
from mnemic.errors import DimensionError, EmbedderError, MnemicError
from mnemic.testing import FaultyEmbedder, requirement

pytestmark = pytest.mark.embedding
RIGHT = [[1.0, 0.0, 0.0], [0.0, 0.6, 0.8]]


@requirement("D25")
@pytest.mark.parametrize(
    ("vectors", "error", "words"),
    [
        ([], EmbedderError, "0 vectors for 2 texts"),
        (RIGHT[:1], EmbedderError, "1 vectors for 2 texts"),
        ([*RIGHT, RIGHT[0]], EmbedderError, "3 vectors for 2 texts"),
        (0.5, EmbedderError, "0 vectors for 2 texts"),
        ([[1.0, 0.0], [0.0, 1.0]], DimensionError, "its space has 3 numbers"),
        ([1.0, 0.0], DimensionError, "its space has 3 numbers"),
        ([[1.0, 0.0, 0.0], [1.0]], DimensionError, "no table of numbers"),
        ([["a", "b", "c"]] * 2, DimensionError, "no table of numbers"),
        ([RIGHT[0], [np.nan, 0.0, 0.0]], DimensionError, "text 1 of this call"),
        ([[np.inf, 0.0, 0.0], RIGHT[1]], DimensionError, "text 0 of this call"),
        ([[1e40, 0.0, 0.0], RIGHT[1]], DimensionError, "text 0 of this call"),
    ],
)
def test_a_nonsensical_answer_is_a_typed_error(vectors: object, error: type[MnemicError], words: str) -> None:
    with pytest.raises(error, match=words):
        checked(vectors, 2, 3)  # type: ignore[arg-type]  # what an embedder returns against its signature


@requirement("D25", "D04")
def test_a_right_answer_passes_and_so_does_a_row_of_zeros() -> None:
    np.testing.assert_array_equal(
        checked([RIGHT[0], [0.0, 0.0, 0.0]], 2, 3), np.array([[1, 0, 0], [0, 0, 0]], np.float32)
    )
    assert checked([], 0, 3).shape == (0, 3)


@given(st.lists(st.lists(st.floats(-100, 100, width=32), min_size=4, max_size=4), min_size=1, max_size=5))
def test_rows_come_back_normalised(rows: list[list[float]]) -> None:
    lengths = np.linalg.norm(checked(rows, len(rows), 4), axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-3) | (lengths < 1e-30))


@requirement("D25")
@pytest.mark.parametrize("fault", ["nothing", "too_few", "too_short", "nan", "raise"])
async def test_the_cached_embedder_lets_no_nonsense_through(fault: str) -> None:
    embedder = FaultyEmbedder(Hashing(), fault)
    with pytest.raises((EmbedderError, DimensionError)):
        await CachedEmbedder(embedder).embed_for("acme", ["tea", "coffee"])
    embedder.recover()
    assert (await CachedEmbedder(embedder).embed_for("acme", ["tea", "coffee"])).any(axis=1).all()
