"""How are labelled evaluation folders read: ``memories.jsonl``, one object with id, tenant and text a line?"""

from __future__ import annotations

from pathlib import Path

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
from mnemic.types import MemoryClassification

NAME = "kit"

_ROLES = frozenset({"user", "assistant", "system"})


def memories_file(path: Path) -> Path:
    """The file of memories of a folder, or the file itself.

    Raises:
        InvalidInputError: The folder has none.
    """
    if not path.is_dir():
        return path
    for name in ("memories.jsonl", "memories.jsonl.gz"):
        if (path / name).is_file():
            return path / name
    raise InvalidInputError(f"{path} has no memories.jsonl or memories.jsonl.gz; name the folder that has")


def parse(path: Path, options: ImportOptions) -> Parsed:
    """Memories in file order; each row keeps its own tenant and user."""
    turns = Turns()

    def make(row: Row) -> Draft:
        said, tenant, user = content(row, "text"), text(row, "tenant"), text(row, "user")
        if (id_ := text(row, "id")) is None:
            raise InvalidInputError("no id; a row of this format has id, tenant and text")
        session = options.session or text(row, "session")
        meta = inner(row, "meta")
        return Draft(
            key=key_of(NAME, id_),
            content=said,
            tenant=tenant,
            user=user,
            session=session,
            options=given(
                speaker=_name(text(row, "speaker")),
                role=text(row, "role"),
                occurred_at=moment(row.get("ts"), options.timezone),
                classification=_classification(meta.get("scope")) if user else None,
                metadata=meta or None,
                turn=turns.place(tenant, user, session),
            ),
        )

    return drafts(records(memories_file(path)), make)


def _name(speaker: str | None) -> str | None:
    """A speaker called like a role has no name."""
    return None if speaker in _ROLES else speaker


def _classification(scope: object) -> MemoryClassification | None:
    """What a row with a user says about who may read it; without a user a memory is the agent's own."""
    try:
        return MemoryClassification(str(scope)) if scope is not None else None
    except ValueError as error:
        raise InvalidInputError("meta.scope is not private, shared or system") from error
