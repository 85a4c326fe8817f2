"""When is the file open, and on which thread does what run?"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import apsw

from mnemic.errors import InvalidInputError, MnemicError, NotRunningError
from mnemic.ports.component import Clock
from mnemic.providers.sqlite.connect import Target, connect, translated
from mnemic.providers.sqlite.nearest import Nearest
from mnemic.providers.sqlite.readers import READERS, Reader, Readers
from mnemic.providers.sqlite.schema import prepare
from mnemic.providers.sqlite.writer import Work, Writer
from mnemic.types import DurabilityMode

__all__ = ["Store"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Open:
    """Everything that lives while the file is open."""

    readers: Readers
    writer: Writer
    nearest: Nearest


class Store:
    """Opens the file at the first call and runs work on it; a failed opening is tried again by the next call."""

    def __init__(
        self,
        path: str | Path,
        *,
        durability: DurabilityMode,
        clock: Clock | None,
        exact_limit: int,
        max_pending: int,
        vfs: str | None,
    ) -> None:
        if not str(path).strip():
            raise InvalidInputError("path is blank; give a file, or ':memory:'")
        volatile = str(path) == ":memory:"
        self.durability = DurabilityMode.MEMORY if volatile else durability
        name = f"mnemic-{uuid.uuid4().hex}" if volatile else str(Path(path))
        self._target = Target(name, volatile, self.durability, vfs)
        self._clock, self._exact_limit, self._max_pending = clock, exact_limit, max_pending
        self._cache_used: set[tuple[str, str, bytes]] = set()
        self._pid = os.getpid()
        self._opening = threading.Lock()
        self._state: _Open | None = None
        self._closed = False
        self._threads = ThreadPoolExecutor(READERS, "mnemic-reader")

    async def open(self) -> None:
        """Open the file, creating it if need be; also after ``close``. May be repeated."""
        self._check_process()
        if self._closed:
            self._threads = ThreadPoolExecutor(READERS, "mnemic-reader")
            self._closed = False
        await self._on_thread(self._opened)

    async def close(self) -> None:
        """Write what is queued and let go of the file; may be repeated."""
        if self._closed or self._pid != os.getpid():
            return
        self._closed = True
        await asyncio.to_thread(self._shut)

    async def ping(self) -> bool:
        """Whether the file answers."""
        try:
            return bool(await self._read(lambda reader: reader.rows("SELECT 1")))
        except MnemicError:
            return False

    def _now(self) -> datetime:
        return self._clock.now() if self._clock else datetime.now(UTC)

    async def _read(self, question: Callable[[Reader], T]) -> T:
        """Answer a question from one state of the file, on a reader's thread."""
        self._check_running()
        return await self._on_thread(lambda: self._ask(question))

    async def _write(self, work: Work) -> Any:
        """Run work on the writer's thread; returns when it is durable, a cancelled caller does not cancel it."""
        return await asyncio.wrap_future((await self._submit([work]))[0])

    async def _submit(self, works: Sequence[Work]) -> list[Future[Any]]:
        self._check_running()
        if self._state is None:
            await self._on_thread(self._opened)
        return self._opened().writer.submit_many(works)

    def _ask(self, question: Callable[[Reader], T]) -> T:
        with self._opened().readers.one() as reader, reader.snapshot():
            return question(reader)

    async def _on_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    def _nearest(self) -> Nearest:
        return self._opened().nearest

    def _opened(self) -> _Open:
        if self._state is None:
            with self._opening:
                if self._state is None:
                    self._state = self._make()
        return self._state

    def _make(self) -> _Open:
        with translated(self._target):
            self._target.create()
            connection = connect(self._target)
            try:
                prepare(connection, self._target)
            except BaseException:
                with contextlib.suppress(apsw.Error):  # what went wrong before is what matters
                    connection.close(force=True)
                raise
        writer = Writer(self._target, connection, self._max_pending)
        return _Open(Readers(self._target), writer, Nearest(self._exact_limit))

    def _shut(self) -> None:
        self._threads.shutdown()
        state, self._state = self._state, None
        if state is not None:
            state.writer.close()
            state.readers.close()

    def _check_running(self) -> None:
        self._check_process()
        if self._closed:
            raise NotRunningError(f"{self._target.name!r} is closed; open it again")

    def _check_process(self) -> None:
        # Neither a connection nor a thread survives a fork; using the parent's would corrupt the file.
        if self._pid != os.getpid():
            raise NotRunningError(f"{self._target.name!r} was opened before a fork; make a new provider in the child")
