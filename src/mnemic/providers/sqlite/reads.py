"""What stands in a scope? Point reads, listings, counts and versions."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np

from mnemic.errors import InvalidInputError
from mnemic.ports import matching
from mnemic.ports.filters import MemoryFilter
from mnemic.ports.storage import Head, Order
from mnemic.providers.sqlite.codec import ROW, Row, entry_of, to_us
from mnemic.providers.sqlite.past import archived
from mnemic.providers.sqlite.readers import Reader
from mnemic.providers.sqlite.statements import SQL
from mnemic.providers.sqlite.where import Clause, compiled, in_scope
from mnemic.types import Address, MemoryEntry, MemoryScope, Page, Vector
from mnemic.vectors import unpack

__all__ = [
    "at_addresses", "by_ids", "count", "get", "heads", "ids_in_scope", "keys", "listing", "places", "select",
    "similarities", "tenant_of_name", "versions",
]  # fmt: skip

_ANY_STATE = MemoryFilter(include_superseded=True)


def select(
    reader: Reader, clause: Clause, *, columns: str = ROW, tail: str = "", values: Sequence[Any] = ()
) -> list[Any]:
    """Every row that a clause holds for."""
    with reader.filtered(clause.fits):
        sql = SQL["select"].format(columns=columns, clause=clause.sql, tail=tail)
        return reader.rows(sql, [*clause.values, *values])


def tenant_of_name(reader: Reader, name: str) -> int | None:
    """The small integer of a tenant that has written."""
    found: int | None = reader.db.execute(SQL["tenant_id"], (name,)).get
    return found


def get(reader: Reader, scope: MemoryScope, key: str, *, now: datetime) -> MemoryEntry | None:
    """The live entry at a key of a point scope."""
    clause = compiled(scope, _ANY_STATE, now=now)
    clause.add("e.key = ?", key)
    rows = select(reader, clause)
    return entry_of(Row(*rows[0])) if rows else None


def at_addresses(
    reader: Reader, scope: MemoryScope, addresses: Sequence[Address], *, now: datetime, with_embedding: bool
) -> dict[Address, MemoryEntry]:
    """The live entries at these addresses."""
    tenant = tenant_of_name(reader, scope.tenant_id or "")
    ids = [id_ for (id_,) in reader.rows(SQL["ids_at"], (tenant, places(addresses)))]
    clause = compiled(scope, _ANY_STATE, now=now)
    found = by_ids(reader, ids, clause=clause, with_embedding=with_embedding)
    return {entry.address: entry for entry in found.values()}


def by_ids(
    reader: Reader, ids: Sequence[int], *, clause: Clause | None = None, with_embedding: bool = False
) -> dict[int, MemoryEntry]:
    """The entries of these rows, in this order, that a clause holds for."""
    condition, values = ("e.live", []) if clause is None else (clause.sql, clause.values)
    sql = SQL["by_ids"].format(columns=f"e.id, {ROW}", clause=condition)
    with reader.filtered(clause.fits if clause else None):
        rows = reader.rows(sql, (json.dumps([int(id_) for id_ in ids]), *values))
    entries = {int(id_): entry_of(Row(*row)) for id_, *row in rows}
    if with_embedding:
        _attach(reader, entries)
    return {id_: entries[id_] for id_ in map(int, ids) if id_ in entries}


def listing(
    reader: Reader, clause: Clause, *, order: Order, after: str | None, limit: int, past: Sequence[MemoryEntry] = ()
) -> Page[MemoryEntry]:
    """A part of what a clause holds for, and of past versions, by time and then by address."""
    sign = -1 if order is Order.NEWEST else 1
    behind = None if after is None else _read_cursor(after)
    if behind is not None:
        moment, *place = behind
        further = "<" if order is Order.NEWEST else ">"
        later = f"(e.created_at {further} ? OR (e.created_at = ? AND (e.volk, e.user, e.key) > (?, ?, ?)))"
        clause.add(later, sign * moment, sign * moment, *place)
    direction = "DESC" if order is Order.NEWEST else "ASC"
    tail = f"ORDER BY e.created_at {direction}, e.volk, e.user, e.key LIMIT ?"
    entries = [entry_of(Row(*row)) for row in select(reader, clause, tail=tail, values=(limit + 1,))]
    entries += [entry for entry in past if behind is None or _place(entry, sign) > behind]
    entries.sort(key=lambda entry: _place(entry, sign))
    cursor = _cursor(_place(entries[limit - 1], sign)) if len(entries) > limit else None
    return Page(items=tuple(entries[:limit]), next_cursor=cursor)


def count(reader: Reader, clause: Clause) -> int:
    """How many entries a clause holds for."""
    return int(select(reader, clause, columns="count(*)")[0][0])


def keys(reader: Reader, clause: Clause, *, after: Address | None, limit: int) -> list[Address]:
    """Addresses by (volk, user, key), from behind ``after``."""
    if after is not None:
        clause.add("(e.volk, e.user, e.key) > (?, ?, ?)", after.volk_id, after.user_id, after.key)
    tail = "ORDER BY e.volk, e.user, e.key LIMIT ?"
    return [
        Address(*row)
        for row in select(reader, clause, columns="t.name, e.volk, e.user, e.key", tail=tail, values=(limit,))
    ]


def heads(reader: Reader, tenant: str, addresses: Sequence[Address]) -> dict[Address, Head]:
    """The newest version at each address, tombstones included."""
    rows = reader.rows(SQL["heads"], (tenant_of_name(reader, tenant), places(addresses)))
    return {Address(tenant, *place): Head(version, live=bool(live)) for *place, version, live in rows}


def versions(reader: Reader, scope: MemoryScope, address: Address) -> list[MemoryEntry]:
    """Every kept version at an address that lies in the scope, newest first."""
    place = (address.tenant_id, address.volk_id, address.user_id, address.key)
    clause = in_scope(MemoryScope(tenant_id=address.tenant_id, volk_id=address.volk_id, user_id=address.user_id))
    clause.add("e.key = ? AND e.live", address.key)
    found = [entry_of(Row(*row)) for row in select(reader, clause)]
    found += [archived(row) for row in reader.rows(SQL["kept_versions"], place)]
    return [entry for entry in found if matching.in_scope(entry, scope)]


def similarities(
    reader: Reader, scope: MemoryScope, query: Vector, addresses: Sequence[Address], model_id: str
) -> dict[Address, float]:
    """The cosine of each address that has a current vector of the model."""
    tenant = scope.tenant_id or ""
    values = (tenant_of_name(reader, tenant), places(addresses), model_id, 2 * query.size)
    rows = reader.rows(SQL["vectors_at"], values)
    if not rows:
        return {}
    cosines = np.vecdot(unpack([packed for *_place, packed in rows]), query)
    return {Address(tenant, *row[:3]): float(score) for row, score in zip(rows, cosines, strict=True)}


def ids_in_scope(reader: Reader, scope: MemoryScope) -> list[int]:
    """Rows of a scope, tombstones and expired entries included."""
    return [int(id_) for (id_,) in select(reader, in_scope(scope), columns="e.id")]


def _attach(reader: Reader, entries: dict[int, MemoryEntry]) -> None:
    for id_, packed in reader.rows(SQL["vectors_of"], (json.dumps(list(entries)),)):
        entries[id_] = replace(entries[id_], embedding=unpack(packed))


def places(addresses: Iterable[Address]) -> str:
    """Addresses of one tenant as the JSON that statements take."""
    return json.dumps([[a.volk_id, a.user_id, a.key] for a in addresses], ensure_ascii=False)


def _place(entry: MemoryEntry, sign: int) -> list[Any]:
    """Where an entry stands in a listing."""
    return [sign * to_us(entry.created_at), entry.volk_id, entry.user_id, entry.key]


def _cursor(place: list[Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(place, ensure_ascii=False).encode()).decode()


def _read_cursor(cursor: str) -> list[Any]:
    try:
        place = json.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (ValueError, binascii.Error):
        place = None
    if not isinstance(place, list) or [type(part) for part in place] != [int, str, str, str]:
        raise InvalidInputError("after is no cursor of a listing; give the next_cursor of the page before, unchanged")
    return place
