"""What is passed around: who acts, what is asked for, what is remembered, what comes back."""

from __future__ import annotations

import dataclasses
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from mnemic.chain import h
from mnemic.errors import InvalidInputError

__all__ = [
    "Address",
    "ContextBlock",
    "DurabilityMode",
    "Health",
    "HealthStatus",
    "Identity",
    "MemoryClassification",
    "MemoryEntry",
    "MemoryHit",
    "MemoryHits",
    "MemoryScope",
    "MemorySummary",
    "MemoryType",
    "Origin",
    "Page",
    "SearchMode",
    "SummarizationStrategy",
    "SummarySection",
    "SystemEvent",
    "Vector",
    "check_id",
    "utc",
]

T = TypeVar("T")
Vector = npt.NDArray[np.float32]
"""One normalised vector, or rows of them."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_ID_LIMIT = 128
_UNSET = datetime.min.replace(tzinfo=UTC)
"""Stands for a time that ``__post_init__`` derives."""


def _nothing() -> Mapping[str, Any]:
    return _NOTHING


class MemoryClassification(StrEnum):
    """Who a memory is meant for."""

    PRIVATE = "private"
    SHARED = "shared"
    SYSTEM = "system"


class SummarizationStrategy(StrEnum):
    """By what the memories of a summary or a context are chosen."""

    RELEVANCE = "relevance"
    RECENCY = "recency"
    IMPORTANCE = "importance"
    HYBRID = "hybrid"


class MemoryType(StrEnum):
    """The kind of memory; it sets the half-life of its recency."""

    SHORT_TERM = "short_term"
    LONG_TERM = "long_term"
    EPISODIC = "episodic"
    ENTITY = "entity"
    PROCEDURAL = "procedural"

    @classmethod
    def _missing_(cls, value: object) -> MemoryType | None:
        folded = str(value).replace("_", "").casefold()
        return next((member for member in cls if member.value.replace("_", "") == folded), None)


class Origin(StrEnum):
    """Where a memory came from; ``trust`` orders origins (TYP-013)."""

    SYSTEM = "system"
    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    DOCUMENT = "document"
    IMPORT = "import"
    WEB = "web"

    @property
    def trust(self) -> int:
        """4 for the system itself, down to 0 for the web."""
        return {"system": 4, "user": 3, "agent": 2, "web": 0}.get(self.value, 1)


class SearchMode(StrEnum):
    """Which channels answer a search."""

    SEMANTIC = "semantic"
    KEYWORD = "keyword"
    HYBRID = "hybrid"


class DurabilityMode(StrEnum):
    """What an acknowledged write survives: power loss, the process's death, or nothing."""

    POWER = "power"
    PROCESS = "process"
    MEMORY = "memory"


