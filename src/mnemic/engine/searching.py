"""How is a search answered? Readable set, query vector, ranking, then a note of what was returned."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from mnemic.engine import limits as check
from mnemic.engine.indexer import EMBED
from mnemic.engine.requests import one_of
from mnemic.engine.shared import Caller
from mnemic.errors import InvalidInputError, MnemicError
from mnemic.events import Topic
from mnemic.maxsim import unpack_tokens
from mnemic.ports import EmbeddingCache, ModelInput, WorkingMark
from mnemic.ports.engine import Where
from mnemic.retrieval import SearchRequest, TokensOf, ranking_query
from mnemic.retrieval.lanes import LANES
from mnemic.types import MemoryHit, MemoryHits, MemoryScope, SearchMode, Vector, utc

__all__ = ["query_vector", "ranked", "search"]

_PROMOTED_RANKS = 3
_SPARE = 8
"""Hits beyond the limit, in place of summaries that give way."""


async def search(
    caller: Caller,
    query: str,
    *,
    scope: MemoryScope | None,
    limit: int,
    min_similarity: float | None,
    mode: SearchMode,
    profile: str | None,
    where: Where | None,
    as_of: datetime | None,
    now: datetime | None,
    include_superseded: bool,
) -> MemoryHits:
    """See ``IMemoryEngine.search``."""
    started = caller.shared.clock.monotonic()
    mode = one_of("mode", SearchMode, mode)
    hits = await ranked(
        caller,
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
    payload = {
        "count": len(hits),
        "mode": mode.value,
        "latency_ms": round((caller.shared.clock.monotonic() - started) * 1000, 3),
        "degraded": list(hits.degraded),
    }
    await caller.note_read("search", Topic.SEARCHED, payload)
    return hits


async def ranked(
    caller: Caller,
    query: str,
    *,
    scope: MemoryScope | None,
    limit: int,
    min_similarity: float | None,
    mode: SearchMode,
    profile: str | None,
    where: Where | None,
    as_of: datetime | None,
    now: datetime | None,
    include_superseded: bool,
    keys: Sequence[str] = (),
    summaries: bool = False,
) -> MemoryHits:
    """Answer a search whose audit row the caller of this leaves.

    Explicit ``keys`` count in profile ``priority``; with ``summaries``, as for a prompt, one stands beside its sources,
    and all directives and preferences follow beyond the limit.
    """
    shared, settings = caller.shared, caller.shared.settings
    check.check_query(query, settings.limits)
    if not 1 <= limit <= settings.search.max_limit:
        raise InvalidInputError(f"limit is {limit}; give 1 to {settings.search.max_limit} (search.max_limit)")
    floor = settings.search.min_similarity if min_similarity is None else min_similarity
    check.check_share("min_similarity", floor)
    moment = utc(now) if now is not None else shared.clock.now()
    filter_ = await caller.where(
        where, include_superseded=include_superseded, as_of=None if as_of is None else utc(as_of)
    )
    wanted = mode is not SearchMode.KEYWORD
    vector, tokens, degraded = await _encoded(caller, ranking_query(query)) if wanted else (None, None, ())
    if wanted and shared.indexer.failing is not None:
        degraded = ("embedder",)  # the query has its vector again, what was stored meanwhile has none yet
    request = SearchRequest(
        query=query,
        vector=vector,
        query_tokens=tokens,
        tokens_of=_tokens_of(caller),
        lanes=summaries,
        model_id=shared.embedder.model_id if shared.embedder else "",
        scope=caller.scope(scope),
        where=filter_,
        limit=min(limit + _SPARE, settings.search.max_limit),
        mode=mode,
        profile=profile or settings.search.profile,
        min_similarity=floor,
        now=moment,
        explicit=frozenset(keys),
        embed_texts=None if shared.embedder is None else partial(shared.embedder.embed_for, caller.who.tenant_id),
    )
    hits = await shared.retriever.search(request)
    if not summaries:
        _drop_summaries(hits)
    _cut(hits, limit, lanes=request.lanes)
    hits.pending_vectors = shared.indexer.owed(caller.owner)
    hits.degraded = tuple(dict.fromkeys((*hits.degraded, *degraded, *await _reembedding(caller, hits))))
    _note(caller, hits[:limit])
    return hits


def _cut(hits: MemoryHits, limit: int, *, lanes: bool) -> None:
    """Keep the hits up to the limit, and what stands in a lane where that is asked for."""
    standing = [hit for hit in hits[limit:] if lanes and not LANES.isdisjoint(hit.channels)]
    hits[limit:] = [replace(hit, rank=rank) for rank, hit in enumerate(standing, start=limit + 1)]


def _drop_summaries(hits: MemoryHits) -> None:
    """A summary and its sources never both take a place: here the sources do (FR-005.1)."""
    found = {hit.address for hit in hits}
    kept = [hit for hit in hits if hit.source != "summary" or found.isdisjoint(hit.derived_from)]
    if len(kept) < len(hits):
        hits[:] = [replace(hit, rank=rank) for rank, hit in enumerate(kept, start=1)]


async def query_vector(caller: Caller, text: str) -> tuple[Vector | None, tuple[str, ...]]:
    """The query's vector, after a bounded wait for the caller's own vectors under way.

    Returns:
        The vector, or None where the model sees nothing or does not answer, and what is degraded by that.
    """
    vector, _, degraded = await _encoded(caller, text)
    return vector, degraded


async def _encoded(caller: Caller, text: str) -> tuple[Vector | None, Vector | None, tuple[str, ...]]:
    """As ``query_vector``, with the query's token vectors, where the model gives some, in the middle."""
    shared = caller.shared
    if shared.embedder is None:
        return None, None, ("embedder",)
    if shared.indexer.failing is None and shared.indexer.owed(caller.owner):
        await shared.indexer.settled(caller.owner, timeout_s=shared.settings.search.pending_wait_ms / 1000)
    try:
        async with asyncio.timeout(shared.settings.embedding.query_timeout_ms / 1000):
            found = await shared.embedder.encode_for(caller.who.tenant_id, [ModelInput(text)], urgent=True)
            await shared.retriever.prepare(shared.embedder)
    except (MnemicError, TimeoutError):
        return None, None, ("embedder",)
    tokens = unpack_tokens(found[0].tokens, shared.embedder.token_dim) if found[0].tokens else None
    return (found[0].vector if found[0].vector.any() else None), tokens, ()


