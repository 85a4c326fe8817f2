"""Which entries are meant: a filter as data, alike for every provider (section 10.2 of the contract)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from mnemic.errors import InvalidInputError
from mnemic.ports.policy import Readable
from mnemic.types import MemoryClassification, MemoryType
from mnemic.types.entry import nothing


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
    metadata: Mapping[str, Any] = field(default_factory=nothing, hash=False)
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


_TEXT_NAMES = frozenset({"source", "tags", "type", "category", "key"})
_ALIASES = {"tag": "tags", "tags_any": "tags"}
_OPERATORS = {operator.value: operator for operator in Operator}
_ORDERED = frozenset({Operator.GT, Operator.GTE, Operator.LT, Operator.LTE})
_SEVERAL = frozenset({Operator.IN, Operator.NIN})
_DEPTH_LIMIT = 8
_SIZE_LIMIT = 256
_NAME_LIMIT = 256


def parse_where(where: Mapping[str, Any] | MemoryFilter | None) -> MemoryFilter:
    """Read the dictionary form of a filter; only None means unfiltered.

    Args:
        where: None; a ``MemoryFilter``, which is checked; or a mapping of names to a value or to ``{operator: value}``.
            ``key``, ``type``, ``category`` and ``source`` take one text, or several of which one must match; ``tag``
            and ``tags`` one, or several that must all match; ``tags_any`` several of which one must. ``AND`` and
            ``OR`` take a list of mappings, ``NOT`` one mapping. Any other name is metadata. All parts must hold.

    Raises:
        InvalidInputError: The shape, a name, an operator or a value is not one of these; the message names it.
    """
    if where is None:
        return MemoryFilter()
    if isinstance(where, MemoryFilter):
        _check_filter(where)
        return where
    expr = _parse(where, depth=1)
    _check_tree(expr, depth=1)
    return MemoryFilter(expr=expr)


def _parse(where: object, *, depth: int) -> Condition | Junction:
    if not isinstance(where, Mapping) or not where:
        raise InvalidInputError(f"where is {_shape(where)}; give None, or a mapping with at least one name")
    if depth > _DEPTH_LIMIT:
        raise InvalidInputError(f"where is nested deeper than {_DEPTH_LIMIT} levels; flatten it")
    return _all([_parse_member(name, value, depth) for name, value in where.items()])


def _all(parts: list[Condition | Junction]) -> Condition | Junction:
    return parts[0] if len(parts) == 1 else Junction("AND", tuple(parts))


def _parse_member(name: object, value: object, depth: int) -> Condition | Junction:
    name = _check_name(name)
    if name in {"AND", "OR"}:
        if not isinstance(value, list | tuple) or not value:
            raise InvalidInputError(f"where.{name} is {_shape(value)}; give a list of at least one mapping")
        return Junction(name, tuple(_parse(part, depth=depth + 1) for part in value))
    if name == "NOT":
        return Junction(name, (_parse(value, depth=depth + 1),))
    if not isinstance(value, Mapping):
        return _parse_plain(name, value)
    if not value or (unknown := [operator for operator in value if operator not in _OPERATORS]):
        found = repr(unknown[0]) if value else "none"
        raise InvalidInputError(f"where.{name} has the operator {found}; give one of {', '.join(_OPERATORS)}")
    return _all([_condition(name, _OPERATORS[operator], operand) for operator, operand in value.items()])


def _parse_plain(name: str, value: object) -> Condition | Junction:
    if _ALIASES.get(name, name) not in _TEXT_NAMES:
        if isinstance(value, list | tuple):
            raise InvalidInputError(f"where.{name} is a list; give {{'$in': [...]}} for one of several")
        return _condition(name, Operator.EQ, value)
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple) or not texts or not all(isinstance(text, str) for text in texts):
        raise InvalidInputError(f"where.{name} is {_shape(value)}; give text, or a list of at least one text")
    if name in {"tag", "tags"}:
        return _all([_condition(name, Operator.EQ, text) for text in texts])
    return _condition(name, Operator.IN, texts)


def _condition(name: str, operator: Operator, value: object) -> Condition:
    if isinstance(value, list | set | frozenset):
        value = tuple(value)
    if name == "type" and operator is not Operator.EXISTS:
        value = tuple(_memory_type(text) for text in value) if isinstance(value, tuple) else _memory_type(value)
    return Condition(_ALIASES.get(name, name), operator, value)


def _memory_type(text: object) -> MemoryType:
    try:
        return MemoryType(str(text))
    except ValueError:
        known = ", ".join(MemoryType)
        raise InvalidInputError(f"where.type has a value of type {type(text).__name__}; give one of {known}") from None


def _check_filter(where: MemoryFilter) -> None:
    for name in ("keys", "tags_all", "tags_any", "memory_types", "categories", "classifications"):
        value = getattr(where, name)
        if value is not None and not (isinstance(value, tuple) and all(isinstance(text, str) for text in value)):
            raise InvalidInputError(f"where.{name} is {_shape(value)}; give a tuple")
        for text in value or ():
            _check_text(name, text)
    if not isinstance(where.metadata, Mapping):
        raise InvalidInputError(f"where.metadata is {_shape(where.metadata)}; give a mapping of names to values")
    for name, value in where.metadata.items():
        _check_condition(Condition(name, Operator.EQ, value))
    if where.expr is not None:
        _check_tree(where.expr, depth=1)


def _check_tree(part: Condition | Junction, *, depth: int) -> int:
    """Check every part and return the number of conditions."""
    if isinstance(part, Condition):
        _check_condition(part)
        return 1
    if depth > _DEPTH_LIMIT or part.kind not in {"AND", "OR", "NOT"} or not part.parts:
        raise InvalidInputError(
            f"where has {part.kind!r} of {len(part.parts)} parts at level {depth}; "
            f"give AND, OR or NOT of at least one part, at most {_DEPTH_LIMIT} levels deep"
        )
    size = sum(_check_tree(inner, depth=depth + 1) for inner in part.parts)
    if size > _SIZE_LIMIT:
        raise InvalidInputError(f"where has {size} conditions; give at most {_SIZE_LIMIT}")
    return size


def _check_condition(condition: Condition) -> None:
    name, operator, value = condition.name, condition.operator, condition.value
    _check_name(name)
    if operator is Operator.EXISTS:
        fits = isinstance(value, bool)
    elif operator in _SEVERAL:
        fits = isinstance(value, tuple) and all(_is_scalar(member) for member in value)
    elif operator in _ORDERED:
        fits = _is_scalar(value) and value is not None and not isinstance(value, bool)
    else:
        fits = _is_scalar(value)
    if not fits:
        raise InvalidInputError(
            f"where.{name} compares {operator} with {_shape(value)}; give true or false to $exists, a list to $in and "
            "$nin, text or a finite number to $gt, $gte, $lt and $lte, else text, a finite number, true, false or null"
        )
    for member in value if isinstance(value, tuple) else (value,):
        if isinstance(member, str):
            _check_text(name, member)


def _check_name(name: object) -> str:
    if not isinstance(name, str) or not 1 <= len(name) <= _NAME_LIMIT or name.startswith("$"):
        raise InvalidInputError(
            f"where has a name that is {_shape(name)}; give 1 to {_NAME_LIMIT} characters that do not begin with '$'"
        )
    _check_text("a name", name)
    return name


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def _check_text(name: str, text: str) -> None:
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise InvalidInputError(f"where.{name} holds NUL or a lone surrogate; remove it")


def _shape(value: object) -> str:
    """Say what a value is without showing it."""
    size = f" of {len(value)}" if isinstance(value, str | bytes | list | tuple | Mapping) else ""
    return f"{type(value).__name__}{size}"
