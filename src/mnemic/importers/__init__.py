"""Which foreign formats can be imported, and which one is this?

Each format is a module with ``parse(path, options)``, which gives a draft for every memory and a reason for every row
that is none. ``ingest`` stores drafts through the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mnemic.errors import InvalidInputError
from mnemic.importers import chat, chatgpt, jsonl, kit, locomo, markdown
from mnemic.importers.draft import Draft, ImportOptions, Parsed, Rejected
from mnemic.importers.files import document, records

__all__ = ["FORMATS", "OWN", "Draft", "ImportOptions", "Parsed", "Rejected", "detect", "parse"]

FORMATS: dict[str, Callable[[Path, ImportOptions], Parsed]] = {
    format_.NAME: format_.parse for format_ in (jsonl, markdown, chat, chatgpt, locomo, kit)
}
OWN = "mnemic"
"""The engine's own export, which the engine reads itself: all or nothing."""

_BY_SUFFIX = {".md": markdown.NAME, ".markdown": markdown.NAME, ".txt": chat.NAME}


def parse(path: Path, format_: str, options: ImportOptions) -> Parsed:
    """Read a file or folder in a named format.

    Raises:
        InvalidInputError: There is no such format or no such path.
    """
    if format_ not in FORMATS:
        raise InvalidInputError(f"format is {format_!r}; give one of {', '.join(FORMATS)}")
    if not path.exists():
        raise InvalidInputError(f"{path} does not exist; give a file or a folder")
    return FORMATS[format_](path, options)


def detect(path: Path) -> str:
    """Tell the format by what is there.

    Raises:
        InvalidInputError: It cannot be told; the message says how to name it.
    """
    if not path.exists():
        raise InvalidInputError(f"{path} does not exist; give a file or a folder")
    found = _of_folder(path) if path.is_dir() else _of_file(path)
    if found is None:
        raise InvalidInputError(f"cannot tell the format of {path}; name it with --format {'|'.join([*FORMATS, OWN])}")
    return found


def _of_folder(folder: Path) -> str | None:
    if any((folder / name).is_file() for name in ("memories.jsonl", "memories.jsonl.gz")):
        return kit.NAME
    if (folder / "conversations.json").is_file():
        return chatgpt.NAME
    return markdown.NAME if next(folder.rglob("*.md"), None) else None


def _of_file(path: Path) -> str | None:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    last = suffixes[-1] if suffixes else ""
    if last in {".jsonl", ".ndjson"}:
        return _of_rows(path)
    return _of_document(path) if last == ".json" else _BY_SUFFIX.get(last)


def _of_rows(path: Path) -> str:
    first = next((item[1] for item in records(path) if not isinstance(item, Rejected)), {})
    if first.get("type") == "mnemic-export":
        return OWN
    return kit.NAME if first.keys() >= {"id", "tenant", "text"} else jsonl.NAME


def _of_document(path: Path) -> str | None:
    data = document(path)
    first = data[0] if isinstance(data, list) and data else data
    if not isinstance(first, dict):
        return None
    return chatgpt.NAME if "mapping" in first else locomo.NAME if "conversation" in first else None
