"""Which vectors are known by the hash of their input? Those of live entries, then a bounded table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import apsw

from mnemic.providers.sqlite.codec import to_us
from mnemic.providers.sqlite.readers import Reader
from mnemic.providers.sqlite.reads import tenant_of_name
from mnemic.providers.sqlite.statements import SQL
from mnemic.providers.sqlite.writes import tenant_id
from mnemic.types import Vector
from mnemic.vectors import pack, unpack

__all__ = ["cached", "keep"]

_ROWS = 20_000

Key = tuple[str, str, bytes]


def cached(reader: Reader, tenant: str, model_id: str, hashes: Sequence[bytes]) -> tuple[dict[bytes, Vector], set[Key]]:
    """The known vectors, and which of them came from the table, so that they stay longer."""
    id_ = tenant_of_name(reader, tenant)
    found: dict[bytes, Vector] = {}
    used: set[Key] = set()
    for hash_ in dict.fromkeys(hashes):
        packed = reader.db.execute(SQL["known_vector"], (id_, model_id, hash_)).get
        if packed is None and (packed := reader.db.execute(SQL["cached_vector"], (id_, model_id, hash_)).get):
            used.add((tenant, model_id, hash_))
        if packed is not None:
            found[hash_] = unpack(packed)
    return found, used


def keep(
    db: apsw.Connection, tenant: str, model_id: str, vectors: Mapping[bytes, Vector], *, used: set[Key], now: datetime
) -> None:
    """Remember vectors, note which were used since the last time, and let the least recently used go."""
    at = to_us(now)
    for name, model, hash_ in used:
        db.execute(SQL["vector_used"], (at, tenant_id(db, name), model, hash_))
    id_ = tenant_id(db, tenant)
    db.executemany(SQL["keep_vector"], [(id_, model_id, hash_, at, pack(vector)) for hash_, vector in vectors.items()])
    db.execute(SQL["forget_vectors"], (_ROWS,))
