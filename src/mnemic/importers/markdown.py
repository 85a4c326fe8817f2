"""How is a folder of Markdown notes read: one memory a section?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, tzinfo
from pathlib import Path
from typing import Any

import yaml

from mnemic.errors import InvalidInputError
from mnemic.importers.draft import Draft, ImportOptions, Parsed, Rejected, given, key_of, moment
from mnemic.importers.files import walk, whole_text

NAME = "markdown"

_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*$")
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_FRONT = re.compile(r"\A---\n(.*?)\n---(?:\n|\Z)", re.DOTALL)
_DATED = re.compile(r"\d{4}-\d{2}-\d{2}")
_SUFFIXES = (".md", ".markdown")


def parse(path: Path, options: ImportOptions) -> Parsed:
    """Sections of every note, each under the headings that it stands in."""
    for file in walk(path, *_SUFFIXES) if path.is_dir() else [path]:
        name = (file.relative_to(path) if path.is_dir() else Path(file.name)).as_posix()
        try:
            yield from _note(file, name, options)
        except InvalidInputError as error:
            yield Rejected(name, str(error))


def _note(file: Path, name: str, options: ImportOptions) -> Iterator[Draft]:
    front, body = _front_matter(whole_text(file).replace("\r\n", "\n"))
    values = given(
        tags=_tags(front.get("tags")),
        occurred_at=_date(front, file, options.timezone),
        metadata={"path": name},
    )
    seen: Counter[str] = Counter()
    for headings, section in _sections(body):
        anchor = "/".join(re.sub(r"\W+", "-", heading.casefold()).strip("-") for heading in headings)
        seen[anchor] += 1
        place = f"{anchor}-{seen[anchor]}" if seen[anchor] > 1 else anchor
        said = "\n".join(part for part in (" / ".join(headings), section) if part)
        yield Draft(key=key_of(NAME, f"{name}#{place}"), content=said, session=options.session, options=values)


def _front_matter(source: str) -> tuple[dict[str, Any], str]:
    if (match := _FRONT.match(source)) is None:
        return {}, source
    try:
        front = yaml.safe_load(match[1])
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InvalidInputError("the front matter between the --- lines is not YAML") from error
    return front if isinstance(front, dict) else {}, source[match.end() :]


def _tags(value: Any) -> list[str] | None:
    if isinstance(value, str):
        value = re.split(r"[,\s]+", value.strip())
    return [str(tag).lstrip("#") for tag in value if str(tag).strip("# ")] if isinstance(value, list) else None


def _date(front: dict[str, Any], file: Path, zone: tzinfo) -> datetime:
    """The note's own date, else the one that a daily note's name starts with, else when the file was last changed."""
    named = _DATED.match(file.name)
    for value in (front.get("date"), front.get("created"), named and named[0]):
        try:
            if found := moment(value.isoformat() if isinstance(value, date) else value, zone):
                return found
        except InvalidInputError:
            continue
    return datetime.fromtimestamp(file.stat().st_mtime, UTC)


def _sections(body: str) -> Iterator[tuple[list[str], str]]:
    """Text below each heading; a heading inside a fenced block is text."""
    trail: list[tuple[int, str]] = []
    held: list[str] = []
    fenced = False
    for line in body.split("\n"):
        fenced ^= bool(_FENCE.match(line))
        heading = None if fenced else _HEADING.match(line)
        if heading is None:
            held.append(line)
            continue
        yield from _filled(trail, held)
        level = len(heading[1])
        trail, held = [*(step for step in trail if step[0] < level), (level, heading[2])], []
    yield from _filled(trail, held)


def _filled(trail: list[tuple[int, str]], held: list[str]) -> Iterator[tuple[list[str], str]]:
    if section := "\n".join(held).strip():
        yield [heading for _, heading in trail], section
