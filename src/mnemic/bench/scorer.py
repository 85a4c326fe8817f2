"""How good is a run: figures of every answer against the labels, and their means?"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mnemic.bench.kit import Label, Labels
from mnemic.errors import InvalidInputError
from mnemic.importers.draft import Rejected
from mnemic.importers.files import records

Figures = dict[str, float]

_DEPTHS = (1, 5, 10, 20)
_TOP = 10
_BUDGETS = (256, 512, 1024, 2048, 4096)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a run says to one question; ``context`` is None where the run has no contexts."""

    ranked: tuple[str, ...] = ()
    best_score: float = -math.inf
    context: tuple[str, ...] | None = None
    context_tokens: float | None = None
    budget: float | None = None
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Figures of a run: overall, by category, and the counts behind them."""

    name: str
    counts: dict[str, int]
    overall: Figures
    categories: dict[str, Figures]


def read_run(path: Path) -> dict[str, Answer]:
    """Answers of a run file by question.

    Raises:
        InvalidInputError: A line is no answer, answers twice, or names a memory twice.
    """
    run: dict[str, Answer] = {}
    for item in records(path):
        if isinstance(item, Rejected) or not isinstance(item[1].get("query_id"), str) or item[1]["query_id"] in run:
            place = item.place if isinstance(item, Rejected) else item[0]
            raise InvalidInputError(f"{path.name} {place} has no query_id, or one that was there before")
        run[item[1]["query_id"]] = _answer(item[1])
    if any(answer.context is not None for answer in run.values()):
        return {id_: _with_context(answer) for id_, answer in run.items()}
    return run


def _answer(row: Mapping[str, Any]) -> Answer:
    hits = row.get("ranked") or ()
    scores = [hit["score"] for hit in hits if hit.get("score") is not None]
    context = row.get("context_ids")
    answer = Answer(
        ranked=tuple(hit["id"] for hit in hits),
        best_score=row.get("best_score", max(scores, default=-math.inf)),
        context=None if context is None else tuple(context),
        context_tokens=row.get("context_tokens"),
        budget=row.get("budget"),
        text=row.get("text") or "",
    )
    for ids in (answer.ranked, answer.context or ()):
        if len(set(ids)) < len(ids):
            raise InvalidInputError(f"the answer to {row['query_id']!r} names a memory twice")
    return answer


def _with_context(answer: Answer) -> Answer:
    """In a run with contexts a missing one is an empty one."""
    if answer.context is not None:
        return answer
    return Answer(ranked=answer.ranked, best_score=answer.best_score, context=())


def score(labels: Labels, run: Mapping[str, Answer]) -> Score:
    """Compare a run with the labels; a question without an answer counts as answered with nothing.

    Raises:
        InvalidInputError: The run answers a question or names a memory that the folder does not have.
    """
    asked = _asked(labels, run)
    rows = [_figures(labels, label, answer) for label, answer in asked]
    groups: dict[str, list[Figures]] = {}
    for (label, _), row in zip(asked, rows, strict=True):
        if row:
            groups.setdefault(label.category, []).append(row)
    leaks = [_leaks(labels, label, answer) for label, answer in asked]
    return Score(
        name=labels.name,
        counts={
            "questions": len(rows),
            "with_evidence": sum("recall@10" in row for row in rows),
            "missing_answers": len(rows) - len(run),
            "leaked_memories": sum(memories for memories, _ in leaks),
            "leaked_canaries": sum(canaries for _, canaries in leaks),
        },
        overall=_means(rows) | _abstention(asked),
        categories={name: _means(members) for name, members in sorted(groups.items())},
    )


def by_question(labels: Labels, run: Mapping[str, Answer]) -> list[Figures]:
    """The figures of each question, in the order of the labels; none where nothing can be told."""
    return [_figures(labels, label, answer) for label, answer in _asked(labels, run)]


def _asked(labels: Labels, run: Mapping[str, Answer]) -> list[tuple[Label, Answer]]:
    _check(labels, run)
    nothing = Answer(context=() if any(answer.context is not None for answer in run.values()) else None)
    return [(label, run.get(label.id, nothing)) for label in labels.questions]


def _check(labels: Labels, run: Mapping[str, Answer]) -> None:
    known = {label.id for label in labels.questions}
    for id_, answer in run.items():
        if id_ not in known:
            raise InvalidInputError(f"{labels.name} has no question {id_!r}; score the run on its own folder")
        for memory in (*answer.ranked, *(answer.context or ())):
            if memory not in labels.memories:
                raise InvalidInputError(f"{labels.name} has no memory {memory!r}; score the run on its own folder")


def _means(rows: Sequence[Figures]) -> Figures:
    """The mean of each figure over the answers that have it."""
    columns: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    return {name: math.fsum(values) / len(values) for name, values in columns.items()}


def _figures(labels: Labels, label: Label, answer: Answer) -> Figures:
    if not label.answerable:
        return {"empty": float(not answer.ranked)}
    figures: Figures = {}
    if label.relevant:
        figures |= ranking(answer.ranked, label.relevant)
        if answer.context is not None:
            figures |= _context(labels, answer, label.relevant)
    if label.accepted and len(label.relevant) <= 1:
        texts = [labels.memories[id_].text for id_ in answer.ranked[:_TOP]]
        figures |= {"answer@1": _said(texts[:1], label.accepted), "answer@10": _said(texts, label.accepted)}
    if label.new or label.old:
        figures |= change(answer.ranked, label.new, label.old)
    return figures


def ranking(ranked: Sequence[str], relevant: frozenset[str]) -> Figures:
    """Figures of an order; ``rp@10`` is ``p@10`` over the most that was possible."""
    places = [place for place, id_ in enumerate(ranked) if id_ in relevant]
    top = [place for place in places if place < _TOP]
    possible = min(_TOP, len(relevant))
    ideal = math.fsum(_gain(place) for place in range(possible))
    return {
        **{f"recall@{depth}": sum(place < depth for place in places) / len(relevant) for depth in _DEPTHS},
        "all@10": float(len(top) == len(relevant)),
        "hit@10": float(bool(top)),
        "ndcg@10": math.fsum(_gain(place) for place in top) / ideal,
        "mrr@10": 1 / (top[0] + 1) if top else 0.0,
        "p@10": len(top) / _TOP,
        "rp@10": len(top) / possible,
    }


def _gain(place: int) -> float:
    return 1 / math.log2(place + 2)


def change(ranked: Sequence[str], new: frozenset[str], old: frozenset[str]) -> Figures:
    """Whether the fact that holds now stands before the one that it replaced."""
    nowhere = len(ranked) + _TOP
    now, before = (min((n for n, id_ in enumerate(ranked) if id_ in ids), default=nowhere) for ids in (new, old))
    return {
        "current@10": float(now < _TOP),
        "current_first": float(now < _TOP and now < before),
        "stale@1": float(before == 0),
        "stale@10": float(before < _TOP),
    }


def _said(texts: Iterable[str], accepted: Sequence[str]) -> float:
    """Whether an accepted answer stands as whole words in one of the texts."""
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(answer)}(?!\w)" for answer in accepted), re.IGNORECASE)
    return float(any(pattern.search(text) for text in texts))


def _context(labels: Labels, answer: Answer, relevant: frozenset[str]) -> Figures:
    """Evidence in the context as given and cut to each budget, its size, and whether it is over its budget."""
    ids = answer.context or ()
    figures = {f"context_{name}": value for name, value in _kept(labels, ids, relevant).items()}
    for budget in _BUDGETS:
        kept: list[str] = []
        left = budget
        for id_ in ids:
            if (size := labels.memories[id_].tokens) <= left:
                kept.append(id_)
                left -= size
        figures |= {f"{name}@{budget}t": value for name, value in _kept(labels, kept, relevant).items()}
    counted = sum(labels.memories[id_].tokens for id_ in ids)
    declared = counted if answer.context_tokens is None else answer.context_tokens
    figures |= {"context_tokens": float(declared), "counted_tokens": float(counted)}
    return figures if answer.budget is None else {**figures, "over_budget": float(declared > answer.budget)}


def _kept(labels: Labels, ids: Sequence[str], relevant: frozenset[str]) -> Figures:
    evidence = [id_ for id_ in ids if id_ in relevant]
    size, useful = (sum(labels.memories[id_].tokens for id_ in group) for group in (ids, evidence))
    return {
        "evidence": len(evidence) / len(relevant),
        "all_evidence": float(len(evidence) == len(relevant)),
        "density": useful / size if size else 0.0,
    }


def _abstention(asked: Sequence[tuple[Label, Answer]]) -> Figures:
    """How often an answerable question has the higher best score; ties count half."""
    judged = [(label, answer.best_score) for label, answer in asked if label.relevant or not label.answerable]
    with_answer = [best for label, best in judged if label.answerable]
    without = [best for label, best in judged if not label.answerable]
    if not without or not any(answer.best_score > -math.inf for _, answer in asked):
        return {}
    return {"abstention_auroc": _auroc(with_answer, without)}


def _auroc(higher: Sequence[float], lower: Sequence[float]) -> float:
    if not higher:
        return math.nan
    wins = sum((a > b) + (a == b) / 2 for a in higher for b in lower)
    return wins / (len(higher) * len(lower))


def _leaks(labels: Labels, label: Label, answer: Answer) -> tuple[int, int]:
    """Memories and planted marks of others that came back."""
    returned = {*answer.ranked, *(answer.context or ())}
    memories = sum(not labels.memories[id_].readable_by(label) for id_ in returned)
    if not answer.text:
        return memories, 0
    foreign = (m for m in labels.memories.values() if m.canary and not m.readable_by(label))
    return memories, sum(bool(m.canary and m.canary in answer.text) for m in foreign)
