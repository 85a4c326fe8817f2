"""How fast is the SQLite store? Each operation beside an in-run yardstick: a bare commit, a bare row, a bare scan.

Run it with ``python -m benchmarks.store [ROWS]``. Vectors and texts are made from a seed; nothing is embedded.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import resource
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import numpy as np

from mnemic.ports import MemoryFilter, Unit
from mnemic.providers.sqlite import SqliteProvider
from mnemic.types import DurabilityMode, MemoryEntry, MemoryScope, Vector

DIM = 384
START = datetime(2026, 1, 1, tzinfo=UTC)
SCOPE = MemoryScope(tenant_id="bench", volk_id="ada", user_id="")


@dataclass(frozen=True)
class Corpus:
    """Entries and queries with the word frequencies of a language: few frequent words, many rare ones."""

    entries: list[MemoryEntry]
    queries: list[str]
    vectors: Vector


def corpus(rows: int) -> Corpus:
    """Make entries of 45 words, and queries without the hundred most frequent ones, which stand for stop words."""
    chance = random.Random(1)
    syllables = [a + b for a in "bcdfgklmnprst" for b in "aeiou"]
    words = ["".join(chance.choices(syllables, k=chance.randint(2, 4))) for _ in range(20_000)]
    weights = list(itertools.accumulate(1 / rank for rank in range(1, 20_001)))
    rare = list(itertools.accumulate(1 / rank for rank in range(101, 20_001)))
    entries = [
        MemoryEntry(
            key=f"k{n}",
            content=" ".join(chance.choices(words, cum_weights=weights, k=45)),
            created_at=START + timedelta(seconds=n),
            tenant_id="bench",
            volk_id="ada",
            session_id=f"s{n // 100}",
            tags=("rare",) if n % 100 == 0 else (),
        )
        for n in range(rows)
    ]
    queries = [" ".join(chance.choices(words[100:], cum_weights=rare, k=chance.randint(3, 8))) for _ in range(200)]
    return Corpus(entries, queries, np.random.default_rng(1).standard_normal((rows, DIM)).astype(np.float32))


async def timed(call: Callable[[int], Awaitable[object]], times: int) -> tuple[float, float]:
    """Milliseconds at the median and at the 95th percentile."""
    taken = []
    for n in range(times):
        begin = time.perf_counter()
        await call(n)
        taken.append(1000 * (time.perf_counter() - begin))
    taken.sort()
    return taken[times // 2], taken[int(times * 0.95)]


def bare_commit(folder: Path, mode: str) -> Callable[[int], Awaitable[object]]:
    """One row of 1.5 KB in one transaction, in the calling thread."""
    db = apsw.Connection(str(folder / f"bare-{mode}.db"))
    db.execute(
        f"PRAGMA journal_mode = WAL; PRAGMA synchronous = {mode}; CREATE TABLE r (id INTEGER PRIMARY KEY, b)"
    ).fetchall()

    async def commit(_n: int) -> None:
        db.execute("INSERT INTO r (b) VALUES (?)", (b"x" * 1500,))

    return commit


def bare_scan(rows: int) -> Callable[[int], Awaitable[object]]:
    """A product with every vector, in the calling thread."""
    matrix = np.random.default_rng(2).standard_normal((rows, DIM)).astype(np.float32)

    async def scan(n: int) -> None:
        np.vecdot(matrix, matrix[n])

    return scan


async def load(provider: SqliteProvider, made: Corpus) -> float:
    """Commit everything, a unit for each entry; entries a second."""
    begin = time.perf_counter()
    for start in range(0, len(made.entries), 500):
        part = zip(made.entries[start : start + 500], made.vectors[start : start + 500], strict=True)
        units = [Unit(entries=(replace(entry, embedding=vector, embedding_model="m"),)) for entry, vector in part]
        refused = [error for error in await provider.commit_many(units) if error]
        assert not refused, refused[0]
    return len(made.entries) / (time.perf_counter() - begin)


async def measure(folder: Path, rows: int) -> None:
    """Print one line for each operation."""
    made = corpus(rows)
    provider = SqliteProvider(folder / "store.db")
    print(f"{rows} memories, loaded with {await load(provider, made):.0f} a second\n")
    print("| operation | P50 ms | P95 ms | yardstick | its P50 | its P95 | ratio P95 |\n|---|---|---|---|---|---|---|")
    scan = await timed(bare_scan(rows), 50)
    for mode, synchronous in ((DurabilityMode.POWER, "FULL"), (DurabilityMode.PROCESS, "NORMAL")):
        yard = await timed(bare_commit(folder, synchronous), 300)
        show(f"store, {mode}", await stored(folder, mode, made), "commit", yard)
    show("retrieve", await timed(lambda n: provider.get(SCOPE, f"k{n % rows}"), 1000))
    show("search", await timed(lambda n: provider.search(SCOPE, made.queries[n], limit=50), 200))
    tagged = MemoryFilter(tags_all=("rare",))
    await provider.search_similar(SCOPE, made.vectors[0])
    near = made.vectors[:200] + 0.5 * np.random.default_rng(3).standard_normal((200, DIM)).astype(np.float32)
    show("similar", await timed(lambda n: provider.search_similar(SCOPE, near[n], limit=50), 200), "scan", scan)
    show(
        "similar, 1 % by tag",
        await timed(lambda n: provider.search_similar(SCOPE, near[n], where=tagged), 50),
        "scan",
        scan,
    )
    show("both at once", await timed(lambda n: both(provider, made.queries[n], near[n]), 100), "scan", scan)
    await provider.close()
    size = (folder / "store.db").stat().st_size
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\n{size / rows:.0f} bytes a memory on disk; peak memory {peak:.0f} MB, of it the corpus itself")


async def stored(folder: Path, mode: DurabilityMode, made: Corpus) -> tuple[float, float]:
    """Commit one entry at a time on a file of its own."""
    provider = SqliteProvider(folder / f"{mode}.db", durability=mode)
    await provider.open()
    units = [Unit(entries=(entry,)) for entry in made.entries[:300]]
    found = await timed(lambda n: provider.commit(units[n]), len(units))
    await provider.close()
    return found


async def both(provider: SqliteProvider, query: str, vector: Vector) -> None:
    """What a hybrid search asks of the store."""
    await asyncio.gather(provider.search(SCOPE, query, limit=50), provider.search_similar(SCOPE, vector, limit=50))


def show(name: str, own: tuple[float, float], yardstick: str = "", yard: tuple[float, float] | None = None) -> None:
    """Print a line of the table."""
    beside = f"{yardstick} | {yard[0]:.2f} | {yard[1]:.2f} | {own[1] / yard[1]:.1f}" if yard else " | | | "
    print(f"| {name} | {own[0]:.2f} | {own[1]:.2f} | {beside} |")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(measure(Path(name), int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
