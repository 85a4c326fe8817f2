"""Which vectors are nearest? An index in memory per tenant and model that follows every process's writes."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from mnemic.errors import DimensionError
from mnemic.providers.sqlite.readers import Reader
from mnemic.providers.sqlite.reads import by_ids, select, tenant_of_name
from mnemic.providers.sqlite.statements import SQL
from mnemic.providers.sqlite.where import Clause
from mnemic.types import MemoryHit, MemoryHits, Vector
from mnemic.vectors import VectorIndex, unpack

__all__ = ["Nearest"]

_FIRST_LOOK = 64
_WIDER = 4
_CHUNK = 5_000


@dataclass(slots=True)
class _Space:
    """The vectors of one model, and the last change among them."""

    index: VectorIndex
    newest: int = 0


@dataclass(slots=True)
class _Tenant:
    """The spaces of a tenant, as of a sequence number."""

    seq: int = 0
    spaces: dict[str, _Space] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Nearest:
    """Finds the nearest vectors in this process's memory."""

    def __init__(self, exact_limit: int) -> None:
        self._exact_limit = exact_limit
        self._tenants: dict[str, _Tenant] = {}
        self._adding = threading.Lock()

    def search(
        self, reader: Reader, clause: Clause, tenant: str, query: Vector, *, model: str | None, limit: int, floor: float
    ) -> MemoryHits:
        """Find the nearest entries that a clause holds for, best first; ties newer, then by address."""
        with self._adding:
            known = self._tenants.setdefault(tenant, _Tenant())
        with known.lock:
            self._catch_up(reader, tenant, known)
            space = _space(known, query, model)
            if space is None:
                return MemoryHits()
            found = _scan(reader, clause, space[1].index, query, limit)
            others = sum(len(other.index) for name, other in known.spaces.items() if name != space[0])
        chosen = {id_: score for id_, score in found[:limit] if score >= floor}
        entries = by_ids(reader, list(chosen))
        hits = [
            MemoryHit.of(entry, score=chosen[id_], channels=("vector",), rank=rank)
            for rank, (id_, entry) in enumerate(entries.items(), start=1)
        ]
        return MemoryHits(hits, skipped_vectors=others)

    def _catch_up(self, reader: Reader, name: str, known: _Tenant) -> None:
        """Read every change since the last time, whoever made it."""
        tenant = tenant_of_name(reader, name)
        cursor = reader.db.execute(SQL["vectors_since"], (tenant, known.seq))
        while rows := list(islice(cursor, _CHUNK)):
            changed = [row[1] for row in rows]
            for space in known.spaces.values():
                space.index.remove([id_ for id_ in changed if id_ in space.index])
            for model in {row[2] for row in rows if row[3] is not None}:
                self._add(known, model, [row for row in rows if row[2] == model and row[3] is not None])
            known.seq = rows[-1][0]

    def _add(self, known: _Tenant, model: str, rows: list[tuple[int, int, str, bytes]]) -> None:
        dim = len(rows[-1][3]) // 2
        space = known.spaces.get(model)
        if space is None or (space.index.dim != dim and not len(space.index)):
            space = known.spaces[model] = _Space(VectorIndex(dim, exact_limit=self._exact_limit))
        fitting = [row for row in rows if len(row[3]) // 2 == space.index.dim]
        space.index.put([row[1] for row in fitting], unpack([row[3] for row in fitting]))
        space.newest = rows[-1][0]


def _space(known: _Tenant, query: Vector, model: str | None) -> tuple[str, _Space] | None:
    """The space that the query belongs to: the named one, else the newest of its size."""
    used = {name: space for name, space in known.spaces.items() if len(space.index) and model in {None, name}}
    fitting = {name: space for name, space in used.items() if space.index.dim == query.size}
    if fitting:
        return max(fitting.items(), key=lambda pair: pair[1].newest)
    if used:
        sizes = ", ".join(f"{name!r} has {space.index.dim}" for name, space in used.items())
        raise DimensionError(f"embedding has {query.size} numbers, {sizes}; embed with the model of the store")
    return None


def _scan(reader: Reader, clause: Clause, index: VectorIndex, query: Vector, limit: int) -> list[tuple[int, float]]:
    """Look at the nearest and keep what the clause allows; where that is too little, at all that it allows."""
    k = max(_FIRST_LOOK, _WIDER * limit)
    for size in (k, _WIDER * k):
        ids, scores = index.search(query, size)
        passing = _passing(reader, clause, ids.tolist(), scores)
        if len(passing) >= limit or len(ids) == len(index):
            return passing
    allowed = np.array([id_ for (id_,) in select(reader, clause, columns="e.id")], np.int64)
    ids, scores = index.search(query, limit, allowed=allowed)
    return _passing(reader, clause, ids.tolist(), scores)


def _passing(reader: Reader, clause: Clause, ids: Sequence[int], scores: Vector) -> list[tuple[int, float]]:
    sql = SQL["by_ids"].format(columns="e.id, e.created_at, e.volk, e.user, e.key", clause=clause.sql)
    score_of = dict(zip(ids, scores.tolist(), strict=True))
    with reader.filtered(clause.fits):
        rows = reader.rows(sql, (json.dumps(list(ids)), *clause.values))
    rows.sort(key=lambda row: (-score_of[row[0]], -row[1], row[2:]))
    return [(row[0], score_of[row[0]]) for row in rows]
