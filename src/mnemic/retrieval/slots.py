"""What does a sentence say about which attribute of whom? Rules, no model."""

# ruff: noqa: E501 - tables of words

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mnemic.retrieval.attributes import attribute_spans
from mnemic.retrieval.moods import FACTUAL, Certainty, Tense, cue_of, mood_of
from mnemic.words import is_named, query_terms

__all__ = ["SELF", "Slot", "first_person", "slots_of", "someone_else", "without_filler"]

SELF: Final = "self"
"""The subject of what an unnamed writer says about themselves."""

_LONGEST_TEXT: Final = 6000  # characters read of one text: rules on more would cost more than they find
_LONGEST_CLAUSE: Final = 300
_MOST_SLOTS: Final = 24


@dataclass(frozen=True, slots=True)
class Slot:
    """One thing said about one attribute of one subject.

    ``attribute`` is the name of a family of wordings or the joined stems of the relation; it is empty where the slot tells
    only how a whole short text is meant and of whom it speaks. ``cue`` is ``correction``, ``change`` or ``none``.
    """

    subject: str
    attribute: str
    value: str
    polarity: bool = True
    certainty: Certainty = Certainty.ASSERTED
    tense: Tense = Tense.NOW
    cue: str = "none"


_SPLIT = re.compile(
    r"(?<=[^A-Z.][.!?])[\"')\]]?\s+(?=[^a-z\s])|(?<=[a-z0-9]{3}[.!?])\s+|\n+|;\s|,? \bbut\b|, (?:and |so )?now\b|,? and now\b"
    r"|,? \band (?=i\b|my\b)| [-\u2013\u2014]{1,2} |\u2014",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"^[\W_]*(?:(?:by the way|btw|fyi|oh|well|so|ok(?:ay)?|hey|hi|anyway|also|and|guess what|just so you know|for the record"
    r"|note|update|ps|quick (?:note|update)|actually|correction|scratch that|heads up|turns out)\b[\s,:.!-]*)+",
    re.IGNORECASE,
)

_CLOSING = re.compile(
    r"(?<=[.!,])\s+(?:just (?:so you know|saying|fyi)|fyi|btw|by the way|for the record|for what it's worth|thanks?|thank you|ok(?:ay)?|lol)[\s.!]*$",
    re.IGNORECASE,
)


