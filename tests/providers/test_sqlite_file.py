"""The file itself: who may read it, what is refused, what a full or damaged disk does."""

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from mnemic.errors import CorruptEntryError, NotRunningError, StorageFullError, StoreError
from mnemic.ports import Capability, MemoryFilter
from mnemic.providers.sqlite import SqliteProvider
from mnemic.testing import requirement
from mnemic.testing.strategies import memory, place
from mnemic.types import DurabilityMode


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "memory.db"


@pytest.fixture
def note(tmp_path: Path) -> Path:
    note = tmp_path / "note.db"
    note.write_text("no database, but a note of more than a hundred characters, as a person might keep it. " * 20)
    return note


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder.db"
    folder.mkdir()
    return folder


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def change(path: Path, *statements: str) -> bytes:
    """Run statements on a file past the provider; give its bytes afterwards."""
    path.parent.mkdir(exist_ok=True)
    db = apsw.Connection(str(path))
    for statement in statements:
        db.execute(statement)
    db.close()
    return path.read_bytes()


def damage(path: Path) -> None:
    """Overwrite every page but the first."""
    raw = path.read_bytes()
    path.write_bytes(raw[:4096] + b"\x5a" * (len(raw) - 4096))


def names(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


def size(path: Path) -> int:
    return path.stat().st_size


def holds(path: Path, expected: bytes) -> bool:
    return path.read_bytes() == expected


async def filled(path: Path, *, vfs: str | None = None) -> SqliteProvider:
    provider = SqliteProvider(path, durability=DurabilityMode.PROCESS, vfs=vfs)
    await provider.store(place(), "a", memory("a", "apples and pears"))
    return provider


@requirement("PRV-041")
async def test_nobody_else_can_read_the_file_whatever_the_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        provider = await filled(path)
        assert {mode_of(path.with_name(f"memory.db{end}")) for end in ("", "-wal", "-shm")} == {0o600}
        assert mode_of(path.parent) == 0o700
        await provider.close()
    finally:
        os.umask(before)


@requirement("PRV-038")
async def test_what_was_stored_is_there_when_the_file_is_opened_again(path: Path) -> None:
    await (await filled(path)).close()
    again = SqliteProvider(path)
    entry = await again.get(place(), "a")
    assert entry is not None
    assert entry.content == "apples and pears"
    await again.close()


async def test_closing_leaves_one_file(path: Path) -> None:
    await (await filled(path)).close()
    assert names(path.parent) == ["memory.db"]


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE other (a)", "PRAGMA user_version = 7", "PRAGMA application_id = 1"]
)
async def test_the_database_of_another_program_is_refused_and_left_alone(path: Path, statement: str) -> None:
    before = change(path, statement)
    provider = SqliteProvider(path)
    with pytest.raises(StoreError, match="another program"):
        await provider.open()
    await provider.close()
    assert holds(path, before)


async def test_a_file_of_a_newer_version_is_refused_and_left_alone(path: Path) -> None:
    await (await filled(path)).close()
    before = change(path, "PRAGMA user_version = 999")
    provider = SqliteProvider(path)
    with pytest.raises(StoreError, match="schema 999"):
        await provider.store(place(), "b", memory("b"))
    await provider.close()
    assert holds(path, before)


async def test_a_text_file_is_refused(note: Path) -> None:
    provider = SqliteProvider(note)
    with pytest.raises(StoreError, match="no SQLite file"):
        await provider.open()
    await provider.close()


@requirement("PRV-038")
async def test_a_failed_opening_is_tried_again(folder: Path) -> None:
    provider = SqliteProvider(folder)
    with pytest.raises(StoreError, match="cannot be opened"):
        await provider.get(place(), "a")
    assert not await provider.ping()
    await asyncio.to_thread(folder.rmdir)
    assert await provider.get(place(), "a") is None
    assert await provider.ping()
    await provider.close()


async def test_damaged_pages_are_a_typed_error(path: Path) -> None:
    provider = await filled(path)
    for number in range(200):
        await provider.store(place(), f"k{number}", memory(f"k{number}", "words " * 50))
    await provider.close()
    damage(path)
    damaged = SqliteProvider(path)
    with pytest.raises(StoreError):
        await damaged.list(place())
    await damaged.close()


@requirement("P12")
@pytest.mark.parametrize("column", ["body", "key", "checksum", "version"])
async def test_a_changed_record_is_noticed_by_every_read(path: Path, column: str) -> None:
    await (await filled(path)).close()
    value = f"CASE typeof({column}) WHEN 'integer' THEN 9 WHEN 'blob' THEN CAST('b' || {column} AS BLOB) ELSE 'b' END"
    change(path, f"UPDATE entries SET {column} = {value}")
    provider = SqliteProvider(path)
    for read in (provider.list(place()), provider.search(place(), "apples"), provider.count(place(), METADATA)):
        with pytest.raises(CorruptEntryError) as caught:
            await read
        assert "apples" not in str(caught.value)
    await provider.close()


