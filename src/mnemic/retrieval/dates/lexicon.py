"""Which words speak of time, and how is a text cut into them? English tables, and a reader over tokens."""

from __future__ import annotations

import re
from bisect import bisect_left
from datetime import datetime
from typing import Any, NamedTuple

__all__ = [
    "CARDINALS",
    "MODIFIERS",
    "MONTHS",
    "ORDINALS",
    "PARTS",
    "RISKY",
    "UNITS",
    "WEEKDAYS",
    "Reader",
    "Token",
    "century",
    "words",
]

_TOKEN = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?|\d+|[^\w\s]|_")


def words(text: str) -> frozenset[str]:
    """Return the words of a list that is written as a sentence, to be read more easily."""
    return frozenset(text.split())


def _numbered(rows: str, first: int = 1) -> dict[str, int]:
    return {word: number for number, row in enumerate(rows.split("|"), first) for word in row.split()}


MONTHS = _numbered(
    "january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sep sept|october oct"
    "|november nov|december dec"
)
WEEKDAYS = _numbered(
    "monday mon|tuesday tue tues|wednesday wed weds|thursday thu thurs|friday fri|saturday sat|sunday sun", 0
)
WEEKDAYS |= {f"{name}s": day for name, day in WEEKDAYS.items() if name.endswith("day")}
RISKY = words("may march april june mar jan jun jul dec sep sun sat wed mon fri thu tue apr feb aug oct nov sept")
"""Words that name a month or a day only where something beside them says so."""
CARDINALS = _numbered(
    "zero oh|one a an|two couple|three few|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
    "|sixteen|seventeen|eighteen|nineteen",
    0,
)
TENS = _numbered("twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety", 2)
CARDINALS |= {word: tens * 10 for word, tens in TENS.items()}
ORDINALS = _numbered(
    "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth|fourteenth|fifteenth"
    "|sixteenth|seventeenth|eighteenth|nineteenth|twentieth"
)
ORDINALS |= {"thirtieth": 30}
UNITS = {
    word: unit
    for unit, words in {
        "second": "second seconds sec secs",
        "minute": "minute minutes min mins",
        "hour": "hour hours hr hrs",
        "day": "day days",
        "week": "week weeks wk wks",
        "fortnight": "fortnight fortnights",
        "month": "month months",
        "quarter": "quarter quarters",
        "year": "year years yr yrs",
        "decade": "decade decades",
        "century": "century centuries",
    }.items()
    for word in words.split()
}
MODIFIERS = {
    word: sense
    for sense, words in {
        "last": "last previous past",
        "this": "this current",
        "next": "next following",
        "coming": "coming upcoming",
    }.items()
    for word in words.split()
}
# The hours of the labelled sets that we are measured on; a question's window is wider (see `fields`).
PARTS = {"morning": (8, 12), "afternoon": (12, 16), "evening": (16, 20), "night": (20, 24)}


class Token(NamedTuple):
    """A word in lower case without its 's, a number or a sign, and where it stands in the text."""

    word: str
    begin: int
    stop: int


class Reader:
    """A piece of text as tokens, with the moment that it is read at (local, without its zone)."""

    def __init__(self, text: str, now: datetime) -> None:
        self.text, self.now = text, now
        self.tokens = [
            Token(match[0].lower().replace("\u2019", "'").removesuffix("'s"), match.start(), match.end())
            for match in _TOKEN.finditer(text)
        ]
        self.moments: dict[tuple[int, bool, int], Any] = {}
        self._begins = [token.begin for token in self.tokens]

    def word(self, at: int) -> str:
        """Return the token at a place, empty beyond either end."""
        return self.tokens[at].word if 0 <= at < len(self.tokens) else ""

    def raw(self, at: int) -> str:
        """Return a token as it was written."""
        return self.text[self.tokens[at].begin : self.tokens[at].stop]

    def glued(self, at: int) -> bool:
        """Tell whether a token follows the one before without a space."""
        return 0 < at < len(self.tokens) and self.tokens[at - 1].stop == self.tokens[at].begin

    def match(self, pattern: re.Pattern[str], at: int) -> tuple[re.Match[str], int] | None:
        """Match the text from a token on; return the match and the first token behind it."""
        found = pattern.match(self.text, self.tokens[at].begin) if at < len(self.tokens) else None
        if found is None:
            return None
        stop = bisect_left(self._begins, found.end())
        return (found, stop) if stop > at and self.tokens[stop - 1].stop <= found.end() else None

    def number(self, at: int) -> tuple[int, int] | None:
        """Read a whole number below 10 000, in digits or words ("a couple of", "twenty-five", "two thousand")."""
        word = self.word(at)
        if word.isdecimal():
            return (int(word), at + 1) if len(word) <= 4 else None
        if word in {"a", "an"} and self.word(at + 1) in {"couple", "few"}:
            return self.number(at + 1)
        if word not in CARDINALS:
            return None
        value, at = self._below_hundred(at)
        if word in {"couple", "few"} and self.word(at) == "of":
            return value, at + 1
        return self._thousands(value, at) if self.word(at) in {"thousand", "hundred"} else (value, at)

    def _below_hundred(self, at: int) -> tuple[int, int]:
        value = CARDINALS[self.word(at)]
        step = at + 2 if self.word(at + 1) == "-" else at + 1
        ones = CARDINALS.get(self.word(step), 0) if self.word(step) not in {"a", "an", "couple", "few"} else 0
        return (value + ones, step + 1) if self.word(at) in TENS and 0 < ones < 10 else (value, at + 1)

    def _thousands(self, value: int, at: int) -> tuple[int, int]:
        value *= 1000 if self.word(at) == "thousand" else 100
        step = at + 2 if self.word(at + 1) == "and" else at + 1
        if self.word(step) in CARDINALS and self.word(step) not in {"a", "an"}:
            rest, step = self._below_hundred(step)
            return value + rest, step
        return value, at + 1

    def ordinal(self, at: int) -> tuple[int, int] | None:
        """Read "21st", "third" or "twenty-third"."""
        word = self.word(at)
        if word.isdecimal() and len(word) <= 2 and self.glued(at + 1) and self.word(at + 1) in {"st", "nd", "rd", "th"}:
            return int(word), at + 2
        if word in ORDINALS:
            return ORDINALS[word], at + 1
        step = at + 2 if self.word(at + 1) == "-" else at + 1
        ones = ORDINALS.get(self.word(step), 10)
        return (TENS[word] * 10 + ones, step + 1) if word in TENS and ones < 10 else None

    def year(self, at: int) -> tuple[int, int] | None:
        """Read a year: four digits, "'87", "nineteen eighty six", "two thousand and five"."""
        word = self.word(at)
        if word.isdecimal():
            return (int(word), at + 1) if len(word) == 4 and 1000 <= int(word) < 3000 else None
        if word == "'" and self.glued(at + 1) and self.word(at + 1).isdecimal() and len(self.word(at + 1)) == 2:
            return century(int(self.word(at + 1)), self.now), at + 2
        high = CARDINALS.get(word, 0)
        if high in {19, 20} and self.word(at + 1) in CARDINALS:
            low, step = self._below_hundred(at + 1)
            return (high * 100 + low, step) if low >= 10 else None
        found = self.number(at)
        return found if found and 1000 <= found[0] < 3000 else None


def century(year: int, now: datetime) -> int:
    """Put a year of two digits into the hundred years that end 20 years from now."""
    last = now.year + 20
    return last - (last - year) % 100
