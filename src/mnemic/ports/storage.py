"""What must a place that keeps memories be able to do? The one port of storage (section 10.1 of the contract)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Flag, StrEnum, auto
from typing import Any, ClassVar

from mnemic.errors import CapabilityError
from mnemic.ports.filters import MemoryFilter
from mnemic.types import Address, MemoryEntry, MemoryHit, MemoryScope, Page, Vector


class Capability(Flag):
    """What a provider can do beyond the seven methods; an undeclared difference fails the suite."""

    NONE = 0
    VECTOR = auto()
    TEXT = auto()
    HYBRID = auto()
    HISTORY = auto()
    GRAPH = auto()
    COLLECTIONS = auto()
    BATCH = auto()
    TTL = auto()
    PERSISTENT = auto()
    CAS = auto()
    EVENTUAL = auto()


class EdgeKind(StrEnum):
    """How two memories, or a memory and an agent, are connected."""

    DERIVED_FROM = "DERIVED_FROM"
    SUMMARIZED_BY = "SUMMARIZED_BY"
    SHARED_WITH = "SHARED_WITH"
    RELATES_TO = "RELATES_TO"
    SUPERSEDES = "SUPERSEDES"
    CONFLICTS_WITH = "CONFLICTS_WITH"


class Order(StrEnum):
    """The order of a listing; ties by address."""

    NEWEST = "newest"
    OLDEST = "oldest"


@dataclass(frozen=True, slots=True)
class Edge:
    """A connection inside one tenant; ``target`` is a uid, or a volk id where the kind is SHARED_WITH."""

    tenant_id: str
    source: str
    kind: EdgeKind
    target: str


@dataclass(frozen=True, slots=True)
class Head:
    """What stands at an address: the newest version, and whether it is a live entry or a tombstone."""

    version: int
    live: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WordStats:
    """Word statistics of one tenant: live entries, their mean number of words, and in how many each term stands."""

    rows: int
    average_length: float
    rows_with: Mapping[str, int] = field(hash=False)


Hits = list[MemoryHit]
Entries = list[MemoryEntry]
Addresses = list[Address]
Edges = list[Edge]
Flags = list[bool]
Names = list[str]


class IMemoryProvider(ABC):
    """Keeps entries by (scope, key).

    Point methods need tenant, volk and user in the scope (the user may be empty); set methods need the tenant; else
    ScopeError. Every other field of the scope filters. Hits come best first, without tombstones, expired entries and,
    unless ``where`` asks for them, superseded ones; ``score`` is in [0, 1]. Limits lie in 1 to 1000.
    """

    name: ClassVar[str]
    capabilities: Capability

    @abstractmethod
    async def store(self, scope: MemoryScope, key: str, entry: MemoryEntry) -> bool:
        """Write an entry if its version is newer than what is there (PRV-005); tell whether anything was written."""

    @abstractmethod
    async def get(self, scope: MemoryScope, key: str) -> MemoryEntry | None:
        """The live entry at a key, or None."""

    @abstractmethod
    async def search(
        self, scope: MemoryScope, query: str, *, limit: int = 10, where: MemoryFilter | None = None
    ) -> Hits:
        """Entries that share a word with the query; the best has score 1. An empty query lists, newest first."""

    @abstractmethod
    async def delete(self, scope: MemoryScope, key: str, *, version: int | None = None) -> bool:
        """Leave a tombstone; True if a live entry was there (and still had ``version``, where given)."""

    @abstractmethod
    async def clear(self, scope: MemoryScope) -> int:
        """Remove everything in the scope, tombstones too; the number of live entries that went."""

    @abstractmethod
    async def store_with_embedding(
        self, scope: MemoryScope, key: str, entry: MemoryEntry, embedding: Sequence[float] | Vector
    ) -> bool:
        """As ``store``, with the vector of ``entry.embedding_model``; DimensionError for a bad vector."""

    @abstractmethod
    async def search_similar(
        self,
        scope: MemoryScope,
        embedding: Sequence[float] | Vector,
        *,
        limit: int = 10,
        min_score: float = 0.0,
        where: MemoryFilter | None = None,
    ) -> Hits:
        """Nearest entries; score = max(0, cosine). Vectors of another size or model are skipped."""

    # ---- concrete defaults, built on the seven

    async def open(self) -> None:
        """Open what is needed; lazy providers do it at the first call. May be repeated."""

    async def close(self) -> None:
        """Close what is open; may be repeated."""

    async def ping(self) -> bool:
        """Whether the provider answers; never raises."""
        return True

    async def update(self, scope: MemoryScope, key: str, entry: MemoryEntry) -> bool:
        """Store over an existing entry; False where there is none."""
        return await self.get(scope, key) is not None and await self.store(scope, key, entry)

    async def count(self, scope: MemoryScope, where: MemoryFilter | None = None) -> int:
        """How many live entries the scope and filter hold."""
        found, after = 0, None
        while True:
            page = await self.list(scope, where, after=after, limit=1000)
            found += len(page.items)
            if (after := page.next_cursor) is None:
                return found

    async def keys(self, scope: MemoryScope, *, after: Address | None = None, limit: int = 100) -> Addresses:
        """Addresses of live entries by (volk, user, key) in code point order, from behind ``after``."""
        page = await self.list(scope, limit=1000)
        entries = [*page.items]
        while page.next_cursor is not None:
            page = await self.list(scope, after=page.next_cursor, limit=1000)
            entries += page.items
        addresses = sorted(entry.address for entry in entries)
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
        """Walk the scope by cursor, newest first, without an upper end."""
        raise CapabilityError(f"provider {self.name!r} cannot list; choose one that can")

    async def annotate(self, scope: MemoryScope, key: str, *, version: int, **derived: Any) -> bool:
        """Change just the named derived fields of that version; False if it is another version by now.

        Derived fields: summary, quality, importance, access_count, last_accessed_at, valid_to, superseded_by, pinned.
        """
        entry = await self.get(scope, key)
        if entry is None or entry.version != version:
            return False
        if any(value is None for value in derived.values()):
            raise CapabilityError(f"provider {self.name!r} cannot clear a derived field")
        return await self.store(scope, key, replace(entry, **derived))

    async def word_stats(self, scope: MemoryScope, terms: Sequence[str]) -> WordStats:
        """Word statistics of the scope's tenant for ranking; ``terms`` as ``words.terms`` gives them."""
        raise CapabilityError(f"provider {self.name!r} keeps no word statistics")

    async def get_many(
        self, scope: MemoryScope, addresses: Sequence[Address], *, with_embedding: bool = False
    ) -> dict[Address, MemoryEntry]:
        """The live entries at these addresses of the scope's tenant."""
        found: dict[Address, MemoryEntry] = {}
        for address in addresses:
            point = replace(scope, volk_id=address.volk_id, user_id=address.user_id)
            if (entry := await self.get(point, address.key)) is not None:
                found[address] = entry
        return found

    async def store_many(self, scope: MemoryScope, entries: Sequence[MemoryEntry]) -> Flags:
        """Validate all, then write; a bad entry writes nothing."""
        return [await self.store(replace(scope, volk_id=e.volk_id, user_id=e.user_id), e.key, e) for e in entries]

    async def hybrid_search(
        self,
        scope: MemoryScope,
        query: str,
        embedding: Sequence[float] | Vector,
        *,
        limit: int = 10,
        vector_weight: float = 0.7,
        text_weight: float = 0.3,
        where: MemoryFilter | None = None,
    ) -> Hits:
        """Weighted sum of the vector score and of the text score divided by its best."""
        merged: dict[Address, tuple[MemoryHit, float]] = {}
        for weight, hits in (
            (vector_weight, await self.search_similar(scope, embedding, limit=1000, where=where)),
            (text_weight, await self.search(scope, query, limit=1000, where=where)),
        ):
            for hit in hits:
                before = merged.get(hit.address, (hit, 0.0))[1]
                merged[hit.address] = (hit, before + weight * hit.score)
        best = sorted(merged.values(), key=lambda pair: (-pair[1], -pair[0].created_at.timestamp(), pair[0].address))
        return [replace(hit, score=score, relevance_score=score) for hit, score in best[:limit]]

    async def heads(self, scope: MemoryScope, addresses: Sequence[Address]) -> dict[Address, Head]:
        """The newest version at each address, tombstones included; addresses never written are left out."""
        found = await self.get_many(scope, addresses)
        return {address: Head(entry.version, live=True) for address, entry in found.items()}

    async def similarities(
        self, scope: MemoryScope, embedding: Vector, addresses: Sequence[Address], *, model_id: str
    ) -> dict[Address, float]:
        """The raw cosine of each address that has a current vector of that model."""
        found = await self.get_many(scope, addresses, with_embedding=True)
        return {
            address: float(entry.embedding @ embedding)
            for address, entry in found.items()
            if entry.embedding is not None and entry.embedding_model == model_id
        }

    async def neighbours(
        self, scope: MemoryScope, entries: Sequence[MemoryEntry]
    ) -> dict[Address, tuple[MemoryEntry | None, MemoryEntry | None]]:
        """The turns before and after each entry: same session, volk, user and class, ``turn`` one less and one more."""
        raise CapabilityError(f"provider {self.name!r} cannot look up neighbouring turns")

    async def versions(self, scope: MemoryScope, key: str) -> Entries:
        """Every kept version at a key, newest first, tombstones left out."""
        raise CapabilityError(f"provider {self.name!r} keeps no history")

    async def link(self, scope: MemoryScope, edges: Sequence[Edge]) -> int:
        """Draw edges of the scope's tenant; the number that is new."""
        raise CapabilityError(f"provider {self.name!r} keeps no graph")

    async def edges(self, scope: MemoryScope, uids: Sequence[str]) -> Edges:
        """Every edge of the scope's tenant that starts or ends at one of these uids."""
        raise CapabilityError(f"provider {self.name!r} keeps no graph")

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
        """Entries reached in 1 to ``depth`` steps, nearest first; what ``where`` excludes is not passed through.

        ``kinds`` takes edge kinds and ``task``, ``session``, ``volk``, ``project`` (entries that have the same one);
        None means every edge kind between memories, and ``task``.
        """
        raise CapabilityError(f"provider {self.name!r} keeps no graph")

    async def collections(self) -> Names:
        """Names of the collections."""
        raise CapabilityError(f"provider {self.name!r} has no collections")
