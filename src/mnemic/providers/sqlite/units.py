"""What does a unit change? Everything it names, whole or not at all, inside the writer's transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import apsw

from mnemic.chain import GENESIS, canonical
from mnemic.errors import ConflictError
from mnemic.faults import crashpoint
from mnemic.ports.checks import check_entry, check_json
from mnemic.ports.journal import AuditRecord, IdempotencyRecord, Job, SessionRow, Touch, Unit, WorkingMark, chained
from mnemic.ports.storage import Edge
from mnemic.providers.sqlite.codec import from_us, to_us
from mnemic.providers.sqlite.statements import SQL
from mnemic.providers.sqlite.writes import annotate, bury, conflict, put, put_vector, tenant_id
from mnemic.types import MemoryEntry, MemoryScope, SystemEvent

__all__ = ["add_edges", "apply", "event_of", "purge", "record_of"]


def apply(db: apsw.Connection, unit: Unit, *, now: datetime) -> None:
    """Keep a unit.

    Raises:
        ConflictError: A version is not newer than what is there, or the idempotency key exists.
        DimensionError: A vector has another size than those of its model.
    """
    if unit.idempotency is not None:
        _put_idempotency(db, unit.idempotency, now)
    for entry in unit.entries:
        check_entry(_place_of(entry), entry.key, entry)
        if not put(db, entry, refresh=False):
            raise conflict(entry.address, entry.version)
    crashpoint("sqlite.unit_entries")
    for deletion in unit.deletions:
        if not bury(db, deletion):
            raise conflict(deletion.address, deletion.version)
    for vector in unit.vectors:
        put_vector(db, vector)
    for note in unit.annotations:
        annotate(db, note)
    add_edges(db, unit.edges)
    _apply_rows(db, unit)
    crashpoint("sqlite.unit_rows")
    _apply_debts(db, unit)


def add_edges(db: apsw.Connection, edges: tuple[Edge, ...]) -> int:
    """Draw edges; the number that is new."""
    new = 0
    for edge in edges:
        tenant = tenant_id(db, edge.tenant_id)
        db.execute(SQL["add_edge"], (tenant, edge.source, str(edge.kind), edge.target))
        new += db.changes()
    return new


def record_of(tenant: str, kind: str, text: str) -> AuditRecord:
    """The record behind its stored form."""
    fields = json.loads(text)
    return AuditRecord(tenant_id=tenant, kind=kind, **{**fields, "time": from_us(fields["time"])})


def event_of(text: str) -> SystemEvent:
    """The event behind its stored form."""
    fields = json.loads(text)
    return SystemEvent(**{**fields, "time": from_us(fields["time"])})


def _place_of(entry: MemoryEntry) -> MemoryScope:
    return MemoryScope(tenant_id=entry.tenant_id, volk_id=entry.volk_id, user_id=entry.user_id)


def _apply_rows(db: apsw.Connection, unit: Unit) -> None:
    """What belongs to entries and sessions but makes no version."""
    changes: list[tuple[Callable[[apsw.Connection, Any], None], tuple[Any, ...]]] = [
        (_touch, unit.touches),
        (_mark, unit.working),
        (_put_session, unit.sessions),
    ]
    for change, parts in changes:
        for part in parts:
            change(db, part)


def _apply_debts(db: apsw.Connection, unit: Unit) -> None:
    """What is owed and what is proven: audit, outbox, jobs."""
    for record in unit.audit:
        _add_audit(db, record)
    for event in unit.events:
        db.execute(SQL["add_event"], (event.id, to_us(event.time), _event_text(event)))
    for id_ in unit.delivered:
        db.execute(SQL["delivered"], (id_,))
    for job in unit.jobs:
        _put_job(db, job)
    for id_ in unit.done:
        db.execute(SQL["job_done"], (id_,))


def _touch(db: apsw.Connection, touch: Touch) -> None:
    where = touch.address
    tenant = tenant_id(db, where.tenant_id)
    db.execute(SQL["touch"], (touch.count, to_us(touch.at), tenant, where.volk_id, where.user_id, where.key))


def _mark(db: apsw.Connection, mark: WorkingMark) -> None:
    where = mark.address
    place = (tenant_id(db, where.tenant_id), where.volk_id, where.user_id, where.key)
    if mark.until is None:
        db.execute(SQL["unmark_working"], (*place, mark.session_id))
    else:
        db.execute(SQL["mark_working"], (mark.session_id, to_us(mark.until), *place))


def _put_session(db: apsw.Connection, row: SessionRow) -> None:
    closed_at = None if row.closed_at is None else to_us(row.closed_at)
    db.execute(SQL["put_session"], (tenant_id(db, row.tenant_id), row.session_id, to_us(row.opened_at), closed_at))


def _put_idempotency(db: apsw.Connection, record: IdempotencyRecord, now: datetime) -> None:
    tenant = tenant_id(db, record.tenant_id)
    if db.execute(SQL["idempotent"], (tenant, record.key, to_us(now))).fetchone():
        raise ConflictError("the idempotency key was used within its time; read the first result, or give a new key")
    expires_at = to_us(record.expires_at)
    db.execute(
        SQL["put_idempotency"],
        (tenant, record.key, record.body_hash, _json("an idempotent result", record.result), expires_at),
    )


def _add_audit(db: apsw.Connection, record: AuditRecord) -> None:
    """Put a record behind its chain; the head is read in this transaction, so that no two processes fork it."""
    tenant = tenant_id(db, record.tenant_id)
    head = db.execute(SQL["audit_head"], (tenant, record.kind)).fetchone()
    seq, prev_hash = head or (0, GENESIS)
    row = chained(record, seq + 1, prev_hash)
    fields = {
        "entry_id": record.entry_id,
        "time": to_us(record.time),
        "action": record.action,
        "actor": record.actor,
        "resource": record.resource,
        "result": record.result,
        "detail": dict(record.detail),
        "ip": record.ip,
    }
    db.execute(
        SQL["add_audit"], (tenant, record.kind, row.seq, prev_hash, row.entry_hash, _json("an audit detail", fields))
    )


def _event_text(event: SystemEvent) -> str:
    names = ("id", "type", "tenant_id", "severity", "source", "request_id", "schema_version")
    fields = {name: getattr(event, name) for name in names}
    return _json("an event's payload", {**fields, "time": to_us(event.time), "payload": dict(event.payload)})


def _put_job(db: apsw.Connection, job: Job) -> None:
    due_at = None if job.due_at is None else to_us(job.due_at)
    db.execute(
        SQL["put_job"], (job.id, job.kind, job.tenant_id, _json("a job's payload", job.payload), job.tries, due_at)
    )


def _json(name: str, value: Mapping[str, Any]) -> str:
    try:
        return canonical(dict(value)).decode()
    except (ValueError, TypeError, RecursionError):
        check_json(name, value)
        raise


def purge(db: apsw.Connection, deleted_before: int, now: int) -> int:
    """Drop versions behind tombstones, and expired idempotency records; the number gone."""
    before = db.total_changes()
    db.execute(SQL["purge_versions"], (deleted_before,))
    db.execute(SQL["purge_idempotency"], (now,))
    return db.total_changes() - before
