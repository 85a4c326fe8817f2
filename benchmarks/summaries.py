"""Measure summaries by extraction and packed contexts over made-up memories.

    python benchmarks/summaries.py [--rounds 20]

Prints median and 95th percentile in milliseconds, and the ratio of the median to the yardstick: counting the tokens of
the same memories once.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from mnemic.context import pack, summarize_entries
from mnemic.tokens import Tiktoken
from mnemic.types import MemoryEntry, MemoryHit, SummarizationStrategy

TEXT = (
    "the a we they will to with on in of and because moved wrote bought meeting tea garden house letter plan next week "
    "budget release server disk morning sister neighbour train harbour report question answer small old new"
)
WORDS = TEXT.split()
NOW = datetime(2026, 1, 1, tzinfo=UTC)
BUDGET = 2048


def memories(count: int, *, seed: int = 7) -> list[MemoryEntry]:
    """Return memories of one to six sentences, twelve words each."""
    chance = random.Random(seed)
    return [
        MemoryEntry(
            key=f"m{number}",
            content=" ".join(
                " ".join([*chance.choices(WORDS, k=11), f"item{chance.randint(0, 999)}"]).capitalize() + "."
                for _ in range(chance.randint(1, 6))
            ),
            created_at=NOW - timedelta(hours=number),
            session_id=f"s{number // 20}",
            importance=chance.random(),
        )
        for number in range(count)
    ]


def measured(call: Callable[[], object], rounds: int) -> list[float]:
    """Return the milliseconds of each round, sorted."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        call()
        times.append((time.perf_counter() - started) * 1000)
    return sorted(times)


def report(name: str, times: Sequence[float], yardstick: float) -> None:
    """Print one row."""
    middle, high = statistics.median(times), times[int(0.95 * (len(times) - 1))]
    print(f"{name:<34} {middle:8.1f} ms median {high:8.1f} ms P95 {middle / yardstick:6.2f} x yardstick")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    counter = Tiktoken("o200k")
    for count in (100, 1000):
        entries = memories(count)
        times = measured(lambda entries=entries: [counter.count(entry.content) for entry in entries], rounds)
        yardstick = statistics.median(times)
        report(f"count tokens of {count}", times, yardstick)
        for strategy in SummarizationStrategy:

            def summarize(entries: list[MemoryEntry] = entries, strategy: SummarizationStrategy = strategy) -> object:
                return summarize_entries(
                    entries, counter=counter, max_tokens=BUDGET, strategy=strategy, query="garden plan", now=NOW
                )

            report(f"summarize {count}, {strategy}", measured(summarize, rounds), yardstick)
        hits = [MemoryHit.of(entry, score=entry.importance) for entry in entries]

        def packed(hits: list[MemoryHit] = hits) -> object:
            return pack(hits, counter=counter, budget=BUDGET, now=NOW)

        report(f"pack {count}", measured(packed, rounds), yardstick)


if __name__ == "__main__":
    main()
