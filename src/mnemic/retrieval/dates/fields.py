"""Which stretches of time can it mean, what has been said of a moment? Fields, joined and resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, time, timedelta, tzinfo

from mnemic.retrieval.dates.calendar import Closed, Span, day_span, edge_of, month_span, unit_span
from mnemic.retrieval.dates.lexicon import PARTS

__all__ = ["Clock", "Date", "Fields", "Found", "around", "merge", "nearest", "resolve", "valid", "without_time"]

Date = tuple[int | None, int, int]
"""Year if known, month, day."""
Clock = tuple[int, int, int]

# A question about the evening means more than the four hours that the word stands for.
_WIDE = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 23), "night": (19, 30)}
_HALF_HOUR = timedelta(minutes=30)
_YEAR = timedelta(days=366)
_YEARS_AROUND = 9  # a leap day is at most eight years away


@dataclass(frozen=True, slots=True)
class Fields:
    """What an expression says; what it leaves open is empty. ``within`` is a stretch already resolved, of ``grain``."""

    dates: tuple[Date, ...] = ()
    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None
    near: str | None = None
    feast: Callable[[int], date] | None = None
    within: tuple[Closed, ...] = ()
    grain: str = ""
    clock: tuple[Clock, ...] = ()
    clock_grain: str = ""
    part: str | None = None
    edge: str | None = None
    zone: tzinfo | None = None
    number: int | None = None
    wide: tuple[Closed, ...] = ()
    impossible: bool = False

    @property
    def daily(self) -> bool:
        """Tell whether the fields name a day (or days)."""
        named = self.dates or self.feast or self.day is not None or self.weekday is not None
        return bool(named) or self.grain == "day"

    @property
    def dated(self) -> bool:
        """Tell whether the fields say more than a time of day."""
        return self.daily or bool(self.within) or self.month is not None or self.year is not None


@dataclass(frozen=True, slots=True)
class Found:
    """The readings of an expression, the first ``main`` of them the likely ones; ``wide`` is what a question means."""

    spans: tuple[Span, ...]
    grain: str
    wide: tuple[Span, ...] = ()
    zone: tzinfo | None = None
    dated: bool = True
    main: int | None = None


def merge(first: Fields, second: Fields) -> Fields | None:
    """Join what two neighbours say of one moment, or None where they speak of different ones."""
    if first.dated and second.dated and not (_fits(first, second) or _fits(second, first)):
        return None
    values = {}
    for field in fields(Fields):
        one, other = getattr(first, field.name), getattr(second, field.name)
        if not _empty(one) and not _empty(other) and one != other:
            return None
        values[field.name] = other if _empty(one) else one
    return Fields(**values)


def _empty(value: object) -> bool:
    return value is None or value is False or value in {"", ()}


def _fits(inner: Fields, outer: Fields) -> bool:
    """Tell whether a day or month lies within the other's larger unit, or a weekday belongs to the other's day."""
    if inner.weekday is not None and not inner.dates and inner.day is None:
        return bool(outer.dates or outer.day or outer.feast) or outer.grain in {"week", "fortnight"}
    yearless = inner.month is not None or bool(inner.feast) or any(year is None for year, _, _ in inner.dates)
    if outer.year is not None or outer.grain == "year":
        return yearless and not inner.within and inner.year is None
    return inner.day is not None and not inner.month and (outer.month is not None or outer.grain == "month")


def valid(year: int | None, month: int, day: int) -> bool:
    """Tell whether there is such a day (in a leap year, where no year is given)."""
    return _date(year if year is not None else 2000, month, day) is not None


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def nearest(days: Iterable[date], floor: date, near: str | None) -> tuple[date, ...]:
    """Choose from days in order the last before ``floor`` and the first from it on, or the one that ``near`` names."""
    past: date | None = None
    for day in days:
        if day < floor:
            past = day
        elif near == "last":
            break
        elif near not in {"next", "coming"}:
            same_year = (day,) if past is None or near == "this" else (past, day)
            return (past,) if near == "this" and past and past.year == floor.year else same_year
        elif day > floor:
            return (day,)
    return (past,) if past and near == "last" else ()


def resolve(said: Fields, now: datetime) -> Found | None:
    """Turn the fields into stretches of local time.

    Args:
        said: The fields.
        now: The moment to count from, local, without its zone.

    Returns:
        The readings, or None where the fields name no time or an impossible one.

    Raises:
        ValueError: A date outside the calendar; so does OverflowError.
    """
    if said.impossible:
        return None
    if said.daily:
        days = tuple(dict.fromkeys(_days(said, now)))
        return _timed(said, days) if days else None
    if said.clock or said.part:
        return None if said.dated or not said.clock else _timed(said, (now.date(),))
    spans, grain = _stretches(said, now)
    if said.edge and spans:
        return Found(tuple(edge_of(span, grain, said.edge) for span in spans), "range")
    return Found(spans, grain, wide=said.wide, dated=grain != "instant" or bool(said.wide)) if spans else None


def _timed(said: Fields, days: tuple[date, ...]) -> Found | None:
    dated = said.dated
    if said.clock:
        clocks = [clock for clock in said.clock if _in_part(clock, said.part)]
        moments = [datetime.combine(day, time(*clock)) for clock in clocks for day in days]
        step = {"hour": timedelta(hours=1), "minute": timedelta(minutes=1)}.get(said.clock_grain, timedelta(seconds=1))
        spans = tuple((moment, moment + step) for moment in moments)
        wide = spans if said.clock_grain == "hour" else tuple((one - _HALF_HOUR, one + _HALF_HOUR) for one in moments)
        return (
            Found(spans, said.clock_grain, wide, said.zone, dated, main=_main(said, days) or len(days))
            if spans
            else None
        )
    if said.part:
        stretches, wide = (
            tuple((_hour(day, hours[0]), _hour(day, hours[1])) for day in days)
            for hours in (PARTS[said.part], _WIDE[said.part])
        )
        if said.edge:
            stretches = tuple(_half(span, said.edge) for span in stretches)
        return Found(stretches, "range", wide=wide)
    if said.edge:
        spans = tuple(edge_of(day_span(day), "day", said.edge) for day in days)
        return Found(spans, "range")
    return Found(tuple(day_span(day) for day in days), "day", wide=said.wide, main=_main(said, days))


def _main(said: Fields, days: tuple[date, ...]) -> int | None:
    """Count the likely days: last week's of "last Friday", the month-first ones of 03/04."""
    if said.weekday is not None and said.near == "last" and not said.within:
        return 1
    month, day = said.dates[0][1:] if len(said.dates) > 1 else (0, 0)
    likely = sum((one.month, one.day) == (month, day) for one in days)
    return min(likely, 1 if said.dates[0][0] else likely) or None if month else None