METADATA = MemoryFilter(metadata={"name": "value"})


class Disk(apsw.VFS):
    """The system's files, but no larger than a quota, or not writable at all."""

    def __init__(self, name: str) -> None:
        self.vfs_name, self.quota, self.read_only = name, 1 << 40, False
        super().__init__(name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        if self.read_only and flags[0] & apsw.SQLITE_OPEN_MAIN_DB:
            flags[0] = flags[0] & ~(apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) | apsw.SQLITE_OPEN_READONLY
        return DiskFile(self, name, flags)


class DiskFile(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        if offset + len(data) > self._disk.quota:
            raise apsw.FullError("quota")
        super().xWrite(data, offset)


@pytest.fixture
def disk(request: pytest.FixtureRequest) -> Iterator[Disk]:
    disk = Disk(f"disk-{request.node.name}")
    yield disk
    disk.unregister()


@requirement("PRV-041")
async def test_reads_go_on_while_the_disk_is_full(path: Path, disk: Disk) -> None:
    provider = await filled(path, vfs=disk.vfs_name)
    disk.quota = 0
    with pytest.raises(StorageFullError, match="no space"):
        await provider.store(place(), "b", memory("b"))
    assert await provider.get(place(), "b") is None
    assert await provider.get(place(), "a") is not None
    assert await provider.search(place(), "pears")
    disk.quota = 1 << 40
    assert await provider.store(place(), "b", memory("b"))
    await provider.close()


async def test_a_read_only_file_is_refused(path: Path, disk: Disk) -> None:
    await (await filled(path)).close()
    disk.read_only = True
    provider = SqliteProvider(path, vfs=disk.vfs_name)
    with pytest.raises(StoreError, match="read-only"):
        await provider.open()
    await provider.close()


@requirement("PRV-042")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_fork_gets_no_live_connection(path: Path) -> None:
    provider = asyncio.run(filled(path))
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            asyncio.run(provider.get(place(), "a"))
        except NotRunningError as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    assert b"fork" in os.read(reading, 1000)
    os.close(reading)
    assert asyncio.run(provider.get(place(), "a")) is not None
    asyncio.run(provider.close())


async def test_a_closed_provider_says_so_until_it_is_opened_again(path: Path) -> None:
    provider = await filled(path)
    await provider.close()
    await provider.close()
    with pytest.raises(NotRunningError, match="closed"):
        await provider.get(place(), "a")
    with pytest.raises(NotRunningError, match="closed"):
        await provider.store(place(), "b", memory("b"))
    await provider.open()
    assert await provider.get(place(), "a") is not None
    await provider.close()


@requirement("PRV-037", "PRV-038")
async def test_what_one_process_writes_the_other_reads_at_once(path: Path) -> None:
    one, other = SqliteProvider(path), SqliteProvider(path)
    for version in range(1, 6):
        entry = memory("a", f"words number{version}", version=version, embedding_model="m")
        await one.store_with_embedding(place(), "a", entry, [1.0, float(version)])
        assert [hit.version for hit in await other.search(place(), f"number{version}")] == [version]
        assert [hit.score for hit in await other.search_similar(place(), [1.0, float(version)])] == [1.0]
    await one.delete(place(), "a")
    assert await other.search_similar(place(), [1.0, 1.0]) == []
    await one.close()
    await other.close()


async def test_the_durability_in_force_is_told(path: Path) -> None:
    assert SqliteProvider(path).durability is DurabilityMode.POWER
    assert SqliteProvider(path, durability=DurabilityMode.PROCESS).durability is DurabilityMode.PROCESS
    volatile = SqliteProvider(":memory:")
    assert volatile.durability is DurabilityMode.MEMORY
    assert Capability.PERSISTENT not in volatile.capabilities


async def test_two_databases_in_memory_are_apart() -> None:
    one, other = SqliteProvider(":memory:"), SqliteProvider(":memory:")
    await one.store(place(), "a", memory("a"))
    assert await other.count(place()) == 0
    await one.close()
    await other.close()


async def test_a_memory_of_300_bytes_takes_less_than_4_kb_with_vector_and_indexes(path: Path) -> None:
    provider, count = SqliteProvider(path, durability=DurabilityMode.PROCESS), 500
    entries = []
    for number in range(count):
        text = " ".join(f"word{(number * 7 + n * n) % 900}" for n in range(43))[:300]
        vector = [float((number * n) % 17) - 8.0 for n in range(1, 385)]
        entries.append(memory(f"key-{number}", text, embedding=vector, embedding_model="m", tags=("one", "two")))
    await provider.store_many(place(), entries)
    await provider.close()
    assert size(path) / count < 4096
