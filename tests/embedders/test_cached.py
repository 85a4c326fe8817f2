"""The same input of the same tenant asks the model once."""

from collections.abc import Sequence

import numpy as np
import pytest

from mnemic.embedders.cached import CachedEmbedder
from mnemic.embedders.hashing import Hashing
from mnemic.errors import DimensionError
from mnemic.maxsim import unpack_tokens
from mnemic.ports import Encoded, ModelInput
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


class Tokens(Counting):
    """Gives each word a vector of its own, and notes every input that it is asked for."""

    token_dim = 2
    sees_before = True

    async def encode(self, inputs: Sequence[ModelInput], *, urgent: bool = False) -> list[Encoded]:
        rows = await self.embed([item.whole for item in inputs], urgent=urgent)
        return [
            Encoded(row, np.array([[1, len(word) / 10] for word in item.text.split()], np.float32).reshape(-1, 2))
            for row, item in zip(rows, inputs, strict=True)
        ]


@requirement("REQ-010-037")
async def test_a_query_encoded_twice_is_one_model_call_with_its_token_vectors() -> None:
    model, cache = Tokens(), InMemoryEmbeddingCache()
    first = await CachedEmbedder(model, cache).encode_for("acme", [ModelInput("red tea")], urgent=True)
    second = await CachedEmbedder(model, cache).encode_for("acme", [ModelInput("red tea")] * 2, urgent=True)
    assert model.asked == ["red tea"]
    assert [one.tokens for one in second] == [first[0].tokens] * 2
    np.testing.assert_allclose(unpack_tokens(first[0].tokens, 2)[:, 1], [0.3, 0.3], atol=0.08)
    assert await CachedEmbedder(model, cache).embed_for("acme", ["red tea"]) is not None
    assert model.asked == ["red tea"]


@requirement("REQ-010-037")
async def test_what_stands_before_is_part_of_the_input() -> None:
    model = Tokens()
    inputs = [ModelInput("tea"), ModelInput("tea", "coffee?"), ModelInput("tea", "milk?"), ModelInput("tea")]
    found = await CachedEmbedder(model, InMemoryEmbeddingCache()).encode_for("acme", inputs)
    assert model.asked == [item.whole for item in inputs[:3]]
    assert found[0] is found[3]


async def test_what_is_encoded_for_a_write_waits_for_its_entry_to_be_kept() -> None:
    cache = InMemoryEmbeddingCache()
    await CachedEmbedder(Tokens(), cache).encode_for("acme", [ModelInput("tea", "a plan")])
    assert not cache.kept


@requirement("REQ-010-037")
async def test_a_vector_known_without_token_vectors_is_made_anew_where_they_are_wanted() -> None:
    model, cache = Tokens(), InMemoryEmbeddingCache()
    with_tokens, without = CachedEmbedder(model, cache), CachedEmbedder(model, cache, token_vectors=False)
    assert (with_tokens.token_dim, without.token_dim, with_tokens.sees_before) == (2, 0, True)
    assert (await without.encode_for("acme", [ModelInput("tea")], urgent=True))[0].tokens == b""
    assert (await with_tokens.encode_for("acme", [ModelInput("tea")], urgent=True))[0].tokens
    assert (await without.encode_for("acme", [ModelInput("tea")], urgent=True))[0].tokens
    assert model.asked == ["tea", "tea"]


@pytest.mark.parametrize("tokens", [np.ones((2, 3)), np.ones(2), np.full((1, 2), np.nan)])
async def test_token_vectors_of_another_shape_or_not_finite_are_refused(tokens: Vector) -> None:
    class Wrong(Tokens):
        async def encode(self, inputs: Sequence[ModelInput], *, urgent: bool = False) -> list[Encoded]:
            return [Encoded(row, tokens) for row in await self.embed([item.text for item in inputs], urgent=urgent)]

    with pytest.raises(DimensionError, match=r"\[any, 2\]"):
        await CachedEmbedder(Wrong()).encode_for("acme", [ModelInput("tea")])
