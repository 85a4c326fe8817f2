"""The dictionary says what it is, and forgets with the process."""

from datetime import timedelta

import numpy as np
import pytest

from mnemic.ports import Capability, Embedding, Unit, VectorWrite
from mnemic.providers.inmemory import InMemoryProvider
from mnemic.testing import ManualClock, requirement
from mnemic.testing.strategies import TENANT, at, fill, memory, place
from mnemic.types import DurabilityMode

pytestmark = pytest.mark.store

UNIT = np.array([0.6, 0.8], np.float32)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(at(0))


@pytest.fixture
def provider(clock: ManualClock) -> InMemoryProvider:
    return InMemoryProvider(clock=clock)


@requirement("PRV-040")
async def test_it_promises_nothing_beyond_the_process(provider: InMemoryProvider) -> None:
    await provider.store(place(), "k", memory("k"))
    assert provider.durability is DurabilityMode.MEMORY
    assert not provider.capabilities & (Capability.PERSISTENT | Capability.EVENTUAL | Capability.COLLECTIONS)
    assert await InMemoryProvider(clock=ManualClock()).count(TENANT) == 0


@requirement("FR-020")
async def test_an_entry_ends_at_its_moment_by_the_clock(provider: InMemoryProvider, clock: ManualClock) -> None:
    await provider.store(place(), "k", memory("k", expires_at=at(1)))
    clock.advance(timedelta(days=1) - timedelta.resolution)
    assert await provider.get(place(), "k") is not None
    clock.advance(timedelta.resolution)
    assert await provider.get(place(), "k") is None
    assert not await provider.delete(place(), "k")


@requirement("FR-020")
async def test_without_a_clock_of_its_own_it_goes_by_that_of_the_machine() -> None:
    provider = InMemoryProvider()
    await fill(provider, [memory("ended", expires_at=at(-9_000)), memory("k", expires_at=at(300_000))])
    assert [address.key for address in await provider.keys(TENANT)] == ["k"]


async def test_the_cache_keeps_tenants_and_models_apart(provider: InMemoryProvider) -> None:
    await provider.keep("t1", "m", {b"h": Embedding(UNIT)})
    assert list(await provider.cached("t1", "m", [b"h", b"other"])) == [b"h"]
    assert await provider.cached("t2", "m", [b"h"]) == await provider.cached("t1", "n", [b"h"]) == {}


async def test_the_vector_of_an_entry_is_known_by_its_input(provider: InMemoryProvider) -> None:
    entry = memory("k")
    write = VectorWrite(address=entry.address, version=1, model_id="m", input_hash=b"h", vector=UNIT)
    await provider.commit(Unit(entries=(entry,), vectors=(write,)))
    assert np.allclose((await provider.cached("t1", "m", [b"h"]))[b"h"].vector, UNIT)
