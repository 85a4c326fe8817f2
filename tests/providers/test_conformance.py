"""Both providers keep every promise of the port."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mnemic.providers.inmemory import InMemoryProvider
from mnemic.providers.sqlite import SqliteProvider
from mnemic.testing import ManualClock
from mnemic.testing.provider_suite import ProviderSuite
from mnemic.types import DurabilityMode


class TestInMemory(ProviderSuite):
    @pytest.fixture
    def provider(self) -> InMemoryProvider:
        return InMemoryProvider(clock=ManualClock())


class TestSqlite(ProviderSuite):
    @pytest.fixture
    async def provider(self, tmp_path: Path) -> AsyncIterator[SqliteProvider]:
        provider = SqliteProvider(tmp_path / "memory.db", durability=DurabilityMode.PROCESS, clock=ManualClock())
        yield provider
        await provider.close()
