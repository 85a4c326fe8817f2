"""The tokenizer in pure Python gives the original's ids."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.embedders.wordpiece import packaged_tokenizer
from mnemic.testing import requirement

pytestmark = pytest.mark.embedding
UNKNOWN = 100


@requirement("REQ-010-036")
def test_the_reference_texts_have_the_original_ids(reference_texts: list[str], reference_ids: list[list[int]]) -> None:
    tokenizer = packaged_tokenizer("all-MiniLM-L6-v2")
    assert [tokenizer.ids(text) for text in reference_texts] == reference_ids


@pytest.mark.parametrize(
    ("text", "like"),
    [
        ("Éclair\u0301", "eclair"),
        ("a\x00b\u200bc\ufffdd", "abcd"),
        ("one\u00a0two\u2028three", "one two three"),
        ("東京", "東 京"),
        ("it's", "it ' s"),
        ("[SEP]", "[ sep ]"),
        ("ΟΔΟΣ", "οδοσ"),
    ],
)
def test_texts_that_the_model_cannot_tell_apart_have_the_same_ids(text: str, like: str) -> None:
    tokenizer = packaged_tokenizer("all-MiniLM-L6-v2")
    assert tokenizer.ids(text) == tokenizer.ids(like) != []


def test_a_word_of_more_than_100_characters_is_one_unknown_token() -> None:
    tokenizer = packaged_tokenizer("all-MiniLM-L6-v2")
    assert tokenizer.ids("a" * 101) == [UNKNOWN]
    assert tokenizer.ids("\u2603") == [UNKNOWN]
    assert len(tokenizer.ids("a" * 100)) > 1


@given(text=st.text(max_size=80), limit=st.integers(min_value=0, max_value=20))
def test_a_limit_gives_the_first_ids(text: str, limit: int) -> None:
    tokenizer = packaged_tokenizer("static-minilm-256")
    assert tokenizer.ids(text, limit=limit) == tokenizer.ids(text)[:limit]
