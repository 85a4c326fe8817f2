"""Question in, ranked hits out: every candidate is scored in every channel, then by the formula of the profile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from mnemic.ports import Embedder, IMemoryProvider, MemoryFilter
from mnemic.retrieval.candidates import Pair, Turns, merged, turns_around
from mnemic.retrieval.lexical import Bags, Floats, Matched, Words, holds
from mnemic.retrieval.profiles import base, check_profile, formula
from mnemic.retrieval.query import FRAME_QUESTIONS, frame_of, literals, project, ranking_query
from mnemic.retrieval.settings import Decay, Ranking
from mnemic.retrieval.signals import calibrate, fading, length_prior, recency_of
from mnemic.types import Address, MemoryEntry, MemoryHit, MemoryHits, MemoryScope, SearchMode, Vector
from mnemic.words import index_text, is_named, only_stop_words, query_terms, terms

__all__ = ["EmbedTexts", "Retriever", "SearchRequest"]

EmbedTexts = Callable[[Sequence[str]], Awaitable[Vector]]
_MOST = 1000  # what a provider gives at once
_EMBEDDED_ANEW = 32  # old versions have no vector; more of them would cost a second
_DEFAULT_QUALITY = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """What is asked for, complete: scope with its tenant, filter with what the caller may read, the moment of asking.

    ``vector`` is the embedding of ``ranking_query(query)`` by ``model_id``, or None where there is none. ``explicit``
    are keys that the caller names (profile ``priority``). ``embed_texts`` makes vectors of old versions (``as_of``).
    """

    query: str
    scope: MemoryScope
    where: MemoryFilter
    now: datetime
    vector: Vector | None = None
    model_id: str | None = None
    limit: int = 10
    mode: SearchMode = SearchMode.HYBRID
    profile: str = "balanced"
    min_similarity: float = 0.0
    explicit: frozenset[str] = frozenset()
    embed_texts: EmbedTexts | None = None


@dataclass(slots=True)
class _Pool:
    """Candidates in a fixed order with what the channels say; a cosine that is not known is NaN."""

    entries: list[MemoryEntry]
    addresses: list[Address]
    channels: dict[Address, list[str]]
    turns: Turns
    cosines: dict[Address, float] = field(default_factory=dict)

    def cosine(self) -> Floats:
        return np.array([self.cosines.get(address, np.nan) for address in self.addresses], dtype=np.float64)

    def add_turns(self, entries: Sequence[MemoryEntry]) -> None:
        self.entries += entries
        self.addresses += [entry.address for entry in entries]
        self.channels |= {address: ["turns"] for address in self.addresses[-len(entries) :] if entries}


class Retriever:
    """Finds memories in any store.

    Args:
        provider: The store, or the tiers as one.
        ranking: Constants of the ranking.
        decay: How recency fades.
    """

    def __init__(
        self, provider: IMemoryProvider, *, ranking: Ranking | None = None, decay: Decay | None = None
    ) -> None:
        self._provider = provider
        self._ranking = ranking or Ranking()
        self._decay = decay or Decay()
        self._bags = Bags()
        self._frames: dict[str, Vector | None] = {}

    async def prepare(self, embedder: Embedder) -> None:
        """Learn, once for each model, which directions all questions share; without it they stay in the vector."""
        if embedder.model_id not in self._frames:
            vectors = await embedder.embed(FRAME_QUESTIONS)
            self._frames[embedder.model_id] = frame_of(vectors, self._ranking.frame)

    async def search(self, request: SearchRequest) -> MemoryHits:
        """Find and rank.

        Returns:
            Hits by falling score; equal ones newer first, then by address. ``best_score`` is the largest similarity
            of all candidates, ``filtered_count`` how many of them ``min_similarity`` hid.

        Raises:
            InvalidInputError: There is no such profile.
        """
        check_profile(request.profile)
        text = ranking_query(request.query)
        vector = None if request.mode is SearchMode.KEYWORD else self._question_vector(request)
        wanted = [] if request.mode is SearchMode.SEMANTIC else query_terms(text)
        if vector is not None and request.mode is SearchMode.HYBRID and only_stop_words(text):
            wanted = []
        pool = await self._candidates(request, text if wanted else "", vector)
        if not pool.entries:
            return MemoryHits()
        words = Words(wanted, await self._provider.word_stats(request.scope, wanted), self._ranking) if wanted else None
        await self._compare(request, pool, vector, pool.entries)
        await self._add_turns(request, pool, words, vector)
        return self._ranked(request, pool, words, text)

    def _question_vector(self, request: SearchRequest) -> Vector | None:
        # The formulas of the other profiles are defined on the cosine of the question as it is.
        if request.vector is None or request.profile != "balanced":
            return request.vector
        return project(request.vector, self._frames.get(request.model_id or ""))

    async def _candidates(self, request: SearchRequest, text: str, vector: Vector | None) -> _Pool:
        size = min(_MOST, max(self._ranking.candidates, request.limit))
        arms: dict[str, asyncio.Task[list[MemoryHit]]] = {}
        async with asyncio.TaskGroup() as group:
            if text:
                search = self._provider.search(request.scope, text, limit=size, where=request.where)
                arms["words"] = group.create_task(search)
            if vector is not None:
                where = replace(request.where, embedding_model=request.model_id)
                similar = self._provider.search_similar(request.scope, vector, limit=size, where=where)
                arms["vectors"] = group.create_task(similar)
        found = {name: task.result() for name, task in arms.items()}
        channels: dict[Address, list[str]] = {}
        for name, hits in found.items():
            for hit in hits:
                channels.setdefault(hit.address, []).append(name)
        entries = merged(*found.values())
        return _Pool(list(entries.values()), list(entries), channels, Turns(entries.values()))

    async def _compare(
        self, request: SearchRequest, pool: _Pool, vector: Vector | None, entries: Sequence[MemoryEntry]
    ) -> None:
        """Give entries their cosine; old versions are embedded on the spot, since the store keeps none for them."""
        if vector is None or not entries:
            return
        current = entries
        if request.where.as_of is not None:
            heads = await self._provider.heads(request.scope, [entry.address for entry in entries])
            newest = {address: head.version for address, head in heads.items()}
            current = [entry for entry in entries if newest.get(entry.address) == entry.version]
            old = [entry for entry in entries if newest.get(entry.address) != entry.version]
            await self._embed_anew(request, pool, vector, old)
        addresses = [entry.address for entry in current]
        model_id = request.model_id or ""
        pool.cosines |= await self._provider.similarities(request.scope, vector, addresses, model_id=model_id)

    async def _embed_anew(
        self, request: SearchRequest, pool: _Pool, vector: Vector, old: Sequence[MemoryEntry]
    ) -> None:
        old = old[:_EMBEDDED_ANEW]
        if request.embed_texts is None or not old:
            return
        rows = await request.embed_texts([index_text(entry) for entry in old])
        pool.cosines |= {entry.address: float(row @ vector) for entry, row in zip(old, rows, strict=True)}

    async def _add_turns(self, request: SearchRequest, pool: _Pool, words: Words | None, vector: Vector | None) -> None:
        """Make the turns around the best candidates known; they are candidates too, where a question is not by word."""
        if self._ranking.neighbours_of == 0 or request.profile != "balanced" or request.where.as_of is not None:
            return
        scores = self._own_base(request, pool, words)
        order = np.argsort(-scores, kind="stable")
        best = [pool.entries[place] for place in order if pool.entries[place].turn is not None]
        best = best[: self._ranking.neighbours_of]
        where = replace(request.where, now=request.where.now or request.now)
        new = await turns_around(self._provider, request.scope, where, best, pool.turns)
        pool.turns.add(new)
        if request.mode is SearchMode.HYBRID:
            known = set(pool.addresses)
            new = [entry for entry in new if entry.address not in known]
            await self._compare(request, pool, vector, new)
            pool.add_turns(new)

    def _own_base(self, request: SearchRequest, pool: _Pool, words: Words | None) -> Floats:
        bags = [self._bags.of(entry) for entry in pool.entries]
        matched = words.own(bags) if words else Matched.nothing(len(bags))
        mixed: Floats = base(self._mixture(request, pool, matched))
        return mixed

    def _mixture(self, request: SearchRequest, pool: _Pool, matched: Matched) -> dict[str, Floats]:
        """The scaled channels and the weight between them."""
        best = matched.scores.max()
        lexical = matched.scores / best if best > 0 else matched.scores
        cosine = pool.cosine()
        weight = 1.0 if np.isnan(cosine).all() else self._lexical_weight(request, matched, cosine)
        return {
            "lexical": lexical,
            "dense": _scaled(cosine, lexical),
            "weight": np.full(len(lexical), weight),
            "literal": np.zeros(len(lexical)),
            "literal_weight": np.zeros(len(lexical)),
            "coverage": matched.coverage,
            "cosine": cosine,
        }

    def _lexical_weight(self, request: SearchRequest, matched: Matched, cosine: Floats) -> float:
        """Words weigh more the more of the question they cover, and less the surer the nearest vector is."""
        ranking = self._ranking
        found = min(1.0, float(matched.coverage.max()) / ranking.full_coverage)
        broad = min(1.0, matched.breadth / ranking.full_breadth)
        found *= ranking.single_word + (1 - ranking.single_word) * broad
        return ranking.lexical_weight * found * (1 - ranking.surety * _sureness(cosine, request.model_id))

    def _ranked(self, request: SearchRequest, pool: _Pool, words: Words | None, text: str) -> MemoryHits:
        parts = self._parts(request, pool, words, text)
        scores = np.round(np.clip(formula(request.profile, parts, self._ranking), 0.0, 1.0), 12)
        shown = self._shown(request, parts, words, pool)
        floor = parts["similarity"] >= request.min_similarity
        order = sorted(np.flatnonzero(shown & floor), key=lambda place: _order(scores[place], pool.entries[place]))
        hits = [
            MemoryHit.of(
                pool.entries[place],
                score=float(scores[place]),
                score_parts={name: float(part[place]) for name, part in parts.items() if not np.isnan(part[place])},
                channels=pool.channels[pool.addresses[place]],
                rank=rank,
            )
            for rank, place in enumerate(order[: request.limit], start=1)
        ]
        return MemoryHits(
            hits,
            best_score=float(parts["similarity"][shown].max(initial=0.0)),
            filtered_count=int((shown & ~floor).sum()),
            skipped_vectors=sum(entry.embedding_model not in {None, request.model_id} for entry in pool.entries)
            if request.vector is not None
            else 0,
        )

    def _shown(
        self, request: SearchRequest, parts: Mapping[str, Floats], words: Words | None, pool: _Pool
    ) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        if request.mode is SearchMode.SEMANTIC:
            return ~np.isnan(pool.cosine())
        if request.mode is SearchMode.KEYWORD and words is not None:
            return parts["own"] > 0
        return np.ones(len(pool.entries), dtype=np.bool_)

    def _parts(self, request: SearchRequest, pool: _Pool, words: Words | None, text: str) -> dict[str, Floats]:
        bags = [self._bags.of(entry) for entry in pool.entries]
        pairs = [pool.turns.around(entry) for entry in pool.entries]
        around = [[self._bags.of(near) for near in pair if near] for pair in pairs]
        matched = words.with_neighbours(bags, around) if words else Matched.nothing(len(bags))
        parts = self._mixture(request, pool, matched)
        parts["own"] = (words.own(bags) if words else matched).coverage
        wanted = literals(text) if words else ()
        if wanted:
            parts["literal"] = np.array([holds(entry, wanted) for entry in pool.entries])
            parts["literal_weight"] += self._ranking.literal
        parts |= _turn_parts(pool, pairs, base(parts))
        parts |= self._entry_parts(request, pool, text)
        calibrated = [0.0 if np.isnan(cosine) else calibrate(cosine, request.model_id) for cosine in parts["cosine"]]
        parts["similarity"] = np.maximum(np.array(calibrated), parts["own"])
        return parts

    def _entry_parts(self, request: SearchRequest, pool: _Pool, text: str) -> dict[str, Floats]:
        ranking, entries = self._ranking, pool.entries
        named = _named_speaker(entries, text)
        columns = {
            "length": [
                length_prior(len(e.content) // 4, since=ranking.length_from, power=ranking.length_power)
                for e in entries
            ],
            "speaker": [float(named is not None and e.speaker == named) for e in entries],
            "recency": [recency_of(e, request.now, self._decay) for e in entries],
            "fading": [fading(e, request.now) for e in entries],
            "importance": [e.importance for e in entries],
            "quality": [_DEFAULT_QUALITY if e.quality is None else e.quality for e in entries],
            "explicit": [float(e.pinned or e.key in request.explicit) for e in entries],
        }
        return {name: np.array(column, dtype=np.float64) for name, column in columns.items()}


def _turn_parts(pool: _Pool, pairs: Sequence[Pair], scores: Floats) -> dict[str, Floats]:
    """The scores of the turns around each entry; what is no candidate counts 0."""
    known = dict(zip(map(id, pool.entries), scores.tolist(), strict=True))
    before = [known.get(id(earlier), 0.0) for earlier, _ in pairs]
    after = [known.get(id(later), 0.0) for _, later in pairs]
    return {"previous": np.array(before), "next": np.array(after)}


def _sureness(cosine: Floats, model_id: str | None) -> float:
    """How sure the nearest vector is of being right; squared, so that being likely right counts for little."""
    return calibrate(float(np.nanmax(cosine)), model_id) ** 2


def _scaled(cosine: Floats, lexical: Floats) -> Floats:
    """Spread cosines over 0 to 1; what has no vector yet is judged by its words alone."""
    known = ~np.isnan(cosine)
    if not known.any():
        return lexical
    low, high = cosine[known].min(), cosine[known].max()
    spread = (cosine - low) / (high - low) if high > low else np.ones_like(cosine)
    return np.where(known, spread, lexical)


def _named_speaker(entries: Sequence[MemoryEntry], text: str) -> str | None:
    """The one speaker among the candidates whose whole name stands in the question; None for none or several."""
    asked = set(terms(text))
    named = {e.speaker for e in entries if e.speaker and is_named(e.speaker) and asked.issuperset(terms(e.speaker))}
    return named.pop() if len(named) == 1 else None


def _order(score: float, entry: MemoryEntry) -> tuple[float, float, str, str, str]:
    return -score, -entry.created_at.timestamp(), entry.volk_id, entry.user_id, entry.key