class HealthStatus(StrEnum):
    """The whole in one word."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEntry:
    """One memory in one version (TYP-001 to 004); times are aware UTC, ``embedding`` is None unless asked for."""

    key: str
    content: str
    created_at: datetime
    summary: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=_nothing, hash=False)
    classification: MemoryClassification = MemoryClassification.PRIVATE
    embedding: Vector | None = field(default=None, compare=False, repr=False)
    updated_at: datetime = _UNSET
    volk_id: str = "default"
    session_id: str = "default"
    relevance_score: float | None = None
    tenant_id: str = "public"
    user_id: str = ""
    task_id: str = ""
    project_id: str = "default"
    portfolio_id: str = "default"
    crew_id: str = ""
    created_by: str = ""
    memory_type: MemoryType = MemoryType.LONG_TERM
    category: str = "unknown"
    importance: float = 0.5
    quality: float | None = None
    source: str = "unknown"
    origin: Origin = Origin.AGENT
    pinned: bool = False
    token_count: int = 0
    access_count: int = 0
    last_accessed_at: datetime = _UNSET
    speaker: str | None = None
    role: str | None = None
    turn: int | None = None
    version: int = 1
    recorded_at: datetime = _UNSET
    occurred_at: datetime | None = None
    expires_at: datetime | None = None
    valid_from: datetime = _UNSET
    valid_to: datetime | None = None
    superseded_by: Address | None = None
    derived_from: tuple[Address, ...] = ()
    shared_with: tuple[str, ...] = ()
    embedding_model: str | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        if self.updated_at is _UNSET:
            put(self, "updated_at", self.created_at)
        if self.recorded_at is _UNSET:
            put(self, "recorded_at", self.updated_at)
        if self.last_accessed_at is _UNSET:
            put(self, "last_accessed_at", self.created_at)
        if self.valid_from is _UNSET:
            put(self, "valid_from", self.occurred_at or self.created_at)
        if not self.created_by:
            put(self, "created_by", self.volk_id)
        if type(self.tags) is not tuple:
            put(self, "tags", tuple(dict.fromkeys(self.tags)))
        if type(self.metadata) is not MappingProxyType:
            put(self, "metadata", MappingProxyType(dict(self.metadata)))

    @property
    def address(self) -> Address:
        """Where this memory lies."""
        return Address(self.tenant_id, self.volk_id, self.user_id, self.key)

    @property
    def uid(self) -> str:
        """The internal id of the address."""
        return self.address.uid


_ENTRY_FIELDS = tuple(f.name for f in dataclasses.fields(MemoryEntry))


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHit(MemoryEntry):
    """A memory that was found: with its score, what the score is made of, and which channels found it."""

    score: float = 0.0
    score_parts: Mapping[str, float] = field(default_factory=_nothing, hash=False)
    channels: tuple[str, ...] = ()
    rank: int = 0

    @classmethod
    def of(
        cls,
        entry: MemoryEntry,
        *,
        score: float,
        score_parts: Mapping[str, float] = _NOTHING,
        channels: Sequence[str] = (),
        rank: int = 0,
    ) -> Self:
        """Make a hit of an entry; ``relevance_score`` becomes the score."""
        values = {name: getattr(entry, name) for name in _ENTRY_FIELDS}
        values["relevance_score"] = score
        return cls(
            **values, score=score, score_parts=MappingProxyType(dict(score_parts)), channels=tuple(channels), rank=rank
        )

    def entry(self) -> MemoryEntry:
        """Give the entry alone, without score."""
        values = {name: getattr(self, name) for name in _ENTRY_FIELDS}
        return MemoryEntry(**{**values, "relevance_score": None})


class MemoryHits(list[MemoryHit]):
    """Hits, best first, with what the search knows about itself (TYP-006)."""

    def __init__(
        self,
        hits: Sequence[MemoryHit] = (),
        *,
        degraded: Sequence[str] = (),
        best_score: float = 0.0,
        filtered_count: int = 0,
        skipped_vectors: int = 0,
        pending_vectors: int = 0,
    ) -> None:
        super().__init__(hits)
        self.degraded = tuple(degraded)
        self.best_score = best_score
        self.filtered_count = filtered_count
        self.skipped_vectors = skipped_vectors
        self.pending_vectors = pending_vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarySection:
    """A part of a summary and the keys it was taken from."""

    text: str
    source_keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySummary:
    """Memories in few words, each traced to its sources (TYP-007)."""

    content: str
    token_count: int
    source_count: int
    source_keys: tuple[str, ...]
    strategy: SummarizationStrategy
    created_at: datetime
    sections: tuple[SummarySection, ...] = ()
    classification: MemoryClassification = MemoryClassification.PRIVATE
    degraded: tuple[str, ...] = ()
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextBlock:
    """Text ready for a prompt, within its budget (TYP-008); ``injected[n - 1]`` is the memory shown as ``[n]``."""

    text: str
    injected: tuple[Address, ...]
    tokens_used: int
    token_budget: int
    remaining: int
    dropped: int
    strategy: SummarizationStrategy
    degraded: tuple[str, ...] = ()
    counter: str = ""
    estimated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """A part of a listing; ``next_cursor`` is None on the last one."""

    items: tuple[T, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How the parts are (TYP-014)."""

    status: HealthStatus
    components: Mapping[str, str] = field(default_factory=_nothing, hash=False)
    degraded: tuple[str, ...] = ()
    durability: DurabilityMode = DurabilityMode.MEMORY
    identity_mode: str = "compatibility"
    outbox: Mapping[str, float] = field(default_factory=_nothing, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemEvent:
    """Something happened; never with content, metadata values, vectors or query text (EVT-001)."""

    id: str
    type: str
    time: datetime
    tenant_id: str
    severity: str = "info"
    source: str = "SYS:MEMORY"
    payload: Mapping[str, Any] = field(default_factory=_nothing, hash=False)
    request_id: str | None = None
    schema_version: int = 1
