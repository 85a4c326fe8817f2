"""What tells a whole story: memories spread over its times and things, rather than the nearest few?"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.context.fence import when
from mnemic.types import MemoryHit
from mnemic.words import query_terms

__all__ = ["covering_order", "wants_coverage"]

Likeness = NDArray[np.float64]

_WHOLE_STORY = re.compile(
    r"\b(?:summari[sz]e|summary of|sum up|recap|overview of|in (?:what|which|the) order|order of (?:the )?events|"
    r"chronological|timeline|everything (?:about|that|i|we|you)|all (?:that|about)|"
    r"how (?:has|have|did) .{3,80} (?:change|evolve|develop|progress)\w*|walk me through|(?:over|across) time)\b",
    re.IGNORECASE,
)
_READ_CHARS = 1024  # of a question, and of each memory
_MOST = 256  # by value; what claims later than that keeps its order
_TOP_SHARE = 0.7  # of the value that a memory has by itself; the rest is for what it covers
_BUCKETS = 8
_TIME_SHARE = 0.2  # of what makes two memories alike; their words are the rest


def wants_coverage(query: str) -> bool:
    """Whether a question asks for the course of things rather than for one of them."""
    return _WHOLE_STORY.search(query[:_READ_CHARS]) is not None


def covering_order(hits: Sequence[MemoryHit], values: Sequence[float]) -> list[MemoryHit]:
    """Order memories so that each beginning covers the worth of all as well as it can.

    Greedy facility location: every memory wants to be represented by one that shares its words or its time, as much as
    it is worth; the next one taken is that which adds most to that, for the value that it has by itself.
    """
    first, later = list(hits[:_MOST]), list(hits[_MOST:])
    if len(first) < 3:
        return [*first, *later]
    worth = np.array(values[: len(first)], dtype=np.float64)
    near = _likeness(first)
    covered = np.zeros(len(first))
    own = worth / max(float(worth.max()), 1e-9)
    left = np.ones(len(first), dtype=np.bool_)
    order: list[int] = []
    for _ in first:
        gains = np.maximum(near - covered, 0.0) @ worth
        total = _TOP_SHARE * own + (1 - _TOP_SHARE) * own * gains / max(float(gains.max()), 1e-9)
        chosen = int(np.argmax(np.where(left, total, -1.0)))
        left[chosen] = False
        covered = np.maximum(covered, near[chosen])
        order.append(chosen)
    return [first[place] for place in order] + later


def _likeness(hits: Sequence[MemoryHit]) -> Likeness:
    """How well each memory stands for each other: the words that they share, and whether they are of one time."""
    bags = [frozenset(query_terms(hit.content[:_READ_CHARS])) for hit in hits]
    columns = {word: column for column, word in enumerate(sorted(frozenset().union(*bags)))}
    table = np.zeros((len(hits), len(columns) + 1))
    for row, bag in enumerate(bags):
        table[row, [columns[word] for word in bag]] = 1.0
    lengths = np.sqrt(np.maximum(table.sum(axis=1), 1.0))
    words = (table @ table.T) / np.outer(lengths, lengths)
    times = np.array([when(hit).timestamp() for hit in hits])
    bucket = np.minimum(_BUCKETS - 1, (times - times.min()) / max(1.0, float(np.ptp(times))) * _BUCKETS).astype(int)
    likeness: Likeness = (1 - _TIME_SHARE) * words + _TIME_SHARE * (bucket[:, None] == bucket[None, :])
    np.fill_diagonal(likeness, 1.0)
    return likeness
