"""The question is found within what was pasted, and asking is taken out of its vector."""

import numpy as np
import pytest

from mnemic.embedders.hashing import Hashing
from mnemic.retrieval import ranking_query
from mnemic.retrieval.query import FRAME_QUESTIONS, frame_of, literals, project
from mnemic.testing import requirement
from mnemic.types import Vector


def _unit(*numbers: float) -> Vector:
    vector = np.array(numbers, dtype=np.float32)
    return vector / np.float32(np.linalg.norm(vector))


@requirement("FR-004.1")
def test_a_long_paste_is_cut_to_its_last_question() -> None:
    paste = "You are a careful helper. Is this a question? Yes. " * 10

    assert ranking_query(paste + "Where does Ada live? Thank you.") == "Where does Ada live?"


@pytest.mark.parametrize("text", ["Where does Ada live? Tell me.", "No question in here. " * 30, "?" * 300])
def test_a_short_text_and_one_without_a_question_stay_as_they_are(text: str) -> None:
    assert ranking_query(text) == text


def test_cutting_a_paste_again_changes_nothing() -> None:
    once = ranking_query("words " * 80 + "and what then?")

    assert ranking_query(once) == once


@requirement("US-004.2")
@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("where is abc-123 now", ("abc-123",)),
        ("open src/app/main.py please", ("src/app/main.py",)),
        ("mail to ada@example.org", ("ada@example.org",)),
        ("the order 4821937", ("4821937",)),
        ('who said "green tea please" to whom', ("green tea pleas",)),
        ("what is in settings.toml", ("settings.toml",)),
        ("the 3rd well-known follow-up in 2024 at 5pm", ()),
        ("what does Ada's sister drink", ()),
    ],
)
def test_literals_are_identifiers_and_quotes_and_nothing_else(asked: str, found: tuple[str, ...]) -> None:
    assert literals(asked) == found


def test_what_all_questions_share_is_taken_out() -> None:
    frame = frame_of(np.stack([_unit(5, 1, 0), _unit(5, 0, 1), _unit(5, -1, -1)]), 1)

    assert project(_unit(5, 2, 0), frame) == pytest.approx(_unit(0, 1, 0), abs=0.05)


def test_a_question_that_is_nothing_but_asking_keeps_its_vector() -> None:
    frame = np.array([[1.0, 0.0, 0.0]], dtype=np.float32)

    assert project(_unit(1, 0, 0), frame) == pytest.approx(_unit(1, 0, 0))


def test_a_frame_of_another_dimension_is_left_out() -> None:
    assert project(_unit(1, 0), np.eye(3, dtype=np.float32)) == pytest.approx(_unit(1, 0))


def test_there_is_no_frame_without_vectors_or_directions() -> None:
    assert frame_of(np.zeros((3, 4), dtype=np.float32), 3) is None
    assert frame_of(np.ones((3, 4), dtype=np.float32), 0) is None


async def test_the_frame_questions_have_vectors_to_learn_from() -> None:
    frame = frame_of(await Hashing().embed(FRAME_QUESTIONS), 3)

    assert frame is not None
    assert frame @ frame.T == pytest.approx(np.eye(3), abs=1e-5)
