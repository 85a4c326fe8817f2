"""What does a labelled folder hold: what may be asked, and, apart from it, what is right?"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mnemic.errors import InvalidInputError
from mnemic.importers.draft import Rejected, Row
from mnemic.importers.files import records

_ROLES = frozenset({"user", "assistant", "system"})
_UNANSWERABLE = frozenset({"abstention", "oos", "never", "before_any"})
_CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """All that a run may know of a question."""

    id: str
    tenant: str
    user: str | None
    text: str
    ts: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What is right for one question."""

    id: str
    tenant: str
    user: str | None
    category: str
    relevant: frozenset[str]
    accepted: tuple[str, ...]
    new: frozenset[str]
    old: frozenset[str]

    @property
    def answerable(self) -> bool:
        """Whether any memory answers it."""
        return self.category not in _UNANSWERABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What a scorer knows of one memory."""

    tenant: str
    user: str | None
    private: bool
    text: str
    shown: str
    ts: str
    tokens: int
    canary: str | None

    def readable_by(self, label: Label) -> bool:
        """Same tenant, and not the private memory of another user."""
        return self.tenant == label.tenant and not (self.private and self.user != label.user)


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """Memories by id, and what is right for each question, in order."""

    name: str
    memories: dict[str, Stored]
    questions: tuple[Label, ...]


def tokens(text: str) -> int:
    """The unit of every budget of these folders: a quarter of the characters, rounded up."""
    return -(-len(text) // _CHARACTERS_A_TOKEN)


def checksum(folder: Path) -> str:
    """Name the data that a figure is about: twelve digits over the files of a folder."""
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.jsonl*")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]


def questions(folder: Path) -> list[Asked]:
    """The questions in order, without anything that tells their answers."""
    return [
        Asked(id=row["id"], tenant=row["tenant"], user=row.get("user"), text=row["text"], ts=row.get("ts"))
        for row in _rows(folder, "queries")
    ]


def labels(folder: Path) -> Labels:
    """Everything that a scorer needs.

    Raises:
        InvalidInputError: A file is missing, or a line is no row of this format.
    """
    memories: dict[str, Stored] = {}
    groups: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in _rows(folder, "memories"):
        memories[row["id"]] = _stored(row)
        groups[row["tenant"], str((row.get("meta") or {}).get("label"))].add(row["id"])
    changes = {row["id"]: row for row in _rows(folder, "updates", needed=False)}
    asked = tuple(_label(row, changes.get(row["id"], {}), groups) for row in _rows(folder, "queries"))
    return Labels(name=folder.resolve().name, memories=memories, questions=asked)


def _rows(folder: Path, kind: str, *, needed: bool = True) -> Iterator[Row]:
    found = next((p for p in (folder / f"{kind}.jsonl", folder / f"{kind}.jsonl.gz") if p.is_file()), None)
    if found is None and needed:
        raise InvalidInputError(f"{folder} has no {kind}.jsonl or {kind}.jsonl.gz; name a labelled folder")
    for item in records(found) if found else ():
        if isinstance(item, Rejected) or (kind != "updates" and not item[1].keys() >= {"id", "tenant", "text"}):
            place = item.place if isinstance(item, Rejected) else item[0]
            raise InvalidInputError(f"{kind} {place} is no object with id, tenant and text; mend the folder")
        yield item[1]


def _stored(row: Row) -> Stored:
    meta, speaker = row.get("meta") or {}, row.get("speaker")
    shown = row["text"] if speaker is None or speaker in _ROLES else f"{speaker}: {row['text']}"
    return Stored(
        tenant=row["tenant"],
        user=row.get("user"),
        private=meta.get("scope") == "private",
        text=row["text"],
        shown=shown,
        ts=row.get("ts") or "",
        tokens=tokens(shown),
        canary=meta.get("canary"),
    )


def _label(row: Row, change: Row, groups: dict[tuple[str, str], set[str]]) -> Label:
    named, answer = row.get("relevant_label"), row.get("answer")
    relevant = row.get("relevant") or () if named is None else groups.get((row["tenant"], named), ())
    return Label(
        id=row["id"],
        tenant=row["tenant"],
        user=row.get("user"),
        category=row.get("category") or "",
        relevant=frozenset(relevant),
        accepted=tuple(answer) if isinstance(answer, list) else (),
        new=frozenset(change.get("new") or ()),
        old=frozenset(change.get("old") or ()),
    )
