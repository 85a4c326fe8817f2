"""Which day or month does a text name by itself? Dates in figures, names of months and days, "tomorrow"."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

from mnemic.retrieval.dates.calendar import Closed, shift, unit_span
from mnemic.retrieval.dates.clocks import Hit
from mnemic.retrieval.dates.fields import Date, Fields, around, nearest, valid
from mnemic.retrieval.dates.lexicon import MODIFIERS, MONTHS, PARTS, RISKY, UNITS, WEEKDAYS, Reader, century, words

__all__ = ["CUES", "DAY_ATOMS", "day_of_month", "modified", "month_date", "numeric", "relative_day", "weekday"]

CUES = words(
    "in of since until till before after by from to during through thru between on for year due dated "
    "early mid late earlier later last next this coming following previous past starting beginning "
    "throughout around = < >"
)
"""Words behind which a bare year, month or numeric date is one."""

_YMD = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)")
_CJK = re.compile(r"(\d{4})\s?[年년]\s?(\d{1,2})\s?[月월]\s?(\d{1,2})(?=\s?[日일])")
_DMY = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d\d)(?!\d)")
_COMPACT = re.compile(r"((?:19|20)\d\d)(\d\d)(\d\d)(?!\d)")
_YM = re.compile(r"((?:1[5-9]|2[01])\d\d)[-/](\d{1,2})(?![-/.]?\d)")
_MY = re.compile(r"(\d{1,2})/((?:19|20)\d\d)(?![-/.]?\d)")
_MD = re.compile(r"(\d{1,2})([-/.])(\d{1,2})(?!\d)(?![-/.]\d{4})")
_SEASON = timedelta(days=92)
_RECURRING = frozenset({"a", "an", "every", "each", "any", "some"})
_DAY_WORDS = {"today": 0, "tomorrow": 1, "tmrw": 1, "tmr": 1, "yesterday": -1, "overmorrow": 2}


def numeric(reader: Reader, at: int, *, loose: bool) -> Hit:
    """Read a date in figures; where day and month can be exchanged, both readings, the month first."""
    if not reader.word(at).isdecimal():
        return None
    written = reader.match(_CJK, at)
    if written:
        year, month, day = (int(written[0][group]) for group in (1, 2, 3))
        return _dated(((year, month, day),)), written[1]
    before = reader.word(at - 1)
    if reader.glued(at) and (before in {".", ":", "/", "$", "€"} or before.isalpha()):
        return None
    for pattern, order in ((_YMD, (1, 3, 4)), (_COMPACT, (1, 2, 3))):
        hit = reader.match(pattern, at)
        if hit:
            year, month, day = (int(hit[0][group]) for group in order)
            if valid(year, month, day) or pattern is _YMD:
                return _dated(((year, month, day),)), hit[1]
    return _day_month_year(reader, at) or _year_month(reader, at) or _day_month(reader, at, loose=loose)


def _dated(options: tuple[Date, ...]) -> Fields:
    kept = tuple(dict.fromkeys(option for option in options if valid(*option)))
    return Fields(dates=kept, impossible=not kept)


def _day_month_year(reader: Reader, at: int) -> Hit:
    hit = reader.match(_DMY, at)
    if hit is None:
        return None
    one, other, year = (int(hit[0][group]) for group in (1, 3, 4))
    if hit[0][2] == ".":  # nobody writes the month first with dots
        one, other = other, one
    if len(hit[0][4]) == 4:
        years = [year]
    else:
        recent = century(year, reader.now)
        years = [recent, recent + 100 if recent <= reader.now.year else recent - 100]
    monthly = ((year, one, other) for year in years)
    return _dated((*monthly, *((year, other, one) for year in years))), hit[1]


def _year_month(reader: Reader, at: int) -> Hit:
    for pattern, year, month in ((_YM, 1, 2), (_MY, 2, 1)):
        hit = reader.match(pattern, at)
        if hit and 1 <= int(hit[0][month]) <= 12:
            return Fields(year=int(hit[0][year]), month=int(hit[0][month])), hit[1]
    return None


def _day_month(reader: Reader, at: int, *, loose: bool) -> Hit:
    hit = reader.match(_MD, at)
    if hit is None:
        return None
    one, sign, other = int(hit[0][1]), hit[0][2], int(hit[0][3])
    padded = sign == "/" and (hit[0][1][0] == "0" or hit[0][3][0] == "0" or max(one, other) > 12)
    before = reader.word(at - 1)
    cued = (
        before in CUES - {"to", "of", "in", "for"}
        or before in WEEKDAYS
        or before == "the"
        or ((loose or reader.word(hit[1]) == "at") and sign == "/")
    )
    if not (cued or padded) or (one, other) == (24, 7) or reader.word(hit[1]) in {"%", "am", "pm", *UNITS}:
        return None
    said = _dated(((None, one, other), (None, other, one)))
    if before in WEEKDAYS:
        said = _on_weekday(reader, said, WEEKDAYS[before], strict=sign == "-")
        if said.impossible and sign == "-":
            return None
    return None if said.impossible and sign != "/" else (said, hit[1])


def _on_weekday(reader: Reader, said: Fields, weekday: int, *, strict: bool) -> Fields:
    """Keep the readings that fall on the weekday within three months; if none does, all of them or, if strict, none."""
    kept = []
    for option in said.dates:
        days = nearest(around(reader.now, option[1], option[2]), reader.now.date(), None)
        if any(day.weekday() == weekday and abs(day - reader.now.date()) < _SEASON for day in days):
            kept.append(option)
    options = tuple(kept) or (() if strict else said.dates)
    return Fields(dates=options, impossible=not options)


def month_date(reader: Reader, at: int, *, loose: bool) -> Hit:
    """Read a date with the month's name, its parts in any order, or the month alone where it surely is one."""
    pieces: dict[str, int] = {}
    step = stop = at
    while len(pieces) < 3:
        found = _piece(reader, step, pieces)
        if found is None:
            break
        name, value, stop = found
        pieces[name] = value
        step = _joint(reader, stop)
    if "month" not in pieces:
        return None
    if len(pieces) == 1:
        after = stop + 1 if reader.word(stop) in {"and", "or", ","} and reader.word(stop + 1) in MONTHS else stop
        year = reader.year(after + 1) if after > stop else None  # in March and April 2024
        said = Fields(month=pieces["month"], year=year[0] if year else None)
        return (said, stop) if loose or _surely_month(reader, at) else None
    return _month_fields(reader, at, pieces, stop)


