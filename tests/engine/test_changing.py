"""What an update, a delete and the passing of time change, and what they leave alone."""

import asyncio
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic import MemoryClassification, MemoryEngine, MemoryEntry, MemoryScope, SearchMode
from mnemic.embedders.hashing import Hashing
from mnemic.errors import AccessDeniedError, ConflictError, InvalidInputError, NotFoundError
from mnemic.ports import MemoryFilter
from mnemic.testing import requirement
from mnemic.testing.strategies import inherited
from tests.engine.world import World, digest, entries, rows, running

pytestmark = pytest.mark.store

_MOVES = {"version", "updated_at", "recorded_at", "valid_from", "embedding_model"}
_CHANGES: dict[str, tuple[dict[str, Any], set[str]]] = {
    "content": ({"content": "the kettle is green now"}, {"token_count"}),
    "tags": ({"tags": ["b", "c"]}, set()),
    "no tags": ({"tags": []}, set()),
    "metadata": ({"metadata": {"b": 2}}, set()),
    "no metadata": ({"metadata": {}}, set()),
    "classification": ({"classification": MemoryClassification.SHARED}, set()),
    "importance": ({"importance": 0.0}, set()),
    "pinned": ({"pinned": False}, set()),
    "occurred_at": ({"occurred_at": datetime(2024, 1, 1, tzinfo=UTC)}, set()),
}


def _differing(one: MemoryEntry, other: MemoryEntry) -> set[str]:
    names = {field.name for field in fields(MemoryEntry)} - {"embedding"}
    return {name for name in names if getattr(one, name) != getattr(other, name)}


@requirement("FR-016", "D35", "ENG-005")
@pytest.mark.parametrize("case", _CHANGES)
async def test_an_update_changes_what_is_given_and_nothing_else(engine: MemoryEngine, case: str) -> None:
    change, follows = _CHANGES[case]
    leader = engine.acting_as(roles=["team_lead"])
    source = await leader.store("source", key="source")
    before = await leader.store(
        "the kettle is blue",
        key="k",
        tags=["a", "b"],
        metadata={"a": 1},
        pinned=True,
        task_id="t",
        speaker="Mara",
        turn=3,
        derived_from=(source.address,),
        occurred_at=datetime(2023, 1, 1, tzinfo=UTC),
        expires_at=datetime(2999, 1, 1, tzinfo=UTC),
    )
    after = await leader.acting_as(session_id="s2").update("k", **change)
    assert _differing(before, after) <= {*change, *follows, *_MOVES}
    (name, value), *_ = change.items()
    assert getattr(after, name) == (tuple(value) if name == "tags" else value)
    assert after.version == 2
    assert after.updated_at > before.updated_at
    await leader.flush()
    found = await leader.retrieve("k")
    assert found is not None
    assert _differing(found, after) <= {"embedding_model"}
    assert [entry.version for entry in await leader.history("k")] == [2, 1]
    assert [entry.key for entry in await leader.related("k", kinds=["DERIVED_FROM"])] == ["source"]


@requirement("FR-016")
async def test_an_update_without_a_field_writes_and_tells_nothing(engine: MemoryEngine, world: World) -> None:
    stored = await engine.store("x", key="k")
    before, told = await digest(world.store), len(world.bus.events)
    assert await engine.update("k") == stored
    assert await digest(world.store) == before
    assert len(world.bus.events) == told


@requirement("FR-016")
async def test_updated_at_grows_although_the_clock_stands(world: World) -> None:
    world.clock.advance(-timedelta(days=1))
    async with running(world.engine()) as engine:
        first = await engine.store("x", key="k")
        world.clock.advance(-timedelta(hours=1))
        second = await engine.update("k", content="y")
        third = await engine.store("z", key="k")
    assert first.updated_at < second.updated_at < third.updated_at


@requirement("FR-016.1", "ENG-005")
async def test_a_wrong_version_is_a_conflict_and_an_unknown_key_is_not_found(
    engine: MemoryEngine, world: World
) -> None:
    await engine.store("x", key="k")
    before = await digest(world.store)
    with pytest.raises(ConflictError, match="expected version 2, version 1 stands there; read it again"):
        await engine.update("k", content="y", expected_version=2)
    with pytest.raises(ConflictError, match="expected version 2, version 1"):
        await engine.delete("k", expected_version=2)
    with pytest.raises(NotFoundError):
        await engine.update("unknown", content="y")
    with pytest.raises(ConflictError, match="nothing stands there"):
        await engine.delete("unknown", expected_version=1)
    assert await digest(world.store) == before
    assert (await engine.update("k", content="y", expected_version=1)).version == 2


