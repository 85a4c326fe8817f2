"""How is memory used without async? Written by tools/generate_sync.py: change the engine, not this."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mnemic import app
from mnemic.audit import Verification
from mnemic.config import Settings
from mnemic.engine import MemoryEngine as AsyncMemoryEngine
from mnemic.ports import Clock, Embedder, Ids, IEventBus, IMemoryProvider, ITokenCounter
from mnemic.ports.engine import BatchItem, BatchResult, Where
from mnemic.sync.loop import LoopThread
from mnemic.types import (
    Address,
    ContextBlock,
    Health,
    Identity,
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

__all__ = ["MemoryEngine", "open_engine"]

# The generator wraps long lists of parameters itself, several to a line.
# fmt: off


def open_engine(
    target: str | Path | None = None, *, settings: Settings | None = None, memories: IMemoryProvider | None = None,
    model: Embedder | None = None, clock: Clock | None = None, ids: Ids | None = None, bus: IEventBus | None = None,
) -> MemoryEngine:
    """Put an engine together; it opens by ``with``, or by ``start()``."""
    engine = app.open_engine(target, settings=settings, memories=memories, model=model, clock=clock, ids=ids, bus=bus)
    return MemoryEngine(engine, LoopThread())


class MemoryEngine:
    """The async engine's twin: every method waits; ``acting_as`` gives another that shares engine and thread."""

    def __init__(self, engine: AsyncMemoryEngine, loop: LoopThread) -> None:
        self._engine, self._loop = engine, loop

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def identity(self) -> Identity:
        """Who acts through this binding."""
        return self._engine.identity

    def initialize(self) -> None:
        """Open the storage and subscribe to the end of sessions."""
        self._loop.begin("initialize", self._engine.initialize())

    def start(self) -> None:
        """Initialize if need be, load the model, and begin background work."""
        self._loop.begin("start", self._engine.start())

    def stop(self) -> None:
        """Drain and close within 5 seconds, then end the thread."""
        self._loop.check("stop")
        try:
            self._loop.run("stop", self._engine.stop())
        finally:
            self._loop.close()

    def get_health(self) -> Health:
        """Tell how each part is."""
        return self._loop.run("get_health", self._engine.get_health())

    def acting_as(
        self, *, tenant_id: str | None = None, volk_id: str | None = None, agent_id: str | None = None,
        session_id: str | None = None, user_id: str | None = None, client_id: str | None = None,
        project_id: str | None = None, portfolio_id: str | None = None, task_id: str | None = None,
        crew_id: str | None = None, roles: Iterable[str] | None = None,
    ) -> MemoryEngine:
        """The same engine for another identity, sharing every resource; unnamed fields are inherited (ID-010)."""
        return MemoryEngine(self._engine.acting_as(
            tenant_id=tenant_id, volk_id=volk_id, agent_id=agent_id, session_id=session_id, user_id=user_id,
            client_id=client_id, project_id=project_id, portfolio_id=portfolio_id, task_id=task_id, crew_id=crew_id,
            roles=roles,
        ), self._loop)

    def store(
        self, content: str, *, key: str | None = None, tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None, classification: MemoryClassification = MemoryClassification.PRIVATE,
        task_id: str | None = None, memory_type: MemoryType = MemoryType.LONG_TERM, category: str = "unknown",
        speaker: str | None = None, role: str | None = None, turn: int | None = None, importance: float = 0.5,
        source: str = "unknown", origin: Origin = Origin.AGENT, pinned: bool = False,
        occurred_at: datetime | None = None, expires_at: datetime | None = None, derived_from: Sequence[Address] = (),
        embedding: Sequence[float] | Vector | None = None, expected_version: int | None = None,
        idempotency_key: str | None = None, wait_indexed: bool = False,
    ) -> MemoryEntry:
        """Keep a memory; returns when it is durable and findable by words."""
        return self._loop.run("store", self._engine.store(
            content, key=key, tags=tags, metadata=metadata, classification=classification, task_id=task_id,
            memory_type=memory_type, category=category, speaker=speaker, role=role, turn=turn, importance=importance,
            source=source, origin=origin, pinned=pinned, occurred_at=occurred_at, expires_at=expires_at,
            derived_from=derived_from, embedding=embedding, expected_version=expected_version,
            idempotency_key=idempotency_key, wait_indexed=wait_indexed,
        ))

    def retrieve(
        self, key: str, *, include_metadata: bool = True, owner: str | tuple[str, str] | None = None,
        version: int | None = None, as_of: datetime | None = None,
    ) -> MemoryEntry | None:
        """The entry at a key, or None alike for unknown, deleted, expired and unreadable ones."""
        return self._loop.run("retrieve", self._engine.retrieve(
            key, include_metadata=include_metadata, owner=owner, version=version, as_of=as_of,
        ))

    def search(
        self, query: str, *, scope: MemoryScope | None = None, limit: int = 10, min_similarity: float | None = None,
        mode: SearchMode = SearchMode.HYBRID, profile: str | None = None, where: Where | None = None,
        as_of: datetime | None = None, now: datetime | None = None, include_superseded: bool = False,
    ) -> MemoryHits:
        """Find memories by meaning and words, best first."""
        return self._loop.run("search", self._engine.search(
            query, scope=scope, limit=limit, min_similarity=min_similarity, mode=mode, profile=profile, where=where,
            as_of=as_of, now=now, include_superseded=include_superseded,
        ))

    def summarize(
        self, context_id: str, *, max_tokens: int = 2048,
        strategy: SummarizationStrategy = SummarizationStrategy.RELEVANCE, now: datetime | None = None,
        query: str | None = None, keys: Sequence[str] | None = None, store: bool = False,
    ) -> MemorySummary:
        """Compress the memories of a session, or of ``task:<id>`` or ``project:<id>``, within a token budget."""
        return self._loop.run("summarize", self._engine.summarize(
            context_id, max_tokens=max_tokens, strategy=strategy, now=now, query=query, keys=keys, store=store,
        ))

    def update(
        self, key: str, *, content: str | None = None, tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None, classification: MemoryClassification | None = None,
        importance: float | None = None, pinned: bool | None = None, occurred_at: datetime | None = None,
        expected_version: int | None = None,
    ) -> MemoryEntry:
        """Write a new version in which only the given fields differ; None leaves a field, ``[]`` and ``{}`` ..."""
        return self._loop.run("update", self._engine.update(
            key, content=content, tags=tags, metadata=metadata, classification=classification, importance=importance,
            pinned=pinned, occurred_at=occurred_at, expected_version=expected_version,
        ))

    def delete(self, key: str, *, expected_version: int | None = None) -> bool:
        """Leave a tombstone; True if the entry existed, False for unknown and unreadable ones alike."""
        return self._loop.run("delete", self._engine.delete(key, expected_version=expected_version))

    def migrate_to_cold(self, session_id: str) -> int:
        """End a session: its entries leave the working set; the number that left in this call."""
        return self._loop.run("migrate_to_cold", self._engine.migrate_to_cold(session_id))

    def store_many(self, items: Sequence[BatchItem]) -> list[BatchResult]:
        """Keep memories that stand each alone, in few transactions."""
        return self._loop.run("store_many", self._engine.store_many(items))

    def store_messages(self, messages: Sequence[Mapping[str, Any]], *, session_id: str) -> list[BatchResult]:
        """Keep a conversation as chat clients hold it: ``[{role, content, name?, ts?}]``."""
        return self._loop.run("store_messages", self._engine.store_messages(messages, session_id=session_id))

    def flush(self) -> None:
        """Wait until everything the engine owes is done: vectors, audit rows, access counts, events."""
        self._loop.run("flush", self._engine.flush())

    def forget(
        self, where: Where | None, *, scope: MemoryScope | None = None, dry_run: bool = True,
        expected_count: int | None = None,
    ) -> int:
        """Delete the caller's memories that a filter names; the real run must name the dry run's count."""
        return self._loop.run("forget", self._engine.forget(
            where, scope=scope, dry_run=dry_run, expected_count=expected_count,
        ))

    def retrieve_by(
        self, *, tags: Sequence[str] | None = None, tags_match: str = "all", scope: MemoryScope | None = None,
        where: Where | None = None, limit: int = 100, cursor: str | None = None,
    ) -> Page[MemoryEntry]:
        """A page of readable memories, newest first; tags compare without regard to case."""
        return self._loop.run("retrieve_by", self._engine.retrieve_by(
            tags=tags, tags_match=tags_match, scope=scope, where=where, limit=limit, cursor=cursor,
        ))

    def count(self, scope: MemoryScope | None = None, where: Where | None = None) -> int:
        """How many memories the caller can read in a scope."""
        return self._loop.run("count", self._engine.count(scope, where))

    def related(
        self, key: str, *, depth: int = 1, kinds: Sequence[str] | None = None, limit: int = 50,
    ) -> list[MemoryEntry]:
        """Readable memories connected in 1 to ``depth`` (at most 5) steps, nearest first."""
        return self._loop.run("related", self._engine.related(key, depth=depth, kinds=kinds, limit=limit))

    def link(self, key: str, other: str, kind: str = "RELATES_TO") -> bool:
        """Draw an edge from the caller's memory to a readable one; True if it is new."""
        return self._loop.run("link", self._engine.link(key, other, kind))

    def history(self, key: str) -> list[MemoryEntry]:
        """Every kept version of the caller's memory, newest first."""
        return self._loop.run("history", self._engine.history(key))

    def promote(self, key: str, session_id: str) -> MemoryEntry:
        """Bring a readable memory into the working set of a session."""
        return self._loop.run("promote", self._engine.promote(key, session_id))

    def context(
        self, query: str, *, max_tokens: int | None = None, scope: MemoryScope | None = None,
        where: Where | None = None, strategy: SummarizationStrategy | None = None, keys: Sequence[str] = (),
        profile: str | None = None, as_of: datetime | None = None, now: datetime | None = None,
        counter: ITokenCounter | str | None = None,
    ) -> ContextBlock:
        """Find memories and pack them into a block for a prompt that never exceeds its budget."""
        return self._loop.run("context", self._engine.context(
            query, max_tokens=max_tokens, scope=scope, where=where, strategy=strategy, keys=keys, profile=profile,
            as_of=as_of, now=now, counter=counter,
        ))

    def export(self, scope: MemoryScope | None = None) -> Iterator[str]:
        """Lines of NDJSON: the caller's own memories with versions, edges and tombstones, without vectors."""
        return self._loop.iterate("export", self._engine.export(scope))

    def import_(self, lines: Iterable[str]) -> int:
        """Take in an export, all or nothing; twice adds nothing. The number of versions that were new."""
        return self._loop.run("import_", self._engine.import_(lines))

    def reindex(self, *, everything: bool = False) -> int:
        """Owe a vector of the active model to each memory of the tenant that lacks one, or to all; how many."""
        return self._loop.run("reindex", self._engine.reindex(everything=everything))

    def sweep(self) -> int:
        """Do at once what background work does each minute: expire, clear overdue marks, purge; how many expired."""
        return self._loop.run("sweep", self._engine.sweep())

    def verify_audit(self) -> dict[str, Verification]:
        """Check the caller's tenant's audit chains, ``write`` and ``read``."""
        return self._loop.run("verify_audit", self._engine.verify_audit())
