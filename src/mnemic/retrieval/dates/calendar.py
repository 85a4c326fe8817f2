"""What do units, weeks, seasons and feasts mean on the calendar? Pure arithmetic of local times without a zone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta

from dateutil.easter import easter
from dateutil.relativedelta import relativedelta

__all__ = ["FEASTS", "SEASONS", "Span", "day_span", "edge_of", "month_span", "shift", "unit_span", "weeks_in"]

Span = tuple[datetime | None, datetime | None]
Closed = tuple[datetime, datetime]

_LENGTHS: dict[str, relativedelta] = {
    "second": relativedelta(seconds=1),
    "minute": relativedelta(minutes=1),
    "hour": relativedelta(hours=1),
    "day": relativedelta(days=1),
    "week": relativedelta(days=7),
    "fortnight": relativedelta(days=14),
    "month": relativedelta(months=1),
    "quarter": relativedelta(months=3),
    "season": relativedelta(months=3),
    "year": relativedelta(years=1),
    "decade": relativedelta(years=10),
    "century": relativedelta(years=100),
}
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""First month, of the northern half of the world."""


def shift(moment: datetime, count: float, unit: str) -> datetime:
    """Move a moment by so many units; a day that the month lacks becomes its last."""
    whole = int(count)
    moved: datetime = moment + _LENGTHS[unit] * whole
    further: datetime = moved + _LENGTHS[unit]
    return moved if whole == count else moved + (further - moved) * (count - whole)


def day_span(day: date) -> Closed:
    """Return the day as a span."""
    start = datetime.combine(day, time())
    return start, start + timedelta(days=1)


def month_span(year: int, month: int) -> Closed:
    """Return a month as a span."""
    return unit_span(datetime(year, month, 1), "month")  # noqa: DTZ001 - local by definition


def unit_span(moment: datetime, unit: str) -> Closed:
    """Return the calendar unit that holds a moment; weeks begin on Monday."""
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    starts: dict[str, Callable[[], datetime]] = {
        "second": lambda: moment.replace(microsecond=0),
        "minute": lambda: moment.replace(second=0, microsecond=0),
        "hour": lambda: moment.replace(minute=0, second=0, microsecond=0),
        "week": lambda: day - timedelta(days=day.weekday()),
        "fortnight": lambda: day - timedelta(days=day.weekday()),
        "month": lambda: day.replace(day=1),
        "quarter": lambda: day.replace(day=1, month=(day.month - 1) // 3 * 3 + 1),
        "year": lambda: day.replace(day=1, month=1),
        "decade": lambda: day.replace(day=1, month=1, year=day.year // 10 * 10 or 1),
        "century": lambda: day.replace(day=1, month=1, year=(day.year - 1) // 100 * 100 + 1),
    }
    start = starts.get(unit, lambda: day)()
    return start, shift(start, 1, unit)


def weeks_in(start: datetime, end: datetime) -> Closed:
    """Return the whole weeks of a month or year: a week belongs where its Thursday lies (ISO 8601)."""
    first = start + timedelta(days=(3 - start.weekday()) % 7 - 3)
    last = end - timedelta(days=1)
    return first, last - timedelta(days=(last.weekday() - 3) % 7) + timedelta(days=4)


def edge_of(span: Closed, grain: str, edge: str) -> Closed:
    """Return the early, mid or late part: thirds of months and years, halves of days and weeks."""
    start, end = span
    if grain == "month":
        marks = [start, start + timedelta(days=9), start + timedelta(days=20), end]
    elif grain == "week":
        marks = [start, start + timedelta(days=3), start + timedelta(days=3), end]
    elif grain == "day":
        marks = [start, start + timedelta(hours=10), start + timedelta(hours=14), end]
    elif grain == "decade":
        marks = [start, shift(start, 4, "year"), shift(start, 7, "year"), end]
    elif grain == "year":
        marks = [start, shift(start, 4, "month"), shift(start, 8, "month"), end]
    else:
        third = (end - start) / 3
        marks = [start, start + third, start + third * 2, end]
    if edge == "mid" and grain == "week":
        return start + timedelta(days=2), start + timedelta(days=4)
    number = ("early", "mid", "late").index(edge)
    return marks[number], marks[number + 1]


def _nth(month: int, weekday: int, number: int) -> Callable[[int], date]:
    def find(year: int) -> date:
        if number < 0:
            last = month_span(year, month)[1].date() - timedelta(days=1)
            return last - timedelta(days=(last.weekday() - weekday) % 7)
        first = date(year, month, 1)
        return first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (number - 1))

    return find


def _fixed(month: int, day: int) -> Callable[[int], date]:
    return lambda year: date(year, month, day)


def _easter(days: int) -> Callable[[int], date]:
    return lambda year: easter(year) + timedelta(days=days)


_THANKSGIVING = _nth(11, 3, 4)
FEASTS: dict[str, Callable[[int], date]] = {
    "new year eve": _fixed(12, 31),
    "new year day": _fixed(1, 1),
    "new years": _fixed(1, 1),
    "new year": _fixed(1, 1),
    "valentine day": _fixed(2, 14),
    "saint patrick day": _fixed(3, 17),
    "st patrick day": _fixed(3, 17),
    "saint patrick": _fixed(3, 17),
    "independence day": _fixed(7, 4),
    "halloween": _fixed(10, 31),
    "christmas eve": _fixed(12, 24),
    "christmas day": _fixed(12, 25),
    "christmas": _fixed(12, 25),
    "xmas": _fixed(12, 25),
    "boxing day": _fixed(12, 26),
    "ash wednesday": _easter(-46),
    "good friday": _easter(-2),
    "easter sunday": _easter(0),
    "easter monday": _easter(1),
    "easter": _easter(0),
    "pentecost": _easter(49),
    "memorial day": _nth(5, 0, -1),
    "mother day": _nth(5, 6, 2),
    "father day": _nth(6, 6, 3),
    "labor day": _nth(9, 0, 1),
    "thanksgiving day": _THANKSGIVING,
    "thanksgiving": _THANKSGIVING,
    "black friday": lambda year: _THANKSGIVING(year) + timedelta(days=1),
    "cyber monday": lambda year: _THANKSGIVING(year) + timedelta(days=4),
}
"""Feasts by name, longest names of the same beginning first: the year gives the day."""
