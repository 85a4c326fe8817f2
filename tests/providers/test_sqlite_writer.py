"""The one writer: what shares a commit, what fails alone, and what a caller that goes away undoes."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import apsw
import numpy as np
import pytest

from mnemic import faults
from mnemic.errors import ConflictError, InvalidInputError, MnemicError, OverloadedError
from mnemic.ports import AuditRecord, Deletion, Edge, EdgeKind, Embedding, Job, Unit, VectorWrite
from mnemic.providers.sqlite import SqliteProvider
from mnemic.testing import requirement
from mnemic.testing.strategies import START, memory, place
from mnemic.types import DurabilityMode, SystemEvent

VECTOR = np.array([0.6, 0.8], np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
async def provider(path: Path) -> AsyncIterator[SqliteProvider]:
    provider = SqliteProvider(path, durability=DurabilityMode.PROCESS, max_pending=100)
    await provider.open()
    yield provider
    await provider.close()


@dataclass
class Gate:
    """Holds the writer before its commit until it is opened, and counts commits."""

    reached: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)
    commits: int = 0

    def __call__(self) -> None:
        self.commits += 1
        self.reached.set()
        self.opened.wait(10)


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    faults.arm("sqlite.before_commit", gate)
    yield gate
    gate.opened.set()
    faults.disarm()


@pytest.fixture
def armed() -> Iterator[Callable[[str, Callable[[], None]], None]]:
    yield faults.arm
    faults.disarm()


def unit(key: str, *, version: int = 1) -> Unit:
    return Unit(entries=(memory(key, f"text of {key}", version=version),))


def whole_unit() -> Unit:
    """A unit with something of everything."""
    entry = memory("whole", "apples", embedding=[1.0, 2.0], embedding_model="m", tags=("red",))
    record = AuditRecord(
        entry_id="1", time=START, tenant_id="t1", kind="write", action="store", actor="ada", resource=entry.uid,
        result="success",
    )  # fmt: skip
    return Unit(
        entries=(entry,),
        deletions=(Deletion(address=memory("gone").address, version=2, at=START),),
        edges=(Edge("t1", entry.uid, EdgeKind.RELATES_TO, "other"),),
        audit=(record,),
        events=(SystemEvent(id="e", type="memory.stored", time=START, tenant_id="t1"),),
        jobs=(Job(id="j", kind="embed", tenant_id="t1"),),
    )


async def reach(gate: Gate) -> None:
    assert await asyncio.to_thread(gate.reached.wait, 10)


@requirement("PRV-041")
async def test_what_waits_shares_few_commits(provider: SqliteProvider, gate: Gate) -> None:
    first = asyncio.create_task(provider.commit(unit("first")))
    await reach(gate)
    rest = [asyncio.create_task(provider.commit(unit(f"k{number}"))) for number in range(64)]
    await asyncio.sleep(0)
    gate.opened.set()
    await asyncio.gather(first, *rest)
    assert gate.commits == 3
    assert await provider.count(place()) == 65


async def test_a_bad_unit_fails_alone(provider: SqliteProvider) -> None:
    await provider.commit(unit("old", version=5))
    bad = Unit(entries=(memory("new"), memory("old", version=5)))
    results = await provider.commit_many([unit("a"), bad, unit("b")])
    assert [type(result) for result in results] == [type(None), ConflictError, type(None)]
    assert [address.key for address in await provider.keys(place())] == ["a", "b", "old"]


@requirement("PRV-007")
@pytest.mark.parametrize("name", ["unit_entries", "unit_rows", "unit_applied", "before_commit"])
async def test_a_fault_inside_a_unit_leaves_nothing_of_it(
    provider: SqliteProvider, armed: Callable[[str, Callable[[], None]], None], name: str
) -> None:
    await provider.store(place(), "gone", memory("gone", "pears"))

    def fail() -> None:
        raise apsw.IOError("injected")

    armed(f"sqlite.{name}", fail)
    with pytest.raises(MnemicError) as caught:
        await provider.commit(whole_unit())
    assert caught.value.retryable
    faults.disarm()
    assert await provider.get(place(), "whole") is None
    assert await provider.get(place(), "gone") is not None
    assert not await provider.search(place(), "apples")
    assert not await provider.search_similar(place(), [1.0, 2.0])
    assert not await provider.audit_rows("t1", "write")
    assert (await provider.outbox_depth())[0] == await provider.job_count("embed") == 0
    await provider.commit(whole_unit())
    assert len(await provider.audit_rows("t1", "write")) == 1


async def test_a_cancelled_caller_does_not_cancel_the_write(provider: SqliteProvider, gate: Gate) -> None:
    writing = asyncio.create_task(provider.commit(unit("a")))
    await reach(gate)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    gate.opened.set()
    await provider.commit(unit("b"))
    assert await provider.get(place(), "a") is not None


async def test_more_than_may_wait_is_refused(provider: SqliteProvider, gate: Gate) -> None:
    first = asyncio.create_task(provider.commit(unit("first")))
    await reach(gate)
    waiting = asyncio.create_task(provider.commit_many([unit(f"k{number}") for number in range(100)]))
    await asyncio.sleep(0)
    with pytest.raises(OverloadedError, match="more than 100"):
        await provider.commit(unit("late"))
    gate.opened.set()
    await first
    assert await waiting == [None] * 100
    await provider.commit(unit("late"))


async def test_closing_first_writes_what_waits(path: Path, gate: Gate) -> None:
    provider = SqliteProvider(path)
    waiting = [asyncio.create_task(provider.commit(unit(f"k{number}"))) for number in range(40)]
    await reach(gate)
    closing = asyncio.create_task(provider.close())
    await asyncio.sleep(0)
    gate.opened.set()
    await asyncio.gather(*waiting, closing)
    again = SqliteProvider(path)
    assert await again.count(place()) == 40
    await again.close()


def test_one_provider_serves_several_event_loops_in_turn(path: Path) -> None:
    provider = SqliteProvider(path)
    for number in range(3):
        asyncio.run(provider.commit(unit(f"k{number}")))
    assert asyncio.run(provider.count(place())) == 3
    asyncio.run(provider.close())


async def test_a_value_that_is_no_json_is_refused_with_its_unit(provider: SqliteProvider) -> None:
    bad = Unit(entries=(memory("a"),), jobs=(Job(id="j", kind="embed", tenant_id="t1", payload={"x": {1, 2}}),))
    with pytest.raises(InvalidInputError, match="payload"):
        await provider.commit(bad)
    assert await provider.count(place()) == 0


async def test_the_vector_of_an_older_version_is_left_out(provider: SqliteProvider) -> None:
    await provider.commit(unit("a"))
    late = VectorWrite(address=memory("a").address, version=1, model_id="m", input_hash=b"1", vector=VECTOR)
    await provider.commit(unit("a", version=2))
    await provider.commit(Unit(vectors=(late,)))
    assert not await provider.search_similar(place(), VECTOR)


async def test_a_vector_of_a_live_entry_is_its_own_cache(provider: SqliteProvider) -> None:
    await provider.commit(unit("a"))
    write = VectorWrite(address=memory("a").address, version=1, model_id="m", input_hash=b"1", vector=VECTOR)
    await provider.commit(Unit(vectors=(write,)))
    await provider.keep("t1", "m", {b"2": Embedding(VECTOR)})
    found = await provider.cached("t1", "m", [b"1", b"2", b"3"])
    assert found.keys() == {b"1", b"2"}
    assert float(found[b"1"].vector @ VECTOR) >= 0.9999
    assert not await provider.cached("t2", "m", [b"1", b"2"])
    assert not await provider.cached("t1", "other", [b"1", b"2"])


@requirement("AUD-003")
async def test_two_writers_never_fork_a_chain(provider: SqliteProvider, path: Path) -> None:
    other = SqliteProvider(path, durability=DurabilityMode.PROCESS)
    record = whole_unit().audit[0]
    units = [Unit(audit=(record,)) for _ in range(50)]
    results = await asyncio.gather(provider.commit_many(units), other.commit_many(units))
    assert not any(error for part in results for error in part)
    rows = await provider.audit_rows("t1", "write")
    assert [row.seq for row in rows] == list(range(1, 101))
    assert [row.prev_hash for row in rows[1:]] == [row.entry_hash for row in rows[:-1]]
    await other.close()
