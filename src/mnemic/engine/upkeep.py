"""What does the engine do by itself? One task for each duty, all owned and awaited here."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import timedelta

from mnemic.engine import exchange, sessions
from mnemic.engine.indexer import EMBED
from mnemic.engine.notes import FLUSH_AFTER_S
from mnemic.engine.shared import Caller, Shared
from mnemic.errors import MnemicError
from mnemic.events import Topic
from mnemic.ports import MemoryFilter
from mnemic.types import Health, HealthStatus, Identity, MemoryScope, SystemEvent

__all__ = ["Upkeep", "health"]

_LOG = logging.getLogger(__name__)

_SWEEP_EVERY_S = 60.0
_STOP_WITHIN_S = 4.0
_AGAIN_AFTER_S = 0.5
_LEFT_BEHIND_AFTER = timedelta(seconds=30)
"""An event that waits longer in the outbox was left by a process that ended."""


class Upkeep:
    """Runs the background duties of an engine from start to stop; its own events go to the tenant that opened it."""

    def __init__(self, shared: Shared, tenant_id: str) -> None:
        self._shared = shared
        self._tasks: list[asyncio.Task[None]] = []
        who = Identity(tenant_id=tenant_id, volk_id="SYS:MEMORY")
        self._system = Caller(shared, who, frozenset({"tenant_id", "user_id", "client_id"}))

    async def initialize(self) -> None:
        """Open the storage and subscribe to the end of sessions; may be repeated."""
        shared = self._shared
        if shared.loop is None:
            await shared.tiers.open()
            shared.indexer.bind()
            shared.notes.bind()
            shared.moving = asyncio.Lock()
            shared.bus.subscribe(Topic.SESSION_CLOSED, self._on_session_closed, subscriber_id="SYS:MEMORY")
            shared.loop, shared.pid = asyncio.get_running_loop(), os.getpid()

    async def start(self) -> None:
        """Load the model, take up what an earlier process left, then begin; may be repeated."""
        await self.initialize()
        if self._shared.running:
            return
        try:
            if self._shared.embedder is not None:
                await self._shared.embedder.open()
            await asyncio.to_thread(self._shared.counter(None).count, "")  # it reads its file at the first count
            await self._tell_left_behind()
            await self._shared.indexer.resume()
        except BaseException:
            await self._close()
            raise
        self._shared.running = True
        await self._tell(Topic.TIER_OPENED, {"provider": self._shared.tiers.memories.name, "tier": "cold"})
        self._tasks = [
            asyncio.create_task(self._supervised(self._shared.indexer.run)),
            asyncio.create_task(self._supervised(self._write_notes)),
            asyncio.create_task(self._supervised(self._sweep)),
            asyncio.create_task(self._supervised(self._check_space)),
            asyncio.create_task(self._supervised(self._tell_health)),
        ]

    async def stop(self) -> None:
        """End the duties within 5 seconds: notes are written, vectors still owed are made at the next start."""
        if self._shared.loop is None:
            return
        try:
            if self._shared.running:
                self._shared.running = False
                if self._shared.under_way:
                    await asyncio.wait(self._shared.under_way, timeout=_STOP_WITHIN_S / 2)
                await self._shared.indexer.settled(timeout_s=_STOP_WITHIN_S / 2)
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)
                self._tasks = []
                await self._shared.notes.flush()
        finally:
            await self._close()

    async def _close(self) -> None:
        self._shared.loop = None
        self._shared.bus.unsubscribe("SYS:MEMORY")
        try:
            if self._shared.embedder is not None:
                await self._shared.embedder.close()
        finally:
            await self._shared.tiers.close()

    async def _on_session_closed(self, event: SystemEvent) -> None:
        session_id = str(event.payload["session_id"])
        caller = self._system.acting(tenant_id=event.tenant_id, session_id=session_id)
        await sessions.end_session(caller, session_id, outcome=str(event.payload.get("outcome", "")))

    async def sweep(self) -> int:
        """Do the sweep now."""
        return await sessions.sweep(self._system)

    async def _supervised(self, duty: Callable[[], Awaitable[None]]) -> None:
        """Run a duty, again when it fails, until the engine stops."""
        while self._shared.running:
            try:
                await duty()
            except Exception:  # noqa: BLE001 - the background supervisor's border: logged, and the duty goes on
                _LOG.exception("background duty failed; it starts again")
                await asyncio.sleep(_AGAIN_AFTER_S)
            else:
                return

    async def _write_notes(self) -> None:
        while True:
            try:
                async with asyncio.timeout(FLUSH_AFTER_S):
                    await self._shared.notes.wanted.wait()
            except TimeoutError:
                pass
            await self._shared.notes.flush()

    async def _tell_health(self) -> None:
        """An event whenever the embedder stops answering, and when it is back."""
        while True:
            await self._shared.indexer.turned.wait()
            self._shared.indexer.turned.clear()
            failing = self._shared.indexer.failing
            severity = "info" if failing is None else "warning"
            await self._tell(Topic.HEALTH_CHANGED, {"embedder": failing or "healthy"}, severity=severity)

    async def _tell(self, topic: str, payload: Mapping[str, str], *, severity: str = "info") -> None:
        await self._shared.bus.publish(self._system.event(topic, payload, severity=severity))

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_EVERY_S)
            await self.sweep()
            await self._tell_left_behind()

    async def _tell_left_behind(self) -> None:
        before = self._shared.clock.now() - _LEFT_BEHIND_AFTER
        while events := await self._shared.tiers.journal.outbox(before=before, limit=500):
            await self._system.announce(tuple(events))
            await self._shared.notes.flush()

    async def _check_space(self) -> None:
        """Owe new vectors where stored ones are of another model (REQ-010-038)."""
        embedder = self._shared.embedder
        if embedder is None:
            return
        now = self._shared.clock.now()
        for tenant in await self._shared.tiers.journal.tenants():
            scope = MemoryScope(tenant_id=tenant)
            every = await self._shared.tiers.memories.count(scope, MemoryFilter(include_superseded=True, now=now))
            current = MemoryFilter(include_superseded=True, embedding_model=embedder.model_id, now=now)
            have = await self._shared.tiers.memories.count(scope, current)
            owed = await self._shared.tiers.journal.job_count(EMBED, tenant)
            if have + owed < every:
                caller = replace(self._system, who=replace(self._system.who, tenant_id=tenant))
                await exchange.reindex(caller)


async def health(shared: Shared) -> Health:
    """How each part is (TYP-014)."""
    store = "healthy" if await shared.tiers.memories.ping() else "unhealthy"
    failing = shared.indexer.failing
    embedder = "absent" if shared.embedder is None else (f"failing: {failing}" if failing else "healthy")
    degraded = [name for name, bad in (("embedder", embedder != "healthy"), ("store", store != "healthy")) if bad]
    depth, age, owed = 0, 0.0, 0
    try:
        depth, oldest = await shared.tiers.journal.outbox_depth()
        age = (shared.clock.now() - oldest).total_seconds() if oldest else 0.0
        owed = await shared.tiers.journal.job_count(EMBED)
    except MnemicError as error:
        store = f"unhealthy: {error.code}"
        degraded.append("journal")
    if shared.tiers.durability is not shared.settings.durability:
        degraded.append("durability")
    running = shared.running and not store.startswith("unhealthy")
    status = HealthStatus.UNHEALTHY if not running else HealthStatus.DEGRADED if degraded else HealthStatus.HEALTHY
    return Health(
        status=status,
        components={
            "hot": "none",
            "cold": store,
            "embedder": embedder,
            "governance": shared.settings.governance.engine,
            "audit": store,
            "llm": "none",
            "journal": store,
        },
        degraded=tuple(degraded),
        durability=shared.tiers.durability,
        identity_mode="strict" if shared.settings.identity.strict is True else "compatibility",
        outbox={"depth": depth, "oldest_age_s": age, "pending_vectors": owed},
    )
