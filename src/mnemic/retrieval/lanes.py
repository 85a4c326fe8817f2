"""Which memories stand for every question? Directives and preferences, told by their words rather than by likeness."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from mnemic.ports import MemoryFilter
from mnemic.types import MemoryClassification, MemoryEntry

__all__ = ["CUE_WORDS", "DIRECTIVE", "LANES", "PREFERENCE", "is_too_common", "lane_of", "reserved"]

DIRECTIVE = "directive"
PREFERENCE = "preference"
LANES = frozenset({DIRECTIVE, PREFERENCE})
CUE_WORDS = "always never whenever remember from now on going forward in future every time make sure prefer favourite"
"""What a store is asked for; what comes back must carry a cue where it counts."""
_RESERVED = 10
_LONGEST = 60  # tokens: what is longer tells a story in which a cue is said by the way
_CHARS_PER_TOKEN = 4
_TRUSTED = 2  # from agents up: what a tool, a document or the web says never stands as an instruction
_COMMON_SHARE = 0.3
_FEW = 3
_STANDING = {"instruction": DIRECTIVE, "preference": PREFERENCE}
_DIRECTIVE = re.compile(
    r"(?:^|[.!?\n]\s*|[,;]\s*(?:and|so|but)\s+)(?:(?:please|also|and|so|ok|okay|hey|note|remember|but)\b[,:]?\s+)*"
    r"(?:always|never|from now on|from here on|going forward|whenever|every time|each time|in (?:the )?future"
    r"|when(?:ever)? i (?:ask|mention|say|talk|request|want)|if i (?:ask|mention)|any time i|anytime i"
    r"|make sure (?:to|that|you)|be sure to|remember to|(?:do not|don['\u2019]t) ever)\b",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"\b(?:i|i['\u2019]d|i['\u2019]m|we)\s+(?:\w+\s+){0,2}?(?:prefer|favou?r|like|love|enjoy|hate|dislike|avoid|detest"
    r"|cannot stand|can['\u2019]t stand|allergic|vegetarian|vegan|fond of|into)\b|\bmy favou?rite\b|\bmy preference\b",
    re.IGNORECASE,
)


def lane_of(entry: MemoryEntry, where: MemoryFilter) -> str | None:
    """Name the lane of an entry: what the asking owner, or the system, wants of every answer; else None."""
    owner = where.readable_by.volk if where.readable_by else entry.volk_id
    own = entry.volk_id == owner or entry.classification is MemoryClassification.SYSTEM
    if not own or entry.origin.trust < _TRUSTED:
        return None
    if entry.category in _STANDING:
        return _STANDING[entry.category]
    said = entry.role == "user" and entry.turn is not None and (entry.speaker or "user").casefold() == "user"
    return _cue(entry.content) if said and len(entry.content) <= _LONGEST * _CHARS_PER_TOKEN else None


@lru_cache(maxsize=4096)
def _cue(text: str) -> str | None:
    if _DIRECTIVE.search(text):
        return DIRECTIVE
    return PREFERENCE if _PREFERENCE.search(text) else None


def is_too_common(lanes: Iterable[str | None]) -> bool:
    """Tell whether directives are so many among what was found anyway that their cue tells nothing here."""
    found = list(lanes)
    return found.count(DIRECTIVE) > max(_FEW, _COMMON_SHARE * len(found))


def reserved(order: Sequence[int], directives: frozenset[int]) -> list[int]:
    """Give the best directive the tenth place where none stands before it."""
    if not directives or not directives.isdisjoint(order[: _RESERVED - 1]):
        return list(order)
    best = next((place for place in order if place in directives), None)
    if best is None:
        return list(order)
    rest = [place for place in order if place != best]
    return [*rest[: _RESERVED - 1], best, *rest[_RESERVED - 1 :]]
