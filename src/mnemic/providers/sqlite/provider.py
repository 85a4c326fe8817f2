"""SQLite as a place that keeps memories: one file, one writer, a few readers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import apsw

from mnemic.errors import InvalidInputError, ScopeError
from mnemic.ports.checks import check_entry, check_limit, check_query, point, tenant_of
from mnemic.ports.component import Clock
from mnemic.ports.filters import MemoryFilter
from mnemic.ports.journal import Annotation, Deletion
from mnemic.ports.storage import Capability, Edge, Head, IMemoryProvider, Order, WordStats
from mnemic.providers.sqlite import graph, reads, text, units, writes
from mnemic.providers.sqlite.journal import SqliteJournal
from mnemic.providers.sqlite.past import standing_then
from mnemic.providers.sqlite.readers import Reader
from mnemic.providers.sqlite.where import Clause, compiled
from mnemic.types import Address, DurabilityMode, MemoryEntry, MemoryHit, MemoryScope, Page, Vector
from mnemic.vectors import normalise

__all__ = ["SqliteProvider"]

Addresses = list[Address]
Edges = list[Edge]
Entries = list[MemoryEntry]
Flags = list[bool]
Hits = list[MemoryHit]

_DEPTH = 5


class SqliteProvider(SqliteJournal, IMemoryProvider):
    """Keeps memories, journal and audit in one file that several processes may use at once.

    Args:
        path: The file, made if need be; ``:memory:`` for a database that goes with this object.
        durability: What an acknowledged write survives.
        clock: By which entries expire and tombstones are dated; None means the system's.
        exact_limit: Up to so many vectors of a tenant and model every one is compared.
        max_pending: So many writes may wait; one more is an OverloadedError.
        vfs: Name of the apsw VFS to go through; None means the system's.
    """

    name: ClassVar[str] = "sqlite"

    def __init__(
        self,
        path: str | Path,
        *,
        durability: DurabilityMode = DurabilityMode.POWER,
        clock: Clock | None = None,
        exact_limit: int = 50_000,
        max_pending: int = 10_000,
        vfs: str | None = None,
    ) -> None:
        super().__init__(
            path, durability=durability, clock=clock, exact_limit=exact_limit, max_pending=max_pending, vfs=vfs
        )
        beyond = Capability.COLLECTIONS | Capability.EVENTUAL
        self.capabilities = ~(beyond | (Capability.PERSISTENT if str(path) == ":memory:" else Capability.NONE))

    # ---- one entry

    async def store(self, scope: MemoryScope, key: str, entry: MemoryEntry) -> bool:
        """Write an entry if its version is newer than what is there."""
        check_entry(scope, key, entry)
        checked = _with_checked_vector(entry)
        return bool(await self._write(lambda db: writes.put(db, checked)))

    async def store_with_embedding(
        self, scope: MemoryScope, key: str, entry: MemoryEntry, embedding: Sequence[float] | Vector
    ) -> bool:
        """Write an entry and its vector if its version is newer than what is there."""
        check_entry(scope, key, entry)
        checked = replace(entry, embedding=normalise(embedding))
        return bool(await self._write(lambda db: writes.put(db, checked)))

    async def store_many(self, scope: MemoryScope, entries: Sequence[MemoryEntry]) -> Flags:
        """Check all, then write all in one transaction."""
        tenant_of(scope)
        for entry in entries:
            check_entry(replace(scope, volk_id=entry.volk_id, user_id=entry.user_id), entry.key, entry)
        checked = [_with_checked_vector(entry) for entry in entries]
        flags: Flags = await self._write(lambda db: [writes.put(db, entry) for entry in checked])
        return flags

    async def get(self, scope: MemoryScope, key: str) -> MemoryEntry | None:
        """The live entry at a key, or None."""
        point(scope, key)
        return await self._read(lambda reader: reads.get(reader, scope, key, now=self._now()))

    async def delete(self, scope: MemoryScope, key: str, *, version: int | None = None) -> bool:
        """Leave a tombstone of the next version; True if a live entry was there."""
        address = point(scope, key)

        def work(db: apsw.Connection) -> bool:
            there = reads.get(Reader(db), scope, key, now=self._now())
            if there is None or version not in {None, there.version}:
                return False
            return writes.bury(db, Deletion(address=address, version=there.version + 1, at=self._now()))

        return bool(await self._write(work))

    async def annotate(self, scope: MemoryScope, key: str, *, version: int, **derived: Any) -> bool:
        """Change derived fields of a version; None clears."""
        note = Annotation(address=point(scope, key), version=version, fields=derived)

        def work(db: apsw.Connection) -> bool:
            there = reads.get(Reader(db), scope, key, now=self._now())
            return there is not None and writes.annotate(db, note)

        return bool(await self._write(work))

    async def versions(self, scope: MemoryScope, key: str) -> Entries:
        """Every kept version at a key, newest first."""
        address = point(scope, key)
        return await self._read(lambda reader: reads.versions(reader, scope, address))

    # ---- many entries

    async def get_many(
        self, scope: MemoryScope, addresses: Sequence[Address], *, with_embedding: bool = False
    ) -> dict[Address, MemoryEntry]:
        """The live entries at these addresses."""
        own = _of_tenant(scope, addresses)
        ask = partial(reads.at_addresses, scope=scope, addresses=own, now=self._now(), with_embedding=with_embedding)
        return await self._read(ask)

    async def heads(self, scope: MemoryScope, addresses: Sequence[Address]) -> dict[Address, Head]:
        """The newest version at each address, tombstones included."""
        own = _of_tenant(scope, addresses)
        return await self._read(lambda reader: reads.heads(reader, tenant_of(scope), own))

    async def clear(self, scope: MemoryScope) -> int:
        """Remove everything in the scope; the number of live entries that went."""
        tenant_of(scope)
        return int(await self._write(lambda db: writes.clear(db, reads.ids_in_scope(Reader(db), scope))))

    async def count(self, scope: MemoryScope, where: MemoryFilter | None = None) -> int:
        """How many entries the scope and filter hold."""
        clause = self._clause(scope, where)
        return await self._read(lambda reader: reads.count(reader, clause) + len(self._past(reader, scope, where)))

    async def keys(self, scope: MemoryScope, *, after: Address | None = None, limit: int = 100) -> Addresses:
        """Addresses of live entries in their order, from behind ``after``."""
        check_limit(limit)
        clause = self._clause(scope, None)
        return await self._read(lambda reader: reads.keys(reader, clause, after=after, limit=limit))

    async def list(
        self,
        scope: MemoryScope,
        where: MemoryFilter | None = None,
        *,
        order: Order = Order.NEWEST,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[MemoryEntry]:
        """Walk the scope by cursor."""
        check_limit(limit)
        clause = self._clause(scope, where)

        def ask(reader: Reader) -> Page[MemoryEntry]:
            past = self._past(reader, scope, where)
            return reads.listing(reader, clause, order=order, after=after, limit=limit, past=past)

        return await self._read(ask)

    # ---- search

    async def search(
        self, scope: MemoryScope, query: str, *, limit: int = 10, where: MemoryFilter | None = None
    ) -> Hits:
        """Entries that share a word with the query, best first; an empty query lists, newest first."""
        check_query(query)
        if not query.strip():
            page = await self.list(scope, where, limit=limit)
            return [MemoryHit.of(e, score=1.0, channels=("text",), rank=n) for n, e in enumerate(page.items, start=1)]
        check_limit(limit)
        clause = self._clause(scope, where)

        def ask(reader: Reader) -> Hits:
            past = self._past(reader, scope, where)
            return text.search(reader, clause, tenant_of(scope), query, limit=limit, past=past)

        return await self._read(ask)

    async def word_stats(self, scope: MemoryScope, terms: Sequence[str]) -> WordStats:
        """Word statistics of the tenant."""
        tenant = tenant_of(scope)
        return await self._read(lambda reader: text.word_stats(reader, reads.tenant_of_name(reader, tenant), terms))

    async def search_similar(
        self,
        scope: MemoryScope,
        embedding: Sequence[float] | Vector,
        *,
        limit: int = 10,
        min_score: float = 0.0,
        where: MemoryFilter | None = None,
    ) -> Hits:
        """Nearest entries; the model is the filter's, else the newest of the query's size."""
        check_limit(limit)
        query, clause, tenant = normalise(embedding), self._clause(scope, where), tenant_of(scope)
        model = where.embedding_model if where else None
        return await self._read(
            lambda reader: self._nearest().search(
                reader, clause, tenant, query, model=model, limit=limit, floor=min_score
            )
        )

    async def similarities(
        self, scope: MemoryScope, embedding: Vector, addresses: Sequence[Address], *, model_id: str
    ) -> dict[Address, float]:
        """The raw cosine of each address that has a current vector of that model."""
        own, query = _of_tenant(scope, addresses), normalise(embedding)
        return await self._read(lambda reader: reads.similarities(reader, scope, query, own, model_id))

    # ---- connections

    async def neighbours(
        self, scope: MemoryScope, entries: Sequence[MemoryEntry]
    ) -> dict[Address, tuple[MemoryEntry | None, MemoryEntry | None]]:
        """The turns before and after each entry."""
        own = [entry for entry in entries if entry.tenant_id == tenant_of(scope)]
        clause = partial(self._clause, _anybody(scope), None)
        return await self._read(lambda reader: graph.neighbours(reader, own, clause))

    async def link(self, scope: MemoryScope, edges: Sequence[Edge]) -> int:
        """Draw edges; the number that is new."""
        if any(edge.tenant_id != tenant_of(scope) for edge in edges):
            raise ScopeError("an edge names another tenant than the scope; give edges of the scope's tenant")
        return int(await self._write(lambda db: units.add_edges(db, tuple(edges))))

    async def edges(self, scope: MemoryScope, uids: Sequence[str]) -> Edges:
        """Every edge that starts or ends at one of these uids."""
        tenant = tenant_of(scope)
        return await self._read(lambda reader: graph.edges(reader, tenant, uids))

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
        """Entries reached in 1 to ``depth`` steps, nearest first."""
        point(scope, key)
        wanted = graph.checked_kinds(kinds)
        check_limit(limit)
        if not 1 <= depth <= _DEPTH:
            raise InvalidInputError(f"depth is {depth}; give 1 to {_DEPTH}")
        clause = partial(self._clause, _anybody(scope), where)

        def ask(reader: Reader) -> Entries:
            start = reads.get(reader, scope, key, now=self._now())
            return graph.related(reader, start, wanted, clause=clause, depth=depth, limit=limit) if start else []

        return await self._read(ask)

    def _clause(self, scope: MemoryScope, where: MemoryFilter | None) -> Clause:
        return compiled(scope, where, now=self._now())

    def _past(self, reader: Reader, scope: MemoryScope, where: MemoryFilter | None) -> Entries:
        return standing_then(reader, scope, where, now=self._now())


def _anybody(scope: MemoryScope) -> MemoryScope:
    return replace(scope, volk_id=None, user_id=None)


def _of_tenant(scope: MemoryScope, addresses: Sequence[Address]) -> Addresses:
    tenant = tenant_of(scope)
    return [address for address in addresses if address.tenant_id == tenant]


def _with_checked_vector(entry: MemoryEntry) -> MemoryEntry:
    return entry if entry.embedding is None else replace(entry, embedding=normalise(entry.embedding))
