"""Which entries are meant: a filter as data, alike for every provider (section 10.2 of the contract)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from mnemic.ports.policy import Readable
from mnemic.types import MemoryClassification, MemoryType


class Operator(StrEnum):
    """Comparisons of PRV-012."""

    EQ = "$eq"
    NE = "$ne"
    GT = "$gt"
    GTE = "$gte"
    LT = "$lt"
    LTE = "$lte"
    IN = "$in"
    NIN = "$nin"
    EXISTS = "$exists"


@dataclass(frozen=True, slots=True)
class Condition:
    """One property compared with one value; ``a.b`` addresses a nested name of the metadata."""

    name: str
    operator: Operator
    value: Any


@dataclass(frozen=True, slots=True)
class Junction:
    """Parts that must all hold (``AND``), of which one must hold (``OR``), or none may (``NOT``)."""

    kind: str
    parts: tuple[Condition | Junction, ...]


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """What an entry must be besides lying in the scope; all parts must hold (PRV-010).

    Text compares by NFC and casefold equality, numbers by value, booleans are not numbers, null matches an explicit
    null only, a list property matches if one member does, a missing property never matches (PRV-011).
    """

    keys: tuple[str, ...] | None = None
    source: str | None = None
    tags_all: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=_nothing, hash=False)
    memory_types: tuple[MemoryType, ...] = ()
    categories: tuple[str, ...] = ()
    pinned: bool | None = None
    classifications: tuple[MemoryClassification, ...] = ()
    readable_by: Readable | None = None
    embedding_model: str | None = None
    include_superseded: bool = False
    as_of: datetime | None = None
    now: datetime | None = None
    """The moment by which entries expire; None means the provider's clock."""
    expr: Condition | Junction | None = None
