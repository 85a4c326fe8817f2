"""How is a file of unknown origin read within bounds?"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mnemic.errors import InvalidInputError, LimitError
from mnemic.importers.draft import Rejected, Row

MAX_BYTES = 1 << 30
"""Bytes of one input, unpacked: more would not fit beside the model on a small machine."""
MAX_LINE_BYTES = 16 << 20
MAX_FILES = 100_000


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Numbered lines of a plain or gzipped file.

    Raises:
        InvalidInputError: The file cannot be read, or is no gzip file though its name says so.
        LimitError: The file, unpacked, or a line is too long.
    """
    total = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE_BYTES + 1):
                number, total = number + 1, total + len(line)
                if len(line) > MAX_LINE_BYTES or total > MAX_BYTES:
                    raise LimitError(
                        f"{path.name} line {number}: a line has at most {MAX_LINE_BYTES} bytes and a file {MAX_BYTES}, "
                        "unpacked; split the file"
                    )
                yield number, line
    except (OSError, EOFError) as error:
        raise InvalidInputError(f"cannot read {path}: {_reason(error)}") from error


def _reason(error: OSError | EOFError) -> str:
    return getattr(error, "strerror", None) or str(error)


def records(path: Path) -> Iterator[tuple[str, Row] | Rejected]:
    """Objects of a JSON Lines file with their place; a line that is none is set aside."""
    for number, line in lines(path):
        if not line.strip():
            continue
        place = f"line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            yield Rejected(place, "not a JSON value in UTF-8")
            continue
        yield (place, row) if isinstance(row, dict) else Rejected(place, "not a JSON object")


def document(path: Path) -> Any:
    """A whole JSON file.

    Raises:
        InvalidInputError: It is not one.
    """
    try:
        return json.loads(b"".join(line for _, line in lines(path)))
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{path} is not a JSON file in UTF-8; export it again") from error


def whole_text(path: Path) -> str:
    """A whole text file in UTF-8.

    Raises:
        InvalidInputError: It is not one.
    """
    try:
        return b"".join(line for _, line in lines(path)).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is not text in UTF-8; convert it first") from error


def walk(folder: Path, *suffixes: str) -> list[Path]:
    """Files below a folder by name, hidden ones and links left out.

    Raises:
        LimitError: There are too many.
    """
    found = [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in suffixes and path.is_file() and not _aside(path, folder)
    ]
    if len(found) > MAX_FILES:
        raise LimitError(
            f"{folder} holds {len(found)} files, at most {MAX_FILES} are read; import its folders one by one"
        )
    return found


def _aside(path: Path, folder: Path) -> bool:
    inside = path.relative_to(folder)
    steps = [folder.joinpath(*inside.parts[: n + 1]) for n in range(len(inside.parts))]
    return any(step.name.startswith(".") or step.is_symlink() for step in steps)
