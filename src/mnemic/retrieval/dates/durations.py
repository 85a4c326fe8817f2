"""Which moment or stretch does a length of time lead to? "Two weeks ago", "in three days", "the past 3 months"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from mnemic.retrieval.dates.calendar import Closed, Span, shift, unit_span
from mnemic.retrieval.dates.clocks import Hit
from mnemic.retrieval.dates.fields import Fields, Found, resolve
from mnemic.retrieval.dates.lexicon import UNITS, Reader

__all__ = ["Length", "duration", "lasting", "moved", "offset", "stretch"]

Length = tuple[tuple[float, str], ...]
Read = Callable[[int], Hit]

_FINE = frozenset({"second", "minute", "hour"})
_DECIMAL = re.compile(r"\d{1,4}\.\d{1,3}(?!\d)")
_AGO = frozenset({"ago", "back", "earlier"})
_BACK = frozenset({"last", "past", "previous"})
_AHEAD = frozenset({"next", "coming", "upcoming", "following"})


def duration(reader: Reader, at: int) -> tuple[Length, int] | None:
    """Read a length of time: "three days", "an hour and a half", "2 years 1 month 21 days"."""
    parts: list[tuple[float, str]] = []
    stop = step = at
    while len(parts) < 4:
        found = _counted(reader, step)
        if found is None:
            break
        count, unit, stop = found
        if reader.word(stop) == "and" and reader.word(stop + 1) == "a" and reader.word(stop + 2) == "half":
            count, stop = count + 0.5, stop + 3
        parts.append((count, unit))
        step = stop + (reader.word(stop) in {"and", ","})
    return (tuple(parts), stop) if parts else None


def _counted(reader: Reader, at: int) -> tuple[float, str, int] | None:
    if reader.word(at) == "half" and reader.word(at + 1) in {"a", "an"}:
        unit = UNITS.get(reader.word(at + 2))
        return (0.5, unit, at + 3) if unit else None
    decimal = reader.match(_DECIMAL, at)
    number = (float(decimal[0][0]), decimal[1]) if decimal else reader.number(at)
    if number is None or (reader.word(at - 1) == "." and reader.glued(at)):
        return None
    count, step = number
    if [reader.word(step + place) for place in range(3)] == ["and", "a", "half"]:
        count, step = count + 0.5, step + 3
    step += reader.word(step) in {"-", "more", "whole", "full", "calendar", *_BACK, *_AHEAD}
    unit = UNITS.get(reader.word(step))
    return (count, unit, step + 1) if unit and count else None


def moved(moment: datetime, length: Length, sign: int) -> datetime:
    """Move a moment by a length, forward or back."""
    for count, unit in length:
        moment = shift(moment, sign * count, unit)
    return moment


def _fine(length: Length) -> bool:
    return any(unit in _FINE or (unit == "day" and count != int(count)) for count, unit in length)


def offset(reader: Reader, at: int, read: Read) -> Hit:
    """Read a moment at a distance: "two weeks ago", "in 3 days", "5 days after June 2nd", "30 minutes later"."""
    leading = reader.word(at) == "in"
    length = duration(reader, at + leading)
    if length is None:
        return None
    size, stop = length
    word = reader.word(stop)
    if word in {"from", "after", "before"}:
        return _from_anchor(reader, size, stop, read)
    if leading:
        stop += word == "'"  # in two weeks' time
        # "Ran it in 9.58 seconds" is a length.
        return (
            None
            if word in _AGO or size[0][1] == "second"
            else (_at_distance(reader, size, 1), stop + (reader.word(stop) == "time"))
        )
    if word in _AGO:
        return _at_distance(reader, size, -1), stop + 1 + (reader.word(stop + 1) == "today")
    return (_at_distance(reader, size, 1), stop + 1) if word in {"later", "hence"} else None


def _at_distance(reader: Reader, size: Length, sign: int) -> Fields:
    moment = moved(reader.now, size, sign)
    if _fine(size):
        return Fields(
            within=((moment, moment + timedelta(seconds=1)),), grain="instant", wide=(_blurred(moment, size),)
        )
    return Fields(within=(unit_span(moment, "day"),), grain="day", wide=(_blurred(moment, size),))


def _blurred(moment: datetime, size: Length) -> Closed:
    """Return what is meant by "two months ago": half a unit on either side, at least a day or a minute."""
    unit = size[-1][1]
    half = (shift(moment, 1, unit) - moment) * min(1, size[-1][0]) / 2
    grain = "minute" if unit in _FINE else "day"
    first, last = moment - half, moment + half
    return unit_span(moment, "day") if unit == "day" else (unit_span(first, grain)[0], unit_span(last, grain)[1])


def _from_anchor(reader: Reader, size: Length, at: int, read: Read) -> Hit:
    sign = -1 if reader.word(at) == "before" else 1
    if reader.word(at + 1) == "now" and sign > 0:
        return _at_distance(reader, size, 1), at + 2
    anchor = read(at + 1)
    found = resolve(anchor[0], reader.now) if anchor else None
    if anchor is None or found is None or anchor[0].part:
        return None
    moments = [moved(start, size, sign) for start, _ in found.spans if start]
    if found.grain in {"instant", "minute", "hour"} or _fine(size):
        spans = tuple((moment, moment + timedelta(seconds=1)) for moment in moments)
        return Fields(within=spans, grain="instant", wide=spans), anchor[1]
    if found.grain == size[-1][1] != "day":
        return Fields(within=tuple(unit_span(moment, found.grain) for moment in moments), grain=found.grain), anchor[1]
    return Fields(within=tuple(unit_span(moment, "day") for moment in moments), grain="day"), anchor[1]


def stretch(reader: Reader, at: int) -> tuple[Found, int] | None:
    """Read a stretch up to or from now: "the past 3 months", "next two weeks", "within the next day"."""
    step = at
    within = reader.word(step) == "within"
    step += within
    step += reader.word(step) == "the"
    sense = reader.word(step)
    moving = sense in _BACK or sense in _AHEAD
    step += moving
    length = duration(reader, step)
    inner = _modifier_inside(reader, step) if length and not moving else ""
    if length is None and moving and within:
        unit = UNITS.get(reader.word(step))
        length = (((1, unit),), step + 1) if unit else None
        length = _with_more(reader, length)
    if length is None or not (moving or within or inner) or (within and not moving and reader.word(length[1]) == "of"):
        return None
    ahead = (sense in _AHEAD or inner in _AHEAD) or (within and not moving)
    if not ahead and reader.word(length[1]) in {"of", "in"}:
        return None
    return _to_now(reader, length[0], 1 if ahead else -1, days_from_today=within), length[1]


def _modifier_inside(reader: Reader, at: int) -> str:
    number = reader.number(at)
    word = reader.word(number[1]) if number and reader.word(number[1] + 1).endswith("s") else ""
    return word if word in _BACK or word in _AHEAD else ""


def _with_more(reader: Reader, length: tuple[Length, int] | None) -> tuple[Length, int] | None:
    if length is None or reader.word(length[1]) not in {"and", ","}:
        return length
    more = duration(reader, length[1] + 1)
    return ((*length[0], *more[0]), more[1]) if more else length


def _to_now(reader: Reader, size: Length, sign: int, *, days_from_today: bool) -> Found:
    now, today = reader.now, unit_span(reader.now, "day")[0]
    if _fine(size):
        start, end = sorted((now, moved(now, size, sign)))
        return Found(((start, end),), "range")
    if len(size) == 1 and size[0][1] in {"quarter", "decade", "century"}:
        here = unit_span(now, size[0][1])
        start, end = (here[1], moved(here[1], size, 1)) if sign > 0 else (moved(here[0], size, -1), here[0])
        return Found(((start, end),), "range", wide=((min(start, today), max(end, today)),))
    if sign < 0:
        start = moved(today, size, -1)
        return Found(((start, today),), "range", wide=((start, now),))
    first = today if days_from_today else today + timedelta(days=1)
    return Found(((first, moved(first, size, 1)),), "range", wide=((today, moved(first, size, 1)),))


def lasting(spans: Sequence[Span], size: Length) -> tuple[Span, ...]:
    """Return stretches of a length that begin where the given ones do."""
    return tuple((start, moved(start, size, 1)) for start, _ in spans if start)
