"""Which entries share words with a query? Candidates by BM25 with the tenant's own statistics."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from mnemic.ports.storage import WordStats
from mnemic.providers.sqlite.codec import content_hash, to_us
from mnemic.providers.sqlite.readers import Reader
from mnemic.providers.sqlite.reads import by_ids, tenant_of_name
from mnemic.providers.sqlite.statements import SQL
from mnemic.providers.sqlite.where import Clause
from mnemic.types import MemoryEntry, MemoryHit
from mnemic.words import index_text, query_terms, terms

__all__ = ["search", "word_stats"]

_RAREST = 8
_MATCHED = 20_000
_K1, _B = 1.2, 0.75

Weights = dict[str, float]
Scored = tuple[MemoryEntry, float, bool]
Found = list[tuple[Any, ...]]
"""Row id, score, and whether the content is the query."""


class _Query(NamedTuple):
    """A query with the statistics of whom it is asked of."""

    text: str
    tenant: int | None
    stats: WordStats


def search(
    reader: Reader, clause: Clause, tenant: str, query: str, *, limit: int, past: Sequence[MemoryEntry] = ()
) -> list[MemoryHit]:
    """Find entries that share a term with the query, best first; the best has score 1.

    Cost follows the rows that match, so the rarest telling terms answer; all terms come in where those are too few.
    """
    id_ = tenant_of_name(reader, tenant)
    stats = word_stats(reader, id_, terms(query))
    weights = _weights(stats)
    if not weights and not past:
        return []
    telling = {term: weights[term] for term in query_terms(query) if term in weights}
    rare = _rarest(telling, stats)
    asked = _Query(query, id_, stats)
    found = _ranked(reader, clause, asked, rare, limit)
    if len(found) < limit and len(rare) < len(weights):
        found = _ranked(reader, clause, asked, weights, limit)
    entries = by_ids(reader, [row for row, _score, _equal in found])
    scored = [(entries[row], score, bool(equal)) for row, score, equal in found] + _score_past(past, stats, query)
    return _hits(scored, limit)


def _rarest(weights: Weights, stats: WordStats) -> Weights:
    """The rarest terms, as long as few enough rows match; the very rarest always."""
    chosen: Weights = {}
    matched = 0
    for term in sorted(weights, key=lambda term: (stats.rows_with[term], term))[:_RAREST]:
        matched += stats.rows_with[term]
        if chosen and matched > _MATCHED:
            break
        chosen[term] = weights[term]
    return chosen


def _score_past(past: Sequence[MemoryEntry], stats: WordStats, query: str) -> list[Scored]:
    """Score versions that are in no index by the words of now; words that now stand nowhere are the rarest."""
    weights = {**dict.fromkeys(terms(query), math.log(1 + (stats.rows + 0.5) / 0.5)), **_weights(stats)}
    scored: list[Scored] = []
    for entry in past:
        words = terms(index_text(entry))
        if shared := weights.keys() & words:
            score = sum(weights[term] for term in shared) * _length_factor(stats, len(words))
            scored.append((entry, score, content_hash(entry.content) == content_hash(query)))
    return scored


def _hits(scored: list[Scored], limit: int) -> list[MemoryHit]:
    scored.sort(key=lambda found: (not found[2], -found[1], -to_us(found[0].created_at), found[0].address))
    best = max((score for _entry, score, _equal in scored), default=1.0)
    return [
        MemoryHit.of(entry, score=1.0 if equal else score / best, channels=("text",), rank=rank)
        for rank, (entry, score, equal) in enumerate(scored[:limit], start=1)
    ]


def _length_factor(stats: WordStats, words: int) -> float:
    return (_K1 + 1) / (1 + _K1 * (1 - _B + _B * words / max(stats.average_length, 1.0)))


def word_stats(reader: Reader, tenant: int | None, terms_: Sequence[str]) -> WordStats:
    """Rows, mean length and rows per term, of one tenant."""
    rows, words = reader.db.execute(SQL["tenant_stats"], (tenant,)).fetchone() or (0, 0)
    prefix = f"{tenant}:"
    wanted = json.dumps([prefix + term for term in dict.fromkeys(terms_)], ensure_ascii=False)
    counts = reader.rows(SQL["term_counts"], (wanted,)) if rows else []
    rows_with = {**dict.fromkeys(terms_, 0), **{term.removeprefix(prefix): doc for term, doc in counts}}
    return WordStats(rows=rows, average_length=words / rows if rows else 0.0, rows_with=rows_with)


def _weights(stats: WordStats) -> Weights:
    return {term: math.log(1 + (stats.rows - n + 0.5) / (n + 0.5)) for term, n in stats.rows_with.items() if n}


def _ranked(reader: Reader, clause: Clause, query: _Query, weights: Weights, limit: int) -> Found:
    """Rows with their score (BM25 that counts a term once) and whether their content is the query itself."""
    if not weights:
        return []
    matches = {f'"{query.tenant}:{term.replace(chr(34), chr(34) * 2)}"': weight for term, weight in weights.items()}
    longer = _K1 * _B / max(query.stats.average_length, 1.0)
    values = (json.dumps(matches), _K1 + 1, 1 + _K1 * (1 - _B), longer, content_hash(query.text))
    with reader.filtered(clause.fits):
        return reader.rows(SQL["ranked"].format(clause=clause.sql), (*values, *clause.values, limit))
