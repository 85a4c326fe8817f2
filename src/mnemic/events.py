"""Who is told what happened? An event bus inside the process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from mnemic.ports import EventHandler, IEventBus
from mnemic.types import SystemEvent

__all__ = ["EventBus", "Topic"]

_LOG = logging.getLogger(__name__)
_QUEUE_LIMIT = 10_000


class Topic:
    """Names of the events (section 13 of the contract)."""

    STORED = "memory.store.completed"
    RETRIEVED = "memory.retrieve.completed"
    SEARCHED = "memory.search.completed"
    SUMMARIZED = "memory.summarize.completed"
    UPDATED = "memory.update.completed"
    DELETED = "memory.delete.completed"
    RECLASSIFIED = "memory.reclassify.completed"
    MIGRATED = "memory.migrate.completed"
    PROMOTED = "memory.promote.completed"
    EXPIRED = "memory.expire.completed"
    IMPORTED = "memory.import.completed"
    INJECTED = "memory.injection.completed"
    BUDGET_WARNING = "memory.budget.warning"
    ACCESS_DENIED = "memory.access.denied"
    HEALTH_CHANGED = "memory.health.changed"
    TIER_OPENED = "memory.tier.opened"
    SESSION_CLOSED = "session.closed"


@dataclass(slots=True)
class _Subscription:
    subscriber_id: str
    pattern: str
    handler: EventHandler
    tenant_id: str | None
    queue: asyncio.Queue[SystemEvent | None] = field(default_factory=asyncio.Queue)
    task: asyncio.Task[None] | None = None
    dropped: int = 0

    def wants(self, event: SystemEvent) -> bool:
        if self.tenant_id is not None and event.tenant_id != self.tenant_id:
            return False
        prefix, star, _ = self.pattern.partition("*")
        return event.type.startswith(prefix) if star else event.type == self.pattern


class EventBus(IEventBus):
    """A queue and a task for each subscription, so that a slow or failing subscriber blocks nobody (EVT-002)."""

    def __init__(self) -> None:
        self._subscriptions: list[_Subscription] = []

    def subscribe(
        self, pattern: str, handler: EventHandler, *, subscriber_id: str, tenant_id: str | None = None
    ) -> None:
        """See the port; a subscription's task starts with its first event."""
        self._drop(s for s in self._subscriptions if (s.subscriber_id, s.pattern) == (subscriber_id, pattern))
        self._subscriptions.append(_Subscription(subscriber_id, pattern, handler, tenant_id))

    def unsubscribe(self, subscriber_id: str) -> None:
        """See the port."""
        self._drop(s for s in self._subscriptions if s.subscriber_id == subscriber_id)

    async def publish(self, event: SystemEvent) -> None:
        """See the port; beyond 10 000 waiting events a subscriber loses the newest, which is counted and logged."""
        for subscription in self._subscriptions:
            if not subscription.wants(event):
                continue
            if subscription.task is None or subscription.task.done():
                subscription.task = asyncio.get_running_loop().create_task(_deliver(subscription))
            if subscription.queue.qsize() < _QUEUE_LIMIT:
                subscription.queue.put_nowait(event)
                continue
            subscription.dropped += 1
            _LOG.warning("subscriber %s is behind, %d events lost", subscription.subscriber_id, subscription.dropped)

    async def drain(self) -> None:
        """Wait until every event that was published is handled."""
        for subscription in list(self._subscriptions):
            if subscription.task is not None and not subscription.task.done():
                await subscription.queue.join()

    async def close(self) -> None:
        """Handle what waits, then end every subscription's task."""
        tasks = [s.task for s in self._subscriptions if s.task is not None]
        self._drop(self._subscriptions)
        await asyncio.gather(*tasks)

    def _drop(self, subscriptions: Iterable[_Subscription]) -> None:
        for subscription in list(subscriptions):
            self._subscriptions.remove(subscription)
            if subscription.task is not None:
                subscription.queue.put_nowait(None)


async def _deliver(subscription: _Subscription) -> None:
    while True:
        event = await subscription.queue.get()
        try:
            if event is None:
                return
            await subscription.handler(event)
        except Exception:  # noqa: BLE001 - the supervisor's border: a subscriber's failure is its own
            _LOG.exception("subscriber %s failed on %s", subscription.subscriber_id, getattr(event, "type", ""))
        finally:
            subscription.queue.task_done()
