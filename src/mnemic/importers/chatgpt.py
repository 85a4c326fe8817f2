"""How is a ChatGPT export read: ``conversations.json``, each conversation a tree of messages?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mnemic.errors import InvalidInputError
from mnemic.importers.draft import (
    Draft,
    ImportOptions,
    Parsed,
    Rejected,
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
from mnemic.importers.files import document

NAME = "chatgpt"

_ROLES = frozenset({"user", "assistant"})


def parse(path: Path, options: ImportOptions) -> Parsed:
    """What user and assistant said on the current path of each tree; abandoned branches are left out."""
    file = path / "conversations.json" if path.is_dir() else path
    turns = Turns()

    def make(row: Row) -> Draft:
        said = content(row, "text")
        session = options.session or text(row, "conversation")
        return Draft(
            key=key_of(NAME, row["id"]),
            content=said,
            session=session,
            options=given(
                role=text(row, "role"),
                occurred_at=moment(row["time"], options.timezone),
                metadata=given(title=text(row, "title")) or None,
                turn=turns.place(session),
            ),
        )

    return drafts(_messages(document(file)), make)


def _messages(data: Any) -> Iterator[tuple[str, Row] | Rejected]:
    for number, talk in enumerate(data if isinstance(data, list) else [data]):
        place = f"conversation {number}"
        try:
            path = _current_path(talk)
            name, title = text(talk, "conversation_id", "id") or place, text(talk, "title")
        except InvalidInputError as error:
            yield Rejected(place, str(error))
            continue
        for node, message in path:
            row = {"id": text(message, "id") or node, "conversation": name, "title": title}
            yield f"{place} message {node}", {**row, **_said(message)}


def _current_path(talk: Any) -> list[tuple[str, Row]]:
    """Visible messages of user and assistant from the root to ``current_node``."""
    nodes = talk.get("mapping") if isinstance(talk, dict) else None
    if not isinstance(nodes, dict):
        raise InvalidInputError("no object 'mapping'; this is not an exported conversation")
    path: dict[str, Row] = {}
    at = talk.get("current_node") or _last_leaf(nodes)
    while isinstance(at, str) and at not in path and isinstance(node := nodes.get(at), dict):
        path[at] = inner(node, "message")
        at = node.get("parent")
    return [(id_, message) for id_, message in reversed(path.items()) if _speaks(message)]


def _last_leaf(nodes: dict[str, Any]) -> str | None:
    """Where an old export names no current node: the last one without children."""
    return next(
        (id_ for id_, node in reversed(nodes.items()) if isinstance(node, dict) and not node.get("children")), None
    )


def _speaks(message: Row) -> bool:
    """Whether a person saw this as a message: tool calls, their results and hidden instructions are machinery."""
    if message.get("recipient", "all") != "all":
        return False
    hidden = inner(message, "metadata").get("is_visually_hidden_from_conversation")
    shown = inner(message, "content").get("content_type") in {"text", "multimodal_text"}
    return inner(message, "author").get("role") in _ROLES and shown and not hidden


def _said(message: Row) -> Row:
    parts = [part for part in message["content"].get("parts") or () if isinstance(part, str) and part.strip()]
    return {"role": message["author"]["role"], "time": message.get("create_time"), "text": "\n".join(parts)}
