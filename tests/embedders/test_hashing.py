"""The test embedder is deterministic, and near means shared words."""

import numpy as np
import pytest

from mnemic.embedders.hashing import Hashing
from mnemic.errors import ConfigurationError
from mnemic.testing import requirement

pytestmark = pytest.mark.embedding


@requirement("NFR-009")
async def test_the_order_of_words_does_not_matter_and_sharing_words_does() -> None:
    one, same, near, far = await Hashing().embed(["red green blue", "blue Red green", "red green", "cyan magenta"])
    np.testing.assert_array_equal(one, same)
    assert one @ near > 0.6 > 0.4 > one @ far


@requirement("NFR-009")
async def test_a_vector_is_the_same_in_every_process() -> None:
    expected = [[0.2147, -0.9462, -0.1508, -0.1895]]
    np.testing.assert_allclose(await Hashing(dim=4).embed(["tea"]), expected, atol=1e-4)


async def test_another_seed_or_dimension_is_another_space() -> None:
    assert len({Hashing().model_id, Hashing(seed=1).model_id, Hashing(dim=8).model_id}) == 3
    assert (await Hashing(seed=1).embed(["tea"]))[0] @ (await Hashing().embed(["tea"]))[0] < 0.9
    assert (await Hashing(dim=8).embed(["tea"])).shape == (1, 8)


def test_a_dimension_below_one_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="dimension is 0"):
        Hashing(dim=0)
