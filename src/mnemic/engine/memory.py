"""The memory engine: the one way for every entry point, each verb delegated to the module of its concern."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from mnemic.audit import Verification
from mnemic.engine import composing, exchange, reading, searching, sessions, writing
from mnemic.engine import messages as messages_
from mnemic.engine.binding import Binding
from mnemic.engine.requests import Change, Draft
from mnemic.ports import ITokenCounter
from mnemic.ports.engine import BatchItem, BatchResult, Where
from mnemic.types import (
    Address,
    ContextBlock,
    MemoryClassification,
    MemoryEntry,
    MemoryHits,
    MemoryScope,
    MemorySummary,
    MemoryType,
    Origin,
    Page,
    SearchMode,
    SummarizationStrategy,
    Vector,
)

__all__ = ["MemoryEngine"]


class MemoryEngine(Binding):
    """Unified memory of agents, bound to one identity; ``acting_as`` binds the same engine to another.

    Use it as an async context manager, or call ``start`` and ``stop``. Every method checks identity, limits and policy,
    in this order, writes its effect and audit row in one transaction, and tells the event after the commit.
    """

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
        """See the port."""
        self._caller.check()
        draft = Draft(
            content=content,
            key=key,
            tags=tags,
            metadata=metadata,
            classification=classification,
            task_id=task_id,
            memory_type=memory_type,
            category=category,
            speaker=speaker,
            role=role,
            turn=turn,
            importance=importance,
            source=source,
            origin=origin,
            pinned=pinned,
            occurred_at=occurred_at,
            expires_at=expires_at,
            derived_from=derived_from,
            embedding=embedding,
            expected_version=expected_version,
            idempotency_key=idempotency_key,
            wait_indexed=wait_indexed,
        )
        return await writing.store(self._caller, draft)

    async def retrieve(
        self,
        key: str,
        *,
        include_metadata: bool = True,
        owner: str | tuple[str, str] | None = None,
        version: int | None = None,
        as_of: datetime | None = None,
    ) -> MemoryEntry | None:
        """See the port."""
        self._caller.check()
        return await reading.retrieve(
            self._caller, key, include_metadata=include_metadata, owner=owner, version=version, as_of=as_of
        )

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
        """See the port."""
        self._caller.check()
        return await searching.search(
            self._caller,
            query,
            scope=scope,
            limit=limit,
            min_similarity=min_similarity,
            mode=mode,
            profile=profile,
            where=where,
            as_of=as_of,
            now=now,
            include_superseded=include_superseded,
        )

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
        """See the port."""
        self._caller.check()
        return await composing.summarize(
            self._caller,
            context_id,
            max_tokens=max_tokens,
            strategy=strategy,
            now=now,
            query=query,
            keys=keys,
            store=store,
        )

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
        """See the port."""
        self._caller.check()
        change = Change(
            content=content,
            tags=tags,
            metadata=metadata,
            classification=classification,
            importance=importance,
            pinned=pinned,
            occurred_at=occurred_at,
        )
        return await writing.update(self._caller, key, change, expected_version=expected_version)

    async def delete(self, key: str, *, expected_version: int | None = None) -> bool:
        """See the port."""
        self._caller.check()
        return await writing.delete(self._caller, key, expected_version=expected_version)

    async def migrate_to_cold(self, session_id: str) -> int:
        """See the port."""
        self._caller.check()
        return await sessions.end_session(self._caller, session_id)

    # ---- batches

    async def store_many(self, items: Sequence[BatchItem]) -> list[BatchResult]:
        """Keep memories that stand each alone, in few transactions.

        Args:
            items: At most ``limits.batch_items``, ``limits.request_bytes`` in all.

        Returns:
            For each item its entry, or the error that refused it.
        """
        self._caller.check()
        return await writing.store_many(self._caller, items)

    async def store_messages(self, messages: Sequence[Mapping[str, Any]], *, session_id: str) -> list[BatchResult]:
        """Keep a conversation as chat clients hold it: ``[{role, content, name?, ts?}]``.

        Send the list from its beginning: a message is keyed by content and place, so what was sent before adds nothing.
        """
        self._caller.check()
        return await messages_.store_messages(self._caller, messages, session_id=session_id)

    async def flush(self) -> None:
        """Wait until everything the engine owes is done: vectors, audit rows, access counts, events."""
        self._caller.check()
        await self._shared.indexer.settled()
        await self._shared.notes.flush()

    async def forget(
        self,
        where: Where | None,
        *,
        scope: MemoryScope | None = None,
        dry_run: bool = True,
        expected_count: int | None = None,
    ) -> int:
        """Delete the caller's memories that a filter names; the real run must name the dry run's count.

        Args:
            where: Which ones; None means all in the scope.
            scope: Narrows.
            dry_run: Only count.
            expected_count: The count that the dry run gave.

        Returns:
            How many match, or went.

        Raises:
            ConflictError: Another number matches by now; nothing was deleted.
        """
        self._caller.check()
        return await reading.forget(self._caller, where, scope=scope, dry_run=dry_run, expected_count=expected_count)

    # ---- reading

    async def retrieve_by(
        self,
        *,
        tags: Sequence[str] | None = None,
        tags_match: str = "all",
        scope: MemoryScope | None = None,
        where: Where | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[MemoryEntry]:
        """A page of readable memories, newest first; tags compare without regard to case."""
        self._caller.check()
        return await reading.retrieve_by(
            self._caller, tags=tags, tags_match=tags_match, scope=scope, where=where, limit=limit, cursor=cursor
        )

    async def count(self, scope: MemoryScope | None = None, where: Where | None = None) -> int:
        """How many memories the caller can read in a scope."""
        self._caller.check()
        return await reading.count(self._caller, scope, where)

    async def related(
        self, key: str, *, depth: int = 1, kinds: Sequence[str] | None = None, limit: int = 50
    ) -> list[MemoryEntry]:
        """Readable memories connected in 1 to ``depth`` (at most 5) steps, nearest first.

        Args:
            key: Where to start.
            depth: Steps.
            kinds: Edge kinds, and ``task``, ``session``, ``volk``, ``project`` for having the same one; None means
                every edge kind, and ``task``.
            limit: 1 to 1000.
        """
        self._caller.check()
        return await reading.related(self._caller, key, depth=depth, kinds=kinds, limit=limit)

    async def link(self, key: str, other: str, kind: str = "RELATES_TO") -> bool:
        """Draw an edge from the caller's memory to a readable one; True if it is new."""
        self._caller.check()
        return await reading.link(self._caller, key, other, kind)

    async def history(self, key: str) -> list[MemoryEntry]:
        """Every kept version of the caller's memory, newest first."""
        self._caller.check()
        return await reading.history(self._caller, key)

    async def promote(self, key: str, session_id: str) -> MemoryEntry:
        """Bring a readable memory into the working set of a session."""
        self._caller.check()
        return await sessions.promote(self._caller, key, session_id)

    async def context(
        self,
        query: str,
        *,
        max_tokens: int | None = None,
        scope: MemoryScope | None = None,
        where: Where | None = None,
        strategy: SummarizationStrategy | None = None,
        keys: Sequence[str] = (),
        profile: str | None = None,
        as_of: datetime | None = None,
        now: datetime | None = None,
        counter: ITokenCounter | str | None = None,
    ) -> ContextBlock:
        """Find memories and pack them into a block for a prompt that never exceeds its budget.

        Args:
            query: What the prompt is about.
            max_tokens: The budget; None means ``injection_budget_tokens``.
            scope: Narrows.
            where: Narrows (PRV-012).
            strategy: By what they are chosen; None means ``injection_strategy``.
            keys: Explicitly relevant memories, which come first.
            profile: Ranking by name.
            as_of: What held at that moment.
            now: The caller's time and zone.
            counter: A counter, or the name of a model provider; None means the configured one.
        """
        self._caller.check()
        return await composing.context(
            self._caller,
            query,
            max_tokens=max_tokens,
            scope=scope,
            where=where,
            strategy=strategy,
            keys=keys,
            profile=profile,
            as_of=as_of,
            now=now,
            counter=counter,
        )

    # ---- the whole store

    async def export(self, scope: MemoryScope | None = None) -> AsyncIterator[str]:
        """Lines of NDJSON: the caller's own memories with versions, edges and tombstones, without vectors."""
        self._caller.check()
        async for line in exchange.export(self._caller, scope):
            yield line

    async def import_(self, lines: Iterable[str]) -> int:
        """Take in an export, all or nothing; twice adds nothing. The number of versions that were new."""
        self._caller.check()
        return await exchange.import_(self._caller, lines)

    async def reindex(self, *, everything: bool = False) -> int:
        """Owe a vector of the active model to each memory of the tenant that lacks one, or to all; how many."""
        self._caller.check()
        return await exchange.reindex(self._caller, everything=everything)

    async def sweep(self) -> int:
        """Do at once what background work does each minute: expire, clear overdue marks, purge; how many expired."""
        self._caller.check()
        return await self._upkeep.sweep()

    async def verify_audit(self) -> dict[str, Verification]:
        """Check the caller's tenant's audit chains, ``write`` and ``read``."""
        self._caller.check()
        await self._shared.notes.flush()
        tenant = self._caller.who.tenant_id
        return {kind: await self._shared.auditor.verify(tenant, kind) for kind in ("write", "read")}
