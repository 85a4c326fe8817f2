"""How do drafts become memories: once each, in their own place, and no faster than they can be embedded?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from mnemic.engine import MemoryEngine
from mnemic.errors import (
    AccessDeniedError,
    ConflictError,
    IdentityError,
    InvalidInputError,
    LimitError,
    MnemicError,
    OverloadedError,
)
from mnemic.importers.draft import Draft, Rejected
from mnemic.ports import BatchItem, BatchResult, MemoryFilter
from mnemic.types import MemoryScope, Origin

BATCH = 256
_FLUSH_EVERY = 1024
"""Memories between two waits for their vectors: enough to fill the embedder, few enough to tell the rate."""
_ITS_OWN_FAULT = (InvalidInputError, LimitError, AccessDeniedError, ConflictError, IdentityError)
"""Errors of one row; any other one ends the import."""

Place = tuple[str | None, str | None, str | None]


@dataclass(slots=True)
class Tally:
    """What became of the rows of an import."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    set_aside: list[Rejected] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Rows seen."""
        return self.added + self.updated + self.unchanged + len(self.set_aside)


async def ingest(
    memory: MemoryEngine,
    rows: Iterable[Draft | Rejected],
    *,
    source: str,
    on_progress: Callable[[Tally], None] = lambda _: None,
) -> Tally:
    """Store drafts batch by batch; what is there already, with the same content, is left alone.

    Args:
        memory: Stands in where a draft names no tenant, user or session.
        rows: Read in a thread of its own, so that a slow file never holds up the engine.
        source: The ``source`` of entries that name none.
        on_progress: Called after each batch.

    Raises:
        MnemicError: The store failed; what was stored before stays.
    """
    tally, waiting, reader = Tally(), 0, iter(rows)
    while batch := await asyncio.to_thread(lambda: list(islice(reader, BATCH))):
        tally.set_aside += [row for row in batch if isinstance(row, Rejected)]
        for place, drafts in _places(row for row in batch if isinstance(row, Draft)).items():
            await _store(memory, place, drafts, source, tally)
        waiting += len(batch)
        if waiting >= _FLUSH_EVERY:
            await memory.flush()
            waiting = 0
        on_progress(tally)
    await memory.flush()
    on_progress(tally)
    return tally


def _places(drafts: Iterator[Draft]) -> dict[Place, list[Draft]]:
    """Drafts by tenant, user and session, each in their order."""
    places: dict[Place, list[Draft]] = {}
    for draft in drafts:
        places.setdefault((draft.tenant, draft.user, draft.session), []).append(draft)
    return places


async def _store(memory: MemoryEngine, place: Place, drafts: list[Draft], source: str, tally: Tally) -> None:
    tenant, user, session = place
    try:
        bound = memory.acting_as(tenant_id=tenant, user_id=user, session_id=session)
        known = await _known(bound, drafts)
    except (InvalidInputError, IdentityError) as error:
        tally.set_aside += [Rejected(draft.key, str(error)) for draft in drafts]
        return
    fresh: dict[str, Draft] = {}
    for draft in drafts:
        before = fresh[draft.key].content if draft.key in fresh else known.get(draft.key)
        if before == draft.content:
            tally.unchanged += 1
        elif draft.key in fresh:
            tally.set_aside.append(Rejected(draft.key, "the same id as an earlier row, with another text"))
        else:
            fresh[draft.key] = draft
    await _write(bound, list(fresh.values()), source, tally, known)


async def _known(memory: MemoryEngine, drafts: list[Draft]) -> dict[str, str]:
    """Content by key of what this agent and user have stored of these drafts."""
    who = memory.identity
    page = await memory.retrieve_by(
        scope=MemoryScope(volk_id=who.volk_id, user_id=who.user_id),
        where=MemoryFilter(keys=tuple({draft.key for draft in drafts}), include_superseded=True),
        limit=BATCH,
    )
    return {entry.key: entry.content for entry in page.items}


async def _write(memory: MemoryEngine, drafts: list[Draft], source: str, tally: Tally, known: dict[str, str]) -> None:
    results = await _stored(memory, [_item(draft, source) for draft in drafts])
    for draft, result in zip(drafts, results, strict=True):
        if result.error is not None:
            tally.set_aside.append(Rejected(draft.key, _own_fault(result.error)))
        elif draft.key in known:
            tally.updated += 1
        else:
            tally.added += 1


async def _stored(memory: MemoryEngine, items: list[BatchItem]) -> list[BatchResult]:
    """Store a batch; one that is too much at once, of which nothing was taken, goes in halves."""
    if not items:
        return []
    try:
        return await memory.store_many(items)
    except (OverloadedError, LimitError):
        if len(items) == 1:
            raise
    await memory.flush()
    half = len(items) // 2
    return [*await _stored(memory, items[:half]), *await _stored(memory, items[half:])]


def _own_fault(error: MnemicError) -> str:
    if not isinstance(error, _ITS_OWN_FAULT):
        raise error
    return str(error)


def _item(draft: Draft, source: str) -> BatchItem:
    options = {"source": source, "origin": Origin.IMPORT, **draft.options, "key": draft.key}
    return BatchItem(content=draft.content, options=options)
