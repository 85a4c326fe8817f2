"""How does a store leave and come back whole? NDJSON with versions, edges and tombstones, without vectors."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from mnemic.engine import limits as check
from mnemic.engine.finding import own_entries
from mnemic.engine.indexer import embed_job
from mnemic.engine.shared import Caller
from mnemic.errors import AccessDeniedError, ConflictError, InvalidInputError
from mnemic.events import Topic
from mnemic.ports import Action, Deletion, Edge, EdgeKind, MemoryFilter, Unit
from mnemic.ports.record import entry_from_record, entry_to_record
from mnemic.types import Address, MemoryEntry, MemoryScope, utc

__all__ = ["export", "import_", "reindex"]

FORMAT = "mnemic-export"
_SCHEMA = 1
_PAGE = 500


async def export(caller: Caller, scope: MemoryScope | None) -> AsyncIterator[str]:
    """Lines of NDJSON: a header, the caller's own entries with their kept versions, edges, tombstones."""
    yield _line({"type": FORMAT, "schema": _SCHEMA, "tenant_id": caller.who.tenant_id})
    uids: list[str] = []
    async for page in own_entries(caller, scope, MemoryFilter(include_superseded=True)):
        for entry in page:
            uids.append(entry.uid)
            for version in await _versions(caller, entry.address):
                yield _line({"type": "entry", **entry_to_record(version)})
    for edge in await _edges(caller, uids):
        yield _line({"type": "edge", "source": edge.source, "kind": edge.kind.value, "target": edge.target})
    async for deletion in _own_tombstones(caller, scope):
        for version in await _versions(caller, deletion.address):
            yield _line({"type": "entry", **entry_to_record(version)})
        yield _line(_tombstone_record(deletion))
    await caller.note_read("export", "", {"count": len(uids)})


async def import_(caller: Caller, lines: Iterable[str]) -> int:
    """Take in an export, all or nothing; twice adds nothing. The number of versions that were new.

    Raises:
        InvalidInputError: A line is no part of an export; nothing was written.
        AccessDeniedError: The export holds another volk's entries, or a class that the caller may not store.
    """
    entries, edges, deletions = _read(caller, lines)
    for classification in sorted({entry.classification for entry in entries}):
        await caller.allow(Action.STORE, classification=classification)
    standing, new_entries, new_deletions = await _unknown(caller, entries, deletions)
    newest = {entry.address: entry for entry in new_entries}
    gone = {deletion.address for deletion in new_deletions}
    owed = [entry for address, entry in newest.items() if address not in gone]
    jobs = tuple(embed_job(entry) for entry in owed) if caller.shared.embedder is not None else ()
    detail = {"entries": len(new_entries), "edges": len(edges), "tombstones": len(new_deletions)}
    record = caller.shared.auditor.record(caller.who, "import", detail=detail)
    event = caller.event(Topic.IMPORTED, detail)
    await caller.commit(
        Unit(
            entries=tuple(new_entries),
            edges=tuple(edges),
            deletions=tuple(new_deletions),
            audit=(record,),
            events=(event,),
            jobs=jobs,
        ),
        owed=owed,
        changed=(*standing, *owed),
    )
    return len(new_entries)


async def reindex(caller: Caller, *, everything: bool = False) -> int:
    """Owe a vector of the active model for each readable entry that lacks one, or for all; how many."""
    embedder = caller.shared.embedder
    if embedder is None:
        return 0
    owed = 0
    cursor: str | None = None
    where = MemoryFilter(include_superseded=True, now=caller.shared.clock.now())
    while True:
        page = await caller.shared.tiers.memories.list(caller.scope(), where, after=cursor, limit=_PAGE)
        missing = [entry for entry in page.items if everything or entry.embedding_model != embedder.model_id]
        if missing:
            await caller.shared.tiers.commit(Unit(jobs=tuple(embed_job(entry) for entry in missing)))
        for entry in missing:
            caller.shared.indexer.add(entry)
        owed += len(missing)
        await caller.shared.indexer.room()
        if (cursor := page.next_cursor) is None:
            return owed


async def _versions(caller: Caller, address: Address) -> list[MemoryEntry]:
    scope = MemoryScope(tenant_id=address.tenant_id, volk_id=address.volk_id, user_id=address.user_id)
    return list(reversed(await caller.shared.tiers.memories.versions(scope, address.key)))


async def _edges(caller: Caller, uids: list[str]) -> list[Edge]:
    found: dict[Edge, None] = {}
    for start in range(0, len(uids), _PAGE):
        edges = await caller.shared.tiers.memories.edges(caller.scope(), uids[start : start + _PAGE])
        found |= dict.fromkeys(edges)
    known = set(uids)
    inside = (edge for edge in found if edge.source in known and edge.target in known)
    return sorted(inside, key=lambda edge: (edge.source, edge.kind, edge.target))


async def _own_tombstones(caller: Caller, scope: MemoryScope | None) -> AsyncIterator[Deletion]:
    """The caller's deleted memories; a narrowed scope leaves them out: a tombstone has nothing to narrow by."""
    if scope is not None and scope != MemoryScope(tenant_id=scope.tenant_id):
        return
    after: Address | None = None
    while rows := await caller.shared.tiers.journal.tombstones(caller.who.tenant_id, after=after, limit=_PAGE):
        for row in rows:
            if row.address.volk_id == caller.who.volk_id and row.address.user_id in {"", caller.who.user_id}:
                yield row
        after = rows[-1].address


