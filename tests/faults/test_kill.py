"""A killed process loses no write that it acknowledged (P1)."""

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mnemic.testing import requirement
from tests.faults.workload import Write, losses

pytestmark = pytest.mark.resilience

ROOT = Path(__file__).parents[2]
QUICK = range(20)
LONG = range(20, 200)


def _killed(path: Path, *, seed: int, durability: str, mode: str) -> list[Write]:
    """Let a process write until a random acknowledgement, kill it, and give what it acknowledged."""
    command = [sys.executable, "-m", "tests.faults.writer", str(path), durability, str(seed), mode]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(random.Random(seed).randint(1, 300))]
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.read().splitlines(keepends=True)
    assert process.returncode == -signal.SIGKILL
    return [Write.parse(line.decode()) for line in lines if line.endswith(b"\n")]


@requirement("P1", "REL-001", "PRV-041")
@pytest.mark.parametrize("seed", [*QUICK, *(pytest.param(seed, marks=pytest.mark.long) for seed in LONG)])
async def test_a_killed_process_loses_no_acknowledged_write_and_tears_none(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "memory.db"
    durability = "power" if seed % 2 else "process"
    acknowledged = _killed(path, seed=seed, durability=durability, mode="honest")
    assert acknowledged
    assert await losses(path, acknowledged) == 0


@requirement("P1")
async def test_a_writer_that_acknowledges_before_the_commit_does_lose_writes(tmp_path: Path) -> None:
    for seed in range(5):
        path = tmp_path / f"{seed}.db"
        if await losses(path, _killed(path, seed=seed, durability="power", mode="early")):
            return
    pytest.fail("nothing was lost, so the test above could not have noticed a loss")
