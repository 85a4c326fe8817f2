"""Every edit, loss, insertion or reorder of an audit chain is found."""

import dataclasses
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from mnemic.audit import Auditor, Verification
from mnemic.chain import GENESIS
from mnemic.ports import AuditRow, Unit
from mnemic.providers.inmemory import InMemoryProvider
from mnemic.testing import ManualClock, SequentialIds, requirement
from mnemic.types import Identity

pytestmark = pytest.mark.governance

_ROWS = 200
Rows = list[AuditRow]


class _Tampered(InMemoryProvider):
    """A store whose audit rows somebody changes before they are read."""

    alter: Callable[[Rows], Rows] | None = None

    async def audit_rows(self, tenant_id: str, kind: str, *, after_seq: int = 0, limit: int = 1000) -> Rows:
        rows = await super().audit_rows(tenant_id, kind, limit=10**6)
        return (self.alter(rows) if self.alter else rows)[after_seq : after_seq + limit]


async def _chain() -> tuple[_Tampered, Auditor]:
    clock = ManualClock(step=timedelta(seconds=1))
    store = _Tampered(clock=clock)
    auditor = Auditor(store, clock, SequentialIds())
    who = Identity(tenant_id="t1", volk_id="ada", user_id="u1")
    for number in range(_ROWS):
        record = auditor.record(who, "store", resource=f"r{number}", detail={"version": number})
        await store.commit(Unit(audit=(record,)))
    return store, auditor


@requirement("AUD-001", "AUD-002")
async def test_a_chain_begins_with_zeros_and_counts_from_one() -> None:
    store, auditor = await _chain()
    rows = await store.audit_rows("t1", "write")
    assert [row.seq for row in rows] == list(range(1, _ROWS + 1))
    assert rows[0].prev_hash == GENESIS
    assert [row.prev_hash for row in rows[1:]] == [row.entry_hash for row in rows[:-1]]
    record = rows[0].record
    assert (record.actor, record.action, record.resource, record.result) == ("ada/u1", "store", "r0", "success")
    assert await auditor.verify("t1", "write") == Verification(valid=True, checked=_ROWS)


def _record(row: AuditRow, **changes: Any) -> AuditRow:
    return dataclasses.replace(row, record=dataclasses.replace(row.record, **changes))


_EDITS: dict[str, Callable[[AuditRow], AuditRow]] = {
    "entry_id": lambda row: _record(row, entry_id="x"),
    "time": lambda row: _record(row, time=row.record.time + timedelta(microseconds=1)),
    "tenant": lambda row: _record(row, tenant_id="t2"),
    "kind": lambda row: _record(row, kind="read"),
    "action": lambda row: _record(row, action="delete"),
    "actor": lambda row: _record(row, actor="bob"),
    "resource": lambda row: _record(row, resource=row.record.resource + "0"),
    "result": lambda row: _record(row, result="denied"),
    "detail": lambda row: _record(row, detail={**row.record.detail, "more": 1}),
    "ip": lambda row: _record(row, ip="::1"),
    "seq": lambda row: dataclasses.replace(row, seq=row.seq + 1),
    "prev_hash": lambda row: dataclasses.replace(row, prev_hash="f" * 64),
    "entry_hash": lambda row: dataclasses.replace(row, entry_hash="f" * 64),
}
_MOVES: dict[str, Callable[[Rows, int], Rows]] = {
    "deletion": lambda rows, at: rows[:at] + rows[at + 1 :],
    "insertion": lambda rows, at: [*rows[:at], rows[at], *rows[at:]],
    "swap": lambda rows, at: [*rows[:at], rows[at + 1], rows[at], *rows[at + 2 :]],
}


@requirement("AUD-002")
@pytest.mark.parametrize("name", _EDITS)
async def test_an_edit_of_any_field_of_any_row_is_found(name: str) -> None:
    store, auditor = await _chain()
    for at in (0, 1, 99, _ROWS - 1):
        store.alter = lambda rows, at=at: [*rows[:at], _EDITS[name](rows[at]), *rows[at + 1 :]]
        assert await auditor.verify("t1", "write") == Verification(valid=False, checked=at, broken_at=at + 1)


@requirement("AUD-002")
@pytest.mark.parametrize("name", _MOVES)
async def test_a_row_that_is_lost_doubled_or_moved_is_found(name: str) -> None:
    store, auditor = await _chain()
    for at in (0, 1, 99, _ROWS - 2):
        store.alter = lambda rows, at=at: _MOVES[name](rows, at)
        assert not (await auditor.verify("t1", "write")).valid


@requirement("AUD-002")
async def test_tenants_and_kinds_have_chains_of_their_own() -> None:
    store, auditor = await _chain()
    record = auditor.record(Identity(tenant_id="t2"), "search", kind="read")
    await store.commit(Unit(audit=(record,)))
    for tenant, kind, checked in (("t1", "write", _ROWS), ("t2", "read", 1), ("t2", "write", 0), ("t1", "read", 0)):
        assert await auditor.verify(tenant, kind) == Verification(valid=True, checked=checked)
