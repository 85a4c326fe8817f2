"""What does a parser of a foreign format give: a memory to store, or the reason why a row is none?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any

from mnemic.chain import h
from mnemic.errors import InvalidInputError

Row = Mapping[str, Any]

_KEY_BYTES = 256
_MILLISECONDS_FROM = 1e11
"""Numbers from here on are milliseconds: as seconds they would lie beyond the year 5000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One memory to store: where it goes, and the parameters of ``store`` by name."""

    key: str
    content: str
    tenant: str | None = None
    user: str | None = None
    session: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that was set aside: its place in the input and why, without its content."""

    place: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What the caller knows about the input: a session for all of it, and the zone of times that name none."""

    session: str | None = None
    timezone: tzinfo = UTC


Parsed = Iterator[Draft | Rejected]


def drafts(rows: Iterable[tuple[str, Row] | Rejected], make: Callable[[Row], Draft]) -> Parsed:
    """Turn rows into drafts one by one; a row that breaks a rule is set aside and stops nothing."""
    for item in rows:
        if isinstance(item, Rejected):
            yield item
            continue
        place, row = item
        try:
            yield make(row)
        except InvalidInputError as error:
            yield Rejected(place, str(error))


class Turns:
    """Counts the places within each session, from 0."""

    def __init__(self) -> None:
        self._next: Counter[tuple[str | None, ...]] = Counter()

    def place(self, *session: str | None) -> int | None:
        """The next place in that session; None where the last part, the session, is."""
        if session[-1] is None:
            return None
        self._next[session] += 1
        return self._next[session] - 1


def text(row: Row, *names: str) -> str | None:
    """The first of these fields that is there; None for none, an empty one, or null.

    Raises:
        InvalidInputError: The field holds something else than text or a whole number.
    """
    for name in names:
        value = row.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if value is not None and not isinstance(value, str):
            raise InvalidInputError(f"field {name!r} is {type(value).__name__}; give text")
        if value:
            return value
    return None


def inner(row: Row, name: str) -> Row:
    """The object in this field; an empty one where there is none.

    Raises:
        InvalidInputError: The field holds something else.
    """
    value = row.get(name)
    if value is not None and not isinstance(value, dict):
        raise InvalidInputError(f"field {name!r} is {type(value).__name__}; give an object")
    return value or {}


def content(row: Row, *names: str) -> str:
    """The text of a memory; a blank one is refused."""
    found = text(row, *names)
    if found is None or not found.strip():
        raise InvalidInputError(f"no text in {' or '.join(names)}; a memory needs some")
    return found


def moment(value: Any, zone: tzinfo = UTC) -> datetime | None:
    """Read a time: ISO 8601, or seconds or milliseconds since 1970; one without a zone is in ``zone``.

    Raises:
        InvalidInputError: The value is no time.
    """
    if value is None or value == "":
        return None
    try:
        if isinstance(value, str):
            parsed = datetime.fromisoformat(value.strip())
            return (parsed.replace(tzinfo=zone) if parsed.tzinfo is None else parsed).astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return datetime.fromtimestamp(value / 1000 if abs(value) >= _MILLISECONDS_FROM else value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise InvalidInputError(
        "the time is neither ISO 8601 nor seconds since 1970; write it like 2026-03-29T09:00:00+02:00"
    )


def key_of(format_: str, id_: str) -> str:
    """The key of an imported entry; a source id that is too long for a key gives its hash."""
    key = f"{format_}:{id_}"
    return key if len(key.encode(errors="replace")) <= _KEY_BYTES else f"{format_}:{h('import', id_)}"


def given(**options: Any) -> dict[str, Any]:
    """The options that have a value."""
    return {name: value for name, value in options.items() if value is not None}
