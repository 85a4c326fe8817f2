"""How does packed memory look to its reader? One fence, a heading for each group, a short reference for each memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from mnemic.types import MemoryEntry
from mnemic.words import day_of

__all__ = ["CLOSE", "OPEN", "Shown", "day_heading", "line", "owner_heading", "render", "when"]

OPEN = "<memory_context>\n"
CLOSE = "</memory_context>"
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_LONGEST_ID = 32


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


def day_heading(entry: MemoryEntry) -> str:
    """Name day and session of the memories that follow."""
    return f"{day_of(entry)}, {_id(entry.session_id)}\n"


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
    firsts: dict[str, int] = {}
    days: dict[tuple[str, str], int] = {}
    for place, shown in enumerate(ordered):
        owner = owner_heading(shown.entry)
        firsts.setdefault(owner, place)
        days.setdefault((owner, day_heading(shown.entry)), place)
    ordered.sort(key=lambda shown: _by_group(shown, firsts, days))
    return _write(ordered), [shown.entry for shown in ordered]


def _by_time(shown: Shown) -> tuple[object, ...]:
    entry = shown.entry
    return when(entry), entry.session_id, -1 if entry.turn is None else entry.turn, entry.address


def _by_group(shown: Shown, firsts: Mapping[str, int], days: Mapping[tuple[str, str], int]) -> tuple[int, int]:
    # Sorting is stable: inside a group the order of time remains.
    owner = owner_heading(shown.entry)
    return firsts[owner], days[owner, day_heading(shown.entry)]


def _write(ordered: Sequence[Shown]) -> str:
    written, owner, day = [OPEN], "", ""
    for number, shown in enumerate(ordered, start=1):
        headings = owner_heading(shown.entry), day_heading(shown.entry)
        if headings[0] != owner:
            written.append(headings[0])
        if headings != (owner, day):
            written.append(headings[1])
        owner, day = headings
        written.append(line(number, shown))
    return "".join(written) + CLOSE


def _id(value: str) -> str:
    short = value if len(value) <= _LONGEST_ID else value[: _LONGEST_ID - 1] + "\u2026"
    return " ".join(short.split()).translate(_ESCAPES)
