"""Where does a model run, so that a query never waits for a batch of writes?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from mnemic.errors import NotRunningError

__all__ = ["Lanes"]

_T = TypeVar("_T")


class Lanes:
    """Two threads beside the event loop: one for writes, one that stays free for queries."""

    def __init__(self, name: str) -> None:
        self._writes = ThreadPoolExecutor(1, thread_name_prefix=f"{name}-writes")
        self._queries = ThreadPoolExecutor(1, thread_name_prefix=f"{name}-queries")

    async def run(self, job: Callable[[], _T], *, urgent: bool) -> _T:
        """Run a job in its turn.

        Raises:
            NotRunningError: The lanes were closed.
        """
        try:
            waiting = (self._queries if urgent else self._writes).submit(job)
        except RuntimeError as error:
            raise NotRunningError("the embedder was closed while it worked; open it again") from error
        return await asyncio.wrap_future(waiting)

    def close(self) -> None:
        """Finish what was begun and end the threads."""
        self._writes.shutdown()
        self._queries.shutdown()
