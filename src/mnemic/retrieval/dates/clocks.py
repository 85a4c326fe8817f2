"""Which time of day does a text name? Clock times in figures and words, parts of the day, zones."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from mnemic.retrieval.dates.calendar import shift, unit_span
from mnemic.retrieval.dates.fields import Clock, Fields
from mnemic.retrieval.dates.lexicon import MODIFIERS, MONTHS, PARTS, UNITS, WEEKDAYS, Reader, words

__all__ = ["Hit", "bare_hour", "clock", "hours", "part_of_day"]

Hit = tuple[Fields, int] | None

_HALF = r"(?P<half>[ap]\.\s?m\b\.?|[ap]\s?m\b|[ap]\b(?!['\u2019]))"
_DIGITAL = re.compile(
    rf"(?P<h>\d{{1,2}})(?P<sep>[:.h])(?P<m>\d\d)(?!\d)(?:(?<=\d\d):(?P<s>\d\d)(?:[.,]\d{{1,9}})?)?(?:\s?{_HALF})?",
    re.IGNORECASE,
)
_HOUR = re.compile(rf"(?P<h>\d{{1,2}})\s?{_HALF}", re.IGNORECASE)
_HALF_WORD = re.compile(rf"{_HALF}", re.IGNORECASE)
_OFFSET = re.compile(r"(utc|gmt)?\s?([+-])(\d{1,2})(?::?(\d\d))?(?!\d)", re.IGNORECASE)
_NAMED = re.compile(r"\(?([A-Z][A-Za-z]+(?:/[A-Z][A-Za-z_]+)+)\)?")
_ABBREVIATIONS = {
    "z": 0, "utc": 0, "gmt": 0, "wet": 0, "cet": 1, "cest": 2, "eet": 2, "eest": 3,
    "est": -5, "edt": -4, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7, "jst": 9,
}  # fmt: skip
_AT = words("at around about @ by till until before after")
_AFTER_HOUR = words(
    "i we he she they you it and but then for with to when because so sharp on in at from this that today "
    "tomorrow yesterday tonight every each until till is was"
)
_EDGES = {"early": "early", "late": "late", "later": "late"}
_DAYS = frozenset({*WEEKDAYS, "today", "tomorrow", "yesterday", "tonight"})
_NAMES = {"noon": 12, "midday": 12, "noontime": 12, "midnight": 0}


def hours(hour: int, minute: int = 0, second: int = 0, *, half: str = "", exact: bool = False) -> tuple[Clock, ...]:
    """Return what a clock time can mean: morning or evening, unless a half of the day or 24 hours are given."""
    if hour > 23 or minute > 59 or second > 59:
        return ()
    if half:
        return ((hour % 12 + (12 if half == "p" else 0), minute, second),) if hour <= 12 else ((hour, minute, second),)
    if exact or hour > 12 or hour == 0:
        return ((hour, minute, second),)
    morning, evening = (hour % 12, minute, second), (hour % 12 + 12, minute, second)
    return (morning, evening) if 7 <= hour < 12 else (evening, morning)


def clock(reader: Reader, at: int, *, loose: bool) -> Hit:
    """Read a time of day: "9:30 am", "at 9", "half past eight", "noon"."""
    if reader.word(at) in {"at", "around", "about", "by", "@", "approximately", "exactly"}:
        hit = clock(reader, at + 1, loose=loose)
        return hit or bare_hour(reader, at + 1)
    hit = _digital(reader, at) or _hour(reader, at) or _spoken(reader, at)
    return _with_zone(reader, at, hit) if hit else None


def _said(options: tuple[Clock, ...], grain: str) -> Fields:
    return Fields(clock=options, clock_grain=grain, impossible=not options)


def _digital(reader: Reader, at: int) -> Hit:
    hit = reader.match(_DIGITAL, at)
    if hit is None or _inside_number(reader, at):
        return None
    found, stop = hit
    half = (found["half"] or "")[:1].lower()
    if found["sep"] == "." and not half and not (reader.word(at - 1) == "at" and reader.word(at - 2) in _DAYS):
        return None
    exact = found["h"].startswith("0") or found["sep"] == "h"
    options = hours(int(found["h"]), int(found["m"]), int(found["s"] or 0), half=half, exact=exact)
    # What is no time of day may be a score or a ratio, unless a half of the day was given.
    return (
        (_said(options, "instant" if found["s"] else "minute"), stop)
        if options or half or _surely_clock(found)
        else None
    )


def _surely_clock(found: re.Match[str]) -> bool:
    """Tell whether an impossible clock time was surely meant as one."""
    return found["sep"] == ":" and bool(found["s"])


def _inside_number(reader: Reader, at: int) -> bool:
    before = reader.word(at - 1)
    joined = reader.glued(at) and (before in {".", ":", "/", "$", "€", "£", "#"} or before.isalpha())
    return (joined and before != "t") or before in {"$", "€", "£"}


def _hour(reader: Reader, at: int) -> Hit:
    hit = reader.match(_HOUR, at)
    if hit is None or _inside_number(reader, at):
        return None
    found, stop = hit
    letter = len(found["half"]) == 1 and (found[0][-2].isspace() or reader.word(at - 1) not in _AT)
    if letter or not 1 <= int(found["h"]) <= 12:
        return None
    return _said(hours(int(found["h"]), half=found["half"][0].lower()), "hour"), stop


def _spoken(reader: Reader, at: int) -> Hit:
    word = reader.word(at)
    if word in _NAMES:
        return _said(((_NAMES[word], 0, 0),), "minute"), at + 1
    return _past_or_to(reader, at) or _worded(reader, at)


def _past_or_to(reader: Reader, at: int) -> Hit:
    """Read "half past nine", "a quarter to five", "ten minutes past 8"."""
    step = at + 1 if reader.word(at) == "a" and reader.word(at + 1) == "quarter" else at
    named = {"half": 30, "quarter": 15}.get(reader.word(step))
    minutes = (named, step + 1) if named else reader.number(step)
    if minutes is None or minutes[0] > 59:
        return None
    step = minutes[1] + (reader.word(minutes[1]) in {"minutes", "minute", "min"})
    side = reader.word(step)
    hour = reader.number(step + 1) if side in {"past", "to"} else None
    spoken = named or minutes[1] < step or side == "past"
    if hour is None or not 1 <= hour[0] <= 12 or not spoken or reader.word(hour[1]) in UNITS:
        return None
    value = hour[0] * 60 + (minutes[0] if side == "past" else -minutes[0])
    half, stop = _half_after(reader, hour[1])
    return _said(hours(value // 60 or 12, value % 60, half=half), "minute"), stop


def _half_after(reader: Reader, at: int) -> tuple[str, int]:
    hit = reader.match(_HALF_WORD, at)
    if hit and (len(hit[0]["half"]) > 1 or reader.glued(at)):
        return hit[0]["half"][0].lower(), hit[1]
    return "", at


def _worded(reader: Reader, at: int) -> Hit:
    """Read "nine o'clock", "nine a m", "one thirty pm", "five-thirty"."""
    hour = reader.number(at)
    if hour is None or not 1 <= hour[0] <= 12 or _inside_number(reader, at):
        return None
    for oclock in ("o'clock", "oclock"):
        if reader.word(hour[1]) == oclock:
            half, stop = _half_after(reader, hour[1] + 1)
            return _said(hours(hour[0], half=half), "hour"), stop
    if reader.word(at).isdecimal() or reader.word(at) in {"a", "an"}:
        return None
    half, stop = _half_after(reader, hour[1])
    if half:
        return _said(hours(hour[0], half=half), "hour"), stop
    return _worded_minutes(reader, at, hour)


def _worded_minutes(reader: Reader, at: int, hour: tuple[int, int]) -> Hit:
    step = hour[1] + (reader.word(hour[1]) == "-")
    minutes = None if reader.word(step).isdecimal() else reader.number(step)
    if minutes is None or not 10 <= minutes[0] <= 59:
        return None
    half, stop = _half_after(reader, minutes[1])
    counted = reader.word(stop) in {"minutes", "minute"}
    surely = half or counted or reader.word(at - 1) in _AT or reader.word(hour[1]) == "-"
    return (_said(hours(hour[0], minutes[0], half=half), "minute"), stop + counted) if surely else None


def bare_hour(reader: Reader, at: int) -> Hit:
    """Read the number after "at" as an hour, unless it counts something."""
    hour = reader.number(at)
    if hour is None or not 1 <= hour[0] <= 12 or reader.word(at) in {"a", "an"}:
        return None
    after = reader.word(hour[1])
    known = after in _AFTER_HOUR or after in PARTS or after in WEEKDAYS or after in MONTHS or after in MODIFIERS
    if after.isalpha() and (not known or after in UNITS):
        return None
    if after in {"%", "$", "€", "£", "°", "/", ":"} or (after in {".", ","} and reader.word(hour[1] + 1).isdecimal()):
        return None
    return _said(hours(hour[0]), "hour"), hour[1]


def _with_zone(reader: Reader, at: int, hit: tuple[Fields, int]) -> Hit:
    said, stop = hit
    # Elsewhere than in a time stamp, 16:30-17:00 is a range.
    zone = _offset(reader, stop, stamp=said.clock_grain == "instant" or reader.word(at - 1) == "t") or _zone(
        reader, stop
    )
    if zone is None:
        return hit
    return replace(said, zone=zone[0], impossible=said.impossible or zone[0] is None), zone[1]


def _offset(reader: Reader, at: int, *, stamp: bool) -> tuple[tzinfo | None, int] | None:
    hit = reader.match(_OFFSET, at)
    if hit is None or not (hit[0][1] or stamp):
        return None
    found, stop = hit
    minutes = int(found[3]) * 60 + int(found[4] or 0)
    known = minutes < 24 * 60 and int(found[4] or 0) < 60
    return (timezone(timedelta(minutes=minutes if found[2] == "+" else -minutes)) if known else None), stop


def _zone(reader: Reader, at: int) -> tuple[tzinfo | None, int] | None:
    """Read a zone behind a clock time; one that does not exist is given as None."""
    named = reader.match(_NAMED, at)
    if named:
        return _iana(named[0][1]), named[1]
    word = reader.word(at)
    if word in _ABBREVIATIONS and reader.raw(at).isupper():
        shift = _ABBREVIATIONS[word]
        return (timezone(timedelta(hours=shift)) if shift else UTC), at + 1
    return None


def _iana(name: str) -> tzinfo | None:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def part_of_day(reader: Reader, at: int, *, loose: bool) -> Hit:
    """Read "this morning", "early in the evening", "later tonight", "last night"; ``loose`` takes "morning" alone."""
    edge = _EDGES.get(reader.word(at))
    step = at + 1 if edge else at
    days, step = _day_of_part(reader, step)
    word = reader.word(step)
    if word == "tonight":
        return Fields(within=(unit_span(reader.now, "day"),), grain="day", part="night", edge=edge), step + 1
    if word not in PARTS or (days is None and not loose and reader.word(step - 1) != "the"):
        return None
    if days is None:
        return Fields(part=word, edge=edge), step + 1
    today = shift(reader.now, days, "day")
    return Fields(within=(unit_span(today, "day"),), grain="day", part=word, edge=edge), step + 1


def _day_of_part(reader: Reader, at: int) -> tuple[int | None, int]:
    word = reader.word(at)
    if word in {"in", "at", "during"}:
        return (None, at + 2) if reader.word(at + 1) == "the" else (None, at + 1)
    sense = MODIFIERS.get(word)
    return (None, at) if sense is None else ({"last": -1, "this": 0}.get(sense, 1), at + 1)
