"""What stands at a key, what lies in a scope, and what is connected."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mnemic import BatchItem, MemoryClassification, MemoryEngine, MemoryScope
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.testing import requirement
from tests.engine.world import World, entries, rows, running

pytestmark = pytest.mark.retrieve


@requirement("REQ-010-011")
async def test_unknown_deleted_expired_and_forbidden_look_alike(engine: MemoryEngine, world: World) -> None:
    await engine.store("x", key="deleted")
    await engine.delete("deleted")
    await engine.store("x", key="expired", expires_at=world.clock.now() + timedelta(hours=1))
    await engine.acting_as(volk_id="bob").store("x", key="forbidden")
    world.clock.advance(timedelta(hours=1))
    for key, owner in (("unknown", None), ("deleted", None), ("expired", None), ("forbidden", "bob")):
        assert await engine.retrieve(key, owner=owner) is None
    await engine.flush()
    results = [row.record.result for row in await rows(world.store, "read") if row.record.action == "retrieve"]
    assert results == ["not_found", "not_found", "not_found", "denied"]


@requirement("REQ-010-011", "GOV-018")
async def test_a_forbidden_read_waits_for_no_commit(engine: MemoryEngine, world: World) -> None:
    await engine.acting_as(volk_id="bob").store("x", key="k")
    written = len(await rows(world.store, "write"))
    assert await engine.retrieve("k", owner="bob") is None
    assert len(await rows(world.store, "write")) == written
    denied = world.told("memory.access.denied")
    assert [(event.severity, event.payload["rule"]) for event in denied] == [("warning", "can_read_memory")]


@requirement("FR-003")
async def test_without_metadata_the_rest_is_the_same(engine: MemoryEngine) -> None:
    stored = await engine.store("x", key="k", metadata={"a": 1}, tags=["t"])
    found = await engine.retrieve("k", include_metadata=False)
    assert found is not None
    assert (found.content, found.tags, dict(found.metadata), found.embedding) == ("x", stored.tags, {}, None)


@requirement("FR-003")
async def test_reading_moves_the_access_count_behind_the_scenes(engine: MemoryEngine, world: World) -> None:
    stored = await engine.store("the blue kettle", key="k")
    world.clock.advance(timedelta(hours=1))
    await engine.retrieve("k")
    await engine.retrieve("k")
    await engine.search("kettle")
    await engine.flush()
    found = await engine.retrieve("k")
    assert found is not None
    assert found.access_count == 3
    assert found.last_accessed_at >= stored.created_at + timedelta(hours=1)
    assert found.version == 1


@requirement("ENG-002")
async def test_a_key_means_the_users_entry_then_the_agents_then_the_one_readable_one(engine: MemoryEngine) -> None:
    leader = engine.acting_as(roles=["team_lead"])
    shared = MemoryClassification.SHARED
    bob = leader.acting_as(volk_id="bob")
    await bob.store("bob's", key="k", classification=shared)
    for_user = leader.acting_as(user_id="u1")
    assert [e and e.content for e in [await for_user.retrieve("k")]] == ["bob's"]
    await leader.store("the agent's", key="k")
    assert [e and e.content for e in [await for_user.retrieve("k")]] == ["the agent's"]
    await for_user.store("the user's", key="k")
    assert [e and e.content for e in [await for_user.retrieve("k")]] == ["the user's"]
    assert [e and e.content for e in [await for_user.retrieve("k", owner="bob")]] == ["bob's"]
    assert [e and e.content for e in [await for_user.retrieve("k", owner=("ada", ""))]] == ["the agent's"]


@requirement("ENG-002")
async def test_a_key_that_several_others_have_is_a_conflict_that_names_owner(engine: MemoryEngine) -> None:
    leader = engine.acting_as(roles=["team_lead"])
    for volk in ("bob", "cleo"):
        await leader.acting_as(volk_id=volk).store(volk, key="k", classification=MemoryClassification.SHARED)
    with pytest.raises(ConflictError, match="owner="):
        await engine.retrieve("k")
    found = await engine.retrieve("k", owner="cleo")
    assert found is not None
    assert found.content == "cleo"


@requirement("ENG-002", "FR-019")
async def test_a_version_and_a_moment_select_among_the_kept_ones(engine: MemoryEngine) -> None:
    def day(number: int) -> datetime:
        return datetime(2025, 1, number, tzinfo=UTC)

    await engine.store("lives in Bern", key="home", occurred_at=day(1))
    await engine.update("home", content="lives in Graz", occurred_at=day(10))
    assert [e and e.content for e in [await engine.retrieve("home", version=1)]] == ["lives in Bern"]
    for number, place in ((1, "Bern"), (9, "Bern"), (10, "Graz"), (30, "Graz")):
        found = await engine.retrieve("home", as_of=day(number))
        assert found is not None
        assert found.content == f"lives in {place}"
        assert [hit.content for hit in await engine.search("lives", as_of=day(number))] == [f"lives in {place}"]
    assert await engine.retrieve("home", as_of=datetime(2024, 12, 31, tzinfo=UTC)) is None
    assert await engine.retrieve("home", version=3) is None


@requirement("FR-019", "REQ-010-049")
async def test_others_see_what_held_of_a_shared_memory_and_nothing_of_a_private_one(engine: MemoryEngine) -> None:
    leader = engine.acting_as(roles=["team_lead"])
    first, second = datetime(2025, 1, 1, tzinfo=UTC), datetime(2025, 2, 1, tzinfo=UTC)
    for key, classification in (("open", MemoryClassification.SHARED), ("closed", MemoryClassification.PRIVATE)):
        await leader.store("lives in Bern", key=key, occurred_at=first, classification=classification)
        await leader.update(key, content="lives in Graz", occurred_at=second)
    bob = engine.acting_as(volk_id="bob")
    for moment, content in ((first, "lives in Bern"), (second, "lives in Graz")):
        found = await bob.retrieve("open", as_of=moment)
        assert found is not None
        assert found.content == content
        assert await bob.retrieve("closed", as_of=moment) is None
    assert await bob.retrieve("open", version=1) is None
    with pytest.raises(InvalidInputError, match="leave owner out"):
        await bob.retrieve("open", owner="ada", version=1)


@requirement("FR-018", "FR-019")
async def test_as_of_answers_with_what_was_deleted_since(engine: MemoryEngine, world: World) -> None:
    await engine.store("the old plan", key="k", occurred_at=datetime(2025, 1, 1, tzinfo=UTC))
    await engine.delete("k")
    before = world.clock.now() - timedelta(days=1)
    assert [hit.content for hit in await engine.search("plan", as_of=before)] == ["the old plan"]
    assert await engine.search("plan") == []


@pytest.fixture
async def library(engine: MemoryEngine) -> MemoryEngine:
    for number in range(24):
        place = engine.acting_as(session_id=f"s{number % 3}")
        tags = [tag for tag, step in (("Red", 2), ("blue", 3)) if number % step == 0]
        await place.store(f"book {number}", key=f"b{number:02}", tags=tags, task_id=f"t{number % 2}")
    return engine


@requirement("REQ-010-012", "ENG-006", "US-001.3")
@pytest.mark.parametrize("match", ["all", "any"])
async def test_tags_select_all_or_any_in_either_case(library: MemoryEngine, match: str) -> None:
    quantifier = all if match == "all" else any
    wanted = {f"b{n:02}" for n in range(24) if quantifier([n % 2 == 0, n % 3 == 0])}
    seen: list[str] = []
    cursor = None
    while True:
        page = await library.retrieve_by(tags=["RED", "Blue"], tags_match=match, limit=3, cursor=cursor)
        seen += [entry.key for entry in page.items]
        if (cursor := page.next_cursor) is None:
            break
    assert sorted(seen) == sorted(wanted)
    assert seen == sorted(seen, reverse=True)  # newest first


@requirement("REQ-010-013", "US-001.3", "ENG-006")
@pytest.mark.parametrize("session", [None, "s1"])
@pytest.mark.parametrize("task", [None, "t1"])
async def test_session_and_task_select_what_an_oracle_selects(
    library: MemoryEngine, session: str | None, task: str | None
) -> None:
    scope = MemoryScope(session_id=session, task_id=task)
    wanted = {f"b{n:02}" for n in range(24) if session in {None, f"s{n % 3}"} and task in {None, f"t{n % 2}"}}
    page = await library.retrieve_by(scope=scope)
    assert sorted(entry.key for entry in page.items) == sorted(wanted)
    assert await library.count(scope) == len(wanted)


@requirement("TYP-009", "D32")
async def test_a_cursor_reaches_every_memory_once_while_others_write(engine: MemoryEngine) -> None:
    for start in range(0, 2500, 500):
        await engine.store_many([BatchItem(content="x", options={"key": f"k{start + n:04}"}) for n in range(500)])
    for size in (1000, 377):
        seen: list[str] = []
        cursor = None
        number = 0
        while True:
            page = await engine.retrieve_by(limit=size, cursor=cursor)
            seen += [entry.key for entry in page.items if entry.key.startswith("k")]
            number += 1
            await engine.store("late", key=f"late-{size}-{number}")
            if (cursor := page.next_cursor) is None:
                break
        assert sorted(seen) == [f"k{n:04}" for n in range(2500)]


@requirement("D32", "TYP-009")
async def test_a_page_too_large_and_a_foreign_cursor_are_errors(engine: MemoryEngine) -> None:
    with pytest.raises(InvalidInputError, match="limit"):
        await engine.retrieve_by(limit=10_000)
    with pytest.raises(InvalidInputError, match="cursor"):
        await engine.retrieve_by(cursor="somewhere")
    with pytest.raises(InvalidInputError, match="tags_match is 'some'; give all or any"):
        await engine.retrieve_by(tags_match="some")


@requirement("REQ-010-030", "US-002.4")
async def test_dates_include_both_ends_and_know_zones(engine: MemoryEngine, world: World) -> None:
    stored = []
    for number in range(5):
        stored.append(await engine.store(f"day {number}", key=f"d{number}"))
        world.clock.advance(timedelta(days=1))
    first, last = stored[1].created_at, stored[3].created_at
    for low, high, wanted in ((first, last, "123"), (None, first, "01"), (last, None, "34"), (None, None, "01234")):
        scope = MemoryScope(date_from=low and low.astimezone(), date_to=high)
        page = await engine.retrieve_by(scope=scope)
        assert sorted(entry.key for entry in page.items) == [f"d{n}" for n in wanted]
        assert sorted(hit.key for hit in await engine.search("day", scope=scope)) == [f"d{n}" for n in wanted]


@requirement("ENG-010", "REQ-010-031")
async def test_a_link_is_drawn_once_and_walked_both_ways(engine: MemoryEngine) -> None:
    for key in "abc":
        await engine.store(key, key=key)
    assert await engine.link("a", "b")
    assert not await engine.link("a", "b")
    assert await engine.link("b", "c")
    assert await engine.link("c", "a")  # a circle
    for start in "abc":
        near = await engine.related(start, depth=5, kinds=["RELATES_TO"])
        assert sorted(entry.key for entry in near) == sorted({*"abc"} - {start})


@requirement("REQ-010-031")
async def test_depth_bounds_the_walk(engine: MemoryEngine) -> None:
    for number in range(7):
        await engine.store("x", key=f"n{number}")
    for number in range(6):
        await engine.link(f"n{number}", f"n{number + 1}")
    for depth in range(1, 6):
        near = await engine.related("n0", depth=depth)
        assert [entry.key for entry in near] == [f"n{n}" for n in range(1, depth + 1)]
    for depth in (0, 6):
        with pytest.raises(InvalidInputError, match=f"depth is {depth}; give 1 to 5"):
            await engine.related("n0", depth=depth)


@requirement("REQ-010-031")
async def test_a_walk_neither_shows_nor_crosses_what_cannot_be_read(engine: MemoryEngine) -> None:
    leader, shared = engine.acting_as(roles=["team_lead"]), MemoryClassification.SHARED
    bob = leader.acting_as(volk_id="bob")
    await leader.store("start", key="a", classification=shared)
    await bob.store("shared bridge", key="bridge", classification=shared)
    await bob.store("hidden", key="hidden")
    await bob.store("beyond", key="beyond", classification=shared)
    await leader.link("a", "bridge")
    await bob.link("bridge", "hidden")
    await bob.link("hidden", "beyond")
    assert [entry.key for entry in await engine.related("a", depth=5)] == ["bridge"]
    assert sorted(entry.key for entry in await bob.related("bridge", depth=5)) == ["a", "beyond", "hidden"]


@requirement("REQ-010-031")
async def test_a_task_relates_by_itself_and_other_groups_only_when_asked(library: MemoryEngine) -> None:
    by_task = await library.related("b00")
    assert sorted(entry.key for entry in by_task) == [f"b{n:02}" for n in range(2, 24, 2)]
    by_session = await library.related("b00", kinds=["session"])
    assert sorted(entry.key for entry in by_session) == [f"b{n:02}" for n in range(3, 24, 3)]
    with pytest.raises(InvalidInputError, match="'friends'"):
        await library.related("b00", kinds=["friends"])


@requirement("ENG-010")
@pytest.mark.parametrize("call", ["related", "link", "promote"])
async def test_an_unknown_key_is_not_found(engine: MemoryEngine, call: str) -> None:
    more: tuple[Any, ...] = {"related": (), "link": ("k",), "promote": ("s2",)}[call]
    await engine.store("x", key="k")
    with pytest.raises(NotFoundError, match="no memory with this key"):
        await getattr(engine, call)("unknown", *more)


@requirement("ENG-010")
async def test_only_relations_can_be_drawn_by_hand(engine: MemoryEngine) -> None:
    for key in "ab":
        await engine.store(key, key=key)
    for kind in ("SHARED_WITH", "DERIVED_FROM", "", "relates_to"):
        with pytest.raises(InvalidInputError, match="give RELATES_TO"):
            await engine.link("a", "b", kind)
    assert await engine.related("a") == []


@requirement("REQ-010-047")
async def test_each_call_adds_one_audit_row(world: World) -> None:
    async with running(world.engine(settings={"audit": {"reads": "sync"}})) as engine:
        await engine.store("the blue kettle", key="k")
        await engine.store("other", key="other")
        calls: dict[str, Any] = {
            "store": engine.store("x", key="new"),
            "retrieve": engine.retrieve("k"),
            "search": engine.search("kettle"),
            "context": engine.context("kettle"),
            "summarize": engine.summarize("s1"),
            "update": engine.update("k", tags=["t"]),
            "count": engine.count(),
            "retrieve_by": engine.retrieve_by(),
            "related": engine.related("k"),
            "link": engine.link("k", "other"),
            "history": engine.history("k"),
            "promote": engine.promote("k", "s9"),
            "forget": engine.forget(None),
            "delete": engine.delete("k"),
            "migrate": engine.migrate_to_cold("s1"),
        }
        for name, call in calls.items():
            before = await _actions(world)
            await call
            assert (await _actions(world))[len(before) :] == [name], name
        before = await _actions(world)
        await engine.summarize("s1", store=True)
        assert (await _actions(world))[len(before) :] == ["summarize"]
        assert {row.record.result for kind in ("read", "write") for row in await rows(world.store, kind)} == {"success"}


async def _actions(world: World) -> list[str]:
    both = [row.record for kind in ("read", "write") for row in await rows(world.store, kind)]
    return [record.action for record in sorted(both, key=lambda record: record.time)]


@requirement("REQ-010-047")
async def test_the_row_of_a_read_is_there_within_a_second(engine: MemoryEngine, world: World) -> None:
    await engine.retrieve("unknown")
    for _ in range(20):
        await asyncio.sleep(0.05)
        if await rows(world.store, "read"):
            return
    pytest.fail("no audit row after a second")


@requirement("D07")
async def test_a_fresh_memory_lies_in_the_last_minute(engine: MemoryEngine, world: World) -> None:
    await engine.store("the fresh one", key="k")
    scope = MemoryScope(date_from=world.clock.now() - timedelta(minutes=1))
    assert [hit.key for hit in await engine.search("fresh", scope=scope)] == ["k"]
    assert len(await entries(world.store)) == 1
