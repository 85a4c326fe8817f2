"""Which stretch does a text name by itself? Units with a modifier, years, decades, quarters, seasons, feasts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, time

from mnemic.retrieval.dates.atoms import CUES, day_of_month
from mnemic.retrieval.dates.calendar import FEASTS, SEASONS, Closed, day_span, shift, unit_span
from mnemic.retrieval.dates.clocks import Hit
from mnemic.retrieval.dates.fields import Fields, nearest
from mnemic.retrieval.dates.lexicon import MODIFIERS, UNITS, Reader, century

__all__ = ["PERIOD_ATOMS", "decade", "feast", "numbered", "season", "unit", "year"]

_BEYOND = {("before", "last"): -2, ("after", "next"): 2}
_FEASTS: dict[str, list[tuple[list[str], Callable[[int], date]]]] = {}
for _name, _day in FEASTS.items():
    _FEASTS.setdefault(_name.split()[0], []).append((_name.split(), _day))
_BEFORE_DECADE = frozenset({"the", "early", "mid", "late", "-"})


def _within(*spans: Closed, grain: str) -> Fields:
    return Fields(within=spans, grain=grain)


def unit(reader: Reader, at: int, *, loose: bool) -> Hit:
    """Read "last month", "the current year", "the week before last", "the month after next"."""
    step = at + (reader.word(at) == "the")
    steps = _BEYOND.get((reader.word(step + 1), reader.word(step + 2)))
    if steps:
        return _counted_off(reader, step, steps, step + 3)
    if reader.word(step) == "weekend" and step > at and reader.word(at - 1) in {"on", "over", "at", "during"}:
        last, this = (_counted_off(reader, step, steps, step + 1) for steps in (-1, 0))
        return (_within(*last[0].within, *this[0].within, grain="range"), step + 1) if last and this else None
    sense = MODIFIERS.get(reader.word(step))
    if sense is None:
        return None
    step += 1 + (reader.word(step + 1) in {"calendar", "whole", "coming", "upcoming"})
    steps = {"last": -1, "this": 0}.get(sense, 1)
    if reader.word(step) in {"working", "business", "work"} and reader.word(step + 1) == "week":
        monday = unit_span(shift(reader.now, steps, "week"), "week")[0]
        return _within((monday, shift(monday, 5, "day")), grain="range"), step + 2
    if reader.word(step) == "weekend" and sense == "coming":
        steps = 0
    return None if reader.word(step) == "second" and steps >= 0 else _counted_off(reader, step, steps, step + 1)


def _counted_off(reader: Reader, at: int, steps: int, stop: int) -> Hit:
    """Return the unit named at a place, so many units from now."""
    word, kind = reader.word(at), UNITS.get(reader.word(at))
    if word == "weekend":
        saturday = shift(unit_span(reader.now, "week")[0], 5 + 7 * steps, "day")
        return _within((saturday, shift(saturday, 2, "day")), grain="range"), stop
    final = kind == "day" and reader.word(at - 1) == "last"  # "the last day" is rarely yesterday
    if kind is None or word.endswith("s") or final:
        return None
    said = _unit(reader, kind, steps)
    # "The past month" is the calendar's last one, or the thirty days up to now.
    past = reader.word(at - 1) == "past" and kind in {"week", "month", "quarter", "year"}
    return (replace(said, wide=((shift(reader.now, -1, kind), reader.now),)) if past else said), stop


def _unit(reader: Reader, kind: str, steps: int) -> Fields:
    if kind in {"second", "minute", "hour"}:
        first, last = sorted((reader.now, shift(reader.now, steps, kind)))
        return _within((first, last), grain="range")
    start = shift(unit_span(reader.now, kind)[0], steps, kind)
    return _within((start, shift(start, 1, kind)), grain="range" if kind in {"century", "fortnight"} else kind)


def year(reader: Reader, at: int, *, loose: bool) -> Hit:
    """Read a year where something says that the number is one."""
    named = reader.word(at) in {"year", "cy"}
    step = at + (1 + (reader.word(at + 1) == "of") if named else 0)
    found = reader.year(step)
    if found is None:
        return None
    cued = loose or reader.word(at - 1) in CUES
    cued |= reader.word(found[1] + 1) in {"later", "earlier"} and reader.word(found[1]) == "or"
    bare = cued and not _inside(reader, step) and not _counts(reader, found[1])
    return (Fields(year=found[0]), found[1]) if named or bare else None


def _inside(reader: Reader, at: int) -> bool:
    before = reader.word(at - 1)
    return before in {"$", "€", "£", "#"} or (reader.glued(at) and before in {".", "/", ":"})


def _counts(reader: Reader, at: int) -> bool:
    after = reader.word(at)
    return (
        (after.isalpha() and reader.glued(at))
        or after in {"%", "°", "$", "€", "£", *UNITS}
        or (after in {".", ",", ":"} and reader.glued(at + 1) and reader.word(at + 1).isdecimal())
    )


def decade(reader: Reader, at: int, *, loose: bool) -> Hit:
    """Read "the 1990s", "the '80s", "the nineties"."""
    step = at + (reader.word(at) == "'")
    word = reader.word(step)
    if word.endswith("0") and word.isdecimal() and reader.glued(step + 1) and reader.word(step + 1) == "'":
        return _decade_in_figures(reader, at, word, step + 3) if reader.word(step + 2) == "s" else None
    if word.endswith("0") and word.isdecimal() and reader.glued(step + 1) and reader.word(step + 1) == "s":
        return _decade_in_figures(reader, at, word, step + 2)
    spoken = {"twenties": 2020, "thirties": 1930, "forties": 1940, "fifties": 1950, "sixties": 1960}
    spoken |= {"seventies": 1970, "eighties": 1980, "nineties": 1990}
    return (_decade(spoken[word]), at + 1) if word in spoken and reader.word(at - 1) in _BEFORE_DECADE else None


def _decade_in_figures(reader: Reader, at: int, word: str, stop: int) -> Hit:
    if len(word) == 4:
        return (_decade(int(word)), stop) if 1000 <= int(word) < 3000 else None
    known = len(word) == 2 and reader.word(at - 1) in _BEFORE_DECADE
    return (_decade(century(int(word), reader.now)), stop) if known else None


def _decade(start: int) -> Fields:
    return _within(unit_span(datetime.combine(date(start, 1, 1), time()), "decade"), grain="decade")


def numbered(reader: Reader, at: int, *, loose: bool) -> Hit:
    """Read "Q1 2019", "2017-Q1", "H2", "week 31 of last year" without what follows."""
    found = reader.year(at) if reader.word(at).isdecimal() else None
    if found:
        step = found[1] + (reader.word(found[1]) == "-")
        hit = _quarter(reader, step)
        return (_of_year(hit[0], hit[1], (found[0],)), hit[2]) if hit else None
    hit = None if reader.word(at) == "w" else _quarter(reader, at)
    if hit is None:
        return None
    kind, number, stop = hit
    step = stop + (reader.word(stop) in {"-", "of", ",", "in"})
    step += reader.word(step) == "the"
    behind = reader.year(step)
    if behind:
        return _of_year(kind, number, (behind[0],)), behind[1]
    relative = unit(reader, step, loose=False)
    if relative and relative[0].grain == "year":
        return _of_year(kind, number, tuple(start.year for start, _ in relative[0].within)), relative[1]
    return _nearest_number(reader, kind, number), stop


def _quarter(reader: Reader, at: int) -> tuple[str, int, int] | None:
    word, count = reader.word(at), reader.word(at + 1)
    most = {"q": 4, "h": 2, "w": 53, "week": 53}.get(word, 0)
    if not count.isdecimal() or not 1 <= int(count[:4]) <= most or (word != "week" and not reader.glued(at + 1)):
        return None
    return {"q": "quarter", "h": "half", "w": "week", "week": "week"}[word], int(count), at + 2


def _start(kind: str, number: int, year_: int) -> datetime:
    if kind == "week":
        return datetime.combine(date.fromisocalendar(year_, number, 1), time())
    return datetime.combine(date(year_, (number - 1) * (3 if kind == "quarter" else 6) + 1, 1), time())


def _of_year(kind: str, number: int, years: tuple[int, ...]) -> Fields:
    spans = []
    for one in years:
        start = _start(kind, number, one)
        end = shift(start, 6, "month") if kind == "half" else shift(start, 1, kind)
        spans.append((start, end))
    return _within(*spans, grain="range" if kind == "half" else kind)


def _nearest_number(reader: Reader, kind: str, number: int) -> Fields:
    year_ = reader.now.year
    if kind == "week":
        return _of_year(kind, number, (reader.now.isocalendar().year,))
    floor = unit_span(reader.now, "quarter")[0].date()
    starts = nearest((_start(kind, number, one).date() for one in (year_ - 1, year_, year_ + 1)), floor, None)
    return _of_year(kind, number, tuple(start.year for start in starts))


def season(reader: Reader, at: int, *, loose: bool) -> Hit:
    """Read "last summer", "in the winter of 2020", "spring 2019"."""
    near = MODIFIERS.get(reader.word(at))
    step = at + (near is not None)
    word = reader.word(step)
    if word not in SEASONS:
        return None
    behind = reader.year(step + 1 + (reader.word(step + 1) == "of"))
    cued = reader.word(at - 1) == "in" or (
        reader.word(at - 1) == "the" and reader.word(at - 2) in {"in", "during", "since", "of"}
    )
    if behind is None and near is None and not (cued and word != "fall"):
        return None
    years = (behind[0],) if behind else _season_years(reader, word, near)
    stop = behind[1] if behind else step + 1
    starts = [datetime.combine(date(one, SEASONS[word], 1), time()) for one in years]
    return _within(*((start, shift(start, 1, "season")) for start in starts), grain="season"), stop


def _season_years(reader: Reader, name: str, near: str | None) -> tuple[int, ...]:
    month = reader.now.replace(day=1)
    floor = shift(month, -(month.month % 3), "month").date()
    if near == "this":
        return (floor.year if name == "winter" else month.year,)
    around = (date(one, SEASONS[name], 1) for one in range(month.year - 2, month.year + 3))
    return tuple(day.year for day in nearest(around, floor, near))


def feast(reader: Reader, at: int, *, loose: bool) -> Hit:
    """Read a feast by name, with "next" or "last" before it or a year behind it."""
    near = MODIFIERS.get(reader.word(at))
    step = at + (near is not None)
    for words, day in _FEASTS.get(reader.word(step), ()):
        if all(reader.word(step + place) == word for place, word in enumerate(words)):
            return _feast(reader, step + len(words), Fields(feast=day, near=near))
    return None


def _feast(reader: Reader, stop: int, said: Fields) -> Hit:
    behind = reader.year(stop)
    step = behind[1] if behind else stop
    if said.feast and reader.word(step) == "weekend":
        years = (behind[0],) if behind else tuple(day.year for day in _feast_days(reader, said))
        return _within(*(_long_weekend(said.feast(one)) for one in years), grain="range"), step + 1
    return (replace(said, year=behind[0]), step) if behind else (said, stop)


def _feast_days(reader: Reader, said: Fields) -> tuple[date, ...]:
    find = said.feast
    years = range(max(1, reader.now.year - 1), min(9999, reader.now.year + 2))
    return nearest((find(one) for one in years), reader.now.date(), said.near) if find else ()


def _long_weekend(day: date) -> Closed:
    """Return the weekend at a day, with the day where it adjoins."""
    start = day_span(day)[0]
    saturday = shift(start, 5 - day.weekday() if day.weekday() >= 3 else -2 - day.weekday(), "day")
    first, last = min(start, saturday), max(shift(start, 1, "day"), shift(saturday, 2, "day"))
    adjoins = day.weekday() in {0, 4, 5, 6}
    return (first, last) if adjoins else (saturday, shift(saturday, 2, "day"))


PERIOD_ATOMS = (unit, season, feast, decade, year, day_of_month)
