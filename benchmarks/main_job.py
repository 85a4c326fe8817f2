"""Does the main job work on real input, through the command line alone?

    python benchmarks/main_job.py DATA_DIR --tenant conv-30 [--questions 10] [--tokens 1024]

Takes one tenant of a folder in the labelled format, imports it with `mnemic import`, asks its first answerable
questions with `mnemic search` and packs a context for each with `mnemic context`. Prints memories a second, the time
of a whole search command, tokens, and for how many questions evidence stood in the context.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def main() -> None:
    """Run the job and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tenant", required=True)
    parser.add_argument("--questions", type=int, default=10)
    parser.add_argument("--tokens", type=int, default=1024)
    told = parser.parse_args()
    memories = [row for row in _rows(told.folder, "memories") if row["tenant"] == told.tenant]
    questions = [row for row in _rows(told.folder, "queries") if row["tenant"] == told.tenant and row.get("relevant")]
    with tempfile.TemporaryDirectory() as scratch:
        _job(Path(scratch), memories, questions[: told.questions], told.tenant, told.tokens)


def _rows(folder: Path, name: str) -> list[dict[str, Any]]:
    plain, packed = folder / f"{name}.jsonl", folder / f"{name}.jsonl.gz"
    text = gzip.decompress(packed.read_bytes()).decode() if packed.exists() else plain.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _job(
    scratch: Path, memories: Sequence[dict[str, Any]], questions: Sequence[dict[str, Any]], tenant: str, tokens: int
) -> None:
    source = scratch / "memories.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in memories), encoding="utf-8")
    store = ["--db", str(scratch / "memory.db"), "--tenant", tenant, "--json"]
    started = time.perf_counter()
    imported = _mnemic("import", str(source), "--format", "kit", *store)
    took = time.perf_counter() - started
    print(f"import: {json.dumps(imported)}")
    print(f"        {len(memories)} memories in {took:.1f} s, {len(memories) / took:.0f} memories/s, vectors included")
    kept, spent, searches = 0, [], []
    for question in questions:
        asked = [question["text"], *store, *(["--now", question["ts"]] if question.get("ts") else [])]
        started = time.perf_counter()
        _mnemic("search", *asked)
        searches.append(time.perf_counter() - started)
        block = _mnemic("context", *asked, "--max-tokens", str(tokens))
        keys = {address["key"].partition(":")[2] for address in block["injected"]}
        found = keys & set(question["relevant"])
        kept += bool(found)
        spent.append(block["tokens_used"])
        print(f"  {question['id']}: {len(found)} of {len(question['relevant'])} in {block['tokens_used']} tokens")
    print(f"search: {statistics.median(searches) * 1000:.0f} ms for the whole command, at the median")
    mean = statistics.mean(spent)
    print(f"context: evidence for {kept} of {len(questions)} questions in {mean:.0f} of {tokens} tokens")


def _mnemic(*words: str) -> Any:
    done = subprocess.run([sys.executable, "-m", "mnemic", *words], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
