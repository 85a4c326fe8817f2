"""A fault at each statement leaves all of a unit or nothing, and the old schema or the new one."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import pytest

from mnemic.errors import MnemicError, UnavailableError
from mnemic.providers.sqlite import SqliteProvider
from mnemic.testing import requirement
from mnemic.testing.journal_suite import everything, full_unit
from mnemic.testing.strategies import memory, place
from mnemic.types import DurabilityMode
from tests.faults.disks import PowerCut, unregistered

pytestmark = [pytest.mark.resilience, pytest.mark.migration, pytest.mark.timeout(90)]


@dataclass(slots=True)
class _Fault:
    """Aborts one statement, counted over all connections from when it is armed."""

    at: int | None = None
    seen: int = 0

    def arm(self, at: int) -> None:
        """Abort the ``at``-th statement from now."""
        self.at, self.seen = at, 0

    def disarm(self) -> bool:
        """Abort none from now on; whether one was."""
        fired = self.at is not None and self.seen >= self.at
        self.at = None
        return fired

    def hook(self, connection: apsw.Connection) -> None:
        """Watch a new connection, but for that of the checkpoints, which run beside whatever is watched."""
        if threading.current_thread().name != "mnemic-checkpoint":
            connection.exec_trace = self._trace

    def _trace(self, _cursor: Any, _sql: str, _values: Any) -> bool:
        self.seen += 1
        return self.seen != self.at


@pytest.fixture
def fault() -> Iterator[_Fault]:
    fault = _Fault()
    apsw.connection_hooks.append(fault.hook)
    yield fault
    apsw.connection_hooks.remove(fault.hook)


@requirement("PRV-007", "PRV-041")
async def test_a_fault_at_each_statement_of_a_commit_leaves_nothing_of_the_unit(tmp_path: Path, fault: _Fault) -> None:
    provider = SqliteProvider(tmp_path / "memory.db", durability=DurabilityMode.PROCESS)
    await provider.commit(full_unit(memory("k"), 1))
    before = await everything(provider, provider)
    statement = 1
    while True:
        fault.arm(statement)
        try:
            await provider.commit(full_unit(memory("new"), 2))
        except MnemicError as error:
            refused: MnemicError | None = error
        else:
            refused = None
        if not fault.disarm():
            break
        assert isinstance(refused, UnavailableError), statement
        assert await everything(provider, provider) == before, statement
        statement += 1
    assert statement > 20
    assert await everything(provider, provider) != before
    await provider.close()


@requirement("PRV-007")
async def test_the_same_without_a_transaction_leaves_half_a_unit(tmp_path: Path, fault: _Fault) -> None:
    db = apsw.Connection(str(tmp_path / "plain.db"))
    db.execute("CREATE TABLE t (x)")
    fault.arm(2)
    with pytest.raises(apsw.ExecTraceAbort):
        db.execute("INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    fault.disarm()
    assert db.execute("SELECT count(*) FROM t").get == 1
    db.close()


def _schema(path: Path) -> set[tuple[str, str]]:
    db = apsw.Connection(str(path))
    rows = set(db.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL"))
    rows.add(("user_version", str(db.pragma("user_version"))))
    db.close()
    return rows


async def _fresh(path: Path) -> set[tuple[str, str]]:
    provider = SqliteProvider(path)
    await provider.store(place(), "k", memory("k"))
    assert await provider.get(place(), "k") is not None
    await provider.close()
    return _schema(path)


@requirement("PRV-041")
async def test_a_fault_at_each_statement_of_the_opening_is_made_good_by_the_next(tmp_path: Path, fault: _Fault) -> None:
    expected = await _fresh(tmp_path / "fresh.db")
    statement = 1
    while True:
        path = tmp_path / f"{statement}.db"
        provider = SqliteProvider(path)
        fault.arm(statement)
        with suppress(MnemicError):
            await provider.open()
        fired = fault.disarm()
        await provider.close()
        assert await _fresh(path) == expected, statement
        if not fired:
            break
        statement += 1
    assert statement > 10


@requirement("PRV-041", "P1", "P2")
@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("mode", ["all", "drop", "random"])
async def test_an_end_at_each_input_and_output_of_the_first_opening_is_made_good_by_the_next(
    tmp_path: Path, mode: str, every: int
) -> None:
    """With ``all`` the process ends, with the others the power; the schema is the old one or the new one."""
    expected = await _fresh(tmp_path / "fresh.db")
    images: list[Path] = []
    calls = itertools.count()

    def cut() -> None:
        if (number := next(calls)) % every == 0:
            images.append(tmp_path / f"cut{number}")
            disk.cut(images[-1], mode=mode, seed=number)

    disk = PowerCut(f"opening-{mode}", cut)
    provider = SqliteProvider(tmp_path / "memory.db", vfs=disk.vfs_name)
    await provider.open()
    await provider.close()
    unregistered(disk)
    assert len(images) > 50 // every
    for image in images:
        assert await _fresh(image / "memory.db") == expected
