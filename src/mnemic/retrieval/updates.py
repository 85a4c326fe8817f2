"""Which of several statements about one attribute holds now, and which one does the question want first?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from mnemic.retrieval.attributes import FAMILIES, MULTIPLE
from mnemic.retrieval.moods import FACTUAL, Tense
from mnemic.retrieval.questions import Asked, Attitude
from mnemic.retrieval.slots import SELF, Slot
from mnemic.words import query_terms

__all__ = ["Hit", "Label", "Order", "order_updates"]

_DEPTH: Final = 20  # hits looked at for a slot that is read
_NEAR_DEPTH: Final = 10  # and for one that is only guessed from likeness
_SHORT_STEMS: Final = 16  # a text with more telling words is a turn about several things rather than one fact
_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)


class Label(StrEnum):
    """Where a hit stands among the statements about the same attribute, seen from now."""

    NONE = "none"
    CURRENT = "current"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Hit:
    """A found text.

    ``score`` orders within this search, ``cosine`` is to the best hit, ``at`` is the time of the event; ``slots`` and
    ``stems`` (telling stems, as for a query) were read from the text when it was stored.
    """

    score: float
    cosine: float
    at: datetime | None = None
    slots: tuple[Slot, ...] = ()
    stems: frozenset[str] = frozenset()
    role: str | None = None


@dataclass(frozen=True, slots=True)
class _Likeness:
    """How near to the best hit another one must be to speak of the same thing: share of its score, and cosine."""

    share: float
    cosine: float


_LOOSE: Final = _Likeness(0.4, 0.3)
_NAMED: Final = _Likeness(0.6, 0.3)
_TURNS: Final = _Likeness(0.85, 0.3)


@dataclass(frozen=True, slots=True)
class Order:
    """The order to show hits in, as places in the list given, and the label of each hit by its place in that list."""

    places: tuple[int, ...]
    labels: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class _Member:
    place: int
    at: datetime
    value: str
    fact: bool
    past: bool
    stems: frozenset[str]
    read: bool


def order_updates(hits: Sequence[Hit], asked: Asked, *, as_of: datetime | None = None) -> Order:
    """Put the statement that the question wants before the others about the same attribute.

    Hits about anything else keep their places. What is planned, imagined or told of somebody else replaces nothing.

    Args:
        hits: Best first.
        asked: What the question wants.
        as_of: The time that the question names, where it names one.

    Returns:
        A permutation of the places and a label for each hit.
    """
    members = _group(hits[:_DEPTH], asked)
    labels = _labels(members, len(hits))
    if len(members) < 2:
        return Order(tuple(range(len(hits))), labels)
    wanted = [member.place for member in _wanted(members, asked, as_of)]
    places = sorted(wanted)
    order = list(range(len(hits)))
    for place, member in zip(places, wanted, strict=True):
        order[place] = member
    return Order(tuple(_promoted(order, hits, asked)), labels)


def _labels(members: Sequence[_Member], size: int) -> tuple[Label, ...]:
    labels = [Label.NONE] * size
    # What is only alike may stand first, but is not called superseded: that would hide it.
    facts = [member for member in members if member.fact and member.read]
    current = _newest(member for member in facts if not member.past) if len(facts) > 1 else None
    for member in facts if current else ():
        labels[member.place] = Label.CURRENT if member is current else Label.SUPERSEDED
    return tuple(labels)


def _newest(members: Iterable[_Member]) -> _Member | None:
    return max(members, key=lambda member: (member.at, -member.place), default=None)


def _group(hits: Sequence[Hit], asked: Asked) -> list[_Member]:
    """Find the hits about the attribute that is asked for, by slots where they were read, else by likeness."""
    if any(name in MULTIPLE for name in asked.attributes):
        return []
    family = _family_key(hits, asked)
    key = family or _relation_key(hits, asked)
    members = _telling(_of_slot(hits, key), hits, asked) if key is not None else []
    if (family and not _is_short(hits[0])) or (
        asked.names and key is not None and key[0] != SELF and _exact(key, asked)
    ):
        return members
    about = asked.names | frozenset(query_terms(key[0]) if key is not None and key[0] != SELF else ())
    # What was read is one wording of the attribute; what is alike may be another.
    known = {member.place for member in members}
    members += [_member(place, hits[place], ()) for place in _alike(hits, asked, about) if place not in known]
    members += _naming(members, hits, asked)
    return sorted(members, key=lambda member: member.place)


def _naming(members: Sequence[_Member], hits: Sequence[Hit], asked: Asked) -> list[_Member]:
    """Find short hits that name what a member alone states: "not tea any more" after "I drink tea"."""
    if asked.attitude not in {Attitude.NOW, Attitude.PLAIN} or not hits or not _is_short(hits[0]):
        return []
    known = {member.place for member in members}
    seen = Counter(stem for hit in hits for stem in hit.stems)
    values = {stem for member in members if member.fact for stem in member.stems - asked.stems if seen[stem] <= 3}
    return [
        _member(place, hit, ())
        for place, hit in enumerate(hits[:_NEAR_DEPTH])
        if place not in known and _may_name(hit) and hit.stems & values
    ]


def _is_short(hit: Hit) -> bool:
    return len(hit.stems) <= _SHORT_STEMS


def _may_name(hit: Hit) -> bool:
    return _is_short(hit) and hit.role != "assistant" and any(slot.cue != "none" for slot in hit.slots)


Key = tuple[str, str]


def _family_key(hits: Sequence[Hit], asked: Asked) -> Key | None:
    for hit in hits[:10]:
        for slot in hit.slots:
            if slot.attribute in asked.attributes and _fits(slot, asked):
                return slot.subject, slot.attribute
    return None


def _fits(slot: Slot, asked: Asked) -> bool:
    if slot.subject == SELF or asked.subject == SELF:
        return slot.subject == SELF and (asked.subject == SELF or not (asked.subject or asked.names))
    return slot.subject == asked.subject or set(query_terms(slot.subject)) <= asked.stems


def _relation_key(hits: Sequence[Hit], asked: Asked) -> Key | None:
    """The relation that shares most with the question; the best hit's own, if the question names its subject."""
    best: tuple[int, Key] | None = None
    for place, hit in enumerate(hits[:10]):
        for slot in hit.slots:
            found = _shared(slot, asked, best_hit=not place) if slot.attribute else 0
            if found and (best is None or found > best[0]):
                best = found, (slot.subject, slot.attribute)
    return best[1] if best else None


