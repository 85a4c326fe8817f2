"""Who acts, what is asked for, and where does a memory lie?"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime

from mnemic.chain import h
from mnemic.errors import InvalidInputError

_ID_LIMIT = 128


def utc(moment: datetime) -> datetime:
    """Give a moment in UTC; one without a zone is read as UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def check_id(name: str, value: str, *, limit: int = _ID_LIMIT) -> str:
    """Refuse an id that is not 1 to ``limit`` characters of NFC text without control characters or outer space.

    Raises:
        InvalidInputError: The value breaks that rule; the message names the field and the fault.
    """
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} is {type(value).__name__}; give text of 1 to {limit} characters")
    if not value.strip() or len(value) > limit:
        raise InvalidInputError(f"{name} has {len(value)} characters; give 1 to {limit}, not only white space")
    if value != value.strip() or (not value.isascii() and value != unicodedata.normalize("NFC", value)):
        raise InvalidInputError(f"{name} has outer white space or is not in Unicode form NFC; normalise it first")
    if any(unicodedata.category(char) in {"Cc", "Cs"} for char in value):
        raise InvalidInputError(f"{name} holds a control character or a lone surrogate; remove it")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who acts; every field has a value, an empty one means none (ID-001).

    Raises:
        InvalidInputError: A field is None or breaks ID-005.
    """

    tenant_id: str = "public"
    volk_id: str = "default"
    session_id: str = "default"
    project_id: str = "default"
    portfolio_id: str = "default"
    user_id: str = ""
    client_id: str = ""
    task_id: str = ""
    crew_id: str = ""
    roles: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for name in ("tenant_id", "volk_id", "session_id", "project_id", "portfolio_id"):
            check_id(name, getattr(self, name))
        for name in ("user_id", "client_id", "task_id", "crew_id"):
            value = getattr(self, name)
            if value != "":
                check_id(name, value)
        object.__setattr__(self, "roles", frozenset(self.roles))


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryScope:
    """What is asked for; None means any, and each field only narrows (ID-002)."""

    session_id: str | None = None
    task_id: str | None = None
    volk_id: str | None = None
    project_id: str | None = None
    portfolio_id: str | None = None
    date_from: datetime | None = None
    date_to: datetime | None = None
    tenant_id: str | None = None
    user_id: str | None = None
    crew_id: str | None = None
    date_field: str = "created_at"

    def __post_init__(self) -> None:
        if self.date_field not in {"created_at", "occurred_at"}:
            raise InvalidInputError(f"date_field is {self.date_field!r}; give created_at or occurred_at")
        for name in ("date_from", "date_to"):
            moment = getattr(self, name)
            if moment is not None:
                object.__setattr__(self, name, utc(moment))


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """Where a memory lies: unique in the store (ID-004)."""

    tenant_id: str
    volk_id: str
    user_id: str
    key: str

    @property
    def uid(self) -> str:
        """The internal id: a hash over the length-prefixed parts."""
        return h("m", self.tenant_id, self.volk_id, self.user_id, self.key)
