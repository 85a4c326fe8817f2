"""How does a result look: as JSON for programs, as tables for people? Only results go to standard output."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.progress import Task as ProgressTask
from rich.table import Table
from rich.text import Text

from mnemic.errors import ConfigurationError, MnemicError
from mnemic.types import MemoryEntry, MemoryHit, MemoryHits

_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""What could steer a terminal or turn a line around when the text of a memory is shown."""
_PREVIEW = 240
_CHANNELS = {"words": "words", "vectors": "meaning", "turns": "neighbouring turns"}
_PARTS = {
    "lexical": "words",
    "dense": "meaning",
    "literal": "exact",
    "previous": "turn before",
    "next": "turn after",
    "speaker": "speaker",
    "recency": "recent",
    "explicit": "pinned",
}
_MAIN_PARTS = 3
_EXIT_BY_STATUS = {400: 2, 401: 4, 403: 4, 404: 3, 409: 2, 413: 2, 429: 5, 501: 2, 503: 5, 504: 5, 507: 5}
INTERNAL, PARTIAL, DEGRADED = 1, 6, 10

stdout = Console(highlight=False, soft_wrap=False)
stderr = Console(stderr=True, highlight=False, soft_wrap=True)


# ---- for programs


def plain(value: Any, *, vectors: bool = False) -> Any:
    """Turn a record into JSON values under the names of its fields; vectors only where asked for."""
    if isinstance(value, MemoryHits):
        names = ("degraded", "best_score", "filtered_count", "skipped_vectors", "pending_vectors")
        return listed(value, vectors=vectors) | {name: plain(getattr(value, name)) for name in names}
    if dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return {n: plain(v, vectors=vectors) for n, v in fields.items() if vectors or n != "embedding"}
    if isinstance(value, Mapping):
        return {str(name): plain(member, vectors=vectors) for name, member in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(member, vectors=vectors) for member in value]
    return _plain_scalar(value)


def _plain_scalar(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Path):
        return str(value)
    return value.tolist() if hasattr(value, "tolist") else value


def listed(items: Iterable[Any], *, vectors: bool = False, **more: Any) -> dict[str, Any]:
    """A list as every command gives it: ``{"items": [...], ...}``."""
    return {"items": [plain(item, vectors=vectors) for item in items], **more}


