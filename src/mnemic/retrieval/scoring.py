"""What does each channel say of each candidate? Named parts, from which a profile makes the score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

import numpy as np
import numpy.typing as npt

from mnemic.retrieval.candidates import Pair
from mnemic.retrieval.lexical import Bags, Floats, Matched, Words, holds
from mnemic.retrieval.profiles import base
from mnemic.retrieval.query import literals
from mnemic.retrieval.request import Pool, SearchRequest
from mnemic.retrieval.settings import Decay, Ranking
from mnemic.retrieval.signals import calibrate, fading, length_prior, recency_of
from mnemic.retrieval.timely import in_window
from mnemic.types import MemoryEntry
from mnemic.words import is_named, terms

__all__ = ["Scoring"]

_DEFAULT_QUALITY = 0.5
_LONG_SESSION, _SHORT_TURN = 100, 240  # turns, characters: from where on a conversation is a transcript
_FURTHER, _SHARE = 7, 0.5  # passes before the last, and what a turn before or after counts in each
Flags = npt.NDArray[np.bool_]


class Scoring:
    """Scores candidates in every channel.

    Args:
        ranking: Constants of the ranking.
        decay: How recency fades.
    """

    def __init__(self, ranking: Ranking, decay: Decay) -> None:
        self._ranking = ranking
        self._decay = decay
        self._bags = Bags()

    def alone(self, request: SearchRequest, pool: Pool, words: Words | None) -> Floats:
        """Score candidates by themselves, before anything is known of the turns around them."""
        bags = [self._bags.of(entry) for entry in pool.entries]
        matched = words.own(bags) if words else Matched.nothing(len(bags))
        mixed: Floats = base(self._mixture(request, pool, matched))
        return mixed

    def parts(self, request: SearchRequest, pool: Pool, words: Words | None, text: str) -> dict[str, Floats]:
        """Give all parts of the score, an array for each with one number for each candidate."""
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

    def _mixture(self, request: SearchRequest, pool: Pool, matched: Matched) -> dict[str, Floats]:
        """The scaled channels and the weights between them."""
        best = matched.scores.max()
        lexical = matched.scores / best if best > 0 else matched.scores
        cosine, late = pool.cosine(), pool.late()
        dense = _scaled(cosine, lexical)
        has_tokens = not np.isnan(late).all()
        weight = 1.0 if np.isnan(cosine).all() else self._lexical_weight(request, matched, cosine, late=has_tokens)
        return {
            "lexical": lexical,
            "dense": dense,
            "late": _scaled(late, dense),
            "weight": np.full(len(lexical), weight),
            "late_weight": np.full(len(lexical), self._late_weight(matched) if has_tokens else 0.0),
            "literal": np.zeros(len(lexical)),
            "literal_weight": np.zeros(len(lexical)),
            "coverage": matched.coverage,
            "cosine": cosine,
        }

    def _lexical_weight(self, request: SearchRequest, matched: Matched, cosine: Floats, *, late: bool) -> float:
        """Words weigh more the more of the question they cover, and less the surer the nearest vector is."""
        ranking = self._ranking
        found = min(1.0, float(matched.coverage.max()) / ranking.full_coverage)
        broad = min(1.0, matched.breadth / ranking.full_breadth)
        found *= ranking.single_word + (1 - ranking.single_word) * broad
        most, surety = ranking.lexical_weight, ranking.surety
        if late:
            most, surety = ranking.lexical_beside_late, ranking.surety_beside_late
        return most * found * (1 - surety * _sureness(cosine, request.model_id))

    def _late_weight(self, matched: Matched) -> float:
        """Tokens are compared word by word, so they too weigh more the more of the question is found."""
        return self._ranking.late_weight * min(1.0, float(matched.coverage.max()) / self._ranking.late_coverage)

    def _entry_parts(self, request: SearchRequest, pool: Pool, text: str) -> dict[str, Floats]:
        ranking, entries = self._ranking, pool.entries
        named = _named_speaker(entries, text)
        columns = {
            "length": [
                length_prior(len(e.content) // 4, since=ranking.length_from, power=ranking.length_power)
                for e in entries
            ],
            "speaker": [float(named is not None and e.speaker == named) for e in entries],
            "timely": [float(in_window(e, pool.interval)) for e in entries],
            "recency": [recency_of(e, request.now, self._decay) for e in entries],
            "fading": [fading(e, request.now) for e in entries],
            "importance": [e.importance for e in entries],
            "quality": [_DEFAULT_QUALITY if e.quality is None else e.quality for e in entries],
            "explicit": [float(e.pinned or e.key in request.explicit) for e in entries],
            "moved": [0.0] * len(entries),
        }
        return {name: np.array(column, dtype=np.float64) for name, column in columns.items()}


def _turn_parts(pool: Pool, pairs: Sequence[Pair], scores: Floats) -> dict[str, Floats]:
    """The scores of the turns around each entry, and what further turns add; what is no candidate counts 0."""
    known = {id(entry): place for place, entry in enumerate(pool.entries)}
    nowhere = len(pool.entries)
    before = np.array([known.get(id(earlier), nowhere) for earlier, _ in pairs])
    after = np.array([known.get(id(later), nowhere) for _, later in pairs])
    smooth = np.append(scores, 0.0)
    long = _in_transcripts(pool.entries)
    for _ in range(_FURTHER if long.any() else 0):
        passed = (smooth[:-1] + _SHARE * (smooth[before] + smooth[after])) / (1 + 2 * _SHARE)
        smooth[:-1] = np.where(long, passed, scores)
    return {"passage": smooth[:-1] - scores, "previous": smooth[before], "next": smooth[after]}


def _in_transcripts(entries: Sequence[MemoryEntry]) -> Flags:
    """Tell which turns belong to a long session of short turns, where what is sought is a passage of several."""
    lengths: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    last: dict[tuple[str, str, str], int] = {}
    sessions = [(entry.volk_id, entry.user_id, entry.session_id) for entry in entries]
    for session, entry in zip(sessions, entries, strict=True):
        if entry.turn is not None:
            lengths[session].append(len(entry.content))
            last[session] = max(last.get(session, 0), entry.turn)
    long = {
        session for session, turn in last.items() if turn >= _LONG_SESSION and median(lengths[session]) <= _SHORT_TURN
    }
    return np.array(
        [entry.turn is not None and session in long for session, entry in zip(sessions, entries, strict=True)]
    )


def _sureness(cosine: Floats, model_id: str | None) -> float:
    """How sure the nearest vector is of being right; squared, so that being likely right counts for little."""
    return calibrate(float(np.nanmax(cosine)), model_id) ** 2


def _scaled(values: Floats, otherwise: Floats) -> Floats:
    """Spread what a channel says over 0 to 1; where it says nothing yet, another one judges."""
    known = ~np.isnan(values)
    if not known.any():
        return otherwise
    low, high = values[known].min(), values[known].max()
    spread = (values - low) / (high - low) if high > low else np.ones_like(values)
    return np.where(known, spread, otherwise)


def _named_speaker(entries: Sequence[MemoryEntry], text: str) -> str | None:
    """The one speaker among the candidates whose whole name stands in the question; None for none or several."""
    asked = set(terms(text))
    named = {e.speaker for e in entries if e.speaker and is_named(e.speaker) and asked.issuperset(terms(e.speaker))}
    return named.pop() if len(named) == 1 else None
