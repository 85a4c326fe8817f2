"""What is asked, and what is known so far of the candidates."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from mnemic.ports import MemoryFilter
from mnemic.retrieval.candidates import Turns
from mnemic.retrieval.dates import Interval
from mnemic.retrieval.late import TokensOf
from mnemic.retrieval.lexical import Floats
from mnemic.types import Address, MemoryEntry, MemoryScope, SearchMode, Vector

__all__ = ["EmbedTexts", "Pool", "SearchRequest"]

EmbedTexts = Callable[[Sequence[str]], Awaitable[Vector]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """What is asked for, complete: scope with its tenant, filter with what the caller may read, the moment of asking.

    ``vector`` is the embedding of ``ranking_query(query)`` by ``model_id``, or None where there is none;
    ``query_tokens`` are the token vectors of the same text, and ``tokens_of`` gives the packed ones of entries.
    ``explicit`` are keys that the caller names (profile ``priority``). ``embed_texts`` makes vectors of old versions
    (``as_of``). With ``lanes``, directives and preferences beyond the limit come behind the other hits.
    """

    query: str
    scope: MemoryScope
    where: MemoryFilter
    now: datetime
    vector: Vector | None = None
    query_tokens: Vector | None = None
    model_id: str | None = None
    limit: int = 10
    mode: SearchMode = SearchMode.HYBRID
    profile: str = "balanced"
    min_similarity: float = 0.0
    explicit: frozenset[str] = frozenset()
    embed_texts: EmbedTexts | None = None
    tokens_of: TokensOf | None = None
    lanes: bool = False

    @property
    def is_default(self) -> bool:
        """Whether all rules of the default ranking apply: by words and by meaning, about what holds now."""
        return self.profile == "balanced" and self.mode is SearchMode.HYBRID and self.where.as_of is None


@dataclass(slots=True)
class Pool:
    """Candidates in a fixed order with what the channels say; what a channel does not know is NaN."""

    entries: list[MemoryEntry]
    addresses: list[Address]
    channels: dict[Address, list[str]]
    turns: Turns
    interval: Interval | None = None
    cosines: dict[Address, float] = field(default_factory=dict)
    tokens: dict[Address, float] = field(default_factory=dict)

    def cosine(self) -> Floats:
        """The cosine of each candidate."""
        return self._column(self.cosines)

    def late(self) -> Floats:
        """The likeness of each candidate token by token."""
        return self._column(self.tokens)

    def _column(self, known: Mapping[Address, float]) -> Floats:
        return np.array([known.get(address, np.nan) for address in self.addresses], dtype=np.float64)

    def add_turns(self, entries: Sequence[MemoryEntry]) -> None:
        """Take turns around the best in as candidates."""
        self.entries += entries
        self.addresses += [entry.address for entry in entries]
        self.channels |= {address: ["turns"] for address in self.addresses[-len(entries) :] if entries}

    def places_of(self, channel: str) -> frozenset[int]:
        """The candidates that a channel found."""
        return frozenset(place for place, address in enumerate(self.addresses) if channel in self.channels[address])
