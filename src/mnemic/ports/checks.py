"""May this call reach storage? What every provider refuses before it reads or writes anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mnemic.chain import canonical
from mnemic.errors import InvalidInputError, ScopeError
from mnemic.types import Address, MemoryEntry, MemoryScope

__all__ = ["check_derived", "check_entry", "check_json", "check_limit", "check_query", "point", "tenant_of"]

_LIMIT = 1000
_DERIVED = frozenset({
    *("summary", "quality", "importance", "access_count"),
    *("last_accessed_at", "valid_to", "superseded_by", "pinned"),
})  # fmt: skip


def tenant_of(scope: MemoryScope) -> str:
    """Give the tenant of a set method's scope.

    Raises:
        ScopeError: The scope has none.
    """
    if not scope.tenant_id:
        raise ScopeError("the scope names no tenant; give tenant_id")
    return scope.tenant_id


def point(scope: MemoryScope, key: object) -> Address:
    """Give the address that a point method means.

    Raises:
        ScopeError: Tenant, volk or user is missing; the user may be empty.
        InvalidInputError: The key is blank, or no text that can be kept.
    """
    tenant = tenant_of(scope)
    if not scope.volk_id or scope.user_id is None:
        raise ScopeError("the scope names no volk or no user; give volk_id and user_id, which may be empty")
    return Address(tenant, scope.volk_id, scope.user_id, _check_text("key", key))


def check_entry(scope: MemoryScope, key: object, entry: object) -> Address:
    """Give the address under which an entry is to be stored.

    Raises:
        ScopeError: Scope and entry name different addresses.
        InvalidInputError: No entry, blank content, or a value that cannot be kept as it is.
    """
    address = point(scope, key)
    if not isinstance(entry, MemoryEntry):
        raise InvalidInputError(f"entry is {type(entry).__name__}; give a MemoryEntry")
    if entry.address != address:
        raise ScopeError("entry and scope name different tenants, volks, users or keys; give the scope of the entry")
    _check_text("content", entry.content)
    for tag in entry.tags:
        _check_text("a tag", tag)
    check_json("metadata", entry.metadata)
    return address


def check_json(name: str, value: Mapping[str, Any]) -> None:
    """Refuse a mapping that JSON would lose or change.

    Raises:
        InvalidInputError: It holds something else than text, finite numbers, booleans, null, lists and mappings.
    """
    try:
        canonical(dict(value))
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInputError(
            f"{name} cannot be kept as JSON ({type(error).__name__}); give text, finite numbers, lists and mappings"
        ) from None


def check_derived(fields: Mapping[str, Any]) -> None:
    """Refuse names that are no derived fields.

    Raises:
        InvalidInputError: A name is none of those that ``IMemoryProvider.annotate`` lists.
    """
    if unknown := fields.keys() - _DERIVED:
        raise InvalidInputError(f"{min(unknown)!r} is no derived field; give some of {', '.join(sorted(_DERIVED))}")


def check_limit(limit: object) -> int:
    """Give the limit back if it lies in 1 to 1000.

    Raises:
        InvalidInputError: It does not.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= _LIMIT:
        raise InvalidInputError(f"limit is {limit!r}; give 1 to {_LIMIT}")
    return limit


def check_query(query: object) -> str:
    """Give the query back if it is text.

    Raises:
        InvalidInputError: It is not; the empty text is allowed.
    """
    if not isinstance(query, str):
        raise InvalidInputError(f"query is {type(query).__name__}; give text, which may be empty")
    return query


def _check_text(name: str, text: object) -> str:
    if not isinstance(text, str) or not text.strip():
        raise InvalidInputError(f"{name} is blank or no text; give at least one character that is not white space")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInputError(f"{name} holds a lone surrogate; remove it") from None
    if "\0" in text:
        raise InvalidInputError(f"{name} holds NUL; remove it")
    return text
