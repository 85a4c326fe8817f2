"""What does the in-memory store hold, and what does one change do to it?"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from mnemic.errors import DimensionError, InvalidInputError
from mnemic.ports import (
    AuditRow,
    Deletion,
    Edge,
    EdgeKind,
    Embedding,
    IdempotencyRecord,
    Job,
    MemoryFilter,
    SessionRow,
    WorkingMark,
)
from mnemic.ports.matching import in_scope, matches
from mnemic.types import Address, MemoryEntry, MemoryHit, MemoryScope, SystemEvent, Vector, utc

__all__ = ["Slot", "State", "check_derived", "detached"]

_DERIVED = frozenset(
    {
        *("summary", "quality", "importance", "access_count"),
        *("last_accessed_at", "valid_to", "superseded_by", "pinned"),
    }
)


_TIMES = (
    *("created_at", "updated_at", "last_accessed_at", "recorded_at", "valid_from"),
    *("occurred_at", "expires_at", "valid_to"),
)


def _in_utc(entry: MemoryEntry) -> MemoryEntry:
    moments: dict[str, Any] = {name: moment and utc(moment) for name in _TIMES for moment in [getattr(entry, name)]}
    return replace(entry, **moments)


def detached(entry: MemoryEntry, **changes: Any) -> MemoryEntry:
    """Give a copy that shares nothing that can be changed, without vector and score."""
    if isinstance(entry, MemoryHit):
        entry = entry.entry()
    metadata = copy.deepcopy(dict(entry.metadata))
    return replace(entry, **{"embedding": None, "relevance_score": None, "metadata": metadata, **changes})


def check_derived(fields: Mapping[str, Any]) -> None:
    """Refuse names that are no derived fields."""
    if unknown := fields.keys() - _DERIVED:
        raise InvalidInputError(f"{min(unknown)!r} is no derived field; give some of {', '.join(sorted(_DERIVED))}")


@dataclass(slots=True)
class Slot:
    """What lies at one address: the newest version, or a tombstone, and the versions before it."""

    address: Address
    version: int = 0
    live: MemoryEntry | None = None
    buried_at: datetime | None = None
    kept: list[MemoryEntry] = field(default_factory=list)
    vector: Vector | None = None
    tokens: bytes = b""
    behind: Address | None = None
    """The entry that the vector saw beside its own."""
    cached: tuple[str, str, bytes] | None = None
    """Where the vector lies in the cache."""

    def versions(self) -> list[MemoryEntry]:
        """Every kept version, newest first, without tombstones."""
        return [*([self.live] if self.live else []), *reversed(self.kept)]

    def at(self, moment: datetime | None) -> MemoryEntry | None:
        """The version that held at a moment of valid time; None means the newest."""
        if moment is None:
            return self.live
        return next((version for version in self.versions() if _held(version, moment)), None)

    def end(self, moment: datetime) -> None:
        """Move the newest version among the kept ones; it held until a moment at the latest."""
        if self.live is not None:
            self.kept.append(replace(self.live, valid_to=self.live.valid_to or moment))
        self.live = None


def _held(version: MemoryEntry, moment: datetime) -> bool:
    return version.valid_from <= moment and (version.valid_to is None or moment < version.valid_to)


@dataclass(slots=True)
class State:
    """Everything, as plain containers."""

    slots: dict[str, Slot] = field(default_factory=dict)
    edges: set[Edge] = field(default_factory=set)
    outbox: dict[str, SystemEvent] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    audit: dict[tuple[str, str], list[AuditRow]] = field(default_factory=dict)
    idempotency: dict[tuple[str, str], IdempotencyRecord] = field(default_factory=dict)
    marks: dict[str, WorkingMark] = field(default_factory=dict)
    sessions: dict[tuple[str, str], SessionRow] = field(default_factory=dict)
    cache: dict[tuple[str, str, bytes], Embedding] = field(default_factory=dict)
    followers: dict[Address, set[str]] = field(default_factory=dict)
    """By each entry, which entries' vectors were made behind it."""
    spaces: dict[tuple[str, str], None] = field(default_factory=dict)
    """Tenant and model of every vector, the one written last at the end."""

    def slot(self, address: Address) -> Slot:
        """The slot of an address, a new one if need be; it counts only once something was put there."""
        return self.slots.get(address.uid) or Slot(address)

    def of_tenant(self, tenant_id: str) -> Iterator[Slot]:
        """Every slot of one tenant."""
        return (slot for slot in list(self.slots.values()) if slot.address.tenant_id == tenant_id)

    def put(self, entry: MemoryEntry, vector: Vector | None = None) -> bool:
        """Store by version (PRV-005)."""
        entry = _in_utc(entry)
        slot = self.slot(entry.address)
        if entry.version == slot.version:
            return self._replay(slot, entry, vector)
        if entry.version < slot.version:
            return False
        created_at = slot.live.created_at if slot.live else entry.created_at
        self._drop_vectors(slot)
        slot.end(entry.valid_from)
        slot.live = detached(entry, created_at=created_at)
        slot.version, slot.buried_at = entry.version, None
        self.slots[entry.uid] = slot
        if vector is not None:
            self.put_vector(slot, vector, entry.embedding_model)
        return True

    def _replay(self, slot: Slot, entry: MemoryEntry, vector: Vector | None) -> bool:
        if slot.live is None or slot.live.content != entry.content:
            return False
        if vector is not None:
            self.put_vector(slot, vector, entry.embedding_model)
        live = slot.live
        slot.live = replace(
            live,
            summary=entry.summary,
            quality=entry.quality,
            importance=entry.importance,
            access_count=entry.access_count,
            last_accessed_at=entry.last_accessed_at,
            valid_to=live.valid_to or entry.valid_to,
            superseded_by=live.superseded_by or entry.superseded_by,
        )
        return True

    def bury(self, deletion: Deletion) -> None:
        """Leave a tombstone; what was shared by name is shared no more."""
        uid = deletion.address.uid
        slot = self.slot(deletion.address)
        self._drop_vectors(slot)
        slot.end(deletion.at)
        slot.version, slot.buried_at = deletion.version, deletion.at
        self.slots[uid] = slot
        self.marks.pop(uid, None)
        self.edges -= {edge for edge in self.edges if edge.source == uid and edge.kind is EdgeKind.SHARED_WITH}

    def annotate(self, address: Address, version: int, fields: Mapping[str, Any]) -> bool:
        """Change derived fields of the newest version, if it is that one."""
        check_derived(fields)
        slot = self.slot(address)
        if slot.live is None or slot.version != version:
            return False
        slot.live = replace(slot.live, **fields)
        return True

    def drop(self, uid: str) -> None:
        """Forget a slot and everything that hangs on it."""
        self._drop_vectors(self.slots.pop(uid))
        self.marks.pop(uid, None)
        self.edges -= {edge for edge in self.edges if uid in {edge.source, edge.target}}

    def _drop_vectors(self, slot: Slot) -> None:
        """Drop every vector that saw an entry: its own, and those that were made behind it."""
        self._drop_vector(slot)
        for uid in self.followers.pop(slot.address, set()):
            follower = self.slots.get(uid)
            if follower is not None and follower.live is not None and follower.behind == slot.address:
                self._drop_vector(follower)
                follower.live = replace(follower.live, embedding_model=None)

    def _drop_vector(self, slot: Slot) -> None:
        if slot.cached is not None:
            self.cache.pop(slot.cached, None)
        slot.vector, slot.tokens, slot.behind, slot.cached = None, b"", None, None

    def put_vector(
        self, slot: Slot, vector: Vector, model_id: str | None, *, tokens: bytes = b"", behind: Address | None = None
    ) -> None:
        """Give the newest version at a slot its vector."""
        if slot.live is not None:
            self._drop_vector(slot)
            slot.vector, slot.live = vector, replace(slot.live, embedding_model=model_id)
            slot.tokens, slot.behind = tokens, behind
            if behind is not None:
                self.followers.setdefault(behind, set()).add(slot.address.uid)
            space = (slot.address.tenant_id, model_id or "")
            self.spaces.pop(space, None)
            self.spaces[space] = None

    def check_size(self, tenant_id: str, vector: Vector, model_id: str) -> None:
        """Refuse a vector of another size than those which the tenant has of the model."""
        for _, other in self.vectors(tenant_id, model_id):
            if len(vector) != len(other):
                raise DimensionError(f"the vector has {len(vector)} numbers, the model {len(other)}; embed it again")

    def space(self, tenant_id: str, query: Vector, model_id: str | None) -> str | None:
        """The model that a query belongs to: the named one, else the one written last among those of its size."""
        sizes = {
            model: len(vector)
            for tenant, model in reversed(self.spaces)
            if tenant == tenant_id and model_id in {None, model}
            for _, vector in self.vectors(tenant_id, model)
        }
        if sizes and len(query) not in sizes.values():
            raise DimensionError(f"the query has {len(query)} numbers, the store {min(sizes.values())}; embed it again")
        return next((model for model, size in sizes.items() if size == len(query)), None)

    def vectors(self, tenant_id: str, model_id: str | None) -> Iterator[tuple[Address, Vector]]:
        """The tenant's current vectors of a model, or of every model for None."""
        for slot in self.of_tenant(tenant_id):
            if slot.live and slot.vector is not None and model_id in {None, slot.live.embedding_model or ""}:
                yield slot.address, slot.vector

    def shared_uids(self, tenant_id: str, where: MemoryFilter | None) -> Collection[str]:
        """Entries that are shared by name with who reads."""
        if where is None or where.readable_by is None:
            return ()
        volk = where.readable_by.volk
        return {e.source for e in self.edges if (e.tenant_id, e.kind, e.target) == (tenant_id, "SHARED_WITH", volk)}

    def find(
        self, tenant_id: str, scope: MemoryScope, where: MemoryFilter | None, now: datetime
    ) -> list[tuple[MemoryEntry, Slot]]:
        """Every version that is meant, newest first, ties by address."""
        shared = self.shared_uids(tenant_id, where)
        moment = where.as_of if where else None
        found = [
            (entry, slot)
            for slot in self.of_tenant(tenant_id)
            if (entry := slot.at(moment)) is not None and matches(entry, scope, where, now=now, shared_uids=shared)
        ]
        return sorted(found, key=lambda pair: (-pair[0].created_at.timestamp(), pair[0].address))

    def erase(self, tenant_id: str, scope: MemoryScope) -> int:
        """Drop every slot of which the newest kept version lies in a scope; the number of live ones."""
        count = 0
        for slot in self.of_tenant(tenant_id):
            newest = next(iter(slot.versions()), None)
            if in_scope(newest or _ghost(slot), scope):
                count += slot.live is not None
                self.drop(slot.address.uid)
        return count


def _ghost(slot: Slot) -> MemoryEntry:
    """An entry that has nothing but the address and time of a tombstone whose versions are gone."""
    place, moment = slot.address, slot.buried_at
    if moment is None:
        raise AssertionError("a slot holds a version or a tombstone")
    return MemoryEntry(
        key=place.key, content="-", created_at=moment, tenant_id=place.tenant_id, volk_id=place.volk_id,
        user_id=place.user_id, session_id="", project_id="", portfolio_id="",
    )  # fmt: skip
