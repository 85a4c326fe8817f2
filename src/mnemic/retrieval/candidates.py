"""Which memories may be meant? What words and vectors propose, and the turns before and after the best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mnemic.ports import IMemoryProvider, MemoryFilter, Readable
from mnemic.types import Address, MemoryClassification, MemoryEntry, MemoryScope

__all__ = ["Turns", "admitted", "merged", "turns_around"]

Place = tuple[object, ...]
_PLAIN = MemoryFilter()
_ANY = MemoryScope()


def _place(entry: MemoryEntry, turn: int) -> Place:
    return entry.tenant_id, entry.volk_id, entry.user_id, entry.classification, entry.session_id, turn


class Turns:
    """Entries by their place in a conversation."""

    def __init__(self, entries: Iterable[MemoryEntry]) -> None:
        self._by_place: dict[Place, MemoryEntry] = {}
        self.add(entries)

    def add(self, entries: Iterable[MemoryEntry]) -> None:
        """Take in more entries; those that are no turns are left out."""
        for entry in entries:
            if entry.turn is not None:
                self._by_place.setdefault(_place(entry, entry.turn), entry)

    def around(self, entry: MemoryEntry) -> tuple[MemoryEntry | None, MemoryEntry | None]:
        """The turn before and the turn after, where they are known."""
        if entry.turn is None:
            return None, None
        before, after = (self._by_place.get(_place(entry, entry.turn + step)) for step in (-1, 1))
        return before, after


async def turns_around(
    provider: IMemoryProvider, scope: MemoryScope, where: MemoryFilter, entries: Sequence[MemoryEntry], known: Turns
) -> list[MemoryEntry]:
    """Look up the turns before and after entries that are not known yet, as far as the search may show them."""
    lonely = [entry for entry in entries if entry.turn is not None and None in known.around(entry)]
    if not lonely:
        return []
    found = await provider.neighbours(scope, lonely)
    seen = {entry.address for entry in entries}
    near = {near.address: near for pair in found.values() for near in pair if near is not None}
    new = [entry for address, entry in near.items() if address not in seen]
    return await admitted(provider, scope, where, new)


async def admitted(
    provider: IMemoryProvider, scope: MemoryScope, where: MemoryFilter, entries: Sequence[MemoryEntry]
) -> list[MemoryEntry]:
    """Keep the entries that the scope and the filter admit, by the provider's own reading of the filter."""
    if not entries:
        return []
    if _is_plain(scope, where):
        return [entry for entry in entries if _is_open(entry, where)]
    wanted = {entry.address for entry in entries}
    keys = {entry.key for entry in entries}
    asked = tuple(sorted(keys if where.keys is None else keys & set(where.keys)))
    if not asked:
        return []
    page = await provider.list(scope, replace(where, keys=asked), limit=1000)
    return [entry for entry in page.items if entry.address in wanted]


def _is_plain(scope: MemoryScope, where: MemoryFilter) -> bool:
    bare = replace(where, readable_by=None, now=None, include_superseded=False, embedding_model=None)
    return bare == _PLAIN and not where.metadata and replace(scope, tenant_id=None) == _ANY


def _is_open(entry: MemoryEntry, where: MemoryFilter) -> bool:
    if entry.superseded_by is not None and not where.include_superseded:
        return False
    if entry.expires_at is not None and (where.now is None or entry.expires_at <= where.now):
        return False
    return where.readable_by is None or _may_read(where.readable_by, entry)


def _may_read(readable: Readable, entry: MemoryEntry) -> bool:
    # Sharing by name is left out: it is for the one entry, not for the turns around it.
    if entry.volk_id == readable.volk and entry.user_id in {readable.user, ""}:
        return True
    if entry.classification is MemoryClassification.SHARED:
        return readable.tenant_wide or entry.project_id in readable.projects or entry.crew_id in readable.crews
    return entry.classification is MemoryClassification.SYSTEM


def merged(*lists: Iterable[MemoryEntry]) -> dict[Address, MemoryEntry]:
    """Join lists of entries, each address once."""
    found: dict[Address, MemoryEntry] = {}
    for entries in lists:
        for entry in entries:
            found.setdefault(entry.address, entry)
    return found
