"""What must every embedder do?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemic.ports import Embedder, Embedding, EmbeddingCache
from mnemic.testing.marks import requirement
from mnemic.types import Address, Vector

__all__ = ["EmbedderSuite", "InMemoryEmbeddingCache"]

SCRIPTS = (
    "The kettle is on the stove.",
    "Der Zug fährt um acht.",
    "Где мой зонт?",
    "η θάλασσα είναι ήρεμη",
    "الجو جميل اليوم",
    "הספר על השולחן",
    "बारिश हो रही है",
    "ฝนตกหนักมาก",
    "雨が降っている",
    "下雨了",
    "비가 온다",
    "👩‍🔬🧪 → ∑ ½",
    "e\u0301 \u200b\u00a0\u202e \x00\x1f",
)
_inherited = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
)
SPECIAL = ("a [SEP] b", "[CLS]", "<|endoftext|>", "<|im_start|>user", "</s>", "[UNK] [PAD] [MASK]")


class EmbedderSuite:
    """Inherit, and give `make`; each test gets an embedder of its own, opened and closed for it."""

    def make(self) -> Embedder:
        """Return a new embedder."""
        raise NotImplementedError

    @pytest.fixture
    async def embedder(self) -> AsyncIterator[Embedder]:
        """Open what `make` returns, and close it after the test."""
        embedder = self.make()
        await embedder.open()
        yield embedder
        await embedder.close()

    async def test_names_its_space(self, embedder: Embedder) -> None:
        assert embedder.model_id
        assert embedder.dim > 0
        assert embedder.max_tokens > 0
        assert embedder.precision

    async def test_gives_one_normalised_float32_row_for_each_text_of_any_script(self, embedder: Embedder) -> None:
        _assert_valid(embedder, await embedder.embed(SCRIPTS), len(SCRIPTS))

    async def test_gives_no_row_for_no_text(self, embedder: Embedder) -> None:
        assert (await embedder.embed([])).shape == (0, embedder.dim)

    @requirement("D04")
    async def test_a_text_without_a_token_has_a_row_of_zeros_and_moves_no_other(self, embedder: Embedder) -> None:
        vectors = await embedder.embed(["tea", "", "   \n\t", "coffee"])
        assert not vectors[1:3].any()
        np.testing.assert_allclose(vectors[[0, 3]], await embedder.embed(["tea", "coffee"]), atol=1e-6)

    @requirement("REQ-010-036", "NFR-009")
    async def test_the_same_text_gives_the_same_vector_twice_alone_and_in_a_batch(self, embedder: Embedder) -> None:
        batch = await embedder.embed(SCRIPTS)
        alone = np.concatenate([await embedder.embed([text]) for text in SCRIPTS])
        np.testing.assert_array_equal(batch, await embedder.embed(SCRIPTS))
        np.testing.assert_allclose(batch, alone, atol=1e-6 if embedder.batch_invariant else 1e-2)

    async def test_keeps_the_order_of_texts_of_any_length(self, embedder: Embedder) -> None:
        texts = [f"word{number} " * (1 + 37 * number % 90) for number in range(40)]
        vectors = await embedder.embed(texts)
        turned = await embedder.embed(texts[::-1])
        np.testing.assert_allclose(vectors, turned[::-1], atol=1e-6 if embedder.batch_invariant else 1e-2)

    async def test_a_query_has_the_vector_of_a_written_text(self, embedder: Embedder) -> None:
        written = await embedder.embed(SCRIPTS[:3])
        np.testing.assert_allclose(written, await embedder.embed(SCRIPTS[:3], urgent=True), atol=1e-6)

    @requirement("D37")
    async def test_special_tokens_are_plain_text(self, embedder: Embedder) -> None:
        vectors = await embedder.embed(SPECIAL)
        _assert_valid(embedder, vectors, len(SPECIAL))
        assert all(embedder.count_tokens(text) > 0 for text in SPECIAL)
        assert vectors[0] @ (await embedder.embed(["a b"]))[0] < 0.9999

    async def test_takes_a_text_of_one_megabyte(self, embedder: Embedder) -> None:
        text = "lorem 123 ipsum, " * 60_000
        _assert_valid(embedder, await embedder.embed([text, "short"]), 2)
        assert await asyncio.to_thread(embedder.count_tokens, text) > 100_000

    async def test_serves_eight_calls_at_once(self, embedder: Embedder) -> None:
        expected = await embedder.embed(SCRIPTS)
        found = await asyncio.gather(*(embedder.embed(SCRIPTS, urgent=number % 2 == 0) for number in range(8)))
        for vectors in found:
            np.testing.assert_allclose(vectors, expected, atol=1e-6)

    async def test_a_cancelled_call_leaves_the_embedder_usable(self, embedder: Embedder) -> None:
        expected = await embedder.embed(["after"])
        task = asyncio.create_task(embedder.embed(["cancelled " * 50] * 64))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)  # an embedder that needs no time is done already
        np.testing.assert_allclose(await embedder.embed(["after"]), expected, atol=1e-6)

    @requirement("FR-009")
    async def test_open_and_close_may_be_repeated(self, embedder: Embedder) -> None:
        model_id, expected = embedder.model_id, await embedder.embed(["again"])
        await embedder.open()
        await embedder.close()
        await embedder.close()
        await embedder.open()
        assert embedder.model_id == model_id
        np.testing.assert_allclose(await embedder.embed(["again"]), expected, atol=1e-6)

    @_inherited
    @given(texts=st.lists(st.text(max_size=60), max_size=6))
    async def test_any_texts_give_valid_rows(self, embedder: Embedder, texts: list[str]) -> None:
        _assert_valid(embedder, await embedder.embed(texts), len(texts))


class InMemoryEmbeddingCache(EmbeddingCache):
    """Keeps embeddings in a dictionary; it knows no entries."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str, bytes], Embedding] = {}

    async def cached(self, tenant_id: str, model_id: str, hashes: Sequence[bytes]) -> dict[bytes, Embedding]:
        """Return what is known."""
        known = {key: self.kept.get((tenant_id, model_id, key)) for key in hashes}
        return {key: embedding for key, embedding in known.items() if embedding is not None}

    async def keep(self, tenant_id: str, model_id: str, embeddings: Mapping[bytes, Embedding]) -> None:
        """Remember embeddings."""
        self.kept |= {(tenant_id, model_id, key): embedding for key, embedding in embeddings.items()}

    async def tokens_of(self, tenant_id: str, model_id: str, addresses: Sequence[Address]) -> dict[Address, bytes]:
        """Return nothing: no entry lies here."""
        return {}


def _assert_valid(embedder: Embedder, vectors: Vector, count: int) -> None:
    """Assert that an answer has the shape, type and lengths that the port promises."""
    assert vectors.shape == (count, embedder.dim)
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))
