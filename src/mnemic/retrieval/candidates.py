"""Which memories may be meant? What words and vectors propose, and the turns before and after the best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mnemic.ports import IMemoryProvider, MemoryFilter
from mnemic.ports.matching import matches
from mnemic.types import Address, MemoryEntry, MemoryScope

__all__ = ["Pair", "Turns", "merged", "turns_around"]

Place = tuple[object, ...]
Pair = tuple[MemoryEntry | None, MemoryEntry | None]


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

    def around(self, entry: MemoryEntry) -> Pair:
        """The turn before and the turn after, where they are known."""
        if entry.turn is None:
            return None, None
        known = self._by_place.get
        return known(_place(entry, entry.turn - 1)), known(_place(entry, entry.turn + 1))


async def turns_around(
    provider: IMemoryProvider, scope: MemoryScope, where: MemoryFilter, entries: Sequence[MemoryEntry], known: Turns
) -> list[MemoryEntry]:
    """Look up the turns before and after entries that are not known yet, as far as the search may show them.

    ``where`` needs its ``now``. What lies outside the scope or cannot be read does not count as context either.
    """
    lonely = [entry for entry in entries if entry.turn is not None and None in known.around(entry)]
    if not lonely or where.now is None:
        return []
    found = await provider.neighbours(scope, lonely)
    near = merged(turn for pair in found.values() for turn in pair if turn is not None)
    return [entry for entry in near.values() if matches(entry, scope, where, now=where.now)]


def merged(*lists: Iterable[MemoryEntry]) -> dict[Address, MemoryEntry]:
    """Join lists of entries, each address once."""
    found: dict[Address, MemoryEntry] = {}
    for entries in lists:
        for entry in entries:
            found.setdefault(entry.address, entry)
    return found
