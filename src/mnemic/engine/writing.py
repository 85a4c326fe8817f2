"""How is a memory written? Limits, policy, one unit, then the event: the one path of every entry point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from mnemic.chain import canonical, h
from mnemic.engine.finding import find_own
from mnemic.engine.indexer import embed_job
from mnemic.engine.requests import Change, Draft, draft_of
from mnemic.engine.shared import Caller
from mnemic.errors import (
    ConflictError,
    InvalidInputError,
    LimitError,
    MnemicError,
    NotFoundError,
)
from mnemic.events import Topic
from mnemic.faults import crashpoint
from mnemic.ports import (
    Action,
    Deletion,
    Edge,
    EdgeKind,
    Head,
    IdempotencyRecord,
    SessionRow,
    Unit,
    WorkingMark,
)
from mnemic.ports.engine import BatchItem, BatchResult
from mnemic.types import Address, MemoryEntry, MemoryScope, Origin, Vector
from mnemic.vectors import normalise

__all__ = ["delete", "deletion_unit", "store", "store_many", "update"]

_TRIES = 32
_IDEMPOTENT_FOR = timedelta(hours=24)


async def store(caller: Caller, draft: Draft) -> MemoryEntry:
    """Keep one memory (FR-002)."""
    draft = draft.checked(caller.shared.settings.limits)
    decision = await caller.allow(Action.STORE, classification=draft.classification)
    body_hash = _body_hash(caller, draft) if draft.idempotency_key else ""
    for _ in range(_TRIES):
        if (first := await _replayed(caller, draft, body_hash)) is not None:
            return first
        version, before = await _standing(caller, draft)
        entry = _entry(caller, draft, version, before)
        unit = _store_unit(caller, draft, entry, rule=decision.rule, body_hash=body_hash)
        crashpoint("store.before_commit")
        try:
            await caller.commit(unit, owed=_owed(entry), changed=_turns(before, entry))
        except ConflictError:
            continue  # another writer was first: look again at what stands there
        crashpoint("store.committed")
        return await _indexed(caller, draft, entry)
    raise ConflictError(f"{_TRIES} other writers were first at this key; try again")


async def store_many(caller: Caller, items: Sequence[BatchItem]) -> list[BatchResult]:
    """Keep memories that stand each alone, in few transactions (ENG-016)."""
    limits = caller.shared.settings.limits
    if len(items) > limits.batch_items:
        raise LimitError(f"batch has {len(items)} items, the limit is {limits.batch_items}; send it in parts")
    results: list[BatchResult | None] = [None] * len(items)
    drafts: dict[int, Draft] = {}
    size = 0
    for place, item in enumerate(items):
        try:
            drafts[place] = draft_of(item).checked(limits)
            _given_vector(caller, drafts[place])
            await caller.allow(Action.STORE, classification=drafts[place].classification)
            size += len(item.content.encode())
        except MnemicError as error:
            drafts.pop(place, None)
            results[place] = BatchResult(error=error)
    if size > limits.request_bytes:
        raise LimitError(f"batch has {size} bytes, the limit is {limits.request_bytes}; send it in parts")
    await caller.shared.whole(_store_together(caller, drafts, results))
    for place, draft in drafts.items():
        if results[place] is None:
            results[place] = await _alone(caller, draft)
    await caller.shared.indexer.room()
    return [result for result in results if result is not None]


async def update(caller: Caller, key: str, change: Change, *, expected_version: int | None) -> MemoryEntry:
    """Write a new version in which the given fields differ (FR-016)."""
    changes = change.checked(caller.shared.settings.limits)
    for _ in range(_TRIES):
        before = await find_own(caller, key, Action.UPDATE)
        if before is None:
            raise NotFoundError("no memory with this key that you can read; check the key, or store it first")
        _check_version(expected_version, before.version)
        if not changes:
            await caller.note_read("update", "", {"version": before.version}, resource=before.uid)
            return before
        if changes.get("classification", before.classification) is not before.classification:
            await caller.allow(Action.RECLASSIFY, entry=before, classification=changes["classification"])
        entry = _next_version(caller, before, changes)
        try:
            await caller.commit(_update_unit(caller, before, entry), owed=(entry,), changed=(before, entry))
        except ConflictError:
            continue
        return entry
    raise ConflictError(f"{_TRIES} other writers were first at this key; try again")


async def delete(caller: Caller, key: str, *, expected_version: int | None) -> bool:
    """Leave a tombstone (FR-018)."""
    for _ in range(_TRIES):
        entry = await find_own(caller, key, Action.DELETE)
        if entry is None:
            if expected_version:
                raise ConflictError(f"expected version {expected_version}, nothing stands there; read it again")
            await caller.note_read("delete", "", {}, result="not_found")
            return False
        _check_version(expected_version, entry.version)
        try:
            await caller.commit(deletion_unit(caller, entry), changed=(entry,))
        except ConflictError:
            continue
        return True
    raise ConflictError(f"{_TRIES} other writers were first at this key; try again")


def deletion_unit(caller: Caller, entry: MemoryEntry, *, action: str = "delete") -> Unit:
    """The unit that leaves a tombstone; the event names the operation, so that it can be undone later."""
    operation = caller.shared.ids.new()
    version = entry.version + 1
    detail = {"version": version, "operation_id": operation}
    payload = {"key": entry.key, "volk_id": entry.volk_id, "version": version, "operation_id": operation}
    topic = Topic.EXPIRED if action == "expire" else Topic.DELETED
    return Unit(
        deletions=(Deletion(address=entry.address, version=version, at=caller.shared.clock.now()),),
        audit=(caller.shared.auditor.record(caller.who, action, resource=entry.uid, detail=detail),),
        events=(caller.event(topic, payload),),
        working=(WorkingMark(address=entry.address, session_id=entry.session_id, until=None),),
    )


async def _standing(caller: Caller, draft: Draft) -> tuple[int, MemoryEntry | None]:
    """The newest version at the draft's key, tombstones included, and the live entry there."""
    if draft.key is None:
        return 0, None
    address = caller.address(draft.key)
    scope = MemoryScope(tenant_id=address.tenant_id)
    heads = await caller.shared.tiers.memories.heads(scope, [address])
    head = heads.get(address)
    version = head.version if head else 0
    live = head is not None and head.live
    if draft.expected_version is not None:
        _check_version(draft.expected_version, version if live else 0)
    found = await caller.shared.tiers.memories.get_many(scope, [address]) if live else {}
    return version, found.get(address)


