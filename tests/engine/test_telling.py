"""What is told and recorded of each operation: enough to know who did what, and never what was said."""

import json
import logging
from datetime import timedelta
from typing import Any

import pytest

from mnemic import BatchItem, MemoryClassification, MemoryEngine, MemoryScope
from mnemic.audit import Auditor
from mnemic.embedders.hashing import Hashing
from mnemic.errors import MnemicError, UnavailableError
from mnemic.events import EventBus
from mnemic.ports import AuditRow
from mnemic.testing import FaultyEmbedder, faulty, requirement
from tests.engine.world import World, rows, running

pytestmark = pytest.mark.governance

_CONTENT, _KEY, _QUERY, _META, _TAG = "zebrafinch", "keycanary", "querycanary", "metacanary", "tagcanary"
_PLACE = MemoryScope(tenant_id="t1", volk_id="ada", user_id="")
_ENVELOPE = {"id", "type", "time", "tenant_id", "severity", "source", "payload", "request_id", "schema_version"}


async def _workload(engine: MemoryEngine) -> None:
    """Every operation once, refusals included, over texts that may stand nowhere else."""
    leader = engine.acting_as(roles=["team_lead"])
    options: dict[str, Any] = {"tags": [_TAG], "metadata": {_META: _META}}
    await leader.store(f"{_CONTENT} sings", key=_KEY, **options, classification=MemoryClassification.SHARED)
    await leader.store_many([BatchItem(content=f"{_CONTENT} {n}") for n in range(3)] + [BatchItem(content="\0")])
    await leader.store_messages([{"role": "user", "content": _CONTENT}], session_id="chat")
    await leader.retrieve(_KEY)
    await leader.retrieve(f"{_KEY} unknown")
    await leader.search(f"{_QUERY} {_CONTENT}")
    await leader.context(f"{_QUERY} {_CONTENT}", max_tokens=40)
    await leader.summarize("s1", query=_QUERY, store=True)
    await leader.update(_KEY, content=f"{_CONTENT} is silent", classification=MemoryClassification.PRIVATE)
    await leader.link(_KEY, _KEY)
    await leader.promote(_KEY, "s2")
    bob = engine.acting_as(volk_id="bob")
    errors: list[str] = []
    for refused in (
        bob.retrieve(_KEY, owner="ada"),
        bob.store(f"{_CONTENT} of bob", classification=MemoryClassification.SYSTEM),
        bob.update(_KEY, content=_CONTENT),
        leader.store(f"{_CONTENT}\0", key=_KEY),
        leader.store(_CONTENT, key=_KEY, metadata={_META: {_META}}),
        leader.store(_CONTENT, key=_KEY, tags=[_TAG * 20]),
        leader.store(_CONTENT, key=_KEY, expected_version=9),
        leader.search(f"{_QUERY}\0"),
        leader.retrieve(_KEY * 100),
        leader.retrieve_by(where={_META: {_META: _META}}),
        leader.import_([json.dumps({"type": "entry", "content": _CONTENT, "key": _KEY})]),
    ):
        try:
            await refused
        except MnemicError as error:
            errors.append(str(error))
    await leader.retrieve_by(tags=[_TAG])
    await leader.delete(_KEY)
    await leader.migrate_to_cold("s1")
    await leader.flush()
    assert len(errors) == 10
    assert [word for word in (_CONTENT, _KEY, _QUERY, _TAG) if any(word in error for error in errors)] == []


@requirement("PRV-036")
@pytest.mark.parametrize("fault", ["none", "raise"])
async def test_logs_hold_nothing_of_what_was_said(world: World, caplog: pytest.LogCaptureFixture, fault: str) -> None:
    caplog.set_level(logging.DEBUG)
    model = FaultyEmbedder(Hashing(), first=1 if fault == "raise" else 10**9)
    async with running(world.engine(model=model)) as engine:
        await _workload(engine)
    logged = "\n".join([caplog.text, *(repr(record.args) for record in caplog.records)])
    assert [word for word in (_CONTENT, _KEY, _QUERY, _META, _TAG) if word in logged] == []
    assert (fault == "raise") == ("embedder failed" in logged)


@requirement("EVT-001")
async def test_events_have_one_envelope_and_no_content(engine: MemoryEngine, world: World) -> None:
    await _workload(engine)
    assert len(world.bus.events) > 15
    for event in world.bus.events:
        assert set(event.__slots__) == _ENVELOPE
        assert (event.source, event.tenant_id, event.schema_version) == ("SYS:MEMORY", "t1", 1)
        payload = json.dumps(dict(event.payload))
        assert not [word for word in (_CONTENT, _QUERY, _META, _TAG) if word in payload], event.type
    assert len({event.id for event in world.bus.events}) == len(world.bus.events)


async def test_the_start_tells_which_provider_is_open(world: World) -> None:
    async with running(world.engine()):
        (event,) = world.bus.events
    assert (event.type, dict(event.payload)) == ("memory.tier.opened", {"provider": world.store.name, "tier": "cold"})


