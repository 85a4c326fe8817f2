"""How well do plain methods answer the same questions over the same memories?"""

from __future__ import annotations

import asyncio
import hashlib
import math
import zlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mnemic.bench.kit import Asked, Labels
from mnemic.bench.scorer import Answer
from mnemic.ports import Embedder
from mnemic.types import Vector
from mnemic.words import query_terms, terms

__all__ = ["ARMS", "Bm25", "answers", "fused", "vectors"]

ARMS = ("bm25", "dense", "rrf", "recency", "random")
_DEPTH = 300
_K1, _B = 1.2, 0.75
_RRF = 60
_BATCH = 256

Scores = NDArray[np.float64]
"""One score for each memory; minus infinity means not found."""


class Bm25:
    """BM25 over a fixed list of texts, stemmed, without the stop words of the question."""

    def __init__(self, texts: Sequence[str]) -> None:
        bags = [Counter(terms(text)) for text in texts]
        lengths = np.array([float(bag.total()) for bag in bags])
        self._damping = _K1 * (1 - _B + _B * lengths / max(1.0, float(lengths.mean()) if len(bags) else 1.0))
        postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, bag in enumerate(bags):
            for term, times in bag.items():
                postings[term].append((place, times))
        self._postings = {term: np.array(pairs) for term, pairs in postings.items()}

    def scores(self, text: str) -> Scores:
        """Score every text."""
        size = len(self._damping)
        total = np.zeros(size)
        for term in dict.fromkeys(query_terms(text)):
            if term in self._postings:
                places, times = self._postings[term].T
                rarity = math.log(1 + (size - len(places) + 0.5) / (len(places) + 0.5))
                total[places] += rarity * times * (_K1 + 1) / (times + self._damping[places])
        return np.where(total > 0, total, -np.inf)


def fused(*arms: Scores) -> Scores:
    """Reciprocal rank fusion; what an arm did not find gets nothing from it."""
    total: Scores = np.zeros(len(arms[0]))
    for scores in arms:
        places = np.empty(len(scores))
        places[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
        total += np.where(np.isfinite(scores), 1 / (_RRF + places), 0.0)
    return total


def vectors(embedder: Embedder, texts: Sequence[str], cache: Path) -> Vector:
    """Embed each text by itself; what was embedded before by the same model is read from the folder."""
    digest = hashlib.sha256("\0".join([embedder.model_id, *texts]).encode("utf-8", "surrogatepass")).hexdigest()
    kept = cache / f"{digest[:32]}.npy"
    if not kept.exists():
        rows = asyncio.run(_embedded(embedder, texts))
        cache.mkdir(parents=True, exist_ok=True)
        np.save(kept, rows)
    found: Vector = np.load(kept)
    return found


async def _embedded(embedder: Embedder, texts: Sequence[str]) -> Vector:
    await embedder.open()
    try:
        # Texts of like length go together, so that little is spent on padding.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        rows = np.zeros((len(texts), embedder.dim), dtype=np.float32)
        for start in range(0, len(order), _BATCH):
            chosen = order[start : start + _BATCH]
            rows[chosen] = await embedder.embed([texts[place] for place in chosen])
    finally:
        await embedder.close()
    return rows


def answers(
    labels: Labels, asked: Sequence[Asked], embedder: Embedder | None, cache: Path
) -> dict[str, dict[str, Answer]]:
    """A run of each arm by name: a ranking, and the same order as the context, in plain text without a fence.

    Every question is asked over what its user may read. Without an embedder the arms that need one are left out.
    """
    ids = list(labels.memories)
    texts = [labels.memories[id_].shown for id_ in ids]
    rows = vectors(embedder, [*texts, *(question.text for question in asked)], cache) if embedder else None
    tenants: dict[str, list[int]] = defaultdict(list)
    for place, id_ in enumerate(ids):
        tenants[labels.memories[id_].tenant].append(place)
    indexes = {tenant: Bm25([texts[place] for place in places]) for tenant, places in tenants.items()}
    known = {label.id: label for label in labels.questions}
    readable: dict[tuple[str, str | None], NDArray[np.bool_]] = {}
    runs: dict[str, dict[str, Answer]] = defaultdict(dict)
    for number, question in enumerate(asked):
        places = np.array(tenants.get(question.tenant, []), dtype=np.intp)
        if not len(places):
            continue
        who = question.tenant, question.user
        if who not in readable:
            own = [labels.memories[ids[place]].readable_by(known[question.id]) for place in places]
            readable[who] = np.array(own)
        words = indexes[question.tenant].scores(question.text)
        near = None if rows is None else (rows[places] @ rows[len(ids) + number]).astype(np.float64)
        ages = _ages([labels.memories[ids[place]].ts for place in places])
        for arm, scores in _arms(question.id, words, near, ages).items():
            found = np.where(readable[who], scores, -np.inf)
            order = [place for place in np.argsort(-found, kind="stable")[:_DEPTH] if np.isfinite(found[place])]
            runs[arm][question.id] = _answer([ids[places[place]] for place in order], found[order])
    return dict(runs)


def _arms(id_: str, words: Scores, near: Scores | None, ages: Scores) -> Mapping[str, Scores]:
    plain = {"recency": ages, "random": np.random.default_rng(zlib.crc32(id_.encode())).random(len(words))}
    if near is None:
        return {"bm25": words, **plain}
    return {"bm25": words, "dense": near, "rrf": fused(words, near), **plain}


def _answer(ranked: Sequence[str], scores: Scores) -> Answer:
    best = float(scores[0]) if len(scores) else -math.inf
    return Answer(ranked=tuple(ranked), best_score=best, context=tuple(ranked))


def _ages(times: Sequence[str]) -> Scores:
    """0 for the oldest, just under 1 for the newest; the later stored of equal times is the newer."""
    ages = np.empty(len(times))
    ages[np.argsort(np.array(times), kind="stable")] = np.arange(len(times)) / max(1, len(times))
    return ages
