"""How does the in-memory store keep a unit whole, and what does it owe?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from mnemic.chain import GENESIS
from mnemic.errors import ConflictError
from mnemic.ports import (
    AuditRow,
    Clock,
    Deletion,
    Embedding,
    IdempotencyRecord,
    Job,
    Journal,
    SessionRow,
    Touch,
    Unit,
    VectorWrite,
    WorkingMark,
    chained,
)
from mnemic.ports.checks import check_entry, check_json
from mnemic.providers.inmemory.state import State, check_derived, detached
from mnemic.types import Address, DurabilityMode, MemoryEntry, MemoryScope, SystemEvent, Vector
from mnemic.vectors import normalise

__all__ = ["InMemoryJournal"]

_START = datetime.min.replace(tzinfo=UTC)


class InMemoryJournal(Journal):
    """Checks a unit in all its parts, then applies it; nothing can fail or interfere in between."""

    durability = DurabilityMode.MEMORY

    def __init__(self, clock: Clock | None) -> None:
        self._clock, self._state = clock, State()

    def _now(self) -> datetime:
        return self._clock.now() if self._clock else datetime.now(UTC)

    async def commit(self, unit: Unit) -> None:
        """Keep a unit."""
        vectors = self._check(unit)
        audit = list(self._chained(unit))
        state = self._state
        for entry in unit.entries:
            state.put(entry, vectors.get((entry.uid, entry.version)))
        for deletion in unit.deletions:
            state.bury(deletion)
        state.edges.update(unit.edges)
        for write in unit.vectors:
            self._put_vector(write)
        for note in unit.annotations:
            state.annotate(note.address, note.version, note.fields)
        for touch in unit.touches:
            self._touch(touch)
        for row in audit:
            state.audit.setdefault((row.record.tenant_id, row.record.kind), []).append(row)
        self._owe(unit)

    def _check(self, unit: Unit) -> dict[tuple[str, int], Vector]:
        """Refuse what cannot be kept, and give the vectors that came with entries."""
        heads: dict[str, int] = {}
        vectors: dict[tuple[str, int], Vector] = {}
        for entry in unit.entries:
            check_entry(_scope_of(entry), entry.key, entry)
            self._check_newer(heads, entry.address, entry.version)
            if (vector := entry.embedding) is not None:
                vectors[entry.uid, entry.version] = self._checked(entry.tenant_id, vector, entry.embedding_model)
        for deletion in unit.deletions:
            self._check_newer(heads, deletion.address, deletion.version)
        for write in unit.vectors:
            self._checked(write.address.tenant_id, write.vector, write.model_id)
        for note in unit.annotations:
            check_derived(note.fields)
        for name, mapping in _payloads(unit):
            check_json(name, mapping)
        if unit.idempotency is not None and self._known(unit.idempotency):
            raise ConflictError("the idempotency key has a result already; ask for that one, or give another key")
        return vectors

    def _check_newer(self, heads: dict[str, int], address: Address, version: int) -> None:
        there = heads.get(address.uid, self._state.slot(address).version)
        if version <= there:
            raise ConflictError(f"version {version} is not newer than {there}, which is there; read again")
        heads[address.uid] = version

    def _checked(self, tenant_id: str, vector: Sequence[float] | Vector, model_id: str | None) -> Vector:
        checked = normalise(vector)
        self._state.check_size(tenant_id, checked, model_id or "")
        return checked

    def _known(self, record: IdempotencyRecord) -> bool:
        there = self._state.idempotency.get((record.tenant_id, record.key))
        return there is not None and there.expires_at > self._now()

    def _chained(self, unit: Unit) -> Iterator[AuditRow]:
        heads: dict[tuple[str, str], AuditRow] = {}
        for record in unit.audit:
            chain = (record.tenant_id, record.kind)
            rows = self._state.audit.get(chain)
            head = heads.get(chain) or (rows[-1] if rows else None)
            heads[chain] = chained(record, head.seq + 1, head.entry_hash) if head else chained(record, 1, GENESIS)
            yield heads[chain]

    def _put_vector(self, write: VectorWrite) -> None:
        if write.behind is not None and not self._is_live(*write.behind):
            return
        self._state.jobs.pop(write.job, None)
        if self._is_live(write.address, write.version):
            slot, vector = self._state.slot(write.address), normalise(write.vector)
            behind = write.behind[0] if write.behind else None
            self._state.put_vector(slot, vector, write.model_id, tokens=write.tokens, behind=behind)
            slot.cached = (write.address.tenant_id, write.model_id, write.input_hash)
            self._state.cache[slot.cached] = Embedding(vector, write.tokens)

    def _is_live(self, address: Address, version: int) -> bool:
        slot = self._state.slot(address)
        return slot.live is not None and slot.version == version

    def _touch(self, touch: Touch) -> None:
        slot = self._state.slot(touch.address)
        if slot.live is not None:
            count, last = slot.live.access_count + touch.count, max(slot.live.last_accessed_at, touch.at)
            slot.live = replace(slot.live, access_count=count, last_accessed_at=last)

    def _owe(self, unit: Unit) -> None:
        state = self._state
        for mark in unit.working:
            self._mark(mark)
        for row in unit.sessions:
            there = state.sessions.get((row.tenant_id, row.session_id), row)
            opened_at = min(there.opened_at, row.opened_at)
            state.sessions[row.tenant_id, row.session_id] = replace(row, opened_at=opened_at)
        for event in unit.events:
            state.outbox[event.id] = event
        for event_id in unit.delivered:
            state.outbox.pop(event_id, None)
        for job in unit.jobs:
            state.jobs[job.id] = job
        for job_id in unit.done:
            state.jobs.pop(job_id, None)
        if (record := unit.idempotency) is not None:
            state.idempotency[record.tenant_id, record.key] = record

    def _mark(self, mark: WorkingMark) -> None:
        uid = mark.address.uid
        if mark.until is not None and self._state.slot(mark.address).live is not None:
            self._state.marks[uid] = mark
        elif (there := self._state.marks.get(uid)) and there.session_id == mark.session_id:
            del self._state.marks[uid]

    async def outbox(self, *, before: datetime, limit: int = 100) -> list[SystemEvent]:
        """Give the oldest events that wait."""
        waiting = sorted(self._state.outbox.values(), key=lambda event: event.time)
        return [event for event in waiting if event.time < before][:limit]

    async def outbox_depth(self) -> tuple[int, datetime | None]:
        """Count the events that wait."""
        times = [event.time for event in self._state.outbox.values()]
        return len(times), min(times, default=None)

    async def jobs(self, kind: str, *, due: datetime, limit: int = 100) -> list[Job]:
        """Give the oldest jobs that are due."""
        owed = [job for job in self._state.jobs.values() if job.kind == kind and (job.due_at or _START) <= due]
        return sorted(owed, key=lambda job: job.due_at or _START)[:limit]

    async def job_count(self, kind: str, tenant_id: str | None = None) -> int:
        """Count the jobs of a kind."""
        return sum(job.kind == kind and tenant_id in {None, job.tenant_id} for job in self._state.jobs.values())

    async def idempotent(self, tenant_id: str, key: str, *, now: datetime) -> IdempotencyRecord | None:
        """Give the first result under a key."""
        record = self._state.idempotency.get((tenant_id, key))
        return record if record is not None and record.expires_at > now else None

    async def audit_rows(self, tenant_id: str, kind: str, *, after_seq: int = 0, limit: int = 1000) -> list[AuditRow]:
        """Give a part of a chain."""
        return self._state.audit.get((tenant_id, kind), [])[after_seq : after_seq + limit]

    async def working(self, tenant_id: str, session_id: str) -> list[Address]:
        """Give the working set of a session by address."""
        marks = self._state.marks.values()
        return sorted(m.address for m in marks if (m.address.tenant_id, m.session_id) == (tenant_id, session_id))

    async def session(self, tenant_id: str, session_id: str) -> SessionRow | None:
        """Give a session's row."""
        return self._state.sessions.get((tenant_id, session_id))

    async def overdue(self, *, now: datetime, limit: int = 1000) -> tuple[list[MemoryEntry], list[WorkingMark]]:
        """Give what has passed its deadline."""
        live = [slot.live for slot in self._state.slots.values() if slot.live is not None]
        entries = [detached(entry) for entry in live if entry.expires_at is not None and entry.expires_at <= now]
        marks = [mark for mark in self._state.marks.values() if mark.until is not None and mark.until <= now]
        return entries[:limit], marks[:limit]

    async def tombstones(self, tenant_id: str, *, after: Address | None = None, limit: int = 1000) -> list[Deletion]:
        """Give the addresses where nothing lives any more."""
        found = [
            Deletion(address=slot.address, version=slot.version, at=slot.buried_at)
            for slot in self._state.of_tenant(tenant_id)
            if slot.buried_at is not None and (after is None or slot.address > after)
        ]
        return sorted(found, key=lambda deletion: deletion.address)[:limit]

    async def purge(self, *, deleted_before: datetime, now: datetime) -> int:
        """Drop what lies behind old tombstones, and results that expired."""
        gone = 0
        for slot in self._state.slots.values():
            if slot.buried_at is not None and slot.buried_at < deleted_before:
                gone += len(slot.kept)
                slot.kept.clear()
        expired = [place for place, record in self._state.idempotency.items() if record.expires_at <= now]
        for place in expired:
            del self._state.idempotency[place]
        return gone + len(expired)

    async def tenants(self) -> list[str]:
        """Give every tenant that has a live entry."""
        return sorted({slot.address.tenant_id for slot in self._state.slots.values() if slot.live is not None})


def _scope_of(entry: MemoryEntry) -> MemoryScope:
    return MemoryScope(tenant_id=entry.tenant_id, volk_id=entry.volk_id, user_id=entry.user_id)


def _payloads(unit: Unit) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield from (("an audit detail", record.detail) for record in unit.audit)
    yield from (("an event's payload", event.payload) for event in unit.events)
    yield from (("a job's payload", job.payload) for job in unit.jobs)
    if unit.idempotency is not None:
        yield "an idempotent result", unit.idempotency.result
