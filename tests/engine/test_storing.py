"""What holds when a memory is kept."""

import asyncio
import itertools
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mnemic import (
    BatchItem,
    MemoryClassification,
    MemoryEngine,
    MemoryScope,
    MemoryType,
    Origin,
    SearchMode,
    Settings,
    open_engine,
)
from mnemic.errors import ConflictError, InvalidInputError, LimitError
from mnemic.providers.inmemory import InMemoryProvider
from mnemic.testing import ManualClock, requirement
from tests.engine.world import World, digest, entries, rows, running

pytestmark = pytest.mark.store

_OPTIONS: dict[str, Any] = {
    "key": "k",
    "tags": ["work", "Work", "x"],
    "metadata": {"deep": {"n": 1}, "none": None},
    "classification": MemoryClassification.SHARED,
}


@requirement("REQ-010-006")
@pytest.mark.parametrize("names", [c for n in range(5) for c in itertools.combinations(_OPTIONS, n)])
async def test_every_combination_of_options_is_kept_and_read_back(engine: MemoryEngine, names: tuple[str, ...]) -> None:
    leader = engine.acting_as(roles=["team_lead"])
    stored = await leader.store("the kettle is blue", **{name: _OPTIONS[name] for name in names})
    assert await leader.retrieve(stored.key) == stored
    wanted = MemoryClassification.SHARED if "classification" in names else MemoryClassification.PRIVATE
    assert stored.classification is wanted
    assert stored.tags == (("work", "Work", "x") if "tags" in names else ())


@requirement("US-001.1", "TYP-001", "TYP-002")
async def test_storing_gives_key_times_owner_and_session(engine: MemoryEngine) -> None:
    stored = await engine.store("x")
    assert (stored.tenant_id, stored.volk_id, stored.session_id, stored.created_by) == ("t1", "ada", "s1", "ada")
    assert stored.created_at == stored.updated_at == stored.recorded_at == stored.last_accessed_at
    assert stored.created_at.tzinfo is UTC
    assert stored.key


@requirement("REQ-010-007")
async def test_a_missing_key_becomes_a_uuid_and_no_two_are_alike() -> None:
    settings = Settings.model_validate({"embedding": {"provider": "none"}})
    async with open_engine(memories=InMemoryProvider(clock=ManualClock()), settings=settings) as engine:
        results = [result for _ in range(10) for result in await engine.store_many([BatchItem(content="x")] * 1000)]
    keys = {result.entry.key for result in results if result.entry}
    assert len(keys) == 10_000
    assert {uuid.UUID(key).version for key in keys} == {4}


@requirement("REQ-010-007", "FR-016")
async def test_a_known_key_of_the_same_owner_gets_a_new_version(engine: MemoryEngine, world: World) -> None:
    first = await engine.store("one", key=" Key/ä ")
    world.clock.advance(timedelta(days=1))
    second = await engine.acting_as(session_id="s2").store("two", key=" Key/ä ")
    assert (second.key, second.version, second.created_at) == (" Key/ä ", 2, first.created_at)
    assert second.updated_at > first.updated_at
    assert second.session_id == "s2"
    assert [entry.content for entry in await engine.history(" Key/ä ")] == ["two", "one"]


@requirement("REQ-010-008", "ENG-001")
async def test_with_wait_indexed_the_vector_is_there_when_store_returns(engine: MemoryEngine, world: World) -> None:
    stored = await engine.store("the kettle is blue", key="k", wait_indexed=True)
    place = MemoryScope(tenant_id="t1", volk_id="ada", user_id="")
    found = await world.store.get(place, "k")
    assert found is not None
    assert found.embedding_model == stored.embedding_model
    assert stored.embedding_model is not None
    assert stored.embedding_model.startswith("hashing:64")
    assert stored.embedding is None


@requirement("REQ-010-008", "FR-002")
@pytest.mark.parametrize("mode", list(SearchMode))
async def test_the_writer_finds_a_memory_right_after_storing_it(engine: MemoryEngine, mode: SearchMode) -> None:
    await engine.store("the kettle is blue", key="k")
    hits = await engine.search("blue kettle", mode=mode)
    assert [hit.key for hit in hits] == ["k"]
    assert hits.pending_vectors == 0 or mode is SearchMode.KEYWORD