def _tombstone_record(deletion: Deletion) -> Mapping[str, Any]:
    address = deletion.address
    return {
        "type": "tombstone",
        "volk_id": address.volk_id,
        "user_id": address.user_id,
        "key": address.key,
        "version": deletion.version,
        "at": deletion.at.isoformat(),
    }


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _read(caller: Caller, lines: Iterable[str]) -> tuple[list[MemoryEntry], list[Edge], list[Deletion]]:
    entries: list[MemoryEntry] = []
    edges: list[Edge] = []
    deletions: list[Deletion] = []
    tenant = caller.who.tenant_id
    uids: dict[str, str] = {}  # of the exporting tenant, to those of this one
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        record = _parsed(number, line)
        try:
            match record.pop("type", None):
                case "mnemic-export":
                    _check_header(record)
                case "entry":
                    entries.append(entry := _entry(caller, record))
                    uids[replace(entry.address, tenant_id=record.get("tenant_id", tenant)).uid] = entry.uid
                case "edge":
                    edges.append(Edge(tenant, record["source"], EdgeKind(record["kind"]), record["target"]))
                case "tombstone":
                    deletions.append(_deletion(caller, record))
                case other:
                    raise InvalidInputError(f"line {number}: type {other!r} is no part of an export")
        except (KeyError, TypeError, ValueError) as error:
            what = type(error).__name__
            raise InvalidInputError(f"line {number}: a field is missing or malformed ({what}); export again") from None
    return entries, [_translated(edge, uids) for edge in edges], deletions


def _translated(edge: Edge, uids: Mapping[str, str]) -> Edge:
    """The edge in this tenant; one to what the export does not hold could share another owner's memory."""
    if edge.source not in uids or edge.target not in uids:
        raise InvalidInputError(f"an edge {edge.kind.value} leads out of the export; export again")
    return replace(edge, source=uids[edge.source], target=uids[edge.target])


def _parsed(number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError):
        raise InvalidInputError(f"line {number} is no JSON; the file is cut or garbled, export again") from None
    if not isinstance(record, dict):
        raise InvalidInputError(f"line {number} is no JSON object; the file is no export of mnemic")
    return record


def _check_header(record: Mapping[str, Any]) -> None:
    if record.get("schema") != _SCHEMA:
        raise InvalidInputError(f"the export has schema {record.get('schema')!r}, this version reads {_SCHEMA}")


def _deletion(caller: Caller, record: Mapping[str, Any]) -> Deletion:
    address = Address(caller.who.tenant_id, record["volk_id"], record["user_id"], record["key"])
    _check_owner(caller, address)
    return Deletion(address=address, version=int(record["version"]), at=utc(datetime.fromisoformat(record["at"])))


def _check_owner(caller: Caller, address: Address) -> None:
    if address.volk_id != caller.who.volk_id or address.user_id not in {"", caller.who.user_id}:
        raise AccessDeniedError("the export holds memories of another volk or user; import it as that owner")


def _entry(caller: Caller, record: dict[str, Any]) -> MemoryEntry:
    limits = caller.shared.settings.limits
    entry = entry_from_record({**record, "tenant_id": caller.who.tenant_id})
    _check_owner(caller, entry.address)
    check.check_content(entry.content, limits)
    check.check_share("importance", entry.importance)
    check.check_key(entry.key, limits)
    check.check_tags(entry.tags, limits)
    metadata = check.check_metadata(entry.metadata, limits)
    lineage = tuple(replace(address, tenant_id=caller.who.tenant_id) for address in entry.derived_from)
    return replace(entry, metadata=metadata, derived_from=lineage)


async def _unknown(
    caller: Caller, entries: list[MemoryEntry], deletions: list[Deletion]
) -> tuple[list[MemoryEntry], list[MemoryEntry], list[Deletion]]:
    """What stands there and is older than what comes, and what is newer than what stands at its address.

    Raises:
        ConflictError: A version that stands there was made of other content.
    """
    addresses = list(dict.fromkeys([*(e.address for e in entries), *(d.address for d in deletions)]))
    heads = await caller.shared.tiers.memories.heads(caller.scope(), addresses)
    live = await caller.shared.tiers.memories.get_many(caller.scope(), list(heads))
    for entry in entries:
        standing = live.get(entry.address)
        if standing is not None and standing.version == entry.version and standing.content != entry.content:
            raise ConflictError(
                f"version {entry.version} of a memory stands here with other content; use another store"
            )
    versions = {address: head.version for address, head in heads.items()}
    new_entries = [entry for entry in entries if entry.version > versions.get(entry.address, 0)]
    new_deletions = [deletion for deletion in deletions if deletion.version > versions.get(deletion.address, 0)]
    replaced = {*(entry.address for entry in new_entries), *(deletion.address for deletion in new_deletions)}
    return [entry for address, entry in live.items() if address in replaced], new_entries, new_deletions
