"""What do all bindings of one engine share, and whose call is this?"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from mnemic.audit import Auditor
from mnemic.config import Settings
from mnemic.engine.indexer import Indexer, Owner, embed_job
from mnemic.engine.notes import Notes
from mnemic.errors import AccessDeniedError, IdentityError, NotRunningError, ScopeError
from mnemic.events import Topic
from mnemic.ports import (
    Action,
    Clock,
    Decision,
    Embedder,
    FactEmitter,
    Ids,
    IEventBus,
    ITokenCounter,
    MemoryFilter,
    Policy,
    Unit,
)
from mnemic.ports.engine import Where
from mnemic.ports.filters import parse_where
from mnemic.retrieval import Retriever
from mnemic.tiers import Tiers
from mnemic.types import Address, Identity, MemoryClassification, MemoryEntry, MemoryScope, SystemEvent

__all__ = ["Caller", "Shared"]

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Shared:
    """The parts of one engine; every binding of it to an identity uses the same."""

    settings: Settings
    tiers: Tiers
    embedder: Embedder | None
    retriever: Retriever
    policy: Policy
    bus: IEventBus
    clock: Clock
    ids: Ids
    auditor: Auditor
    counter: Callable[[str | None], ITokenCounter]
    """The counter of a model provider's name; None means the configured one."""
    indexer: Indexer
    notes: Notes
    facts: FactEmitter | None = None
    running: bool = False
    loop: asyncio.AbstractEventLoop | None = None
    moving: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a session ends, so that each entry's leaving is counted once (SES-003)."""
    pid: int = field(default_factory=os.getpid)
    under_way: set[asyncio.Task[Any]] = field(default_factory=set)
    """Writes that go on although who asked for them may be gone."""

    async def whole(self, work: Coroutine[Any, Any, T]) -> T:
        """Do work to its end, also when the caller is cancelled (D11)."""
        task = asyncio.create_task(work)
        self.under_way.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self.under_way.discard(task)
        if not task.cancelled():
            task.exception()  # looked at here, since who asked may be gone

    def check_running(self) -> None:
        """Refuse a call before start, after stop, from another event loop, or from a forked process."""
        if not self.running:
            raise NotRunningError("the memory engine is not running; use `async with`, or call start() first")
        if self.pid != os.getpid():
            raise NotRunningError("the memory engine belongs to the process before the fork; open one in this process")
        if self.loop is not asyncio.get_running_loop():
            raise NotRunningError("the memory engine belongs to another event loop; open one in this loop")