def _any(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


_QUOTED = re.compile(
    r"[\"\u201c\u00ab](?=[^\"\u201c\u201d\u00ab\u00bb]*\s)[^\"\u201c\u201d\u00ab\u00bb]{12,}[\"\u201d\u00bb]"
)
_NAMED_FIRST = re.compile(r"^([A-Z]\w+)(?:'s|\u2019s)?:\s+(?=\S+\s+\S|\S+:)")
_LABELS = frozenset(
    [
        "note",
        "update",
        "correction",
        "reminder",
        "edit",
        "info",
        "todo",
        "news",
        "status",
        "fyi",
        "ps",
        "btw",
        "address",
        "diary",
        "log",
    ]
)
_ASIDE = re.compile(r"\([^)]{0,60}\)|,[^,]{1,40} (?:is|are) (?:out|gone|history|over|done)\b")
_SHORT_WORDS: Final = 30
_FIRST_PERSON = _any("i|i'm|i've|i'd|my|mine|me|myself|we|we're|our|ours|us")
_KIN = (
    "sister|brother|mom|mum|mother|dad|father|wife|husband|partner|friend|flatmate|roommate|housemate|colleague|coworker|cousin"
    "|uncle|aunt|son|daughter|boss|manager|neighbou?r|boyfriend|girlfriend|parents|nephew|niece|grandmother|grandfather|grandma"
    "|grandpa|buddy|team|company|client|landlord|teacher|kid|child|twin"
)
_KIN_OF = re.compile(
    rf"\b(?:my|our) (?:\w+ )?({_KIN})(?:'s|\u2019s)? (?!is\b|was\b|'s\b|are\b|:|=)(?:([A-Z]\w+) )?", re.IGNORECASE
)
_LED_BY_KIN = re.compile(rf"^(?:my|our) (?:\w+ )?(?:{_KIN})\b[^.!?]{{0,40}}: ", re.IGNORECASE)
_KIN_IS = re.compile(
    rf"\b(?:my|our) (?:\w+ )?({_KIN}) (?:is|was|are) (?=an? |\w+ing\b|based|employed|in |at |married)", re.IGNORECASE
)
_NAME = r"[^\W\d_a-z][\w'\u2019.&-]*"
_NAME_DOES = re.compile(rf"^(?:The )?({_NAME}(?: (?:(?:of|the|de|von|van|and|i|la|du) )?{_NAME})*) (?=[a-z])")
_NOT_NAMES = frozenset(
    [
        "i",
        "i'm",
        "i've",
        "my",
        "we",
        "our",
        "the",
        "a",
        "an",
        "this",
        "that",
        "these",
        "those",
        "it",
        "it's",
        "he",
        "she",
        "they",
        "there",
        "here",
        "getting",
        "after",
        "before",
        "since",
        "as",
        "at",
        "in",
        "on",
        "for",
        "from",
        "to",
        "by",
        "with",
        "when",
        "while",
        "once",
        "today",
        "yesterday",
        "now",
        "currently",
        "lately",
        "recently",
        "these",
        "so",
        "and",
        "but",
        "no",
        "yes",
        "not",
        "still",
        "just",
        "everything",
        "nothing",
    ]
)

_RELATION_OF = re.compile(r"^[Tt]he ([^\W\d_A-Z][^A-Z]*?) (of|in|for|that|where|which|who|to|on|at) (.+)$")
_POSSESSED = re.compile(r"^(?:(my|our)|([^,]{1,60}?)['\u2019]s) ([^,]{1,60})$", re.IGNORECASE)
_WORDY: Final = 9  # words before a verb: more are a story, not a subject
_COPULA = re.compile(
    r"\s(?:is|are|was|were|has been|have been|had been|became|becomes)(?: now| currently| still)?\s|\s?(?:[:=]|->)\s",
    re.IGNORECASE,
)
_NESTED = _any("where|that|which|who|whom")
_REGNAL = re.compile(r"(\b[A-Z][a-z]+) I(?= is\b| of\b|'s\b|\W*$)")
_MINE = re.compile(r"^(?:now |currently )?(?:my|our) (.+)$", re.IGNORECASE)
_TITLED = re.compile(rf"{_NAME}(?:.*{_NAME})?")
_CHANGED = re.compile(
    r"\b(?:switched|swapped|changed|moved|upgraded|replaced|traded|went|updated|bumped|raised|lowered|pushed)\b(?: (?:my|our|the) (.+?))?"
    r"(?: from (.+?))? (?:to|over to|for|with) (.+)$",
    re.IGNORECASE,
)
_TRAILING = _any(
    "now|nowadays|these days|currently|at the moment|today|since .*|as of .*|instead|any ?more|again|lately"
)
_LINKING = re.compile(
    r"^(?:\s|[:=,]|\b(?:is|are|was|were|am|be|been|has|have|had|in|to|at|by|as|an?|the|now|takes?|with|for|of|me|my|back|it|on)\b)+",
    re.IGNORECASE,
)

_TIMELY = frozenset(
    query_terms("now currently latest current today still nowadays these days previous new old name just main")
)


def without_filler(text: str) -> str:
    """Take off what opens and closes a statement without a meaning of its own ("by the way", "just so you know")."""
    return _CLOSING.sub("", _FILLER.sub("", text, count=1))


def first_person(clause: str) -> bool:
    """Tell whether a clause speaks of its writer; the first of a name is none."""
    return _FIRST_PERSON.search(_REGNAL.sub(r"\1", clause)) is not None


def someone_else(clause: str) -> str:
    """Name the relative, friend or colleague of the writer that a clause is about; empty where there is none."""
    found = _KIN_OF.search(clause) or _KIN_IS.search(clause)
    if not found or found.start() >= 40:
        return ""
    named = found.group(2) if found.re is _KIN_OF else None
    return (named if named and named[0].isupper() else found.group(1)).casefold()


def slots_of(text: str, *, speaker: str | None = None, role: str | None = None) -> tuple[Slot, ...]:
    """Read what a text says about attributes of people and things.

    Args:
        text: Any text; what lies beyond 6,000 characters is not read.
        speaker: Who said it; what "I" and "my" stand for where it is a name.
        role: ``assistant`` speaks of itself in the first person, so only what it says of others counts.

    Returns:
        Slots in the order of the text, at most 24; questions state nothing.
    """
    me = (speaker or "").strip().casefold() if is_named(speaker) else SELF
    found: dict[Slot, None] = {}
    whole = _whole(text[:_LONGEST_CLAUSE], me) if len(text) <= _LONGEST_CLAUSE else None
    if whole:
        found[whole] = None
    for clause in _clauses(text):
        for read in _clause_slots(clause, me):
            slot = _framed(read, whole) if whole else read
            if role != "assistant" or slot.subject != me:
                found[slot] = None
        if len(found) >= _MOST_SLOTS:
            break
    return tuple(found)[:_MOST_SLOTS]


def _whole(text: str, me: str) -> Slot | None:
    """How a short text is meant as a whole, where that is not as a plain fact about its writer."""
    if len(text.split()) > _SHORT_WORDS:
        return None
    named = _NAMED_FIRST.match(text)
    who = named.group(1).casefold() if named and named.group(1).casefold() not in _LABELS else me
    if _LED_BY_KIN.match(text):
        who = someone_else(text) or who
    frame = _ASIDE.sub("", _QUOTED.sub(" ", text))
    polarity, certainty, tense, cue = mood_of(frame)
    if certainty in FACTUAL and frame != text and _QUOTED.search(text):
        certainty = Certainty.REPORTED
    cue = cue_of(text)
    if who == me and certainty in FACTUAL and tense is Tense.NOW and cue == "none":
        return None
    return Slot(who, "", "", polarity, certainty, tense, cue)


def _framed(slot: Slot, whole: Slot) -> Slot:
    subject = whole.subject if slot.subject == SELF else slot.subject
    certainty = slot.certainty if whole.certainty in FACTUAL else whole.certainty
    return replace(slot, subject=subject, certainty=certainty)


def _clauses(text: str) -> Iterator[str]:
    for sentence in _SPLIT.split(text[:_LONGEST_TEXT]):
        clause = sentence.strip()[:_LONGEST_CLAUSE] if sentence else ""
        if clause and not clause.endswith("?") and clause.strip(" .!\"'"):
            yield clause


def _clause_slots(raw: str, me: str) -> Iterator[Slot]:
    clause = _FILLER.sub("", raw).strip().rstrip(".!\"' ")
    mood = mood_of(_ASIDE.sub("", raw))
    relations = [(who, relation, value) for who, relation, value in _relations(clause, me) if not first_person(who)]
    subject = _subject(clause, relations, me)
    for name, start, end in attribute_spans(clause):
        yield Slot(subject, name, _value_beside(clause, start, end), *mood)
    for who, relation, value in relations:
        stems = sorted(set(query_terms(relation)) - _TIMELY)[:6]
        if stems and value and who:
            yield Slot(who, " ".join(stems), _tidy(value), *mood)


def _subject(clause: str, relations: Sequence[tuple[str, str, str]], me: str) -> str:
    """Whose attribute a clause speaks of; the writer's own where nobody else is named."""
    other = someone_else(clause[:80])
    if other:
        return other
    named = _NAME_DOES.match(clause)
    if named and named.group(1).split()[0].casefold() not in _NOT_NAMES and not first_person(clause):
        after = clause[named.end() :]
        if not re.match(r"(?:is|has been|was|became) (?:home|where|the|now)\b", after):
            return named.group(1).casefold()
    if relations and not first_person(clause):
        return relations[0][0]
    return me


def _relations(clause: str, me: str) -> Iterator[tuple[str, str, str]]:
    """Read (subject, relation, value) by the form of the sentence alone."""
    changed = _CHANGED.search(clause)
    if changed and changed.group(1):
        yield me, changed.group(1), changed.group(3)
    copula = _main_copula(clause)
    if not copula:
        yield from _by_verb(clause)
        return
    left, right = clause[: copula.start()], clause[copula.end() :]
    mine = _MINE.match(right)
    if mine:
        yield me, mine.group(1), left
    yield from _by_copula(left, right, me)


def _main_copula(clause: str) -> re.Match[str] | None:
    found = list(_COPULA.finditer(clause))
    if not found or len(clause[: found[0].start()].split()) > _WORDY:
        return None
    nested = clause[:4].casefold() == "the " and _NESTED.search(clause[: found[0].start()])
    return found[-1] if nested else found[0]


def _by_copula(left: str, right: str, me: str) -> Iterator[tuple[str, str, str]]:
    of = _RELATION_OF.match(left)
    if of:
        yield _of(of, right)
        return
    possessed = _POSSESSED.match(left)
    if possessed:
        who = me if possessed.group(1) else possessed.group(2).casefold().removeprefix("my ").removeprefix("the ")
        yield who, possessed.group(3), right
        return
    head, value = _split_value(right)
    if head:
        yield left.casefold().removeprefix("the "), head, value
    elif left[:1].islower() or left.lower().startswith("the "):
        yield me, left, right


def _of(form: re.Match[str], right: str) -> tuple[str, str, str]:
    relation, link, rest = form.groups()
    head, value = _split_value(right)
    titled = _TITLED.search(rest)
    if titled is None or (rest[:1].isupper() and not _NESTED.fullmatch(link)):
        return rest.casefold(), f"{relation} {head}", value
    around = rest[: titled.start()] + " " + rest[titled.end() :]
    return titled.group().casefold(), f"{relation} {around} {head}", value


def _by_verb(clause: str) -> Iterator[tuple[str, str, str]]:
    named = _NAME_DOES.match(clause)
    if named and named.group(1).split()[0].casefold() not in _NOT_NAMES:
        head, value = _split_value(clause[named.end() :])
        yield named.group(1).casefold(), head, value


def _split_value(right: str) -> tuple[str, str]:
    """Cut what follows a verb into words of the relation and the value: at a capital, else at the last preposition."""
    words = right.split()
    prepositions = [
        place for place, word in enumerate(words) if word in {"of", "in", "by", "at", "to", "for", "with", "on"}
    ]
    if not prepositions:
        verb = words[:1] if words and words[0].islower() and len(words) > 1 and words[1][:1].isupper() else []
        return " ".join(verb), " ".join(words[len(verb) :])
    capital = next((place for place, word in enumerate(words) if word[:1].isupper() or word[:1].isdigit()), len(words))
    cut = (
        capital
        if prepositions[0] < capital < len(words)
        else prepositions[-1] + 1
        if capital == len(words)
        else capital
    )
    return " ".join(words[:cut]), " ".join(words[cut:])


def _value_beside(clause: str, start: int, end: int) -> str:
    after = _tidy(_LINKING.sub("", clause[end:]))
    return after or _tidy(re.sub(r"\s(?:is|are|was|'s)(?: \w+)?\s*$", "", clause[:start]))


def _tidy(value: str) -> str:
    cut = _TRAILING.sub("", value.strip())
    return " ".join(re.split(r"[,;(]", cut)[0].split()).casefold().strip(" .'\"!")[:80]
