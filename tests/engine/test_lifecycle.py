"""Start, stop, and what happens to work under way."""

import asyncio
import os
import random
import threading
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mnemic import Health, MemoryEngine, SearchMode, Settings, open_engine
from mnemic.component import Container
from mnemic.embedders.hashing import Hashing
from mnemic.errors import (
    ConfigurationError,
    EmbedderError,
    InvalidInputError,
    NotRunningError,
    UnavailableError,
)
from mnemic.ports import ComponentType, IMemoryEngine, Unit
from mnemic.providers.inmemory import InMemoryProvider
from mnemic.testing import FaultyEmbedder, faulty, requirement
from mnemic.types import SystemEvent
from tests.engine.world import World, digest, entries, running

pytestmark = pytest.mark.core_interface

_SEVEN = {"store", "retrieve", "search", "summarize", "update", "delete", "migrate_to_cold"}


@requirement("REQ-010-001")
def test_the_interface_is_abstract_in_the_seven_verbs_and_in_health() -> None:
    assert IMemoryEngine.__abstractmethods__ == _SEVEN | {"get_health"}
    assert IMemoryEngine.component_type is ComponentType.MEMORY_ENGINE
    for missing in IMemoryEngine.__abstractmethods__:
        whole: dict[str, Any] = dict.fromkeys(IMemoryEngine.__abstractmethods__ - {missing}, lambda: None)
        with pytest.raises(TypeError, match=missing):
            type("Partial", (IMemoryEngine,), whole)()


@requirement("REQ-010-001", "REQ-010-002")
async def test_the_engine_is_the_memory_of_a_container(world: World) -> None:
    engine = world.engine()
    assert isinstance(engine, IMemoryEngine)
    container = Container()
    container.register(engine)
    await container.start()
    assert container.resolve(ComponentType.MEMORY_ENGINE) is engine
    await engine.store("x")
    await container.stop()
    with pytest.raises(NotRunningError):
        await engine.store("x")


def _calls(engine: MemoryEngine) -> dict[str, Callable[[], Awaitable[Any]]]:
    return {
        "store": lambda: engine.store("x"),
        "store_many": lambda: engine.store_many([]),
        "store_messages": lambda: engine.store_messages([], session_id="s"),
        "retrieve": lambda: engine.retrieve("k"),
        "retrieve_by": engine.retrieve_by,
        "search": lambda: engine.search("x"),
        "context": lambda: engine.context("x"),
        "summarize": lambda: engine.summarize("s"),
        "update": lambda: engine.update("k"),
        "delete": lambda: engine.delete("k"),
        "forget": lambda: engine.forget(None),
        "migrate_to_cold": lambda: engine.migrate_to_cold("s"),
        "count": engine.count,
        "related": lambda: engine.related("k"),
        "link": lambda: engine.link("a", "b"),
        "history": lambda: engine.history("k"),
        "promote": lambda: engine.promote("k", "s"),
        "flush": engine.flush,
        "sweep": engine.sweep,
        "reindex": engine.reindex,
        "import_": lambda: engine.import_([]),
        "verify_audit": engine.verify_audit,
    }


@requirement("REQ-010-003")
async def test_calls_before_start_and_after_stop_are_refused(world: World) -> None:
    engine = world.engine()
    for _ in range(2):
        for name, call in _calls(engine).items():
            with pytest.raises(NotRunningError, match="not running; use `async with`, or call start"):
                await call()
            assert name
        assert (await engine.get_health()).status == "unhealthy"
        async with engine:
            assert (await engine.get_health()).status != "unhealthy"


@requirement("REQ-010-003")
async def test_each_step_of_the_lifecycle_may_be_repeated(world: World) -> None:
    engine = world.engine()
    await engine.stop()
    for _ in range(2):
        await engine.initialize()
    for _ in range(2):
        await engine.start()
    stored = await engine.store("x", key="k")
    for _ in range(2):
        await engine.stop()
    await engine.start()
    assert await engine.retrieve("k") == stored
    await engine.stop()


@requirement("TYP-014", "REQ-010-003")
async def test_health_names_each_part(engine: MemoryEngine, world: World) -> None:
    await engine.store("x")
    await engine.flush()
    health = await engine.get_health()
    assert isinstance(health, Health)
    assert set(health.components) == {"hot", "cold", "embedder", "governance", "audit", "llm", "journal"}
    assert health.components["cold"] == health.components["embedder"] == "healthy"
    assert health.durability is world.store.durability
    assert set(health.outbox) == {"depth", "oldest_age_s", "pending_vectors"}
    assert health.outbox["pending_vectors"] == 0


