"""A store leaves as lines and comes back whole, for its owner and for nobody else."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mnemic import MemoryClassification, MemoryEngine, MemoryScope, MemoryType
from mnemic.errors import AccessDeniedError, ConflictError, InvalidInputError, MnemicError
from mnemic.testing import requirement
from mnemic.types import Address
from tests.engine.world import World, digest, entries, running

pytestmark = pytest.mark.integration


async def _fill(engine: MemoryEngine) -> None:
    """Every feature that a memory can show."""
    for_user = engine.acting_as(user_id="u1")
    await engine.store("the kettle is blue", key="a", tags=["x", "ü"], metadata={"n": {"m": [1, None, 0.5]}})
    await engine.update("a", content="the kettle is green", occurred_at=datetime(2025, 1, 1, 2, 3, 4, 5, tzinfo=UTC))
    await for_user.store("the user's own", key="a", speaker="Mara", role="user", turn=0, importance=0.75, pinned=True)
    await engine.store("日本語 text", key="b", memory_type=MemoryType.ENTITY, category="fact", source="book")
    await engine.store("to go", key="gone")
    await engine.delete("gone")
    await engine.store("until then", key="c", expires_at=datetime(2999, 1, 1, tzinfo=UTC))
    await engine.link("a", "b")
    await engine.summarize("s1", store=True)
    await engine.migrate_to_cold("s1")


async def _lines(engine: MemoryEngine, scope: MemoryScope | None = None) -> list[str]:
    return [line async for line in engine.export(scope)]


@requirement("P20", "D50")
@pytest.mark.parametrize("kind", ["inmemory", "sqlite"])
async def test_an_export_taken_in_elsewhere_is_the_same_store(
    engine: MemoryEngine, world: World, tmp_path: Path, kind: str
) -> None:
    bound = engine.acting_as(user_id="u1")
    await _fill(engine)
    lines = await _lines(bound)
    other = World(kind, tmp_path / "other")
    other.folder.mkdir()
    async with running(other.engine()) as second:
        twin = second.acting_as(user_id="u1")
        assert await twin.import_(lines) == len([line for line in lines if '"type":"entry"' in line])
        assert await digest(other.store) == await digest(world.store)
        assert await _lines(twin) == lines
        assert await twin.import_(lines) == 0
        assert await digest(other.store) == await digest(world.store)
        await twin.flush()
        assert [hit.content for hit in await twin.search("green kettle", limit=1)] == ["the kettle is green"]
        assert [entry.content for entry in await twin.acting_as(user_id="").history("gone")] == ["to go"]


@requirement("D50")
async def test_a_scope_narrows_an_export(engine: MemoryEngine) -> None:
    await engine.store("one", key="a")
    await engine.acting_as(session_id="s2").store("two", key="b")
    lines = [json.loads(line) for line in await _lines(engine, MemoryScope(session_id="s2"))]
    assert [line.get("content") for line in lines if line["type"] == "entry"] == ["two"]
    assert lines[0] == {"type": "mnemic-export", "schema": 1, "tenant_id": "t1"}


def _changed(**changes: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda record: {**record, **changes}


_BROKEN: dict[str, Callable[[dict[str, Any]], Any]] = {
    "cut": lambda record: json.dumps(record)[:-5],
    "no JSON": lambda _: "hello",
    "a list": lambda _: "[1]",
    "deep": lambda _: "[" * 100_000,
    "unknown type": _changed(type="poem"),
    "no type": lambda record: {name: value for name, value in record.items() if name != "type"},
    "no key": lambda record: {name: value for name, value in record.items() if name != "key"},
    "unknown field": _changed(colour="blue"),
    "blank": _changed(content=" "),
    "NUL": _changed(content="a\0"),
    "surrogate": _changed(content="a\ud83d"),
    "number as content": _changed(content=5),
    "bad time": _changed(created_at="yesterday"),
    "bad class": _changed(classification="secret"),
    "bad importance": _changed(importance="high"),
    "deep metadata": _changed(metadata={"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": {"i": 1}}}}}}}}}),
    "metadata as list": _changed(metadata=[1]),
    "tags as number": _changed(tags=5),
    "lineage": _changed(derived_from=["x"]),
    "other schema": lambda _: {"type": "mnemic-export", "schema": 99},
    "tombstone without time": lambda _: {
        "type": "tombstone",
        "volk_id": "ada",
        "user_id": "",
        "key": "k",
        "version": 2,
    },
    "edge of nothing": lambda _: {"type": "edge", "source": "x", "kind": "RELATES_TO", "target": "y"},
    "unknown edge": lambda _: {"type": "edge", "source": "x", "kind": "LOVES", "target": "y"},
}


@requirement("D46", "FR-017.1")
@pytest.mark.parametrize("case", _BROKEN)
async def test_a_broken_line_is_named_and_nothing_is_taken_in(engine: MemoryEngine, world: World, case: str) -> None:
    await engine.store("one", key="k")
    header, good, *_ = await _lines(engine)
    await engine.store("two", key="other")
    broken = _BROKEN[case](json.loads(good))
    before = await digest(world.store)
    record = {**json.loads(good), "key": "new"}
    with pytest.raises(MnemicError) as caught:
        await engine.import_([header, json.dumps(record), broken if isinstance(broken, str) else json.dumps(broken)])
    assert caught.value.http_status in {400, 413}
    assert await digest(world.store) == before
    assert await engine.retrieve("new") is None


@requirement("GOV-002", "GOV-009")
async def test_nobody_takes_in_what_is_anothers(engine: MemoryEngine, world: World) -> None:
    await engine.store("one", key="k")
    await engine.delete("k")
    await engine.store("two", key="other")
    lines = await _lines(engine)
    before = await digest(world.store)
    bob = engine.acting_as(volk_id="bob")
    with pytest.raises(AccessDeniedError, match="another volk or user"):
        await bob.import_(lines)
    tombstone = {"type": "tombstone", "volk_id": "ada", "user_id": "", "key": "other", "version": 9}
    with pytest.raises(AccessDeniedError):
        await bob.import_([json.dumps({**tombstone, "at": "2026-01-01T00:00:00+00:00"})])
    assert await digest(world.store) == before


@requirement("GOV-002")
async def test_an_import_obeys_the_rule_of_classes(engine: MemoryEngine, world: World) -> None:
    admin = engine.acting_as(roles=["system_admin"])
    await admin.store("one", key="k", classification=MemoryClassification.SYSTEM)
    lines = await _lines(admin)
    async with running(World("inmemory", world.folder).engine()) as other:
        with pytest.raises(AccessDeniedError, match="system_admin"):
            await other.import_(lines)
        assert await other.acting_as(roles=["system_admin"]).import_(lines) == 1


@requirement("REQ-010-049")
@pytest.mark.parametrize("kind", ["SHARED_WITH", "SUMMARIZED_BY", "RELATES_TO"])
async def test_an_edge_in_an_import_opens_nobody_elses_memory(engine: MemoryEngine, kind: str) -> None:
    await engine.store("a secret", key="k")
    secret = Address("t1", "ada", "", "k").uid
    bob = engine.acting_as(volk_id="bob")
    await bob.store("bob's own", key="own")
    own = Address("t1", "bob", "", "own").uid
    for source, target in ((secret, "bob"), (secret, own), (own, secret)):
        edge = json.dumps({"type": "edge", "source": source, "kind": kind, "target": target})
        with pytest.raises(InvalidInputError, match="leads out of the export"):
            await bob.import_([*await _lines(bob), edge])
    assert await bob.retrieve("k", owner="ada") is None
    assert await bob.related("own", depth=5) == []


async def test_another_text_in_the_same_version_is_a_conflict(engine: MemoryEngine, world: World) -> None:
    await engine.store("one", key="k")
    lines = [line.replace('"one"', '"two"') for line in await _lines(engine)]
    with pytest.raises(ConflictError, match="other content"):
        await engine.import_(lines)
    assert [entry.content for entry in await entries(world.store)] == ["one"]


@requirement("P20")
async def test_an_export_goes_into_another_tenant_as_its_own(engine: MemoryEngine, world: World) -> None:
    source = await engine.store("source", key="source")
    await engine.store("one", key="k", derived_from=(source.address,))
    other = engine.acting_as(tenant_id="t2")
    assert await other.import_(await _lines(engine)) == 2
    assert {entry.tenant_id for entry in await entries(world.store, "t2")} == {"t2"}
    found = await other.retrieve("k")
    assert found is not None
    assert [address.tenant_id for address in found.derived_from] == ["t2"]
    assert [entry.key for entry in await other.related("k", kinds=["DERIVED_FROM"])] == ["source"]