@requirement("REQ-010-049", "GOV-018")
async def test_what_others_own_can_be_read_but_not_changed(engine: MemoryEngine, world: World) -> None:
    leader = engine.acting_as(roles=["team_lead"])
    await leader.store("shared", key="shared", classification=MemoryClassification.SHARED)
    await leader.store("private", key="private")
    bob = engine.acting_as(volk_id="bob")
    before = await digest(world.store)
    with pytest.raises(AccessDeniedError, match="can_update_memory"):
        await bob.update("shared", content="mine")
    with pytest.raises(AccessDeniedError, match="can_delete_memory"):
        await bob.delete("shared")
    with pytest.raises(NotFoundError):
        await bob.update("private", content="mine")
    assert await bob.delete("private") is False
    assert await digest(world.store) == before
    assert [event.payload["operation"] for event in world.told("memory.access.denied")] == ["update", "delete"]
    assert [r.record.action for r in await rows(world.store, "write") if r.record.result == "denied"] == [
        "update",
        "delete",
    ]


@requirement("REQ-010-049")
async def test_a_change_of_class_needs_the_role_of_the_new_class_and_is_audited(
    engine: MemoryEngine, world: World
) -> None:
    await engine.store("x", key="k")
    before = await digest(world.store)
    with pytest.raises(AccessDeniedError, match="needs role 'team_lead'"):
        await engine.update("k", classification=MemoryClassification.SHARED)
    assert await digest(world.store) == before
    await engine.acting_as(roles=["team_lead"]).update("k", classification=MemoryClassification.SHARED)
    detail = (await rows(world.store, "write"))[-1].record.detail
    assert (detail["old_class"], detail["new_class"]) == ("private", "shared")
    assert len(world.told("memory.reclassify.completed")) == 1
    assert await engine.acting_as(volk_id="bob").retrieve("k") is not None
    await engine.update("k", classification=MemoryClassification.PRIVATE)
    assert await engine.acting_as(volk_id="bob").retrieve("k") is None


@requirement("D36", "FR-016")
async def test_an_old_text_is_found_no_more_by_words_or_meaning(world: World) -> None:
    async with running(world.engine(model=Hashing(dim=4096))) as engine:
        await engine.store("zebras graze in herds", key="k")
        await engine.store("an invoice was due", key="other")
        await engine.flush()
        await engine.update("k", content="one ferry leaves at nine")
        assert await engine.search("zebras", mode=SearchMode.KEYWORD) == []
        await engine.flush()
        scores = {hit.key: hit.score_parts["cosine"] for hit in await engine.search("zebras graze in herds")}
    assert scores["k"] == pytest.approx(scores["other"], abs=0.08)


@requirement("FR-018", "PRV-029")
async def test_a_deleted_memory_is_gone_from_every_read_and_its_owner_sees_its_history(
    engine: MemoryEngine, world: World
) -> None:
    await engine.store("the blue kettle", key="k", tags=["t"])
    await engine.store("another kettle", key="other")
    await engine.link("other", "k")
    assert await engine.delete("k") is True
    assert await engine.delete("k") is False
    assert await engine.retrieve("k") is None
    assert [hit.key for hit in await engine.search("kettle")] == ["other"]
    assert (await engine.retrieve_by(tags=["t"])).items == ()
    assert await engine.related("other") == []
    assert await engine.count() == 1
    assert "blue" not in (await engine.context("kettle")).text
    assert "blue" not in (await engine.summarize("s1")).content
    assert [entry.content for entry in await engine.history("k")] == ["the blue kettle"]
    assert (await engine.store("again", key="k")).version == 3


@requirement("FR-018")
async def test_what_was_deleted_goes_after_its_time(world: World) -> None:
    async with running(world.engine(settings={"retention": {"deleted_days": 7}})) as engine:
        await engine.store("the blue kettle", key="k")
        await engine.delete("k")
        world.clock.advance(timedelta(days=6))
        await engine.sweep()
        assert len(await engine.history("k")) == 1
        world.clock.advance(timedelta(days=2))
        await engine.sweep()
        assert await engine.history("k") == []


@requirement("FR-020", "SES-010")
async def test_after_its_expiry_a_memory_is_in_no_read_and_a_sweep_buries_it(
    engine: MemoryEngine, world: World
) -> None:
    end = world.clock.now() + timedelta(hours=1)
    await engine.store("the blue kettle", key="k", tags=["t"], expires_at=end)
    await engine.store("another kettle", key="other")
    world.clock.advance(timedelta(hours=1))
    assert await engine.retrieve("k") is None
    assert [hit.key for hit in await engine.search("kettle")] == ["other"]
    assert (await engine.retrieve_by(tags=["t"])).items == ()
    assert await engine.count() == 1
    assert await engine.delete("k") is False
    assert await world.store.tombstones("t1") == []
    assert await engine.sweep() == 1
    assert [deletion.address.key for deletion in await world.store.tombstones("t1")] == ["k"]
    assert await engine.sweep() == 0
    assert [event.payload["key"] for event in world.told("memory.expire.completed")] == ["k"]
    assert [row.record.actor for row in await rows(world.store, "write")][-1] == "SYS:MEMORY"


