"""Measure the embedders: load, one text, many texts, and their ratio to a bare ONNX Runtime session.

    python benchmarks/embed.py [--texts 400] [--rounds 5]

The yardstick is the same session, fed in one plain loop with the same texts in the same sorted batches, tokens made
before the clock starts. It runs in turns with what is measured, and the two are compared by CPU time.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
import onnxruntime as ort

from mnemic.embedders.minilm import MiniLM
from mnemic.embedders.static import Static
from mnemic.embedders.wordpiece import packaged_tokenizer
from mnemic.models import FOLDER
from mnemic.ports import Embedder

WORDS = [
    *("the", "a", "we", "they", "will", "to", "with", "on", "in", "of", "and", "because", "moved", "wrote", "bought"),
    *("meeting", "tea", "garden", "house", "letter", "plan", "next", "week", "budget", "release", "server", "disk"),
    *("morning", "sister", "neighbour", "train", "harbour", "report", "question", "answer", "small", "old", "new"),
]


def texts(count: int, *, seed: int = 7) -> list[str]:
    """Return texts of chat-like lengths: median 25 words, some ten times as long."""
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=max(1, int(chance.lognormvariate(3.2, 0.8))))) for _ in range(count)]


def raw_session(many: Sequence[str]) -> Callable[[], None]:
    """Return a run of the bare session over the texts' sorted batches."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(FOLDER / "all-MiniLM-L6-v2" / "model.onnx", options)
    tokenizer = packaged_tokenizer("all-MiniLM-L6-v2")
    rows = sorted(([101, *tokenizer.ids(text, limit=254), 102] for text in many), key=len, reverse=True)
    feeds = []
    while rows:
        size = min(32, max(1, 2048 // len(rows[0])))
        batch, rows = rows[:size], rows[size:]
        ids = np.zeros((len(batch), len(batch[0])), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)], mask[row, : len(tokens)] = tokens, 1
        feeds.append({"input_ids": ids, "attention_mask": mask})

    def run() -> None:
        for feed in feeds:
            session.run(["sentence_embedding"], feed)

    return run


async def seconds(job: Callable[[], Awaitable[object]], clock: Callable[[], float] = time.perf_counter) -> float:
    """Time one call."""
    start = clock()
    await job()
    return clock() - start


async def ratio(ours: Callable[[], Awaitable[object]], bare: Callable[[], None], rounds: int) -> float:
    """Return the yardstick's CPU time over ours, the median of some rounds in turns; other processes do not count."""
    found = []
    for _ in range(rounds):
        bare_s = await seconds(lambda: asyncio.to_thread(bare), time.process_time)
        found.append(bare_s / await seconds(ours, time.process_time))
    return statistics.median(found)


async def one_text(embedder: Embedder, words: int) -> str:
    """Measure a query, 100 times."""
    query = " ".join(random.Random(words).choices(WORDS, k=words))
    await embedder.embed([query], urgent=True)
    times = sorted([await seconds(lambda: embedder.embed([query], urgent=True)) for _ in range(100)])
    return f"{words} words: median {1e3 * statistics.median(times):.2f} ms, P95 {1e3 * times[94]:.2f} ms"


async def measure(embedder: Embedder, many: Sequence[str], rounds: int, yardstick: Callable[[], None] | None) -> None:
    """Print an embedder's figures."""
    print(f"{embedder.model_id}\n  load {await seconds(embedder.open):.3f} s")
    for words in (12, 100):
        print(f"  {await one_text(embedder, words)}")
    taken = [await seconds(lambda: embedder.embed(many)) for _ in range(rounds)]
    print(f"  {len(many)} texts: {len(many) / statistics.median(taken):.0f} texts/s")
    if yardstick:
        print(f"  throughput to a bare session: {await ratio(lambda: embedder.embed(many), yardstick, rounds):.3f}")
    await embedder.close()


async def main() -> None:
    """Measure both packaged models."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    many = texts(chosen.texts)
    await measure(MiniLM(), many, chosen.rounds, raw_session(many))
    await measure(Static(), many, chosen.rounds, None)


if __name__ == "__main__":
    asyncio.run(main())