def _exact(key: Key, asked: Asked) -> bool:
    return key[1] in asked.attributes or bool(set(key[1].split()) & asked.stems)


def _shared(slot: Slot, asked: Asked, *, best_hit: bool) -> int:
    if not _fits(slot, asked):
        return 0
    stems = set(slot.attribute.split())
    shared = len(stems & asked.stems)
    subject = len(set(query_terms(slot.subject)) & asked.stems) if slot.subject != SELF else 0
    close = 2 * shared >= len(stems) if shared else best_hit and subject > 0
    return shared + subject if close else 0


def _telling(members: list[_Member], hits: Sequence[Hit], asked: Asked) -> list[_Member]:
    """Keep the members that speak of the details of the question as much as any: Saturdays, not Mondays."""
    found = {member.place: len(asked.details & hits[member.place].stems) for member in members}
    most = max(found.values(), default=0)
    return [member for member in members if found[member.place] == most]


def _of_slot(hits: Sequence[Hit], key: Key) -> list[_Member]:
    members = []
    for place, hit in enumerate(hits):
        slots = [slot for slot in hit.slots if (slot.subject, slot.attribute) == key]
        if slots:
            members.append(_member(place, hit, slots))
    return members


def _member(place: int, hit: Hit, slots: Sequence[Slot]) -> _Member:
    told = slots or [slot for slot in hit.slots if not slot.attribute]
    facts = [slot for slot in told if slot.certainty in FACTUAL and (slots or slot.subject == SELF)]
    now = [slot for slot in facts if slot.tense is Tense.NOW]
    value = (now or facts or list(slots))[0].value if slots else ""
    return _Member(
        place, hit.at or _EARLIEST, value, bool(facts) or not told, bool(facts) and not now, hit.stems, bool(slots)
    )