def _month_fields(reader: Reader, at: int, pieces: dict[str, int], stop: int) -> Hit:
    year, month, day = pieces.get("year"), pieces["month"], pieces.get("day")
    if day is None:
        return Fields(year=year, month=month), stop
    if (
        reader.word(at) in {"may", "march"}
        and year is None
        and reader.raw(at).islower()
        and reader.word(stop).isalpha()
    ):
        verb = not reader.ordinal(at + 1) and reader.word(at - 1) not in CUES
        if verb:
            return None
    return _dated(((year, month, day),)), stop


def _piece(reader: Reader, at: int, have: dict[str, int]) -> tuple[str, int, int] | None:
    word = reader.word(at)
    if word in MONTHS and "month" not in have:
        dot = reader.word(at + 1) == "." and reader.glued(at + 1) and word in RISKY - {"may", "march", "april", "june"}
        return "month", MONTHS[word], at + 1 + dot
    year = reader.year(at)
    if year and "year" not in have and (have or word.isdecimal()):
        return "year", *year
    day = reader.ordinal(at) or reader.number(at)
    if (
        day
        and "day" not in have
        and 1 <= day[0] <= 31
        and word not in {"a", "an"}
        and not _money_or_clock(reader, at, day[1])
    ):
        return "day", *day
    return _short_year(reader, at, have)


def _money_or_clock(reader: Reader, at: int, stop: int) -> bool:
    clocked = reader.word(stop) in {":", "am", "pm", "o'clock", "oclock", "%"} and stop == at + 1
    glued = reader.glued(at) and reader.word(at - 1) in {":", "$", "€", "£"}
    dotted = (
        reader.word(stop) == "." and reader.glued(stop) and reader.word(stop + 1).isdecimal() and reader.glued(stop + 1)
    )
    return clocked or glued or dotted or reader.word(at - 1) in {"$", "€", "£"}


def _short_year(reader: Reader, at: int, have: dict[str, int]) -> tuple[str, int, int] | None:
    word = reader.word(at)
    if "year" in have or "month" not in have or len(word) != 2 or not word.isdecimal():
        return None
    between = reader.word(at - 1)
    dashed = (
        between in {"-", "/"} and reader.glued(at) and list(have) == ["day", "month"] and reader.word(at - 3) == between
    )
    return ("year", century(int(word), reader.now), at + 1) if dashed or between == "of" else None


def _joint(reader: Reader, at: int) -> int:
    """Step over what joins the parts of one date: "of", "the", a comma, a dash without spaces, "day of", "in 2016"."""
    if reader.word(at) == "day" and reader.word(at + 1) in {"of", "in"}:
        at += 1
    if reader.word(at) == "in":
        return at + 1 if reader.year(at + 1) else at
    if reader.word(at) in {"of", ",", "the"} or (
        reader.word(at) in {"-", "/"} and reader.glued(at) and reader.glued(at + 1)
    ):
        at += 1
    return at + 1 if reader.word(at) == "the" else at


def _surely_month(reader: Reader, at: int) -> bool:
    word, before = reader.word(at), reader.word(at - 1)
    listed = before in {"and", "or"} and reader.word(at - 2) in MONTHS and _surely_month(reader, at - 2)
    step = at + 1 + (reader.word(at + 1) == "of")
    if word not in RISKY or listed or (reader.word(step) in MODIFIERS and reader.word(step + 1) == "year"):
        return True
    if word in {"may", "march"}:
        # "may march", "until May", "in May": the cue decides, "to march" and "this may" need the capital.
        return before in CUES and (
            reader.raw(at)[0].isupper() or before not in {"to", "on", "for", "this", "after", "year"}
        )
    return before in CUES


