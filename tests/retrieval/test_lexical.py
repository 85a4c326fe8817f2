"""BM25 gives the values of its formula."""

import math

import numpy as np
import pytest

from mnemic.ports import WordStats
from mnemic.retrieval import Ranking
from mnemic.retrieval.lexical import Bags, Words, holds
from mnemic.testing.strategies import memory

_RANKING = Ranking(k1=1.2, b=0.75, neighbour_words=0.5, neighbour_terms=40)


def _words(*wanted: str, rows: int = 10, **rows_with: int) -> Words:
    return Words(wanted, WordStats(rows=rows, average_length=4.0, rows_with=rows_with), _RANKING)


def test_a_word_scores_by_rarity_frequency_and_length() -> None:
    bags = [Bags().of(memory("k", "tea tea green cup"))]

    rarity = math.log(1 + (10 - 2 + 0.5) / 2.5)
    assert _words("tea", tea=2).own(bags).scores == pytest.approx([rarity * 2 * 2.2 / (2 + 1.2)])


def test_no_text_reaches_the_highest_score() -> None:
    words = _words("tea", "cup", tea=3, cup=1)

    assert words.own([Bags().of(memory("k", "tea cup " * 500))]).scores[0] < words.highest


def test_an_unknown_word_weighs_most() -> None:
    assert _words("tea").highest > _words("tea", tea=1).highest


def test_a_term_counts_once_however_often_it_is_asked() -> None:
    assert _words("tea", "tea", tea=1).highest == _words("tea", tea=1).highest


def test_the_words_of_a_neighbour_count_half() -> None:
    bags = Bags()
    own, near = bags.of(memory("k", "cup of gold now")), bags.of(memory("n", "tea"))
    words = _words("tea", tea=1)

    scores = words.with_neighbours([own, own], [[near], []]).scores

    rarity = math.log(1 + 9.5 / 1.5)
    damping = 1.2 * (0.25 + 0.75 * 4.5 / 4)
    assert scores == pytest.approx([rarity * 0.5 * 2.2 / (0.5 + damping), 0.0])


def test_a_long_neighbour_does_not_drown_the_turn() -> None:
    bags = Bags()
    own, near = bags.of(memory("k", "cup")), bags.of(memory("n", "tea " + "word " * 400))
    words = _words("tea", tea=1)

    assert words.with_neighbours([own], [[near]]).scores[0] < 0.1 * words.highest


def test_a_store_without_statistics_gives_finite_scores() -> None:
    words = Words(["tea"], WordStats(rows=0, average_length=0.0, rows_with={"tea": 3}), _RANKING)

    assert np.isfinite(words.own([Bags().of(memory("k", "tea"))]).scores).all()


def test_long_texts_are_counted_alike_though_not_kept() -> None:
    text = "tea " * 3000

    assert Bags().of(memory("k", text)).length == 3000


@pytest.mark.parametrize(("text", "share"), [("id abc-123 here", 0.5), ("abc-1234", 0.0), ("abc-123 green tea", 1.0)])
def test_a_literal_must_stand_word_for_word(text: str, share: float) -> None:
    assert holds(memory("k", text), ("abc-123", "green tea")) == share


def test_breadth_is_what_the_best_text_holds_beyond_one_word() -> None:
    bags = [Bags().of(memory("k", text)) for text in ("tea here now then", "cup here now then", "tea cup now then")]
    words = _words("tea", "cup", tea=2, cup=2)

    assert words.own(bags[:2]).breadth == 0
    assert words.own(bags).breadth == pytest.approx(words.own(bags).coverage[0])


def test_a_question_of_one_word_is_as_broad_as_it_is_covered() -> None:
    matched = _words("tea", tea=2).own([Bags().of(memory("k", "tea"))])

    assert matched.breadth == pytest.approx(matched.coverage[0])