@dataclass(frozen=True, slots=True)
class Caller:
    """One identity and the parts it acts through."""

    shared: Shared
    who: Identity
    given: frozenset[str]
    """Fields of the identity that somebody named, which strict mode asks for."""

    def acting(self, **named: Any) -> Caller:
        """The same parts for an identity in which the named fields differ; None leaves a field as it is.

        Raises:
            IdentityError: ``agent_id`` and ``volk_id`` name two agents.
            InvalidInputError: A value breaks ID-005.
        """
        fields = {name: value for name, value in named.items() if value is not None}
        if (agent := fields.pop("agent_id", None)) is not None and fields.setdefault("volk_id", agent) != agent:
            raise IdentityError("agent_id and volk_id name two agents; give one of them")
        return replace(self, who=replace(self.who, **fields), given=self.given | set(fields))

    def check(self) -> None:
        """Refuse a call that cannot be served or attributed."""
        self.shared.check_running()
        if self.shared.settings.identity.strict is True:
            for name in ("tenant_id", "user_id", "client_id"):
                if name not in self.given or not getattr(self.who, name):
                    raise IdentityError(f"identity.strict is on and {name} is missing; name it, as in acting_as()")

    @property
    def owner(self) -> Owner:
        """Whose memories the caller writes."""
        return Owner(self.who.tenant_id, self.who.volk_id, self.who.user_id)

    def address(self, key: str) -> Address:
        """Where the caller's memory with this key lies."""
        return Address(self.who.tenant_id, self.who.volk_id, self.who.user_id, key)

    def own_addresses(self, key: str) -> tuple[Address, ...]:
        """Where a memory of the caller may lie: under its user, then under the agent itself (ID-004.1)."""
        first = self.address(key)
        agent = Address(self.who.tenant_id, self.who.volk_id, "", key)
        return (first,) if first == agent else (first, agent)

    def scope(self, scope: MemoryScope | None = None) -> MemoryScope:
        """Fill the caller's tenant into a scope.

        Raises:
            AccessDeniedError: The scope names another tenant.
        """
        if scope is None or scope.tenant_id is None:
            fields = {} if scope is None else {name: getattr(scope, name) for name in scope.__slots__}
            return MemoryScope(**{**fields, "tenant_id": self.who.tenant_id})
        if scope.tenant_id != self.who.tenant_id:
            raise AccessDeniedError("the scope names another tenant than the caller's; leave tenant_id out")
        return scope

    async def where(self, where: Where | None = None, **changes: Any) -> MemoryFilter:
        """A filter that holds only what the caller may read, by the caller's clock.

        Raises:
            ScopeError: The filter names a readable set of its own.
        """
        parsed = parse_where(where)
        if parsed.readable_by is not None:
            raise ScopeError("where.readable_by is set by the engine; leave it out")
        fields = {name: getattr(parsed, name) for name in parsed.__slots__}
        readable = await self.shared.policy.readable(self.who)
        return MemoryFilter(**{**fields, "now": self.shared.clock.now(), **changes, "readable_by": readable})

    async def allow(
        self,
        action: Action,
        *,
        entry: MemoryEntry | None = None,
        classification: MemoryClassification | None = None,
    ) -> Decision:
        """Ask the policy; a no is audited, told as an event, and raised.

        Raises:
            AccessDeniedError: The rule denies.
        """
        decision = await self.shared.policy.decide(self.who, action, entry=entry, classification=classification)
        if not decision.allowed:
            await self.denied(action, decision, resource=entry.uid if entry else "")
            raise AccessDeniedError(f"{action.value} is denied by {decision.rule}: {decision.reason}")
        return decision

    async def denied(self, action: Action, decision: Decision, *, resource: str) -> None:
        """Leave the audit row and the event of a denial; that of a read takes no longer than a miss (REQ-010-011)."""
        payload = {"actor": self.who.volk_id, "operation": action.value, "rule": decision.rule}
        if action is Action.READ:
            return await self.note_read("retrieve", Topic.ACCESS_DENIED, payload, result="denied", resource=resource)
        record = self.shared.auditor.record(
            self.who, action.value, resource=resource, result="denied", detail={"rule": decision.rule}
        )
        event = self.event(Topic.ACCESS_DENIED, payload, severity="warning")
        await self.commit(Unit(audit=(record,), events=(event,)))
        return None

    async def commit(
        self, unit: Unit, *, owed: Sequence[MemoryEntry] = (), changed: Sequence[MemoryEntry] = ()
    ) -> None:
        """Keep a unit, then tell its events and note which entries are owed a vector.

        Args:
            unit: What commits.
            owed: New versions that are owed a vector; their jobs stand in the unit.
            changed: Versions that come or go with it; the turns behind them are owed new vectors.
        """
        await self.shared.whole(self._commit(unit, owed, changed))

    async def _commit(self, unit: Unit, owed: Sequence[MemoryEntry], changed: Sequence[MemoryEntry]) -> None:
        written = {*(entry.address for entry in unit.entries), *(deletion.address for deletion in unit.deletions)}
        behind = [entry for entry in await self.turns_behind(changed) if entry.address not in written]
        await self.shared.tiers.commit(replace(unit, jobs=(*unit.jobs, *map(embed_job, behind))))
        await self.announce(unit.events)
        for entry in (*owed, *behind):
            self.shared.indexer.add(entry)

    async def turns_behind(self, changed: Sequence[MemoryEntry]) -> list[MemoryEntry]:
        """The turns that are embedded behind these (FR-010); of one address, where it stood before and now."""
        embedder = self.shared.embedder
        turns = [entry for entry in changed if entry.turn is not None]
        if not turns or embedder is None or not embedder.sees_before:
            return []
        now = {entry.address: entry for entry in turns}
        moved = {e.address: e for e in turns if _position(e) != _position(now[e.address])}
        found: dict[Address, MemoryEntry] = {}
        for group in filter(None, (now, moved)):
            neighbours = await self.shared.tiers.memories.neighbours(self.scope(), list(group.values()))
            following = ((group[address], behind) for address, (_, behind) in neighbours.items() if behind)
            found |= {behind.address: behind for entry, behind in following if behind.origin is entry.origin}
        return list(found.values())

    async def announce(self, events: tuple[SystemEvent, ...]) -> None:
        """Hand committed events to the bus; what is not acknowledged is told again at the next start."""
        for event in events:
            await self.shared.bus.publish(event)
        self.shared.notes.delivered(event.id for event in events)

    def event(self, type_: str, payload: Mapping[str, Any], *, severity: str = "info") -> SystemEvent:
        """Make an event of the caller's tenant."""
        return SystemEvent(
            id=self.shared.ids.new(),
            type=type_,
            time=self.shared.clock.now(),
            tenant_id=self.who.tenant_id,
            severity=severity,
            payload=dict(payload),
        )

    async def note_read(
        self, action: str, topic: str, payload: Mapping[str, Any], *, result: str = "success", resource: str = ""
    ) -> None:
        """Leave the audit row of a read off the hot path, and tell its event straight to the bus (EVT-002)."""
        detail = {name: value for name, value in payload.items() if name != "key"}  # a row has no key text (AUD-001)
        record = self.shared.auditor.record(
            self.who, action, resource=resource, result=result, kind="read", detail=detail
        )
        self.shared.notes.audit(record)
        if self.shared.settings.audit.reads == "sync":
            await self.shared.notes.flush()
        if topic:
            severity = "warning" if result == "denied" else "info"
            await self.shared.bus.publish(self.event(topic, payload, severity=severity))


def _position(turn: MemoryEntry) -> tuple[object, ...]:
    return turn.session_id, turn.classification, turn.turn, turn.origin
