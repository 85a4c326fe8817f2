"""Which constants does ranking use? Chosen by the worst case over all sets of benchmarks/quality.md."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType

from mnemic.errors import ConfigurationError
from mnemic.types import MemoryType

__all__ = ["Decay", "Ranking"]

_HALF_LIVES_H: Mapping[MemoryType, float] = MappingProxyType(
    {
        MemoryType.SHORT_TERM: 24.0,
        MemoryType.EPISODIC: 7 * 24.0,
        MemoryType.LONG_TERM: 30 * 24.0,
        MemoryType.ENTITY: 90 * 24.0,
        MemoryType.PROCEDURAL: math.inf,
    }
)
_AGES = ("occurred", "created", "last_access")


def _half_lives() -> Mapping[MemoryType, float]:
    return _HALF_LIVES_H


@dataclass(frozen=True, slots=True, kw_only=True)
class Decay:
    """How recency fades (FR-015): half-lives in hours, and the moment that age counts from.

    Raises:
        ConfigurationError: A value is outside its range.
    """

    age_from: str = "occurred"
    floor: float = 0.05
    half_life_h: Mapping[MemoryType, float] = field(default_factory=_half_lives, hash=False)

    def __post_init__(self) -> None:
        if self.age_from not in _AGES:
            raise ConfigurationError(f"decay.age_from is {self.age_from!r}; choose one of {', '.join(_AGES)}")
        if not 0 <= self.floor <= 1:
            raise ConfigurationError(f"decay.floor is {self.floor}; give a number from 0 to 1")
        lives = {**_HALF_LIVES_H, **self.half_life_h}
        for kind, hours in lives.items():
            if not hours > 0:
                raise ConfigurationError(f"decay.half_life_h.{kind} is {hours}; give hours above 0")
        object.__setattr__(self, "half_life_h", MappingProxyType(lives))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Constants of the profile ``balanced`` and of the search for candidates (FR-004.2).

    Raises:
        ConfigurationError: A value is outside its range.
    """

    candidates: int = 100
    """How many the words and how many the vectors propose."""
    neighbours_of: int = 60
    """For how many of the best the turns before and after are looked up; 0 switches neighbours off."""
    k1: float = 1.2
    b: float = 0.6
    lexical_weight: float = 0.6
    """Weight of the words where much of the question's word weight is found."""
    lexical_beside_late: float = 0.4
    """The same where token vectors compare words by meaning."""
    late_weight: float = 0.7
    """Share of the token vectors in what meaning counts, where much of the question's word weight is found."""
    late_coverage: float = 0.3
    """The share of word weight from which on the token vectors have their full weight."""
    full_coverage: float = 0.2
    """The share of word weight from which on the words have their full weight."""
    full_breadth: float = 0.1
    """The same for the share that the best hit has beyond its one best word."""
    single_word: float = 0.3
    """What is left of the words' weight where no more than one word is shared."""
    neighbour_words: float = 0.7
    """How much a word of the turn before or after counts."""
    neighbour_terms: int = 40
    """From how many words on the turns around count less, so that long ones do not drown the turn itself."""
    surety: float = 1.0
    """By what share the words lose weight where the best vector is sure to be right."""
    surety_beside_late: float = 0.7
    """The same where token vectors compare words by meaning."""
    smoothing: float = 0.1
    """How much the scores of the turns before and after count beside the turn's own, each."""
    literal: float = 0.5
    """Weight of the identifiers, paths and quotes of the question that stand in the text as they are."""
    length_from: int = 64
    length_power: float = 0.1
    speaker: float = 0.05
    timely: float = 0.05
    recency: float = 0.02
    importance: float = 0.02
    frame: int = 3
    """How many directions that all questions share are taken out of the question's vector; 0 for none."""

    def __post_init__(self) -> None:
        for name in _NUMBERS:
            most = _MOST.get(name, 1000.0)
            value = getattr(self, name)
            if not 0 <= value <= most or (value == 0 and name in _ABOVE_NOTHING):
                least = "above 0, up to" if name in _ABOVE_NOTHING else "from 0 to"
                raise ConfigurationError(f"ranking.{name} is {value}; give a number {least} {most:g}")


_MOST: Mapping[str, float] = {
    **dict.fromkeys(("speaker", "timely", "recency", "importance"), 0.1),
    **dict.fromkeys(
        (
            "b",
            "lexical_weight",
            "lexical_beside_late",
            "late_weight",
            "single_word",
            "neighbour_words",
            "surety",
            "literal",
            "length_power",
        ),
        1.0,
    ),
    "smoothing": 0.5,
}
_ABOVE_NOTHING = frozenset(
    {"k1", "full_coverage", "late_coverage", "full_breadth", "length_from", "candidates", "neighbour_terms"}
)
_NUMBERS = tuple(each.name for each in fields(Ranking))
