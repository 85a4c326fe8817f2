"""What is remembered, and what is found of it?"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mnemic.types.identity import Address
from mnemic.types.kinds import MemoryClassification, MemoryType, Origin

Vector = npt.NDArray[np.float32]
"""One normalised vector, or rows of them."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_UNSET = datetime.min.replace(tzinfo=UTC)
"""Stands for a time that ``__post_init__`` derives."""


def nothing() -> Mapping[str, Any]:
    """The empty read-only mapping, as a default."""
    return _NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEntry:
    """One memory in one version (TYP-001 to 004); times are aware UTC, ``embedding`` is None unless asked for."""

    key: str
    content: str
    created_at: datetime
    summary: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=nothing, hash=False)
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
    embedding_model: str | None = field(default=None, compare=False)

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
_SLOTS = tuple((slot.__get__, slot.__set__) for slot in (getattr(MemoryEntry, name) for name in _ENTRY_FIELDS))


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHit(MemoryEntry):
    """A memory that was found: with its score, what the score is made of, and which channels found it."""

    score: float = 0.0
    score_parts: Mapping[str, float] = field(default_factory=nothing, hash=False)
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
        # A search makes hundreds of hits: slots are copied as they are, since the entry was checked when it was made.
        hit = object.__new__(cls)
        for get, put in _SLOTS:
            put(hit, get(entry))
        put = object.__setattr__
        put(hit, "relevance_score", score)
        put(hit, "score", score)
        put(hit, "score_parts", MappingProxyType(dict(score_parts)))
        put(hit, "channels", tuple(channels))
        put(hit, "rank", rank)
        return hit

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
