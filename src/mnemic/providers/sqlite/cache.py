"""Which vectors are known by a hash of their input, or by entry? Those of live entries, then a bounded table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import apsw

from mnemic.ports.models import Embedding
from mnemic.providers.sqlite.codec import to_us
from mnemic.providers.sqlite.readers import Reader
from mnemic.providers.sqlite.reads import places, tenant_of_name
from mnemic.providers.sqlite.statements import SQL
from mnemic.providers.sqlite.writes import tenant_id
from mnemic.types import Address
from mnemic.vectors import pack, unpack

__all__ = ["cached", "keep", "tokens_of"]

_ROWS = 20_000

Key = tuple[str, str, bytes]


def cached(
    reader: Reader, tenant: str, model_id: str, hashes: Sequence[bytes]
) -> tuple[dict[bytes, Embedding], set[Key]]:
    """What is known, and what of it came from the table, so that it stays longer."""
    id_ = tenant_of_name(reader, tenant)
    found: dict[bytes, Embedding] = {}
    used: set[Key] = set()
    for hash_ in dict.fromkeys(hashes):
        if row := reader.db.execute(SQL["known_vector"], (id_, model_id, hash_)).fetchone():
            entry_id, packed = row
            tokens = b"".join(part for (part,) in reader.rows(SQL["tokens"], (entry_id,)))
            found[hash_] = Embedding(unpack(packed), tokens)
        elif row := reader.db.execute(SQL["cached_vector"], (id_, model_id, hash_)).fetchone():
            used.add((tenant, model_id, hash_))
            found[hash_] = Embedding(unpack(row[0]), row[1])
    return found, used


def tokens_of(reader: Reader, tenant: str, model_id: str, addresses: Sequence[Address]) -> dict[Address, bytes]:
    """The token vectors of live entries whose vector is of that model."""
    own = [address for address in addresses if address.tenant_id == tenant]
    parts: dict[int, list[bytes]] = {}
    for place, part in reader.rows(SQL["tokens_at"], (tenant_of_name(reader, tenant), places(own), model_id)):
        parts.setdefault(place, []).append(part)
    return {own[place]: b"".join(found) for place, found in parts.items()}


def keep(
    db: apsw.Connection,
    tenant: str,
    model_id: str,
    embeddings: Mapping[bytes, Embedding],
    *,
    used: set[Key],
    now: datetime,
) -> None:
    """Remember embeddings, note which were used since the last time, and let the least recently used go."""
    at = to_us(now)
    for name, model, hash_ in used:
        db.execute(SQL["vector_used"], (at, tenant_id(db, name), model, hash_))
    id_ = tenant_id(db, tenant)
    rows = [(id_, model_id, hash_, at, pack(known.vector), known.tokens) for hash_, known in embeddings.items()]
    db.executemany(SQL["keep_vector"], rows)
    db.execute(SQL["forget_vectors"], (_ROWS,))
