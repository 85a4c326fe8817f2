"""A power cut loses no write that was acknowledged with ``durability = "power"`` (P2)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import apsw
import pytest

from mnemic.providers.sqlite import SqliteProvider
from mnemic.testing import requirement
from mnemic.types import DurabilityMode
from tests.faults.disks import PowerCut, unregistered
from tests.faults.workload import Write, losses, run

pytestmark = [pytest.mark.resilience, pytest.mark.timeout(90)]

QUICK, LONG = (0.03, 40), (0.2, 300)
"""How often power is cut, and how many cuts that gives at least."""


@dataclass(slots=True)
class _Cuts:
    """Cuts power at some inputs and outputs of one run; each leaves a folder and what was acknowledged by then."""

    folder: Path
    mode: str
    seed: int
    rate: float
    at_least: int
    vfs: PowerCut = field(init=False)
    acknowledged: list[Write] = field(default_factory=list)
    made: list[tuple[Path, list[Write]]] = field(default_factory=list)
    armed: bool = False
    _chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self.vfs = PowerCut(f"cut-{self.folder.name}-{self.mode}-{self.seed}", self._consider)

    def _consider(self) -> None:
        if not self.armed or self._chance.random() > self.rate:
            return
        acknowledged = list(self.acknowledged)
        image = self.folder / f"cut{len(self.made)}"
        self.vfs.cut(image, mode=self.mode, seed=len(self.made))
        self.made.append((image, acknowledged))

    async def make(self, durability: DurabilityMode, *, writers: int, count: int) -> None:
        """Run the workload on the failing disk, from a durable empty store to its closing."""
        path = self.folder / "memory.db"
        provider = SqliteProvider(path, durability=durability, vfs=self.vfs.vfs_name)
        await provider.open()
        await provider.close()
        await provider.open()
        self.armed = True
        await run(provider, self.acknowledged.append, seed=self.seed, writers=writers, count=count)
        await provider.close()
        self.armed = False

    async def lost(self) -> int:
        """Open every image; nothing may be torn; the number of acknowledged writes that are gone."""
        return sum([await losses(image / "memory.db", acknowledged) for image, acknowledged in self.made])


@pytest.fixture
def cuts(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[_Cuts]:
    cuts = _Cuts(tmp_path, *request.param)
    yield cuts
    unregistered(cuts.vfs)


@requirement("P2", "REL-002", "PRV-041")
@pytest.mark.parametrize(
    "cuts",
    [
        *(("drop", 1, *QUICK), ("random", 2, *QUICK), ("random", 3, *QUICK)),
        *(pytest.param((mode, 9, *LONG), marks=pytest.mark.long) for mode in ("drop", "random", "all")),
    ],
    indirect=True,
    ids=lambda value: f"{value[0]}-{value[1]}",
)
async def test_a_power_cut_loses_nothing_that_was_acknowledged(cuts: _Cuts) -> None:
    await cuts.make(DurabilityMode.POWER, writers=6, count=25)
    assert len(cuts.made) >= cuts.at_least
    assert sum(len(acknowledged) for _, acknowledged in cuts.made) > cuts.at_least
    assert await cuts.lost() == 0


@requirement("P2", "REL-002")
@pytest.mark.parametrize(
    ("cuts", "count"),
    [(("drop", 1, 1.0, 60), 5), pytest.param(("drop", 1, 1.0, 200), 20, marks=pytest.mark.long)],
    indirect=["cuts"],
    ids=["5", "20"],
)
async def test_a_script_that_is_cut_at_each_input_and_output_in_turn_loses_nothing(cuts: _Cuts, count: int) -> None:
    await cuts.make(DurabilityMode.POWER, writers=1, count=count)
    assert len(cuts.made) >= cuts.at_least
    assert await cuts.lost() == 0


@requirement("P2")
@pytest.mark.parametrize("cuts", [("drop", 1, *QUICK)], indirect=True, ids=["drop"])
async def test_without_a_sync_at_each_commit_a_power_cut_does_lose_writes(cuts: _Cuts) -> None:
    await cuts.make(DurabilityMode.PROCESS, writers=6, count=25)
    assert await cuts.lost() > 0


@requirement("P2")
async def test_the_disk_of_the_test_loses_what_was_not_synced(tmp_path: Path) -> None:
    vfs = PowerCut("cut-self", lambda: None)
    db = apsw.Connection(str(tmp_path / "a.db"), vfs="cut-self")
    db.execute("PRAGMA synchronous = OFF")
    db.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
    vfs.cut(tmp_path / "image", mode="drop", seed=0)
    vfs.cut(tmp_path / "whole", mode="all", seed=0)
    db.close()
    unregistered(vfs)
    assert (tmp_path / "image" / "a.db").read_bytes() == b""
    assert apsw.Connection(str(tmp_path / "whole" / "a.db")).execute("SELECT x FROM t").get == 1