@requirement("TYP-014")
async def test_a_weaker_durability_than_configured_is_a_degradation(tmp_path: Path) -> None:
    world = World("inmemory", tmp_path)
    async with running(world.engine(settings={"durability": "power"})) as engine:
        health = await engine.get_health()
        assert (health.status, health.degraded) == ("degraded", ("durability",))


@requirement("D10")
def test_one_engine_serves_successive_event_loops(world: World) -> None:
    engine = world.engine()

    async def turn(number: int) -> int:
        async with engine:
            await engine.store(f"note {number}", wait_indexed=True)
            await engine.search("note")
            return await engine.count()

    assert [asyncio.run(asyncio.wait_for(turn(number), 5)) for number in range(3)] == [1, 2, 3]


@requirement("D10")
async def test_a_call_from_another_loop_is_a_clear_error(engine: MemoryEngine) -> None:
    caught: list[Exception] = []

    def elsewhere() -> None:
        try:
            asyncio.run(asyncio.wait_for(engine.store("x"), 5))
        except NotRunningError as error:
            caught.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    await asyncio.to_thread(thread.join)
    assert "belongs to another event loop" in str(caught[0])
    await engine.store("x")


@requirement("D10")
async def test_a_call_after_a_fork_is_a_clear_error(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        with pytest.raises(NotRunningError, match="before the fork"):
            await engine.store("x")


@requirement("D11")
async def test_cancelled_callers_take_nobody_along(engine: MemoryEngine, world: World) -> None:
    chance = random.Random(11)
    async with asyncio.timeout(10):
        tasks = [
            asyncio.create_task(engine.store(f"text {n}", key=f"k{n}", wait_indexed=n % 2 == 0)) for n in range(20)
        ]
        for task in chance.sample(tasks, 5):
            for _ in range(chance.randrange(6)):
                await asyncio.sleep(0)
            task.cancel()
        tasks += [asyncio.create_task(engine.store(f"text {n}", key=f"k{n}")) for n in range(20, 40)]
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert sum(isinstance(result, asyncio.CancelledError) for result in results) <= 5
        stored = {entry.key: entry for entry in await entries(world.store)}
        for number, result in enumerate(results):
            if not isinstance(result, BaseException):
                assert stored[f"k{number}"] == result
        assert all(entry.content == f"text {key[1:]}" for key, entry in stored.items())
        await engine.flush()
        assert (await engine.get_health()).outbox["pending_vectors"] == 0


@requirement("D49", "REQ-010-003")
async def test_a_stop_finishes_what_was_accepted(world: World) -> None:
    engine = world.engine()
    await engine.start()
    tasks = [asyncio.create_task(engine.store(f"text {number}", key=f"k{number}")) for number in range(100)]
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await engine.stop()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    kept = {entry.key for entry in results if not isinstance(entry, BaseException)}
    assert kept
    assert all(
        isinstance(error, NotRunningError | UnavailableError) for error in results if isinstance(error, Exception)
    )
    async with world.engine() as again:
        await again.flush()
        assert kept <= {entry.key for entry in (await again.retrieve_by(limit=1000)).items}
        assert (await again.get_health()).outbox["pending_vectors"] == 0


@requirement("D49", "ENG-017")
async def test_a_stop_does_not_wait_for_a_model_that_hangs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemic.engine.upkeep._STOP_WITHIN_S", 0.05)
    engine = world.engine(model=FaultyEmbedder(Hashing(), "hang"))
    await engine.start()
    await engine.store("the kettle is blue", key="k")
    async with asyncio.timeout(5):
        await engine.stop()
    async with world.engine() as again:
        await again.flush()
        (hit,) = await again.search("blue kettle")
        assert hit.embedding_model is not None


@requirement("ENG-017")
async def test_flush_waits_for_all_that_is_owed(engine: MemoryEngine, world: World) -> None:
    for number in range(30):
        await engine.store(f"text {number}")
    await engine.search("text")
    await engine.flush()
    assert await world.store.job_count("embed") == 0
    assert await world.store.outbox_depth() == (0, None)
    assert {entry.access_count for entry in await entries(world.store)} == {0, 1}


@requirement("ENG-017", "REQ-010-008")
async def test_a_new_process_makes_the_vectors_that_a_killed_one_owed(world: World) -> None:
    async with running(world.engine(model=FaultyEmbedder(Hashing()))) as engine:
        await engine.store("the kettle is blue", key="k")
        await engine.flush()
        assert (await engine.get_health()).outbox["pending_vectors"] == 1
    world.clock.advance(timedelta(minutes=2))
    async with running(world.engine()) as engine:
        await engine.flush()
        assert (await engine.get_health()).outbox["pending_vectors"] == 0
        (hit,) = await engine.search("blue kettle", mode=SearchMode.SEMANTIC)
        assert hit.key == "k"


@requirement("EVT-002")
async def test_events_that_a_killed_process_did_not_tell_are_told_at_the_next_start(world: World) -> None:
    event = SystemEvent(id="e1", type="memory.store.completed", time=world.clock.now(), tenant_id="t1")
    store = world.store
    await store.open()
    await store.commit(Unit(events=(event,)))
    await store.close()
    world.clock.advance(timedelta(minutes=1))
    async with running(world.engine()) as engine:
        assert [told.id for told in world.told("memory.store.completed")] == ["e1"]
        await engine.flush()
        assert await world.store.outbox_depth() == (0, None)


@pytest.mark.parametrize("fault", ["raise", "apply_then_raise"])
@pytest.mark.parametrize("at", range(1, 9))
async def test_the_nth_failing_commit_is_a_typed_error_and_everything_goes_on(
    world: World, at: int, fault: str
) -> None:
    flaky = faulty(world.store, at=at, fault=fault, methods=["commit"])
    async with running(world.engine(memories=flaky)) as engine:
        outcomes = []
        for number in range(4):
            before = await digest(world.store)
            try:
                await engine.store(f"text {number}", key=f"k{number}")
                await engine.update(f"k{number}", tags=["t"])
                outcomes.append(True)
            except UnavailableError:
                outcomes.append(False)
                if fault == "raise" and number == 0 and at == 1:
                    assert await digest(world.store) == before
        async with asyncio.timeout(5):
            await engine.store("the retry", key="retry")
            await engine.search("retry")
        assert outcomes.count(False) <= 1
        assert await engine.retrieve("retry") is not None


async def test_a_failing_store_of_vectors_leaves_flush_free(world: World) -> None:
    flaky = faulty(world.store, at=2, methods=["commit"])
    async with running(world.engine(memories=flaky)) as engine:
        await engine.store("the kettle is blue", key="k")
        async with asyncio.timeout(5):
            await asyncio.gather(engine.flush(), return_exceptions=True)
            await engine.flush()


async def test_a_model_that_does_not_open_leaves_a_store_that_can_be_opened(world: World) -> None:
    class Broken(Hashing):
        async def open(self) -> None:
            raise EmbedderError("the model file is missing; install it again")

    engine = world.engine(model=Broken())
    with pytest.raises(EmbedderError, match="missing"):
        await engine.start()
    with pytest.raises(NotRunningError):
        await engine.store("x")
    async with world.engine() as again:
        await again.store("x")


@requirement("PRV-061", "FR-009")
@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        ({"tiers": {"cold": "oracle"}}, ConfigurationError, "provider 'oracle' is unknown; known: inmemory, sqlite"),
        ({"embedding": {"provider": "magic"}}, ConfigurationError, "embedder 'magic' is unknown; known: hashing"),
        ({"embedding": {"device": "cuda"}}, ConfigurationError, "embedding.device is cuda"),
        ({"ranking": {"magic": 1.0}}, ConfigurationError, "ranking.magic is unknown; known:"),
        ({"providers": {"sqlite": {"magic": 1}}}, ConfigurationError, "option 'magic'"),
    ],
)
def test_an_impossible_setting_is_refused_when_the_engine_is_put_together(
    tmp_path: Path, settings: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        open_engine(settings=Settings.model_validate({"data_dir": tmp_path, **settings}))
    assert list(tmp_path.iterdir()) == []


async def test_a_store_without_a_model_answers_by_words(tmp_path: Path) -> None:
    settings = Settings.model_validate({"embedding": {"provider": "none"}, "durability": "process"})
    async with open_engine(tmp_path / "m.db", settings=settings) as engine:
        await engine.store("the kettle is blue", key="k", wait_indexed=True)
        hits = await engine.search("kettle")
        assert ([hit.key for hit in hits], hits.degraded) == (["k"], ("embedder",))
        health = await engine.get_health()
        assert (health.components["embedder"], health.degraded) == ("absent", ("embedder",))
        with pytest.raises(InvalidInputError, match="no embedder"):
            await engine.store("x", embedding=[1.0])
        assert await engine.reindex() == 0


@requirement("PRV-040")
async def test_memories_in_memory_end_with_their_store(world: World) -> None:
    async with open_engine(
        memories=InMemoryProvider(clock=world.clock), model=Hashing(), settings=Settings()
    ) as engine:
        await engine.store("x")
        assert (await engine.get_health()).durability == "memory"
    async with open_engine(
        memories=InMemoryProvider(clock=world.clock), model=Hashing(), settings=Settings()
    ) as engine:
        assert await engine.count() == 0
