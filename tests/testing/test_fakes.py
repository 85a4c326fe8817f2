"""What stands in for time, chance and misfortune does so exactly."""

import asyncio
import uuid
from datetime import timedelta

import numpy as np
import pytest

from mnemic.embedders.hashing import Hashing
from mnemic.errors import EmbedderError, StorageFullError, UnavailableError
from mnemic.providers.inmemory import InMemoryProvider
from mnemic.testing import FaultyEmbedder, ManualClock, RecordingBus, SequentialIds, faulty
from mnemic.testing.strategies import START, TENANT, memory, place
from mnemic.types import SystemEvent

pytestmark = pytest.mark.resilience


def test_a_manual_clock_stands_still_until_it_is_told() -> None:
    clock = ManualClock(START)
    assert clock.now() == clock.now() == START
    clock.advance(timedelta(hours=1))
    clock.advance(timedelta(hours=-3))
    assert clock.now() == START - timedelta(hours=2)
    assert clock.monotonic() == 3600


def test_a_manual_clock_can_go_on_at_each_look() -> None:
    clock = ManualClock(START, step=timedelta(seconds=1))
    assert [clock.now(), clock.now()] == [START, START + timedelta(seconds=1)]


def test_sequential_ids_are_valid_and_differ() -> None:
    ids = SequentialIds()
    made = [ids.new() for _ in range(3)]
    assert len(set(made)) == 3
    assert all(uuid.UUID(text).version == 4 for text in made)


async def test_a_recording_bus_keeps_all_and_hands_on_what_was_asked_for() -> None:
    bus = RecordingBus()
    heard: list[str] = []

    async def hear(event: SystemEvent) -> None:
        heard.append(event.type)

    bus.subscribe("a.b", hear, subscriber_id="x")
    for kind in ("a.b", "a.c"):
        await bus.publish(SystemEvent(id=kind, type=kind, time=START, tenant_id="t1"))
    bus.unsubscribe("x")
    await bus.publish(SystemEvent(id="last", type="a.b", time=START, tenant_id="t1"))
    assert heard == ["a.b"]
    assert [event.id for event in bus.events] == ["a.b", "a.c", "last"]


async def test_a_faulty_embedder_fails_from_a_call_on_until_it_recovers() -> None:
    embedder = FaultyEmbedder(Hashing(), first=2)
    await embedder.embed(["one"])
    for _ in range(2):
        with pytest.raises(EmbedderError):
            await embedder.embed(["two"])
    embedder.recover()
    np.testing.assert_array_equal(await embedder.embed(["two"]), await Hashing().embed(["two"]))
    assert embedder.count_tokens("two words") == 2


async def test_a_hanging_embedder_answers_when_it_recovers() -> None:
    embedder = FaultyEmbedder(Hashing(), "hang")
    call = asyncio.create_task(embedder.embed(["one"]))
    await asyncio.sleep(0)
    assert not call.done()
    embedder.recover()
    assert (await call).shape == (1, 64)


@pytest.mark.parametrize(
    ("fault", "shape"),
    [("nothing", (0, 64)), ("too_few", (1, 64)), ("too_short", (2, 63)), ("zeros", (2, 64)), ("nan", (2, 64))],
)
async def test_an_embedder_can_answer_nonsense(fault: str, shape: tuple[int, int]) -> None:
    answer = await FaultyEmbedder(Hashing(), fault).embed(["one", "two"])
    assert answer.shape == shape
    assert (fault == "nan") == bool(np.isnan(answer).any())


async def test_a_faulty_store_fails_once_or_for_ever_before_or_after_the_effect() -> None:
    inner = InMemoryProvider(clock=ManualClock())
    once = faulty(inner, at=2, methods=["store"])
    assert isinstance(once, InMemoryProvider)
    assert once.durability is inner.durability
    outcomes: list[bool | None] = []
    for key in ("a", "b", "c"):
        try:
            outcomes.append(await once.store(place(), key, memory(key)))
        except UnavailableError:
            outcomes.append(None)
        assert await once.count(TENANT) == await inner.count(TENANT)
    assert outcomes == [True, None, True]
    lost = faulty(inner, at=1, fault="apply_then_raise", forever=True, error=StorageFullError("full"))
    for key in ("d", "e"):
        with pytest.raises(StorageFullError):
            await lost.store(place(), key, memory(key))
    assert [address.key for address in await inner.keys(TENANT)] == ["a", "c", "d", "e"]


async def test_a_hanging_store_hangs_until_it_is_cancelled() -> None:
    store = faulty(InMemoryProvider(clock=ManualClock()), at=1, fault="hang")
    call = asyncio.create_task(store.ping())
    await asyncio.sleep(0)
    assert not call.done()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
