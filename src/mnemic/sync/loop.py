"""Where do blocking calls run? On one private event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Any, TypeVar

from mnemic.errors import NotRunningError

__all__ = ["LoopThread"]

T = TypeVar("T")
_END: Any = object()


class LoopThread:
    """An event loop in a thread, shared by every binding of one engine; any thread may call into it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending: asyncio.Event | None = None

    def open(self) -> bool:
        """Start the thread; may be repeated, also after ``close``. True if it did not run."""
        with self._lock:
            fresh = self._loop is None
            if fresh:
                ready = threading.Event()
                self._thread = threading.Thread(target=asyncio.run, args=(self._serve(ready),), name="mnemic.sync")
                self._thread.daemon = True  # whoever forgets to stop must still be able to leave
                self._thread.start()
                ready.wait()
            return fresh

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        ready.set()
        await self._ending.wait()

    def close(self) -> None:
        """Cancel what still runs and end the thread; may be repeated."""
        with self._lock:
            loop, ending, thread = self._loop, self._ending, self._thread
            self._loop = self._ending = self._thread = None
            if loop is not None and ending is not None:
                loop.call_soon_threadsafe(ending.set)
        if thread is not None:
            thread.join()

    def run(self, name: str, call: Coroutine[Any, Any, T]) -> T:
        """Wait for a call in the loop; an interrupt cancels it.

        Raises:
            NotRunningError: Called where it would block a running event loop, or the engine stopped meanwhile.
        """
        self._admit(name, call)
        future = self._submitted(call)
        try:
            return future.result()
        except CancelledError:
            raise NotRunningError("the memory engine was stopped during the call; open it again") from None
        except BaseException:
            future.cancel()
            raise

    def begin(self, name: str, call: Coroutine[Any, Any, None]) -> None:
        """Run a call that needs the thread from now on; one that fails leaves no new thread behind."""
        self._admit(name, call)
        opened = self.open()
        try:
            self.run(name, call)
        except BaseException:
            if opened:
                self.close()
            raise

    def _admit(self, name: str, call: Coroutine[Any, Any, Any]) -> None:
        try:
            self.check(name)
        except NotRunningError:
            call.close()
            raise

    def _submitted(self, call: Coroutine[Any, Any, T]) -> Future[T]:
        with self._lock:
            if self._loop is not None and self._thread is not None and self._thread.is_alive():
                return asyncio.run_coroutine_threadsafe(call, self._loop)
        # Not started, stopped, or forked: the engine itself says so, on a loop that lives for this call.
        with ThreadPoolExecutor(1, thread_name_prefix="mnemic.sync") as once:
            return once.submit(asyncio.run, call)

    def iterate(self, name: str, items: AsyncIterator[T]) -> Iterator[T]:
        """Give what an async iterator gives, one blocking step at a time."""
        self.check(name)

        async def step() -> T:
            return await anext(items, _END)

        while (item := self.run(name, step())) is not _END:
            yield item

    def check(self, name: str) -> None:
        """Refuse a call that would block a running event loop; a notebook's own loop may be blocked.

        Raises:
            NotRunningError: The message names the async method.
        """
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            return
        if running is self._loop or "ipykernel" not in sys.modules:
            raise NotRunningError(
                f"{name}() of mnemic.sync blocks and was called inside a running event loop; "
                f"use mnemic.open_engine() there, and `await memory.{name}(...)`"
            )