@requirement("EVT-010")
async def test_each_operation_of_the_seed_announces_its_completion(engine: MemoryEngine, world: World) -> None:
    stored = await engine.store("the kettle is blue", key="k")
    await engine.retrieve("k")
    await engine.search("kettle")
    await engine.summarize("s1")
    await engine.update("k", tags=["t"])
    await engine.promote("k", "s2")
    await engine.migrate_to_cold("s2")
    await engine.context("kettle")
    await engine.delete("k")
    assert [event.type.removeprefix("memory.").removesuffix(".completed") for event in world.bus.events] == [
        "store",
        "retrieve",
        "search",
        "summarize",
        "update",
        "promote",
        "migrate",
        "injection",
        "delete",
    ]
    assert {event.severity for event in world.bus.events} == {"info"}
    payload = dict(world.bus.events[0].payload)
    assert payload == {"key": stored.key, "volk_id": "ada", "classification": "private", "version": 1}
    searched = dict(world.bus.events[2].payload)
    assert (searched["count"], searched["mode"], searched["degraded"]) == (1, "hybrid", [])


@requirement("EVT-012", "GOV-018", "US-006.4")
async def test_a_denial_is_a_warning_that_names_actor_operation_and_rule(engine: MemoryEngine, world: World) -> None:
    with pytest.raises(MnemicError):
        await engine.store("x", classification=MemoryClassification.SYSTEM)
    (event,) = world.bus.events
    assert (event.type, event.severity) == ("memory.access.denied", "warning")
    assert dict(event.payload) == {"actor": "ada", "operation": "store", "rule": "can_store_memory"}
    (row,) = await rows(world.store, "write")
    assert (row.record.action, row.record.result, row.record.detail["rule"]) == ("store", "denied", "can_store_memory")


@requirement("EVT-002")
async def test_events_follow_the_commit_in_order_and_leave_the_outbox(engine: MemoryEngine, world: World) -> None:
    seen: list[tuple[int, bool]] = []

    async def look(event: Any) -> None:
        heads = await world.store.versions(_PLACE, "k")
        seen.append((event.payload["version"], heads[0].version >= event.payload["version"]))

    for topic in ("memory.store.completed", "memory.update.completed"):
        world.bus.subscribe(topic, look, subscriber_id="test")
    await engine.store("one", key="k")
    await engine.update("k", content="two")
    await engine.store("three", key="k")
    assert seen == [(1, True), (2, True), (3, True)]
    await engine.flush()
    assert await world.store.outbox_depth() == (0, None)


@requirement("EVT-002")
async def test_a_failing_subscriber_undoes_and_delays_nothing(world: World) -> None:
    async def fail(_: Any) -> None:
        raise RuntimeError("a subscriber's own fault")

    world.bus = EventBus()  # type: ignore[assignment]  # the bus of the product instead of the fake
    world.bus.subscribe("*", fail, subscriber_id="bad")
    async with running(world.engine()) as engine:
        stored = await engine.store("one", key="k")
        assert await engine.retrieve("k") == stored


@requirement("AUD-001", "NFR-009")
async def test_audit_rows_tell_who_did_what_and_no_content(engine: MemoryEngine, world: World) -> None:
    await _workload(engine.acting_as(user_id="u1"))
    every = [*await rows(world.store, "write"), *await rows(world.store, "read")]
    results = {row.record.result for row in every}
    assert results == {"success", "denied", "not_found"}
    for row in every:
        text = json.dumps([row.record.action, row.record.actor, row.record.resource, dict(row.record.detail)])
        assert not [word for word in (_CONTENT, _KEY, _QUERY, _META, _TAG) if word in text], text
        assert row.record.tenant_id == "t1"
    assert {row.record.actor for row in every} == {"ada/u1", "bob/u1"}
    assert len({row.record.entry_id for row in every}) == len(every)


@requirement("AUD-002")
async def test_both_chains_hold_after_a_day_of_work(engine: MemoryEngine) -> None:
    await _workload(engine)
    for kind, verification in (await engine.verify_audit()).items():
        assert verification.valid, kind
        assert verification.checked > 5
        assert verification.broken_at is None


@requirement("AUD-003")
async def test_a_row_commits_with_its_effect_or_not_at_all(engine: MemoryEngine, world: World) -> None:
    await engine.store("one", key="k", expected_version=0)
    count = len(await rows(world.store, "write"))
    for _ in range(3):
        with pytest.raises(MnemicError):
            await engine.store("two", key="k", expected_version=0)
    assert len(await rows(world.store, "write")) == count
    await engine.update("k", content="two")
    assert [row.record.action for row in (await rows(world.store, "write"))[count:]] == ["update"]


@requirement("AUD-002")
async def test_the_engines_chain_is_the_auditors(engine: MemoryEngine, world: World) -> None:
    await engine.store("one")
    world.clock.advance(timedelta(days=1))
    chain: list[AuditRow] = await rows(world.store, "write")
    assert [row.seq for row in chain] == [1]
    auditor = Auditor(world.store, world.clock, world.ids)
    assert (await auditor.verify("t1", "write")).valid
    assert (await auditor.verify("t2", "write")).checked == 0


@requirement("REQ-010-047", "FR-003")
async def test_what_reads_owe_is_written_although_a_first_try_fails(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemic.engine.upkeep.FLUSH_AFTER_S", 60.0)  # nothing is written but by flush
    flaky = faulty(world.store, at=3, methods=["commit"])
    async with running(world.engine(memories=flaky)) as engine:
        await engine.store("the kettle is blue", key="k", wait_indexed=True)
        for _ in range(3):
            await engine.retrieve("k")
        with pytest.raises(UnavailableError):
            await engine.flush()
        await engine.retrieve("k")
        await engine.flush()
        found = await engine.retrieve("k")
        assert found is not None
        assert found.access_count == 4
        assert [row.record.action for row in await rows(world.store, "read")] == ["retrieve"] * 4