@requirement("REQ-010-009")
async def test_the_store_holds_the_entry_when_store_returns(engine: MemoryEngine, world: World) -> None:
    stored = await engine.store("x", key="k")
    assert await world.store.get(MemoryScope(tenant_id="t1", volk_id="ada", user_id=""), "k") == stored


@requirement("ENG-001", "TYP-003", "TYP-004")
async def test_every_option_of_store_comes_back(engine: MemoryEngine, world: World) -> None:
    source = await engine.store("source", key="source")
    then, later = datetime(2020, 1, 2, 3, 4, 5, 6, tzinfo=UTC), datetime(2999, 1, 1, tzinfo=UTC)
    options: dict[str, Any] = {
        "task_id": "t",
        "memory_type": MemoryType.EPISODIC,
        "category": "decision",
        "speaker": "Mara",
        "role": "user",
        "turn": 7,
        "importance": 0.9,
        "source": "chat",
        "origin": Origin.USER,
        "pinned": True,
        "occurred_at": then,
        "expires_at": later,
        "derived_from": (source.address,),
    }
    stored = await engine.store("we take the early train", key="k", **options)
    assert {name: getattr(stored, name) for name in options} == options
    assert stored.valid_from == then
    assert await engine.retrieve("k") == stored
    assert [entry.key for entry in await engine.related("k")] == ["source"]
    assert stored.token_count > 0


@requirement("ENG-001")
async def test_a_vector_of_the_caller_is_kept_instead_of_a_computed_one(engine: MemoryEngine) -> None:
    await engine.store("nothing in common", key="far", embedding=[0.0] * 63 + [2.0])
    near = await engine.store("the kettle is blue", key="near")
    await engine.flush()
    hits = await engine.search("the kettle is blue", mode=SearchMode.SEMANTIC)
    assert [hit.key for hit in hits] == [near.key, "far"]


@requirement("ENG-001")
async def test_an_expected_version_guards_a_store(engine: MemoryEngine, world: World) -> None:
    await engine.store("one", key="k", expected_version=0)
    before = await digest(world.store)
    for wrong in (0, 2):
        with pytest.raises(ConflictError, match=f"expected version {wrong}, version 1"):
            await engine.store("two", key="k", expected_version=wrong)
    assert await digest(world.store) == before
    assert (await engine.store("two", key="k", expected_version=1)).version == 2


@requirement("FR-021", "P5")
async def test_a_repeated_request_gives_its_first_result(engine: MemoryEngine, world: World) -> None:
    first = await engine.store("one", idempotency_key="r1", metadata={"a": 1, "b": 2})
    again = await engine.store("one", idempotency_key="r1", metadata={"b": 2, "a": 1})
    assert again == first
    assert len(await entries(world.store)) == 1


@requirement("FR-021")
@pytest.mark.parametrize("other", [{"content": "two"}, {"pinned": True}, {"metadata": {"a": 1}}, {"turn": 3}])
async def test_another_body_under_an_idempotency_key_is_a_conflict(
    engine: MemoryEngine, world: World, other: dict[str, Any]
) -> None:
    await engine.store("one", idempotency_key="r1")
    before = await digest(world.store)
    with pytest.raises(ConflictError, match="another body"):
        await engine.store(**{"content": "one", **other}, idempotency_key="r1")
    assert await digest(world.store) == before


@requirement("FR-021")
async def test_another_owner_never_gets_the_result_of_somebody_elses_request(engine: MemoryEngine) -> None:
    await engine.store("one", idempotency_key="r1")
    with pytest.raises(ConflictError):
        await engine.acting_as(volk_id="bob").store("one", idempotency_key="r1")
    assert (await engine.acting_as(tenant_id="t2").store("one", idempotency_key="r1")).tenant_id == "t2"


@requirement("FR-021")
async def test_an_idempotency_key_is_forgotten_after_a_day(engine: MemoryEngine, world: World) -> None:
    first = await engine.store("one", idempotency_key="r1")
    world.clock.advance(timedelta(hours=24, seconds=1))
    assert (await engine.store("two", idempotency_key="r1")).key != first.key