def weekday(reader: Reader, at: int, *, loose: bool) -> Hit:
    """Read "Tuesday", "on Sun", "next Friday", with a day of the month behind it ("Friday the 26th")."""
    step, near = at, None
    while reader.word(step) in MODIFIERS:
        sense, step = MODIFIERS[reader.word(step)], step + 1
        near = sense if near is None or sense == "coming" else near
    word = reader.word(step)
    if word not in WEEKDAYS:
        return None
    part = reader.word(step + 1)
    plural = (len(word) > 5 and word.endswith("s")) or (part.endswith("s") and part[:-1] in PARTS)
    if near is None and (plural or reader.word(at - 1) in _RECURRING):
        return Fields(impossible=True), step + 1
    day = _day_behind(reader, step + 1)
    if word in RISKY and not (near or day or loose or _surely_weekday(reader, step)):
        return None
    said, stop = day or (None, step + 1)
    dot = (
        reader.word(stop) == "."
        and word in RISKY
        and day is None
        and reader.glued(stop)
        and reader.word(stop + 1) != ""
    )
    return Fields(weekday=WEEKDAYS[word], near=near, day=said), stop + dot


def _day_behind(reader: Reader, at: int) -> tuple[int, int] | None:
    step = at + (reader.word(at) == ",")
    step += reader.word(step) == "the"
    day = reader.ordinal(step)
    if day is None and reader.word(step).isdecimal() and int(reader.word(step)[:4]) > 12:
        after = reader.word(step + 1)
        day = None if after in {":", "/", "-", "."} and reader.glued(step + 2) else reader.number(step)
    if day is None or not 1 <= day[0] <= 31 or reader.word(day[1]) in MONTHS or reader.word(day[1]) in {"of", *UNITS}:
        return None
    return day


def _surely_weekday(reader: Reader, at: int) -> bool:
    after = reader.word(at + 1)
    beside = reader.word(at - 1) in {"(", "on", "by", "until", "since", "before", "after", "from"}
    follows = after in {"at", "morning", "afternoon", "evening", "night"} or after in MONTHS or after.isdecimal()
    sign = after in {",", "."} and (reader.word(at + 2) in MONTHS or reader.word(at + 2).isdecimal())
    return (
        beside
        or ((follows or sign) and reader.raw(at)[0].isupper())
        or (follows and reader.word(at) not in {"sun", "sat"})
    )


def modified(reader: Reader, at: int, *, loose: bool) -> Hit:
    """Read "last March", "this May", "next 5/12"."""
    near, word = MODIFIERS.get(reader.word(at)), reader.word(at + 1)
    if near is None or (near == "this" and word in {"may", "march"} and reader.raw(at + 1).islower()):
        return None
    hit = month_date(reader, at + 1, loose=True) or numeric(reader, at + 1, loose=True)
    return (replace(hit[0], near=near), hit[1]) if hit and hit[0].year is None else None


def day_of_month(reader: Reader, at: int, *, loose: bool) -> Hit:
    """Read "the 21st", and in a range a bare ordinal."""
    step = at + (reader.word(at) == "the")
    day = reader.ordinal(step)
    if day is None and step > at and reader.word(step + 1) in {"from", "between", "at"} and reader.word(at - 1) == "on":
        day = reader.number(step)
    if day is None or not 1 <= day[0] <= 31 or (step == at and not loose):
        return None
    stop = day[1]
    if reader.word(stop) == "day" and reader.word(stop + 1) == "of":
        return Fields(day=day[0]), stop + 1
    in_words = not reader.word(step).isdecimal()
    after = reader.word(stop)
    named = after != "of" or reader.word(stop + 1) in {"the", *MODIFIERS}
    ends = (
        not after.isalpha()
        or after in CUES
        or after in {"and", "at", "i", "we", "he", "she", "they", "with", "is", "was"}
    ) and named
    return (Fields(day=day[0]), stop) if loose or (ends and not in_words) else None


def relative_day(reader: Reader, at: int, *, loose: bool) -> Hit:
    """Read "today", "the day after tomorrow", "now"."""
    step = at + (reader.word(at) == "the")
    if reader.word(step) == "day" and reader.word(step + 1) in {"before", "after"}:
        side = 1 if reader.word(step + 1) == "after" else -1
        if reader.word(step + 2) in _DAY_WORDS:
            return _days_off(reader, _DAY_WORDS[reader.word(step + 2)] + side, step + 3)
        return _days_off(reader, side, step + 2) if not reader.word(step + 2).isalnum() and step > at else None
    word = reader.word(at)
    if word == "now":
        return _within((reader.now, reader.now + timedelta(seconds=1)), grain="instant"), at + 1
    return _days_off(reader, _DAY_WORDS[word], at + 1) if word in _DAY_WORDS else None


def _days_off(reader: Reader, days: int, stop: int) -> Hit:
    return _within(unit_span(shift(reader.now, days, "day"), "day"), grain="day"), stop


def _within(span: Closed, *, grain: str) -> Fields:
    return Fields(within=(span,), grain=grain)


DAY_ATOMS = (relative_day, modified, numeric, month_date, weekday)
