"""Drafts become memories once, whatever happens to single rows on the way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mnemic.app import open_engine, provider
from mnemic.config import load_settings
from mnemic.engine import MemoryEngine
from mnemic.errors import NotRunningError
from mnemic.importers import Draft, Rejected
from mnemic.importers.ingest import BATCH, Tally, ingest
from mnemic.testing import requirement

pytestmark = pytest.mark.integration

HASHING = {"embedding": {"provider": "hashing"}, "durability": "process"}


@pytest.fixture(autouse=True)
def _adapter_is_loaded() -> None:
    """An adapter reads its statements when it is first named, which no event loop should wait for."""
    provider("sqlite", path=":memory:")


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[MemoryEngine]:
    async with open_engine(tmp_path / "memory.db", settings=load_settings(overrides=HASHING)) as engine:
        yield engine


def _drafts(count: int, *, session: str | None = None) -> list[Draft | Rejected]:
    return [Draft(key=f"k{n}", content=f"Note number {n}.", session=session) for n in range(count)]


async def test_more_rows_than_a_batch_arrive_in_order_with_their_vectors(memory: MemoryEngine) -> None:
    seen: list[int] = []
    tally = await ingest(memory, _drafts(BATCH + 5), source="test", on_progress=lambda t: seen.append(t.total))
    assert (tally.added, seen[0], seen[-1]) == (BATCH + 5, BATCH, BATCH + 5)
    assert (await memory.get_health()).outbox["pending_vectors"] == 0
    newest = (await memory.retrieve_by(limit=1)).items[0]
    assert (newest.key, newest.source, newest.origin) == (f"k{BATCH + 4}", "test", "import")


async def test_an_id_that_stands_twice_is_kept_once_and_a_contradiction_is_set_aside(memory: MemoryEngine) -> None:
    rows = [Draft(key="a", content="Tea."), Draft(key="a", content="Tea."), Draft(key="a", content="Coffee.")]
    tally = await ingest(memory, rows, source="test")
    assert (tally.added, tally.unchanged, [row.place for row in tally.set_aside]) == (1, 1, ["a"])
    entry = await memory.retrieve("a")
    assert entry is not None
    assert (entry.content, entry.version) == ("Tea.", 1)


@requirement("D42")
async def test_the_same_key_of_two_tenants_users_and_sessions_is_looked_up_where_it_goes(memory: MemoryEngine) -> None:
    rows = [Draft(key="a", content="Tea.", tenant=tenant, user=user) for tenant in ("x", "y") for user in ("u", "v")]
    assert (await ingest(memory, rows, source="test")).added == 4
    assert (await ingest(memory, rows, source="test")).unchanged == 4


@requirement("D01")
async def test_one_bad_row_sinks_no_batch(memory: MemoryEngine) -> None:
    rows = [*_drafts(64), Draft(key="bad", content="a\ud83d"), Draft(key="x", content="y", tenant=" padded")]
    tally = await ingest(memory, rows, source="test")
    assert (tally.added, [row.place for row in tally.set_aside]) == (64, ["bad", "x"])


async def test_an_import_that_outruns_the_store_waits_and_loses_nothing(tmp_path: Path) -> None:
    settings = load_settings(overrides={**HASHING, "limits": {"max_pending": 8}})
    async with open_engine(tmp_path / "narrow.db", settings=settings) as memory:
        tally = await ingest(memory, _drafts(100), source="test")
        assert (tally, await memory.count()) == (Tally(added=100), 100)


async def test_rows_that_are_too_much_for_one_request_go_in_parts(tmp_path: Path) -> None:
    settings = load_settings(overrides={**HASHING, "limits": {"request_bytes": 5000}})
    async with open_engine(tmp_path / "small.db", settings=settings) as memory:
        rows = [Draft(key=f"k{n}", content=f"{n} " + "word " * 150) for n in range(20)]
        assert await ingest(memory, rows, source="test") == Tally(added=20)


async def test_a_store_that_fails_ends_the_import(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "memory.db", settings=load_settings(overrides=HASHING)) as memory:
        pass
    with pytest.raises(NotRunningError):
        await ingest(memory, _drafts(1), source="test")
