"""How is a statement meant: surely or not, of now or of the past, as a change or not? Rules, no model."""

# ruff: noqa: E501 - tables of words

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

__all__ = ["FACTUAL", "Certainty", "Tense", "cue_of", "mood_of"]


class Certainty(StrEnum):
    """How a statement is meant."""

    ASSERTED = "asserted"
    PLANNED = "planned"
    HYPOTHETICAL = "hypothetical"
    REPORTED = "reported"
    NEGATED = "negated"


class Tense(StrEnum):
    """When a statement holds, seen from the time it was made."""

    NOW = "now"
    PAST = "past"
    FUTURE = "future"


FACTUAL: Final = frozenset({Certainty.ASSERTED, Certainty.NEGATED})
"""What is said to be so, or not so; the rest replaces nothing."""


def _any(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


_HYPOTHETICAL = _any(
    "if|i wish|wish (?:i|we)|imagin(?:e|ing)|wonder(?:s|ed|ing)?|suppos(?:e|ing)|might|maybe|perhaps|in theory|hypothetical(?:ly)?"
    "|would (?:love|rather|be (?:nice|great|fun|cool|lovely))|could (?:see|imagine|be|have)|dream(?:s|ed|t|ing)? (?:of|about)"
    "|thinking (?:of|about)|consider(?:s|ed|ing)?|tempted|toying|daydream(?:s|ed|ing)?|idea|someday|one (?:fine )?day|undecided"
    "|not decided|without any decision|under discussion|conceivabl[ey]|possibl[ey]|potentially|in two minds|on the fence"
    "|itching to|picture me|not happening|not yet|propos(?:al|ed|es)|tentative(?:ly)?|contemplat\\w+|mull\\w*|debating"
    "|should (?:the|we|i|this|that|it)|may (?:well|be|soon|yet)|who knows|subject to|pending|provided that|in case|in the event"
    "|were (?:i|we) to|granted|leaning towards?|fantas\\w+|envisag\\w+|pretend\\w*"
)
_PLANNED = _any(
    "plan(?:s|ning|ned)? (?:to|on)|going to (?!work|school|bed|sleep|the)|gonna|will|won't|hop(?:e|es|ing) to|wants? to|intend(?:s|ing)?"
    "|about to|looking (?:to|at)|(?:starting|from|by) (?:next|tomorrow)|next (?:week|month|year|spring|summer|autumn|fall|winter)"
    "|eventually"
)
_WILL = re.compile(r"\w'll\b", re.IGNORECASE)
_REPORTED = re.compile(
    r"(?<!\bi )(?<!\bi've )\b(?:told|tells|said|says|claim(?:s|ed)?|mentions|reckons|thinks|believes|rumou?r|apparently"
    r"|according to|acc\. to|i heard|inform(?:s|ed) me|brag\w*|swears|insists|boasts?|wrote to me)\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:no longer|not|never|stopped|quit|gave up|given up|nor|neither|any ?more|no more)\b|n't\b", re.IGNORECASE
)
_PAST = _any(
    "used to|formerly|previously|back then|in the past|once upon a time|in those days|at (?:the|that) time|years ago"
    "|was|were|lived|worked|drove|had been|(?:my|our) (?:old|former|previous|ex|last)"
)
_STILL = _any(
    "now|nowadays|these days|currently|at the moment|today|still|moved|switched|changed|since|joined|started|became|got"
    "|as of|recently|just|promoted|upgraded|replaced|(?:was|were|been) (?:born|created|founded|written|performed|made|developed)"
)
_CORRECTION = _any(
    "actually|correction|scratch that|i was wrong|i misspoke|not .{1,40} but|rather than|to correct|my mistake|sorry"
)
_CHANGE = _any(
    "no longer|any ?more|instead|chang(?:e|ed|es|ing)|switch(?:ed|es|ing)?|swap(?:ped|s)?|moved|relocated|replac(?:ed|es|ing)"
    "|upgrad(?:ed|es|ing)|updated?|promoted|new|now|nowadays|these days|currently|as of|from now on|lately|latest|since|became"
    "|scrap(?:ped)?|in place of|instead of|supersedes?|no more|goodbye|farewell|rather than|was|is out|is history|in lieu of"
    "|ditched|dropped|left|traded|settled|went with|gone|finally|bumped|raised|lowered|pushed|postponed|extended|rescheduled"
)


def cue_of(clause: str) -> str:
    """Tell whether a clause corrects, changes or just states."""
    return "correction" if _CORRECTION.search(clause) else "change" if _CHANGE.search(clause) else "none"


def mood_of(clause: str) -> tuple[bool, Certainty, Tense, str]:
    """Give polarity, certainty, tense and cue of a clause."""
    cue = cue_of(clause)
    negated = _NEGATED.search(clause) is not None
    certainty = Certainty.NEGATED if negated else Certainty.ASSERTED
    tense = Tense.PAST if _PAST.search(clause) and not _STILL.search(clause) else Tense.NOW
    if "used to" in clause.lower():
        tense = Tense.PAST
    if _HYPOTHETICAL.search(clause):
        return not negated, Certainty.HYPOTHETICAL, tense, cue
    if _REPORTED.search(clause):
        return not negated, Certainty.REPORTED, tense, cue
    if _PLANNED.search(clause) or _WILL.search(clause):
        return not negated, Certainty.PLANNED, Tense.FUTURE, cue
    return not negated, certainty, tense, cue
