"""What is connected? Edges, the walk along them, and the turns beside a turn."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from mnemic.errors import InvalidInputError
from mnemic.ports.storage import Edge, EdgeKind
from mnemic.providers.sqlite.codec import ROW, Row, entry_of
from mnemic.providers.sqlite.readers import Reader
from mnemic.providers.sqlite.reads import select, tenant_of_name
from mnemic.providers.sqlite.statements import SQL
from mnemic.providers.sqlite.where import Clause
from mnemic.types import Address, MemoryEntry

__all__ = ["checked_kinds", "edges", "neighbours", "related"]

_GROUPS = frozenset({"task", "session", "volk", "project"})  # columns, too
_BETWEEN_MEMORIES = frozenset(EdgeKind) - {EdgeKind.SHARED_WITH}

Turns = tuple[MemoryEntry | None, MemoryEntry | None]


def checked_kinds(kinds: Sequence[str] | None) -> set[str]:
    """The kinds to follow; None means every edge between memories, and the same task."""
    if kinds is None:
        return {*_BETWEEN_MEMORIES, "task"}
    if unknown := set(kinds) - {*EdgeKind, *_GROUPS}:
        raise InvalidInputError(f"kinds has {min(unknown)!r}; give some of {', '.join([*EdgeKind, *_GROUPS])}")
    return set(kinds)


def edges(reader: Reader, tenant: str, uids: Sequence[str]) -> list[Edge]:
    """Every edge that starts or ends at one of these."""
    rows = reader.rows(SQL["edges_of"], (tenant_of_name(reader, tenant), json.dumps(list(uids))))
    return [Edge(tenant, source, EdgeKind(kind), target) for source, kind, target in rows]


def related(
    reader: Reader, start: MemoryEntry, kinds: set[str], *, clause: Callable[[], Clause], depth: int, limit: int
) -> list[MemoryEntry]:
    """Walk breadth first over what a clause lets through."""
    seen, frontier, found = {start.uid}, {start.uid}, []
    for _ in range(depth):
        reached = _step(reader, start.tenant_id, frontier, kinds) - seen
        layer = _allowed(reader, reached, clause())
        frontier = {entry.uid for entry in layer}
        seen |= frontier
        found += layer
        if not frontier or len(found) >= limit:
            break
    return found[:limit]


def neighbours(reader: Reader, entries: Iterable[MemoryEntry], clause: Callable[[], Clause]) -> dict[Address, Turns]:
    """The turns before and after each entry that is a turn."""
    return {
        entry.address: (_turn(reader, entry, clause(), -1), _turn(reader, entry, clause(), 1))
        for entry in entries
        if entry.turn is not None
    }


def _turn(reader: Reader, entry: MemoryEntry, clause: Clause, step: int) -> MemoryEntry | None:
    clause.add(
        "e.session = ? AND e.turn = ? AND e.volk = ? AND e.user = ? AND e.class = ?",
        entry.session_id, (entry.turn or 0) + step, entry.volk_id, entry.user_id, str(entry.classification),
    )  # fmt: skip
    rows = select(reader, clause, tail="ORDER BY e.created_at, e.key LIMIT 1")
    return entry_of(Row(*rows[0])) if rows else None


def _step(reader: Reader, tenant: str, uids: set[str], kinds: set[str]) -> set[str]:
    """What one step leads to from these entries."""
    reached: set[str] = set()
    for edge in edges(reader, tenant, sorted(uids)):
        if edge.kind in kinds and edge.kind in _BETWEEN_MEMORIES:
            reached |= {edge.source, edge.target}
    for kind in kinds & _GROUPS:
        rows = reader.rows(SQL["same_group"].format(column=kind), (json.dumps(sorted(uids)), tenant))
        reached |= {uid for (uid,) in rows}
    return reached


def _allowed(reader: Reader, uids: set[str], clause: Clause) -> list[MemoryEntry]:
    clause.add("e.uid IN (SELECT value FROM json_each(?))", json.dumps(sorted(uids)))
    rows = select(reader, clause, columns=ROW, tail="ORDER BY e.created_at DESC, e.volk, e.user, e.key")
    return [entry_of(Row(*row)) for row in rows]
