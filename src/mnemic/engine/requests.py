"""What is asked of the engine to write: values that are checked once, on every path alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from mnemic.config import LimitSettings
from mnemic.engine import limits as check
from mnemic.errors import InvalidInputError
from mnemic.ports.engine import BatchItem
from mnemic.types import Address, MemoryClassification, MemoryType, Origin, Vector, check_id, utc

__all__ = ["Change", "Draft", "check_whole", "draft_of", "one_of"]

E = TypeVar("E", bound=StrEnum)

_CATEGORIES = (
    "fact",
    "decision",
    "observation",
    "preference",
    "instruction",
    "event",
    "relationship",
    "error",
    "unknown",
)
_WHOLE = 1 << 53


def one_of(name: str, kind: type[E], value: str) -> E:
    """Read a value as a member of an enum.

    Raises:
        InvalidInputError: It is none; the message lists the members.
    """
    try:
        return kind(value)
    except ValueError:
        raise InvalidInputError(f"{name} is {value!r}; give one of {', '.join(kind)}") from None


def check_whole(name: str, value: object) -> None:
    """Refuse what is neither None nor a whole number from 0."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _WHOLE:
        raise InvalidInputError(f"{name} is {value!r}; give a whole number from 0, or None")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The parameters of ``store``."""

    content: str
    key: str | None = None
    tags: Sequence[str] | None = None
    metadata: Mapping[str, Any] | None = field(default=None, hash=False)
    classification: MemoryClassification = MemoryClassification.PRIVATE
    task_id: str | None = None
    memory_type: MemoryType = MemoryType.LONG_TERM
    category: str = "unknown"
    speaker: str | None = None
    role: str | None = None
    turn: int | None = None
    importance: float = 0.5
    source: str = "unknown"
    origin: Origin = Origin.AGENT
    pinned: bool = False
    occurred_at: datetime | None = None
    expires_at: datetime | None = None
    derived_from: Sequence[Address] = ()
    embedding: Sequence[float] | Vector | None = field(default=None, compare=False)
    expected_version: int | None = None
    idempotency_key: str | None = None
    wait_indexed: bool = False

    def checked(self, limits: LimitSettings) -> Draft:
        """Refuse what breaks a rule; give the draft in its one form.

        Raises:
            InvalidInputError, LimitError: They name the field, what is allowed and the next step.
        """
        for name in ("speaker", "role", "source", "task_id", "idempotency_key"):
            value = getattr(self, name)
            if value:
                check_id(name, value)
        if self.category not in _CATEGORIES:
            raise InvalidInputError(f"category is {self.category!r}; give one of {', '.join(_CATEGORIES)}")
        check_whole("turn", self.turn)
        check_whole("expected_version", self.expected_version)
        if not all(isinstance(address, Address) for address in self.derived_from):
            raise InvalidInputError("derived_from holds what is no Address; give entry.address of each source")
        return replace(
            self,
            content=check.check_content(self.content, limits),
            key=None if self.key is None else check.check_key(self.key, limits),
            tags=check.check_tags(self.tags, limits),
            metadata=check.check_metadata(self.metadata, limits),
            classification=one_of("classification", MemoryClassification, self.classification),
            memory_type=one_of("memory_type", MemoryType, self.memory_type),
            origin=one_of("origin", Origin, self.origin),
            importance=check.check_share("importance", self.importance),
            pinned=bool(self.pinned),
            occurred_at=_moment("occurred_at", self.occurred_at),
            expires_at=_moment("expires_at", self.expires_at),
            derived_from=tuple(self.derived_from),
        )


_OPTIONS = frozenset(f.name for f in fields(Draft)) - {"content"}


def draft_of(item: BatchItem) -> Draft:
    """Read one item of a batch.

    Raises:
        InvalidInputError: An option is none of ``store``'s parameters.
    """
    if unknown := sorted(set(item.options) - _OPTIONS):
        raise InvalidInputError(f"option {unknown[0]!r} is none of store's; give some of {', '.join(sorted(_OPTIONS))}")
    return Draft(content=item.content, **item.options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The parameters of ``update``: None leaves a field as it is."""

    content: str | None = None
    tags: Sequence[str] | None = None
    metadata: Mapping[str, Any] | None = field(default=None, hash=False)
    classification: MemoryClassification | None = None
    importance: float | None = None
    pinned: bool | None = None
    occurred_at: datetime | None = None

    def checked(self, limits: LimitSettings) -> dict[str, Any]:
        """Refuse what breaks a rule; give the fields that change."""
        changes: dict[str, Any] = {}
        if self.content is not None:
            changes["content"] = check.check_content(self.content, limits)
        if self.tags is not None:
            changes["tags"] = check.check_tags(self.tags, limits)
        if self.metadata is not None:
            changes["metadata"] = check.check_metadata(self.metadata, limits)
        if self.classification is not None:
            changes["classification"] = one_of("classification", MemoryClassification, self.classification)
        if self.importance is not None:
            changes["importance"] = check.check_share("importance", self.importance)
        if self.pinned is not None:
            changes["pinned"] = bool(self.pinned)
        if self.occurred_at is not None:
            changes["occurred_at"] = _moment("occurred_at", self.occurred_at)
        return changes


def _moment(name: str, value: object) -> datetime | None:
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise InvalidInputError(f"{name} is {type(value).__name__}; give a datetime (a naive one is read as UTC)")
    return utc(value)
