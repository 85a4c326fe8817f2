"""Which memory claims a place in a block before which other?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from mnemic.context.coverage import covering_order, wants_coverage
from mnemic.context.fence import when
from mnemic.types import Address, MemoryHit, SummarizationStrategy

__all__ = ["Claims", "directives", "distinct", "preferences"]

_TRUSTED = 2  # from agents up; what a tool, a document or the web says never stands as an instruction
_FREE_LENGTH, _LENGTH_POWER = 64, 0.25
_CHARS_PER_TOKEN = 4
_RECENCY_DAYS = 30.0
_DAY_S = 86_400.0
_SUPERSEDED = "superseded"
_PREFERENCE, _PREFERENCE_GAIN = "preference", 1.15  # told by a cue; a share of its own cost more than it kept
_SUPERSEDED_SHARE = 0.8  # behind its equals, but part of the story: what was taken for replaced may not be


class Claims:
    """Who claims first: named and pinned, then what holds now, by value for length, then nearer, newer, by address."""

    def __init__(
        self, strategy: SummarizationStrategy, explicit: frozenset[Address], now: datetime, query: str
    ) -> None:
        self._strategy, self._explicit, self._now = strategy, explicit, now
        self._query = query

    def is_named(self, hit: MemoryHit) -> bool:
        """Whether the caller named it, now or by pinning it."""
        return hit.pinned or hit.address in self._explicit

    def ordered(self, hits: Iterable[MemoryHit]) -> list[MemoryHit]:
        """First claims first."""
        return sorted(hits, key=self._claim)

    def covering(self, ordered: Sequence[MemoryHit]) -> list[MemoryHit]:
        """The same, spread over times and things where the question is for a whole story."""
        if self._strategy is not SummarizationStrategy.RELEVANCE or not wants_coverage(self._query):
            return list(ordered)
        named = [hit for hit in ordered if self.is_named(hit)]
        others = [hit for hit in ordered if not self.is_named(hit)]
        return named + covering_order(others, [self.value(hit) for hit in others])

    def _claim(self, hit: MemoryHit) -> tuple[bool, float, float, float, Address]:
        return (
            not self.is_named(hit),
            -self.value(hit),
            -round(hit.score, 2),
            -when(hit).timestamp(),
            hit.address,
        )

    def value(self, hit: MemoryHit) -> float:
        """What it is worth for its length, and less where another says what holds now."""
        length: float = max(1.0, len(hit.content) / _CHARS_PER_TOKEN / _FREE_LENGTH) ** _LENGTH_POWER
        share = _SUPERSEDED_SHARE if _SUPERSEDED in hit.channels else 1.0
        return self._worth(hit) / length * share * (_PREFERENCE_GAIN if _PREFERENCE in hit.channels else 1.0)

    def _worth(self, hit: MemoryHit) -> float:
        match self._strategy:
            case SummarizationStrategy.RECENCY:
                days = max(0.0, (self._now - when(hit)).total_seconds() / _DAY_S)
                return 1 / (1 + days / _RECENCY_DAYS)
            case SummarizationStrategy.IMPORTANCE:
                return hit.importance
            case SummarizationStrategy.RELEVANCE:
                return round(hit.score, 2)
            case _:
                return hit.score


def directives(hits: Iterable[MemoryHit]) -> list[MemoryHit]:
    """Standing instructions, by category or by their words, in their order."""
    return [hit for hit in hits if _stands(hit) and (hit.category == "instruction" or "directive" in hit.channels)]


def preferences(hits: Iterable[MemoryHit]) -> list[MemoryHit]:
    """What was stored as a preference and is no instruction, in its order."""
    return [hit for hit in hits if _stands(hit) and hit.category == "preference" and "directive" not in hit.channels]


def _stands(hit: MemoryHit) -> bool:
    return hit.origin.trust >= _TRUSTED and _SUPERSEDED not in hit.channels


def distinct(hits: Iterable[MemoryHit]) -> list[MemoryHit]:
    """Keep the first of those that say the same, and of a summary and its sources the first that claims."""
    said: set[tuple[str, str]] = set()
    covered: set[Address] = set()
    kept: dict[Address, MemoryHit] = {}
    for hit in hits:
        same = ((hit.speaker or "").casefold(), " ".join(hit.content.casefold().split()))
        sources = set(hit.derived_from) if hit.source == "summary" else set()
        if same in said or hit.address in covered or any(source in kept for source in sources):
            continue
        said.add(same)
        covered |= sources
        kept[hit.address] = hit
    return list(kept.values())