def _check_version(expected: int | None, standing: int) -> None:
    if expected is not None and expected != standing:
        raise ConflictError(f"expected version {expected}, version {standing} stands there; read it again")


def _entry(caller: Caller, draft: Draft, version: int, before: MemoryEntry | None) -> MemoryEntry:
    shared, who = caller.shared, caller.who
    now = shared.clock.now()
    vector, model_id = _given_vector(caller, draft)
    return MemoryEntry(
        key=draft.key if draft.key is not None else shared.ids.new(),
        content=draft.content,
        tags=tuple(draft.tags or ()),
        metadata=draft.metadata or {},
        classification=draft.classification,
        embedding=vector,
        embedding_model=model_id,
        created_at=before.created_at if before else now,
        updated_at=_after(now, before),
        recorded_at=_after(now, before),
        last_accessed_at=before.last_accessed_at if before else now,
        access_count=before.access_count if before else 0,
        tenant_id=who.tenant_id,
        volk_id=who.volk_id,
        user_id=who.user_id,
        created_by=who.volk_id,
        session_id=who.session_id,
        task_id=draft.task_id if draft.task_id is not None else who.task_id,
        project_id=who.project_id,
        portfolio_id=who.portfolio_id,
        crew_id=who.crew_id,
        memory_type=draft.memory_type,
        category=draft.category,
        importance=draft.importance,
        source=draft.source,
        origin=draft.origin,
        pinned=draft.pinned,
        token_count=shared.counter(None).count(draft.content),
        speaker=draft.speaker,
        role=draft.role,
        turn=draft.turn,
        version=version + 1,
        occurred_at=draft.occurred_at,
        expires_at=draft.expires_at,
        valid_from=draft.occurred_at or now,
        derived_from=tuple(draft.derived_from),
    )


