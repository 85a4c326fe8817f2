"""Which input is refused? Limits reject, they never cut (FR-017); each error names field, limit and next step."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence, Set
from datetime import date, datetime
from enum import Enum
from types import MappingProxyType
from typing import Any
from uuid import UUID

from mnemic.config import LimitSettings
from mnemic.errors import InvalidInputError, LimitError
from mnemic.types import utc

__all__ = ["check_content", "check_key", "check_metadata", "check_query", "check_share", "check_tags", "check_text"]

_INT_RANGE = 1 << 63


def check_text(name: str, text: object) -> str:
    """Refuse what is not text, or text that some store cannot keep: NUL and lone surrogates (FR-017.1)."""
    if not isinstance(text, str):
        raise InvalidInputError(f"{name} is {type(text).__name__}; give text")
    if "\x00" in text:
        raise InvalidInputError(f"{name} holds a NUL character at place {text.index(chr(0))}; remove it")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidInputError(f"{name} holds a lone surrogate at place {error.start}; remove it") from None
    return text


def check_content(content: str, limits: LimitSettings) -> str:
    """Refuse blank and oversized content."""
    check_text("content", content)
    if not content.strip():
        raise InvalidInputError("content is blank; give text with at least one character that is not white space")
    _check_size("content", len(content.encode()), limits.content_bytes, "bytes")
    return content


def check_query(query: str, limits: LimitSettings) -> str:
    """Refuse a blank or oversized query."""
    check_text("query", query)
    if not query.strip():
        raise InvalidInputError("query is blank; give words to search for, or list with retrieve_by")
    _check_size("query", len(query.encode()), limits.query_bytes, "bytes")
    return query


def check_key(key: str, limits: LimitSettings) -> str:
    """Refuse a key that is blank or too long; what is kept is the key as it was given."""
    check_text("key", key)
    if not key.strip():
        raise InvalidInputError(f"key is blank; give 1 to {limits.key_chars} characters, or None for a new one")
    _check_size("key", len(key), limits.key_chars, "characters")
    _check_size("key", len(key.encode()), limits.key_bytes, "bytes")
    return key


def check_tags(tags: Sequence[str] | None, limits: LimitSettings) -> tuple[str, ...]:
    """Refuse bad tags; give them without repeats, order kept."""
    if tags is None:
        return ()
    if isinstance(tags, str) or not isinstance(tags, Sequence | Set):
        raise InvalidInputError(f"tags is {type(tags).__name__}; give a list of texts")
    kept = tuple(dict.fromkeys(check_text(f"tags[{place}]", tag) for place, tag in enumerate(tags)))
    _check_size("tags", len(kept), limits.tags, "tags")
    for place, tag in enumerate(kept):
        if not tag.strip():
            raise InvalidInputError(f"tags[{place}] is blank; leave it out")
        _check_size(f"tags[{place}]", len(tag), limits.tag_chars, "characters")
    return kept


def check_share(name: str, value: object) -> float:
    """Refuse a number outside of [0, 1]."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise InvalidInputError(f"{name} is {value!r}; give a number from 0 to 1")
    return float(value)


def check_metadata(metadata: object, limits: LimitSettings) -> Mapping[str, Any]:
    """Refuse metadata that is no JSON, too deep or too large; give a detached, read-only copy.

    Kept as they are: None, booleans, integers within 64 bits, finite floats, text, lists, mappings with text keys.
    Turned into text: dates and times (ISO 8601, UTC), UUIDs, text enums; into a list: tuples.
    """
    if metadata is None:
        return MappingProxyType({})
    if not isinstance(metadata, Mapping):
        raise InvalidInputError(f"metadata is {type(metadata).__name__}; give a mapping of names to JSON values")
    members = [0]
    plain = _plain_mapping("metadata", metadata, limits, 1, members)
    _check_size("metadata", members[0], limits.metadata_members, "members")
    encoded = json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    _check_size("metadata", len(encoded.encode()), limits.metadata_bytes, "bytes")
    return MappingProxyType(plain)


def _plain_mapping(
    path: str, value: Mapping[Any, Any], limits: LimitSettings, depth: int, members: list[int]
) -> dict[str, Any]:
    for name in value:
        check_text(f"{path}: a name", name)
    return {name: _plain(f"{path}.{name}", item, limits, depth, members) for name, item in value.items()}


def _plain(path: str, value: Any, limits: LimitSettings, depth: int, members: list[int]) -> Any:
    members[0] += 1
    if depth > limits.metadata_depth or members[0] > limits.metadata_members:
        what = f"{limits.metadata_depth} levels or {limits.metadata_members} members"
        raise LimitError(f"metadata has more than {what}; flatten it, or keep it outside of memory")
    if isinstance(value, Mapping):
        return _plain_mapping(path, value, limits, depth + 1, members)
    if isinstance(value, list | tuple):
        return [_plain(f"{path}[{place}]", item, limits, depth + 1, members) for place, item in enumerate(value)]
    return _scalar(path, value)


def _scalar(path: str, value: Any) -> Any:
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _number(path, value)
    if isinstance(value, datetime):
        return utc(value).isoformat()
    if isinstance(value, date | UUID):
        return str(value)
    if isinstance(value, str):
        return check_text(path, value)
    raise InvalidInputError(f"{path} is {type(value).__name__}; give None, a boolean, number, text, list or mapping")


def _number(path: str, value: int | float) -> int | float:
    if isinstance(value, int):
        if not -_INT_RANGE <= value < _INT_RANGE:
            raise InvalidInputError(f"{path} has {value.bit_length()} bits; give an integer within 64 bits, or text")
    elif not math.isfinite(value):
        raise InvalidInputError(f"{path} is {value}; give a finite number")
    return value


def _check_size(name: str, size: int, limit: int, unit: str) -> None:
    if size > limit:
        raise LimitError(f"{name} has {size} {unit}, the limit is {limit}; make it smaller, or raise limits.*")
