"""The working set of a session: what enters, what leaves, and what the end of a session leaves behind."""

import asyncio
from datetime import timedelta

import pytest

from mnemic import BatchItem, MemoryClassification, MemoryEngine, Origin
from mnemic.errors import AccessDeniedError, InvalidInputError, UnavailableError
from mnemic.testing import faulty, requirement
from mnemic.types import SystemEvent
from tests.engine.world import World, digest, entries, rows, running

pytestmark = pytest.mark.migration


async def _working(world: World, session: str = "s1") -> list[str]:
    return [address.key for address in await world.store.working("t1", session)]


@requirement("SES-003", "REQ-010-032", "EVT-010")
async def test_the_end_of_a_session_gives_how_many_left_and_then_none(engine: MemoryEngine, world: World) -> None:
    for key in "abc":
        await engine.store(f"note {key}", key=key)
    await engine.acting_as(session_id="s2").store("other", key="d")
    before = await entries(world.store)
    assert await _working(world) == ["a", "b", "c"]
    assert await engine.migrate_to_cold("s1") == 3
    assert await engine.migrate_to_cold("s1") == 0
    assert (await _working(world), await _working(world, "s2")) == ([], ["d"])
    assert await entries(world.store) == before
    assert [dict(event.payload) for event in world.told("memory.migrate.completed")] == [
        {"session_id": "s1", "count": 3},
        {"session_id": "s1", "count": 0},
    ]


@requirement("SES-003")
async def test_two_ends_at_once_count_each_entry_once(engine: MemoryEngine) -> None:
    for number in range(5):
        await engine.store(f"note {number}")
    counts = await asyncio.gather(*(engine.migrate_to_cold("s1") for _ in range(6)))
    assert sum(counts) == 5


@requirement("SES-001")
async def test_the_event_of_a_closed_session_ends_it_in_the_events_tenant(engine: MemoryEngine, world: World) -> None:
    await engine.store("note", key="k")
    await engine.acting_as(tenant_id="t2").store("note", key="k")
    payload = {"session_id": "s1", "outcome": "done", "tenant_id": "t1"}
    await world.bus.publish(
        SystemEvent(id="e1", type="session.closed", time=world.clock.now(), tenant_id="t1", payload=payload)
    )
    assert await _working(world) == []
    assert len(await world.store.working("t2", "s1")) == 1
    record = (await rows(world.store, "write"))[-1].record
    assert (record.action, record.actor, record.detail["outcome"]) == ("migrate", "SYS:MEMORY", "done")


@requirement("FR-019.1")
async def test_a_session_opens_closes_and_opens_again(engine: MemoryEngine, world: World) -> None:
    assert await world.store.session("t1", "s1") is None
    await engine.store("note")
    opened = await world.store.session("t1", "s1")
    assert opened is not None
    assert opened.closed_at is None
    await engine.migrate_to_cold("s1")
    closed = await world.store.session("t1", "s1")
    assert closed is not None
    assert (closed.opened_at, closed.closed_at is None) == (opened.opened_at, False)
    await engine.store("a late note")
    again = await world.store.session("t1", "s1")
    assert again is not None
    assert (again.opened_at, again.closed_at) == (opened.opened_at, None)


@requirement("FR-019.1")
async def test_an_imported_memory_is_in_no_working_set(engine: MemoryEngine, world: World) -> None:
    await engine.store("note", origin=Origin.IMPORT)
    assert await _working(world) == []


@requirement("SES-010")
async def test_ending_a_session_needs_a_part_in_it_and_moves_everybodys_entries(
    engine: MemoryEngine, world: World
) -> None:
    await engine.store("ada's", key="a")
    await engine.acting_as(volk_id="bob").store("bob's", key="b")
    stranger = engine.acting_as(volk_id="cleo", session_id="s9")
    before = await digest(world.store)
    with pytest.raises(AccessDeniedError, match="can_migrate_memory"):
        await stranger.migrate_to_cold("s1")
    assert await digest(world.store) == before
    assert await engine.acting_as(volk_id="bob", session_id="s9").migrate_to_cold("s1") == 2
    owners = {(entry.key, entry.volk_id, entry.classification.value) for entry in await entries(world.store)}
    assert owners == {("a", "ada", "private"), ("b", "bob", "private")}
    with pytest.raises(InvalidInputError, match="session_id"):
        await engine.migrate_to_cold(" ")


@requirement("SES-010", "SES-003")
async def test_what_expired_is_collected_and_not_counted(engine: MemoryEngine, world: World) -> None:
    await engine.store("note", key="stays")
    await engine.store("note", key="ends", expires_at=world.clock.now() + timedelta(hours=1))
    world.clock.advance(timedelta(hours=2))
    assert await engine.migrate_to_cold("s1") == 1
    assert await _working(world) == []