@requirement("REL-006", "P5")
async def test_ten_repeats_at_once_are_one_entry_one_row_and_one_event(engine: MemoryEngine, world: World) -> None:
    results = await asyncio.gather(*(engine.store("one", idempotency_key="r1") for _ in range(10)))
    assert len({(entry.key, entry.version) for entry in results}) == 1
    assert len(await entries(world.store)) == 1
    assert [row.record.action for row in await rows(world.store, "write")] == ["store"]
    assert len(world.told("memory.store.completed")) == 1


@requirement("FR-016.1", "REL-005")
async def test_writers_of_one_key_at_once_all_leave_their_version(engine: MemoryEngine) -> None:
    await asyncio.gather(*(engine.store(f"text {number}", key="k") for number in range(12)))
    versions = await engine.history("k")
    assert [entry.version for entry in versions] == list(range(12, 0, -1))
    assert {entry.content for entry in versions} == {f"text {number}" for number in range(12)}


@requirement("ENG-016")
async def test_a_batch_answers_item_by_item(engine: MemoryEngine) -> None:
    results = await engine.store_many(
        [
            BatchItem(content="one", options={"key": "a"}),
            BatchItem(content=" "),
            BatchItem(content="two", options={"classification": "system"}),
            BatchItem(content="three", options={"colour": "blue"}),
            BatchItem(content="four", options={"key": "a"}),
        ]
    )
    names = [type(result.error).__name__ if result.error else "entry" for result in results]
    assert names == ["entry", "InvalidInputError", "AccessDeniedError", "InvalidInputError", "entry"]
    assert [entry.content for entry in await engine.history("a")] == ["four", "one"]


@requirement("ENG-016", "FR-017.1")
async def test_a_batch_over_its_limits_is_refused_whole(world: World) -> None:
    async with running(world.engine(settings={"limits": {"batch_items": 3, "request_bytes": 30}})) as engine:
        before = await digest(world.store)
        with pytest.raises(LimitError, match="4 items, the limit is 3"):
            await engine.store_many([BatchItem(content="x")] * 4)
        with pytest.raises(LimitError, match="32 bytes, the limit is 30"):
            await engine.store_many([BatchItem(content="x" * 16)] * 2)
        assert await digest(world.store) == before


@requirement("ENG-016")
async def test_messages_become_turns_and_a_repeat_adds_nothing(engine: MemoryEngine, world: World) -> None:
    talk: list[dict[str, Any]] = [
        {"role": "user", "content": "hello", "name": "Mara", "ts": "2026-01-01T10:00:00+02:00"},
        {"role": "assistant", "content": [{"type": "text", "text": "hi"}, {"type": "image"}]},
        {"role": "tool", "content": "hello"},
    ]
    first = await engine.store_messages(talk[:2], session_id="chat")
    second = await engine.store_messages(talk, session_id="chat")
    stored = [result.entry for result in second if result.entry]
    assert [result.entry and result.entry.key for result in second[:2]] == [r.entry and r.entry.key for r in first]
    assert [(e.turn, e.role, e.speaker, e.origin.value) for e in stored] == [
        (0, "user", "Mara", "user"),
        (1, "assistant", "assistant", "agent"),
        (2, "tool", "tool", "tool"),
    ]
    assert stored[0].occurred_at == datetime(2026, 1, 1, 8, tzinfo=UTC)
    assert len(await entries(world.store)) == 3
    assert {entry.session_id for entry in stored} == {"chat"}


@requirement("ENG-016")
@pytest.mark.parametrize("message", [{"role": "user"}, {"content": 5}, {"content": "x", "ts": "yesterday"}])
async def test_a_message_that_cannot_be_read_is_named_by_its_place(
    engine: MemoryEngine, world: World, message: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInputError, match=r"messages\[1\]"):
        await engine.store_messages([{"content": "x"}, message], session_id="chat")
    assert await entries(world.store) == []


@requirement("FR-017.1", "TYP-015")
@pytest.mark.parametrize(
    "content",
    ["  outer space \n", "e\u0301", "\u202eright to left", "👩‍🔬", "a\r\nb", "日本語", "\x1b[31m", "a\u200bb"],
)
async def test_content_is_kept_character_by_character(engine: MemoryEngine, content: str) -> None:
    await engine.store(content, key="k")
    found = await engine.retrieve("k")
    assert found is not None
    assert found.content == content