def _tokens_of(caller: Caller) -> TokensOf | None:
    shared = caller.shared
    store = shared.tiers.journal
    if shared.embedder is None or not shared.embedder.token_dim or not isinstance(store, EmbeddingCache):
        return None
    return partial(store.tokens_of, caller.who.tenant_id, shared.embedder.model_id)


async def _reembedding(caller: Caller, hits: MemoryHits) -> tuple[str, ...]:
    """Vectors of another model were met while their replacement is under way (REQ-010-038)."""
    if not hits.skipped_vectors:
        return ()
    owed = await caller.shared.tiers.journal.job_count(EMBED, caller.who.tenant_id)
    return ("reembedding",) if owed else ()


def _note(caller: Caller, hits: Sequence[MemoryHit]) -> None:
    """Count the access; a good hit of the caller's own comes (back) into its working set (REQ-010-033)."""
    shared = caller.shared
    now = shared.clock.now()
    shared.notes.touch([hit.address for hit in hits], now)
    until = now + timedelta(seconds=shared.settings.session.ttl_s)
    for hit in hits[:_PROMOTED_RANKS]:
        own = (hit.volk_id, hit.user_id) == (caller.who.volk_id, caller.who.user_id)
        if own and hit.score >= shared.settings.tiers.promote_min_score and hit.session_id != caller.who.session_id:
            shared.notes.mark(WorkingMark(address=hit.address, session_id=caller.who.session_id, until=until))
