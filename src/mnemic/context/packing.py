"""Which memories get into a prompt of so many tokens?

What claims by its value stands in one order that does not depend on the budget, and a block takes the longest beginning
of it that fits: so a larger budget never loses what a smaller one showed. Two things stand outside that order. What the
caller named comes first whatever it costs, and standing memories have a share of the budget of their own.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from mnemic.context.claims import Claims, directives, distinct, preferences
from mnemic.context.fence import CLOSE, OPEN, Shown, day_of_group, line, owner_heading, render
from mnemic.context.sentences import lead
from mnemic.ports import ITokenCounter
from mnemic.types import Address, ContextBlock, MemoryEntry, MemoryHit, SummarizationStrategy

__all__ = ["pack"]

_LANE_SHARE = 0.2
_DIRECTIVE_TOKENS = 120
_FIRST_RUNG = 128
_MOST_CHARS_PER_TOKEN = 16
_ANY_NUMBER = 999
_LEAST_LINE = 4  # a reference alone has as many tokens
_FILLER_SHARE = 0.95  # of the value of what found no room; .8 to .95 were measured alike
_LEAST_PART = 0.5  # of a memory that is cut; less of it says too little


def pack(
    hits: Sequence[MemoryHit],
    *,
    counter: ITokenCounter,
    budget: int,
    now: datetime,
    strategy: SummarizationStrategy = SummarizationStrategy.RELEVANCE,
    explicit: frozenset[Address] = frozenset(),
    degraded: Sequence[str] = (),
    query: str = "",
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
        query: The question; one for a whole story is answered by what covers it, not by what is nearest.

    Returns:
        The block; its text is empty where nothing fits. Of what a smaller budget showed nothing is missing, unless the
        caller named something that the smaller one could not hold.
    """
    claims = Claims(strategy, explicit, now, query)
    candidates = claims.covering(distinct(claims.ordered(hits)))
    named = [hit for hit in candidates if claims.is_named(hit)]
    others = [hit for hit in candidates if not claims.is_named(hit)]
    block = _Block(counter, budget)
    if block.take_named(named):
        costs = _Costs(counter)
        ladder = _Ladder(costs, claims.value)
        share = block.take_standing(_lane(others, costs), ladder)
        block.take_longest(ladder.chain(others, budget, costs.fence), costs, budget - share)
    return block.written(candidates, strategy, degraded)


def _lane(hits: Sequence[MemoryHit], costs: _Costs) -> list[MemoryHit]:
    """Standing instructions, of which few are shown, and preferences."""
    few = _Sum(costs)
    instructions = [hit for hit in directives(hits) if few.place(hit, _DIRECTIVE_TOKENS)]
    return instructions + preferences(hits)


class _Costs:
    """Tokens of single lines and headings, each counted once."""

    def __init__(self, counter: ITokenCounter) -> None:
        self._counter = counter
        self.fence = counter.count(OPEN) + counter.count(CLOSE)
        self._known: dict[Address | str, int] = {}

    def of(self, hit: MemoryEntry, most: int) -> int:
        """Tokens of a line; more than ``most`` where that is certain without counting."""
        if len(hit.content) > most * _MOST_CHARS_PER_TOKEN:
            return most + 1
        if hit.address not in self._known:
            self._known[hit.address] = self._counter.count(line(_ANY_NUMBER, Shown(hit, hit.content)))
        return self._known[hit.address]

    def heading(self, text: str) -> int:
        """Tokens of a heading."""
        if text not in self._known:
            self._known[text] = self._counter.count(text)
        return self._known[text]


class _Sum:
    """What was placed costs, with its headings: near enough to order by; a block is recounted as a whole."""

    def __init__(self, costs: _Costs, start: int = 0) -> None:
        self._costs, self.tokens = costs, start
        self._headings: set[tuple[str, str]] = set()

    def place(self, hit: MemoryEntry, most: int) -> bool:
        """Add a memory if the sum stays within ``most`` tokens."""
        rest = most - self.tokens
        if rest < _LEAST_LINE or (cost := self._costs.of(hit, rest)) > rest:
            return False
        owner, day = owner_heading(hit), f"{day_of_group(hit)}\n"
        headings = {("", owner), (owner, day)} - self._headings
        cost += sum(self._costs.heading(text) for _, text in headings)
        if cost > rest:
            return False
        self.tokens += cost
        self._headings |= headings
        return True


