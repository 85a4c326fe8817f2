"""Which entry does a key mean to this caller?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime

from mnemic.engine.limits import check_key
from mnemic.engine.shared import Caller
from mnemic.errors import AccessDeniedError, ConflictError
from mnemic.ports import Action, MemoryFilter
from mnemic.types import Address, MemoryEntry, MemoryScope

__all__ = ["find_kept", "find_own", "find_owned", "find_readable", "own_entries", "own_versions"]

_PAGE = 500


async def find_own(caller: Caller, key: str, action: Action) -> MemoryEntry | None:
    """The caller's entry with this key, for a change; None where there is none that the caller can read.

    Raises:
        AccessDeniedError: The entry can be read but belongs to another owner (GOV-018).
    """
    check_key(key, caller.shared.settings.limits)
    own = await _live(caller, caller.own_addresses(key))
    if own is not None:
        await caller.allow(action, entry=own)
        return own
    try:
        other = await _of_others(caller, key)
    except ConflictError:
        raise AccessDeniedError(f"{action.value} is denied: the memories with this key belong to others") from None
    if other is not None:
        await caller.allow(action, entry=other)
    return None


async def find_owned(caller: Caller, key: str, owner: str | tuple[str, str]) -> MemoryEntry | None:
    """The entry of a named owner; a volk alone means its entry for the caller's user, then its own (ENG-002).

    Raises:
        AccessDeniedError: It is there and the caller may not read it.
    """
    check_key(key, caller.shared.settings.limits)
    volk, users = (owner, (caller.who.user_id, "")) if isinstance(owner, str) else (owner[0], owner[1:])
    entry = await _live(caller, tuple(Address(caller.who.tenant_id, volk, user, key) for user in users))
    if entry is not None:
        await caller.allow(Action.READ, entry=entry)
    return entry


async def find_readable(caller: Caller, key: str) -> MemoryEntry | None:
    """The entry that a key means to the caller for reading (ENG-002).

    Raises:
        ConflictError: Several owners have a readable entry with that key.
    """
    check_key(key, caller.shared.settings.limits)
    own = await _live(caller, caller.own_addresses(key))
    return own if own is not None else await _of_others(caller, key)


async def find_kept(caller: Caller, key: str, *, version: int | None, as_of: datetime | None) -> MemoryEntry | None:
    """A kept version of the caller's own entry, or what held at a moment of one that the caller can read."""
    versions = await own_versions(caller, key)
    for entry in versions:
        if version in {None, entry.version} and (as_of is None or _held(entry, as_of)):
            return entry
    return None if versions or version is not None else await _of_others(caller, key, as_of=as_of)


async def own_versions(caller: Caller, key: str) -> list[MemoryEntry]:
    """Every kept version of the caller's entry with this key, newest first."""
    check_key(key, caller.shared.settings.limits)
    for address in caller.own_addresses(key):
        scope = MemoryScope(tenant_id=address.tenant_id, volk_id=address.volk_id, user_id=address.user_id)
        if versions := await caller.shared.tiers.memories.versions(scope, key):
            return versions
    return []


def _held(entry: MemoryEntry, at: datetime) -> bool:
    return entry.valid_from <= at and (entry.valid_to is None or at < entry.valid_to)


async def _live(caller: Caller, addresses: tuple[Address, ...]) -> MemoryEntry | None:
    scope = MemoryScope(tenant_id=caller.who.tenant_id)
    found = await caller.shared.tiers.memories.get_many(scope, addresses)
    now = caller.shared.clock.now()
    alive = (entry for a in addresses if (entry := found.get(a)) is not None)
    return next((entry for entry in alive if entry.expires_at is None or entry.expires_at > now), None)


async def _of_others(caller: Caller, key: str, *, as_of: datetime | None = None) -> MemoryEntry | None:
    where = await caller.where(MemoryFilter(keys=(key,), include_superseded=True), as_of=as_of)
    page = await caller.shared.tiers.memories.list(caller.scope(), where, limit=2)
    if len(page.items) > 1:
        raise ConflictError("several owners have a readable memory with this key; name owner=(volk_id, user_id)")
    return page.items[0] if page.items else None


async def own_entries(
    caller: Caller, scope: MemoryScope | None, where: MemoryFilter
) -> AsyncIterator[list[MemoryEntry]]:
    """Pages of the entries that the caller owns, its user's first, then the agent's own."""
    filter_ = await caller.where(where)
    narrowed = caller.scope(scope)
    if narrowed.volk_id not in {None, caller.who.volk_id}:
        return
    for user in dict.fromkeys((caller.who.user_id, "")):
        if narrowed.user_id not in {None, user}:
            continue
        own, cursor = replace(narrowed, volk_id=caller.who.volk_id, user_id=user), None
        while True:
            page = await caller.shared.tiers.memories.list(own, filter_, after=cursor, limit=_PAGE)
            yield list(page.items)
            if (cursor := page.next_cursor) is None:
                break
