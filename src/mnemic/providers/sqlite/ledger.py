"""What is owed and what was done? Reads of outbox, jobs, audit, idempotency, sessions and the working set."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from mnemic.ports.journal import AuditRow, Deletion, IdempotencyRecord, Job, SessionRow, WorkingMark
from mnemic.providers.sqlite.codec import ROW, Row, entry_of, from_us, to_us
from mnemic.providers.sqlite.readers import Reader
from mnemic.providers.sqlite.reads import tenant_of_name
from mnemic.providers.sqlite.statements import SQL
from mnemic.providers.sqlite.units import event_of, record_of
from mnemic.types import Address, MemoryEntry, SystemEvent

__all__ = [
    "audit_rows", "idempotent", "job_count", "jobs", "outbox", "outbox_depth", "overdue", "session", "tenants",
    "tombstones", "working",
]  # fmt: skip


def outbox(reader: Reader, before: datetime, limit: int) -> list[SystemEvent]:
    """Events of before a moment, oldest first."""
    return [event_of(text) for (text,) in reader.rows(SQL["outbox"], (to_us(before), limit))]


def outbox_depth(reader: Reader) -> tuple[int, datetime | None]:
    """How many events wait, and since when."""
    depth, oldest = reader.rows(SQL["outbox_depth"])[0]
    return depth, None if oldest is None else from_us(oldest)


def jobs(reader: Reader, kind: str, due: datetime, limit: int) -> list[Job]:
    """Jobs that are due."""
    return [_job_of(row) for row in reader.rows(SQL["jobs"], (kind, to_us(due), limit))]


def job_count(reader: Reader, kind: str, tenant: str | None) -> int:
    """How many jobs are owed."""
    return int(reader.rows(SQL["job_count"], (kind, tenant))[0][0])


def idempotent(reader: Reader, tenant: str, key: str, now: datetime) -> IdempotencyRecord | None:
    """The first result under a key."""
    rows = reader.rows(SQL["idempotent"], (tenant_of_name(reader, tenant), key, to_us(now)))
    if not rows:
        return None
    body_hash, result, expires_at = rows[0]
    return IdempotencyRecord(
        tenant_id=tenant, key=key, body_hash=body_hash, result=json.loads(result), expires_at=from_us(expires_at)
    )


def audit_rows(reader: Reader, tenant: str, kind: str, after_seq: int, limit: int) -> list[AuditRow]:
    """A part of a chain."""
    rows = reader.rows(SQL["audit_rows"], (tenant_of_name(reader, tenant), kind, after_seq, limit))
    return [
        AuditRow(record=record_of(tenant, kind, text), seq=seq, prev_hash=prev_hash, entry_hash=entry_hash)
        for seq, prev_hash, entry_hash, text in rows
    ]


def working(reader: Reader, tenant: str, session_id: str) -> list[Address]:
    """The working set of a session."""
    rows = reader.rows(SQL["working"], (tenant_of_name(reader, tenant), session_id))
    return [Address(tenant, *place) for place in rows]


def session(reader: Reader, tenant: str, session_id: str) -> SessionRow | None:
    """A session's row."""
    rows = reader.rows(SQL["session"], (tenant_of_name(reader, tenant), session_id))
    if not rows:
        return None
    opened_at, closed_at = rows[0]
    return SessionRow(
        tenant_id=tenant,
        session_id=session_id,
        opened_at=from_us(opened_at),
        closed_at=None if closed_at is None else from_us(closed_at),
    )


def overdue(reader: Reader, now: datetime, limit: int) -> tuple[list[MemoryEntry], list[WorkingMark]]:
    """What expired, of every tenant."""
    expired = reader.rows(SQL["expired"].format(columns=ROW), (to_us(now), limit))
    marks = reader.rows(SQL["marks_overdue"], (to_us(now), limit))
    return [entry_of(Row(*row)) for row in expired], [
        WorkingMark(address=Address(*place), session_id=session_id, until=from_us(until))
        for *place, session_id, until in marks
    ]


def tombstones(reader: Reader, tenant: str, after: Address | None, limit: int) -> list[Deletion]:
    """Addresses that hold a tombstone."""
    place = (after.volk_id, after.user_id, after.key) if after else ("", "", "")
    rows = reader.rows(SQL["tombstones"], (tenant_of_name(reader, tenant), *place, limit))
    return [Deletion(address=Address(tenant, *where), version=version, at=from_us(at)) for *where, version, at in rows]


def tenants(reader: Reader) -> list[str]:
    """Every tenant that has an entry."""
    return [name for (name,) in reader.rows(SQL["tenants"])]


def _job_of(row: tuple[Any, ...]) -> Job:
    id_, kind, tenant, payload, tries, due_at = row
    moment = None if due_at is None else from_us(due_at)
    return Job(id=id_, kind=kind, tenant_id=tenant, payload=json.loads(payload), tries=tries, due_at=moment)
