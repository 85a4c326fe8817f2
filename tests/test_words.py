"""What counts as a word holds for every script, and for text that no person would write."""

import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.testing import requirement
from mnemic.testing.strategies import memory
from mnemic.words import index_text, is_named, only_stop_words, query_terms, terms


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("strasse", "Straße"),
        ("istanbul", "İSTANBUL"),
        ("istanbul", "ıstanbul"),
        ("naive cafe", "Naïve cafe\u0301"),
        ("smorrebrod", "smørrebrød"),
        ("שלום", "שָׁלוֹם"),
        ("محمد", "مُحَمَّد"),
        ("10", "\u0661\u0660"),
        ("abc", "\uff41\uff42\uff43"),
        ("don't", "don\u2019t"),
        ("houses", "house"),
        ("soft\u00adhyphen", "softhyphen"),
    ],
)
def test_the_same_word_in_another_spelling_is_the_same_term(asked: str, written: str) -> None:
    assert set(terms(asked)) == set(terms(written)) != set()


def test_vowel_signs_that_take_room_are_kept() -> None:
    assert terms("की") != terms("का")


@requirement("US-004.2")
@pytest.mark.parametrize(
    "name", ["src/app/main.py", "ada@example.org", "abc-123", "v1.2.3", "snake_case", "c++", "#tag", "o'brien"]
)
def test_a_joined_name_is_one_term_beside_its_parts(name: str) -> None:
    assert name in terms(f"See {name}, please.")


def test_a_part_of_a_joined_name_is_found_too() -> None:
    assert {"main", "app"} <= set(terms("src/app/main.py"))


def test_unspaced_scripts_give_single_characters_and_pairs() -> None:
    assert terms("東京都") == ["東", "京", "都", "東京", "京都"]


def test_a_word_beside_an_unspaced_script_stays_whole() -> None:
    assert terms("iPhone手机") == ["iphon", "手", "机", "手机"]


def test_emoji_and_their_joiners_are_no_words() -> None:
    assert terms("\U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f") == []


def test_repeats_are_kept() -> None:
    assert terms("no no no") == ["no", "no", "no"]


@pytest.mark.parametrize("text", ["", "\x00", "\ud800", "...", "' _ -", "\u200d", "a" * 1_000_000, "漢" * 100_000])
def test_no_text_is_too_odd(text: str) -> None:
    assert all(terms(text))


@given(st.text(alphabet=st.characters(), max_size=60))
def test_a_term_is_never_empty_and_holds_neither_space_nor_control(text: str) -> None:
    for term in terms(text):
        assert term
        assert not any(char.isspace() or unicodedata.category(char) in {"Cc", "Cs"} for char in term)


@given(st.text(max_size=30), st.text(max_size=30))
def test_a_text_between_spaces_keeps_its_terms(text: str, other: str) -> None:
    assert terms(f"{text} {other}") == terms(text) + terms(other)


def test_a_query_has_no_stop_words() -> None:
    assert query_terms("What's the name of the cat?") == ["name", "cat"]


def test_a_query_of_stop_words_alone_keeps_them() -> None:
    assert query_terms("to be or not to be") == terms("to be or not to be")
    assert only_stop_words("to be or not to be")


def test_a_telling_word_is_seen_among_stop_words() -> None:
    assert not only_stop_words("who is Ada")


def test_a_named_speaker_stands_before_the_text_with_the_date() -> None:
    said = memory("k", "I like tea.", speaker=" Ada \n B ", occurred_at=datetime(2024, 6, 3, tzinfo=UTC))

    assert index_text(said) == "[3 June 2024] Ada B: I like tea."


@pytest.mark.parametrize("speaker", [None, "", " ", "user", "Assistant", "SYSTEM"])
def test_a_role_is_no_name(speaker: str | None) -> None:
    assert not is_named(speaker)
    assert index_text(memory("k", "I like tea.", speaker=speaker)) == "I like tea."
