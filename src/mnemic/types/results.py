"""What comes back besides memories: summaries, contexts, pages, health, events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

from mnemic.types.entry import nothing
from mnemic.types.identity import Address
from mnemic.types.kinds import DurabilityMode, HealthStatus, MemoryClassification, SummarizationStrategy

T = TypeVar("T")


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
    claimed: tuple[Address, ...] = ()
    """The same memories in the order in which they claimed their place, best first."""
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
    components: Mapping[str, str] = field(default_factory=nothing, hash=False)
    degraded: tuple[str, ...] = ()
    durability: DurabilityMode = DurabilityMode.MEMORY
    identity_mode: str = "compatibility"
    outbox: Mapping[str, float] = field(default_factory=nothing, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemEvent:
    """Something happened; never with content, metadata values, vectors or query text (EVT-001)."""

    id: str
    type: str
    time: datetime
    tenant_id: str
    severity: str = "info"
    source: str = "SYS:MEMORY"
    payload: Mapping[str, Any] = field(default_factory=nothing, hash=False)
    request_id: str | None = None
    schema_version: int = 1
