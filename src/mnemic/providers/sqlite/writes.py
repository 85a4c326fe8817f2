"""What does a write change? Rows, versions, words, tags and vectors of one entry, inside the writer's transaction."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

import apsw

from mnemic.errors import ConflictError, DimensionError
from mnemic.ports.checks import check_derived
from mnemic.ports.journal import Annotation, Deletion, VectorWrite
from mnemic.ports.matching import fold
from mnemic.providers.sqlite.codec import Row, entry_of, row_of, to_us
from mnemic.providers.sqlite.statements import SQL
from mnemic.types import Address, MemoryEntry, Vector
from mnemic.vectors import pack
from mnemic.words import index_text, terms

__all__ = ["annotate", "bury", "clear", "conflict", "put", "put_vector", "standing", "tenant_id", "unindex"]


_PART, _PARTS = 1_000, 256  # bytes, and ids for each entry


class _Standing(NamedTuple):
    """What is at an address now."""

    id: int
    version: int
    live: int
    model: str | None
    access_count: int
    last_accessed_at: int
    body: bytes
    checksum: bytes

    def entry(self, address: Address) -> MemoryEntry:
        place = (address.tenant_id, address.volk_id, address.user_id, address.key)
        access = (self.access_count, self.last_accessed_at)
        return entry_of(Row(*place, self.version, self.model, *access, self.body, self.checksum))


def tenant_id(db: apsw.Connection, name: str) -> int:
    """The small integer of a tenant, made where it is new."""
    found = db.execute(SQL["tenant_id"], (name,)).get
    return int(db.execute(SQL["add_tenant"], (name,)).get if found is None else found)


def standing(db: apsw.Connection, tenant: int, address: Address) -> _Standing | None:
    """What is at an address now, a tombstone included."""
    row = db.execute(SQL["at_address"], (tenant, address.volk_id, address.user_id, address.key)).fetchone()
    return None if row is None else _Standing(*row)


def put(db: apsw.Connection, entry: MemoryEntry, *, refresh: bool = True) -> bool:
    """Write a version if it is newer than what is there (PRV-005).

    Args:
        db: The writer's connection, inside a transaction.
        entry: The version.
        refresh: Whether the derived fields of an equal version with equal content are taken over.

    Returns:
        Whether anything was written.
    """
    address = entry.address
    tenant = tenant_id(db, address.tenant_id)
    old = standing(db, tenant, address)
    if old is not None and entry.version <= old.version:
        return refresh and bool(old.live) and entry.version == old.version and _refresh(db, tenant, old, entry)
    if old is not None and old.live:
        there = old.entry(address)
        _retire(db, tenant, old.id, there, valid_to=entry.valid_from)
        entry = replace(entry, created_at=there.created_at)
    _write(db, tenant, entry)
    return True


def conflict(address: Address, version: int) -> ConflictError:
    """The error for a version that is not newer than what is there."""
    return ConflictError(f"version {version} of {address.key!r} is not newer than what is stored; read it again")


def bury(db: apsw.Connection, deletion: Deletion) -> bool:
    """Leave a tombstone if its version is newer than what is there; tell whether it was."""
    address = deletion.address
    tenant = tenant_id(db, address.tenant_id)
    old = standing(db, tenant, address)
    at = to_us(deletion.at)
    if old is not None and deletion.version <= old.version:
        return False
    if old is None:
        place = (tenant, address.volk_id, address.user_id, address.key, address.uid)
        db.execute(SQL["bury_unseen"], (*place, deletion.version, at))
    else:
        if old.live:
            _retire(db, tenant, old.id, old.entry(address), valid_to=deletion.at)
        db.execute(SQL["bury"], (deletion.version, at, old.id))
    db.execute(SQL["unshare"], (tenant, address.uid))
    return True


def put_vector(db: apsw.Connection, write: VectorWrite) -> bool:
    """Keep the vector of a version; False where another version is there by now, or at what it was made behind."""
    tenant = tenant_id(db, write.address.tenant_id)
    behind = None if write.behind is None else _live(db, *write.behind)
    if write.behind is not None and behind is None:
        return False
    db.execute(SQL["job_done"], (write.job,))
    id_ = _live(db, write.address, write.version)
    if id_ is None:
        return False
    _keep_vector(db, tenant, id_, write, behind=behind)
    db.execute(SQL["set_model"], (write.model_id, id_))
    return True


def _live(db: apsw.Connection, address: Address, version: int) -> int | None:
    """The row of an entry, if that version is there."""
    old = standing(db, tenant_id(db, address.tenant_id), address)
    return old.id if old is not None and old.live and old.version == version else None


def annotate(db: apsw.Connection, note: Annotation) -> bool:
    """Change derived fields of a version; False where another version is there by now."""
    check_derived(note.fields)
    tenant = tenant_id(db, note.address.tenant_id)
    old = standing(db, tenant, note.address)
    if old is None or not old.live or old.version != note.version:
        return False
    _overwrite(db, tenant, replace(old.entry(note.address), **note.fields))
    return True


def clear(db: apsw.Connection, ids: list[int]) -> int:
    """Remove rows with everything that hangs on them; the number of live ones."""
    return sum(_drop(db, id_) for id_ in ids)


def unindex(db: apsw.Connection, tenant: int, id_: int, entry: MemoryEntry) -> None:
    """Take the words of an entry out of index and statistics."""
    words = terms(index_text(entry))
    if words:
        db.execute(SQL["unindex_words"], (id_, _indexed(tenant, words)))
    db.execute(SQL["count_words"], (-1, -len(words), tenant))


def _write(db: apsw.Connection, tenant: int, entry: MemoryEntry) -> None:
    """Write a row where none is live, and everything that hangs on it."""
    words = terms(index_text(entry))
    id_ = int(db.execute(SQL["put_entry"], row_of(entry, tenant, words=len(words))).get)
    if words:
        db.execute(SQL["index_words"], (id_, _indexed(tenant, words)))
    db.execute(SQL["count_words"], (1, len(words), tenant))
    db.executemany(SQL["add_tag"], [(tenant, fold(tag), id_) for tag in entry.tags])
    if entry.embedding is not None:
        _keep_vector(db, tenant, id_, _vector_of(entry, entry.embedding))


def _overwrite(db: apsw.Connection, tenant: int, entry: MemoryEntry) -> int:
    """Write derived fields of the version that is there; words and tags stay."""
    return int(db.execute(SQL["put_entry"], row_of(entry, tenant, words=len(terms(index_text(entry))))).get)


def _refresh(db: apsw.Connection, tenant: int, old: _Standing, new: MemoryEntry) -> bool:
    there = old.entry(new.address)
    if there.content != new.content:
        return False
    derived: dict[str, Any] = {
        name: getattr(new, name) for name in ("summary", "quality", "importance", "access_count", "last_accessed_at")
    }
    derived["valid_to"] = new.valid_to or there.valid_to
    derived["superseded_by"] = new.superseded_by or there.superseded_by
    if new.embedding is not None:
        derived["embedding_model"] = new.embedding_model
    id_ = _overwrite(db, tenant, replace(there, **derived))
    if new.embedding is not None:
        _keep_vector(db, tenant, id_, _vector_of(new, new.embedding))
    return True


def _retire(db: apsw.Connection, tenant: int, id_: int, entry: MemoryEntry, *, valid_to: datetime) -> None:
    """Move the version that is there to the archive."""
    db.execute(SQL["archive"], (to_us(valid_to), id_))
    unindex(db, tenant, id_, entry)
    db.execute(SQL["drop_tags"], (id_,))
    _drop_vectors(db, id_)


def _drop_vectors(db: apsw.Connection, id_: int) -> None:
    """Drop every vector that saw an entry: its own, and those that were made behind it."""
    behind = [follower for (follower,) in db.execute(SQL["made_behind"], (id_,))]
    for seeing in (id_, *behind):
        for name in ("uncache_vector", "drop_tokens", "drop_vector"):
            db.execute(SQL[name], (seeing,))
    db.executemany(SQL["set_model"], [(None, follower) for follower in behind])


def _drop(db: apsw.Connection, id_: int) -> int:
    tenant, uid, *columns = next(db.execute(SQL["to_drop"], (id_,)))
    live = columns[-1] is not None
    if live:
        unindex(db, tenant, id_, entry_of(Row(*columns)))
    _drop_vectors(db, id_)
    for name in ("drop_tags", "drop_versions", "drop_entry"):
        db.execute(SQL[name], (id_,))
    db.execute(SQL["drop_edges"], (tenant, uid))
    return int(live)


def _vector_of(entry: MemoryEntry, vector: Vector) -> VectorWrite:
    return VectorWrite(
        address=entry.address,
        version=entry.version,
        model_id=entry.embedding_model or "",
        input_hash=b"",
        vector=vector,
    )


def _keep_vector(db: apsw.Connection, tenant: int, id_: int, write: VectorWrite, *, behind: int | None = None) -> None:
    packed = pack(write.vector)
    size = db.execute(SQL["vector_size"], (tenant, write.model_id)).get
    if size is not None and size * 2 != len(packed):
        raise DimensionError(
            f"embedding has {len(packed) // 2} numbers, the vectors of model {write.model_id!r} have {size}; "
            "embed with the model of the store, or name another embedding_model"
        )
    values = (id_, tenant, write.version, write.model_id, write.input_hash or None, behind, packed)
    db.execute(SQL["put_vector"], values)
    db.execute(SQL["drop_tokens"], (id_,))
    starts = range(0, len(write.tokens), _PART)
    parts = [(id_ * _PARTS + place, write.tokens[start : start + _PART]) for place, start in enumerate(starts)]
    db.executemany(SQL["put_tokens"], parts)


def _indexed(tenant: int, words: list[str]) -> str:
    return " ".join(f"{tenant}:{word}" for word in dict.fromkeys(words))
