"""Who reads? A few threads, each with a connection that cannot write."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import apsw

from mnemic.providers.sqlite.codec import Row, entry_of
from mnemic.providers.sqlite.connect import Target, connect, translated
from mnemic.types import MemoryEntry

__all__ = ["READERS", "Reader", "Readers"]

READERS = 4
"""At most so many reads run at once."""


class Reader:
    """One connection, with the predicate of the statement that runs on it."""

    def __init__(self, db: apsw.Connection) -> None:
        self.db = db
        self.predicate: Callable[[MemoryEntry], bool] = _always

    @classmethod
    def opened(cls, target: Target) -> Reader:
        """Open a connection of its own."""
        reader = cls(connect(target, reading=True))
        reader.db.create_scalar_function("fits", reader._fits, 10, deterministic=False)
        return reader

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Every row of a statement."""
        return self.db.execute(sql, tuple(values)).fetchall()

    @contextmanager
    def filtered(self, predicate: Callable[[MemoryEntry], bool] | None) -> Iterator[None]:
        """Let ``fits(row)`` in SQL ask this predicate."""
        self.predicate = predicate or _always
        try:
            yield
        finally:
            self.predicate = _always

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let several statements see one state of the file."""
        self.db.execute("BEGIN")
        try:
            yield
        finally:
            if self.db.in_transaction:
                self.db.execute("COMMIT")

    def _fits(self, *columns: Any) -> bool:
        return self.predicate(entry_of(Row(*columns)))


class Readers:
    """Lends idle readers and makes new ones as needed."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._idle: deque[Reader] = deque()
        self._all: list[Reader] = []
        self._making = threading.Lock()

    @contextmanager
    def one(self) -> Iterator[Reader]:
        """Lend a reader to this thread."""
        with translated(self._target):
            reader = self._take()
            try:
                yield reader
            finally:
                self._idle.append(reader)

    def close(self) -> None:
        """Close every reader; none may be lent."""
        for reader in self._all:
            reader.db.close()

    def _take(self) -> Reader:
        try:
            return self._idle.pop()
        except IndexError:
            with self._making:
                reader = Reader.opened(self._target)
                self._all.append(reader)
                return reader


def _always(_entry: MemoryEntry) -> bool:
    return True
