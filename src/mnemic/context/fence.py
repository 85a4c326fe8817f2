"""How does packed memory look to its reader? One fence, a heading for each group, a short reference for each memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from mnemic.types import MemoryEntry

__all__ = ["CLOSE", "OPEN", "Shown", "day_of_group", "line", "owner_heading", "render", "when"]

OPEN = "<memory_context>\n"
CLOSE = "</memory_context>"
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_LONGEST_ID = 32
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_Place = tuple[str, str, str]
"""Owner, day and session, as far as a heading tells them."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A memory and as much of its content as is shown."""

    entry: MemoryEntry
    content: str


def when(entry: MemoryEntry) -> datetime:
    """The moment that an entry is about, as far as known."""
    return entry.occurred_at or entry.created_at


def owner_heading(entry: MemoryEntry) -> str:
    """Name whose memories follow, and where they came from."""
    owner = _id(entry.volk_id) + (f"/{_id(entry.user_id)}" if entry.user_id else "")
    return f"owner {owner}, origin {entry.origin}\n"


def day_of_group(entry: MemoryEntry) -> str:
    """Name a day in few characters, the same in every language setting."""
    moment = when(entry)
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


def line(number: int, shown: Shown) -> str:
    """Show one memory; markup in it is escaped, and its further lines are indented, so that none looks like ours."""
    speaker = shown.entry.speaker or shown.entry.role
    content = f"{speaker}: {shown.content}" if speaker else shown.content
    lines = [part.strip() for part in content.splitlines()]
    return f"[{number}] " + "\n  ".join(part for part in lines if part).translate(_ESCAPES) + "\n"


def render(chosen: Sequence[Shown]) -> tuple[str, list[MemoryEntry]]:
    """Write the block.

    Returns:
        The text, and the entries in the order of their references, the first being ``[1]``.
    """
    ordered = sorted(chosen, key=_by_time)
    places = _places(ordered)
    firsts: dict[tuple[str, ...], int] = {}
    for number, place in enumerate(places):
        for depth in (1, 2, 3):
            firsts.setdefault(place[:depth], number)
    # Sorting is stable: inside a group the order of time remains.
    order = sorted(range(len(ordered)), key=lambda n: [firsts[places[n][:depth]] for depth in (1, 2, 3)])
    text = _write([(places[number], ordered[number]) for number in order])
    return text, [ordered[number].entry for number in order]


def _places(ordered: Sequence[Shown]) -> list[_Place]:
    """A session is named where several memories of one of its days are shown: one alone needs no group."""
    keys = [(owner_heading(s.entry), day_of_group(s.entry), s.entry.session_id) for s in ordered]
    sizes = Counter(keys)
    return [(owner, day, _id(session) if sizes[owner, day, session] > 1 else "") for owner, day, session in keys]


def _by_time(shown: Shown) -> tuple[object, ...]:
    entry = shown.entry
    return when(entry), entry.session_id, -1 if entry.turn is None else entry.turn, entry.address


def _write(ordered: Sequence[tuple[_Place, Shown]]) -> str:
    written = [OPEN]
    before: _Place = ("", "", "")
    for number, (place, shown) in enumerate(ordered, start=1):
        if place[0] != before[0]:
            written.append(place[0])
        if place != before:
            written.append(", ".join(filter(None, place[1:])) + "\n")
        before = place
        written.append(line(number, shown))
    return "".join(written) + CLOSE


def _id(value: str) -> str:
    short = value if len(value) <= _LONGEST_ID else value[: _LONGEST_ID - 1] + "\u2026"
    return " ".join(short.split()).translate(_ESCAPES)
