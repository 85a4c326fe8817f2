"""The table and the curves say what the runs said."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from mnemic.bench import report
from mnemic.bench.kit import Label, Labels, Stored
from mnemic.bench.scorer import Answer

COURSE = {
    "memories": 1200,
    "set_aside": 3,
    "questions": 4,
    "refused_questions": 1,
    "search_ms_median": 1.5,
    "search_ms_p95": 2.5,
}


def _labels(questions: int, tenants: int = 1, relevant: int = 1) -> Labels:
    memories = {
        f"m{n}": Stored(
            tenant=f"t{n % tenants}", user=None, private=False, text="tea", shown="tea", ts="", tokens=100, canary=None
        )
        for n in range(max(questions, 40))
    }
    asked = tuple(
        Label(
            id=f"q{n}",
            tenant=f"t{n % tenants}",
            user=None,
            category="c",
            relevant=frozenset(f"m{(n + step * tenants) % len(memories)}" for step in range(relevant)),
            accepted=(),
            new=frozenset(),
            old=frozenset(),
        )
        for n in range(questions)
    )
    return Labels(name="set", memories=memories, questions=asked)


def _arm(name: str, labels: Labels, right: int) -> report.Arm:
    """Answers the first questions rightly, and none of the others."""
    run = {
        label.id: Answer(ranked=tuple(label.relevant) if n < right else ()) for n, label in enumerate(labels.questions)
    }
    run = {id_: replace(answer, context=answer.ranked) for id_, answer in run.items()}
    return report.arm(name, labels, run)


def _measured(labels: Labels, *arms: report.Arm) -> report.Measured:
    return report.Measured(
        name=labels.name,
        checksum="abc",
        course=COURSE,
        leaks=0,
        over_budget=0.0,
        arms=arms,
        gain=report.gain(labels, arms[0], arms[1:]),
    )


def test_the_gain_is_over_the_better_arm_with_an_interval_around_it() -> None:
    labels = _labels(20)
    arms = [_arm(name, labels, right) for name, right in (("mnemic", 15), ("bm25", 10), ("dense", 5), ("rrf", 20))]

    gain = report.gain(labels, arms[0], arms[1:])

    assert gain is not None
    assert (gain.figure, gain.better) == ("recall@10", "bm25")
    assert gain.value == pytest.approx(0.25)
    assert 0.05 <= gain.low < gain.value < gain.high <= 0.5


def test_equal_answers_gain_nothing_and_whole_tenants_are_drawn() -> None:
    labels = _labels(20, tenants=5)
    same = _arm("mnemic", labels, 10)

    gain = report.gain(labels, same, [replace(same, name="dense")])

    assert gain == report.Gain(figure="recall@10", better="dense", value=0.0, low=0.0, high=0.0)


def test_without_a_plain_arm_there_is_no_gain() -> None:
    labels = _labels(4)
    assert report.gain(labels, _arm("mnemic", labels, 2), [_arm("rrf", labels, 1)]) is None


@pytest.mark.parametrize(("relevant", "figure"), [(1, "recall@10"), (20, "p@10")])
def test_precision_is_the_figure_where_many_memories_are_right(relevant: int, figure: str) -> None:
    assert report.headline(_labels(4, relevant=relevant)) == figure


def test_the_table_names_model_label_data_unit_and_what_was_set_aside() -> None:
    labels = _labels(4)
    page = report.table(
        [_measured(labels, _arm("mnemic", labels, 3), _arm("bm25", labels, 1))], model_id="m-1", label="v9"
    )

    assert "| set | mnemic | 0.750 | 0.750 |" in page
    assert "| set | bm25 | 0.250 | 0.250 |" in page
    assert "| set | recall@10 | bm25 | +0.500 |" in page
    assert "| set | abc | 1,200 | 3 | 4 | 1 | 0 | 0.000 | 1.5 | 2.5 |" in page
    assert all(
        word in page for word in ("`m-1`", "Version: v9.", "unit is one memory", "k is 10", "quarter of a character")
    )


def test_the_kept_evidence_of_a_context_is_that_of_its_own_run() -> None:
    labels = _labels(4)
    whole = {label.id: Answer(context=tuple(label.relevant)) for label in labels.questions}
    half = {
        label.id: Answer(context=tuple(label.relevant) if n < 2 else ()) for n, label in enumerate(labels.questions)
    }

    assert report.arm("mnemic", labels, whole, {256: half, 512: whole}).kept == {256: 0.5, 512: 1.0}


def test_the_figure_is_sound_svg_with_a_line_for_each_arm_but_the_floor() -> None:
    labels = _labels(4)
    arms = [_arm(name, labels, 2) for name in ("mnemic", "bm25", "random")]

    root = ET.fromstring(report.curves([_measured(labels, *arms)] * 4))

    space = "{http://www.w3.org/2000/svg}"
    titles = [title.text or "" for title in root.findall(f".//{space}polyline/{space}title")]
    assert [title.split()[0] for title in titles] == ["mnemic", "bm25"] * 4
    assert "256: 0.500" in titles[0]
