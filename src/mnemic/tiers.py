"""Where does a memory lie, and how is it written? Hot and cold storage as one; here with one tier."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from mnemic.ports import IMemoryProvider, Journal, SessionRow, Unit, WorkingMark
from mnemic.types import DurabilityMode

__all__ = ["Tiers"]


class Tiers:
    """The one way of the engine to storage: a unit commits whole, reads go to the provider.

    Args:
        memories: Keeps entries.
        journal: Commits units; the same object as ``memories`` where one file does both.
    """

    def __init__(self, memories: IMemoryProvider, journal: Journal) -> None:
        self.memories = memories
        self.journal = journal

    @property
    def durability(self) -> DurabilityMode:
        """What an acknowledged write survives."""
        return self.journal.durability

    async def open(self) -> None:
        """Open the storage."""
        await self.memories.open()

    async def close(self) -> None:
        """Let acknowledged writes come to rest and close the storage."""
        await self.memories.close()

    async def commit(self, unit: Unit) -> None:
        """Keep a unit, durable before this returns.

        Raises:
            ConflictError: A version is not newer than what is there, or the idempotency key is taken.
        """
        await self.journal.commit(unit)

    async def commit_many(self, units: Sequence[Unit]) -> list[Exception | None]:
        """Keep units that stand each alone; None, or what refused it, for each."""
        return await self.journal.commit_many(units)

    async def close_session(self, tenant_id: str, session_id: str, *, now: datetime) -> Unit:
        """Give the unit that ends a session: every entry of it leaves the working set (SES-003)."""
        addresses = await self.journal.working(tenant_id, session_id)
        row = await self.journal.session(tenant_id, session_id)
        opened = row.opened_at if row is not None else now
        return Unit(
            working=tuple(WorkingMark(address=a, session_id=session_id, until=None) for a in addresses),
            sessions=(SessionRow(tenant_id=tenant_id, session_id=session_id, opened_at=opened, closed_at=now),),
        )
