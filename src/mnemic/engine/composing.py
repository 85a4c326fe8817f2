"""What goes into a prompt, and what is said in few words? Search and choose, then pack under a budget."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from mnemic.context import pack, summarize_entries
from mnemic.engine.finding import find_readable
from mnemic.engine.indexer import embed_job
from mnemic.engine.requests import Draft, one_of
from mnemic.engine.searching import query_vector, ranked
from mnemic.engine.shared import Caller
from mnemic.errors import ConflictError, InvalidInputError
from mnemic.events import Topic
from mnemic.ports import Edge, EdgeKind, ITokenCounter, MemoryFilter, Unit
from mnemic.ports.engine import Where
from mnemic.types import (
    Address,
    ContextBlock,
    Identity,
    MemoryEntry,
    MemoryHit,
    MemoryScope,
    MemorySummary,
    Origin,
    SearchMode,
    SummarizationStrategy,
    utc,
)

__all__ = ["context", "owner_identity", "store_summary", "summarize", "summarize_session"]

_CANDIDATES = 100
_SOURCES = 1000
_WARN_AT = 0.9


async def context(
    caller: Caller,
    query: str,
    *,
    max_tokens: int | None,
    scope: MemoryScope | None,
    where: Where | None,
    strategy: SummarizationStrategy | None,
    keys: Sequence[str],
    profile: str | None,
    as_of: datetime | None,
    now: datetime | None,
    counter: ITokenCounter | str | None,
) -> ContextBlock:
    """A block for a prompt that never exceeds its budget (ENG-008)."""
    settings = caller.shared.settings
    budget = settings.injection_budget_tokens if max_tokens is None else max_tokens
    if budget < 0:
        raise InvalidInputError(f"max_tokens is {budget}; give 0 or more")
    chosen = one_of("strategy", SummarizationStrategy, strategy or settings.injection_strategy)
    hits = await ranked(
        caller,
        query,
        scope=scope,
        limit=_CANDIDATES,
        min_similarity=None,
        mode=SearchMode.HYBRID,
        profile=profile,
        where=where,
        as_of=as_of,
        now=now,
        include_superseded=False,
        keys=keys,
        summaries=True,
    )
    named = await _named(caller, keys)
    known = {hit.address for hit in hits}
    hits.extend(MemoryHit.of(entry, score=1.0) for entry in named if entry.address not in known)
    block = await asyncio.to_thread(
        pack,
        hits,
        query=query,
        counter=_counter(caller, counter),
        budget=budget,
        strategy=chosen,
        explicit=frozenset(entry.address for entry in named),
        now=utc(now) if now is not None else caller.shared.clock.now(),
    )
    await _warn(caller, block)
    payload = {"count": len(block.injected), "budget": budget, "used": block.tokens_used, "dropped": block.dropped}
    uids = [address.uid for address in block.injected]
    await caller.note_read("context", Topic.INJECTED, {**payload, "injected": uids})
    return replace(block, degraded=hits.degraded)


async def _named(caller: Caller, keys: Sequence[str]) -> list[MemoryEntry]:
    found = [await _readable_or_none(caller, key) for key in dict.fromkeys(keys)]
    return [entry for entry in found if entry is not None]


async def _readable_or_none(caller: Caller, key: str) -> MemoryEntry | None:
    try:
        return await find_readable(caller, key)
    except ConflictError:
        return None  # an ambiguous key names nobody's memory (CXP-003: what cannot be read is ignored)


def _counter(caller: Caller, counter: ITokenCounter | str | None) -> ITokenCounter:
    return counter if isinstance(counter, ITokenCounter) else caller.shared.counter(counter)


async def _warn(caller: Caller, block: ContextBlock) -> None:
    if block.dropped or block.tokens_used >= _WARN_AT * block.token_budget > 0:
        payload = {"budget": block.token_budget, "used": block.tokens_used, "dropped": block.dropped}
        await caller.shared.bus.publish(caller.event(Topic.BUDGET_WARNING, payload, severity="warning"))


async def summarize(
    caller: Caller,
    context_id: str,
    *,
    max_tokens: int,
    strategy: SummarizationStrategy,
    now: datetime | None,
    query: str | None,
    keys: Sequence[str] | None,
    store: bool,
) -> MemorySummary:
    """See ``IMemoryEngine.summarize``."""
    if max_tokens < 1:
        raise InvalidInputError(f"max_tokens is {max_tokens}; give 1 or more")
    chosen = one_of("strategy", SummarizationStrategy, strategy)
    scope = caller.scope(_scope_of(context_id))
    where = await caller.where(MemoryFilter())
    page = await caller.shared.tiers.memories.list(scope, where, limit=_SOURCES)
    entries = [entry for entry in page.items if entry.source != "summary"]
    degraded: tuple[str, ...] = ()
    similar: Mapping[Address, float] = {}
    if entries and chosen in {SummarizationStrategy.RELEVANCE, SummarizationStrategy.HYBRID}:
        vector, degraded = await query_vector(caller, query or entries[0].content)
        if vector is not None and caller.shared.embedder is not None:
            addresses = [entry.address for entry in entries]
            model_id = caller.shared.embedder.model_id
            memories = caller.shared.tiers.memories
            similar = await memories.similarities(scope, vector, addresses, model_id=model_id)
    summary = await asyncio.to_thread(
        summarize_entries,
        entries,
        counter=caller.shared.counter(None),
        max_tokens=max_tokens,
        strategy=chosen,
        query=query if query is not None else (entries[0].content if entries else ""),
        similarities={entry.address: similar.get(entry.address, 0.0) for entry in entries},
        explicit=frozenset(keys or ()),
        now=utc(now) if now is not None else caller.shared.clock.now(),
    )
    summary = replace(summary, degraded=degraded)
    if store and summary.source_count:
        stored = await store_summary(caller, summary, entries, session_id=scope.session_id)
        summary = replace(summary, key=stored.key)
    payload = {"sources": summary.source_count, "tokens": summary.token_count, "strategy": chosen.value}
    if summary.key is None:
        await caller.note_read("summarize", Topic.SUMMARIZED, payload)
    else:  # the write has left the row of this call
        await caller.shared.bus.publish(caller.event(Topic.SUMMARIZED, payload))
    return summary


def _scope_of(context_id: str) -> MemoryScope:
    kind, colon, id_ = context_id.partition(":")
    if colon and kind == "task":
        return MemoryScope(task_id=id_)
    if colon and kind == "project":
        return MemoryScope(project_id=id_)
    return MemoryScope(session_id=context_id)


async def store_summary(
    caller: Caller, summary: MemorySummary, entries: Sequence[MemoryEntry], *, session_id: str | None
) -> MemoryEntry:
    """Keep a summary with its lineage: DERIVED_FROM each source, SUMMARIZED_BY from each (FR-005.1)."""
    shared, who = caller.shared, caller.who
    sources = [entry for entry in entries if entry.key in set(summary.source_keys)]
    draft = Draft(content=summary.content, classification=summary.classification).checked(shared.settings.limits)
    now = shared.clock.now()
    entry = MemoryEntry(
        key=shared.ids.new(),
        content=draft.content,
        classification=summary.classification,
        created_at=now,
        tenant_id=who.tenant_id,
        volk_id=who.volk_id,
        user_id=who.user_id,
        session_id=session_id or who.session_id,
        project_id=who.project_id,
        portfolio_id=who.portfolio_id,
        source="summary",
        origin=_least_trusted(sources),
        token_count=summary.token_count,
        importance=max((source.importance for source in sources), default=0.5),
        derived_from=tuple(source.address for source in sources),
    )
    edges = [
        edge
        for source in sources
        for edge in (
            Edge(who.tenant_id, entry.uid, EdgeKind.DERIVED_FROM, source.uid),
            Edge(who.tenant_id, source.uid, EdgeKind.SUMMARIZED_BY, entry.uid),
        )
    ]
    record = shared.auditor.record(who, "summarize", resource=entry.uid, detail={"sources": len(sources)})
    payload = {"key": entry.key, "volk_id": who.volk_id, "classification": entry.classification.value, "version": 1}
    jobs = (embed_job(entry),) if shared.embedder is not None else ()
    event = caller.event(Topic.STORED, payload)
    unit = Unit(entries=(entry,), edges=tuple(edges), audit=(record,), events=(event,), jobs=jobs)
    await caller.commit(unit, owed=(entry,))
    return entry


def _least_trusted(sources: Sequence[MemoryEntry]) -> Origin:
    """A derivative has the lowest trust of its sources, and never more than an agent's."""
    return min((source.origin for source in sources), key=lambda origin: origin.trust, default=Origin.AGENT)


async def summarize_session(
    caller: Caller, session_id: str, entries: Sequence[MemoryEntry], *, max_tokens: int
) -> MemoryEntry:
    """Leave the summary of a long session for one owner at its end (FR-005.1)."""
    newest = max(entries, key=lambda entry: (entry.created_at, entry.key))
    summary = await asyncio.to_thread(
        summarize_entries,
        entries,
        counter=caller.shared.counter(None),
        max_tokens=max_tokens,
        strategy=SummarizationStrategy.RELEVANCE,
        query=newest.content,
        similarities={},
        explicit=frozenset(),
        now=caller.shared.clock.now(),
    )
    return await store_summary(caller, summary, entries, session_id=session_id)


def owner_identity(caller: Caller, entry: MemoryEntry) -> Identity:
    """The owner of an entry, acting in that entry's session."""
    return replace(
        caller.who,
        volk_id=entry.volk_id,
        user_id=entry.user_id,
        session_id=entry.session_id,
        project_id=entry.project_id,
    )
