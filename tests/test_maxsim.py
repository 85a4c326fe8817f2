"""Packed token vectors score as plain arithmetic over them does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mnemic.maxsim import maxsim, pack_tokens, unpack_tokens
from mnemic.types import Vector

pytestmark = pytest.mark.search

DIM = 8
_tables = st.integers(1, 12).flatmap(
    lambda rows: arrays(np.float32, (rows, DIM), elements=st.floats(-1, 1, width=32, allow_subnormal=False))
)


def _plain(question: Vector, text: Vector) -> float:
    best = [max(sum(float(a) * float(b) for a, b in zip(q, t, strict=True)) for t in text) for q in question]
    return sum(best) / len(best)


@given(question=_tables, texts=st.lists(_tables, min_size=1, max_size=5))
def test_a_score_is_the_mean_of_each_question_tokens_best_product(question: Vector, texts: list[Vector]) -> None:
    packed = [pack_tokens(text) for text in texts]
    expected = [_plain(question, unpack_tokens(blob, DIM)) for blob in packed]
    np.testing.assert_allclose(maxsim(question, packed), expected, atol=1e-4)


@given(tokens=_tables)
def test_a_packed_number_is_off_by_half_a_level_of_its_token_at_most(tokens: Vector) -> None:
    packed = pack_tokens(tokens)
    assert len(packed) == len(tokens) * (DIM // 2 + 2)
    largest = np.abs(tokens).max(axis=1, keepdims=True)
    assert np.all(np.abs(unpack_tokens(packed, DIM) - tokens) <= largest / 14 * 1.01 + 1e-4)


def test_the_text_with_the_questions_own_tokens_comes_first() -> None:
    rng = np.random.default_rng(7)
    texts = [rng.normal(size=(20, 64)).astype(np.float32) for _ in range(30)]
    texts = [text / np.linalg.norm(text, axis=1, keepdims=True) for text in texts]
    scores = maxsim(texts[11][3:9], [pack_tokens(text) for text in texts])
    assert scores.argmax() == 11
    assert scores[11] > 0.98


def test_without_texts_or_without_a_question_nothing_is_alike() -> None:
    nothing = np.zeros((0, 64), np.float32)
    assert maxsim(np.ones((2, 64), np.float32), []).shape == (0,)
    assert maxsim(nothing, [pack_tokens(np.ones((3, 64), np.float32))]).tolist() == [0.0]
    assert pack_tokens(nothing) == b""
    assert unpack_tokens(b"", 64).shape == (0, 64)
