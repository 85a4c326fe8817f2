"""What a file that is full, locked, damaged, foreign or not writable does to a store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import apsw
import pytest

from mnemic.errors import StorageFullError, StoreError, UnavailableError
from mnemic.providers.sqlite import SqliteProvider, connect
from mnemic.testing import requirement
from mnemic.testing.strategies import TENANT, memory, place
from mnemic.types import DurabilityMode
from tests.faults.disks import Limited, unregistered

pytestmark = [pytest.mark.resilience, pytest.mark.edge_cases]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
async def limited(path: Path) -> AsyncIterator[tuple[Limited, SqliteProvider]]:
    disk = Limited("limited")
    provider = SqliteProvider(path, vfs="limited")
    yield disk, provider
    disk.quota = None
    await provider.close()
    unregistered(disk)


async def _store(provider: SqliteProvider, key: str, size: int = 20) -> None:
    await provider.store(place(), key, memory(key, f"thing {key} " + "x" * size))


async def _fill(provider: SqliteProvider, kept: list[str]) -> None:
    """Store until something is refused."""
    for number in range(300):
        await _store(provider, f"k{number}", 20_000)
        kept.append(f"k{number}")


@requirement("D47", "PRV-041")
async def test_a_full_disk_is_a_typed_error_that_passes(limited: tuple[Limited, SqliteProvider], path: Path) -> None:
    disk, provider = limited
    await _store(provider, "before")
    disk.quota = 1_000_000
    kept = ["before"]
    with pytest.raises(StorageFullError) as caught:
        await _fill(provider, kept)
    assert (caught.value.retryable, caught.value.http_status) == (True, 507)
    assert len(kept) > 5
    for _ in range(3):
        with pytest.raises(StorageFullError):
            await _store(provider, "one more", 20_000)
    assert {hit.key for hit in await provider.search(TENANT, "thing", limit=1000)} == set(kept)
    assert await provider.get(place(), kept[-1]) is not None
    disk.quota = None
    await _store(provider, "after", 20_000)
    assert {address.key for address in await provider.keys(TENANT, limit=1000)} == {*kept, "after"}
    await provider.close()
    assert apsw.Connection(str(path)).execute("PRAGMA integrity_check").get == "ok"


@requirement("D47")
async def test_a_disk_without_limit_takes_what_the_full_one_refused(limited: tuple[Limited, SqliteProvider]) -> None:
    _, provider = limited
    for number in range(80):
        await _store(provider, f"k{number}", 20_000)
    assert await provider.count(TENANT) == 80


@requirement("PRV-041")
async def test_a_disk_that_cannot_be_written_is_said_to_be_read_only(path: Path) -> None:
    writable = SqliteProvider(path)
    await _store(writable, "k")
    await writable.close()
    disk = Limited("read-only", read_only=True)
    provider = SqliteProvider(path, vfs="read-only")
    with pytest.raises(StoreError, match="read-only"):
        await _store(provider, "new")
    await provider.close()
    unregistered(disk)
    again = SqliteProvider(path)
    assert [address.key for address in await again.keys(TENANT)] == ["k"]
    await again.close()


@pytest.fixture
def lock(path: Path) -> Iterator[apsw.Connection]:
    """A connection of somebody else, as another process would have one."""
    connection = apsw.Connection(str(path))
    yield connection
    connection.close()


@requirement("D09", "PRV-041")
async def test_eight_writers_wait_for_a_lock_and_then_succeed(path: Path, lock: apsw.Connection) -> None:
    providers = [SqliteProvider(path, durability=DurabilityMode.PROCESS) for _ in range(8)]
    await providers[0].open()
    lock.execute("BEGIN IMMEDIATE")
    stores = [asyncio.create_task(_store(provider, f"k{n}")) for n, provider in enumerate(providers)]
    done, _ = await asyncio.wait(stores, timeout=1)
    assert not done
    lock.execute("COMMIT")
    await asyncio.gather(*stores)
    assert await providers[0].count(TENANT) == 8
    await asyncio.gather(*(provider.close() for provider in providers))


@requirement("D09", "PRV-041")
async def test_a_lock_that_is_not_given_up_is_a_retryable_error_and_reads_go_on(
    path: Path, lock: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "busy_deadline_s", 0.2)
    provider = SqliteProvider(path)
    await _store(provider, "k")
    lock.execute("BEGIN IMMEDIATE")
    with pytest.raises(UnavailableError, match="busy") as caught:
        await _store(provider, "refused")
    assert caught.value.retryable
    assert await provider.get(place(), "k") is not None
    lock.execute("ROLLBACK")
    await _store(provider, "accepted")
    assert [address.key for address in await provider.keys(TENANT)] == ["accepted", "k"]
    await provider.close()


def _content(path: Path) -> bytes | None:
    return None if path.is_dir() else path.read_bytes()


def _text(path: Path) -> None:
    path.write_text("This is no database. " * 500)


def _garbage(path: Path) -> None:
    healthy = path.read_bytes()
    path.write_bytes(healthy[:100] + bytes(range(256)) * (len(healthy) // 256))


def _newer(path: Path) -> None:
    db = apsw.Connection(str(path))
    db.execute("PRAGMA user_version = 999")
    db.close()


def _foreign(path: Path) -> None:
    path.unlink()
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE other (x)")
    db.close()


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@requirement("PRV-041", "PRV-038")
@pytest.mark.parametrize("damage", [_text, _garbage, _newer, _foreign, _folder])
async def test_a_file_that_is_no_store_of_ours_is_refused_and_left_alone(
    path: Path, damage: Callable[[Path], None]
) -> None:
    provider = SqliteProvider(path)
    await _store(provider, "k")
    await provider.close()
    damage(path)
    before = _content(path)
    refused = SqliteProvider(path)
    for _ in range(2):
        with pytest.raises(StoreError) as caught:
            await _store(refused, "new")
        assert not isinstance(caught.value, StorageFullError)
        with pytest.raises(StoreError):
            await refused.get(place(), "k")
    assert await refused.ping() is False
    await refused.close()
    assert _content(path) == before


@requirement("PRV-038")
async def test_a_failed_opening_is_tried_again_by_the_next_call(path: Path) -> None:
    occupied = apsw.Connection(str(path))
    occupied.execute("CREATE TABLE other (x)")
    provider = SqliteProvider(path)
    with pytest.raises(StoreError):
        await _store(provider, "k")
    occupied.execute("DROP TABLE other")
    occupied.close()
    await _store(provider, "k")
    assert await provider.count(TENANT) == 1
    await provider.close()
