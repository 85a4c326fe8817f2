"""The model fails, hangs, answers nonsense, or is another one: writes go on, and vectors follow."""

import asyncio
import math
from datetime import timedelta

import pytest

from mnemic import BatchItem, MemoryEngine, MemoryScope, SearchMode
from mnemic.embedders.hashing import Hashing
from mnemic.ports import MemoryFilter
from mnemic.testing import FaultyEmbedder, requirement
from mnemic.words import index_text
from tests.engine.world import World, entries, running

pytestmark = pytest.mark.resilience

_FAULTS = ["raise", "hang", "nothing", "nan", "too_few", "too_short"]
_QUICK = {"embedding": {"timeout_s": 0.2, "query_timeout_ms": 200}, "search": {"pending_wait_ms": 0}}


async def _recovered(engine: MemoryEngine, world: World) -> None:
    """Let the time of the next try come."""
    world.clock.advance(timedelta(minutes=5))
    for _ in range(100):
        await asyncio.sleep(0.05)
        if (await engine.get_health()).outbox["pending_vectors"] == 0:
            return
    pytest.fail("the vectors did not follow")


@requirement("FR-009", "REQ-010-008", "D25")
@pytest.mark.parametrize("fault", _FAULTS)
async def test_without_its_model_writes_go_on_words_answer_and_vectors_follow(world: World, fault: str) -> None:
    model = FaultyEmbedder(Hashing(), fault)
    async with running(world.engine(model=model, settings=_QUICK)) as engine:
        stored = await engine.store("the kettle is blue", key="k", wait_indexed=True)
        assert stored.embedding is None
        await engine.store_many([BatchItem(content="the stove is hot", options={"key": "s"})])
        await engine.flush()
        hits = await engine.search("blue kettle")
        assert ([hit.key for hit in hits], hits.degraded) == (["k"], ("embedder",))
        assert await engine.search("blue kettle", mode=SearchMode.SEMANTIC) == []
        health = await engine.get_health()
        assert health.status == "degraded"
        assert "embedder" in health.degraded
        assert health.components["embedder"].startswith("failing: ")
        assert health.outbox["pending_vectors"] == 2
        model.recover()
        assert (await engine.search("blue kettle")).degraded == ("embedder",)  # vectors are still owed
        await _recovered(engine, world)
        hits = await engine.search("blue kettle", mode=SearchMode.SEMANTIC)
        assert [hit.key for hit in hits] == ["k", "s"]
        assert hits.degraded == ()
        assert "embedder" not in (await engine.get_health()).degraded


@requirement("FR-009")
async def test_an_update_and_a_delete_while_the_model_is_down_owe_only_what_stands(world: World) -> None:
    model = FaultyEmbedder(Hashing())
    async with running(world.engine(model=model, settings=_QUICK)) as engine:
        await engine.store("one", key="a")
        await engine.store("two", key="b")
        await engine.update("a", content="another one")
        await engine.delete("b")
        await engine.flush()
        model.recover()
        await _recovered(engine, world)
        assert [entry.embedding_model is not None for entry in await entries(world.store)] == [True]
        assert [hit.key for hit in await engine.search("another", mode=SearchMode.SEMANTIC)] == ["a"]


class _Picky(Hashing):
    """Cannot embed one kind of text."""

    async def embed(self, texts, *, urgent=False):  # type: ignore[no-untyped-def]  # as its base
        if any("poison" in text for text in texts):
            return [[math.nan] * self.dim for _ in texts]
        return await super().embed(texts, urgent=urgent)


@requirement("D01", "D04", "D25")
async def test_one_text_that_cannot_be_embedded_harms_no_other(world: World) -> None:
    async with running(world.engine(model=_Picky(), settings=_QUICK)) as engine:
        texts = [f"kettle number {number}" for number in range(40)]
        texts.insert(17, "poison kettle")
        await engine.store_many([BatchItem(content=text, options={"key": f"k{n:02}"}) for n, text in enumerate(texts)])
        await engine.flush()
        without = [entry.key for entry in await entries(world.store) if entry.embedding_model is None]
        assert without == ["k17"]
        assert [hit.key for hit in await engine.search("poison", mode=SearchMode.KEYWORD)] == ["k17"]
        hits = await engine.search("kettle number 5", limit=100)
        assert {hit.key for hit in hits} == {f"k{n:02}" for n in range(41)}
        assert all(math.isfinite(hit.score) for hit in hits)
        assert (await engine.get_health()).components["embedder"] == "healthy"


@requirement("D04")
@pytest.mark.parametrize("text", ["\U0001f600", "...", "\u200b."])
async def test_a_text_without_a_vector_leaves_the_order_of_the_others(world: World, text: str) -> None:
    class Wordless(Hashing):
        async def embed(self, texts, *, urgent=False):  # type: ignore[no-untyped-def]  # as its base
            rows = await super().embed(texts, urgent=urgent)
            return rows * [[text not in given] for given in texts]

    async with running(world.engine(model=Wordless())) as engine:
        for number in range(8):
            await engine.store(f"kettle {number} " + "blue " * number, key=f"k{number}")
        await engine.flush()
        before = [(hit.key, hit.score) for hit in await engine.search("blue kettle 3", mode=SearchMode.SEMANTIC)]
        await engine.store(text, key="odd")
        await engine.flush()
        after = await engine.search("blue kettle 3", mode=SearchMode.SEMANTIC)
        assert [hit.key for hit in after] == [key for key, _ in before]
        assert all(math.isfinite(hit.score) for hit in after)
        assert (await engine.get_health()).outbox["pending_vectors"] == 0
        assert await engine.retrieve("odd") is not None


