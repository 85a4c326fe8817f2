"""How well do the words of a question match each candidate? One BM25 for every store."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from mnemic.ports import WordStats
from mnemic.retrieval.settings import Ranking
from mnemic.types import MemoryEntry
from mnemic.words import index_text, terms

__all__ = ["Bag", "Bags", "Floats", "Matched", "Words", "holds"]

Floats = npt.NDArray[np.float64]
_KEPT_BAGS = 4096
_KEPT_CHARS = 4096  # longer texts are counted anew each time, so that the kept ones stay small


@dataclass(frozen=True, slots=True, eq=False)
class Bag:
    """The words of a text without their order; a bag is equal to itself alone."""

    counts: Mapping[str, int]
    length: int


class Bags:
    """Bags of entries; those of short texts are kept, since the same candidates come back with the next question."""

    def __init__(self) -> None:
        self._kept = lru_cache(maxsize=_KEPT_BAGS)(_bag)

    def of(self, entry: MemoryEntry) -> Bag:
        """Count the words that are indexed for an entry."""
        text = index_text(entry)
        return self._kept(text) if len(text) <= _KEPT_CHARS else _bag(text)


def _bag(text: str) -> Bag:
    found = terms(text)
    return Bag(Counter(found), len(found))


@dataclass(frozen=True, slots=True)
class Matched:
    """How well texts match a question by words.

    ``coverage`` is the share of the question's word weight that each text holds; ``breadth`` is what the best text has
    beyond its one best word, since a question that shares a single word with every text may mean none of them.
    """

    scores: Floats
    coverage: Floats
    breadth: float

    @classmethod
    def nothing(cls, size: int) -> Matched:
        """No word was asked."""
        return cls(np.zeros(size), np.zeros(size), 0.0)


class Words:
    """The words of one question with their weight in one store.

    Args:
        wanted: Distinct terms of the question.
        stats: Statistics of the tenant for these terms.
        ranking: The constants in force.
    """

    def __init__(self, wanted: Sequence[str], stats: WordStats, ranking: Ranking) -> None:
        self._wanted = tuple(dict.fromkeys(wanted))
        self._ranking = ranking
        self._mean = max(1.0, stats.average_length)
        self._rows: dict[Bag, list[int]] = {}
        self._weights = np.array([_rarity(stats.rows, stats.rows_with.get(term, 0)) for term in self._wanted])

    @property
    def highest(self) -> float:
        """The score that no text can reach: every word of the question, without end."""
        return float((self._ranking.k1 + 1) * self._weights.sum())

    def own(self, bags: Sequence[Bag]) -> Matched:
        """Score texts by themselves."""
        return self._score(self._frequencies(bags), np.array([float(bag.length) for bag in bags]))

    def with_neighbours(self, bags: Sequence[Bag], around: Sequence[Sequence[Bag]]) -> Matched:
        """Score texts with the words of the turns before and after as a second, weaker column."""
        near_lengths = np.array([float(sum(bag.length for bag in near)) for near in around])
        share = self._ranking.neighbour_words * np.minimum(
            1.0, self._ranking.neighbour_terms / np.maximum(1.0, near_lengths)
        )
        near = np.array([self._frequencies(bags).sum(axis=0) for bags in around])
        frequencies = self._frequencies(bags) + share[:, None] * near
        return self._score(frequencies, np.array([float(bag.length) for bag in bags]) + share * near_lengths)

    def _frequencies(self, bags: Sequence[Bag]) -> Floats:
        rows = [self._rows.get(bag) or self._count(bag) for bag in bags]
        return np.array(rows, dtype=np.float64).reshape(len(bags), len(self._wanted))

    def _count(self, bag: Bag) -> list[int]:
        row = self._rows[bag] = [bag.counts.get(term, 0) for term in self._wanted]
        return row

    def _score(self, frequencies: Floats, lengths: Floats) -> Matched:
        k1, b = self._ranking.k1, self._ranking.b
        damping = k1 * (1 - b + b * lengths / self._mean)
        gains = frequencies * (k1 + 1) / (frequencies + damping[:, None]) * self._weights
        scores: Floats = gains.sum(axis=1)
        beyond = scores - gains.max(axis=1) if len(self._wanted) > 1 else scores
        return Matched(scores, scores / self.highest, float(beyond.max()) / self.highest)


def _rarity(rows: int, rows_with: int) -> float:
    """Inverse document frequency; a term that stands nowhere weighs most. Source: Robertson, BM25, kept above 0."""
    rows_with = min(rows_with, rows)
    return math.log(1 + (rows - rows_with + 0.5) / (rows_with + 0.5))


def holds(entry: MemoryEntry, literals: Sequence[str]) -> float:
    """Share of the literals that stand in the entry's text word for word."""
    text = f" {' '.join(terms(index_text(entry)))} "
    return sum(f" {literal} " in text for literal in literals) / len(literals)