@requirement("D15")
@inherited
@given(steps=st.lists(st.sampled_from(["retrieve", "search", "promote", "flush", "sweep"]), max_size=8))
async def test_touching_never_shortens_a_life(engine: MemoryEngine, world: World, steps: list[str]) -> None:
    end = world.clock.now() + timedelta(days=7)
    stored = await engine.store("the blue kettle", key="k", expires_at=end)
    calls: dict[str, Any] = {
        "retrieve": lambda: engine.retrieve("k"),
        "search": lambda: engine.search("kettle"),
        "promote": lambda: engine.promote("k", "s2"),
        "flush": engine.flush,
        "sweep": engine.sweep,
    }
    for step in steps:
        world.clock.advance(timedelta(hours=1))
        await calls[step]()
        (entry,) = await entries(world.store)
        assert entry.expires_at == stored.expires_at


@requirement("ENG-018", "D30")
async def test_a_bulk_deletion_needs_the_count_of_its_dry_run(engine: MemoryEngine, world: World) -> None:
    for number in range(5):
        await engine.store(f"text {number}", key=f"k{number}", tags=["old" if number < 3 else "new"])
    before = await digest(world.store)
    assert await engine.forget({"tag": "old"}) == 3
    assert await engine.forget(None) == 5
    with pytest.raises(InvalidInputError, match="expected_count is missing"):
        await engine.forget(None, dry_run=False)
    with pytest.raises(ConflictError, match="expected_count is 5, 3 entries match now"):
        await engine.forget({"tag": "old"}, dry_run=False, expected_count=5)
    with pytest.raises(InvalidInputError):
        await engine.forget({}, dry_run=False, expected_count=5)
    assert await digest(world.store) == before
    assert await engine.forget({"tag": "old"}, dry_run=False, expected_count=3) == 3
    assert sorted(entry.key for entry in await entries(world.store)) == ["k3", "k4"]
    assert len(world.told("memory.delete.completed")) == 3


@requirement("D29", "ENG-018")
async def test_forgetting_one_session_leaves_every_other_alone(engine: MemoryEngine, world: World) -> None:
    for tenant in ("t1", "t2"):
        for volk in ("ada", "bob"):
            for session in ("s1", "s2", "s%"):
                await engine.acting_as(tenant_id=tenant, volk_id=volk, session_id=session).store("x")
    scope = MemoryScope(session_id="s1")
    count = await engine.forget(None, scope=scope)
    assert count == 1
    others = {(e.volk_id, e.session_id) for e in await entries(world.store)} - {("ada", "s1")}
    before = await digest(world.store, "t2")
    assert await engine.forget(MemoryFilter(), scope=scope, dry_run=False, expected_count=count) == 1
    assert {(e.volk_id, e.session_id) for e in await entries(world.store)} == others
    assert await digest(world.store, "t2") == before


@requirement("FR-016.1", "REL-005")
async def test_changes_of_one_key_at_once_lose_nothing(engine: MemoryEngine) -> None:
    await engine.store("x", key="k")
    await asyncio.gather(*(engine.update("k", metadata={"n": number}) for number in range(10)))
    versions = await engine.history("k")
    assert [entry.version for entry in versions] == list(range(11, 0, -1))
    assert {dict(entry.metadata).get("n") for entry in versions} == {None, *range(10)}
    results = await asyncio.gather(*(engine.delete("k") for _ in range(6)))
    assert sorted(results) == [False] * 5 + [True]


@requirement("FR-016.1", "REL-005")
async def test_of_writers_who_expect_a_version_one_wins(engine: MemoryEngine) -> None:
    await engine.store("x", key="k")
    calls = (engine.update("k", content=f"text {number}", expected_version=1) for number in range(8))
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(result, MemoryEntry) for result in results) == 1
    assert sum(isinstance(result, ConflictError) for result in results) == 7
    assert len(await engine.history("k")) == 2


@requirement("REL-005", "PRV-038")
async def test_two_engines_on_one_file_lose_and_double_nothing(tmp_path: Path) -> None:
    world = World("sqlite", tmp_path)
    async with running(world.engine()) as one, running(world.engine()) as other:
        await one.store("x", key="k")
        await asyncio.gather(*(place.update("k", metadata={"n": n}) for n in range(10) for place in (one, other)))
        assert [entry.version for entry in await other.history("k")] == list(range(21, 0, -1))
        await one.store("the kettle is blue", key="own", wait_indexed=True)
        assert [hit.key for hit in await other.search("blue kettle", mode=SearchMode.SEMANTIC, limit=1)] == ["own"]
        assert all(verification.valid for verification in (await other.verify_audit()).values())
