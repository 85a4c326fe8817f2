"""Plain methods answer as their definitions say."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from mnemic.bench import kit
from mnemic.bench.baselines import ARMS, Bm25, answers, fused, vectors
from mnemic.embedders.hashing import Hashing

DATA = Path(__file__).parent.parent / "data" / "importers" / "kit"


def test_words_score_by_rarity_frequency_and_length_as_worked_out_by_hand() -> None:
    scores = Bm25(["green tea", "green garden", "boats"]).scores("The tea?")

    damping = 1.2 * (1 - 0.75 + 0.75 * 2 / (5 / 3))
    assert scores[0] == pytest.approx(math.log(1 + 2.5 / 1.5) * 2.2 / (1 + damping))
    assert list(scores[1:]) == [-np.inf, -np.inf]


def test_ranks_are_fused_and_what_an_arm_did_not_find_adds_nothing() -> None:
    found = fused(np.array([3.0, 2.0, -np.inf]), np.array([0.1, 0.3, 0.2]))

    assert found == pytest.approx([1 / 61 + 1 / 63, 1 / 62 + 1 / 61, 1 / 62])


def test_vectors_are_those_of_each_text_alone_and_kept_for_the_next_run(tmp_path: Path) -> None:
    model = Hashing()
    texts = ["a much longer text about boats", "tea"]

    first = vectors(model, texts, tmp_path)

    assert np.array_equal(first[1:], vectors(model, ["tea"], tmp_path / "alone"))
    (kept,) = tmp_path.glob("*.npy")
    np.save(kept, first + 1)
    assert np.array_equal(vectors(model, texts, tmp_path), first + 1)


def test_every_arm_answers_from_what_the_asker_may_read_newest_first_for_recency(tmp_path: Path) -> None:
    labels, asked = kit.labels(DATA), kit.questions(DATA)

    found = answers(labels, asked, Hashing(), tmp_path)

    assert tuple(found) == ARMS
    by_id = {label.id: label for label in labels.questions}
    for run in found.values():
        for id_, answer in run.items():
            assert answer.context == answer.ranked
            assert all(labels.memories[memory].readable_by(by_id[id_]) for memory in answer.ranked)
    assert found["bm25"]["kq1"].ranked[0] == "k1"
    times = [labels.memories[id_].ts for id_ in found["recency"]["kq1"].ranked]
    assert times == sorted(times, reverse=True)
    assert set(found["random"]["kq1"].ranked) == set(found["recency"]["kq1"].ranked)


def test_without_an_embedder_only_what_needs_none_answers(tmp_path: Path) -> None:
    found = answers(kit.labels(DATA), kit.questions(DATA), None, tmp_path)

    assert tuple(found) == ("bm25", "recency", "random")


def test_a_question_of_a_tenant_without_memories_has_no_answer(tmp_path: Path) -> None:
    stranger = kit.Asked(id="kq1", tenant="nobody", user=None, text="tea?", ts=None)

    assert answers(kit.labels(DATA), [stranger], None, tmp_path) == {}