def print_json(value: Any) -> None:
    """Write one JSON value to standard output."""
    stdout.file.write(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


# ---- for people


def print_(*parts: RenderableType) -> None:
    """Write to standard output."""
    for part in parts:
        stdout.print(part)


def write(text: str, *, end: str = "\n") -> None:
    """Write text to standard output as it is, without breaking its lines."""
    stdout.print(Text(shown(text)), soft_wrap=True, end=end)


def note(message: str) -> None:
    """Say something beside the result, on standard error."""
    stderr.print(Text(message, style="dim"))


def shown(text: str, limit: int | None = None) -> str:
    """A memory's text made safe for a terminal, cut to ``limit`` characters."""
    safe = _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", text)
    return safe if limit is None or len(safe) <= limit else f"{safe[: limit - 1].rstrip()}…"


def day(moment: datetime | None) -> str:
    """A date as people of every country read it."""
    return moment.strftime("%Y-%m-%d") if moment else ""


def why(hit: MemoryHit) -> str:
    """In words: which channels found it, and the main parts of its score."""
    found = ", ".join(_CHANNELS.get(channel, channel) for channel in hit.channels)
    parts = [(value, _PARTS[name]) for name, value in hit.score_parts.items() if name in _PARTS and value > 0]
    main = ", ".join(f"{name} {value:.2f}" for value, name in sorted(parts, reverse=True)[:_MAIN_PARTS])
    return f"found by {found or 'its key'}" + (f" · {main}" if main else "")


def hits_table(hits: Sequence[MemoryHit]) -> Table:
    """Hits, best first: score, date, speaker, text, and why each was found."""
    table = Table(box=None, show_edge=False, pad_edge=False, expand=True)
    for name, width in (("#", 2), ("score", 5), ("date", 10), ("who", 8)):
        table.add_column(name, width=width, no_wrap=name != "who", justify="right" if name == "#" else "left")
    table.add_column("memory", ratio=1, overflow="fold")
    for place, hit in enumerate(hits, start=1):
        memory = Text(shown(" ".join(hit.content.split()), _PREVIEW))
        memory.append(f"\n{why(hit)}\n{shown(hit.key)}", style="dim")
        speaker = shown(hit.speaker or hit.role or "", 24)
        table.add_row(str(place), f"{hit.score:.2f}", day(hit.valid_from), Text(speaker), memory)
    return table


def entries_table(entries: Sequence[MemoryEntry]) -> Table:
    """Entries by date: key, version, speaker, text."""
    table = Table(box=None, show_edge=False, pad_edge=False, expand=True)
    table.add_column("date", width=10, no_wrap=True)
    table.add_column("v", justify="right", no_wrap=True)
    table.add_column("key", max_width=24, overflow="fold")
    table.add_column("who", max_width=10, overflow="fold")
    table.add_column("memory", ratio=1, overflow="fold")
    for entry in entries:
        text = shown(" ".join(entry.content.split()), _PREVIEW)
        who = shown(entry.speaker or entry.role or "")
        table.add_row(day(entry.valid_from), str(entry.version), Text(shown(entry.key)), Text(who), Text(text))
    return table


def entry_text(entry: MemoryEntry) -> Text:
    """One entry: its text, then what is known about it."""
    facts = {
        "key": entry.key,
        "version": entry.version,
        "when": entry.valid_from.isoformat(timespec="seconds"),
        "until": entry.valid_to and entry.valid_to.isoformat(timespec="seconds"),
        "who": entry.speaker or entry.role,
        "tags": ", ".join(entry.tags),
        "class": entry.classification.value,
        "type": entry.memory_type.value,
        "session": entry.session_id,
        "source": entry.source,
        "tokens": entry.token_count,
        "metadata": json.dumps(plain(entry.metadata), ensure_ascii=False) if entry.metadata else None,
    }
    lines = "\n".join(f"{name:>9}  {shown(str(value))}" for name, value in facts.items() if value)
    return Text.assemble(shown(entry.content), "\n", (lines, "dim"))


def bars(title: str, counts: Mapping[str, float], *, unit: str = "") -> Table:
    """A small chart: one bar for each name."""
    most = max(counts.values(), default=0) or 1
    table = Table(title=title, title_justify="left", box=None, show_header=False, show_edge=False, pad_edge=False)
    table.add_column(max_width=20, overflow="ellipsis", no_wrap=True)
    table.add_column(width=36, no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for name, count in counts.items():
        bar = "█" * round(36 * count / most) or ("▏" if count else "")
        table.add_row(Text(shown(name)), Text(bar, style="cyan"), f"{count:,.0f}{unit}")
    return table


class _Rate(ProgressColumn):
    def render(self, task: ProgressTask) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", style="dim")


def progress() -> Progress:
    """A bar with a rate on standard error; silent where that is no terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        _Rate(),
        TimeElapsedColumn(),
        console=stderr,
        disable=not stderr.is_terminal,
        transient=True,
    )


# ---- errors


def exit_code(error: MnemicError) -> int:
    """The exit code of an error's class."""
    return 2 if isinstance(error, ConfigurationError) else _EXIT_BY_STATUS.get(error.http_status, INTERNAL)


def print_error(error: MnemicError, *, as_json: bool) -> None:
    """One line on standard error, or a problem object."""
    if not as_json:
        stderr.print(Text.assemble(("error ", "red"), f"{error.code}: {shown(str(error))}"))
        return
    problem = {
        "type": f"urn:mnemic:error:{error.code}",
        "title": type(error).__name__,
        "status": error.http_status,
        "detail": str(error),
        "code": error.code,
        "retryable": error.retryable,
    }
    stderr.file.write(json.dumps(problem, ensure_ascii=False) + "\n")
