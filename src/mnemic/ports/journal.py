"""What commits together? The port of the transaction: a unit is kept whole or not at all (PRV-007)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from mnemic.chain import link
from mnemic.ports.storage import Edge
from mnemic.types import Address, DurabilityMode, MemoryEntry, SystemEvent, Vector
from mnemic.types.entry import nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """A tombstone to leave: its version must be newer than what is there."""

    address: Address
    version: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorWrite:
    """The vector of one version of an entry; skipped without error if another version is there by now.

    A vector goes, in the same transaction, with the version that it was made of, and with the one that it was made
    behind: when another version or a tombstone comes there, or the entry is cleared.
    """

    address: Address
    version: int
    model_id: str
    input_hash: bytes
    vector: Vector
    tokens: bytes = b""
    """Packed token vectors, kept and dropped with the vector."""
    behind: tuple[Address, int] | None = None
    """The entry and version that the vector saw beside its own; skipped if another version is there by now."""
    job: str = ""
    """The job that is done with this; it stays owed if ``behind`` is why this is skipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """Derived fields to change in one version of an entry; skipped if another version is there by now."""

    address: Address
    version: int
    fields: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Touch:
    """Reads of an entry since the last unit."""

    address: Address
    count: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingMark:
    """An entry enters the working set of a session until a deadline, or leaves it (``until`` None)."""

    address: Address
    session_id: str
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """A session: open while ``closed_at`` is None."""

    tenant_id: str
    session_id: str
    opened_at: datetime
    closed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """What happened, without content; the journal adds sequence, previous hash and hash (AUD-001, 002)."""

    entry_id: str
    time: datetime
    tenant_id: str
    kind: str
    """``write`` or ``read``: each is a chain of its own."""
    action: str
    actor: str
    resource: str
    result: str
    """``success``, ``failure``, ``partial``, ``denied`` or ``not_found``."""
    detail: Mapping[str, Any] = field(default_factory=nothing, hash=False)
    ip: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """A record in its chain."""

    record: AuditRecord
    seq: int
    prev_hash: str
    entry_hash: str


def chained(record: AuditRecord, seq: int, prev_hash: str) -> AuditRow:
    """Put a record behind its predecessor (AUD-002)."""
    row = {
        "entry_id": record.entry_id,
        "time": record.time.astimezone(UTC).isoformat(),
        "seq": seq,
        "tenant_id": record.tenant_id,
        "kind": record.kind,
        "action": record.action,
        "actor": record.actor,
        "resource": record.resource,
        "result": record.result,
        "detail": dict(record.detail),
        "ip": record.ip,
    }
    return AuditRow(record=record, seq=seq, prev_hash=prev_hash, entry_hash=link(row, prev_hash))


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyRecord:
    """The first result of a request; unique by (tenant, key) until it expires."""

    tenant_id: str
    key: str
    body_hash: str
    result: Mapping[str, Any] = field(hash=False)
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Work that is owed; it is done when its id stands in ``Unit.done``."""

    id: str
    kind: str
    tenant_id: str
    payload: Mapping[str, Any] = field(default_factory=nothing, hash=False)
    tries: int = 0
    due_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Everything that one effect changes. Kept whole or not at all.

    Raises, from ``Journal.commit``:
        ConflictError: An entry's version is not newer than what is there, or the idempotency key exists.
    """

    entries: tuple[MemoryEntry, ...] = ()
    """New versions; ``entry.embedding``, where given, is kept as the vector of ``entry.embedding_model``."""
    deletions: tuple[Deletion, ...] = ()
    edges: tuple[Edge, ...] = ()
    vectors: tuple[VectorWrite, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    touches: tuple[Touch, ...] = ()
    working: tuple[WorkingMark, ...] = ()
    sessions: tuple[SessionRow, ...] = ()
    """Inserted or replaced by (tenant, session); an earlier ``opened_at`` is kept."""
    audit: tuple[AuditRecord, ...] = ()
    events: tuple[SystemEvent, ...] = ()
    delivered: tuple[str, ...] = ()
    """Ids of events that leave the outbox."""
    idempotency: IdempotencyRecord | None = None
    jobs: tuple[Job, ...] = ()
    """Inserted, or replaced by id (a retry)."""
    done: tuple[str, ...] = ()


class Journal(ABC):
    """Commits units and tells what is owed."""

    durability: DurabilityMode
    """What an acknowledged commit survives: the mode in force, not the configured one."""

    @abstractmethod
    async def commit(self, unit: Unit) -> None:
        """Keep a unit, durably before it returns; a cancelled caller does not cancel the write."""

    async def commit_many(self, units: Sequence[Unit]) -> list[Exception | None]:
        """Keep units that stand each alone, in few transactions; None, or what refused it, for each."""
        results: list[Exception | None] = []
        for unit in units:
            try:
                await self.commit(unit)
                results.append(None)
            except Exception as error:  # noqa: BLE001 - handed to the caller as a value
                results.append(error)
        return results

    @abstractmethod
    async def outbox(self, *, before: datetime, limit: int = 100) -> list[SystemEvent]:
        """Events committed before a moment and not yet delivered, oldest first."""

    @abstractmethod
    async def outbox_depth(self) -> tuple[int, datetime | None]:
        """How many events wait, and the time of the oldest."""

    @abstractmethod
    async def jobs(self, kind: str, *, due: datetime, limit: int = 100) -> list[Job]:
        """Jobs of a kind that are due, oldest first."""

    @abstractmethod
    async def job_count(self, kind: str, tenant_id: str | None = None) -> int:
        """How many jobs of a kind are owed."""

    @abstractmethod
    async def idempotent(self, tenant_id: str, key: str, *, now: datetime) -> IdempotencyRecord | None:
        """The first result under a key that has not expired."""

    @abstractmethod
    async def audit_rows(self, tenant_id: str, kind: str, *, after_seq: int = 0, limit: int = 1000) -> list[AuditRow]:
        """A part of a chain, in order."""

    @abstractmethod
    async def working(self, tenant_id: str, session_id: str) -> list[Address]:
        """The working set of a session."""

    @abstractmethod
    async def session(self, tenant_id: str, session_id: str) -> SessionRow | None:
        """A session's row."""

    @abstractmethod
    async def overdue(self, *, now: datetime, limit: int = 1000) -> tuple[list[MemoryEntry], list[WorkingMark]]:
        """Live entries whose ``expires_at`` passed, and working marks whose deadline passed, of every tenant."""

    @abstractmethod
    async def tombstones(self, tenant_id: str, *, after: Address | None = None, limit: int = 1000) -> list[Deletion]:
        """Addresses whose newest version is a tombstone, by address, from behind ``after``."""

    @abstractmethod
    async def purge(self, *, deleted_before: datetime, now: datetime) -> int:
        """Drop versions behind tombstones older than a moment, and expired idempotency records; the number gone."""

    @abstractmethod
    async def tenants(self) -> list[str]:
        """Every tenant that has an entry."""
