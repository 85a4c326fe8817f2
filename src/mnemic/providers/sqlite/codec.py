"""How does an entry become a row, and a row an entry again?"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from mnemic.chain import lp
from mnemic.errors import CorruptEntryError
from mnemic.ports.matching import fold
from mnemic.types import Address, MemoryClassification, MemoryEntry, MemoryType, Origin

__all__ = ["ROW", "Row", "body_of", "checksum_of", "content_hash", "entry_of", "from_us", "row_of", "to_us"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# What other columns hold: the address, and what changes without a new version.
_ELSEWHERE = frozenset({
    "tenant_id", "volk_id", "user_id", "key", "embedding", "embedding_model", "access_count", "last_accessed_at",
    "relevance_score",
})  # fmt: skip
_DEFAULTS = {f.name: f.default for f in dataclasses.fields(MemoryEntry)}
_BODY = [f.name for f in dataclasses.fields(MemoryEntry) if f.name not in _ELSEWHERE]
_TIMES = ("created_at", "updated_at", "recorded_at", "occurred_at", "expires_at", "valid_from", "valid_to")
ROW = "t.name, e.volk, e.user, e.key, e.version, e.model, e.access_count, e.last_accessed_at, e.body, e.checksum"
"""The columns that make an entry, in the order of ``Row``."""


class Row(NamedTuple):
    """A stored version as it was read."""

    tenant: str
    volk: str
    user: str
    key: str
    version: int
    model: str | None
    access_count: int
    last_accessed_at: int
    body: Any
    checksum: bytes

    @property
    def address(self) -> Address:
        """Where it lies."""
        return Address(self.tenant, self.volk, self.user, self.key)


def to_us(moment: datetime) -> int:
    """Microseconds since 1970 of an aware moment, exact."""
    return (moment - _EPOCH) // _MICROSECOND


def from_us(microseconds: int) -> datetime:
    """The moment behind microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=microseconds)


_READERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_TIMES, from_us),
    "classification": MemoryClassification,
    "memory_type": MemoryType,
    "origin": Origin,
    "tags": tuple,
    "shared_with": tuple,
    "superseded_by": lambda parts: Address(*parts),
    "derived_from": lambda places: tuple(Address(*parts) for parts in places),
}


def content_hash(content: str) -> int:
    """63 bits by which a content that equals the query, but for case and outer white space, is found."""
    folded = content.strip().casefold().encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(folded, digest_size=8).digest()) >> 1


def body_of(entry: MemoryEntry) -> bytes:
    """The fields of an entry that differ from their defaults, as compact JSON."""
    fields: dict[str, Any] = {}
    for name in _BODY:
        value = getattr(entry, name)
        if value != _DEFAULTS[name] or type(value) is not type(_DEFAULTS[name]):
            fields[name] = value
    for name in _TIMES:
        if isinstance(fields.get(name), datetime):
            fields[name] = to_us(fields[name])
    _drop_derived(fields, entry)
    if entry.superseded_by is not None:
        fields["superseded_by"] = dataclasses.astuple(entry.superseded_by)
    if entry.derived_from:
        fields["derived_from"] = [dataclasses.astuple(address) for address in entry.derived_from]
    if "metadata" in fields and not (fields["metadata"]):
        del fields["metadata"]
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=dict).encode()


def _drop_derived(fields: dict[str, Any], entry: MemoryEntry) -> None:
    """Leave out what ``MemoryEntry`` derives to the same value."""
    derived = {
        "updated_at": entry.created_at,
        "recorded_at": entry.updated_at,
        "valid_from": entry.occurred_at or entry.created_at,
        "created_by": entry.volk_id,
    }
    for name, value in derived.items():
        if getattr(entry, name) == value:
            del fields[name]


def checksum_of(address: Address, version: int, body: bytes) -> bytes:
    """Cover the fields and the place at which they stand."""
    place = lp(address.tenant_id, address.volk_id, address.user_id, address.key, str(version))
    return hashlib.blake2b(place + body, digest_size=16).digest()


def _is_sound(row: Row) -> bool:
    try:
        return checksum_of(row.address, row.version, row.body) == row.checksum
    except (TypeError, AttributeError):  # damage can also change the type of a column
        return False


def row_of(entry: MemoryEntry, tenant: int, *, words: int) -> dict[str, Any]:
    """The columns of ``put_entry``."""
    body = body_of(entry)
    return {
        "tenant": tenant,
        "volk": entry.volk_id,
        "user": entry.user_id,
        "key": entry.key,
        "uid": entry.uid,
        "version": entry.version,
        "changed_at": to_us(entry.recorded_at),
        "session": entry.session_id,
        "task": entry.task_id,
        "project": entry.project_id,
        "portfolio": entry.portfolio_id,
        "crew": entry.crew_id,
        "class": str(entry.classification),
        "type": str(entry.memory_type),
        "category": fold(entry.category),
        "source": fold(entry.source),
        "pinned": entry.pinned,
        "superseded": entry.superseded_by is not None,
        "turn": entry.turn,
        "words": words,
        "content_hash": content_hash(entry.content),
        "model": entry.embedding_model,
        "access_count": entry.access_count,
        "last_accessed_at": to_us(entry.last_accessed_at),
        "body": body,
        "checksum": checksum_of(entry.address, entry.version, body),
        **_time_columns(entry),
    }


def _time_columns(entry: MemoryEntry) -> Mapping[str, int | None]:
    moments = {
        name: getattr(entry, name) for name in ("created_at", "occurred_at", "expires_at", "valid_from", "valid_to")
    }
    return {name: None if moment is None else to_us(moment) for name, moment in moments.items()}


def entry_of(row: Row) -> MemoryEntry:
    """Make the entry of a row again, detached from any that was made of it before.

    Raises:
        CorruptEntryError: The row differs from its checksum.
    """
    entry = _decoded(row)
    if any(isinstance(value, list | dict) for value in entry.metadata.values()):
        return dataclasses.replace(entry, metadata=copy.deepcopy(dict(entry.metadata)))
    return entry


@lru_cache(maxsize=16_384)  # a search decodes hundreds of rows, most of them a moment ago: equal bytes are sound
def _decoded(row: Row) -> MemoryEntry:
    if not _is_sound(row):
        raise CorruptEntryError(f"the entry at {row.address} differs from its checksum; run `mnemic doctor`")
    fields = json.loads(row.body)
    for name in fields.keys() & _READERS.keys():
        if fields[name] is not None:
            fields[name] = _READERS[name](fields[name])
    return MemoryEntry(
        **fields,
        tenant_id=row.tenant,
        volk_id=row.volk,
        user_id=row.user,
        key=row.key,
        embedding_model=row.model,
        access_count=row.access_count,
        last_accessed_at=from_us(row.last_accessed_at),
    )
