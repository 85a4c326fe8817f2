"""What the tests of the engine share: one world for each kind of store, and an engine that runs in it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mnemic import MemoryEngine, Settings, open_engine
from mnemic.types import DurabilityMode
from tests.engine.world import World, running


@pytest.fixture(params=["inmemory", "sqlite"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return World(request.param, tmp_path)


@pytest.fixture
async def engine(world: World) -> AsyncIterator[MemoryEngine]:
    """A running engine, bound to agent ada of tenant t1 in session s1; the events of its start are behind it."""
    async with running(world.engine()) as bound:
        world.bus.events.clear()
        yield bound


@pytest.fixture
async def real_engine(tmp_path: Path) -> AsyncIterator[MemoryEngine]:
    """A running engine as a user opens it: one file and the packaged model."""
    settings = Settings(durability=DurabilityMode.PROCESS)
    async with open_engine(tmp_path / "memory.db", settings=settings) as opened:
        yield opened.acting_as(tenant_id="t1", volk_id="ada", session_id="s1")
