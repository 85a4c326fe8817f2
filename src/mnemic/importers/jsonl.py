"""How are plain JSON Lines read, one memory an object?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mnemic.chain import h
from mnemic.errors import InvalidInputError
from mnemic.importers.draft import (
    Draft,
    ImportOptions,
    Parsed,
    Row,
    Turns,
    content,
    drafts,
    given,
    inner,
    key_of,
    moment,
    text,
)
from mnemic.importers.files import records
from mnemic.types import MemoryClassification, MemoryType

NAME = "jsonl"

_CONTENT = ("content", "text", "memory")
_TIMES = ("occurred_at", "ts", "timestamp", "created_at", "date")
_ID = ("id", "key")
_PLACE = ("tenant", "tenant_id", "user", "user_id", "session", "session_id")
_KEPT = (
    "speaker",
    "name",
    "role",
    "category",
    "source",
    "importance",
    "pinned",
    "expires_at",
    "tags",
    "metadata",
    "turn",
)
_CLASSES = ("classification", "memory_type")
_KNOWN = frozenset((*_CONTENT, *_TIMES, *_ID, *_PLACE, *_KEPT, *_CLASSES))


def parse(path: Path, options: ImportOptions) -> Parsed:
    """Memories in file order; fields that are not known go into the metadata."""
    turns = Turns()

    def make(row: Row) -> Draft:
        said, session = content(row, *_CONTENT), options.session or text(row, "session", "session_id")
        values = _values(row, options)
        if "turn" not in values and (values.keys() & {"speaker", "role"}):
            values |= given(turn=turns.place(session))
        return Draft(
            key=key_of(NAME, text(row, *_ID) or h("import", NAME, session or "", str(values.get("speaker")), said)),
            content=said,
            tenant=text(row, "tenant", "tenant_id"),
            user=text(row, "user", "user_id"),
            session=session,
            options=values,
        )

    return drafts(records(path), make)


def _values(row: Row, options: ImportOptions) -> dict[str, Any]:
    time = next((row[name] for name in _TIMES if row.get(name)), None)
    return given(
        speaker=text(row, "speaker", "name"),
        role=text(row, "role"),
        category=text(row, "category"),
        source=text(row, "source"),
        importance=row.get("importance"),
        pinned=row.get("pinned"),
        turn=row.get("turn"),
        tags=_tags(row.get("tags")),
        metadata=_metadata(row),
        occurred_at=moment(time, options.timezone),
        expires_at=moment(row.get("expires_at"), options.timezone),
        classification=_one_of(MemoryClassification, row.get("classification")),
        memory_type=_one_of(MemoryType, row.get("memory_type")),
    )


def _tags(value: Any) -> list[str] | None:
    if value is None or (isinstance(value, list) and all(isinstance(tag, str) for tag in value)):
        return value
    raise InvalidInputError("tags is not a list of text")


def _metadata(row: Row) -> dict[str, Any] | None:
    return {**{name: value for name, value in row.items() if name not in _KNOWN}, **inner(row, "metadata")} or None


def _one_of(kind: type[MemoryClassification | MemoryType], value: Any) -> MemoryClassification | MemoryType | None:
    try:
        return None if value is None else kind(value)
    except ValueError as error:
        raise InvalidInputError(f"the value is none of {', '.join(kind)}") from error
