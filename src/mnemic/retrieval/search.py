"""Question in, ranked hits out: every candidate is scored in every channel, then by the formula of the profile."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from mnemic.ports import Embedder, IMemoryProvider
from mnemic.retrieval.candidates import Turns, merged, turns_around
from mnemic.retrieval.dates import Interval, window
from mnemic.retrieval.lanes import CUE_WORDS, DIRECTIVE, PREFERENCE, is_too_common, lane_of, reserved
from mnemic.retrieval.late import late_scores
from mnemic.retrieval.lexical import Floats, Words
from mnemic.retrieval.profiles import check_profile, formula
from mnemic.retrieval.query import FRAME_QUESTIONS, frame_of, project, ranking_query
from mnemic.retrieval.request import EmbedTexts, Pool, SearchRequest
from mnemic.retrieval.scoring import Scoring
from mnemic.retrieval.settings import Decay, Ranking
from mnemic.retrieval.timely import of_window
from mnemic.retrieval.updates import Label
from mnemic.retrieval.versions import DEPTH, in_order, likeness_to_best, repeats_last, valid_at
from mnemic.types import Address, MemoryEntry, MemoryHit, MemoryHits, SearchMode, Vector
from mnemic.words import index_text, only_stop_words, query_terms

__all__ = ["EmbedTexts", "Retriever", "SearchRequest"]

_MOST = 1000  # what a provider gives at once
_EMBEDDED_ANEW = 32  # old versions have no vector; more of them would cost a second
_LANE = 100  # entries with cue words that are looked through for directives and preferences
_STEP = 1e-10  # sets equal scores apart where the newer entry stands behind
Flags = npt.NDArray[np.bool_]


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
        self._scoring = Scoring(self._ranking, decay or Decay())
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
            of all candidates, ``filtered_count`` how many of them ``min_similarity`` hid. With ``lanes`` the hits of
            the channels ``directive`` and ``preference`` are complete, beyond the limit.

        Raises:
            InvalidInputError: There is no such profile.
        """
        check_profile(request.profile)
        text = ranking_query(request.query)
        vector = None if request.mode is SearchMode.KEYWORD else self._question_vector(request)
        wanted = [] if request.mode is SearchMode.SEMANTIC else query_terms(text)
        if vector is not None and request.mode is SearchMode.HYBRID and only_stop_words(text):
            wanted = []
        interval = await self._interval(request, text)
        pool = await self._candidates(request, text if wanted else "", vector, interval)
        if not pool.entries:
            return MemoryHits()
        words = Words(wanted, await self._provider.word_stats(request.scope, wanted), self._ranking) if wanted else None
        await self._compare(request, pool, vector, pool.entries)
        await self._add_turns(request, pool, words, vector)
        return await self._ranked(request, pool, words, text)

    def _question_vector(self, request: SearchRequest) -> Vector | None:
        # The formulas of the other profiles are defined on the cosine of the question as it is.
        if request.vector is None or request.profile != "balanced":
            return request.vector
        return project(request.vector, self._frames.get(request.model_id or ""))

    async def _interval(self, request: SearchRequest, text: str) -> Interval | None:
        return await asyncio.to_thread(window, text, now=request.now) if request.is_default else None

    async def _candidates(
        self, request: SearchRequest, text: str, vector: Vector | None, interval: Interval | None
    ) -> Pool:
        size = min(_MOST, max(self._ranking.candidates, request.limit))
        found: dict[str, Sequence[MemoryEntry]] = {}
        search = partial(self._provider.search, request.scope, where=request.where)
        # One arm after the other: each is Python at heart, and side by side they only wait for each other's lock.
        if text:
            found["words"] = await search(text, limit=size)
        if vector is not None:
            where = replace(request.where, embedding_model=request.model_id)
            found["vectors"] = await self._provider.search_similar(request.scope, vector, limit=size, where=where)
        if request.is_default:
            found["lanes"] = await search(CUE_WORDS, limit=_LANE)
            found["time"] = await of_window(self._provider, request.scope, request.where, interval)
        return _pool(request, found, interval)

    async def _compare(
        self, request: SearchRequest, pool: Pool, vector: Vector | None, entries: Sequence[MemoryEntry]
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
        if request.profile == "balanced" and request.mode is SearchMode.HYBRID:
            pool.tokens |= await late_scores(request.query_tokens, request.tokens_of, addresses)

    async def _embed_anew(self, request: SearchRequest, pool: Pool, vector: Vector, old: Sequence[MemoryEntry]) -> None:
        old = old[:_EMBEDDED_ANEW]
        if request.embed_texts is None or not old:
            return
        rows = await request.embed_texts([index_text(entry) for entry in old])
        pool.cosines |= {entry.address: float(row @ vector) for entry, row in zip(old, rows, strict=True)}

    async def _add_turns(self, request: SearchRequest, pool: Pool, words: Words | None, vector: Vector | None) -> None:
        """Make the turns around the best candidates known; they are candidates too, where a question is not by word."""
        if self._ranking.neighbours_of == 0 or request.profile != "balanced" or request.where.as_of is not None:
            return
        order = np.argsort(-self._scoring.alone(request, pool, words), kind="stable")
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

    async def _ranked(self, request: SearchRequest, pool: Pool, words: Words | None, text: str) -> MemoryHits:
        parts = self._scoring.parts(request, pool, words, text)
        scores: Floats = np.round(np.clip(formula(request.profile, parts, self._ranking), 0.0, 1.0), 12)
        shown = _shown(request, parts, words, pool)
        floor = parts["similarity"] >= request.min_similarity
        order = sorted(
            np.flatnonzero(shown & floor).tolist(), key=lambda place: _order(float(scores[place]), pool.entries[place])
        )
        if request.is_default and order:
            order = await self._settled(request, pool, order, scores, text)
            _move(order, scores, parts["moved"], pool.entries)
        hits = [
            MemoryHit.of(
                pool.entries[place],
                score=float(scores[place]),
                score_parts={name: float(part[place]) for name, part in parts.items() if not np.isnan(part[place])},
                channels=pool.channels[pool.addresses[place]],
                rank=rank,
            )
            for rank, place in enumerate(_kept(request, pool, order), start=1)
        ]
        return MemoryHits(
            hits,
            best_score=float(parts["similarity"][shown].max(initial=0.0)),
            filtered_count=int((shown & ~floor).sum()),
            skipped_vectors=sum(entry.embedding_model not in {None, request.model_id} for entry in pool.entries)
            if request.vector is not None
            else 0,
        )

    async def _settled(
        self, request: SearchRequest, pool: Pool, order: list[int], scores: Floats, text: str
    ) -> list[int]:
        """Order what says the same of one thing by time, put repeats last, and keep a place for a directive."""
        best = order[:DEPTH]
        entries = [pool.entries[place] for place in best]
        likeness = await likeness_to_best(self._provider, request.scope, [entry.address for entry in entries])
        as_of = valid_at(text, pool.interval)
        found = in_order(text, entries, [float(scores[place]) for place in best], likeness, as_of=as_of)
        for place, label in zip(best, found.labels, strict=True):
            if label is not Label.NONE:
                pool.channels[pool.addresses[place]].append(label.value)
        order = [*(best[place] for place in found.places), *order[DEPTH:]]
        order = repeats_last(order, pool.entries, request.limit + DEPTH)
        return reserved(order, pool.places_of(DIRECTIVE))


def _pool(request: SearchRequest, found: Mapping[str, Sequence[MemoryEntry]], interval: Interval | None) -> Pool:
    """Join what the arms found; of the entries with cue words those whose lane is asked for."""
    near = merged(*(entries for name, entries in found.items() if name != "lanes"))
    channels: dict[Address, list[str]] = {address: [] for address in near}
    for name, entries in found.items():
        for entry in entries if name != "lanes" else ():
            channels[entry.address].append(name)
    if request.is_default and not is_too_common(lane_of(entry, request.where) for entry in near.values()):
        for entry in merged(near.values(), found["lanes"]).values():
            lane = lane_of(entry, request.where)
            if lane == DIRECTIVE or (lane and (request.lanes or entry.address in near)):
                near[entry.address] = entry
                channels.setdefault(entry.address, []).append(lane)
    return Pool(list(near.values()), list(near), channels, Turns(near.values()), interval)


def _shown(request: SearchRequest, parts: Mapping[str, Floats], words: Words | None, pool: Pool) -> Flags:
    if request.mode is SearchMode.SEMANTIC:
        return ~np.isnan(parts["cosine"])
    if request.mode is SearchMode.KEYWORD and words is not None:
        return parts["own"] > 0
    return np.ones(len(pool.entries), dtype=np.bool_)


def _kept(request: SearchRequest, pool: Pool, order: Sequence[int]) -> list[int]:
    """The hits up to the limit, and behind them what stands in a lane, where that is asked for."""
    kept = list(order[: request.limit])
    if request.lanes:
        standing = pool.places_of(DIRECTIVE) | pool.places_of(PREFERENCE)
        kept += [place for place in order[request.limit :] if place in standing]
    return kept


def _move(order: Sequence[int], scores: Floats, moved: Floats, entries: Sequence[MemoryEntry]) -> None:
    """Give each place of the order the score that belongs there, and note by how much a score was moved for it."""
    falling = sorted((float(scores[place]) for place in order), reverse=True)
    before: int | None = None
    for place, due in zip(order, falling, strict=True):
        score = due if before is None else min(due, _below(scores, entries, before, place))
        moved[place] = score - scores[place]
        scores[place] = score
        before = place


def _below(scores: Floats, entries: Sequence[MemoryEntry], before: int, place: int) -> float:
    """The highest score that leaves an entry behind the one before it."""
    score = float(scores[before])
    newer = _order(score, entries[place]) < _order(score, entries[before])
    return max(0.0, score - _STEP) if newer else score


def _order(score: float, entry: MemoryEntry) -> tuple[float, float, str, str, str]:
    return -score, -entry.created_at.timestamp(), entry.volk_id, entry.user_id, entry.key
