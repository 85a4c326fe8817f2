"""What tables are there, and how does an older file become a current one?"""

from __future__ import annotations

import time
from collections.abc import Callable

import apsw

from mnemic.errors import StoreError
from mnemic.providers.sqlite.connect import Target
from mnemic.providers.sqlite.statements import SQL

__all__ = ["MIGRATIONS", "prepare"]

_APPLICATION_ID = 0x6D6E656D
_ATTEMPTS = 200


def _create(db: apsw.Connection) -> None:
    db.execute(SQL["create_tables"])
    # Terms come ready-made and joined by blanks: every other printable ASCII character belongs to a term.
    marks = "".join(chr(code) for code in range(33, 127) if not chr(code).isalnum())
    quoted = marks.replace("'", "''").replace('"', '""').replace("'", "''")
    db.execute(SQL["create_word_index"].replace(":marks", quoted))
    db.execute("INSERT INTO word_index(word_index, rank) VALUES ('secure-delete', 1)")
    db.execute("ANALYZE sqlite_schema")
    db.execute(SQL["expect_sizes"])
    db.execute("ANALYZE sqlite_schema")


MIGRATIONS: list[Callable[[apsw.Connection], None]] = [_create]
"""Each takes a file from the version that is its place in the list to the next; a released one never changes."""


def prepare(db: apsw.Connection, target: Target) -> None:
    """Refuse what is not ours or newer than this version, then bring the file up to date.

    Raises:
        StoreError: The file belongs to another program or to a newer mnemic; nothing was written.
    """
    _refuse_foreign(db, target)
    if not target.volatile:
        if db.readonly("main"):
            raise StoreError(f"{target.name!r} is read-only; make file and folder writable for this user")
        _use_wal(db)
    if _version(db) == len(MIGRATIONS):
        return
    db.execute("BEGIN IMMEDIATE")
    with db:  # nests as a savepoint, so that a failing step leaves nothing
        _refuse_foreign(db, target)
        for number in range(_version(db), len(MIGRATIONS)):
            MIGRATIONS[number](db)
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    db.execute("COMMIT")


def _version(db: apsw.Connection) -> int:
    return int(db.pragma("user_version"))


def _refuse_foreign(db: apsw.Connection, target: Target) -> None:
    owner, version = int(db.pragma("application_id")), _version(db)
    has_tables = db.execute("SELECT EXISTS (SELECT 1 FROM sqlite_schema)").get
    if owner != _APPLICATION_ID and (owner or version or has_tables):
        raise StoreError(f"{target.name!r} is a database of another program; give another path")
    if version > len(MIGRATIONS):
        raise StoreError(
            f"{target.name!r} has schema {version}, this mnemic knows up to {len(MIGRATIONS)}; install a newer mnemic"
        )


def _use_wal(db: apsw.Connection) -> None:
    """Switch the journal; SQLite does not ask the busy handler here."""
    for attempt in range(_ATTEMPTS):
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except apsw.BusyError:
            if attempt == _ATTEMPTS - 1:
                raise
            time.sleep(0.005)
        else:
            return
