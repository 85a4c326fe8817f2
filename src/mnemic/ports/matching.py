"""Does an entry lie in a scope and fit a filter? The one meaning that every provider is held to (PRV-010 to 012)."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from mnemic.ports.filters import Condition, Junction, MemoryFilter, Operator
from mnemic.ports.policy import Readable
from mnemic.types import MemoryClassification, MemoryEntry, MemoryScope

__all__ = ["compare", "fold", "in_scope", "is_readable", "matches"]

_MISSING = object()
_EVERYTHING = MemoryFilter()


def matches(
    entry: MemoryEntry,
    scope: MemoryScope,
    where: MemoryFilter | None,
    *,
    now: datetime,
    shared_uids: Collection[str] = (),
) -> bool:
    """Tell whether a live version of an entry lies in a scope, has not expired and fits a filter.

    Args:
        entry: The version to look at. With ``where.as_of`` the caller chose it among the kept ones, see ``standing``.
        scope: Each field that is not None narrows; an empty task or crew matches nothing (ID-001).
        where: None means no filter besides expiry and supersession.
        now: The provider's clock; ``where.now`` comes before it.
        shared_uids: Uids of entries that a SHARED_WITH edge shares with ``where.readable_by.volk``.
    """
    where = where or _EVERYTHING
    return (
        _is_current(entry, where, where.now or now)
        and in_scope(entry, scope)
        and _fits_fields(entry, where)
        and all(compare(_nested(entry.metadata, n), Operator.EQ, value) for n, value in where.metadata.items())
        and (where.readable_by is None or is_readable(entry, where.readable_by, shared_uids))
        and (where.expr is None or _holds(entry, where.expr))
    )


def fold(text: str) -> str:
    """Give the form in which texts are compared: NFC and casefold."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def in_scope(entry: MemoryEntry, scope: MemoryScope) -> bool:
    """Tell whether every given field of a scope is the entry's; dates are inclusive."""
    for name in ("tenant_id", "volk_id", "user_id", "session_id", "project_id", "portfolio_id"):
        wanted = getattr(scope, name)
        if wanted is not None and wanted != getattr(entry, name):
            return False
    for name in ("task_id", "crew_id"):
        wanted = getattr(scope, name)
        if wanted is not None and (not wanted or wanted != getattr(entry, name)):
            return False
    moment = entry.occurred_at if scope.date_field == "occurred_at" else None
    moment = moment or entry.created_at
    return (scope.date_from is None or moment >= scope.date_from) and (scope.date_to is None or moment <= scope.date_to)


def is_readable(entry: MemoryEntry, by: Readable, shared_uids: Collection[str] = ()) -> bool:
    """Tell whether an entry is in the readable set of an identity."""
    if entry.volk_id == by.volk and entry.user_id in {by.user, ""}:
        return True
    if entry.classification is MemoryClassification.SYSTEM:
        return True
    if entry.classification is MemoryClassification.SHARED and (
        by.tenant_wide or entry.project_id in by.projects or (entry.crew_id != "" and entry.crew_id in by.crews)
    ):
        return True
    return bool(by.shared_uids or shared_uids) and (entry.uid in by.shared_uids or entry.uid in shared_uids)


def compare(have: object, operator: Operator, want: object) -> bool:
    """Compare a property with a wanted value (PRV-011).

    Of a list property one member must compare; ``$ne`` and ``$nin`` hold where ``$eq`` and ``$in`` do not. Text and
    numbers order among themselves only. Nothing but ``$exists`` false holds for a missing property.
    """
    if operator is Operator.EXISTS:
        return (have is not _MISSING) == want
    if have is _MISSING:
        return False
    if operator is Operator.NE:
        return not compare(have, Operator.EQ, want)
    if operator is Operator.NIN:
        return not compare(have, Operator.IN, want)
    wanted = want if operator is Operator.IN and isinstance(want, tuple) else (want,)
    members = have if isinstance(have, list | tuple) else (have,)
    return any(_compare_one(member, operator, value) for member in members for value in wanted)


def _compare_one(have: object, operator: Operator, want: object) -> bool:
    if isinstance(have, bool) or isinstance(want, bool) or have is None or want is None:
        return operator in {Operator.EQ, Operator.IN} and have is want
    if isinstance(have, str) and isinstance(want, str):
        have, want = fold(have), fold(want)
    elif not (isinstance(have, int | float) and isinstance(want, int | float)):
        return False
    return _order(have, operator, want)


def _order(have: Any, operator: Operator, want: Any) -> bool:
    if operator is Operator.GT:
        return bool(have > want)
    if operator is Operator.GTE:
        return bool(have >= want)
    if operator is Operator.LT:
        return bool(have < want)
    if operator is Operator.LTE:
        return bool(have <= want)
    return bool(have == want)


def _is_current(entry: MemoryEntry, where: MemoryFilter, now: datetime) -> bool:
    if entry.expires_at is not None and entry.expires_at <= now:
        return False
    if where.as_of is not None:
        return entry.valid_from <= where.as_of and (entry.valid_to is None or where.as_of < entry.valid_to)
    return where.include_superseded or entry.superseded_by is None


def _fits_fields(entry: MemoryEntry, where: MemoryFilter) -> bool:
    return (
        (where.keys is None or entry.key in where.keys)
        and (where.source is None or fold(entry.source) == fold(where.source))
        and (not where.memory_types or entry.memory_type in where.memory_types)
        and (not where.categories or fold(entry.category) in {fold(text) for text in where.categories})
        and (where.pinned is None or entry.pinned == where.pinned)
        and (not where.classifications or entry.classification in where.classifications)
        and (where.embedding_model is None or entry.embedding_model == where.embedding_model)
        and _fits_tags(entry.tags, where)
    )


def _fits_tags(tags: Collection[str], where: MemoryFilter) -> bool:
    if not where.tags_all and not where.tags_any:
        return True
    have = {fold(tag) for tag in tags}
    return have.issuperset(fold(tag) for tag in where.tags_all) and (
        not where.tags_any or not have.isdisjoint(fold(tag) for tag in where.tags_any)
    )


def _holds(entry: MemoryEntry, part: Condition | Junction) -> bool:
    if isinstance(part, Condition):
        return compare(_property(entry, part.name), part.operator, part.value)
    if part.kind == "AND":
        return all(_holds(entry, inner) for inner in part.parts)
    found = any(_holds(entry, inner) for inner in part.parts)
    return found if part.kind == "OR" else not found


def _property(entry: MemoryEntry, name: str) -> object:
    """The value behind a name of the dictionary form: a field of the entry, else of its metadata."""
    match name:
        case "key" | "source" | "category" | "tags":
            return getattr(entry, name)
        case "type":
            return entry.memory_type
    return _nested(entry.metadata, name)


def _nested(metadata: Mapping[str, Any], name: str) -> object:
    """Look a name up: as it is, else as a path of names joined by dots."""
    if name in metadata:
        return metadata[name]
    value: object = metadata
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return _MISSING
        value = value[part]
    return value
