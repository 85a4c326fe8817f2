"""Which memories get into a prompt of so many tokens?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from mnemic.context.fence import CLOSE, OPEN, Shown, day_heading, line, owner_heading, render, when
from mnemic.context.sentences import lead
from mnemic.ports import ITokenCounter
from mnemic.types import Address, ContextBlock, MemoryHit, SummarizationStrategy

__all__ = ["pack"]

_STANDING = frozenset({"instruction", "preference"})
_STANDING_SHARE = 0.2
_TRUSTED = 2  # from agents up; what a tool, a document or the web says never stands as an instruction
_FREE_LENGTH, _LENGTH_POWER = 64, 0.25
_CHARS_PER_TOKEN = 4
_MOST_CHARS_PER_TOKEN = 16
_ANY_NUMBER = 999
_LEAST_LINE = 4  # a reference alone has as many tokens
_RECENCY_DAYS = 30.0
_DAY_S = 86_400.0


def pack(
    hits: Sequence[MemoryHit],
    *,
    counter: ITokenCounter,
    budget: int,
    now: datetime,
    strategy: SummarizationStrategy = SummarizationStrategy.RELEVANCE,
    explicit: frozenset[Address] = frozenset(),
    degraded: Sequence[str] = (),
) -> ContextBlock:
    """Pack memories into one fenced block.

    Args:
        hits: What may be shown, scored for the question.
        counter: Counts the tokens that the budget is in.
        budget: Tokens for the whole block, fence and headings included.
        now: The moment of asking.
        strategy: What makes a memory worth its tokens.
        explicit: What the caller named; it comes first, with pinned entries.
        degraded: What could not be used in finding the hits.

    Returns:
        The block; its text is empty where nothing fits.
    """
    order = _Order(strategy, explicit, now)
    distinct = _distinct(sorted(hits, key=order.claim))
    bag = _Bag(counter, budget)
    lane = {hit.address for hit in distinct if _stands(hit) and order.claim(hit)[0]}
    standing = _within([hit for hit in distinct if hit.address in lane], counter, int(budget * _STANDING_SHARE))
    claims = sorted(distinct, key=lambda hit: (order.is_named(hit) * -2 - (hit.address in standing), order.claim(hit)))
    for hit in claims:
        bag.offer(hit, whole=not order.is_named(hit))
    bag.fill_rest()
    return bag.block(len(distinct), strategy, degraded)


class _Order:
    """Who claims a place first: named and pinned, then by value for length, then nearer, newer, by address."""

    def __init__(self, strategy: SummarizationStrategy, explicit: frozenset[Address], now: datetime) -> None:
        self._strategy, self._explicit, self._now = strategy, explicit, now

    def is_named(self, hit: MemoryHit) -> bool:
        return hit.pinned or hit.address in self._explicit

    def claim(self, hit: MemoryHit) -> tuple[bool, float, float, float, Address]:
        length = max(1.0, len(hit.content) / _CHARS_PER_TOKEN / _FREE_LENGTH) ** _LENGTH_POWER
        return (
            not self.is_named(hit),
            -self._worth(hit) / length,
            -round(hit.score, 2),
            -when(hit).timestamp(),
            hit.address,
        )

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


def _stands(hit: MemoryHit) -> bool:
    return hit.category in _STANDING and hit.origin.trust >= _TRUSTED


def _within(hits: Iterable[MemoryHit], counter: ITokenCounter, budget: int) -> set[Address]:
    kept: set[Address] = set()
    for hit in hits:
        if len(hit.content) <= budget * _MOST_CHARS_PER_TOKEN and (cost := _cost(hit, counter)) <= budget:
            budget -= cost
            kept.add(hit.address)
    return kept


def _cost(hit: MemoryHit, counter: ITokenCounter) -> int:
    return counter.count(line(_ANY_NUMBER, Shown(hit, hit.content)))


def _distinct(hits: Iterable[MemoryHit]) -> list[MemoryHit]:
    """Keep the first of those that say the same, and of a summary and its sources the first that claims."""
    said: set[tuple[str, str]] = set()
    covered: set[Address] = set()
    kept: dict[Address, MemoryHit] = {}
    for hit in hits:
        same = ((hit.speaker or "").casefold(), " ".join(hit.content.casefold().split()))
        sources = set(hit.derived_from) if hit.source == "summary" else set()
        if same in said or hit.address in covered or not sources.isdisjoint(kept):
            continue
        said.add(same)
        covered |= sources
        kept[hit.address] = hit
    return list(kept.values())


class _Bag:
    """What was taken so far; costs are summed line by line and recounted on the whole at the end."""

    def __init__(self, counter: ITokenCounter, budget: int) -> None:
        self._counter, self._budget = counter, budget
        self._rest = budget - counter.count(OPEN) - counter.count(CLOSE)
        self._taken: list[Shown] = []
        self._headings: set[str] = set()
        self._waiting: MemoryHit | None = None

    def offer(self, hit: MemoryHit, *, whole: bool) -> None:
        """Take a memory if it fits; cut one that must not wait, remember the first of the others."""
        if self._take(Shown(hit, hit.content)):
            return
        if not whole:
            self._take_part(hit, least=0.0)
        elif self._waiting is None:
            self._waiting = hit

    def fill_rest(self) -> None:
        """Cut the best memory that found no place at a sentence end, if at least half of it can be shown."""
        if self._waiting is not None:
            self._take_part(self._waiting, least=0.5)

    def _take(self, shown: Shown) -> bool:
        if self._rest < _LEAST_LINE or len(shown.content) > self._rest * _MOST_CHARS_PER_TOKEN:
            return False
        owner = owner_heading(shown.entry)
        headings = {owner, owner + day_heading(shown.entry)} - self._headings
        lines = [heading.removeprefix(owner) or owner for heading in headings] + [line(_ANY_NUMBER, shown)]
        cost = sum(map(self._counter.count, lines))
        if cost > self._rest:
            return False
        self._rest -= cost
        self._headings |= headings
        self._taken.append(shown)
        return True

    def _take_part(self, hit: MemoryHit, *, least: float) -> None:
        parts = lead(hit.content, max(0, self._rest) * _MOST_CHARS_PER_TOKEN)
        while parts and len(content := "".join(parts).rstrip()) >= least * len(hit.content):
            if content and self._take(Shown(hit, content)):
                return
            parts.pop()

    def block(self, candidates: int, strategy: SummarizationStrategy, degraded: Sequence[str]) -> ContextBlock:
        """Write the block and recount it; tokens across lines can merge to more than their sum."""
        text, ordered = render(self._taken)
        while self._taken and self._counter.count(text) > self._budget:
            self._taken.pop()
            text, ordered = render(self._taken)
        if not self._taken:
            text = ""
        used = self._counter.count(text)
        return ContextBlock(
            text=text,
            injected=tuple(entry.address for entry in ordered),
            tokens_used=used,
            token_budget=self._budget,
            remaining=self._budget - used,
            dropped=candidates - len(self._taken),
            strategy=strategy,
            degraded=tuple(degraded),
            counter=self._counter.name,
            estimated=self._counter.estimated,
            claimed=tuple(shown.entry.address for shown in self._taken),
        )
