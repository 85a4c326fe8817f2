"""Both providers keep every promise of the ports."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mnemic.providers.inmemory import InMemoryProvider
from mnemic.providers.sqlite import SqliteProvider
from mnemic.testing import EmbeddingCacheSuite, JournalSuite, ManualClock, ProviderSuite
from mnemic.types import DurabilityMode


@pytest.fixture
def in_memory() -> InMemoryProvider:
    return InMemoryProvider(clock=ManualClock())


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncIterator[SqliteProvider]:
    provider = SqliteProvider(tmp_path / "memory.db", durability=DurabilityMode.PROCESS, clock=ManualClock())
    yield provider
    await provider.close()


class TestInMemory(ProviderSuite):
    @pytest.fixture
    def provider(self, in_memory: InMemoryProvider) -> InMemoryProvider:
        return in_memory


class TestInMemoryJournal(JournalSuite):
    @pytest.fixture
    def store(self, in_memory: InMemoryProvider) -> InMemoryProvider:
        return in_memory


class TestInMemoryCache(EmbeddingCacheSuite):
    @pytest.fixture
    def store(self, in_memory: InMemoryProvider) -> InMemoryProvider:
        return in_memory


class TestSqlite(ProviderSuite):
    @pytest.fixture
    def provider(self, sqlite: SqliteProvider) -> SqliteProvider:
        return sqlite


class TestSqliteJournal(JournalSuite):
    @pytest.fixture
    def store(self, sqlite: SqliteProvider) -> SqliteProvider:
        return sqlite


class TestSqliteCache(EmbeddingCacheSuite):
    @pytest.fixture
    def store(self, sqlite: SqliteProvider) -> SqliteProvider:
        return sqlite
