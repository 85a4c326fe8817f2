"""Who writes? One thread: it takes what is queued, commits once, and then acknowledges all (reliability.md 3.2)."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import apsw

from mnemic.errors import InvalidInputError, MnemicError, NotRunningError, OverloadedError, StoreError
from mnemic.faults import crashpoint
from mnemic.providers.sqlite.connect import Target, connect, meaning

__all__ = ["Work", "Writer"]

_BATCH = 32
_CHECKPOINT_PAGES = 1_000
_TRUNCATE_PAGES = 8_000
_STOP = object()

Work = Callable[[apsw.Connection], Any]
"""What one unit does inside the transaction; what it raises undoes it alone."""


@dataclass(slots=True)
class _Order:
    work: Work
    done: Future[Any] = field(default_factory=Future)
    value: Any = None
    error: BaseException | None = None


class Writer:
    """Runs units of work in few transactions."""

    def __init__(self, target: Target, connection: apsw.Connection, max_pending: int) -> None:
        self._target, self._db, self._max_pending = target, connection, max_pending
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._checkpoints = None if target.volatile else _Checkpoints(target)
        connection.set_wal_hook(self._note_pages)
        self._thread = threading.Thread(target=self._run, name="mnemic-writer", daemon=True)
        self._thread.start()
        self._closed = False

    def submit(self, work: Work) -> Future[Any]:
        """Queue a unit; its future has the result when it is durable, and cannot be cancelled."""
        return self.submit_many([work])[0]

    def submit_many(self, works: Sequence[Work]) -> list[Future[Any]]:
        """Queue units that stand each alone.

        Raises:
            OverloadedError: Too many wait already; none of these was taken.
        """
        if self._closed:
            raise NotRunningError(f"{self._target.name!r} is closed; open it again")
        if self._queue.qsize() + len(works) > self._max_pending:
            raise OverloadedError(f"more than {self._max_pending} writes wait for {self._target.name!r}; try again")
        orders = [_Order(work) for work in works]
        for order in orders:
            order.done.set_running_or_notify_cancel()
            self._queue.put(order)
        return [order.done for order in orders]

    def close(self) -> None:
        """Write what is queued, then end the thread and its connection."""
        if self._closed:
            return
        self._closed = True
        self._queue.put(_STOP)
        self._thread.join()
        if self._checkpoints:
            self._checkpoints.close()
        self._db.close()

    def _run(self) -> None:
        stopping = False
        while not stopping:
            batch = [self._queue.get()]
            with contextlib.suppress(queue.Empty):
                while len(batch) < _BATCH:
                    batch.append(self._queue.get_nowait())
            stopping = _STOP in batch
            orders = [order for order in batch if order is not _STOP]
            if orders:
                self._commit(orders)

    def _commit(self, orders: list[_Order]) -> None:
        failure: BaseException | None = None
        try:
            self._db.execute("BEGIN IMMEDIATE")
            for order in orders:
                self._attempt(order)
            crashpoint("sqlite.before_commit")
            self._db.execute("COMMIT")
            crashpoint("sqlite.after_commit")
        except apsw.Error as error:
            failure = meaning(error, self._target)
            failure.__cause__ = error
        except BaseException as error:  # noqa: BLE001 - the thread outlives whatever one batch raises
            failure = error
        with contextlib.suppress(apsw.Error):  # a failed file may refuse this too; the next BEGIN will say so
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        for order in orders:
            if reason := order.error or failure:
                order.done.set_exception(reason)
            else:
                order.done.set_result(order.value)

    def _attempt(self, order: _Order) -> None:
        """Run one unit in a savepoint, so that a bad one fails alone."""
        self._db.execute("SAVEPOINT unit")
        try:
            order.value = order.work(self._db)
            crashpoint("sqlite.unit_applied")
        except (MnemicError, apsw.ConstraintError) as error:
            self._db.execute("ROLLBACK TO unit")
            order.error = meaning(error, self._target) if isinstance(error, apsw.Error) else error
        except (ValueError, TypeError) as error:
            self._db.execute("ROLLBACK TO unit")
            order.error = _refusal(error)
        self._db.execute("RELEASE unit")

    def _note_pages(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        if self._checkpoints:
            self._checkpoints.note(pages)
        return apsw.SQLITE_OK


def _refusal(error: ValueError | TypeError) -> MnemicError:
    """Say whether the file or the caller brought a value that is none."""
    refusal: MnemicError = InvalidInputError(
        f"a value cannot be kept ({type(error).__name__}); give plain text and JSON"
    )
    if isinstance(error, UnicodeDecodeError):
        refusal = StoreError("a text in the file is damaged; run `mnemic doctor`, or restore a backup")
    refusal.__cause__ = error
    return refusal


class _Checkpoints:
    """Moves the WAL into the file on a connection of its own, outside the path of a commit."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._pages: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._noted = 0
        self._thread = threading.Thread(target=self._run, name="mnemic-checkpoint", daemon=True)
        self._thread.start()

    def note(self, pages: int) -> None:
        """Ask for a checkpoint once the WAL has grown by enough pages."""
        if pages < self._noted:
            self._noted = 0
        if pages - self._noted >= _CHECKPOINT_PAGES:
            self._noted = pages
            self._pages.put(pages)

    def close(self) -> None:
        self._pages.put(-1)
        self._thread.join()

    def _run(self) -> None:
        while (pages := self._pages.get()) >= 0:
            self._checkpoint(
                apsw.SQLITE_CHECKPOINT_TRUNCATE if pages > _TRUNCATE_PAGES else apsw.SQLITE_CHECKPOINT_PASSIVE
            )
        self._checkpoint(apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def _checkpoint(self, mode: int) -> None:
        # One that fails, or cannot open the file, costs nothing but size: the next one does its work.
        with contextlib.suppress(apsw.Error, MnemicError):
            db = connect(self._target)
            try:
                db.wal_checkpoint(mode=mode)
            finally:
                db.close()
