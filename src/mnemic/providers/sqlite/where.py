"""How do a scope and a filter become SQL? Every part holds before the limit (PRV-013)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from mnemic.ports.checks import tenant_of
from mnemic.ports.filters import MemoryFilter
from mnemic.ports.matching import fold, matches
from mnemic.ports.policy import Readable
from mnemic.providers.sqlite.codec import ROW, to_us
from mnemic.types import MemoryEntry, MemoryScope

__all__ = ["Clause", "compiled", "in_scope"]

_EXACT = {"session_id": "session", "volk_id": "volk", "user_id": "user", "project_id": "project",
          "portfolio_id": "portfolio"}  # fmt: skip
_NON_EMPTY = {"task_id": "task", "crew_id": "crew"}
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_AMONG = "(SELECT value FROM json_each(?))"
_SHARED = (
    "EXISTS (SELECT 1 FROM edges x "
    "WHERE x.tenant = e.tenant AND x.source = e.uid AND x.kind = 'SHARED_WITH' AND x.target = ?)"
)
# Not correlated with the row, so that SQLite may begin with the tag.
_TAGGED = (
    "e.id IN (SELECT g.entry_id FROM tags g WHERE g.tenant = (SELECT id FROM tenants WHERE name = ?) "
    "AND g.tag IN (SELECT value FROM json_each(?)))"
)


@dataclass(slots=True)
class Clause:
    """A condition on ``entries e JOIN tenants t``, with its values, and what SQL cannot say."""

    parts: list[str] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    fits: Callable[[MemoryEntry], bool] | None = None

    def add(self, sql: str, *values: Any) -> None:
        """Demand one more thing."""
        self.parts.append(sql)
        self.values += values

    @property
    def sql(self) -> str:
        """The whole condition."""
        return " AND ".join([*self.parts, f"fits({ROW})"] if self.fits else self.parts)


def compiled(scope: MemoryScope, where: MemoryFilter | None, *, now: datetime) -> Clause:
    """Say in SQL which live entries lie in a scope, have not expired and fit a filter, as ``matching.matches`` does."""
    where = where or MemoryFilter()
    clause = Clause()
    clause.add("t.name = ? AND e.tenant = t.id AND e.live", tenant_of(scope))
    _add_scope(clause, scope)
    _add_state(clause, where, where.now or now)
    _add_fields(clause, where)
    _add_tags(clause, where, tenant_of(scope))
    if where.readable_by is not None:
        _add_readable(clause, where.readable_by)
    if where.metadata or where.expr is not None:
        rest = MemoryFilter(metadata=where.metadata, expr=where.expr, include_superseded=True)
        # Expiry was said in SQL already, so the moment given here lies before every one.
        clause.fits = lambda entry: matches(entry, MemoryScope(), rest, now=_LONG_AGO)
    return clause


def in_scope(scope: MemoryScope) -> Clause:
    """Say which rows lie in a scope, tombstones and expired entries included."""
    clause = Clause()
    clause.add("t.name = ? AND e.tenant = t.id", tenant_of(scope))
    _add_scope(clause, scope)
    return clause


def _add_scope(clause: Clause, scope: MemoryScope) -> None:
    for name, column in _EXACT.items():
        if (value := getattr(scope, name)) is not None:
            clause.add(f"e.{column} = ?", value)
    for name, column in _NON_EMPTY.items():
        if (value := getattr(scope, name)) is not None:
            clause.add(f"e.{column} = ? AND e.{column} <> ''", value)
    moment = "coalesce(e.occurred_at, e.created_at)" if scope.date_field == "occurred_at" else "e.created_at"
    if scope.date_from is not None:
        clause.add(f"{moment} >= ?", to_us(scope.date_from))
    if scope.date_to is not None:
        clause.add(f"{moment} <= ?", to_us(scope.date_to))


def _add_state(clause: Clause, where: MemoryFilter, now: datetime) -> None:
    clause.add("(e.expires_at IS NULL OR e.expires_at > ?)", to_us(now))
    if where.as_of is not None:
        moment = to_us(where.as_of)
        clause.add("e.valid_from <= ? AND (e.valid_to IS NULL OR e.valid_to > ?)", moment, moment)
    elif not where.include_superseded:
        clause.add("NOT e.superseded")


def _add_fields(clause: Clause, where: MemoryFilter) -> None:
    if where.keys is not None:
        clause.add(f"e.key IN {_AMONG}", _list(where.keys))
    if where.source is not None:
        clause.add("e.source = ?", fold(where.source))
    if where.memory_types:
        clause.add(f"e.type IN {_AMONG}", _list(where.memory_types))
    if where.categories:
        clause.add(f"e.category IN {_AMONG}", _list([fold(text) for text in where.categories]))
    if where.pinned is not None:
        clause.add("e.pinned = ?", where.pinned)
    if where.classifications:
        clause.add(f"e.class IN {_AMONG}", _list(where.classifications))
    if where.embedding_model is not None:
        clause.add("e.model = ?", where.embedding_model)


def _add_tags(clause: Clause, where: MemoryFilter, tenant: str) -> None:
    for tag in where.tags_all:
        clause.add(_TAGGED, tenant, _list([fold(tag)]))
    if where.tags_any:
        clause.add(_TAGGED, tenant, _list([fold(tag) for tag in where.tags_any]))


def _add_readable(clause: Clause, by: Readable) -> None:
    alternatives = Clause()
    alternatives.add("e.volk = ? AND e.user IN (?, '')", by.volk, by.user)
    alternatives.add("e.class = 'system'")
    if by.tenant_wide:
        alternatives.add("e.class = 'shared'")
    if by.projects:
        alternatives.add(f"e.class = 'shared' AND e.project IN {_AMONG}", _list(by.projects))
    if by.crews:
        alternatives.add(f"e.class = 'shared' AND e.crew <> '' AND e.crew IN {_AMONG}", _list(by.crews))
    if by.shared_uids:
        alternatives.add(f"e.uid IN {_AMONG}", _list(by.shared_uids))
    alternatives.add(_SHARED, by.volk)
    clause.add("(" + " OR ".join(f"({part})" for part in alternatives.parts) + ")", *alternatives.values)


def _list(texts: Sequence[str]) -> str:
    return json.dumps([str(text) for text in texts], ensure_ascii=False)
