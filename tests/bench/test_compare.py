"""Two scorers are compared figure by figure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mnemic.bench import kit, scorer
from mnemic.bench.__main__ import main

DATA = Path(__file__).parent.parent / "data" / "importers" / "kit"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    rows = [{"query_id": "kq1", "ranked": [{"id": "k1", "score": 0.9}, {"id": "k2", "score": 0.1}]}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _script(folder: Path, overall: dict[str, list[float]]) -> str:
    path = folder / "score.py"
    path.write_text(f"print({json.dumps(json.dumps({'overall': overall}))})")
    return str(path)


def test_equal_figures_end_with_0_and_others_are_named(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = scorer.score(kit.labels(DATA), scorer.read_run(run)).overall
    same = {name: [value, 0.0, 1.0] for name, value in ours.items()}
    assert main(["compare", _script(tmp_path, same), str(DATA), str(run)]) == 0
    other = {**same, "recall@10": [0.123, 0.0, 1.0]}
    assert main(["compare", _script(tmp_path, other), str(DATA), str(run)]) == 1
    assert "recall@10: here" in capsys.readouterr().out


def test_without_its_arguments_it_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "compare SCORE_PY DATA_DIR RUN" in capsys.readouterr().err
