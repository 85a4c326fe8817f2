"""Do two texts state the same, or does one of them change what the other says? Facts are compared before likeness."""

# ruff: noqa: E501 - tables of words

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from typing import Final

from mnemic.retrieval.attributes import MULTIPLE
from mnemic.retrieval.moods import Certainty, Tense
from mnemic.retrieval.slots import Slot, slots_of, without_filler
from mnemic.words import only_stop_words, query_terms

__all__ = ["DUPLICATE_COSINE", "Facts", "Relation", "facts_of", "relation", "same_facts"]

DUPLICATE_COSINE: Final = 0.7
"""Likeness from which texts with the same facts are the same statement; measured on all-MiniLM-L6-v2."""
_AGREED_COSINE: Final = 0.5  # where both give one attribute the same value
_RELATED_COSINE: Final = 0.3
_CHANGED_SHARE: Final = 0.6  # of the telling stems of the shorter text, when only the polarity tells the texts apart
_LONGEST: Final = 2000  # characters whose facts are read; longer texts are the same only if they are equal


class Relation(StrEnum):
    """How a text stands to another one."""

    DUPLICATE = "duplicate"
    UPDATE = "update"
    COMPATIBLE = "compatible"
    UNRELATED = "unrelated"


@dataclass(frozen=True, slots=True)
class Facts:
    """What must agree before two texts can state the same."""

    normal: str
    words: tuple[str, ...]
    stems: frozenset[str]
    numbers: frozenset[str]
    polarity: bool
    stance: tuple[str, str, str]
    names: frozenset[str]
    dates: frozenset[str]
    slots: tuple[Slot, ...]
    whole: bool


_WORD = re.compile(r"[^\W_]+(?:['\u2019.@/:+#-][^\W_]+)*")
_NUMBER = re.compile(r"(?<![\w.])[-+]?[$\u20ac\u00a3]?\d[\d.,:/]*\d|(?<![\w.])[$\u20ac\u00a3]?\d", re.IGNORECASE)
_UNIT = re.compile(r"\s?(%|[a-z\u00b0]+)", re.IGNORECASE)
_UNITS: Final = {
    unit: names.split()[0]
    for names in (
        "minute minutes min mins", "hour hours hr hrs h", "second seconds sec secs s", "day days", "week weeks", "month months",
        "year years yr yrs", "kg kilo kilos kilogram kilograms", "g gram grams", "mg milligram milligrams", "km kilometre kilometres",
        "mile miles mi", "m metre metres", "cm centimetre centimetres", "inch inches", "% percent", "degree degrees \u00b0 c",
        "dollar dollars usd", "euro euros eur", "pound pounds gbp lb lbs", "gb gigabyte gigabytes", "mb megabyte megabytes", "am", "pm",
    )
    for unit in names.split()
}  # fmt: skip
_SPELLED: Final = {
    word: str(number)
    for number, word in enumerate(
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], start=2
    )
} | {
    "twenty": "20",
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "sixty": "60",
    "hundred": "100",
    "once": "1",
    "twice": "2",
}
_NEGATIONS = re.compile(
    r"\b(?:no longer|not|never|nor|neither|any ?more|no more|stopped|quit|gave up|given up|used to|sold|lost|cancell?ed"
    r"|ended|without|cannot|former(?:ly)?|ex-\w+)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_DATES = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug"
    r"|sept?|oct|nov|dec|monday|tuesday|wednesday|thursday|friday|saturday|sunday|today|tonight|tomorrow|yesterday"
    r"|(?:last|next|this) (?:week|month|year|spring|summer|autumn|fall|winter))s?\b",
    re.IGNORECASE,
)
_COPULAS = frozenset({"is", "are", "was", "were", "has", "have", "lives", "live"})
_BEFORE_VALUES = frozenset(
    [
        "a",
        "an",
        "the",
        "my",
        "is",
        "are",
        "was",
        "were",
        "in",
        "at",
        "to",
        "for",
        "with",
        "of",
        "as",
        "by",
        "from",
        "on",
        "named",
        "called",
    ]
)
_COMMON = frozenset(
    [
        "i",
        "i'm",
        "i've",
        "i'd",
        "i'll",
        "my",
        "we",
        "our",
        "you",
        "your",
        "he",
        "she",
        "it",
        "they",
        "the",
        "a",
        "an",
        "this",
        "that",
        "these",
        "those",
        "there",
        "here",
        "what",
        "when",
        "where",
        "who",
        "how",
    ]
)


def facts_of(text: str, *, speaker: str | None = None, slots: Sequence[Slot] | None = None) -> Facts:
    """Read what must agree before a text can be a duplicate; to be kept by the caller, one for each text.

    Args:
        text: Any text; beyond 2,000 characters only equality counts.
        speaker: Who said it.
        slots: What was read from it already.
    """
    read = text[:_LONGEST]
    normal = _normal(text)
    words = tuple(_WORD.findall(without_filler(read).casefold()))
    found = tuple(slots) if slots is not None else slots_of(read, speaker=speaker)
    return Facts(
        normal=normal,
        words=words,
        stems=frozenset(query_terms(read)),
        numbers=_numbers(read),
        polarity=len(_NEGATIONS.findall(read)) % 2 == 0,
        stance=_stance(found),
        names=_names(read),
        dates=frozenset(date.casefold() for date in _DATES.findall(read)),
        slots=found,
        whole=len(text) <= _LONGEST,
    )


