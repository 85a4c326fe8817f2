"""In which order do hits about one changing fact stand, and where do repeats go?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

import numpy as np

from mnemic.ports import IMemoryProvider
from mnemic.retrieval.dates import Interval
from mnemic.retrieval.questions import Attitude, asked
from mnemic.retrieval.slots import Slot, slots_of
from mnemic.retrieval.updates import Hit, Label, Order, order_updates
from mnemic.types import Address, MemoryEntry, MemoryScope
from mnemic.words import only_stop_words, query_terms

__all__ = ["DEPTH", "in_order", "likeness_to_best", "repeats_last", "valid_at"]

DEPTH = 10
"""How many of the best hits are looked at."""
_LONGEST = 2000  # characters that are read for slots


@dataclass(frozen=True, slots=True)
class _Read:
    slots: tuple[Slot, ...]
    stems: frozenset[str]


@lru_cache(maxsize=4096)
def _read(text: str, speaker: str | None, role: str | None) -> _Read:
    text = text[:_LONGEST]
    return _Read(slots_of(text, speaker=speaker, role=role), frozenset(query_terms(text)))


async def likeness_to_best(
    provider: IMemoryProvider, scope: MemoryScope, best: Sequence[Address]
) -> dict[Address, float]:
    """The cosine of each of these to the first of them, as far as they have current vectors of one model."""
    found = await provider.get_many(scope, best, with_embedding=True)
    top = found.get(best[0])
    if top is None or top.embedding is None:
        return {}
    return {
        address: float(np.dot(entry.embedding, top.embedding))
        for address, entry in found.items()
        if entry.embedding is not None and entry.embedding_model == top.embedding_model
    }


def in_order(
    query: str,
    entries: Sequence[MemoryEntry],
    scores: Sequence[float],
    likeness: dict[Address, float],
    *,
    as_of: datetime | None,
) -> Order:
    """Order the best hits so that the statement that the question wants comes before the others like it."""
    wanted = asked(query)
    if only_stop_words(query):
        return Order(tuple(range(len(entries))), (Label.NONE,) * len(entries))
    # Without a time of the event, likeness is too little to say that one text replaces another.
    by_time_only = wanted.attitude is not Attitude.NOW
    slots_only = wanted.attitude not in {Attitude.NOW, Attitude.PLAIN}
    reads = [_read(entry.content, entry.speaker, entry.role) for entry in entries]
    stems = frozenset(query_terms(query))
    fewest = len(stems & reads[0].stems) / 2
    hits = []
    for entry, read, score in zip(entries, reads, scores, strict=True):
        # Nor does it say so of a text that lacks the words of the question which the best one has.
        blind = slots_only or (by_time_only and entry.occurred_at is None) or len(stems & read.stems) < fewest
        cosine = 0.0 if blind else likeness.get(entry.address, 0.0)
        at = entry.occurred_at or entry.created_at
        hits.append(Hit(score, cosine, at=at, slots=read.slots, stems=read.stems, role=entry.role))
    return order_updates(hits, wanted, as_of=as_of)


def valid_at(query: str, interval: Interval | None) -> datetime | None:
    """The last moment of the time that an as-of question names; None where it is no such question."""
    if interval is None or asked(query).attitude is not Attitude.AS_OF:
        return None
    return interval.end - timedelta(microseconds=1) if interval.end else interval.start


def repeats_last(order: Sequence[int], entries: Sequence[MemoryEntry], depth: int) -> list[int]:
    """Put what repeats a better one of the first ``depth`` hits, in words and speaker, behind all others."""
    said: set[tuple[str, str]] = set()
    first: list[int] = []
    again: list[int] = []
    for place in order[:depth]:
        entry = entries[place]
        words = (entry.speaker or entry.role or "").casefold(), " ".join(entry.content.casefold().split())
        (again if words in said else first).append(place)
        said.add(words)
    return [*first, *order[depth:], *again]
