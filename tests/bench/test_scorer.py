"""The scorer's figures, worked out by hand on a folder of four memories."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from mnemic.bench import kit
from mnemic.bench.scorer import Score, change, ranking, read_run, score
from mnemic.errors import InvalidInputError

MEMORIES: list[dict[str, Any]] = [
    {"id": "a", "tenant": "t", "text": "Tea is at four.", "speaker": "Ada", "meta": {"label": "tea"}},
    {"id": "b", "tenant": "t", "text": "Tea is at five now.", "speaker": "user", "meta": {"label": "tea"}},
    {"id": "c", "tenant": "t", "text": "Ida keeps bees.", "user": "u1", "meta": {"scope": "private", "canary": "x9"}},
    {"id": "d", "tenant": "other", "text": "The bees are gone.", "meta": {"canary": "y8"}},
]
QUERIES: list[dict[str, Any]] = [
    {
        "id": "when",
        "tenant": "t",
        "text": "When is tea?",
        "category": "update",
        "relevant": ["b"],
        "answer": ["at five"],
    },
    {"id": "tea", "tenant": "t", "text": "tea", "category": "topic", "relevant_label": "tea"},
    {"id": "cat", "tenant": "t", "text": "The cat's name?", "category": "never", "relevant": []},
]
UPDATES: list[dict[str, Any]] = [{"id": "when", "new": ["b"], "old": ["a"]}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, rows in {"memories": MEMORIES, "queries": QUERIES, "updates": UPDATES}.items():
        _write(tmp_path / f"{name}.jsonl", rows)
    return tmp_path


def _write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _ranked(id_: str, *ids: str, **more: Any) -> dict[str, Any]:
    return {"query_id": id_, "ranked": [{"id": i, "score": 1 / n} for n, i in enumerate(ids, start=1)], **more}


def _scored(folder: Path, *rows: dict[str, Any]) -> Score:
    return score(kit.labels(folder), read_run(_write(folder / "run.jsonl", list(rows))))


def test_the_figures_of_an_order_are_those_worked_out_by_hand() -> None:
    figures = ranking(("x", "a", "y", "b"), frozenset("abc"))
    gain = 1 / math.log2(3) + 1 / math.log2(5)
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert figures == pytest.approx(
        {
            "recall@1": 0,
            "recall@5": 2 / 3,
            "recall@10": 2 / 3,
            "recall@20": 2 / 3,
            "all@10": 0,
            "hit@10": 1,
            "ndcg@10": gain / ideal,
            "mrr@10": 1 / 2,
            "p@10": 0.2,
            "rp@10": 2 / 3,
        }
    )


def test_evidence_behind_the_tenth_place_counts_for_recall_at_twenty_alone() -> None:
    figures = ranking((*(f"x{n}" for n in range(10)), "a"), frozenset("a"))
    assert (figures["recall@10"], figures["recall@20"], figures["all@10"], figures["mrr@10"]) == (0, 1, 0, 0)


@pytest.mark.parametrize(
    ("ranked", "expected"),
    [
        (("b", "a"), (1, 1, 0, 1)),
        (("a", "b"), (1, 0, 1, 1)),
        (("b",), (1, 1, 0, 0)),
        (("a",), (0, 0, 1, 1)),
        ((), (0, 0, 0, 0)),
    ],
)
def test_the_current_fact_counts_as_first_only_before_the_one_it_replaced(
    ranked: tuple[str, ...], expected: tuple[float, ...]
) -> None:
    figures = change(ranked, frozenset("b"), frozenset("a"))
    names = ("current@10", "current_first", "stale@1", "stale@10")
    assert tuple(figures[name] for name in names) == expected


def test_a_label_stands_for_all_memories_that_have_it_in_the_tenant(folder: Path) -> None:
    labels = kit.labels(folder)
    assert labels.questions[1].relevant == {"a", "b"}


def test_means_are_taken_over_the_questions_that_have_the_figure(folder: Path) -> None:
    scored = _scored(folder, _ranked("when", "a", "b"), _ranked("tea", "a"), _ranked("cat"))
    assert scored.overall["recall@1"] == pytest.approx((0 + 1 / 2) / 2)
    assert scored.overall["answer@1"] == 0
    assert scored.overall["answer@10"] == 1
    assert scored.overall["current_first"] == 0
    assert scored.overall["empty"] == 1
    assert scored.categories["topic"]["recall@1"] == pytest.approx(0.5)
    assert scored.counts["with_evidence"] == 2


def test_a_question_without_an_answer_counts_as_answered_with_nothing(folder: Path) -> None:
    scored = _scored(folder, _ranked("tea", "a", "b"))
    assert scored.counts["missing_answers"] == 2
    assert scored.overall["recall@10"] == pytest.approx((0 + 1) / 2)


def test_abstention_asks_whether_answerable_questions_score_higher(folder: Path) -> None:
    scored = _scored(
        folder,
        _ranked("when", "b", best_score=0.9),
        _ranked("tea", "a", best_score=0.2),
        _ranked("cat", best_score=0.2),
    )
    assert scored.overall["abstention_auroc"] == pytest.approx((1 + 0.5) / 2)


def test_a_context_is_measured_as_given_and_cut_to_each_budget(folder: Path) -> None:
    row = _ranked("tea", "a", "b", context_ids=["c", "a"], context_tokens=40, budget=30)
    figures = _scored(folder, row).categories["topic"]
    # "Ada: Tea is at four." has 20 characters, "Ida keeps bees." 15: 5 and 4 tokens.
    assert figures["counted_tokens"] == 9
    assert figures["context_tokens"] == 40
    assert figures["over_budget"] == 1
    assert figures["context_evidence"] == pytest.approx(0.5)
    assert figures["context_density"] == pytest.approx(5 / 9)
    assert figures["evidence@256t"] == pytest.approx(0.5)


def test_what_no_longer_fits_a_budget_is_skipped_and_what_follows_may_fit(tmp_path: Path) -> None:
    long, short = "x" * 4 * 250, "y" * 4 * 6
    _write(tmp_path / "memories.jsonl", [{"id": i, "tenant": "t", "text": t} for i, t in (("l", long), ("s", short))])
    _write(
        tmp_path / "queries.jsonl", [{"id": "q", "tenant": "t", "text": "?", "category": "x", "relevant": ["s", "l"]}]
    )
    figures = _scored(tmp_path, _ranked("q", context_ids=["l", "s"])).overall
    assert (figures["evidence@256t"], figures["density@256t"]) == (1, 1)
    assert _scored(tmp_path, _ranked("q", context_ids=["s", "l"])).overall["evidence@256t"] == 1
    assert "over_budget" not in figures


def test_foreign_memories_and_foreign_marks_are_leaks(folder: Path) -> None:
    clean = _scored(folder, _ranked("tea", "a", context_ids=["b"], text="nothing"))
    leaking = _scored(folder, _ranked("tea", "d", context_ids=["c"], text="Ref x9 and y8"))
    assert (clean.counts["leaked_memories"], clean.counts["leaked_canaries"]) == (0, 0)
    assert (leaking.counts["leaked_memories"], leaking.counts["leaked_canaries"]) == (2, 2)


@pytest.mark.parametrize(
    "rows",
    [
        [_ranked("tea", "a", "a")],
        [_ranked("tea", "nobody")],
        [_ranked("unknown", "a")],
        [_ranked("tea", "a"), _ranked("tea", "b")],
        [{"ranked": []}],
    ],
    ids=["memory twice", "unknown memory", "unknown question", "two answers", "no question"],
)
def test_a_run_that_does_not_follow_the_format_is_refused(folder: Path, rows: list[dict[str, Any]]) -> None:
    with pytest.raises(InvalidInputError):
        _scored(folder, *rows)


def test_a_folder_without_questions_is_refused(tmp_path: Path) -> None:
    _write(tmp_path / "memories.jsonl", MEMORIES)
    with pytest.raises(InvalidInputError, match=r"queries\.jsonl"):
        kit.labels(tmp_path)
