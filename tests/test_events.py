"""Who is told, in which order, and what a slow or failing subscriber does to others."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from mnemic.events import EventBus
from mnemic.testing import requirement
from mnemic.types import SystemEvent

pytestmark = pytest.mark.core_interface


def _event(number: int, type_: str = "memory.store.completed", tenant: str = "t1") -> SystemEvent:
    return SystemEvent(id=f"e{number}", type=type_, time=datetime(2026, 1, 1, tzinfo=UTC), tenant_id=tenant)


class _Subscriber:
    def __init__(self) -> None:
        self.ids: list[str] = []

    async def __call__(self, event: SystemEvent) -> None:
        self.ids.append(event.id)


@pytest.fixture
async def bus() -> AsyncIterator[EventBus]:
    bus = EventBus()
    yield bus
    await bus.close()


@requirement("EVT-002")
async def test_events_arrive_in_order(bus: EventBus) -> None:
    seen = _Subscriber()
    bus.subscribe("*", seen, subscriber_id="s")
    for number in range(100):
        await bus.publish(_event(number))
    await bus.drain()
    assert seen.ids == [f"e{number}" for number in range(100)]


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("*", "0123"),
        ("memory.*", "012"),
        ("memory.store.*", "01"),
        ("memory.store.completed", "0"),
        ("memory.store", ""),
        ("session.closed", "3"),
    ],
)
async def test_a_pattern_names_a_topic_or_a_prefix(bus: EventBus, pattern: str, wanted: str) -> None:
    seen = _Subscriber()
    bus.subscribe(pattern, seen, subscriber_id="s")
    topics = ["memory.store.completed", "memory.store.failed", "memory.search.completed", "session.closed"]
    for number, topic in enumerate(topics):
        await bus.publish(_event(number, topic))
    await bus.drain()
    assert seen.ids == [f"e{number}" for number in wanted]


@requirement("EVT-002")
async def test_a_subscriber_of_a_tenant_gets_that_tenants_events_only(bus: EventBus) -> None:
    own, every = _Subscriber(), _Subscriber()
    bus.subscribe("*", own, subscriber_id="own", tenant_id="t1")
    bus.subscribe("*", every, subscriber_id="every")
    for number, tenant in enumerate(["t1", "t2", "t1", "public"]):
        await bus.publish(_event(number, tenant=tenant))
    await bus.drain()
    assert (own.ids, every.ids) == (["e0", "e2"], ["e0", "e1", "e2", "e3"])


@requirement("EVT-002")
async def test_a_slow_or_failing_subscriber_blocks_nobody(bus: EventBus, caplog: pytest.LogCaptureFixture) -> None:
    go_on = asyncio.Event()

    async def slow(_: SystemEvent) -> None:
        await go_on.wait()

    async def failing(_: SystemEvent) -> None:
        raise RuntimeError("its own fault")

    seen = _Subscriber()
    bus.subscribe("*", slow, subscriber_id="slow")
    bus.subscribe("*", failing, subscriber_id="failing")
    bus.subscribe("*", seen, subscriber_id="quick")
    async with asyncio.timeout(1):
        for number in range(3):
            await bus.publish(_event(number))
        while len(seen.ids) < 3:  # noqa: ASYNC110 - the subscriber's own task runs in between
            await asyncio.sleep(0)
    assert caplog.text.count("subscriber failing failed on memory.store.completed") == 3
    go_on.set()


async def test_the_same_subscriber_and_pattern_again_replaces_the_handler(bus: EventBus) -> None:
    first, second = _Subscriber(), _Subscriber()
    bus.subscribe("*", first, subscriber_id="s")
    bus.subscribe("*", second, subscriber_id="s")
    bus.subscribe("session.*", first, subscriber_id="s")
    await bus.publish(_event(0))
    await bus.drain()
    assert (first.ids, second.ids) == ([], ["e0"])
    bus.unsubscribe("s")
    await bus.publish(_event(1))
    await bus.drain()
    assert (first.ids, second.ids) == ([], ["e0"])


async def test_a_subscriber_that_is_far_behind_loses_the_newest_and_the_log_says_so(
    bus: EventBus, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemic.events._QUEUE_LIMIT", 5)
    seen = _Subscriber()
    bus.subscribe("*", seen, subscriber_id="s")
    for number in range(8):
        await bus.publish(_event(number))
    await bus.drain()
    assert seen.ids == [f"e{number}" for number in range(5)]
    assert "subscriber s is behind, 3 events lost" in caplog.text


async def test_closing_handles_what_waits() -> None:
    bus, seen = EventBus(), _Subscriber()
    bus.subscribe("*", seen, subscriber_id="s")
    await bus.publish(_event(0))
    await bus.close()
    assert seen.ids == ["e0"]
