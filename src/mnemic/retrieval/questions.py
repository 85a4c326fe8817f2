"""What does a question want to know, of whom, and about which time? Rules, no model."""

# ruff: noqa: E501 - tables of words

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from mnemic.retrieval.attributes import attribute_spans, without_attributes
from mnemic.retrieval.slots import SELF, first_person, someone_else
from mnemic.words import query_terms, terms

__all__ = ["Asked", "Attitude", "asked"]

_LONGEST: Final = 400  # a longer paste says what it wants at its end


class Attitude(StrEnum):
    """Which time a question is about."""

    NOW = "now"
    PAST = "past"
    FIRST = "first"
    AS_OF = "as_of"
    HISTORY = "history"
    WHEN = "when"
    NEVER = "never"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question wants.

    ``subject`` is empty where no person is told apart; ``names`` are the stems of names in the question; ``details`` are the
    telling stems beside the words of the attribute; ``pivots`` may name the version that is told from ("before Porto"); ``present`` is the tense of its verb.
    """

    attributes: tuple[str, ...]
    subject: str
    names: frozenset[str]
    stems: frozenset[str]
    details: frozenset[str]
    pivots: frozenset[str]
    attitude: Attitude
    present: bool


def _any(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


_MONTHS: Final = "January|February|March|April|May|June|July|August|September|October|November|December"
_MONTH: Final = _MONTHS + "|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec"
_DATE = re.compile(
    rf"\b(?:on|in|at|by|as of|since|until|during|around|back in|before|after)\s(?:the\s)?(?:\w+\s){{0,3}}?"
    rf"(?:(?:\d{{1,2}}(?:st|nd|rd|th)?\s)?(?:of\s)?(?:{_MONTH})\b|(?:19|20)\d\d\b|\d{{1,2}}/\d{{1,2}})"
    r"|\b\d{4}-\d\d-\d\d\b|\bas of\b|\b(?:a|two|three|four|five|six|\d+) (?:weeks?|months?|years?|days?) ago\b"
    r"|\blast (?:spring|summer|autumn|fall|winter|year|month|week)\b",
    re.IGNORECASE,
)
_HISTORY = (
    "list|every|all (?:the|of|my|our)|history|timeline|over time|over the (?:years|months)|through the years|in what order"
    r"|how many (?:times|different \w+) (?:have|has|did) \w+ (?:chang|mov|switch|swap|replac)\w+|evolv\w+|one after the other|ever had"
)
_NOW = (
    "now|nowadays|current|currently|latest|newest|still|these days|at the moment|today|at present|presently|so far|up to date"
    "|most recent|most recently|any ?more"
)
_FIRST = "originally|initially|(?:at )?first|to begin with|in the beginning|oldest|earliest|start(?:ed)? (?:out|off)|at the start"
_PAST = "used to|previous|previously|prior|formerly?|before(?! now\\b)|back then|in the past|until recently"
_PAST_TOO = "earlier|old|ex"
_PIVOT = re.compile(
    r"\b(?:before|prior to|preced(?:es|ed|ing)|until|been|(?:switch|chang|mov|swap|go|went|get|got|start|turn)\w* (?:\w+ )?(?:to|with|on|over to))\b"
    r"(.{1,80})",
    re.IGNORECASE,
)
_WHEN = (
    r"(?:^|[:,] )\W*(?:since when|how long ago|when (?:did|was|were|have|has)|(?:on |at )?(?:which|what) (?:date|month|year)"
    r"|(?:on )?(?:which|what) day did [^?]{1,80}(?:chang|switch|mov|start|becom|begin))\w*\b"
)
# The first that matches tells.
_ATTITUDES: Final = (
    (Attitude.HISTORY, _any(_HISTORY)),
    (Attitude.NEVER, _any(r"(?:did|have|has|was|were|do|does) \w+ (?:\w+ )?ever|never")),
    (Attitude.FIRST, _any(_FIRST)),
    (Attitude.WHEN, re.compile(_WHEN, re.IGNORECASE)),
    (Attitude.AS_OF, _DATE),
    (Attitude.PAST, _any(_PAST)),
    (Attitude.NOW, _any(_NOW)),
    (Attitude.PAST, _any(_PAST_TOO)),
)
_ASKED_NAME = re.compile(rf"(?<=[\w,'\"] )(?!(?:I|I'm|I've|{_MONTHS})\b)[^\W\d_a-z]\w+")
_ASKS_PAST = _any("did|was|were|had|used to")
_TIMELY = frozenset(
    terms(
        "now currently latest current today still nowadays present presently moment these days previous previously before first "
        "originally initially used ever every all list when last recent recently time date day change changed history never "
        "answer gave old former earlier start started new kind type name many much often long tell which what most far "
        f"{_MONTHS.replace('|', ' ')}"
    )
)
_LIGHT = frozenset(terms("have use follow go do make take get keep own call work"))


@lru_cache(maxsize=512)
def asked(query: str) -> Asked:
    """Read what a question is about and which time it means.

    Args:
        query: The question; of a text over 400 characters its end is read.

    Returns:
        Families of the attribute, subject, telling stems and the attitude to time. A date is only noticed, not read.
    """
    question = query[-_LONGEST:].strip()
    families = tuple(name for name, _, _ in attribute_spans(question))
    stems = frozenset(query_terms(question)) - _TIMELY
    return Asked(
        attributes=families,
        subject=someone_else(question) or (SELF if first_person(question) else ""),
        names=frozenset(query_terms(" ".join(_ASKED_NAME.findall(question))))
        if _ASKED_NAME.search(question)
        else frozenset(),
        stems=stems,
        details=_details(question, stems, families),
        pivots=frozenset(query_terms(pivot.group(1))) if (pivot := _PIVOT.search(question)) else frozenset(),
        attitude=next((attitude for attitude, pattern in _ATTITUDES if pattern.search(question)), Attitude.PLAIN),
        present=not _ASKS_PAST.search(question),
    )


def _details(question: str, stems: frozenset[str], families: tuple[str, ...]) -> frozenset[str]:
    beside = frozenset(query_terms(without_attributes(question, families))) - _LIGHT
    pivot = _PIVOT.search(question)
    told_from = frozenset(query_terms(pivot.group(1))) if pivot else frozenset()
    return frozenset(stem for stem in (stems & beside) - told_from if not stem.isdigit())
