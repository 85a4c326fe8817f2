"""A flipped bit of the file gives the right content or a typed error, never wrong content (P12)."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from mnemic.errors import CorruptEntryError, StoreError
from mnemic.providers.sqlite import SqliteProvider
from mnemic.testing import requirement
from mnemic.testing.strategies import TENANT, memory, place
from mnemic.types import MemoryEntry

pytestmark = [pytest.mark.resilience, pytest.mark.timeout(90)]

ENTRIES = {
    f"k{n:02}": memory(f"k{n:02}", f"thing {n} " + f"some words {n} " * 60, metadata={"n": n}, tags=(f"tag{n}",))
    for n in range(40)
}


@pytest.fixture
async def healthy(tmp_path: Path) -> bytes:
    """The bytes of a file with forty entries, all checkpointed."""
    path = tmp_path / "healthy.db"
    provider = SqliteProvider(path)
    await provider.store_many(place(), list(ENTRIES.values()))
    await provider.close()
    return _bytes(path)


def _bytes(path: Path) -> bytes:
    return path.read_bytes()


def _flipped(healthy: bytes, path: Path, seed: int) -> Path:
    chance = random.Random(seed)
    damaged = bytearray(healthy)
    damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    path.write_bytes(damaged)
    return path


def _is_right(found: MemoryEntry) -> bool:
    """Compare all but the counters of use, which change without a new version and are under no checksum."""
    entry = ENTRIES.get(found.key)
    return entry is not None and entry == replace(
        found, access_count=entry.access_count, last_accessed_at=entry.last_accessed_at
    )


async def _read_all(path: Path) -> Counter[str]:
    """Read every entry in every way; count what came back right, was refused, or was missing."""
    provider = SqliteProvider(path)
    outcome: Counter[str] = Counter()
    for key in ENTRIES:
        try:
            found = await provider.get(place(), key)
        except (CorruptEntryError, StoreError):
            outcome["refused"] += 1
        else:
            outcome["missing" if found is None else "right" if _is_right(found) else "wrong"] += 1
    for found_entries in (await _listed(provider), await _searched(provider)):
        outcome["wrong"] += sum(not _is_right(found) for found in found_entries)
    await provider.close()
    return outcome


async def _listed(provider: SqliteProvider) -> list[MemoryEntry]:
    try:
        return list((await provider.list(TENANT)).items)
    except (CorruptEntryError, StoreError):
        return []


async def _searched(provider: SqliteProvider) -> list[MemoryEntry]:
    try:
        return [hit.entry() for hit in await provider.search(TENANT, "thing 7", limit=100)]
    except (CorruptEntryError, StoreError):
        return []


@requirement("P12", "REL-008", "D46")
@pytest.mark.parametrize("seeds", [range(100), pytest.param(range(100, 2100), marks=pytest.mark.long)])
async def test_a_flipped_bit_never_gives_wrong_content(healthy: bytes, tmp_path: Path, seeds: range) -> None:
    total: Counter[str] = Counter()
    for seed in seeds:
        outcome = await _read_all(_flipped(healthy, tmp_path / "flipped.db", seed))
        assert outcome["wrong"] == 0, seed
        total += outcome
    assert total["refused"] > 0
    assert total["right"] > 30 * len(seeds)


@requirement("P12")
async def test_without_the_checksum_a_flipped_bit_does_give_wrong_content(healthy: bytes, tmp_path: Path) -> None:
    """The same flips, the bodies read past the provider."""
    wrong = 0
    for seed in range(100):
        wrong += _wrong_bodies(_flipped(healthy, tmp_path / "flipped.db", seed))
    assert wrong > 0


def _wrong_bodies(path: Path) -> int:
    db = apsw.Connection(str(path))
    try:
        rows = list(db.execute("SELECT key, body FROM entries"))
        contents = {key: json.loads(body)["content"] for key, body in rows}
    except (apsw.Error, ValueError, KeyError):
        contents = {}
    db.close()
    return sum(key in ENTRIES and ENTRIES[key].content != content for key, content in contents.items())


@requirement("D46")
async def test_a_body_that_became_text_is_a_damaged_one(healthy: bytes, tmp_path: Path) -> None:
    path = tmp_path / "damaged.db"
    _write(path, healthy, "UPDATE entries SET body = CAST(body AS TEXT)")
    provider = SqliteProvider(path)
    with pytest.raises(CorruptEntryError):
        await provider.get(place(), "k07")
    with pytest.raises(CorruptEntryError):
        await provider.list(TENANT)
    await provider.close()


@requirement("D46")
async def test_one_damaged_entry_stops_no_other(healthy: bytes, tmp_path: Path) -> None:
    path = tmp_path / "damaged.db"
    thinking = "UPDATE entries SET body = CAST(replace(body, 'thing', 'think') AS BLOB) WHERE key = 'k07'"
    _write(path, healthy, thinking)
    provider = SqliteProvider(path)
    with pytest.raises(CorruptEntryError) as caught:
        await provider.get(place(), "k07")
    assert "thing" not in str(caught.value)
    for key, entry in ENTRIES.items():
        if key != "k07":
            assert await provider.get(place(), key) == entry
    await provider.store(place(), "new", memory("new"))
    assert await provider.get(place(), "new") is not None
    await provider.close()


def _write(path: Path, healthy: bytes, statement: str) -> None:
    path.write_bytes(healthy)
    db = apsw.Connection(str(path))
    db.execute(statement)
    db.close()
