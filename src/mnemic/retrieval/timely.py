"""What was going on in the time that a question names? Candidates from all of it, and a small boost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

from mnemic.errors import CapabilityError
from mnemic.ports import IMemoryProvider, MemoryFilter
from mnemic.retrieval.dates import Interval
from mnemic.types import MemoryEntry, MemoryScope

__all__ = ["in_window", "of_window"]

_BUCKETS = 8
_EACH = 4


def in_window(entry: MemoryEntry, interval: Interval | None) -> bool:
    """Tell whether an entry is of the time asked for."""
    at = entry.occurred_at
    if interval is None or at is None:
        return False
    return (interval.start is None or interval.start <= at) and (interval.end is None or at < interval.end)


async def of_window(
    provider: IMemoryProvider, scope: MemoryScope, where: MemoryFilter, interval: Interval | None
) -> list[MemoryEntry]:
    """Some entries from each part of the window, since its newest alone would hide the rest."""
    parts = _parts(scope, interval) if interval is not None else []
    if not parts:
        return []
    try:
        pages = await asyncio.gather(*(provider.list(part, where, limit=_EACH) for part in parts))
    except CapabilityError:
        return []
    return [entry for page in pages for entry in page.items if in_window(entry, interval)]


def _parts(scope: MemoryScope, interval: Interval) -> Sequence[MemoryScope]:
    if scope.date_field != "occurred_at" and (scope.date_from or scope.date_to):
        return []  # the scope says something else about time
    start = _later(interval.start, scope.date_from)
    end = _earlier(interval.end, scope.date_to)
    if start is None or end is None:
        return [replace(scope, date_field="occurred_at", date_from=start, date_to=end)]
    if start >= end:
        return []
    step = (end - start) / _BUCKETS
    edges = [*(start + number * step for number in range(_BUCKETS)), end]
    return [replace(scope, date_field="occurred_at", date_from=one, date_to=other) for one, other in pairwise(edges)]


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    return max(filter(None, (one, other)), default=None)


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    return min(filter(None, (one, other)), default=None)
