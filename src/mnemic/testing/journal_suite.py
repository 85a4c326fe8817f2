"""What must every journal do: keep a unit whole or not at all, and remember what is owed?"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import numpy as np
import pytest

from mnemic.chain import GENESIS
from mnemic.errors import ConflictError, DimensionError, InvalidInputError, MnemicError
from mnemic.ports import (
    Annotation,
    AuditRecord,
    AuditRow,
    Deletion,
    Edge,
    EdgeKind,
    Head,
    IdempotencyRecord,
    IMemoryProvider,
    Job,
    Journal,
    SessionRow,
    Touch,
    Unit,
    VectorWrite,
    WorkingMark,
    chained,
)
from mnemic.testing.marks import requirement
from mnemic.testing.strategies import START, TENANT, at, memory, place
from mnemic.types import MemoryEntry, SystemEvent, Vector

__all__ = ["JournalSuite", "Store", "everything", "full_unit"]

LATER = datetime(2999, 1, 1, tzinfo=UTC)
LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)
UNIT = np.array([0.6, 0.8], np.float32)


class Store(IMemoryProvider, Journal):
    """What the suite needs: a provider and a journal in one; only a type."""


def _audit(number: int, *, tenant: str = "t1", kind: str = "write", **fields: Any) -> AuditRecord:
    record = AuditRecord(
        entry_id=f"{tenant}-{kind}-{number}",
        time=at(number),
        tenant_id=tenant,
        kind=kind,
        action="store",
        actor="ada",
        resource="uid",
        result="success",
        detail={"version": number},
    )
    return replace(record, **fields)


def _event(number: int, **fields: Any) -> SystemEvent:
    return SystemEvent(**{"time": at(number), **fields}, id=f"e{number}", type="memory.store.completed", tenant_id="t1")


def _job(name: str, **fields: Any) -> Job:
    return Job(**{"id": name, "kind": "embed", "tenant_id": "t1", "payload": {"uid": name}, **fields})


def _result(key: str = "i", **fields: Any) -> IdempotencyRecord:
    values = {"tenant_id": "t1", "body_hash": "h", "result": {"key": "k"}, "expires_at": LATER, **fields}
    return IdempotencyRecord(key=key, **values)


def _vector(vector: Vector) -> VectorWrite:
    return VectorWrite(address=memory("k").address, version=1, model_id="m", input_hash=b"h", vector=vector)


def full_unit(entry: MemoryEntry, number: int) -> Unit:
    """A unit that has something of everything."""
    address = entry.address
    return Unit(
        entries=(entry,),
        deletions=(Deletion(address=memory("buried").address, version=number, at=at(0)),),
        edges=(Edge("t1", entry.uid, EdgeKind.RELATES_TO, memory("other").uid),),
        vectors=(replace(_vector(UNIT), address=address, version=entry.version),),
        annotations=(Annotation(address=address, version=entry.version, fields={"summary": "s"}),),
        touches=(Touch(address=address, count=2, at=at(9)),),
        working=(WorkingMark(address=address, session_id="s1", until=LATER),),
        sessions=(SessionRow(tenant_id="t1", session_id="s1", opened_at=at(number)),),
        audit=(_audit(number),),
        events=(_event(number),),
        jobs=(_job(f"j{number}"),),
        idempotency=_result(f"i{number}"),
    )


async def everything(provider: IMemoryProvider, journal: Journal) -> list[Any]:
    """All that can be seen, to compare before and after."""
    addresses = [memory(key).address for key in ("k", "new", "buried")]
    return [
        await provider.list(TENANT),
        await provider.heads(TENANT, addresses),
        await provider.edges(TENANT, [memory("k").uid, memory("new").uid]),
        sorted(await provider.similarities(TENANT, UNIT, addresses, model_id="m")),
        await journal.working("t1", "s1"),
        await journal.session("t1", "s1"),
        await journal.audit_rows("t1", "write"),
        await journal.outbox(before=LATER),
        await journal.jobs("embed", due=LATER),
        [await journal.idempotent("t1", f"i{number}", now=START) for number in (1, 2)],
    ]


class JournalSuite:
    """Holds a journal to PRV-007.

    A subclass supplies an async fixture ``store`` that yields an empty provider and journal in one to each test.
    """

    pytestmark: ClassVar = [pytest.mark.store, pytest.mark.resilience]

    @requirement("PRV-007")
    async def test_a_unit_is_kept_in_all_its_parts(self, store: Store) -> None:
        entry = memory("k")
        await store.commit(full_unit(entry, 1))
        found = await store.get(place(), "k")
        assert found == replace(entry, summary="s", access_count=2, last_accessed_at=at(9))
        assert found.embedding_model == "m"
        assert await store.heads(TENANT, [memory("buried").address]) == {memory("buried").address: Head(1, live=False)}
        assert [edge.target for edge in await store.edges(TENANT, [entry.uid])] == [memory("other").uid]
        assert [hit.key for hit in await store.search_similar(TENANT, UNIT)] == ["k"]
        assert await store.working("t1", "s1") == [entry.address]
        assert await store.session("t1", "s1") == SessionRow(tenant_id="t1", session_id="s1", opened_at=at(1))
        assert [row.record for row in await store.audit_rows("t1", "write")] == [_audit(1)]
        assert await store.outbox(before=LATER) == [_event(1)]
        assert await store.jobs("embed", due=LATER) == [_job("j1")]
        assert await store.idempotent("t1", "i1", now=START) == _result("i1")
        assert await store.tenants() == ["t1"]

    @requirement("PRV-007", "D22", "D25")
    @pytest.mark.parametrize(
        ("part", "error"),
        [
            ({"entries": (memory("new"), memory("k", version=1))}, ConflictError),
            ({"entries": (memory("new"), memory("new"))}, ConflictError),
            ({"entries": (memory("new"), memory("bad", metadata={"a": float("nan")}))}, InvalidInputError),
            ({"entries": (memory("new"), replace(memory("bad"), content=" "))}, InvalidInputError),
            ({"entries": (memory("new", embedding=np.zeros(2, np.float32)),)}, DimensionError),
            ({"deletions": (Deletion(address=memory("k").address, version=1, at=START),)}, ConflictError),
            (
                {"vectors": (_vector(UNIT * np.nan),)},
                DimensionError,
            ),
            (
                {"vectors": (_vector(np.ones(3, np.float32)),)},
                DimensionError,
            ),
            (
                {"annotations": (Annotation(address=memory("k").address, version=1, fields={"content": "x"}),)},
                InvalidInputError,
            ),
            ({"audit": (_audit(2, detail={"a": {1}}),)}, InvalidInputError),
            ({"events": (_event(2, payload={"a": float("inf")}),)}, InvalidInputError),
            ({"jobs": (_job("bad", payload={"a": b"bytes"}),)}, InvalidInputError),
            ({"idempotency": _result("i1")}, ConflictError),
            ({"idempotency": _result("bad", result={"a": float("nan")})}, InvalidInputError),
        ],
    )
    async def test_one_bad_part_leaves_nothing_of_the_unit(
        self, store: Store, part: dict[str, Any], error: type[MnemicError]
    ) -> None:
        await store.commit(full_unit(memory("k"), 1))
        before = await everything(store, store)
        with pytest.raises(error):
            await store.commit(replace(full_unit(memory("new"), 2), **part))
        assert await everything(store, store) == before
        await store.commit(full_unit(memory("new"), 2))
        assert await everything(store, store) != before

    @requirement("PRV-007", "REL-005")
    async def test_of_two_writers_of_one_version_one_is_told_of_the_conflict(self, store: Store) -> None:
        await store.commit(Unit(entries=(memory("k"),)))
        rivals = [Unit(entries=(memory("k", f"text {n}", version=2),), audit=(_audit(n),)) for n in range(10)]
        results = await asyncio.gather(*(store.commit(unit) for unit in rivals), return_exceptions=True)
        assert sorted(type(result).__name__ for result in results) == ["ConflictError"] * 9 + ["NoneType"]
        winner = results.index(None)
        found = await store.get(place(), "k")
        assert found is not None
        assert found.content == f"text {winner}"
        assert [row.record for row in await store.audit_rows("t1", "write")] == [_audit(winner)]

    @requirement("PRV-007")
    async def test_units_of_a_batch_stand_each_alone(self, store: Store) -> None:
        units = [Unit(entries=(memory(f"k{n}"),), audit=(_audit(n),)) for n in range(5)]
        units[2] = replace(units[2], entries=(memory("k2", metadata={"a": float("nan")}),))
        units[3] = replace(units[3], entries=(memory("k0"),))
        results = await store.commit_many(units)
        assert [type(result) for result in results] == [
            type(None),
            type(None),
            InvalidInputError,
            ConflictError,
            type(None),
        ]
        assert [address.key for address in await store.keys(TENANT)] == ["k0", "k1", "k4"]
        assert [row.record for row in await store.audit_rows("t1", "write")] == [_audit(0), _audit(1), _audit(4)]

    @requirement("PRV-007")
    async def test_what_belongs_to_another_version_is_skipped_without_error(self, store: Store) -> None:
        entry = memory("k", version=2)
        await store.commit(Unit(entries=(entry,)))
        place_, gone = entry.address, memory("gone").address
        for version, address in ((1, place_), (3, place_), (1, gone)):
            vector = replace(_vector(UNIT), address=address, version=version)
            note = Annotation(address=address, version=version, fields={"importance": 0.9})
            await store.commit(Unit(vectors=(vector,), annotations=(note,)))
        await store.commit(Unit(touches=(Touch(address=gone, count=1, at=START),)))
        assert await store.get(place(), "k") == entry
        assert await store.search_similar(TENANT, UNIT) == []

    @requirement("FR-021", "REL-006")
    async def test_of_ten_requests_under_one_key_one_is_kept(self, store: Store) -> None:
        units = [Unit(entries=(memory(f"k{n}"),), events=(_event(n),), idempotency=_result()) for n in range(10)]
        results = await asyncio.gather(*(store.commit(unit) for unit in units), return_exceptions=True)
        assert results.count(None) == 1
        assert await store.count(TENANT) == len(await store.outbox(before=LATER)) == 1

    @requirement("FR-021")
    async def test_an_idempotency_key_belongs_to_its_tenant_and_ends(self, store: Store) -> None:
        await store.commit(Unit(idempotency=_result(expires_at=at(1))))
        await store.commit(Unit(idempotency=_result(tenant_id="t2", body_hash="other")))
        assert await store.idempotent("t1", "i", now=at(0.5)) == _result(expires_at=at(1))
        assert await store.idempotent("t1", "i", now=at(1)) is None
        assert await store.idempotent("t3", "i", now=at(0)) is None
        await store.commit(Unit(idempotency=_result("ended", expires_at=LONG_AGO)))
        await store.commit(Unit(idempotency=_result("ended", body_hash="again")))

    @requirement("EVT-002")
    async def test_the_outbox_gives_events_oldest_first_until_delivered(self, store: Store) -> None:
        for number in (3, 1, 2):
            await store.commit(Unit(events=(_event(number),)))
        await store.commit(Unit(events=(_event(4, time=at(2), severity="error", payload={"n": [1]}, request_id="r"),)))
        waiting = await store.outbox(before=LATER)
        assert [event.id for event in waiting] == ["e1", "e2", "e4", "e3"]
        assert (waiting[2].payload, waiting[2].request_id, waiting[2].severity) == ({"n": [1]}, "r", "error")
        assert [event.id for event in await store.outbox(before=at(2))] == ["e1"]
        assert [event.id for event in await store.outbox(before=LATER, limit=2)] == ["e1", "e2"]
        assert await store.outbox_depth() == (4, at(1))
        await store.commit(Unit(delivered=("e1", "e2", "absent")))
        assert await store.outbox_depth() == (2, at(2))
        await store.commit(Unit(delivered=("e3", "e4")))
        assert await store.outbox_depth() == (0, None)

    @requirement("PRV-007", "FR-009")
    async def test_jobs_are_owed_until_done_and_come_when_due(self, store: Store) -> None:
        jobs = (
            _job("now"),
            _job("late", due_at=at(5)),
            _job("soon", due_at=at(1)),
            _job("other", kind="x", tenant_id="t2"),
        )
        await store.commit(Unit(jobs=jobs))
        assert [job.id for job in await store.jobs("embed", due=at(0))] == ["now"]
        assert [job.id for job in await store.jobs("embed", due=at(5))] == ["now", "soon", "late"]
        assert [job.id for job in await store.jobs("embed", due=at(5), limit=1)] == ["now"]
        assert [
            await store.job_count("embed"),
            await store.job_count("embed", "t2"),
            await store.job_count("x", "t2"),
        ] == [3, 0, 1]
        retry = _job("now", tries=1, due_at=at(9))
        await store.commit(Unit(jobs=(retry,), done=("soon", "absent")))
        assert await store.jobs("embed", due=LATER) == [jobs[1], retry]

    @requirement("AUD-002", "AUD-003", "PRV-007")
    async def test_each_tenant_and_kind_has_a_chain_of_its_own_without_fork(self, store: Store) -> None:
        chains = [("t1", "write"), ("t1", "read"), ("t2", "write")]
        units = [Unit(audit=tuple(_audit(n, tenant=t, kind=k) for t, k in chains)) for n in range(30)]
        await asyncio.gather(*(store.commit(unit) for unit in units))
        for tenant, kind in chains:
            rows = await store.audit_rows(tenant, kind)
            assert {row.record.entry_id for row in rows} == {f"{tenant}-{kind}-{n}" for n in range(30)}
            assert _broken_at(rows) is None
        assert [row.seq for row in await store.audit_rows("t1", "read", after_seq=10, limit=5)] == [11, 12, 13, 14, 15]
        assert await store.audit_rows("t3", "write") == []

    @requirement("AUD-002")
    async def test_any_change_of_a_chain_is_seen(self, store: Store) -> None:
        await store.commit(Unit(audit=tuple(_audit(n) for n in range(6))))
        rows = await store.audit_rows("t1", "write")
        assert _broken_at(rows) is None
        for number, row in enumerate(rows):
            for name, value in _other_values().items():
                changed = replace(row, record=replace(row.record, **{name: value}))
                assert _broken_at([*rows[:number], changed, *rows[number + 1 :]]) == number, name
        assert _broken_at(rows[1:]) == 0
        assert _broken_at([*rows[:2], *rows[3:]]) == 2
        assert _broken_at([rows[0], rows[2], rows[1], *rows[3:]]) == 1
        assert _broken_at([*rows[:3], rows[2], *rows[3:]]) == 3

    @requirement("FR-019.1")
    async def test_the_working_set_is_a_mark_with_a_deadline(self, store: Store) -> None:
        entries = [memory(key, session_id="s1") for key in "abc"]
        marks = [WorkingMark(address=e.address, session_id="s1", until=at(n)) for n, e in enumerate(entries)]
        await store.commit(Unit(entries=tuple(entries), working=tuple(marks)))
        absent = WorkingMark(address=memory("absent").address, session_id="s1", until=LATER)
        await store.commit(Unit(working=(absent,)))
        assert await store.working("t1", "s1") == [entry.address for entry in entries]
        assert await store.working("t1", "s2") == await store.working("t2", "s1") == []
        assert (await store.overdue(now=at(1)))[1] == marks[:2]
        await store.commit(Unit(working=(replace(marks[0], until=None), replace(marks[1], until=LATER))))
        assert (await store.overdue(now=at(9)))[1] == marks[2:]
        await store.commit(Unit(deletions=(Deletion(address=entries[1].address, version=2, at=START),)))
        assert await store.working("t1", "s1") == [entries[2].address]

    @requirement("FR-019.1")
    async def test_a_session_keeps_its_first_opening_and_can_be_reopened(self, store: Store) -> None:
        row = SessionRow(tenant_id="t1", session_id="s", opened_at=at(3))
        for change, expected in (
            (row, row),
            (replace(row, opened_at=at(5), closed_at=at(6)), replace(row, closed_at=at(6))),
            (replace(row, opened_at=at(1)), replace(row, opened_at=at(1))),
        ):
            await store.commit(Unit(sessions=(change,)))
            assert await store.session("t1", "s") == expected
        assert await store.session("t2", "s") is None

    @requirement("FR-020")
    async def test_what_expired_is_overdue_in_every_tenant_until_buried(self, store: Store) -> None:
        ended = [memory("a", expires_at=at(1)), memory("b", tenant_id="t2", expires_at=at(2))]
        await store.commit(Unit(entries=(*ended, memory("c", expires_at=at(5)), memory("d"))))
        entries, _ = await store.overdue(now=at(2))
        assert sorted(entries, key=lambda entry: entry.key) == ended
        assert len((await store.overdue(now=at(2), limit=1))[0]) == 1
        await store.commit(Unit(deletions=(Deletion(address=ended[0].address, version=2, at=at(2)),)))
        assert (await store.overdue(now=at(2)))[0] == ended[1:]

    @requirement("FR-018", "PRV-029")
    async def test_purge_drops_what_lies_behind_old_tombstones_and_ended_keys(self, store: Store) -> None:
        entries = [memory(key, version=version) for version in (1, 2) for key in ("old", "young", "live")]
        for entry in entries:
            await store.commit(Unit(entries=(entry,)))
        graves = [
            Deletion(address=memory(key).address, version=3, at=at(day)) for key, day in (("old", 1), ("young", 9))
        ]
        await store.commit(Unit(deletions=tuple(graves), idempotency=_result(expires_at=at(4))))
        assert await store.purge(deleted_before=at(5), now=at(5)) == 3
        assert await store.purge(deleted_before=at(5), now=at(5)) == 0
        assert [len(await store.versions(place(), key)) for key in ("old", "young", "live")] == [0, 2, 2]
        assert await store.tombstones("t1") == graves
        assert await store.tombstones("t1", after=graves[0].address) == graves[1:]
        assert await store.tombstones("t1", limit=1) == graves[:1]
        assert not await store.store(place(), "old", memory("old", version=3))

    @requirement("PRV-007", "D11")
    async def test_a_cancelled_caller_takes_nobody_along(self, store: Store) -> None:
        tasks = [
            asyncio.create_task(store.commit(Unit(entries=(memory(f"k{n}"),), audit=(_audit(n),)))) for n in range(20)
        ]
        await asyncio.sleep(0)
        for task in tasks[::4]:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(store.commit(Unit(entries=(memory(f"l{n}"),))) for n in range(20)))
        kept = {address.key for address in await store.keys(TENANT)}
        assert {f"k{n}" for n, result in enumerate(results) if result is None} <= kept
        assert {f"l{n}" for n in range(20)} <= kept
        audited = {row.record.entry_id.removeprefix("t1-write-") for row in await store.audit_rows("t1", "write")}
        assert {f"k{n}" for n in audited} == {key for key in kept if key.startswith("k")}

    @requirement("PRV-007")
    async def test_every_tenant_that_has_an_entry_is_known(self, store: Store) -> None:
        for tenant in ("t2", "t1", "public"):
            await store.commit(Unit(entries=(memory("k", tenant_id=tenant),)))
        assert await store.tenants() == ["public", "t1", "t2"]


def _broken_at(rows: list[AuditRow]) -> int | None:
    """The place of the first row that does not follow from the one before it."""
    previous = GENESIS
    for number, row in enumerate(rows):
        if row != chained(row.record, number + 1, previous):
            return number
        previous = row.entry_hash
    return None


def _other_values() -> dict[str, Any]:
    return {
        **dict.fromkeys(("entry_id", "tenant_id", "kind", "action", "actor", "resource", "result", "ip"), "x"),
        "time": at(99) + timedelta(microseconds=1),
        "detail": {"version": 99},
    }
