"""Which time does a text speak of? English expressions resolved against a moment and its zone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from mnemic.retrieval.dates.atoms import CUES
from mnemic.retrieval.dates.calendar import FEASTS, SEASONS, Span
from mnemic.retrieval.dates.fields import Found
from mnemic.retrieval.dates.foreign import foreign_date
from mnemic.retrieval.dates.lexicon import CARDINALS, MODIFIERS, MONTHS, ORDINALS, PARTS, UNITS, WEEKDAYS, Reader, words
from mnemic.retrieval.dates.phrases import expression

__all__ = ["Interval", "Mention", "mentions", "window"]

_PIECE = 2_000
_ATTEMPTS = 2_000
_FOREIGN = 200
_REACH = 6  # tokens from the first of an expression to one that surely speaks of time
_WORD = re.compile(r"[^\W\d_]+")
_DIGIT = re.compile(r"\d")
_SIGNALS = frozenset(
    {*MONTHS, *WEEKDAYS, *UNITS, *PARTS, *SEASONS}
    | {name.split()[0] for name in FEASTS}
    | words("today tomorrow tmrw tmr yesterday overmorrow tonight now noon noontime midday midnight clock oclock half")
    | words("weekend past nineteen twenty thousand am pm m")
    | {"twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties"}
)
"""A piece of text without a digit and without any of these words names no time."""
_STARTS = frozenset(
    {*MONTHS, *WEEKDAYS, *UNITS, *PARTS, *SEASONS, *CARDINALS, *ORDINALS, *MODIFIERS, *CUES}
    | {name.split()[0] for name in FEASTS}
    | words(
        "today tomorrow tmrw tmr yesterday overmorrow tonight now noon midday midnight half quarter q h w the at about"
    )
    | words(
        "twenties thirties forties fifties sixties seventies eighties nineties within over more less prior up "
        "as end mid"
    )
    | words("middle start final no cy ' = < >")
)
_AHEAD = re.compile(
    r"\b(?:will|shall|going to|plan[a-z]{0,4}|upcoming|schedule[ds]?|remind|let['\u2019]s)\b|['\u2019]ll\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Interval:
    """A stretch of time in UTC, its end excluded; an open side is None."""

    start: datetime | None
    end: datetime | None


@dataclass(frozen=True, slots=True)
class Mention:
    """A time expression in a text.

    Attributes:
        text: The expression as written.
        begin: Its first character.
        stop: The character behind it.
        interval: The preferred reading.
        grain: instant, minute, hour, day, week, month, season, quarter, year, decade or range.
        readings: All readings, the preferred first.
    """

    text: str
    begin: int
    stop: int
    interval: Interval
    grain: str
    readings: tuple[Interval, ...]


def mentions(text: str, *, now: datetime, limit: int = 16) -> list[Mention]:
    """Find the time expressions of a text, in its order.

    Args:
        text: Any text; what it says of impossible times is left out.
        now: The moment that "today" means, aware; its zone is the text's.
        limit: The most expressions to return.

    Returns:
        The expressions. The end of a range is where its last part begins, as in "from 3 to 5".

    The first name of a zone and the first month in another language read files: call it in a worker thread.
    """
    return [found[0] for found in _found(text, now, limit)]


def window(query: str, *, now: datetime) -> Interval | None:
    """Return the one time window that a question asks about, or None where it names no date.

    The last day or month of a range counts in, and "two months ago" is as wide as its unit. Of several expressions the
    narrowest wins.
    """
    windows: list[Interval] = []
    last = None
    for mention, interval, dated in _found(query, now, 16):
        listed = (
            last is not None
            and mention.grain == last.grain
            and query[last.stop : mention.begin].strip() in {"and", "or", ","}
        )
        if dated and listed and windows:
            windows[-1] = _hull(windows[-1], interval)
        elif dated:
            windows.append(interval)
        last = mention
    return min(windows, key=_length) if windows else None


def _hull(one: Interval, other: Interval) -> Interval:
    starts, ends = (one.start, other.start), (one.end, other.end)
    return Interval(
        None if None in starts else min(side for side in starts if side),
        None if None in ends else max(side for side in ends if side),
    )


def _length(interval: Interval) -> timedelta:
    return interval.end - interval.start if interval.start and interval.end else timedelta.max


def _found(text: str, now: datetime, limit: int) -> list[tuple[Mention, Interval, bool]]:
    ahead = _AHEAD.search(text[:_PIECE]) is not None
    result: list[tuple[Mention, Interval, bool]] = []
    for begin, reader, found, first, stop in _expressions(text, now):
        start, end = reader.tokens[first].begin, reader.tokens[stop - 1].stop
        intervals = _aware(found, found.spans, now)
        if not intervals:
            continue
        preferred = _preferred(intervals[: found.main], now, found.grain, ahead=ahead)
        wide = (_aware(found, found.wide, now) or intervals)[: found.main]
        mention = Mention(
            reader.text[start:end], begin + start, begin + end, preferred, found.grain, _ordered(preferred, intervals)
        )
        result.append((mention, _preferred(wide, now, found.grain, ahead=ahead), found.dated))
        if len(result) >= limit:
            break
    return result


def _expressions(text: str, now: datetime) -> Iterator[tuple[int, Reader, Found, int, int]]:
    local, left, foreign = now.replace(tzinfo=None, fold=0), _ATTEMPTS, _FOREIGN
    for begin, piece in _pieces(text):
        if not left:
            return
        reader, at = Reader(piece, local), 0
        signals = [
            place for place, token in enumerate(reader.tokens) if token.word in _SIGNALS or token.word.isdecimal()
        ]
        while signals and at < len(reader.tokens) and left:
            word = reader.word(at)
            if at > signals[0]:
                signals.pop(0)
                continue
            if signals[0] > at + _REACH or (word not in _STARTS and not word.isdecimal()):
                at += 1
                continue
            left -= 1
            hit = _try(reader, at)
            if hit is None and word.isdecimal() and foreign:
                hit, foreign = foreign_date(reader, at), foreign - 1
            if hit and hit[0].spans:
                yield begin, reader, hit[0], at, hit[1]
            at = hit[1] if hit else at + 1


def _try(reader: Reader, at: int) -> tuple[Found, int] | None:
    try:
        return expression(reader, at)
    except (ValueError, OverflowError):  # beyond the calendar's first and last year
        return None


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Cut a text where a space is near, and leave out what has no word of time."""
    begin = 0
    while begin < len(text):
        stop = begin + _PIECE
        if stop < len(text):
            space = text.rfind(" ", begin + _PIECE // 2, stop)
            stop = space if space > 0 else stop
        piece = text[begin:stop]
        if _DIGIT.search(piece) or not _SIGNALS.isdisjoint(_WORD.findall(piece.lower())):
            yield begin, piece
        begin = stop


def _aware(found: Found, spans: tuple[Span, ...], now: datetime) -> list[Interval]:
    zone = found.zone or now.tzinfo or UTC
    clocked = found.grain in {"instant", "minute", "hour"}
    result = []
    # A clock time that a change of clocks repeats has two readings; one that it leaves out has none.
    for fold in (0, 1) if clocked else (0,):
        for start, end in spans:
            try:
                interval = Interval(_utc(start, zone, fold), _utc(end, zone, fold))
                kept = not clocked or (
                    interval.start and interval.start.astimezone(zone).replace(tzinfo=None, fold=0) == start
                )
            except (ValueError, OverflowError):
                continue
            forward = interval.start is None or interval.end is None or interval.start < interval.end
            if kept and forward:
                result.append(interval)
    return list(dict.fromkeys(result))


def _utc(moment: datetime | None, zone: tzinfo, fold: int) -> datetime | None:
    """Convert a local time; one that a change of clocks leaves out moves behind the change."""
    return None if moment is None else moment.replace(tzinfo=zone, fold=fold).astimezone(UTC)


def _preferred(intervals: list[Interval], now: datetime, grain: str, *, ahead: bool) -> Interval:
    """Choose by the text's direction: the last reading that has begun (a day: ended), or the first still to come."""
    if ahead:
        coming = [one for one in intervals if one.end is None or one.end > now]
        return coming[0] if coming else intervals[0]
    past = [one for one in intervals if (one.start or one.end or now) <= now]
    if grain == "day":
        past = [one for one in past if one.end is None or one.end <= now] or past
    if not past:
        return intervals[0]
    latest = max(one.start or one.end or now for one in past)
    return next(one for one in past if (one.start or one.end or now) == latest)


def _ordered(preferred: Interval, intervals: list[Interval]) -> tuple[Interval, ...]:
    return (preferred, *(one for one in intervals if one != preferred))
