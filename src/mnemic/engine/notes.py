"""What may be written a moment later? Reads leave their audit rows, access counts and marks here, off the hot path."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime

from mnemic.ports import AuditRecord, Touch, Unit, WorkingMark
from mnemic.tiers import Tiers
from mnemic.types import Address

__all__ = ["Notes"]

FLUSH_AFTER_S = 0.25
"""A read's row is there within a second (REQ-010-047)."""
_FLUSH_AT = 500


class Notes:
    """A buffer that becomes one unit at a time."""

    def __init__(self, tiers: Tiers) -> None:
        self._tiers = tiers
        self._audit: list[AuditRecord] = []
        self._touches: dict[Address, Touch] = {}
        self._working: dict[Address, WorkingMark] = {}
        self._delivered: list[str] = []
        self.bind()

    def bind(self) -> None:
        """Belong to the event loop that uses it next."""
        self._lock, self.wanted = asyncio.Lock(), asyncio.Event()

    def audit(self, record: AuditRecord) -> None:
        """Note the audit row of a read."""
        self._audit.append(record)
        self._noted()

    def touch(self, addresses: Iterable[Address], at: datetime) -> None:
        """Note that entries were returned to a caller (COG-011)."""
        for address in addresses:
            before = self._touches.get(address)
            self._touches[address] = Touch(address=address, count=before.count + 1 if before else 1, at=at)
        self._noted()

    def mark(self, mark: WorkingMark) -> None:
        """Note that an entry enters or leaves the working set."""
        self._working[mark.address] = mark
        self._noted()

    def delivered(self, event_ids: Iterable[str]) -> None:
        """Note that events reached the bus."""
        self._delivered.extend(event_ids)
        self._noted()

    async def flush(self) -> None:
        """Write what was noted, as one unit; what cannot be written now stays noted."""
        async with self._lock:
            unit = self._take()
            if unit is None:
                return
            try:
                await self._tiers.commit(unit)
            except BaseException:
                self._put_back(unit)
                raise

    def _noted(self) -> None:
        if len(self._audit) + len(self._delivered) >= _FLUSH_AT:
            self.wanted.set()

    def _take(self) -> Unit | None:
        self.wanted.clear()
        if not (self._audit or self._touches or self._working or self._delivered):
            return None
        unit = Unit(
            audit=tuple(self._audit),
            touches=tuple(self._touches.values()),
            working=tuple(self._working.values()),
            delivered=tuple(self._delivered),
        )
        self._audit, self._touches, self._working, self._delivered = [], {}, {}, []
        return unit

    def _put_back(self, unit: Unit) -> None:
        self._audit[:0] = unit.audit
        self._delivered[:0] = unit.delivered
        self._working = {mark.address: mark for mark in unit.working} | self._working
        for touch in unit.touches:
            now = self._touches.get(touch.address)
            at, count = (max(touch.at, now.at), touch.count + now.count) if now else (touch.at, touch.count)
            self._touches[touch.address] = Touch(address=touch.address, count=count, at=at)