def _in_part(clock: Clock, part: str | None) -> bool:
    return part is None or (clock[0] < 12) == (part == "morning")


def _hour(day: date, hour: int) -> datetime:
    return day_span(day)[0] + timedelta(hours=hour)


def _half(span: Closed, edge: str) -> Closed:
    middle = span[0] + (span[1] - span[0]) / 2
    return (span[0], middle) if edge == "early" else (middle, span[1])


def _years(said: Fields) -> tuple[int, ...]:
    if said.year is not None:
        return (said.year,)
    return tuple(span[0].year for span in said.within) if said.grain == "year" else ()


def around(now: datetime, month: int, day: int) -> Iterator[date]:
    """Yield this day of the years around now that have it, in order."""
    return _around(now, lambda year: _date(year, month, day))


def _around(now: datetime, make: Callable[[int], date | None]) -> Iterator[date]:
    for year in range(max(1, now.year - _YEARS_AROUND), min(9999, now.year + _YEARS_AROUND) + 1):
        day = make(year)
        if day is not None:
            yield day


def _days(said: Fields, now: datetime) -> Iterable[date]:
    if said.dates:
        return [day for option in said.dates for day in _dates(said, option, now)]
    if said.feast:
        return _yearly(said, now, said.feast)
    if said.day is not None:
        return _days_of_month(said, said.day, now)
    if said.weekday is not None:
        return _weekdays(said, said.weekday, now)
    return [span[0].date() for span in said.within]


def _yearly(said: Fields, now: datetime, make: Callable[[int], date | None]) -> Iterable[date]:
    years = _years(said)
    if years:
        return [day for day in map(make, years) if day is not None]
    return nearest(_around(now, make), now.date(), said.near)


def _dates(said: Fields, option: Date, now: datetime) -> Iterable[date]:
    year, month, day = option
    if year is not None:
        return [date(year, month, day)]
    days = _yearly(said, now, lambda any_year: _date(any_year, month, day))
    if said.weekday is None:
        return days
    matching = (one for one in around(now, month, day) if one.weekday() == said.weekday)
    near = [one for one in nearest(matching, now.date(), None) if abs(one - now.date()) < _YEAR]
    return days if _years(said) or not near else near


def _days_of_month(said: Fields, day: int, now: datetime) -> Iterable[date]:
    month = said.month
    if month is not None:
        return _yearly(said, now, lambda year: _date(year, month, day))
    if said.grain == "month":
        found = (_date(start.year, start.month, day) for start, _ in said.within)
        return [one for one in found if one is not None]
    months = (divmod(now.year * 12 + now.month - 1 + step, 12) for step in range(-40, 41))
    every = (_date(year, index + 1, day) for year, index in months if 0 < year < 10000)
    kept = (one for one in every if one is not None and said.weekday in {None, one.weekday()})
    return nearest(kept, now.date(), said.near)


def _weekdays(said: Fields, weekday: int, now: datetime) -> Iterable[date]:
    if said.within:
        return [(unit_span(start, "week")[0] + timedelta(days=weekday)).date() for start, _ in said.within]
    today = now.date()
    monday = today - timedelta(days=today.weekday())
    of_week = monday + timedelta(days=weekday)
    ahead = today + timedelta(days=(weekday - today.weekday()) % 7)
    if said.near == "coming":
        return [ahead if ahead > today else ahead + timedelta(days=7)]
    if said.near == "last":
        # "Last Friday" is last week's, for some the latest one.
        return [of_week - timedelta(days=7), *([of_week] if of_week < today else [])]
    steps = {"this": of_week, "next": of_week + timedelta(days=7)}
    return [steps[said.near]] if said.near else [ahead - timedelta(days=7), ahead]


def _stretches(said: Fields, now: datetime) -> tuple[tuple[Closed, ...], str]:
    month = said.month
    if month is not None:
        years = _years(said)
        floor = now.date().replace(day=1)
        firsts = (
            tuple(date(year, month, 1) for year in years)
            if years
            else nearest(_around(now, lambda year: date(year, month, 1)), floor, said.near)
        )
        return tuple(month_span(first.year, first.month) for first in firsts), "month"
    if said.within:
        return said.within, said.grain
    if said.year is not None:
        return (unit_span(datetime.combine(date(said.year, 1, 1), time()), "year"),), "year"
    return (), ""


def without_time(said: Fields) -> Fields:
    """Return what the fields say of the day alone."""
    return replace(said, clock=(), clock_grain="", part=None, number=None, zone=None)
