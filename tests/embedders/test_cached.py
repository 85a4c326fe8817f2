"""The same input of the same tenant asks the model once."""

from collections.abc import Sequence

import numpy as np
import pytest

from mnemic.embedders.cached import CachedEmbedder
from mnemic.embedders.hashing import Hashing
from mnemic.testing import requirement
from mnemic.testing.embedder_suite import InMemoryEmbeddingCache
from mnemic.types import Vector

pytestmark = pytest.mark.embedding


class Counting(Hashing):
    """Notes every text that it is asked for."""

    def __init__(self, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vector:
        self.asked += texts
        return await super().embed(texts, urgent=urgent)


@requirement("REQ-010-037")
async def test_the_same_input_twice_is_one_model_call_also_after_a_restart() -> None:
    model, cache = Counting(), InMemoryEmbeddingCache()
    first = await CachedEmbedder(model, cache).embed_for("acme", ["tea", "coffee"])
    second = await CachedEmbedder(model, cache).embed_for("acme", ["coffee", "milk", "tea"], urgent=True)
    assert model.asked == ["tea", "coffee", "milk"]
    np.testing.assert_array_equal(first, second[[2, 0]])


@requirement("REQ-010-037")
async def test_a_text_that_comes_twice_in_one_call_is_asked_once() -> None:
    model = Counting()
    vectors = await CachedEmbedder(model, InMemoryEmbeddingCache()).embed_for("acme", ["tea", "milk", "tea"])
    assert model.asked == ["tea", "milk"]
    np.testing.assert_array_equal(vectors, await Hashing().embed(["tea", "milk", "tea"]))


@requirement("REQ-010-037")
async def test_nothing_is_shared_between_tenants_models_or_joined_names() -> None:
    cache, one, other = InMemoryEmbeddingCache(), Counting(), Counting(seed=1)
    for embedder, tenant in ((one, "acme"), (one, "acm"), (one, "globex"), (other, "acme")):
        await CachedEmbedder(embedder, cache).embed_for(tenant, ["tea"])
    assert one.asked == ["tea"] * 3
    assert other.asked == ["tea"]
    assert len({key for _, _, key in cache.kept}) == 4


@requirement("REQ-010-037")
async def test_the_cache_holds_hashes_and_vectors_and_no_text() -> None:
    cache = InMemoryEmbeddingCache()
    await CachedEmbedder(Hashing(), cache).embed_for("acme", ["a private plan"])
    ((tenant, model_id, key),) = cache.kept
    assert (tenant, model_id, len(key)) == ("acme", Hashing().model_id, 32)
    assert b"private" not in key


@requirement("REQ-010-037", "D04")
async def test_a_text_without_a_token_is_not_kept() -> None:
    cache = InMemoryEmbeddingCache()
    vectors = await CachedEmbedder(Hashing(), cache).embed_for("acme", [" ", "tea"])
    assert vectors.any(axis=1).tolist() == [False, True]
    assert len(cache.kept) == 1


@requirement("FR-009")
async def test_without_a_cache_it_only_checks() -> None:
    model = Counting()
    for _ in range(2):
        await CachedEmbedder(model).embed_for("acme", ["tea"])
    assert model.asked == ["tea", "tea"]


@requirement("REQ-010-037")
async def test_no_text_gives_no_row() -> None:
    assert (await CachedEmbedder(Hashing(), InMemoryEmbeddingCache()).embed_for("acme", [])).shape == (0, 64)
