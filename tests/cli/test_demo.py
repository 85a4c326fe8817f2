"""The demo runs as a newcomer runs it, with the packaged model, and finds what it asks for."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from mnemic.cli import app

pytestmark = [pytest.mark.integration, pytest.mark.timeout(90)]


@pytest.fixture(scope="module")
def shown() -> str:
    result = CliRunner().invoke(app, ["demo"])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_every_line_fits_into_eighty_columns(shown: str) -> None:
    assert max(len(line.rstrip()) for line in shown.splitlines()) <= 80


@pytest.mark.parametrize(
    "kind", ["fact", "date", "update", "preference", "identifier", "paraphrase", "as_of", "unanswerable"]
)
def test_every_kind_of_question_is_asked(shown: str, kind: str) -> None:
    assert f"({kind}" in shown


def test_most_questions_have_their_answer_on_top_and_say_why_it_was_found(shown: str) -> None:
    assert shown.count("✓") >= 10
    assert "found by words, meaning" in shown
    assert re.search(r"26 questions with an answer: the right memory first (1[8-9]|2\d) times", shown)


def test_a_packed_context_ends_it_with_its_token_count(shown: str) -> None:
    assert "<memory_context" in shown
    assert "of 300 tokens" in shown