def _after(now: datetime, before: MemoryEntry | None) -> datetime:
    """``updated_at`` grows strictly, also where the clock does not (FR-016)."""
    return now if before is None else max(now, before.updated_at + timedelta(microseconds=1))


def _given_vector(caller: Caller, draft: Draft) -> tuple[Vector | None, str | None]:
    if draft.embedding is None:
        return None, None
    embedder = caller.shared.embedder
    if embedder is None:
        raise InvalidInputError("embedding is given but no embedder is configured; leave it out")
    return normalise(draft.embedding, dim=embedder.dim), embedder.model_id


def _store_unit(caller: Caller, draft: Draft, entry: MemoryEntry, *, rule: str, body_hash: str) -> Unit:
    shared = caller.shared
    now = entry.recorded_at
    detail = {"rule": rule, "version": entry.version, "bytes": len(entry.content.encode())}
    payload = {
        "key": entry.key,
        "volk_id": entry.volk_id,
        "classification": entry.classification.value,
        "version": entry.version,
    }
    until = now + timedelta(seconds=shared.settings.session.ttl_s)
    imported = entry.origin is Origin.IMPORT
    owes = shared.embedder is not None and entry.embedding is None
    return Unit(
        entries=(entry,),
        edges=_lineage(entry),
        audit=(shared.auditor.record(caller.who, "store", resource=entry.uid, detail=detail),),
        events=(caller.event(Topic.STORED, payload),),
        jobs=(embed_job(entry),) if owes else (),
        working=() if imported else (WorkingMark(address=entry.address, session_id=entry.session_id, until=until),),
        sessions=(SessionRow(tenant_id=entry.tenant_id, session_id=entry.session_id, opened_at=now),),
        idempotency=_first(draft, entry, body_hash, now) if draft.idempotency_key else None,
    )


def _lineage(entry: MemoryEntry) -> tuple[Edge, ...]:
    return tuple(Edge(entry.tenant_id, entry.uid, EdgeKind.DERIVED_FROM, a.uid) for a in entry.derived_from)


def _next_version(caller: Caller, before: MemoryEntry, changes: Mapping[str, Any]) -> MemoryEntry:
    now = _after(caller.shared.clock.now(), before)
    text_changed = changes.get("content", before.content) != before.content
    derived: dict[str, Any] = {"embedding": None, "embedding_model": None}  # a vector belongs to one version
    if text_changed:
        derived |= {"token_count": caller.shared.counter(None).count(changes["content"]), "summary": None}
    return replace(
        before,
        **changes,
        **derived,
        version=before.version + 1,
        updated_at=now,
        recorded_at=now,
        valid_from=changes.get("occurred_at") or now,
        valid_to=None,
        superseded_by=None,
    )


def _update_unit(caller: Caller, before: MemoryEntry, entry: MemoryEntry) -> Unit:
    shared = caller.shared
    detail: dict[str, Any] = {"version": entry.version, "before": before.version}
    payload = {"key": entry.key, "volk_id": entry.volk_id, "version": entry.version}
    events = [caller.event(Topic.UPDATED, payload)]
    if entry.classification is not before.classification:
        detail |= {"old_class": before.classification.value, "new_class": entry.classification.value}
        events.append(caller.event(Topic.RECLASSIFIED, payload))
    return Unit(
        entries=(entry,),
        audit=(shared.auditor.record(caller.who, "update", resource=entry.uid, detail=detail),),
        events=tuple(events),
        jobs=(embed_job(entry),) if shared.embedder is not None else (),
    )


async def _indexed(caller: Caller, draft: Draft, entry: MemoryEntry) -> MemoryEntry:
    shared = caller.shared
    if draft.wait_indexed and entry.embedding is None and shared.embedder is not None:
        await shared.indexer.indexed(entry)
        return replace(entry, embedding_model=shared.embedder.model_id)
    return replace(entry, embedding=None)


def _turns(before: MemoryEntry | None, entry: MemoryEntry) -> tuple[MemoryEntry, ...]:
    return (entry,) if before is None else (before, entry)


