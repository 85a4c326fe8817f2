"""Several processes work on one file at once (section 20, REL-005)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import pytest

from mnemic.providers.sqlite import SqliteProvider
from mnemic.testing import requirement
from mnemic.testing.strategies import TENANT, place
from tests.faults.mixed import COUNTERS

pytestmark = [pytest.mark.resilience, pytest.mark.timeout(90)]

ROOT = Path(__file__).parents[2]
PROCESSES = ("p", "q", "r", "s")


def _said(stream: IO[str] | None) -> Any:
    assert stream is not None
    line = stream.readline()
    assert line, "the process ended without a word"
    return json.loads(line)


def _started(path: Path, operations: int) -> list[subprocess.Popen[str]]:
    return [
        subprocess.Popen(
            [sys.executable, "-m", "tests.faults.mixed", str(path), name, str(operations)],
            cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        for name in PROCESSES
    ]  # fmt: skip


@requirement("REL-005", "PRV-038", "PRV-041", "PRV-042")
@pytest.mark.parametrize("operations", [500, pytest.param(2000, marks=pytest.mark.long)])
async def test_four_processes_lose_no_update_and_find_each_others_entries(tmp_path: Path, operations: int) -> None:
    path = tmp_path / "memory.db"
    started = _started(path, operations)
    results = [_said(process.stdout) for process in started]
    live = sorted(key for result in results for key in result["mine"])
    seen = []
    for process, result in zip(started, results, strict=True):
        others = [key for key in live if key not in result["mine"]][::5]
        out, _ = process.communicate(json.dumps(others) + "\n")
        answer = json.loads(out)
        assert answer["by_meaning"] == others
        seen.append((answer["count"], answer["keys"]))
        assert process.returncode == 0
    expected = sorted([*live, *COUNTERS])
    assert seen == [(len(expected), expected[:1000])] * len(PROCESSES)
    await _check_counters(path, results)


async def _check_counters(path: Path, results: list[dict[str, Any]]) -> None:
    provider = SqliteProvider(path)
    for counter in COUNTERS:
        added = sum(result["added"][counter] for result in results)
        versions = await provider.versions(place(), counter)
        assert [entry.version for entry in versions] == list(range(added, 0, -1))
        assert all(entry.content == f"counter {entry.version}" for entry in versions)
    assert await provider.count(TENANT) > len(COUNTERS)
    await provider.close()
