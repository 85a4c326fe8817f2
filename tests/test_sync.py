"""The blocking facade is the async engine by other means: same names, same errors, one thread."""

import asyncio
import inspect
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest
from blockbuster import BlockBuster

import mnemic
from mnemic import sync
from mnemic.config import Settings, load_settings
from mnemic.errors import InvalidInputError, NotFoundError, NotRunningError
from mnemic.sync.loop import LoopThread
from mnemic.testing import requirement
from tools.generate_sync import FACADE, facade

pytestmark = pytest.mark.core_interface


@pytest.fixture
def settings() -> Settings:
    return load_settings(overrides={"embedding": {"provider": "hashing"}, "durability": "process"})


@pytest.fixture
def memory(tmp_path: Path, settings: Settings) -> Iterator[sync.MemoryEngine]:
    with sync.open_engine(tmp_path / "memory.db", settings=settings) as opened:
        yield opened


def _threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("mnemic.sync")]


@requirement("ENG-015")
def test_the_file_is_what_the_generator_writes() -> None:
    assert FACADE.read_text(encoding="utf-8") == facade(), "run `make pages`"


@requirement("ENG-015")
def test_every_public_name_of_the_engine_has_its_blocking_twin() -> None:
    def public(cls: type) -> dict[str, list[tuple[str, object, object]]]:
        return {
            name: [(p.name, p.kind, p.default) for p in inspect.signature(value).parameters.values()]
            for name, value in inspect.getmembers(cls, inspect.isfunction)
            if name[0] != "_"
        }

    assert public(sync.MemoryEngine) == public(mnemic.MemoryEngine)


def test_the_module_is_reached_through_the_package() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import mnemic; print(mnemic.sync.open_engine.__module__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "mnemic.sync"


def test_what_is_stored_is_found(memory: sync.MemoryEngine) -> None:
    entry = memory.store("The ferry to Hanstholm leaves at seven.", key="ferry")
    assert memory.retrieve("ferry") == entry
    assert [hit.key for hit in memory.search("ferry to Hanstholm")] == ["ferry"]
    assert memory.context("ferry", max_tokens=200).injected == (entry.address,)


def test_an_export_is_read_line_by_line(memory: sync.MemoryEngine) -> None:
    memory.store("A buoy is red.", key="buoy")
    lines = memory.export()
    assert '"mnemic-export"' in next(lines)
    assert any('"buoy"' in line for line in lines)


def test_an_export_that_is_left_half_way_holds_nothing_up(memory: sync.MemoryEngine) -> None:
    memory.store("A buoy is red.")
    next(memory.export())
    assert memory.count() == 1


def test_another_identity_shares_the_thread(memory: sync.MemoryEngine) -> None:
    other = memory.acting_as(volk_id="ada")
    other.store("my plan", key="plan")
    assert other.identity.volk_id == "ada"
    assert memory.retrieve("plan") is None
    assert len(_threads()) == 1


def test_an_error_arrives_as_it_was_raised(memory: sync.MemoryEngine) -> None:
    with pytest.raises(NotFoundError):
        memory.update("unknown", content="new")
    with pytest.raises(InvalidInputError):
        memory.store("   ")


def test_several_threads_use_one_engine(memory: sync.MemoryEngine) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(lambda n: memory.store(f"note {n}", key=f"n{n}").key, range(40)))
    assert len(set(keys)) == memory.count() == 40


@requirement("ENG-015")
def test_it_serves_by_start_and_stop(tmp_path: Path, settings: Settings) -> None:
    memory = sync.open_engine(tmp_path / "memory.db", settings=settings)
    memory.start()
    memory.start()
    memory.store("kept", key="k")
    memory.stop()
    memory.stop()
    with pytest.raises(NotRunningError):
        memory.store("too late")
    memory.start()
    assert memory.retrieve("k") is not None
    memory.stop()
    assert _threads() == []


def test_before_start_a_call_says_what_to_do(settings: Settings) -> None:
    with pytest.raises(NotRunningError, match="start"):
        sync.open_engine(":memory:", settings=settings).store("too early")
    assert _threads() == []


def test_a_failed_start_leaves_no_thread(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "memory.db").write_text("no database, but long enough to be taken for one" * 50)
    with pytest.raises(mnemic.MnemicError), sync.open_engine(tmp_path / "memory.db", settings=settings):
        pytest.fail("the engine opened a file that is no store")
    assert _threads() == []


@requirement("ENG-015")
async def test_a_call_inside_a_running_loop_names_the_async_method(settings: Settings) -> None:
    memory = sync.open_engine(":memory:", settings=settings)
    with pytest.raises(NotRunningError, match=r"await memory\.start"):
        memory.start()
    with pytest.raises(NotRunningError, match=r"await memory\.search"):
        memory.search("anything")
    with pytest.raises(NotRunningError, match=r"await memory\.export"):
        next(memory.export())
    assert _threads() == []


@requirement("ENG-015")
def test_a_notebook_cell_may_block_its_own_loop(
    memory: sync.MemoryEngine,
    monkeypatch: pytest.MonkeyPatch,
    _no_blocking_calls: BlockBuster,  # noqa: PT019 - switched off, since a cell may block
) -> None:
    _no_blocking_calls.deactivate()
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))

    async def cell() -> int:
        memory.store("from a cell")
        return memory.count()

    assert asyncio.run(cell()) == 1


def test_its_own_loop_is_never_blocked_not_even_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    loop = LoopThread()
    loop.open()

    async def nested() -> None:
        loop.run("nested", asyncio.sleep(0))

    with pytest.raises(NotRunningError, match="nested"):
        loop.run("outer", nested())
    loop.close()


def test_a_call_under_way_at_the_end_is_told_so() -> None:
    loop, began = LoopThread(), threading.Event()
    loop.open()

    async def endless() -> None:
        began.set()
        await asyncio.Event().wait()

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(loop.run, "endless", endless())
        began.wait()
        loop.close()
        with pytest.raises(NotRunningError, match="stopped"):
            waiting.result()


def test_an_interrupt_cancels_the_call_and_the_engine_goes_on(memory: sync.MemoryEngine) -> None:
    # The loop itself interrupts the waiting main thread, as Ctrl-C does.
    async def interrupting() -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        await asyncio.Event().wait()

    with pytest.raises(KeyboardInterrupt):
        memory._loop.run("interrupting", interrupting())  # noqa: SLF001 - no public call waits without end
    assert memory.count() == 0


_FORGETFUL = """
import sys
from mnemic import load_settings, sync
memory = sync.open_engine(sys.argv[1], settings=load_settings(overrides={"embedding": {"provider": "hashing"}}))
memory.start()
memory.store("kept", key="k")
"""


def test_who_forgets_to_stop_still_leaves_and_loses_nothing(tmp_path: Path, settings: Settings) -> None:
    file = tmp_path / "memory.db"
    done = subprocess.run(
        [sys.executable, "-c", _FORGETFUL, str(file)], capture_output=True, text=True, timeout=15, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    with sync.open_engine(file, settings=settings) as memory:
        assert memory.retrieve("k") is not None