@requirement("D24", "REQ-010-038")
async def test_vectors_of_another_model_of_the_same_size_are_made_anew_and_never_compared(world: World) -> None:
    texts = [f"kettle number {number} is blue" for number in range(20)]
    async with running(world.engine(model=Hashing(seed=1))) as engine:
        await engine.store_many([BatchItem(content=text, options={"key": text}) for text in texts])
        await engine.flush()
    model = FaultyEmbedder(Hashing(seed=2), first=2)
    async with running(world.engine(model=model, settings=_QUICK)) as engine:
        hits = await engine.search("kettle number 7", mode=SearchMode.SEMANTIC)
        assert hits == []  # no vector of the first model is scored against a query of the second
        words = await engine.search("kettle number 7")
        assert words[0].key == texts[7]
        assert all("cosine" not in hit.score_parts for hit in words)
        model.recover()
        await engine.reindex()
        await _recovered(engine, world)
        new = await engine.search("kettle number 7", mode=SearchMode.SEMANTIC)
    fresh = World("inmemory", world.folder)
    async with running(fresh.engine(model=Hashing(seed=2))) as engine:
        await engine.store_many([BatchItem(content=text, options={"key": text}) for text in texts])
        await engine.flush()
        wanted = await engine.search("kettle number 7", mode=SearchMode.SEMANTIC)
    assert [hit.key for hit in new] == [hit.key for hit in wanted]
    assert [hit.score_parts["cosine"] for hit in new] == pytest.approx(
        [hit.score_parts["cosine"] for hit in wanted], abs=1e-3
    )


@requirement("REQ-010-038")
async def test_a_change_of_model_is_noticed_at_the_next_start(world: World) -> None:
    async with running(world.engine(model=Hashing(seed=1))) as engine:
        await engine.store("the kettle is blue", key="k")
        await engine.flush()
    async with running(world.engine(model=Hashing(seed=2))) as engine:
        for _ in range(100):
            (entry,) = await entries(world.store)
            if entry.embedding_model and entry.embedding_model.startswith("hashing:64:2"):
                break
            await asyncio.sleep(0.02)
        assert [hit.key for hit in await engine.search("kettle", mode=SearchMode.SEMANTIC)] == ["k"]


@requirement("REQ-010-037")
async def test_the_same_text_is_embedded_once_in_a_tenant(world: World) -> None:
    model = FaultyEmbedder(Hashing(), first=10**9)
    async with running(world.engine(model=model)) as engine:
        await engine.store("the kettle is blue", key="a", wait_indexed=True)
        calls = model.calls
        await engine.store("the kettle is blue", key="b", wait_indexed=True)
        assert model.calls == calls
        await engine.acting_as(tenant_id="t2").store("the kettle is blue", wait_indexed=True)
        assert model.calls == calls + 1


@requirement("REQ-010-039", "PRV-025")
async def test_a_stored_vector_scores_by_its_cosine(engine: MemoryEngine, world: World) -> None:
    for text in ("the kettle is blue", "a blue kettle", "nothing in common", "kettle kettle"):
        await engine.store(text, key=text)
    await engine.flush()
    query, *_ = await Hashing().embed(["kettle blue"])
    hits = await world.store.search_similar(MemoryScope(tenant_id="t1"), query)
    rows = await Hashing().embed([index_text(hit) for hit in hits])
    wanted = [max(0.0, float(query @ row)) for row in rows]
    assert [hit.score for hit in hits] == pytest.approx(wanted, abs=1e-3)
    assert wanted == sorted(wanted, reverse=True)


@requirement("D05")
@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("mode", list(SearchMode))
async def test_a_store_of_nearly_nothing_can_be_searched(engine: MemoryEngine, count: int, mode: SearchMode) -> None:
    for number in range(count):
        await engine.store("the same text", key=f"k{number}")
    await engine.flush()
    for limit in (1, 10, 1000):
        hits = await engine.search("the same text", limit=limit, mode=mode)
        assert len(hits) == min(count, limit)
        assert all(0 <= hit.score <= 1 for hit in hits)


async def test_reindexing_makes_only_the_vectors_that_lack(engine: MemoryEngine, world: World) -> None:
    await engine.store("the kettle is blue", key="k")
    await engine.flush()
    assert await engine.reindex() == 0
    assert await engine.reindex(everything=True) == 1
    await engine.flush()
    where = MemoryFilter(embedding_model="unknown")
    assert await world.store.count(MemoryScope(tenant_id="t1"), where) == 0


@requirement("FR-009")
async def test_the_model_going_and_coming_back_is_told_as_an_event(world: World) -> None:
    model = FaultyEmbedder(Hashing())
    async with running(world.engine(model=model, settings=_QUICK)) as engine:
        await engine.store("the kettle is blue", wait_indexed=True)
        model.recover()
        await _recovered(engine, world)
        told = [event for event in world.bus.events if event.type == "memory.health.changed"]
        assert [(event.severity, event.payload["embedder"]) for event in told] == [
            ("warning", "EmbedderError"),
            ("info", "healthy"),
        ]
