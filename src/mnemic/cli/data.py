"""Which commands move whole stores: in, out, and into numbers?"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

from mnemic import importers
from mnemic.cli import output
from mnemic.cli.memory import InSession
from mnemic.cli.options import Common, run
from mnemic.engine import MemoryEngine
from mnemic.errors import InvalidInputError
from mnemic.importers.files import whole_text
from mnemic.importers.ingest import Tally, ingest
from mnemic.types import MemoryEntry, MemoryScope

_PAGE = 1000
_SIZES = (16, 64, 256, 1024)
_SHOWN_REASONS = 10


def import_(
    told: Common,
    *,
    path: Annotated[Path, typer.Argument(help="A file or a folder.")],
    format_: Annotated[
        str, typer.Option("--format", help=f"auto, {', '.join([*importers.FORMATS, importers.OWN])}.")
    ] = "auto",
    timezone: Annotated[str, typer.Option(help="Zone of times that name none, like Europe/Berlin.")] = "UTC",
) -> None:
    """Take in conversations, notes or an own export; a second import of the same adds nothing."""
    chosen = importers.detect(path) if format_ == "auto" else format_
    if chosen == importers.OWN:
        _import_own(told, path)
        return
    options = importers.ImportOptions(session=told.session, timezone=_zone(timezone))
    rows = importers.parse(path, chosen, options)

    async def work(memory: MemoryEngine) -> Tally:
        with output.progress() as bar:
            task = bar.add_task("import", total=None)
            return await ingest(memory, rows, source=chosen, on_progress=lambda t: bar.update(task, completed=t.total))

    tally = run(told, work)
    _show_tally(told, tally, chosen)
    if tally.set_aside:
        raise typer.Exit(output.PARTIAL)


def _zone(name: str) -> tzinfo:
    try:
        return UTC if name.upper() == "UTC" else ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise InvalidInputError(f"--timezone is {name!r}; give a name like Europe/Berlin") from None


def _import_own(told: Common, path: Path) -> None:
    lines = whole_text(path).splitlines()

    async def work(memory: MemoryEngine) -> int:
        new = await memory.import_(lines)
        await memory.flush()
        return new

    new = run(told, work)
    if told.json:
        output.print_json({"format": importers.OWN, "added": new})
    else:
        output.print_(f"{new} versions added")


def _show_tally(told: Common, tally: Tally, format_: str) -> None:
    counts: dict[str, Any] = {"added": tally.added, "updated": tally.updated, "unchanged": tally.unchanged}
    if told.json:
        reasons = [{"place": row.place, "reason": row.reason} for row in tally.set_aside]
        output.print_json({"format": format_, **counts, "set_aside": len(reasons), "reasons": reasons})
        return
    told_counts = ", ".join(f"{count} {name}" for name, count in counts.items())
    output.print_(f"{format_}: {told_counts}, {len(tally.set_aside)} set aside")
    for row in tally.set_aside[:_SHOWN_REASONS]:
        output.note(f"  {output.shown(row.place)}: {output.shown(row.reason)}")
    if (more := len(tally.set_aside) - _SHOWN_REASONS) > 0:
        output.note(f"  and {more} more; --json names them all")


def export(
    told: Common,
    *,
    out: Annotated[Path | None, typer.Option("--out", help="A file; standard output by default.")] = None,
    in_session: InSession = None,
) -> None:
    """Write everything that you may read as NDJSON: versions, edges and deletions, without vectors."""
    scope = MemoryScope(session_id=in_session) if in_session else None

    async def work(memory: MemoryEngine) -> list[str]:
        return [line async for line in memory.export(scope)]

    lines = run(told, work)
    if out is None:
        output.stdout.file.writelines(f"{line}\n" for line in lines)
        return
    try:
        _write_whole(out, lines)
    except OSError as error:
        raise InvalidInputError(f"cannot write {out}: {error.strerror}") from error
    output.note(f"{len(lines)} lines written to {out}")


def _write_whole(out: Path, lines: list[str]) -> None:
    """Write beside the file and rename, so that a full disk leaves no half export; only the owner may read it."""
    handle, name = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")
    part = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)


def stats(told: Common) -> None:
    """Show how many memories there are, since when, from where, of what kind and size."""
    figures = run(told, _figures)
    if told.json:
        output.print_json(figures)
        return
    output.print_(
        f"{figures['memories']:,} memories, {figures['tokens']:,} tokens, {figures['bytes']:,} bytes of text, "
        f"{figures['without_vector']:,} without a vector"
    )
    for title, name in (("growth by month", "by_month"), ("sources", "by_source"), ("types", "by_type")):
        output.print_("", output.bars(title, figures[name]))
    output.print_("", output.bars("tokens of a memory", figures["by_size"]))


async def _figures(memory: MemoryEngine) -> dict[str, Any]:
    months, sources, kinds, sizes = (Counter[str]() for _ in range(4))
    total, tokens, size, without = 0, 0, 0, 0
    async for entry in entries(memory):
        total, tokens, size = total + 1, tokens + entry.token_count, size + len(entry.content.encode())
        without += entry.embedding_model is None
        months[entry.valid_from.strftime("%Y-%m")] += 1
        sources[entry.source] += 1
        kinds[entry.memory_type.value] += 1
        sizes[_size(entry.token_count)] += 1
    order = [_size(limit) for limit in (*_SIZES, _SIZES[-1] + 1)]
    return {
        "memories": total,
        "tokens": tokens,
        "bytes": size,
        "without_vector": without,
        "by_month": dict(sorted(months.items())),
        "by_source": dict(sources.most_common()),
        "by_type": dict(kinds.most_common()),
        "by_size": {name: sizes[name] for name in order},
    }


def _size(tokens: int) -> str:
    limit = next((limit for limit in _SIZES if tokens <= limit), None)
    return f"over {_SIZES[-1]}" if limit is None else f"to {limit}"


async def entries(memory: MemoryEngine) -> AsyncIterator[MemoryEntry]:
    """Every memory that the caller may read, page by page."""
    cursor: str | None = None
    while True:
        page = await memory.retrieve_by(limit=_PAGE, cursor=cursor)
        for entry in page.items:
            yield entry
        if (cursor := page.next_cursor) is None:
            return