class _Ladder:
    """Orders memories so that every beginning is worth its tokens.

    Budgets double from rung to rung; on each, what claims first and still fits is added to the rungs below, unless it
    is worth less than what found no room only because of them: that has its turn on the next rung. What is too long
    for a small budget comes later, and never in place of what was there.
    """

    def __init__(self, costs: _Costs, value: Callable[[MemoryHit], float]) -> None:
        self.costs, self._value = costs, value

    def chain(self, hits: Sequence[MemoryHit], budget: int, start: int = 0) -> list[MemoryHit]:
        """Order hits, the same for every budget as far as it is needed: beyond the first rung that holds it."""
        order: list[MemoryHit] = []
        waiting, placed = list(hits), _Sum(self.costs, start)
        rung = _FIRST_RUNG
        while waiting and rung < 4 * max(budget, _FIRST_RUNG):
            left: list[MemoryHit] = []
            floor = -math.inf
            for hit in waiting:
                if self._value(hit) >= floor and placed.place(hit, rung):
                    order.append(hit)
                    continue
                left.append(hit)
                worth = _FILLER_SHARE * self._value(hit)
                if worth > floor and self.costs.of(hit, rung) <= rung - start:
                    floor = worth
            waiting, rung = left, rung * 2
        return order


class _Block:
    """What was taken: what was named, standing memories, and the beginning of the order of all others."""

    def __init__(self, counter: ITokenCounter, budget: int) -> None:
        self._counter, self._budget = counter, budget
        self._named: list[Shown] = []
        self._standing: list[Shown] = []
        self._others: list[Shown] = []

    def take_named(self, hits: Sequence[MemoryHit]) -> bool:
        """Take what must not wait, cut at a sentence end where it has to be; return whether there may be room."""
        for hit in hits:
            whole = Shown(hit, hit.content)
            if self._fits([*self._named, whole], self._budget):
                self._named.append(whole)
            elif (part := self._part(whole, self._named, self._budget, least=0.0)) is not None:
                self._named.append(part)
                return False
        return True

    def take_standing(self, lane: Sequence[MemoryHit], ladder: _Ladder) -> int:
        """Take standing memories within their share of the budget; return how much of it is kept for them."""
        share, spent = int(self._budget * _LANE_SHARE), _Sum(ladder.costs)
        for hit in ladder.chain(lane, share):
            if not spent.place(hit, share):
                return share
            self._standing.append(Shown(hit, hit.content))
        return spent.tokens if len(self._standing) == len(lane) else share

    def take_longest(self, chain: Sequence[MemoryHit], costs: _Costs, most: int) -> None:
        """Take the longest beginning of a chain that fits, and of the next memory its beginning."""
        there = {shown.entry.address for shown in self._standing}
        waiting = [Shown(hit, hit.content) for hit in chain if hit.address not in there]
        size, near = 0, _Sum(costs, costs.fence)
        while size < len(waiting) and near.place(waiting[size].entry, most):
            size += 1
        while size < len(waiting) and self._fits([*self._named, *waiting[: size + 1]], most):
            size += 1
        while size and not self._fits([*self._named, *waiting[:size]], most):
            size -= 1
        self._others = waiting[:size]
        if size < len(waiting):
            before = [*self._named, *self._others]
            part = self._part(waiting[size], before, most, least=_LEAST_PART if before else 0.0)
            self._others += [part] if part is not None else []

    def _fits(self, shown: Sequence[Shown], most: int) -> bool:
        if len(shown[-1].content) > most * _MOST_CHARS_PER_TOKEN:
            return False
        return self._counter.count(render(shown)[0]) <= most

    def _part(self, shown: Shown, before: Sequence[Shown], most: int, *, least: float) -> Shown | None:
        """Cut a memory at the last sentence end that fits; None where less than ``least`` of it could be shown."""
        rest = most - self._counter.count(render(before)[0])
        parts = lead(shown.entry.content, max(0, rest) * _MOST_CHARS_PER_TOKEN)
        texts = ["".join(parts[:size]).rstrip() for size in range(1, len(parts) + 1)]

        def too_long(text: str) -> bool:
            return not self._fits([*before, replace(shown, content=text)], most)

        fitting = bisect_left(texts, x=True, key=too_long)
        if not fitting or len(texts[fitting - 1]) < max(1.0, least * len(shown.entry.content)):
            return None
        return replace(shown, content=texts[fitting - 1])

    def written(
        self, candidates: Sequence[MemoryHit], strategy: SummarizationStrategy, degraded: Sequence[str]
    ) -> ContextBlock:
        """Write the block and recount it; tokens across lines can merge to more than their sum."""
        taken = [*self._named, *self._standing, *self._others]
        text, injected = render(taken)
        while taken and self._counter.count(text) > self._budget:
            taken.pop()
            text, injected = render(taken)
        text = text if taken else ""
        used = self._counter.count(text)
        shown = {part.entry.address for part in taken}
        first = [part.entry.address for part in (*self._named, *self._standing) if part.entry.address in shown]
        return ContextBlock(
            text=text,
            injected=tuple(entry.address for entry in injected),
            tokens_used=used,
            token_budget=self._budget,
            remaining=self._budget - used,
            dropped=len(candidates) - len(taken),
            strategy=strategy,
            degraded=tuple(degraded),
            counter=self._counter.name,
            estimated=self._counter.estimated,
            claimed=tuple(dict.fromkeys([*first, *(hit.address for hit in candidates if hit.address in shown)])),
        )
