"""A labelled folder is answered through the public interface, without a look at its labels."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mnemic.bench import kit, scorer, speed
from mnemic.bench.quality import Course, Plan, QuarterCounter, write_run
from mnemic.cli import app
from mnemic.config import load_settings

pytestmark = pytest.mark.integration

DATA = Path(__file__).parent.parent / "data" / "importers" / "kit"
HASHING: dict[str, Any] = {"embedding": {"provider": "hashing"}, "durability": "process"}


def _run(folder: Path, out: Path, **options: Any) -> Course:
    return write_run(folder, Plan(out=out, **options), settings=load_settings(overrides=HASHING))


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_each_question_gets_one_line_with_ids_of_its_own_tenant(tmp_path: Path) -> None:
    course = _run(DATA, tmp_path / "run.jsonl")
    rows = _lines(tmp_path / "run.jsonl")
    assert [row["query_id"] for row in rows] == ["kq1", "kq2", "kq3"]
    assert rows[0]["ranked"][0]["id"] == "k1"
    assert rows[1]["ranked"][0]["id"] == "k6"
    assert all(0 <= hit["score"] <= 1 for row in rows for hit in row["ranked"])
    assert all(row["best_score"] == max(hit["score"] for hit in row["ranked"]) for row in rows)
    assert (course.memories, len(course.set_aside), course.questions, course.refused) == (7, 2, 3, 0)


def test_a_context_stays_in_its_budget_counted_whole(tmp_path: Path) -> None:
    _run(DATA, tmp_path / "run.jsonl", budgets=(64, 256))
    for budget in (64, 256):
        for row in _lines(tmp_path / f"run.{budget}.jsonl"):
            assert row["budget"] == budget
            assert row["context_tokens"] == kit.tokens(row["text"]) <= budget
            assert set(row["context_ids"]) <= {hit["id"] for hit in row["ranked"]}
    assert "context_ids" not in _lines(tmp_path / "run.jsonl")[0]


def test_answers_do_not_depend_on_labels_categories_or_answers(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("memories", "queries"):
        rows = [
            {**row, "relevant": [], "relevant_label": None, "category": "x", "answer": None, "meta": _scope(row)}
            for row in _lines(DATA / f"{name}.jsonl")
        ]
        (bare / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    _run(DATA, tmp_path / "with.jsonl", budgets=(256,))
    _run(bare, tmp_path / "without.jsonl", budgets=(256,))
    for suffix in (".jsonl", ".256.jsonl"):
        assert (tmp_path / f"with{suffix}").read_text() == (tmp_path / f"without{suffix}").read_text()


def _scope(row: dict[str, Any]) -> dict[str, Any]:
    """What a memory's meta says about its class, which is part of storing it."""
    return {name: value for name, value in row["meta"].items() if name == "scope"}


def test_names_that_no_identity_may_have_are_set_aside_and_counted(tmp_path: Path) -> None:
    rows = [{"id": "a", "tenant": " padded", "text": "Tea."}, {"id": "b", "tenant": "fine", "text": "Tea."}]
    queries = [{"id": "q1", "tenant": " padded", "text": "Tea?"}, {"id": "q2", "tenant": "fine", "text": "Tea?"}]
    for name, lines in {"memories": rows, "queries": queries}.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    course = _run(tmp_path, tmp_path / "run.jsonl")
    assert (course.memories, len(course.set_aside), course.refused) == (1, 1, 1)
    assert [len(row["ranked"]) for row in _lines(tmp_path / "run.jsonl")] == [0, 1]


def test_the_command_prints_the_figures_of_the_run_that_it_wrote(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps({"runtime": {"memory_engine": HASHING}}))
    out = tmp_path / "run.jsonl"
    args = ["bench", "quality", str(DATA), "--out", str(out), "--context-tokens", "256", "--config", str(config)]
    said = CliRunner().invoke(app, [*args, "--json"])
    item = json.loads(said.stdout)["items"][0]
    scored = scorer.score(kit.labels(DATA), scorer.read_run(out))
    assert item["scores"]["ranking"]["overall"] == scored.overall
    assert item["scores"]["256"]["overall"]["over_budget"] == 0
    assert item["scores"]["256"]["counts"]["leaked_memories"] == 0
    table = CliRunner().invoke(app, [*args, "--categories"])
    assert (said.exit_code, table.exit_code) == (0, 0)
    assert "recall@10" in table.stdout
    assert "set aside 2" in table.stdout


def test_several_folders_give_one_table_and_one_figure_with_plain_methods_of_the_same_run(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps({"runtime": {"memory_engine": HASHING}}))
    table, curves = tmp_path / "quality.md", tmp_path / "curves.svg"
    other = tmp_path / "other"
    shutil.copytree(DATA, other)
    args = ["bench", "quality", str(DATA), str(other), "--out", str(tmp_path / "runs"), "--context-tokens", "512"]
    more = ["--table", str(table), "--curves", str(curves), "--label", "v9", "--config", str(config)]
    said = CliRunner().invoke(app, [*args, *more])
    assert said.exit_code == 0
    assert "gain over" in said.stdout
    page = table.read_text(encoding="utf-8")
    for name in (DATA.name, "other"):
        for arm in ("mnemic", "bm25", "dense", "rrf", "recency", "random"):
            assert f"| {name} | {arm} |" in page
    assert kit.checksum(DATA) in page
    assert "kept 4096" in page
    assert curves.read_text().startswith("<svg")
    plain = CliRunner().invoke(app, [*args, "--no-baselines", "--config", str(config), "--json"])
    assert [list(item["arms"]) for item in json.loads(plain.stdout)["items"]] == [["mnemic"], ["mnemic"]]


@pytest.mark.parametrize("text", ["", "a", "abcd", "abcde", "😀" * 9])
def test_a_prefix_of_n_tokens_counts_at_most_n(text: str) -> None:
    counter = QuarterCounter()
    for most in (-1, 0, 1, 2, 100):
        cut = counter.truncate(text, most)
        assert text.startswith(cut)
        assert counter.count(cut) <= max(0, most)
    assert counter.truncate(text, 100) == text


def test_the_speed_command_sets_each_operation_beside_its_yardstick(monkeypatch: pytest.MonkeyPatch) -> None:
    row = speed.Row(name="store", count=3, p50_ms=2.0, p95_ms=4.0, yardstick="bare commit", yardstick_ms=0.5)

    async def measured(size: int, **options: Any) -> tuple[list[speed.Row], dict[str, float]]:
        return [row], {"size": size, **options}

    monkeypatch.setattr(speed, "measure", measured)
    args = ["bench", "speed", "--memories", "100", "--durability", "process", "--seconds", "0"]
    item = json.loads(CliRunner().invoke(app, [*args, "--json"]).stdout)
    assert item["items"] == [{**asdict(row), "ratio": 4.0}]
    assert item["facts"] == {"size": 100, "durability": "process", "seconds": 0}
    monkeypatch.setattr(speed, "measure", lambda size, **_: measured(size))
    assert "bare commit  0.500    4.0" in CliRunner().invoke(app, args).stdout


@pytest.mark.parametrize("budgets", ["0", "many", "512,-1"])
def test_a_budget_that_is_none_is_refused(tmp_path: Path, budgets: str) -> None:
    args = ["bench", "quality", str(DATA), "--out", str(tmp_path / "r.jsonl"), "--context-tokens", budgets]
    said = CliRunner().invoke(app, args)
    assert said.exit_code == 2
    assert "--context-tokens" in said.stderr
