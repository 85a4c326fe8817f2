"""SQLite as journal and cache of vectors: units in, and what is owed out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime

from mnemic.ports.journal import AuditRow, Deletion, IdempotencyRecord, Job, Journal, SessionRow, Unit, WorkingMark
from mnemic.ports.models import Embedding, EmbeddingCache
from mnemic.providers.sqlite import cache, ledger, units
from mnemic.providers.sqlite.codec import to_us
from mnemic.providers.sqlite.store import Store
from mnemic.types import Address, MemoryEntry, SystemEvent

__all__ = ["SqliteJournal"]


class SqliteJournal(Store, Journal, EmbeddingCache):
    """Commits units in few transactions and answers what is owed."""

    async def commit(self, unit: Unit) -> None:
        """Keep a unit; durable when this returns."""
        await self._write(lambda db: units.apply(db, unit, now=self._now()))

    async def commit_many(self, units_: Sequence[Unit]) -> list[Exception | None]:
        """Keep units that stand each alone."""
        works = [lambda db, unit=unit: units.apply(db, unit, now=self._now()) for unit in units_]
        futures = [asyncio.wrap_future(future) for future in await self._submit(works)]
        results = await asyncio.gather(*futures, return_exceptions=True)
        return [result if isinstance(result, Exception) else None for result in results]

    async def outbox(self, *, before: datetime, limit: int = 100) -> list[SystemEvent]:
        """Events of before a moment and not yet delivered, oldest first."""
        return await self._read(lambda reader: ledger.outbox(reader, before, limit))

    async def outbox_depth(self) -> tuple[int, datetime | None]:
        """How many events wait, and the time of the oldest."""
        return await self._read(ledger.outbox_depth)

    async def jobs(self, kind: str, *, due: datetime, limit: int = 100) -> list[Job]:
        """Jobs of a kind that are due, oldest first."""
        return await self._read(lambda reader: ledger.jobs(reader, kind, due, limit))

    async def job_count(self, kind: str, tenant_id: str | None = None) -> int:
        """How many jobs of a kind are owed."""
        return await self._read(lambda reader: ledger.job_count(reader, kind, tenant_id))

    async def idempotent(self, tenant_id: str, key: str, *, now: datetime) -> IdempotencyRecord | None:
        """The first result under a key that has not expired."""
        return await self._read(lambda reader: ledger.idempotent(reader, tenant_id, key, now))

    async def audit_rows(self, tenant_id: str, kind: str, *, after_seq: int = 0, limit: int = 1000) -> list[AuditRow]:
        """A part of a chain, in order."""
        return await self._read(lambda reader: ledger.audit_rows(reader, tenant_id, kind, after_seq, limit))

    async def working(self, tenant_id: str, session_id: str) -> list[Address]:
        """The working set of a session, by address."""
        return await self._read(lambda reader: ledger.working(reader, tenant_id, session_id))

    async def session(self, tenant_id: str, session_id: str) -> SessionRow | None:
        """A session's row."""
        return await self._read(lambda reader: ledger.session(reader, tenant_id, session_id))

    async def overdue(self, *, now: datetime, limit: int = 1000) -> tuple[list[MemoryEntry], list[WorkingMark]]:
        """Live entries and working marks whose time passed, of every tenant."""
        return await self._read(lambda reader: ledger.overdue(reader, now, limit))

    async def tombstones(self, tenant_id: str, *, after: Address | None = None, limit: int = 1000) -> list[Deletion]:
        """Addresses whose newest version is a tombstone, by address."""
        return await self._read(lambda reader: ledger.tombstones(reader, tenant_id, after, limit))

    async def purge(self, *, deleted_before: datetime, now: datetime) -> int:
        """Drop versions behind old tombstones, and expired idempotency records."""
        return int(await self._write(lambda db: units.purge(db, to_us(deleted_before), to_us(now))))

    async def tenants(self) -> list[str]:
        """Every tenant that has an entry."""
        return await self._read(ledger.tenants)

    async def cached(self, tenant_id: str, model_id: str, hashes: Sequence[bytes]) -> dict[bytes, Embedding]:
        """What is known, from live entries or from the table."""
        found, used = await self._read(lambda reader: cache.cached(reader, tenant_id, model_id, hashes))
        self._cache_used |= used
        return found

    async def tokens_of(self, tenant_id: str, model_id: str, addresses: Sequence[Address]) -> dict[Address, bytes]:
        """The packed token vectors of live entries."""
        return await self._read(lambda reader: cache.tokens_of(reader, tenant_id, model_id, addresses))

    async def keep(self, tenant_id: str, model_id: str, embeddings: Mapping[bytes, Embedding]) -> None:
        """Remember embeddings; the least recently used beyond the bound go."""
        used, self._cache_used = self._cache_used, set()
        await self._write(lambda db: cache.keep(db, tenant_id, model_id, embeddings, used=used, now=self._now()))
