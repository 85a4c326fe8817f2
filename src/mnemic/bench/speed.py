"""How fast is the engine on this machine? Percentiles beside a yardstick that is timed in the same run."""

from __future__ import annotations

import asyncio
import random
import resource
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from mnemic.app import embedder, open_engine
from mnemic.config import Settings
from mnemic.engine import MemoryEngine
from mnemic.ports import BatchItem, Embedder
from mnemic.types import DurabilityMode, Vector

__all__ = ["Row", "measure"]

_BATCH = 500
_WORDS = 40
_AGENTS = 16
_VOCABULARY, _OFTEN = 20_000, 20
_RATES = {"store": 100, "retrieve": 500, "search": 50}
"""Calls a second of all agents together, in the open loop of NFR-001."""
_SYLLABLES = ("ka", "lo", "mi", "ren", "tos", "va", "shi", "dun", "bel", "or", "pax", "qui", "nes", "fu", "gar", "ze")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measured operation: milliseconds at the median and at the 95th percentile, beside its yardstick."""

    name: str
    count: int
    p50_ms: float
    p95_ms: float
    yardstick: str = ""
    yardstick_ms: float = 0.0

    @property
    def ratio(self) -> float:
        """The median as a multiple of the yardstick's."""
        return self.p50_ms / self.yardstick_ms if self.yardstick_ms else 0.0

    def record(self) -> dict[str, Any]:
        """The row as JSON values."""
        return {**asdict(self), "ratio": round(self.ratio, 2)}


async def measure(
    size: int, *, durability: DurabilityMode, seconds: float = 10.0
) -> tuple[list[Row], dict[str, float]]:
    """Fill a new store with ``size`` memories and time single calls, then an open loop of 16 agents.

    Args:
        size: Memories in the store; their vectors are made up, so that filling costs no model.
        durability: What a store survives.
        seconds: How long the open loop lasts; 0 leaves it out.

    Returns:
        The rows, and sizes by name: bytes on disk a memory, peak resident megabytes, seconds to open and first search.
    """
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(durability=durability, data_dir=Path(folder))
        model = embedder(settings)
        assert model is not None  # noqa: S101 - the default settings name one
        path = Path(folder) / "speed.db"
        async with open_engine(path, settings=settings, model=model) as memory:
            keys = await _filled(memory, size, model.dim)
        started = time.perf_counter()
        async with open_engine(path, settings=settings, model=model) as memory:
            await memory.search(_text(random.Random(1), 8))
            first_s = time.perf_counter() - started
            rows = await _single(memory, keys, model, Path(folder), durability)
            if seconds:
                rows += await _open_loop(memory, keys, seconds)
        bytes_each = await asyncio.to_thread(_bytes, Path(folder)) / size
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    return rows, {"bytes_per_memory": bytes_each, "peak_mb": peak, "first_search_s": first_s}


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("speed.db*"))


async def _filled(memory: MemoryEngine, size: int, dim: int) -> list[str]:
    randoms, numbers = random.Random(0), np.random.default_rng(0)
    centres = numbers.standard_normal((64, dim)).astype(np.float32)
    keys = [f"m{place}" for place in range(size)]
    for start in range(0, size, _BATCH):
        part = keys[start : start + _BATCH]
        near = centres[numbers.integers(0, len(centres), len(part))]
        vectors: Vector = near + 0.8 * numbers.standard_normal((len(part), dim)).astype(np.float32)
        items = [
            BatchItem(content=_text(randoms, _WORDS), options={"key": key, "embedding": vector, "turn": None})
            for key, vector in zip(part, vectors, strict=True)
        ]
        for result in await memory.store_many(items):
            if result.error is not None:
                raise result.error
    return keys


def _text(randoms: random.Random, words: int) -> str:
    """Made-up words, distributed as content words are: rank r as often as 1 / (r + 20)."""
    ranks = (_OFTEN * ((_VOCABULARY + _OFTEN) / _OFTEN) ** randoms.random() - _OFTEN for _ in range(words))
    return " ".join(_word(int(rank)) for rank in ranks)


def _word(number: int) -> str:
    parts = []
    while True:
        number, place = divmod(number, len(_SYLLABLES))
        parts.append(_SYLLABLES[place])
        if number == 0:
            return "".join(parts)