@requirement("SES-003")
async def test_a_large_session_ends_at_once(engine: MemoryEngine) -> None:
    for _ in range(3):
        await engine.store_many([BatchItem(content="note", options={"wait_indexed": False})] * 1000)
    assert await engine.migrate_to_cold("s1") == 3000


@requirement("FR-005.1", "REQ-010-035", "US-005.3", "SES-010")
async def test_the_end_of_a_long_session_leaves_one_summary_for_each_owner(world: World) -> None:
    async with running(world.engine(settings={"session": {"summary_min_tokens": 40}})) as engine:
        bob = engine.acting_as(volk_id="bob")
        for number in range(6):
            await engine.store(f"note {number} says that kettle {number} is blue and shiny", key=f"a{number}")
        for number in range(6):
            await bob.store(f"remark {number} says that the stove {number} is hot today", key=f"b{number}")
        await engine.acting_as(volk_id="cleo").store("short", key="c")
        assert await engine.migrate_to_cold("s1") == 13
        summaries = [entry for entry in await entries(world.store) if entry.source == "summary"]
        assert [entry.volk_id for entry in summaries] == ["ada", "bob"]
        for summary, place, letter in zip(summaries, (engine, bob), "ab", strict=True):
            assert summary.session_id == "s1"
            sources = await place.related(summary.key, kinds=["DERIVED_FROM", "SUMMARIZED_BY"])
            assert {entry.key for entry in sources} == {address.key for address in summary.derived_from}
            assert {key[0] for key in (entry.key for entry in sources)} == {letter}
        assert len(await entries(world.store)) == 15


@requirement("FR-005.1")
async def test_no_summary_is_left_where_none_is_wanted(world: World) -> None:
    async with running(world.engine(settings={"session": {"summary_min_tokens": 0}})) as engine:
        await engine.store("many words " * 3000)
        assert await engine.migrate_to_cold("s1") == 1
        assert len(await entries(world.store)) == 1


@requirement("ENG-010", "US-001.6")
async def test_a_mark_ends_with_its_session_and_the_memory_stays(world: World) -> None:
    async with running(world.engine(settings={"session": {"ttl_s": 60}})) as engine:
        await engine.store("note", key="k")
        world.clock.advance(timedelta(seconds=61))
        await engine.sweep()
        await engine.flush()
        assert await _working(world) == []
        assert await engine.retrieve("k") is not None
        await engine.promote("k", "s7")
        assert await _working(world, "s7") == ["k"]


@requirement("ENG-010")
async def test_a_good_hit_of_ones_own_comes_into_the_working_set(world: World) -> None:
    async with running(world.engine(settings={"tiers": {"promote_min_score": 0.01}})) as engine:
        await engine.store("the kettle is blue", key="k")
        await engine.migrate_to_cold("s1")
        later = engine.acting_as(session_id="s2")
        await later.search("blue kettle")
        await later.flush()
        assert await _working(world, "s2") == ["k"]
        assert len(await later.search("blue kettle")) == 1


@requirement("SES-003")
async def test_a_failed_end_leaves_the_working_set_as_it_was(world: World) -> None:
    async with running(world.engine(memories=faulty(world.store, at=1, methods=["commit"], forever=True))) as engine:
        with pytest.raises(UnavailableError):
            await engine.store("note")
        with pytest.raises(UnavailableError):
            await engine.migrate_to_cold("s1")
        assert world.told("memory.migrate.completed") == []


@requirement("US-001.2")
async def test_a_memory_is_there_after_a_restart(world: World) -> None:
    async with running(world.engine()) as engine:
        stored = await engine.store("note", key="k", tags=["t"], metadata={"a": [1]})
    async with running(world.engine()) as engine:
        assert await engine.retrieve("k") == stored
        assert await _working(world) == ["k"]


@requirement("REQ-010-032", "US-005.6")
async def test_a_summary_is_of_the_strictest_class_of_its_sources(engine: MemoryEngine) -> None:
    leader = engine.acting_as(roles=["team_lead", "system_admin"])
    for classification in MemoryClassification:
        session = leader.acting_as(session_id=f"only {classification}")
        await session.store(f"the {classification} kettle is blue", classification=classification)
        await leader.acting_as(session_id="mixed").store(f"the {classification} pot", classification=classification)
    for classification in MemoryClassification:
        assert (await leader.summarize(f"only {classification}")).classification is classification
    assert (await leader.summarize("mixed")).classification is MemoryClassification.PRIVATE
    stored = await leader.summarize("mixed", store=True)
    assert await leader.acting_as(volk_id="bob").retrieve(stored.key or "", owner="ada") is None
