"""When does a memory leave the working set, and when does it end? Session end, promotion, expiry."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from mnemic.engine.composing import owner_identity, summarize_session
from mnemic.engine.finding import find_readable
from mnemic.engine.shared import Caller
from mnemic.engine.writing import deletion_unit
from mnemic.errors import ConflictError, NotFoundError
from mnemic.events import Topic
from mnemic.faults import crashpoint
from mnemic.ports import Action, MemoryFilter, Order, WorkingMark
from mnemic.types import Address, MemoryEntry, MemoryScope, check_id

__all__ = ["end_session", "promote", "sweep"]

_SUMMARY_TOKENS = 2048
_PAGE = 1000


async def end_session(caller: Caller, session_id: str, *, outcome: str = "") -> int:
    """Every entry of a session leaves the working set; the number that left in this call (SES-003)."""
    check_id("session_id", session_id)
    shared = caller.shared
    await shared.notes.flush()  # marks that are noted only belong to the session too
    async with shared.moving:
        unit = await shared.tiers.close_session(caller.who.tenant_id, session_id, now=shared.clock.now())
        live = await shared.tiers.memories.get_many(caller.scope(), [mark.address for mark in unit.working])
        await _check_party(caller, session_id, live)
        count = len(live)  # what expired is collected, not moved (SES-010)
        record = shared.auditor.record(caller.who, "migrate", detail={"count": count, "outcome": outcome})
        event = caller.event(Topic.MIGRATED, {"session_id": session_id, "count": count})
        crashpoint("migrate.before_commit")
        await caller.commit(replace(unit, audit=(record,), events=(event,)))
        crashpoint("migrate.committed")
    if count:
        await _summaries(caller, session_id)
        if shared.facts is not None:
            await shared.facts.emit(session_id, "memory.migrated", {"count": count, "outcome": outcome})
    return count


async def _check_party(caller: Caller, session_id: str, members: Mapping[Address, MemoryEntry]) -> None:
    """A direct caller has that session or an entry in it (SES-010); anyone may end an empty one."""
    mine = any(address.volk_id == caller.who.volk_id for address in members)
    if not members or mine or session_id == caller.who.session_id:
        return
    await caller.allow(Action.MIGRATE, entry=next(iter(members.values())))


async def _summaries(caller: Caller, session_id: str) -> None:
    least = caller.shared.settings.session.summary_min_tokens
    if not least:
        return
    scope = MemoryScope(tenant_id=caller.who.tenant_id, session_id=session_id)
    where = MemoryFilter(now=caller.shared.clock.now())
    page = await caller.shared.tiers.memories.list(scope, where, order=Order.OLDEST, limit=_PAGE)
    entries = sorted((e for e in page.items if e.source != "summary"), key=lambda e: (e.volk_id, e.user_id))
    for _, group in itertools.groupby(entries, key=lambda e: (e.volk_id, e.user_id)):
        owned = list(group)
        if sum(entry.token_count for entry in owned) > least:
            owner = replace(caller, who=owner_identity(caller, owned[0]))
            await summarize_session(owner, session_id, owned, max_tokens=_SUMMARY_TOKENS)


async def promote(caller: Caller, key: str, session_id: str) -> MemoryEntry:
    """Bring a readable memory into the working set of a session (ENG-010)."""
    check_id("session_id", session_id)
    entry = await find_readable(caller, key)
    if entry is None:
        raise NotFoundError("no memory with this key that you can read; check the key, or store it first")
    shared = caller.shared
    until = shared.clock.now() + timedelta(seconds=shared.settings.session.ttl_s)
    shared.notes.mark(WorkingMark(address=entry.address, session_id=session_id, until=until))
    await caller.note_read("promote", Topic.PROMOTED, {"key": key, "volk_id": entry.volk_id}, resource=entry.uid)
    await shared.notes.flush()
    return entry


async def sweep(caller: Caller) -> int:
    """Leave tombstones where ``expires_at`` passed, clear overdue marks, drop what was kept long enough."""
    shared = caller.shared
    now = shared.clock.now()
    entries, marks = await shared.tiers.journal.overdue(now=now)
    for mark in marks:
        shared.notes.mark(replace(mark, until=None))
    swept = 0
    for entry in entries:
        system = replace(caller, who=replace(caller.who, tenant_id=entry.tenant_id, volk_id="SYS:MEMORY"))
        try:
            await system.commit(deletion_unit(system, entry, action="expire"), changed=(entry,))
            swept += 1
        except ConflictError:
            continue  # a newer version came in between
    kept = timedelta(days=shared.settings.retention.deleted_days)
    await shared.tiers.journal.purge(deleted_before=now - kept, now=now)
    return swept
