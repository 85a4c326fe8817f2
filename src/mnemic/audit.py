"""What was done, by whom, with what result? Records for the append-only chained log, and its verification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mnemic.chain import GENESIS
from mnemic.ports import AuditRecord, Clock, Ids, Journal, chained
from mnemic.types import Identity

__all__ = ["Auditor", "Verification"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Whether a chain holds: rows checked, and the sequence number of the first row that does not fit."""

    valid: bool
    checked: int
    broken_at: int | None = None


class Auditor:
    """Makes records and verifies chains; the journal keeps them in the transaction of their effect."""

    def __init__(self, journal: Journal, clock: Clock, ids: Ids) -> None:
        self._journal, self._clock, self._ids = journal, clock, ids

    def record(
        self,
        who: Identity,
        action: str,
        *,
        resource: str = "",
        result: str = "success",
        kind: str = "write",
        detail: Mapping[str, Any] | None = None,
    ) -> AuditRecord:
        """Make one record; ``detail`` never holds content, key text or query text."""
        return AuditRecord(
            entry_id=self._ids.new(),
            time=self._clock.now(),
            tenant_id=who.tenant_id,
            kind=kind,
            action=action,
            actor=f"{who.volk_id}/{who.user_id}" if who.user_id else who.volk_id,
            resource=resource,
            result=result,
            detail=detail or {},
        )

    async def verify(self, tenant_id: str, kind: str) -> Verification:
        """Walk a chain from its first row and check every hash, every link and every sequence number."""
        checked, previous = 0, GENESIS
        while rows := await self._journal.audit_rows(tenant_id, kind, after_seq=checked, limit=1000):
            for row in rows:
                expected = chained(row.record, checked + 1, previous)
                if (row.seq, row.prev_hash, row.entry_hash) != (expected.seq, previous, expected.entry_hash):
                    return Verification(valid=False, checked=checked, broken_at=checked + 1)
                checked, previous = checked + 1, row.entry_hash
        return Verification(valid=True, checked=checked)
