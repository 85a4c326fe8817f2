"""How is a plain text chat read: ``[time] name: text``, in ISO form or as messengers write it?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, tzinfo
from pathlib import Path
from typing import NamedTuple

from mnemic.chain import h
from mnemic.errors import InvalidInputError
from mnemic.importers.draft import Draft, ImportOptions, Parsed, Rejected, Turns, given, key_of, moment
from mnemic.importers.files import whole_text

NAME = "chat"

_ISO = r"\d{4}-\d{2}-\d{2}(?:[T ]\d{1,2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:?\d{2})?)?"
_LOCAL = r"\d{1,2}[./]\d{1,2}[./]\d{2,4},? \d{1,2}:\d{2}(?::\d{2})?(?:[ \u202f][AaPp][Mm])?"
_LINE = re.compile(
    rf"\u200e?(?:\[?(?P<time>{_ISO}|{_LOCAL})\]?\s*[-\u2013]?\s*)?(?P<name>[^\W\d_][^:\n\[\]/]{{0,39}}):(?:\s+|$)(?P<said>.*)"
)
_PARTS = re.compile(r"(\d+)([./])(\d+)[./](\d+),? (\d+):(\d+)(?::(\d+))?(?:[ \u202f]([AaPp])[Mm])?")


class _Message(NamedTuple):
    line: int
    time: str | None
    name: str
    said: str


def parse(path: Path, options: ImportOptions) -> Parsed:
    """Messages in order; lines without a name go on with the message before them."""
    session = options.session or path.stem
    messages = list(_messages(whole_text(path)))
    month_first = _month_first(messages)
    turns, seen = Turns(), Counter[tuple[str | None, str, str]]()
    for message in messages:
        try:
            time = _time(message, options.timezone, month_first=month_first)
        except InvalidInputError as error:
            yield Rejected(f"line {message.line}", str(error))
            continue
        same = (message.time, message.name, message.said)
        seen[same] += 1
        # The same words twice are two messages; their count keeps the keys apart and stable when the file grows.
        key = h("import", NAME, session, message.time or "", message.name, message.said, str(seen[same]))
        values = given(speaker=message.name, role="user", occurred_at=time, turn=turns.place(session))
        yield Draft(key=key_of(NAME, key), content=message.said, session=session, options=values)


def _messages(source: str) -> Iterator[_Message]:
    held: _Message | None = None
    timed = False
    for number, line in enumerate(source.splitlines(), start=1):
        # Where messages carry times, "Note: ..." without one goes on with the message before it.
        if (match := _LINE.match(line)) and (match["time"] or not timed):
            timed = bool(match["time"])
            if held:
                yield held._replace(said=held.said.rstrip())
            held = _Message(number, match["time"], match["name"].strip(), match["said"])
        elif held:
            held = held._replace(said=f"{held.said}\n{line}")
        elif line.strip():
            yield _Message(number, None, "", line)
    if held:
        yield held._replace(said=held.said.rstrip())


def _month_first(messages: list[_Message]) -> bool:
    """Whether slashed dates begin with the month: only if one of them cannot be read the other way."""
    dates = [match for message in messages if message.time and (match := _PARTS.fullmatch(message.time))]
    slashed = [(int(match[1]), int(match[3])) for match in dates if match[2] == "/"]
    return any(second > 12 for _, second in slashed) and all(first <= 12 for first, _ in slashed)


def _time(message: _Message, zone: tzinfo, *, month_first: bool) -> datetime | None:
    if not message.name or not message.said:
        raise InvalidInputError("no text, or text before the first 'name: text'")
    return moment(_iso(message.time, month_first=month_first), zone)


def _iso(time: str | None, *, month_first: bool) -> str | None:
    if time is None or (match := _PARTS.fullmatch(time)) is None:
        return time
    first, second, year, hour = (int(match[n]) for n in (1, 3, 4, 5))
    day, month = (second, first) if month_first and match[2] == "/" else (first, second)
    if match[8]:
        hour = hour % 12 + (12 if match[8] in "Pp" else 0)
    try:
        return datetime(year + 2000 * (year < 100), month, day, hour, int(match[6]), int(match[7] or 0)).isoformat()  # noqa: DTZ001 - the zone comes with the options
    except ValueError as error:
        raise InvalidInputError("the date of the line does not exist") from error