def same_facts(a: Facts, b: Facts) -> bool:
    """Tell whether two texts could state the same: no number, polarity, name, date or value tells them apart."""
    if a.normal == b.normal:
        return True
    if not (a.whole and b.whole) or not a.stems or not b.stems:
        return False
    if (a.numbers, a.polarity, a.stance, a.dates) != (b.numbers, b.polarity, b.stance, b.dates):
        return False
    named = a.names <= set(b.words) and b.names <= set(a.words)
    return named and not _other_value(a, b) and not _other_end(a.words, b.words)


def relation(a: Facts, b: Facts, cosine: float | None) -> Relation:
    """Tell how the later text b stands to a.

    Args:
        a: Facts of the earlier text.
        b: Facts of the later text.
        cosine: Likeness of their vectors, None where there is none: then only equal texts are duplicates.

    Returns:
        ``duplicate`` only where no fact tells them apart; ``update`` where b says otherwise of the same attribute.
    """
    likeness = cosine if cosine is not None else 0.0
    needed = _AGREED_COSINE if _same_value(a, b) else DUPLICATE_COSINE
    if a.normal == b.normal or (likeness >= needed and same_facts(a, b)):
        return Relation.DUPLICATE
    if _changes(a, b):
        return Relation.UPDATE
    related = likeness >= _RELATED_COSINE or bool(_keys(a) & _keys(b))
    return Relation.COMPATIBLE if related else Relation.UNRELATED


def _normal(text: str) -> str:
    return " ".join(without_filler(text).casefold().split()).strip(" .!?,;:\"'")


def _numbers(text: str) -> frozenset[str]:
    found = {_SPELLED[word] for word in _WORD.findall(text.casefold()) if word in _SPELLED}
    for match in _NUMBER.finditer(text):
        unit = _UNIT.match(text, match.end())
        name = _UNITS.get(unit.group(1).casefold(), "") if unit else ""
        found.add(f"{match.group().replace(',', '')} {name}".strip())
    return frozenset(found)


def _stance(slots: Sequence[Slot]) -> tuple[str, str, str]:
    """Of whom, how surely and of which time a short text speaks as a whole."""
    whole = next((slot for slot in slots if not slot.attribute), None)
    if whole is None:
        return "", "", ""
    certainty = "" if whole.certainty in {Certainty.ASSERTED, Certainty.NEGATED} else whole.certainty.value
    return whole.subject, certainty, whole.tense.value


def _names(text: str) -> frozenset[str]:
    """Words with capitals or digits inside or after the first word: names and identifiers."""
    found = set()
    opening = True
    for match in _WORD.finditer(text):
        word = match.group()
        telling = word[0].isupper() if not opening else any(char.isupper() for char in word[1:]) and not text.isupper()
        if (telling and not text.isupper()) or (any(map(str.isdigit, word)) and any(map(str.isalpha, word))):
            found.add(word.casefold())
        opening = text[match.end() : match.end() + 1] in {".", "!", "?", ":"}
    return frozenset(found - _COMMON)


def _keys(facts: Facts) -> set[tuple[str, str]]:
    return {(slot.subject, slot.attribute) for slot in facts.slots if slot.attribute}


def _values(a: Facts, b: Facts) -> list[tuple[frozenset[str], frozenset[str]]]:
    """The values that both give to one attribute of one subject, as stems."""
    pairs = (
        (_telling(slot.value), _telling(other.value))
        for slot in a.slots
        for other in b.slots
        if slot.attribute and (slot.subject, slot.attribute) == (other.subject, other.attribute)
    )
    return [(mine, theirs) for mine, theirs in pairs if mine and theirs]


def _telling(value: str) -> frozenset[str]:
    return frozenset() if only_stop_words(value) else frozenset(query_terms(value))


def _other_value(a: Facts, b: Facts) -> bool:
    return any(not (mine <= b.stems or theirs <= a.stems) for mine, theirs in _values(a, b))


def _same_value(a: Facts, b: Facts) -> bool:
    return any(mine <= b.stems or theirs <= a.stems for mine, theirs in _values(a, b))


def _other_end(a: Sequence[str], b: Sequence[str]) -> bool:
    """Tell whether two sentences of one form differ in what they end or start with: the value."""
    head = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))))
    tail = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(a[head:][::-1], b[head:][::-1], strict=False))))
    rest = [set(query_terms(" ".join(words[head : len(words) - tail]))) for words in (a, b)]
    if not (rest[0] and rest[1]) or rest[0] <= rest[1] or rest[1] <= rest[0]:
        return False
    if head and a[head - 1] in _BEFORE_VALUES:
        return True
    return (head >= 2 and tail == 0) or (head == 0 and tail >= 3 and a[len(a) - tail] in _COPULAS)


def _changes(a: Facts, b: Facts) -> bool:
    if not (_factual(a) and _factual(b)):
        return False
    shared = len(a.stems & b.stems) / max(1, min(len(a.stems), len(b.stems)))
    if a.polarity != b.polarity and shared >= _CHANGED_SHARE:
        return True
    single = {key for key in _keys(a) & _keys(b) if key[1] not in MULTIPLE}
    return bool(single) and not same_facts(a, b)


def _factual(facts: Facts) -> bool:
    return facts.stance[1] == "" and (facts.stance[2] in {"", Tense.NOW.value} or not facts.polarity)
