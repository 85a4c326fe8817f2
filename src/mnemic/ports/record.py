"""How does an entry look as JSON? One form for stored bodies, exports and the wire."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from mnemic.types import Address, MemoryClassification, MemoryEntry, MemoryType, Origin

__all__ = ["entry_from_record", "entry_to_record"]

_LEFT_OUT = frozenset({"embedding", "relevance_score"})
_NAMES = tuple(f.name for f in dataclasses.fields(MemoryEntry) if f.name not in _LEFT_OUT)
_TIMES = frozenset(
    {
        "created_at",
        "updated_at",
        "recorded_at",
        "last_accessed_at",
        "occurred_at",
        "expires_at",
        "valid_from",
        "valid_to",
    }
)
_KINDS: Mapping[str, type[StrEnum]] = {
    "classification": MemoryClassification,
    "memory_type": MemoryType,
    "origin": Origin,
}


def entry_to_record(entry: MemoryEntry) -> dict[str, Any]:
    """Every field of an entry but its vector, as JSON values: times in ISO 8601, addresses as lists of four."""
    return {name: _plain(getattr(entry, name)) for name in _NAMES}


def entry_from_record(record: Mapping[str, Any]) -> MemoryEntry:
    """Read an entry back; absent fields take their defaults.

    Raises:
        KeyError, TypeError, ValueError: A field is missing, unknown or malformed.
    """
    return MemoryEntry(**{name: _field(name, value) for name, value in record.items()})


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Address):
        return list(dataclasses.astuple(value))
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return dict(value)
    return value


def _field(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in _TIMES:
        return datetime.fromisoformat(value)
    if name in _KINDS:
        return _KINDS[name](value)
    if name == "superseded_by":
        return Address(*value)
    if name == "derived_from":
        return tuple(Address(*parts) for parts in value)
    return tuple(value) if name in {"tags", "shared_with"} else value
