"""How does a dictionary answer as a memory provider? Simple and obviously right: the oracle of all others."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from mnemic.errors import InvalidInputError, ScopeError
from mnemic.ports import (
    Capability,
    Clock,
    Deletion,
    Edge,
    EdgeKind,
    Embedding,
    EmbeddingCache,
    Head,
    IMemoryProvider,
    MemoryFilter,
    Order,
    WordStats,
)
from mnemic.ports.checks import check_entry, check_limit, check_query, point, tenant_of
from mnemic.ports.matching import in_scope
from mnemic.providers.inmemory.journal import InMemoryJournal
from mnemic.providers.inmemory.state import Slot, detached
from mnemic.types import Address, MemoryEntry, MemoryHit, MemoryHits, MemoryScope, Page, Vector
from mnemic.vectors import normalise
from mnemic.words import index_text, terms

__all__ = ["InMemoryProvider"]

_CACHE_LIMIT = 100_000
_GROUPS = {"task": "task_id", "session": "session_id", "volk": "volk_id", "project": "project_id"}
_BETWEEN_MEMORIES = frozenset(EdgeKind) - {EdgeKind.SHARED_WITH}

Entries = list[MemoryEntry]
Hits = list[MemoryHit]
Found = list[tuple[MemoryEntry, Slot]]
Addresses = list[Address]
Edges = list[Edge]
Flags = list[bool]


class InMemoryProvider(InMemoryJournal, IMemoryProvider, EmbeddingCache):
    """Keeps everything in this process and nothing beyond it.

    Args:
        clock: By which entries expire and tombstones are dated; None means the machine's.
    """

    name: ClassVar[str] = "inmemory"
    capabilities = ~(Capability.COLLECTIONS | Capability.PERSISTENT | Capability.EVENTUAL)

    def __init__(self, *, clock: Clock | None = None) -> None:
        super().__init__(clock)

    # ---- one entry

    async def store(self, scope: MemoryScope, key: str, entry: MemoryEntry) -> bool:
        """Write an entry if its version is newer."""
        check_entry(scope, key, entry)
        vector = None if entry.embedding is None else self._checked_vector(entry, entry.embedding)
        return self._state.put(entry, vector)

    async def store_with_embedding(
        self, scope: MemoryScope, key: str, entry: MemoryEntry, embedding: Sequence[float] | Vector
    ) -> bool:
        """Write an entry and its vector if its version is newer."""
        check_entry(scope, key, entry)
        return self._state.put(entry, self._checked_vector(entry, embedding))

    def _checked_vector(self, entry: MemoryEntry, embedding: Sequence[float] | Vector) -> Vector:
        return self._checked(entry.tenant_id, embedding, entry.embedding_model)

    async def store_many(self, scope: MemoryScope, entries: Sequence[MemoryEntry]) -> Flags:
        """Check all, then write."""
        tenant_of(scope)
        vectors = []
        for entry in entries:
            check_entry(replace(scope, volk_id=entry.volk_id, user_id=entry.user_id), entry.key, entry)
            vectors.append(None if entry.embedding is None else self._checked_vector(entry, entry.embedding))
        return [self._state.put(entry, vector) for entry, vector in zip(entries, vectors, strict=True)]

    async def get(self, scope: MemoryScope, key: str) -> MemoryEntry | None:
        """Give the live entry at a key."""
        slot = self._readable_slot(scope, point(scope, key))
        return None if slot is None or slot.live is None else detached(slot.live)

    def _readable_slot(self, scope: MemoryScope, address: Address) -> Slot | None:
        slot = self._state.slot(address)
        if slot.live is None or not in_scope(slot.live, scope):
            return None
        expires_at = slot.live.expires_at
        return slot if expires_at is None or expires_at > self._now() else None

    async def delete(self, scope: MemoryScope, key: str, *, version: int | None = None) -> bool:
        """Leave a tombstone of the next version."""
        slot = self._readable_slot(scope, point(scope, key))
        if slot is None or version not in {None, slot.version}:
            return False
        self._state.bury(Deletion(address=slot.address, version=slot.version + 1, at=self._now()))
        return True

    async def annotate(self, scope: MemoryScope, key: str, *, version: int, **derived: Any) -> bool:
        """Change derived fields; None clears."""
        address = point(scope, key)
        return self._state.annotate(address, version, derived) if self._readable_slot(scope, address) else False

    async def versions(self, scope: MemoryScope, key: str) -> Entries:
        """Give every kept version."""
        found = self._state.slot(point(scope, key)).versions()
        return [detached(entry) for entry in found if in_scope(entry, scope)]

    # ---- many entries

    async def get_many(
        self, scope: MemoryScope, addresses: Sequence[Address], *, with_embedding: bool = False
    ) -> dict[Address, MemoryEntry]:
        """Give the live entries at these addresses, if asked with their vectors."""
        found = {}
        for address in self._of_tenant(scope, addresses):
            place = replace(scope, volk_id=address.volk_id, user_id=address.user_id)
            slot = self._readable_slot(place, address)
            if slot is not None and slot.live is not None:
                vector = slot.vector.copy() if with_embedding and slot.vector is not None else None
                found[address] = detached(slot.live, embedding=vector)
        return found

    @staticmethod
    def _of_tenant(scope: MemoryScope, addresses: Iterable[Address]) -> Addresses:
        tenant = tenant_of(scope)
        return [address for address in addresses if address.tenant_id == tenant]

    async def heads(self, scope: MemoryScope, addresses: Sequence[Address]) -> dict[Address, Head]:
        """Give the newest version at each address."""
        slots = [self._state.slot(address) for address in self._of_tenant(scope, addresses)]
        return {slot.address: Head(slot.version, live=slot.live is not None) for slot in slots if slot.version}

    async def clear(self, scope: MemoryScope) -> int:
        """Forget what lies in the scope."""
        return self._state.erase(tenant_of(scope), scope)

    async def count(self, scope: MemoryScope, where: MemoryFilter | None = None) -> int:
        """Count what the scope and filter hold."""
        return len(self._find(scope, where))

    async def keys(self, scope: MemoryScope, *, after: Address | None = None, limit: int = 100) -> Addresses:
        """Give addresses in their order."""
        check_limit(limit)
        addresses = sorted(entry.address for entry, _ in self._find(scope, None))
        return [address for address in addresses if after is None or address > after][:limit]

    async def list(
        self,
        scope: MemoryScope,
        where: MemoryFilter | None = None,
        *,
        order: Order = Order.NEWEST,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[MemoryEntry]:
        """Walk the scope; the cursor is the place of the last entry in the order."""
        check_limit(limit)
        sign = -1 if order is Order.NEWEST else 1
        placed = sorted((_place(entry, sign), entry) for entry, _ in self._find(scope, where))
        start = None if after is None else _parse_cursor(after)
        rest = [(place, entry) for place, entry in placed if start is None or place > start]
        cursor = json.dumps(rest[limit - 1][0]) if len(rest) > limit else None
        return Page(items=tuple(detached(entry) for _, entry in rest[:limit]), next_cursor=cursor)

    def _find(self, scope: MemoryScope, where: MemoryFilter | None) -> Found:
        return self._state.find(tenant_of(scope), scope, where, self._now())

    # ---- search

    async def search(
        self, scope: MemoryScope, query: str, *, limit: int = 10, where: MemoryFilter | None = None
    ) -> Hits:
        """Score by BM25 within the tenant, divided by the best; an entry that equals the query comes first."""
        check_query(query), check_limit(limit)
        found = [entry for entry, _ in self._find(scope, where)]
        if not query.strip():
            return _ranked([(entry, 1.0) for entry in found], "text", limit)
        wanted = set(terms(query))
        stats = await self.word_stats(scope, sorted(wanted))
        scores = [(entry, _bm25(Counter(terms(index_text(entry))), stats)) for entry in found]
        best = max((score for _, score in scores), default=0.0)
        equal = query.strip().casefold()
        hits = [
            (entry, 1.0 if entry.content.strip().casefold() == equal else score / best)
            for entry, score in scores
            if score > 0
        ]
        hits.sort(key=lambda pair: pair[0].content.strip().casefold() != equal)
        return _ranked(hits, "text", limit)

    async def word_stats(self, scope: MemoryScope, terms_: Sequence[str]) -> WordStats:
        """Count words in the live entries of the tenant."""
        slots = self._state.of_tenant(tenant_of(scope))
        bags = [terms(index_text(slot.live)) for slot in slots if slot.live is not None]
        with_term = {term: sum(term in bag for bag in map(set, bags)) for term in terms_}
        average = sum(map(len, bags)) / len(bags) if bags else 0.0
        return WordStats(rows=len(bags), average_length=average, rows_with=with_term)

    async def search_similar(
        self,
        scope: MemoryScope,
        embedding: Sequence[float] | Vector,
        *,
        limit: int = 10,
        min_score: float = 0.0,
        where: MemoryFilter | None = None,
    ) -> Hits:
        """Compare with every vector of the same model."""
        check_limit(limit)
        query, tenant = normalise(embedding), tenant_of(scope)
        space = self._state.space(tenant, query, where.embedding_model if where else None)
        if space is None:
            return MemoryHits()
        scores = [
            (entry, round(min(1.0, max(0.0, float(slot.vector @ query))), 6))
            for entry, slot in self._find(scope, where)
            if entry is slot.live and slot.vector is not None and (entry.embedding_model or "") == space
        ]
        best = _ranked([(entry, score) for entry, score in scores if score >= min_score], "vector", limit)
        total, used = (sum(1 for _ in self._state.vectors(tenant, model)) for model in (None, space))
        return MemoryHits(best, skipped_vectors=total - used)

    async def similarities(
        self, scope: MemoryScope, embedding: Vector, addresses: Sequence[Address], *, model_id: str
    ) -> dict[Address, float]:
        """Give the cosine of each address that has a vector of the model."""
        wanted = set(addresses)
        query = normalise(embedding)
        return {
            address: float(vector @ query)
            for address, vector in self._state.vectors(tenant_of(scope), model_id)
            if address in wanted and len(vector) == len(query)
        }

    # ---- connections

    async def neighbours(
        self, scope: MemoryScope, entries: Sequence[MemoryEntry]
    ) -> dict[Address, tuple[MemoryEntry | None, MemoryEntry | None]]:
        """Look up the turns before and after."""
        turns = {_turn(entry, 0): entry for entry, _ in self._find(_anybody(scope), None) if entry.turn is not None}
        found = {}
        for entry in entries:
            if entry.turn is not None and entry.tenant_id == scope.tenant_id:
                before, after = turns.get(_turn(entry, -1)), turns.get(_turn(entry, 1))
                found[entry.address] = (before and detached(before), after and detached(after))
        return found

    async def link(self, scope: MemoryScope, edges: Sequence[Edge]) -> int:
        """Draw edges."""
        tenant = tenant_of(scope)
        if any(edge.tenant_id != tenant for edge in edges):
            raise ScopeError("an edge names another tenant than the scope; give edges of the scope's tenant")
        new = set(edges) - self._state.edges
        self._state.edges |= new
        return len(new)

    async def edges(self, scope: MemoryScope, uids: Sequence[str]) -> Edges:
        """Give the edges at these entries."""
        tenant, wanted = tenant_of(scope), set(uids)
        found = [e for e in self._state.edges if e.tenant_id == tenant and wanted & {e.source, e.target}]
        return sorted(found, key=lambda edge: (edge.source, edge.kind, edge.target))

    async def related(
        self,
        scope: MemoryScope,
        key: str,
        *,
        depth: int = 1,
        kinds: Sequence[str] | None = None,
        limit: int = 50,
        where: MemoryFilter | None = None,
    ) -> Entries:
        """Walk breadth first over what the filter lets through."""
        start = point(scope, key)
        wanted = _checked_kinds(kinds)
        check_limit(limit)
        if not 1 <= depth <= 5:
            raise InvalidInputError(f"depth is {depth}; give 1 to 5")
        if self._readable_slot(scope, start) is None:
            return []
        allowed = {entry.uid: entry for entry, _ in self._find(_anybody(scope), where)}
        seen, frontier, found = {start.uid}, {start.uid}, []
        for _ in range(depth):
            frontier = {uid for uid in self._step(frontier, wanted) if uid in allowed} - seen
            seen |= frontier
            found += sorted((allowed[uid] for uid in frontier), key=lambda entry: _place(entry, -1))
        return [detached(entry) for entry in found[:limit]]

    def _step(self, uids: set[str], kinds: set[str]) -> set[str]:
        """Give what one step leads to from these entries."""
        reached = set()
        for edge in self._state.edges:
            if edge.kind in kinds and edge.kind in _BETWEEN_MEMORIES and uids & {edge.source, edge.target}:
                reached |= {edge.source, edge.target}
        for name in kinds & _GROUPS.keys():
            groups = {_group(slot, name) for uid in uids if (slot := self._state.slots.get(uid))} - {None}
            reached |= {uid for uid, slot in self._state.slots.items() if _group(slot, name) in groups}
        return reached

    # ---- cache of vectors

    async def cached(self, tenant_id: str, model_id: str, hashes: Sequence[bytes]) -> dict[bytes, Embedding]:
        """Give what is known."""
        places = {hash_: (tenant_id, model_id, hash_) for hash_ in hashes}
        cache = self._state.cache
        return {hash_: cache[place] for hash_, place in places.items() if place in cache}

    async def tokens_of(self, tenant_id: str, model_id: str, addresses: Sequence[Address]) -> dict[Address, bytes]:
        """Give the packed token vectors of live entries."""
        slots = [self._state.slot(address) for address in addresses if address.tenant_id == tenant_id]
        return {s.address: s.tokens for s in slots if s.tokens and s.live and s.live.embedding_model == model_id}

    async def keep(self, tenant_id: str, model_id: str, embeddings: Mapping[bytes, Embedding]) -> None:
        """Remember embeddings; the oldest give way."""
        cache = self._state.cache
        cache |= {(tenant_id, model_id, hash_): known for hash_, known in embeddings.items()}
        while len(cache) > _CACHE_LIMIT:
            del cache[next(iter(cache))]


def _anybody(scope: MemoryScope) -> MemoryScope:
    return replace(scope, volk_id=None, user_id=None)


def _place(entry: MemoryEntry, sign: int) -> list[Any]:
    """Where an entry stands in a listing: by time in microseconds, ties by address."""
    moment = entry.created_at
    return [sign * round(moment.timestamp() * 1_000_000), entry.volk_id, entry.user_id, entry.key]


def _parse_cursor(cursor: str) -> list[Any]:
    try:
        moment, volk, user, key = json.loads(cursor)
        return [int(moment), str(volk), str(user), str(key)]
    except (ValueError, TypeError):
        raise InvalidInputError("the cursor is malformed; give next_cursor of the page before, unchanged") from None


def _ranked(scores: Iterable[tuple[MemoryEntry, float]], channel: str, limit: int) -> Hits:
    """Make hits, best first; a stable sort keeps ties in the order they come in: newest first, then by address."""
    best = sorted(scores, key=lambda pair: -pair[1])[:limit]
    return [
        MemoryHit.of(detached(entry), score=score, channels=(channel,), rank=rank)
        for rank, (entry, score) in enumerate(best, start=1)
    ]


def _bm25(bag: Counter[str], stats: WordStats) -> float:
    """Score words by Robertson's BM25 with k1 = 1.2 and b = 0.75."""
    length = 0.25 + 0.75 * bag.total() / (stats.average_length or 1.0)
    score = 0.0
    for term, rows in stats.rows_with.items():
        if count := bag[term]:
            rarity = math.log(1 + (stats.rows - rows + 0.5) / (rows + 0.5))
            score += rarity * count * 2.2 / (count + 1.2 * length)
    return score


def _turn(entry: MemoryEntry, step: int) -> tuple[object, ...]:
    return (entry.session_id, entry.volk_id, entry.user_id, entry.classification, (entry.turn or 0) + step)


def _checked_kinds(kinds: Sequence[str] | None) -> set[str]:
    if kinds is None:
        return {*_BETWEEN_MEMORIES, "task"}
    if unknown := set(kinds) - {*EdgeKind, *_GROUPS}:
        raise InvalidInputError(f"kinds has {min(unknown)!r}; give some of {', '.join([*EdgeKind, *_GROUPS])}")
    return set(kinds)


def _group(slot: Slot, name: str) -> tuple[str, str] | None:
    """Tenant and group of an entry, None where it is in none."""
    value = getattr(slot.live, _GROUPS[name]) if slot.live else ""
    return (slot.address.tenant_id, value) if value else None
