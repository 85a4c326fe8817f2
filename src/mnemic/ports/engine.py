"""What does a memory engine offer to an agent? Seven verbs and a lifecycle (section 3 of the contract)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from mnemic.errors import MnemicError
from mnemic.ports.component import ComponentType, IComponent
from mnemic.ports.filters import MemoryFilter
from mnemic.types import (
    Address,
    MemoryClassification,
    MemoryEntry,
    MemoryHits,
    MemoryScope,
    MemorySummary,
    MemoryType,
    Origin,
    SearchMode,
    SummarizationStrategy,
    Vector,
)

Where = MemoryFilter | Mapping[str, Any]
"""A filter as data, or in the dictionary form of PRV-012."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchItem:
    """One memory of a batch: the parameters of ``store`` by name."""

    content: str
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """What became of one item: the entry, or the error that refused it."""

    entry: MemoryEntry | None = None
    error: MnemicError | None = None


class IMemoryEngine(IComponent):
    """Unified agent memory: store, retrieve, search, summarize, update, delete, migrate."""

    component_type: ClassVar[ComponentType] = ComponentType.MEMORY_ENGINE

    @abstractmethod
    async def store(
        self,
        content: str,
        *,
        key: str | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        classification: MemoryClassification = MemoryClassification.PRIVATE,
        task_id: str | None = None,
        memory_type: MemoryType = MemoryType.LONG_TERM,
        category: str = "unknown",
        speaker: str | None = None,
        role: str | None = None,
        turn: int | None = None,
        importance: float = 0.5,
        source: str = "unknown",
        origin: Origin = Origin.AGENT,
        pinned: bool = False,
        occurred_at: datetime | None = None,
        expires_at: datetime | None = None,
        derived_from: Sequence[Address] = (),
        embedding: Sequence[float] | Vector | None = None,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
        wait_indexed: bool = False,
    ) -> MemoryEntry:
        """Keep a memory; returns when it is durable and findable by words.

        Args:
            content: 1 byte to ``limits.content_bytes`` of text, kept byte-exact.
            key: 1 to 256 characters, or None for a new UUID4; an existing key of the same owner gets a new version.
            tags: At most 32 of 64 characters each.
            metadata: JSON values, at most 16 KiB and 8 levels deep.
            classification: Who it is meant for; shared and system need a role.
            task_id: The task it belongs to; None means the caller's.
            memory_type: Sets how fast its recency fades.
            category: fact, decision, observation, preference, instruction, event, relationship, error or unknown.
            speaker: Who said it, in a conversation.
            role: user, assistant or system, in a conversation.
            turn: Its place in the session's conversation, from 0; only turns have neighbours.
            importance: 0 to 1.
            source: Where it came from, as a short name.
            origin: What kind of place that is; it sets the trust.
            pinned: Always first in a context, never fading.
            occurred_at: When it happened or was said; None means now. Naive times are UTC.
            expires_at: From when on no read returns it.
            derived_from: Memories that it was made from.
            embedding: A vector of the active model, instead of computing one.
            expected_version: The version that must stand at the key; 0 means none may.
            idempotency_key: The same key within 24 hours gives the first result.
            wait_indexed: Return only when the vector is there too.

        Raises:
            InvalidInputError, LimitError: A value breaks a rule; nothing was written.
            AccessDeniedError: The class is not allowed to the caller.
            ConflictError: Another version stands there, or another body under the idempotency key.
        """

    @abstractmethod
    async def retrieve(
        self,
        key: str,
        *,
        include_metadata: bool = True,
        owner: str | tuple[str, str] | None = None,
        version: int | None = None,
        as_of: datetime | None = None,
    ) -> MemoryEntry | None:
        """The entry at a key, or None alike for unknown, deleted, expired and unreadable ones.

        Args:
            key: The key.
            include_metadata: False empties metadata and embedding.
            owner: A volk id, or (volk id, user id); None means the caller's user, then the agent's own, then the one
                readable entry of another owner.
            version: A kept version instead of the newest; only the owner.
            as_of: What held at that moment (valid time).

        Raises:
            ConflictError: Several other owners have a readable entry with that key; name ``owner``.
            CorruptEntryError: The record differs from its checksum.
        """

    @abstractmethod
    async def search(
        self,
        query: str,
        *,
        scope: MemoryScope | None = None,
        limit: int = 10,
        min_similarity: float | None = None,
        mode: SearchMode = SearchMode.HYBRID,
        profile: str | None = None,
        where: Where | None = None,
        as_of: datetime | None = None,
        now: datetime | None = None,
        include_superseded: bool = False,
    ) -> MemoryHits:
        """Find memories by meaning and words, best first.

        Args:
            query: Text, as data; at most 8 KiB.
            scope: Narrows; None means all that the caller may read.
            limit: 1 to ``search.max_limit``.
            min_similarity: Floor on the part ``similarity``; None means the configured one.
            mode: Which channels answer.
            profile: Ranking by name: balanced, composite, fusion, priority; None means the configured one.
            where: Tags, types, categories, metadata (PRV-012).
            as_of: What held at that moment.
            now: The caller's time and zone; None means the clock.
            include_superseded: Also what was replaced.
        """

    @abstractmethod
    async def summarize(
        self,
        context_id: str,
        *,
        max_tokens: int = 2048,
        strategy: SummarizationStrategy = SummarizationStrategy.RELEVANCE,
        now: datetime | None = None,
        query: str | None = None,
        keys: Sequence[str] | None = None,
        store: bool = False,
    ) -> MemorySummary:
        """Compress the memories of a session, or of ``task:<id>`` or ``project:<id>``, within a token budget.

        Args:
            context_id: What to summarise.
            max_tokens: At least 1; the result never has more by the active counter.
            strategy: By what sentences are chosen.
            now: The moment that recency looks back from.
            query: The current context; None means the newest entry.
            keys: Explicitly relevant entries, which come first.
            store: Keep the summary as an entry with its lineage.
        """

    @abstractmethod
    async def update(
        self,
        key: str,
        *,
        content: str | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        classification: MemoryClassification | None = None,
        importance: float | None = None,
        pinned: bool | None = None,
        occurred_at: datetime | None = None,
        expected_version: int | None = None,
    ) -> MemoryEntry:
        """Write a new version in which only the given fields differ; None leaves a field, ``[]`` and ``{}`` clear it.

        Raises:
            NotFoundError: Unknown or unreadable key.
            AccessDeniedError: Readable, but not the caller's to change.
            ConflictError: ``expected_version`` is not what stands there.
        """

    @abstractmethod
    async def delete(self, key: str, *, expected_version: int | None = None) -> bool:
        """Leave a tombstone; True if the entry existed, False for unknown and unreadable ones alike."""

    @abstractmethod
    async def migrate_to_cold(self, session_id: str) -> int:
        """End a session: its entries leave the working set; the number that left in this call."""
