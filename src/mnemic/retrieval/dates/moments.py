"""How do the parts of one moment join? "Tuesday of next week at 9", "late May", "the first week of 1998"."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from mnemic.retrieval.dates.atoms import DAY_ATOMS
from mnemic.retrieval.dates.calendar import Closed, shift, unit_span, weeks_in
from mnemic.retrieval.dates.clocks import Hit, clock, hours, part_of_day
from mnemic.retrieval.dates.durations import offset
from mnemic.retrieval.dates.fields import Fields, merge, resolve
from mnemic.retrieval.dates.lexicon import PARTS, UNITS, WEEKDAYS, Reader
from mnemic.retrieval.dates.periods import PERIOD_ATOMS, numbered

__all__ = ["moment"]

_GLUE = frozenset({"on", "at", "in", "the", "of", ",", "(", ")", "-", "for", "sometime", "@", "around", "about"})
_EDGES = {"early": "early", "earlier": "early", "beginning": "early", "start": "early", "mid": "mid", "middle": "mid"}
_EDGES |= {"late": "late", "later": "late", "end": "late"}
_DEPTH = 4


def moment(reader: Reader, at: int, *, loose: bool = False, depth: int = 0) -> Hit:
    """Read one moment or stretch, all its parts joined.

    Args:
        reader: The text.
        at: The first token.
        loose: Take years and months without a cue, as in "May to July".
        depth: How deep expressions are nested already.

    Returns:
        What is said, and the token behind it; None where no time is named.
    """
    # The ways to read an expression begin alike; what was read once is not read again.
    key = (at, loose, depth)
    if key not in reader.moments:
        reader.moments[key] = _joined(reader, at, loose=loose, depth=depth)
    hit: Hit = reader.moments[key]
    return hit


def _joined(reader: Reader, at: int, *, loose: bool, depth: int) -> Hit:
    hit = _atom(reader, at, loose=loose, depth=depth)
    if hit is None and reader.word(at) == "the":
        hit = _atom(reader, at + 1, loose=loose, depth=depth)
    if hit is None:
        return _hour_before_part(reader, at)
    said, stop = hit
    while True:
        more = _more(reader, said, stop, depth)
        if more is None:
            return said, stop
        said, stop = more


def _atom(reader: Reader, at: int, *, loose: bool, depth: int) -> Hit:
    if not reader.word(at) or depth > _DEPTH:
        return None
    hit = _compound(reader, at, depth)
    if hit:
        return hit
    hit = offset(reader, at, lambda step: moment(reader, step, depth=depth + 1))
    if hit:
        return hit
    for read in (part_of_day, clock, numbered, *DAY_ATOMS, *PERIOD_ATOMS):
        hit = read(reader, at, loose=loose and read is not part_of_day)
        if hit:
            return hit
    return None


def _more(reader: Reader, said: Fields, at: int, depth: int) -> Hit:
    """Read the next part, over the words that may stand between."""
    step = at
    for _ in range(3):
        hit = _next_part(reader, said, step, depth)
        if hit:
            joined = merge(said, hit[0])
            if joined or step > at:
                return (joined, hit[1]) if joined else None
        if (reader.word(step) == "t" and reader.glued(step) and reader.glued(step + 1)) or reader.word(step) in _GLUE:
            step += 1
        else:
            return None
    return None


def _next_part(reader: Reader, said: Fields, at: int, depth: int) -> Hit:
    if said.daily and not said.part:
        edge = _EDGES.get(reader.word(at))
        word = reader.word(at + (edge is not None))
        if word in PARTS:
            return Fields(part=word, edge=edge if edge != "mid" else None), at + 1 + (edge is not None)
    if said.weekday is not None and not said.within:
        hit = offset(reader, at, lambda step: moment(reader, step, depth=depth + 1))
        if hit:
            return Fields(within=tuple(unit_span(start, "week") for start, _ in hit[0].within), grain="week"), hit[1]
    after_of = reader.word(at - 1) in {"of", "in"} or reader.word(at - 2) == "of"
    return _atom(reader, at, loose=after_of and said.month is None and bool(said.dates or said.day), depth=depth)


def _hour_before_part(reader: Reader, at: int) -> Hit:
    """Read "10, tonight": a bare hour that the part of the day explains."""
    hour = reader.number(at) if reader.word(at).isdecimal() else None
    if hour is None or not 1 <= hour[0] <= 12 or (reader.glued(at) and not reader.word(at - 1).isspace()):
        return None
    step = hour[1] + (reader.word(hour[1]) == ",")
    part = part_of_day(reader, step, loose=False)
    if part is None or not part[0].part:
        return None
    joined = merge(Fields(clock=hours(hour[0]), clock_grain="hour"), part[0])
    return (joined, part[1]) if joined else None


def _compound(reader: Reader, at: int, depth: int) -> Hit:
    return (
        _weekday_beside(reader, at, depth)
        or _edge(reader, at, depth)
        or _part_of_unit(reader, at, depth)
        or _unit_around(reader, at, depth)
    )


def _over(reader: Reader, at: int, words: tuple[str, ...]) -> int:
    while reader.word(at) in words:
        at += 1
    return at


def _edge(reader: Reader, at: int, depth: int) -> Hit:
    """Read "early July", "mid-March", "the end of 1987", "later this quarter"."""
    step = at + (reader.word(at) == "the")
    edge = _EDGES.get(reader.word(step))
    if edge is None:
        return None
    noun = reader.word(step) in {"end", "middle", "beginning", "start"}
    if noun and reader.word(step + 1) != "of":
        return None
    inner = _over(reader, step + 1, ("-", "of", "in", "the"))
    if noun and UNITS.get(reader.word(inner)) in {"week", "month", "year", "day"} and reader.word(inner - 1) == "the":
        kind = UNITS[reader.word(inner)]
        return Fields(within=(unit_span(reader.now, kind),), grain=kind, edge=edge), inner + 1
    hit = moment(reader, inner, loose=True, depth=depth + 1)
    if hit is None or hit[0].clock or hit[0].edge or (hit[0].part and hit[0].dated):
        return None
    said, stop = hit
    if reader.word(step) in {"later", "earlier"}:
        return _rest(reader, said, edge), stop
    return replace(said, edge=edge), stop


def _rest(reader: Reader, said: Fields, edge: str) -> Fields:
    """Cut "later this quarter" at now; longer and other units are halved or cut in thirds."""
    if said.grain in {"week", "month"} and said.within:
        start, end = said.within[0]
        today = unit_span(reader.now, "day")[0]
        if start < today < end:
            return Fields(within=((today, end) if edge == "late" else (start, today),), grain="range")
    if said.grain in {"year", "day"} and said.within:
        start, end = said.within[0]
        middle = shift(start, 6, "month") if said.grain == "year" else shift(start, 12, "hour")
        return Fields(within=((middle, end) if edge == "late" else (start, middle),), grain="range")
    return replace(said, edge=edge)


def _part_of_unit(reader: Reader, at: int, depth: int) -> Hit:
    """Read "the first week of May", "last 3 days of last year", "the third Monday of next month"."""
    step = at + (reader.word(at) == "the")
    number = (-1, step + 1) if reader.word(step) in {"last", "final"} else reader.ordinal(step)
    if number is None:
        return None
    count = reader.number(number[1]) or (1, number[1])
    kind = reader.word(count[1])
    stop = count[1] + 1
    if kind not in UNITS and kind not in WEEKDAYS and kind not in {"half", "weekend"}:
        return None
    clocked = _clocks_between(reader, stop)
    if clocked:
        stop = clocked[1]
    if reader.word(stop) not in {"of", "in"}:
        return None
    inner = moment(reader, _over(reader, stop + 1, ("the",)), loose=True, depth=depth + 1)
    found = resolve(inner[0], reader.now) if inner else None
    if inner is None or found is None or found.grain not in {"week", "month", "quarter", "season", "year", "decade"}:
        return None
    spans = [_portion(span, kind, number[0], count[0]) for span in found.spans if span[0] and span[1]]
    kept = tuple(span for span in spans if span)
    single = "range" if count[0] > 1 or kind in {"half", "weekend"} else UNITS.get(kind, "day")
    said = Fields(within=kept, grain=single, impossible=not kept)
    joined = merge(said, clocked[0]) if clocked else said
    return (joined, inner[1]) if joined else None


def _clocks_between(reader: Reader, at: int) -> Hit:
    return clock(reader, at, loose=False)


def _portion(span: tuple[datetime | None, datetime | None], kind: str, number: int, count: int) -> Closed | None:
    start, end = span
    if start is None or end is None:
        return None
    if kind in WEEKDAYS:
        return _weekday_within((start, end), WEEKDAYS[kind], number)
    if kind == "half":
        months = (end.year - start.year) * 12 + end.month - start.month
        middle = shift(start, months // 2, "month") if months > 1 else start + (end - start) / 2
        return (start, middle) if number == 1 else (middle, end)
    if kind == "weekend":
        saturday = _weekday_within((start, end), 5, number)
        return (saturday[0], saturday[0] + timedelta(days=2)) if saturday else None
    unit = UNITS[kind]
    first, last = weeks_in(start, end) if unit == "week" else (start, end)
    if number < 0:
        portion = (shift(last, -count, unit), last)
    else:
        begin = shift(first, (number - 1) * count, unit)
        portion = (begin, shift(begin, count, unit))
    return portion if first <= portion[0] and portion[1] <= last else None


def _weekday_within(span: Closed, weekday: int, number: int) -> Closed | None:
    start, end = span
    if number > 0:
        day = start + timedelta(days=(weekday - start.weekday()) % 7 + 7 * (number - 1))
    else:
        last = end - timedelta(days=1)
        day = last - timedelta(days=(last.weekday() - weekday) % 7)
    return (day, day + timedelta(days=1)) if start <= day < end else None


def _weekday_beside(reader: Reader, at: int, depth: int) -> Hit:
    """Read "the Monday after Easter"."""
    step = at + (reader.word(at) == "the")
    side = reader.word(step + 1)
    if reader.word(step) not in WEEKDAYS or side not in {"after", "before", "following"}:
        return None
    anchor = moment(reader, step + 2, depth=depth + 1)
    found = resolve(anchor[0], reader.now) if anchor else None
    if anchor is None or found is None or found.grain != "day":
        return None
    sign = -1 if side == "before" else 1
    weekday, spans = WEEKDAYS[reader.word(step)], []
    for start, _ in found.spans:
        if start:
            apart = (sign * (weekday - start.weekday()) - 1) % 7 + 1
            spans.append(unit_span(start + timedelta(days=sign * apart), "day"))
    return Fields(within=tuple(spans), grain="day"), anchor[1]


def _unit_around(reader: Reader, at: int, depth: int) -> Hit:
    """Read "the week of July 3rd", "week beginning Feb 4", "the weekend of Epiphany"."""
    step = at + (reader.word(at) == "the")
    kind, stop = reader.word(step), step + 1
    if kind == "w" and reader.word(step + 1) == "/" and reader.word(step + 2) == "c":
        kind, stop = "week", step + 3
    elif kind not in {"week", "weekend"} or reader.word(stop) not in {"of", "beginning", "starting", "commencing"}:
        return None
    else:
        stop += 1
    inner = moment(reader, stop, depth=depth + 1)
    found = resolve(inner[0], reader.now) if inner else None
    if inner is None or found is None or found.grain != "day":
        return None
    starts = [span[0] for span in found.spans if span[0]]
    if kind == "week":
        return Fields(within=tuple(unit_span(start, "week") for start in starts), grain="week"), inner[1]
    saturdays = [
        shift(start, 5 - start.weekday() if start.weekday() >= 3 else -2 - start.weekday(), "day") for start in starts
    ]
    return Fields(within=tuple((one, one + timedelta(days=2)) for one in saturdays), grain="range"), inner[1]
