"""What held at a moment? Versions that are no longer current, where a filter looks back (FR-019)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from mnemic.ports.filters import MemoryFilter
from mnemic.ports.matching import matches
from mnemic.providers.sqlite.codec import Row, entry_of, from_us, to_us
from mnemic.providers.sqlite.readers import Reader
from mnemic.providers.sqlite.statements import SQL
from mnemic.types import MemoryEntry, MemoryScope

__all__ = ["archived", "standing_then"]


def archived(columns: Sequence[Any]) -> MemoryEntry:
    """Make the entry of an archived version; the archive knows the end of its validity."""
    *row, valid_to = columns
    entry = entry_of(Row(*row))
    return entry if entry.valid_to is not None else replace(entry, valid_to=from_us(valid_to))


def standing_then(
    reader: Reader, scope: MemoryScope, where: MemoryFilter | None, *, now: datetime
) -> list[MemoryEntry]:
    """The archived versions that stood at ``where.as_of`` and fit; none where the filter does not look back."""
    if where is None or where.as_of is None:
        return []
    moment = to_us(where.as_of)
    values = {"tenant": scope.tenant_id, "volk": scope.volk_id, "user": scope.user_id, "moment": moment}
    rows = reader.db.execute(SQL["stood_then"], values).fetchall()
    shared = _shared(reader, scope, where)
    entries = (archived(row) for row in rows)
    return [entry for entry in entries if matches(entry, scope, where, now=now, shared_uids=shared)]


def _shared(reader: Reader, scope: MemoryScope, where: MemoryFilter) -> set[str]:
    if where.readable_by is None:
        return set()
    return {uid for (uid,) in reader.rows(SQL["shared_with"], (scope.tenant_id, where.readable_by.volk))}
