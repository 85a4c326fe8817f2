"""What stands at a key, what lies in a scope, and what is connected? Reads that need no ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from mnemic.engine.finding import find_kept, find_own, find_owned, find_readable, own_entries, own_versions
from mnemic.engine.shared import Caller
from mnemic.engine.writing import deletion_unit
from mnemic.errors import AccessDeniedError, ConflictError, InvalidInputError, NotFoundError
from mnemic.events import Topic
from mnemic.ports import Action, Edge, EdgeKind, MemoryFilter, Unit
from mnemic.ports.engine import Where
from mnemic.ports.filters import parse_where
from mnemic.types import MemoryEntry, MemoryScope, Page, utc

__all__ = ["count", "forget", "history", "link", "related", "retrieve", "retrieve_by"]

_PAGE = 1000
_DEPTH = 5


async def retrieve(
    caller: Caller,
    key: str,
    *,
    include_metadata: bool,
    owner: str | tuple[str, str] | None,
    version: int | None,
    as_of: datetime | None,
) -> MemoryEntry | None:
    """See ``IMemoryEngine.retrieve``."""
    if version is not None or as_of is not None:
        if owner is not None:
            raise InvalidInputError("owner is given beside version or as_of; leave owner out")
        entry = await find_kept(caller, key, version=version, as_of=None if as_of is None else utc(as_of))
    elif owner is None:
        entry = await find_readable(caller, key)
    else:
        try:
            entry = await find_owned(caller, key, owner)
        except AccessDeniedError:
            return None  # its row and event are left; the caller cannot tell it from absence (GOV-018)
    if entry is None:
        await caller.note_read("retrieve", Topic.RETRIEVED, {"found": False}, result="not_found")
        return None
    caller.shared.notes.touch([entry.address], caller.shared.clock.now())
    payload = {"found": True, "version": entry.version, "volk_id": entry.volk_id}
    await caller.note_read("retrieve", Topic.RETRIEVED, payload, resource=entry.uid)
    return entry if include_metadata else replace(entry, metadata={}, embedding=None)


async def history(caller: Caller, key: str) -> list[MemoryEntry]:
    """Every kept version of the caller's memory, newest first; also of a deleted one while it is kept."""
    versions = await own_versions(caller, key)
    await caller.note_read("history", "", {"versions": len(versions)}, resource=versions[0].uid if versions else "")
    return versions


async def retrieve_by(
    caller: Caller,
    *,
    tags: Sequence[str] | None,
    tags_match: str,
    scope: MemoryScope | None,
    where: Where | None,
    limit: int,
    cursor: str | None,
) -> Page[MemoryEntry]:
    """A page of readable entries, newest first (ENG-006)."""
    if tags_match not in {"all", "any"}:
        raise InvalidInputError(f"tags_match is {tags_match!r}; give all or any")
    if isinstance(tags, str):
        raise InvalidInputError("tags is text; give a list of texts")
    parsed = parse_where(where)
    if tags_match == "all":
        parsed = replace(parsed, tags_all=(*parsed.tags_all, *(tags or ())))
    else:
        parsed = replace(parsed, tags_any=(*parsed.tags_any, *(tags or ())))
    filter_ = await caller.where(parsed)
    page = await caller.shared.tiers.memories.list(caller.scope(scope), filter_, limit=limit, after=cursor)
    await caller.note_read("retrieve_by", Topic.RETRIEVED, {"count": len(page.items)})
    return page


async def count(caller: Caller, scope: MemoryScope | None, where: Where | None) -> int:
    """How many entries the caller can read in a scope (ENG-006)."""
    filter_ = await caller.where(where)
    number = await caller.shared.tiers.memories.count(caller.scope(scope), filter_)
    await caller.note_read("count", "", {"count": number})
    return number


async def related(
    caller: Caller, key: str, *, depth: int, kinds: Sequence[str] | None, limit: int
) -> list[MemoryEntry]:
    """Readable entries that are connected, nearest first (REQ-010-031)."""
    if not 1 <= depth <= _DEPTH:
        raise InvalidInputError(f"depth is {depth}; give 1 to {_DEPTH}")
    if not 1 <= limit <= _PAGE:
        raise InvalidInputError(f"limit is {limit}; give 1 to {_PAGE}")
    start = await find_readable(caller, key)
    if start is None:
        raise NotFoundError("no memory with this key that you can read; check the key, or store it first")
    point = MemoryScope(tenant_id=start.tenant_id, volk_id=start.volk_id, user_id=start.user_id)
    where = await caller.where(MemoryFilter(include_superseded=True))
    found = await caller.shared.tiers.memories.related(point, key, depth=depth, kinds=kinds, limit=limit, where=where)
    await caller.note_read("related", "", {"count": len(found), "depth": depth}, resource=start.uid)
    return found


async def link(caller: Caller, key: str, other: str, kind: str) -> bool:
    """Draw an edge from the caller's memory to a readable one; True if it is new."""
    if kind != EdgeKind.RELATES_TO:
        raise InvalidInputError(f"kind is {kind!r}; give {EdgeKind.RELATES_TO.value}, the engine draws the others")
    start = await find_own(caller, key, Action.UPDATE)
    end = await find_readable(caller, other)
    if start is None or end is None:
        raise NotFoundError("no memory with this key that you can read; check both keys")
    edge = Edge(start.tenant_id, start.uid, EdgeKind(kind), end.uid)
    known = edge in await caller.shared.tiers.memories.edges(caller.scope(), [start.uid])
    record = caller.shared.auditor.record(caller.who, "link", resource=start.uid, detail={"kind": kind})
    await caller.commit(Unit(edges=(edge,), audit=(record,)))
    return not known


async def forget(
    caller: Caller, where: Where | None, *, scope: MemoryScope | None, dry_run: bool, expected_count: int | None
) -> int:
    """Delete the caller's entries that a filter names, all or none, after a dry run gave their number (ENG-018)."""
    parsed = parse_where(where)
    entries = [entry async for page in own_entries(caller, scope, parsed) for entry in page]
    if dry_run:
        await caller.note_read("forget", "", {"count": len(entries), "dry_run": True})
        return len(entries)
    if expected_count is None:
        raise InvalidInputError("expected_count is missing; give the number that the dry run returned")
    if expected_count != len(entries):
        raise ConflictError(f"expected_count is {expected_count}, {len(entries)} entries match now; do a dry run again")
    units = [deletion_unit(caller, entry) for entry in entries]
    await caller.commit(
        Unit(
            deletions=tuple(deletion for unit in units for deletion in unit.deletions),
            audit=tuple(record for unit in units for record in unit.audit),
            events=tuple(event for unit in units for event in unit.events),
            working=tuple(mark for unit in units for mark in unit.working),
        ),
        changed=entries,
    )
    return len(entries)