def _alike(hits: Sequence[Hit], asked: Asked, about: frozenset[str]) -> list[int]:
    if not hits or hits[0].score <= 0 or hits[0].role == "assistant":
        return []
    best = hits[0]
    topic = _families(best)
    return [
        place
        for place, hit in enumerate(hits[:_NEAR_DEPTH])
        if (not place or (about <= hit.stems and _is_like(hit, best, asked)))
        and (not _families(hit) or _families(hit) & topic)
    ]


def _is_like(hit: Hit, best: Hit, asked: Asked) -> bool:
    needed = _likeness(_is_short(best) and _is_short(hit), asked)
    if needed is None or hit.role == "assistant":
        return False
    return hit.score >= needed.share * best.score and hit.cosine >= needed.cosine


def _likeness(short: bool, asked: Asked) -> _Likeness | None:  # noqa: FBT001 - a private table
    if asked.attitude is Attitude.NEVER or (asked.attitude is Attitude.PLAIN and not asked.present):
        return None
    if asked.attitude is Attitude.PLAIN:
        return (_NAMED if short else None) if asked.names else _LOOSE if short else _TURNS
    return _LOOSE if short else _TURNS if asked.attitude is Attitude.NOW else None


def _families(hit: Hit) -> frozenset[str]:
    return frozenset(slot.attribute for slot in hit.slots) & FAMILIES


def _wanted(members: Sequence[_Member], asked: Asked, as_of: datetime | None) -> list[_Member]:
    """Sort the members as the question wants them; what is no fact comes last."""
    if asked.attitude is Attitude.NEVER or (asked.attitude is Attitude.AS_OF and as_of is None):
        return list(members)
    pivot = _named(members, asked) or _newest(member for member in members if member.fact and not member.past)
    return sorted(members, key=_sorting(asked, pivot, as_of))


def _named(members: Sequence[_Member], asked: Asked) -> _Member | None:
    """The first version with the value that the question itself names, as in "before I lived in Porto"."""
    facts = [member for member in members if member.fact]
    telling = {
        stem
        for stem in asked.pivots
        if 0 < sum(stem in member.stems for member in facts) <= max(1, len(facts) * 2 // 3)
    }
    named = [member for member in facts if telling & member.stems]
    return min(named, key=lambda member: member.at, default=None)


def _sorting(asked: Asked, pivot: _Member | None, as_of: datetime | None) -> Callable[[_Member], tuple[object, ...]]:
    def age(member: _Member) -> float:
        return -(member.at - _EARLIEST).total_seconds()

    def past(member: _Member) -> tuple[object, ...]:
        later = pivot is not None and not member.past and (member.at >= pivot.at or member.value == pivot.value != "")
        return not member.fact, later, age(member), member.place

    def at_that_time(member: _Member) -> tuple[object, ...]:
        return not member.fact, as_of is not None and member.at > as_of, age(member), member.place

    if asked.attitude is Attitude.PAST:
        return past
    if asked.attitude is Attitude.AS_OF:
        return at_that_time
    if asked.attitude in {Attitude.FIRST, Attitude.HISTORY}:
        return lambda member: (not member.fact, -age(member), member.place)
    when = asked.attitude is Attitude.WHEN
    return lambda member: (not member.fact, when and member is not pivot, member.past, age(member), member.place)


def _promoted(order: list[int], hits: Sequence[Hit], asked: Asked) -> list[int]:
    """Lift what states the attribute asked for over single facts that state another attribute instead."""
    if not asked.attributes:
        return order
    lifted = [place for place in order[:_NEAR_DEPTH] if _states(hits[place], asked)]
    if not lifted:
        return order
    kept = lifted if asked.attitude is Attitude.HISTORY else lifted[:1]
    above = [place for place in order[: order.index(kept[-1])] if place not in kept]
    if not all(_families(hits[place]) and _is_short(hits[place]) for place in above):
        return order
    return kept + [place for place in order if place not in kept]


def _states(hit: Hit, asked: Asked) -> bool:
    return any(
        slot.attribute in asked.attributes and _fits(slot, asked) and slot.certainty in FACTUAL for slot in hit.slots
    )