def _owed(entry: MemoryEntry) -> tuple[MemoryEntry, ...]:
    return (entry,) if entry.embedding is None else ()


async def _store_together(caller: Caller, drafts: Mapping[int, Draft], results: list[BatchResult | None]) -> None:
    """Commit what needs no look at itself: new keys, each once, without an idempotency key."""
    plain = {p: d for p, d in drafts.items() if d.idempotency_key is None and d.expected_version in {None, 0}}
    keys = [caller.address(d.key) for d in plain.values() if d.key is not None]
    known = await caller.shared.tiers.memories.heads(caller.scope(), keys) if keys else {}
    units: dict[int, Unit] = {}
    taken: set[Address] = set(known)
    for place, draft in plain.items():
        if draft.expected_version == 0 and draft.key is not None and _is_live(known.get(caller.address(draft.key))):
            results[place] = BatchResult(error=ConflictError("expected version 0, a memory stands at this key"))
            continue
        entry = _entry(caller, draft, 0, None)
        if entry.address not in taken:
            taken.add(entry.address)
            units[place] = _store_unit(caller, draft, entry, rule="can_store_memory", body_hash="")
    behind = await caller.turns_behind([unit.entries[0] for unit in units.values()])  # they came before these
    owing = Unit(jobs=tuple(map(embed_job, behind)))
    *refused, _ = await caller.shared.tiers.commit_many([*units.values(), owing])
    for entry in behind:
        caller.shared.indexer.add(entry)
    for (place, unit), error in zip(units.items(), refused, strict=True):
        results[place] = await _outcome(caller, unit, error)


async def _outcome(caller: Caller, unit: Unit, error: Exception | None) -> BatchResult | None:
    """What became of a unit that was committed with others; None where another writer was first."""
    if error is not None:
        return None if isinstance(error, ConflictError) else BatchResult(error=_typed(error))
    await caller.announce(unit.events)
    for entry in _owed(unit.entries[0]):
        caller.shared.indexer.add(entry)
    return BatchResult(entry=replace(unit.entries[0], embedding=None))


def _is_live(head: Head | None) -> bool:
    return head is not None and head.live


def _typed(error: Exception) -> MnemicError:
    if isinstance(error, MnemicError):
        return error
    raise error


async def _alone(caller: Caller, draft: Draft) -> BatchResult:
    try:
        return BatchResult(entry=await store(caller, draft))
    except MnemicError as error:
        return BatchResult(error=error)


_NO_BODY = frozenset({"metadata", "embedding", "expected_version", "idempotency_key", "wait_indexed"})
_BODY = tuple(name for name in Draft.__slots__ if name not in _NO_BODY)


def _body_hash(caller: Caller, draft: Draft) -> str:
    """Whose request it is and what it asks to keep; two that differ in any part are two requests (FR-021)."""
    parts = [str(getattr(draft, name)) for name in _BODY]
    return h("body", *caller.owner, *parts, canonical(dict(draft.metadata or {})).decode())


def _first(draft: Draft, entry: MemoryEntry, body_hash: str, now: datetime) -> IdempotencyRecord:
    return IdempotencyRecord(
        tenant_id=entry.tenant_id,
        key=draft.idempotency_key or "",
        body_hash=body_hash,
        result={"volk": entry.volk_id, "user": entry.user_id, "key": entry.key, "version": entry.version},
        expires_at=now + _IDEMPOTENT_FOR,
    )


async def _replayed(caller: Caller, draft: Draft, body_hash: str) -> MemoryEntry | None:
    """The first result of the same request (FR-021)."""
    if draft.idempotency_key is None:
        return None
    shared = caller.shared
    first = await shared.tiers.journal.idempotent(caller.who.tenant_id, draft.idempotency_key, now=shared.clock.now())
    if first is None:
        return None
    if first.body_hash != body_hash:
        raise ConflictError("idempotency_key was used for another body within 24 hours; give a new key")
    scope = replace(caller.scope(), volk_id=first.result["volk"], user_id=first.result["user"])
    versions = await shared.tiers.memories.versions(scope, first.result["key"])
    return next((entry for entry in versions if entry.version == first.result["version"]), None)