async def _single(
    memory: MemoryEngine, keys: Sequence[str], model: Embedder, folder: Path, durability: DurabilityMode
) -> list[Row]:
    """One caller, one call after the other."""
    randoms = random.Random(2)
    texts = iter(lambda: _text(randoms, _WORDS), "")
    commit, read = _bare(folder, durability)
    scan = np.random.default_rng(1).standard_normal((len(keys), model.dim)).astype(np.float32)
    question = scan[0].copy()
    rows = [
        await _timed("store", 300, lambda: memory.store(next(texts)), "bare commit of such a row", commit),
        await _timed("retrieve", 2000, lambda: memory.retrieve(randoms.choice(keys)), "bare read by key", read),
    ]
    await memory.flush()
    queries = [_text(randoms, 8) for _ in range(200)]
    started = time.perf_counter()
    for query in queries:
        await model.embed([query], urgent=True)
    embed_ms = (time.perf_counter() - started) * 1000 / len(queries)
    questions = iter(queries * 2)
    search = await _timed(
        "search", len(queries), lambda: memory.search(next(questions)), "scan of the vectors", lambda: scan @ question
    )
    embedding = Row(name="embedding of a query", count=len(queries), p50_ms=embed_ms, p95_ms=embed_ms)
    return [*rows, search, embedding]


def _bare(folder: Path, durability: DurabilityMode) -> tuple[Callable[[], object], Callable[[], object]]:
    """What the database alone takes to commit one row of the same size, and to read one."""
    connection = apsw.Connection(str(folder / "yardstick.db"))
    level = {DurabilityMode.POWER: "FULL", DurabilityMode.PROCESS: "NORMAL", DurabilityMode.MEMORY: "OFF"}[durability]
    for statement in (
        "PRAGMA journal_mode=WAL",
        f"PRAGMA synchronous={level}",
        "CREATE TABLE t(k INTEGER PRIMARY KEY, v)",
    ):
        connection.execute(statement).fetchall()
    row = ("x" * 1500,)
    return (
        lambda: connection.execute("INSERT INTO t(v) VALUES (?)", row).fetchall(),
        lambda: connection.execute("SELECT v FROM t WHERE k = 1").fetchall(),
    )


async def _timed(
    name: str, count: int, call: Callable[[], Awaitable[object]], yardstick: str, bare: Callable[[], object]
) -> Row:
    times, beside = [], []
    for _ in range(count):
        started = time.perf_counter()
        await call()
        times.append(time.perf_counter() - started)
        started = time.perf_counter()
        bare()
        beside.append(time.perf_counter() - started)
    return _row(name, times, yardstick, float(np.median(beside)) * 1000)


async def _open_loop(memory: MemoryEngine, keys: Sequence[str], seconds: float) -> list[Row]:
    """Sixteen agents call at fixed rates, whether earlier calls have answered or not (NFR-001)."""
    randoms = random.Random(3)
    agents = [memory.acting_as(session_id=f"agent-{n}") for n in range(_AGENTS)]
    calls: dict[str, Callable[[MemoryEngine], Awaitable[object]]] = {
        "store": lambda agent: agent.store(_text(randoms, _WORDS)),
        "retrieve": lambda agent: agent.retrieve(randoms.choice(keys)),
        "search": lambda agent: agent.search(_text(randoms, 8)),
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    async with asyncio.TaskGroup() as group:
        for name, call in calls.items():
            for place, due in enumerate(_moments(_RATES[name], seconds)):
                group.create_task(_called(times[name], due, call, agents[place % _AGENTS]))
    return [_row(f"{name}, 16 agents at {_RATES[name]}/s", taken) for name, taken in times.items()]


def _moments(rate: int, seconds: float) -> Iterator[float]:
    start = time.perf_counter() + 0.2
    return (start + place / rate for place in range(int(rate * seconds)))


async def _called(
    times: list[float], due: float, call: Callable[[MemoryEngine], Awaitable[object]], agent: MemoryEngine
) -> None:
    await asyncio.sleep(max(0.0, due - time.perf_counter()))
    started = time.perf_counter()
    await call(agent)
    times.append(time.perf_counter() - started)


def _row(name: str, times: Sequence[float], yardstick: str = "", yardstick_ms: float = 0.0) -> Row:
    p50, p95 = (float(value) * 1000 for value in np.percentile(times, (50, 95)))
    return Row(name=name, count=len(times), p50_ms=p50, p95_ms=p95, yardstick=yardstick, yardstick_ms=yardstick_ms)
