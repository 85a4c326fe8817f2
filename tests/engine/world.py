"""An engine in a world of its own: its store, its clock, its ids and its bus are at hand."""

import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import astuple, dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from mnemic import MemoryEngine, Settings, open_engine
from mnemic.embedders.hashing import Hashing
from mnemic.ports import AuditRow, Embedder, IMemoryProvider, Journal, MemoryFilter
from mnemic.ports.record import entry_to_record
from mnemic.providers.inmemory import InMemoryProvider
from mnemic.providers.sqlite import SqliteProvider
from mnemic.testing import ManualClock, RecordingBus, SequentialIds
from mnemic.types import DurabilityMode, MemoryEntry, MemoryScope, SystemEvent

Store = InMemoryProvider | SqliteProvider


@dataclass
class World:
    """What surrounds one engine."""

    kind: str
    folder: Path
    clock: ManualClock = field(default_factory=lambda: ManualClock(step=timedelta(milliseconds=1)))
    ids: SequentialIds = field(default_factory=SequentialIds)
    bus: RecordingBus = field(default_factory=RecordingBus)
    _store: Store | None = None

    @property
    def store(self) -> Store:
        """The same memories in every engine of this world; a file is opened anew."""
        if self._store is None:
            self._store = new_store(self.kind, self.folder, self.clock)
        return self._store

    def engine(
        self,
        *,
        model: Embedder | None = None,
        settings: Mapping[str, Any] | None = None,
        memories: IMemoryProvider | None = None,
    ) -> MemoryEngine:
        """Put an engine together that does not run yet."""
        if memories is None and self.kind == "sqlite":
            self._store = None
        return open_engine(
            memories=memories or self.store,
            model=model or Hashing(),
            settings=Settings.model_validate({"durability": "memory", **(settings or {})}),
            clock=self.clock,
            ids=self.ids,
            bus=self.bus,
        )

    def told(self, type_: str) -> list[SystemEvent]:
        """Events of one type that were published."""
        return [event for event in self.bus.events if event.type == type_]


def new_store(kind: str, folder: Path, clock: ManualClock) -> Store:
    """Make a store; one in a file reads what is there."""
    if kind == "inmemory":
        return InMemoryProvider(clock=clock)
    return SqliteProvider(folder / "memory.db", durability=DurabilityMode.PROCESS, clock=clock)


@asynccontextmanager
async def running(engine: MemoryEngine) -> AsyncIterator[MemoryEngine]:
    """Bind a running engine to an agent of a tenant."""
    async with engine as started:
        yield started.acting_as(tenant_id="t1", volk_id="ada", session_id="s1")


async def entries(store: IMemoryProvider, tenant: str = "t1") -> list[MemoryEntry]:
    """Every live memory of a tenant, by address."""
    scope = MemoryScope(tenant_id=tenant)
    found: list[MemoryEntry] = []
    cursor: str | None = None
    while True:
        page = await store.list(scope, MemoryFilter(include_superseded=True), after=cursor, limit=1000)
        found += page.items
        if (cursor := page.next_cursor) is None:
            return sorted(found, key=lambda entry: entry.address)


async def digest(store: Store, *tenants: str) -> str:
    """One hash over what is visible: memories with their versions, tombstones, edges and working marks."""
    rows: list[Any] = []
    for tenant in tenants or ("t1", "t2"):
        scope = MemoryScope(tenant_id=tenant)
        live = await entries(store, tenant)
        for entry in live:
            place = MemoryScope(tenant_id=tenant, volk_id=entry.volk_id, user_id=entry.user_id)
            rows += [_record(version) for version in await store.versions(place, entry.key)]
        rows += [astuple(deletion.address) for deletion in await store.tombstones(tenant)]
        rows += [astuple(edge) for edge in await store.edges(scope, [entry.uid for entry in live])]
        sessions = sorted({entry.session_id for entry in live})
        rows += [astuple(address) for session in sessions for address in await store.working(tenant, session)]
    return hashlib.sha256(json.dumps(rows, sort_keys=True, default=str).encode()).hexdigest()


def _record(entry: MemoryEntry) -> dict[str, Any]:
    return {
        name: value
        for name, value in entry_to_record(entry).items()
        if name not in {"access_count", "last_accessed_at", "embedding_model"}
    }


async def rows(store: Journal, kind: str, tenant: str = "t1") -> list[AuditRow]:
    """A whole audit chain."""
    return await store.audit_rows(tenant, kind)
