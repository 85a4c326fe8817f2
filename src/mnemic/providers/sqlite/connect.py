"""How is the file opened, and what do the driver's errors mean?"""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw

from mnemic.errors import InvalidInputError, MnemicError, StorageFullError, StoreError, UnavailableError
from mnemic.types import DurabilityMode

__all__ = ["Target", "busy_deadline_s", "connect", "meaning", "translated"]

busy_deadline_s = 10.0
_SYNCHRONOUS = {DurabilityMode.POWER: "FULL", DurabilityMode.PROCESS: "NORMAL", DurabilityMode.MEMORY: "OFF"}
_MODE = 0o600
_DAMAGED = "is damaged; run `mnemic doctor`, or restore a backup"
_MEANINGS: tuple[tuple[tuple[type[apsw.Error], ...], type[MnemicError], str], ...] = (
    ((apsw.FullError,), StorageFullError, "has no space left; free some and try again, reads go on"),
    (
        (apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError),
        StoreError,
        "is read-only; make file and folder writable for this user",
    ),
    # The statements are ours and fixed: where one does not fit, the schema or a value in the file has changed.
    ((apsw.CorruptError, apsw.SQLError, apsw.MismatchError, apsw.FormatError), StoreError, _DAMAGED),
    ((apsw.NotADBError,), StoreError, "is no SQLite file; give another path"),
    ((apsw.CantOpenError,), StoreError, "cannot be opened; check that the path is a file in a writable folder"),
    (
        (apsw.BusyError, apsw.LockedError),
        UnavailableError,
        f"was busy for more than {busy_deadline_s:g} s; try again",
    ),
)


@dataclass(frozen=True, slots=True)
class Target:
    """Which database: a path or an in-memory name, through which VFS, and how durable."""

    name: str
    volatile: bool
    durability: DurabilityMode
    vfs: str | None = None

    def create(self) -> None:
        """Make the file and its folder, so that nobody else can read them even for a moment."""
        if self.volatile:
            return
        path = Path(self.name)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Only a file that is not there yet is opened past the driver: closing a handle of one that is in use would
        # drop the locks that this process holds on it.
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, _MODE))


def connect(target: Target, *, reading: bool = False) -> apsw.Connection:
    """Open one connection with our busy handler; ``reading`` refuses every write."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
    if target.volatile:
        connection = apsw.Connection(f"file:/{target.name}?vfs=memdb", flags=flags)
    else:
        connection = apsw.Connection(target.name, flags=flags & ~apsw.SQLITE_OPEN_URI, vfs=target.vfs)
    connection.set_busy_handler(_Patience())
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA cache_size = -8000")
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute(f"PRAGMA synchronous = {_SYNCHRONOUS[target.durability]}")
    if reading:
        connection.execute("PRAGMA query_only = ON")
    return connection


class _Patience:
    """Waits for a lock: random short sleeps, so that no process is starved (reliability.md 3.12)."""

    def __init__(self) -> None:
        self._since = 0.0

    def __call__(self, attempts: int) -> bool:
        now = time.monotonic()
        if attempts == 0:
            self._since = now
        if now - self._since > busy_deadline_s:
            return False
        time.sleep(random.random() / 1000)  # noqa: S311 - spreads the waiting, protects nothing
        return True


@contextlib.contextmanager
def translated(target: Target) -> Iterator[None]:
    """Turn the errors of driver and file into ours, once, at this border."""
    try:
        yield
    except apsw.Error as error:
        raise meaning(error, target) from error
    except UnicodeEncodeError as error:
        raise InvalidInputError("a text holds a lone surrogate; remove it") from error
    except (ValueError, TypeError, OverflowError) as error:  # a value that no version of ours has written
        raise StoreError(f"{target.name!r} {_DAMAGED}") from error
    except OSError as error:
        raise StoreError(
            f"{target.name!r} cannot be opened ({error.strerror}); check the path and its folder"
        ) from error


def meaning(error: apsw.Error, target: Target) -> MnemicError:
    """Give the error of ours that says what an error of the driver means."""
    for drivers, ours, advice in _MEANINGS:
        if isinstance(error, drivers):
            return ours(f"{target.name!r} {advice}")
    return UnavailableError(f"{target.name!r} cannot be used now ({type(error).__name__}); try again")
