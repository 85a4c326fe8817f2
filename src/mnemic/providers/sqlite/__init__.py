"""The default: everything in one SQLite file, safe for several processes."""

from mnemic.providers.sqlite.provider import SqliteProvider

__all__ = ["SqliteProvider"]
