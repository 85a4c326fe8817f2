"""Which stretch does a whole expression mean? Ranges, open sides and lengths around the moments in them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from mnemic.retrieval.dates.calendar import Span, unit_span
from mnemic.retrieval.dates.clocks import Hit, hours
from mnemic.retrieval.dates.durations import duration, lasting, moved, stretch
from mnemic.retrieval.dates.fields import Fields, Found, merge, resolve, without_time
from mnemic.retrieval.dates.lexicon import MONTHS, UNITS, Reader
from mnemic.retrieval.dates.moments import moment

__all__ = ["Result", "expression"]

Result = tuple[Found, int] | None

_JOINTS = frozenset({"-", "\u2013", "\u2014", "to", "until", "till", "til", "through", "thru"})
_SINCE = frozenset({"since", "starting", "beginning"})
_UNTIL = frozenset({"until", "till", "by", "before"})
_LATER = frozenset({"after", "later", "greater", "onward", "onwards", "beyond", "up"})
_EARLIER = frozenset({"before", "earlier", "older"})
_CLOCKED = frozenset({"instant", "minute", "hour"})


def expression(reader: Reader, at: int) -> Result:
    """Read the expression that begins at a token; the longest way to read it wins.

    Returns:
        Its readings and the token behind it; None where none begins. A result without readings is an impossible date.
    """
    for read in (_ranged, _for_from, stretch, _to_date, _open):
        found = read(reader, at)
        if found:
            return found
    return _single(reader, at)


def _single(reader: Reader, at: int) -> Result:
    hit = moment(reader, at)
    if hit is None:
        return None
    said, stop = hit
    found = resolve(said, reader.now)
    if found is None:
        return Found((), ""), stop
    return _ended(reader, said, found, stop) or _limited(reader, said, stop) or (found, stop)


def _ended(reader: Reader, said: Fields, found: Found, at: int) -> Result:
    """Read what follows a moment: "and after", "or earlier", "onwards", "for 7 hours"."""
    step = at + (reader.word(at) in {"and", "or"})
    word = reader.word(step)
    if (step > at and word in _LATER) or word in {"onward", "onwards"}:
        return Found(tuple((start, None) for start, _ in found.spans), "range", zone=found.zone), step + 1
    if step > at and word in _EARLIER:
        return Found(tuple((None, end) for _, end in found.spans), "range", zone=found.zone), step + 1
    size = duration(reader, at + 1) if reader.word(at) == "for" else None
    if size is None:
        return None
    clocked = moment(reader, size[1] + 1) if reader.word(size[1]) in {"from", "starting", "at"} else None
    joined = merge(said, clocked[0]) if clocked else None
    later = resolve(joined, reader.now) if joined else None
    if clocked and later:
        return Found(lasting(later.spans, size[0]), "range", zone=later.zone), clocked[1]
    return Found(lasting(found.spans, size[0]), "range", zone=found.zone), size[1]


def _limited(reader: Reader, said: Fields, at: int) -> Result:
    """Read "Thursday before 5 pm", "Wednesday later than 10 in the morning"."""
    word = reader.word(at)
    two = word == "later" and reader.word(at + 1) == "than"
    if not said.daily or said.clock or not (two or word in {"before", "after", "until", "by", "from"}):
        return None
    limit = moment(reader, at + 1 + two)
    if limit is None:
        bare = reader.number(at + 1 + two)
        limit = (Fields(clock=hours(bare[0]), clock_grain="hour"), bare[1]) if two and bare and bare[0] < 13 else None
    if limit is None or not limit[0].clock or limit[0].dated:
        return None
    joined = merge(said, limit[0])
    found = resolve(joined, reader.now) if joined else None
    if found is None:
        return None
    size = duration(reader, limit[1] + 1) if word == "from" and reader.word(limit[1]) == "for" else None
    if size:
        return Found(lasting(found.spans, size[0]), "range", zone=found.zone), size[1]
    days = [unit_span(start, "day") for start, _ in found.spans if start]
    starts = [start for start, _ in found.spans]
    if two or word in {"after", "from"}:
        ends = tuple((start, day[1]) for start, day in zip(starts, days, strict=True))
        return Found(tuple((start, None) for start in starts), "range", ends, found.zone), limit[1]
    wide = tuple((day[0], start) for start, day in zip(starts, days, strict=True))
    return Found(tuple((None, start) for start in starts), "range", wide, found.zone), limit[1]


def _for_from(reader: Reader, at: int) -> Result:
    """Read "for 9 days, from Monday", "two weeks starting on Friday"."""
    size = duration(reader, at + (reader.word(at) == "for"))
    if size is None:
        return None
    step = size[1] + (reader.word(size[1]) == ",")
    known = reader.word(step) in {"starting", "beginning"} or (reader.word(at) == "for" and reader.word(step) == "from")
    start = moment(reader, step + 1) if known else None
    found = resolve(start[0], reader.now) if start else None
    return (Found(lasting(found.spans, size[0]), "range", zone=found.zone), start[1]) if start and found else None


def _to_date(reader: Reader, at: int) -> Result:
    if (reader.word(at + 1), reader.word(at + 2)) != ("to", "date") or reader.word(at) not in UNITS:
        return None
    start, today = unit_span(reader.now, UNITS[reader.word(at)])[0], unit_span(reader.now, "day")[0]
    return Found(((start, today),), "range", wide=((start, reader.now),)), at + 3


def _open(reader: Reader, at: int) -> Result:
    """Read "since May", "until Friday", "after the year 1971", "more than 6 weeks before Easter"."""
    if reader.word(at + 1) == "than" and reader.word(at) in {"more", "less", "later", "earlier"}:
        return _compared(reader, at)
    word, step = _opening(reader, at)
    if not word:
        return None
    step += reader.word(step) in {"around", "about"}
    hit = moment(reader, step)
    found = resolve(hit[0], reader.now) if hit else None
    if hit is None:
        return None
    if found is None:
        return Found((), ""), hit[1]
    said, stop = hit
    if word in {"starting", "beginning"}:
        size = duration(reader, stop + 1) if reader.word(stop) == "for" else None
        if size:
            return Found(lasting(found.spans, size[0]), "range", zone=found.zone), size[1]
    return _opened(word, said, found, reader), stop


def _opening(reader: Reader, at: int) -> tuple[str, int]:
    words = (reader.word(at), reader.word(at + 1), reader.word(at + 2))
    if words == ("no", "later", "than"):
        return "until", at + 3
    if words[:2] in {("prior", "to"), ("up", "to")}:
        return "before", at + 2
    if words in {("as", "late", "as"), ("as", "early", "as")}:
        return ("until" if words[1] == "late" else "since"), at + 3
    if words[0] in {"<", ">"} and words[1] == "=":
        return ("through" if words[0] == "<" else "since"), at + 2
    if words[0] in _SINCE:
        return words[0], at + 1 + (words[1] in {"on", "at", "from", "in"})
    return (words[0], at + 1) if words[0] in _UNTIL or words[0] in {"after", "<", ">"} else ("", at)


def _opened(word: str, said: Fields, found: Found, reader: Reader) -> Found:
    if word in _SINCE:
        return Found(tuple((start, None) for start, _ in found.spans), "range", zone=found.zone, dated=found.dated)
    base = _whole(said, found, reader.now)
    if word in {"after", ">"}:
        coarse = base.grain not in {*_CLOCKED, "day"} and said.edge != "early"
        return Found(
            tuple((end if coarse else start, None) for start, end in base.spans),
            "range",
            zone=found.zone,
            dated=found.dated,
        )
    through = word == "through" or said.edge == "late"
    spans = tuple((None, end if through else start) for start, end in base.spans)
    inclusive = word in {"until", "till", "by"}
    wide = tuple((None, end) for _, end in base.spans) if inclusive and base.grain not in _CLOCKED else ()
    return Found(spans, "range", wide, found.zone, found.dated)


def _whole(said: Fields, found: Found, now: datetime) -> Found:
    return (resolve(replace(said, edge=None), now) or found) if said.edge else found


def _compared(reader: Reader, at: int) -> Result:
    size = duration(reader, at + 2)
    if size is None:
        return None
    side = reader.word(size[1])
    anchor = moment(reader, size[1] + 1) if side in {"before", "after", "from"} else None
    if side == "ago":
        base, stop = [unit_span(reader.now, "day")[0]], size[1] + 1
    elif anchor and (found := resolve(anchor[0], reader.now)):
        base, stop = [start for start, _ in found.spans if start], anchor[1]
    else:
        return None
    sign = -1 if side in {"ago", "before"} else 1
    ends = [(start, moved(start, size[0], sign)) for start in base]
    if reader.word(at) in {"less", "later"}:
        return Found(tuple((min(pair), max(pair)) for pair in ends), "range"), stop
    return Found(tuple((None, far) if sign < 0 else (far, None) for _, far in ends), "range"), stop


def _ranged(reader: Reader, at: int) -> Result:
    """Read "from … to …", "between … and …", "3-5 pm on Tuesday", with what stands before and behind."""
    opener = reader.word(at)
    if opener in {"from", "between"}:
        return _sides(reader, at + 1, Fields(), between=opener == "between")
    before = moment(reader, at)
    if before and not before[0].clock:
        said, stop = before
        step = stop + (reader.word(stop) in {",", "from", "between", "("})
        inner = _sides(
            reader,
            step,
            said,
            between=reader.word(stop) == "between",
            bare=reader.word(stop) not in {"from", "between"},
        )
        if inner:
            return inner
    return _sides(reader, at, Fields(), between=False, plain=True)


def _sides(reader: Reader, at: int, outer: Fields, *, between: bool, bare: bool = False, plain: bool = False) -> Result:
    for counted in (True, False):
        if counted and plain and not reader.number(at):
            continue
        first = _side(reader, at, counted=counted, loose=not plain or _paired(reader, at))
        if first is None or (bare and not (first[0].clock or first[0].number)):
            continue
        joint = reader.word(first[1])
        if joint not in _JOINTS and not (between and joint == "and"):
            continue
        if plain and counted and not _rising(reader, at, first[1] + 1):
            continue
        second = _side(reader, first[1] + 1, counted=False, loose=True) or _side(
            reader, first[1] + 1, counted=True, loose=True
        )
        found = _pair(reader, outer, first[0], second[0], first[1] + 1) if second else None
        if second and found:
            return found, second[1]
    return None


def _rising(reader: Reader, first: int, second: int) -> bool:
    """Tell a range from a score: 3-5 on Tuesday, but not 3-2."""
    one, other = reader.number(first), reader.number(second)
    return not one or not other or one[0] < other[0] or one[0] in {10, 11, 12}


def _paired(reader: Reader, at: int) -> bool:
    """Tell whether two months, years or dates in figures stand together, so that each is one."""
    months = reader.word(at) in MONTHS and reader.word(at + 2) in MONTHS and reader.word(at + 1) in _JOINTS
    years = reader.word(at).isdecimal() and reader.word(at + 2).isdecimal() and reader.year(at) and reader.year(at + 2)
    if years and reader.word(at + 1) in _JOINTS and not reader.glued(at):
        return reader.word(at) < reader.word(at + 2)
    return months or (reader.word(at + 1) == "/" == reader.word(at + 5) and reader.word(at + 3) in _JOINTS)


def _side(reader: Reader, at: int, *, counted: bool, loose: bool) -> Hit:
    if counted:
        number = reader.ordinal(at) or reader.number(at)
        if number is None or not 1 <= number[0] <= 31 or reader.word(at) in {"a", "an"}:
            return None
        said, stop = Fields(number=number[0]), number[1]
        if reader.word(stop) in _JOINTS or reader.word(stop) == "and":
            return said, stop
        step = stop + (reader.word(stop) in {"of", "on", "in", ","})
        step += reader.word(step) == "the"
        more = moment(reader, step, loose=True)
        if more and more[0].dated and not more[0].clock and (joined := merge(said, more[0])):
            return joined, more[1]
        part = None if more is None or not more[0].part else merge(said, more[0])
        return (part, more[1]) if part and more else (said, stop)
    return moment(reader, at, loose=loose)


def _pair(reader: Reader, outer: Fields, first: Fields, second: Fields, at: int) -> Found | None:
    times_first = second.number is not None or _clock_first(reader, at)
    if times_first and second.dated:
        first = merge(first, without_time(second)) or first
    if second.clock and not (first.clock or first.number or second.dated or first.grain == "instant"):
        return None
    sides = [merge(side, outer) for side in (first, second)]
    start, end = (_counted(side, sides) for side in sides)
    if start is None or end is None:
        return None
    start, end = _shared(start, end)
    if start.day is not None and not end.daily:
        return None
    return _between(reader, start, end)


def _clock_first(reader: Reader, at: int) -> bool:
    """Tell whether a side of a range begins with a time of day, so that the day behind it is meant for both sides."""
    hit = moment(reader, at)
    day = moment(reader, at, depth=4)
    return bool(
        hit and hit[0].clock and hit[0].dated and day and reader.word(at).isdecimal() and not _dates_first(reader, at)
    )


def _dates_first(reader: Reader, at: int) -> bool:
    return reader.word(at + 1) in {"/", "."} or len(reader.word(at)) == 4


def _counted(side: Fields | None, sides: Iterable[Fields | None]) -> Fields | None:
    """Give a bare number its sense: an hour beside a day or a clock time, a day beside a month."""
    if side is None or side.number is None:
        return side
    every = [one for one in sides if one]
    bare = replace(side, number=None)
    if any(one.month is not None or one.grain == "month" for one in every):
        return replace(bare, day=side.number)
    if any(one.clock or one.part or one.daily for one in every) and side.number <= 24:
        clocked = not any(one.dates and not one.clock for one in every if one is not side and one.number is None)
        if clocked:
            return merge(bare, Fields(clock=hours(side.number), clock_grain="hour"))
    month = next((one.dates[0][1] for one in every if one.dates), None)
    return replace(bare, month=month, day=side.number) if month else None


def _shared(start: Fields, end: Fields) -> tuple[Fields, Fields]:
    if not end.dated and start.grain != "instant":
        end = merge(end, without_time(start)) or end
    elif end.day is not None and end.month is None and not end.within:
        month = start.month or next((month for _, month, _ in start.dates), None)
        end = replace(end, month=month, year=end.year or start.year)
    year = end.year or next((year for year, _, _ in end.dates if year), None)
    if year and start.near is None and not start.within and start.year is None:
        start = merge(start, Fields(year=year)) or start
    if start.day is not None and start.month is None and not start.within and end.month:
        start = replace(start, month=end.month)
    if end.grain == "year" and end.within and start.dated:
        start = merge(start, Fields(within=end.within, grain="year")) or start
    part = start.part or end.part
    return replace(start, part=part), replace(end, part=part)


def _points(now: datetime, said: Fields) -> tuple[list[Span], Found | None]:
    """Return where a side of a range lies: "the end of May" is a point, its last."""
    found = resolve(said, now)
    if found is None or not said.edge:
        return (list(found.spans) if found else []), found
    points: list[Span] = []
    for start, end in _whole(said, found, now).spans:
        if start and end:
            middle = start + timedelta(days=(end - start).days // 2)
            points.append(({"early": start, "mid": middle}.get(said.edge, end), end))
    return points, found


def _between(reader: Reader, start: Fields, end: Fields) -> Found | None:
    (starts, first), (ends, last) = _points(reader.now, start), _points(reader.now, end)
    if first is None or last is None:
        return None
    if last.grain == "instant" and first.grain not in _CLOCKED:
        ends = [(unit_span(reader.now, "day")[0], reader.now)]
    if end.dated and not (end.within or end.near or end.year or any(year for year, _, _ in end.dates)):
        ends = [point for begin, _ in starts if begin for point in _points(begin, end)[0]]
    pairs = _matched(starts, ends)
    if not pairs and last.grain in _CLOCKED:
        pairs = _matched(
            starts, [(one + timedelta(days=1), two and two + timedelta(days=1)) for one, two in ends if one]
        )
    spans = tuple(dict.fromkeys((begin, stop) for begin, stop, _ in pairs))
    if not spans:
        return None
    inclusive = last.grain not in _CLOCKED or last.grain == "instant"
    wide = tuple((begin, whole) for begin, _, whole in pairs) if inclusive else ()
    return Found(spans, "range", wide, first.zone or last.zone, first.dated or last.dated)


def _matched(starts: Iterable[Span], ends: list[Span]) -> list[tuple[datetime, datetime, datetime]]:
    """Pair each start with the next end behind it; of the starts on one day those with the shortest stretch."""
    pairs = []
    for begin in dict.fromkeys(start for start, _ in starts if start):
        behind = [(stop, whole or stop) for stop, whole in ends if stop and stop > begin]
        if behind:
            pairs.append((begin, *min(behind)))
    shortest: dict[object, timedelta] = {}
    for begin, stop, _ in pairs:
        shortest[begin.date()] = min(stop - begin, shortest.get(begin.date(), timedelta.max))
    return [pair for pair in pairs if pair[1] - pair[0] == shortest[pair[0].date()]]
