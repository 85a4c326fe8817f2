"""Sentences give slots, questions an attitude to time, and both the order of versions."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.retrieval.moods import Certainty, Tense
from mnemic.retrieval.questions import Attitude, asked
from mnemic.retrieval.slots import SELF, slots_of
from mnemic.retrieval.updates import Hit, Label, Order, order_updates
from mnemic.testing import requirement
from mnemic.words import query_terms

pytestmark = pytest.mark.search


@pytest.mark.parametrize("text", ["I moved to Lisbon.", "I live in Lisbon now.", "Lisbon is home these days."])
def test_wordings_of_one_attribute_meet_in_one_slot(text: str) -> None:
    slot = slots_of(text)[-1]
    assert (slot.subject, slot.attribute, slot.value) == (SELF, "residence", "lisbon")


@pytest.mark.parametrize(
    ("text", "certainty"),
    [
        ("Maybe I could live in Bonn.", Certainty.HYPOTHETICAL),
        ("I plan to live in Bonn.", Certainty.PLANNED),
        ("I no longer live in Bonn.", Certainty.NEGATED),
        ('Ada told me: "I live in Bonn."', Certainty.REPORTED),
    ],
)
def test_a_statement_keeps_how_it_is_meant(text: str, certainty: Certainty) -> None:
    assert {slot.certainty for slot in slots_of(text)} == {certainty}


def test_a_contrast_has_both_tenses() -> None:
    found = slots_of("I used to live in Bonn but now I live in Graz.")
    assert {(slot.value, slot.tense) for slot in found if slot.attribute} == {
        ("bonn", Tense.PAST),
        ("graz", Tense.NOW),
    }


def test_a_friend_has_slots_of_their_own() -> None:
    assert slots_of("My friend Rita moved to Bonn.")[-1].subject == "rita"


@pytest.mark.parametrize(
    ("query", "attitude"),
    [
        ("Where am I living now?", Attitude.NOW),
        ("Where did I live before?", Attitude.PAST),
        ("Where did I live at first?", Attitude.FIRST),
        ("Where did I live on 3 May 2024?", Attitude.AS_OF),
        ("List all the towns I lived in.", Attitude.HISTORY),
        ("When did I move to Graz?", Attitude.WHEN),
        ("Did I ever live in Rome?", Attitude.NEVER),
        ("Where do I live?", Attitude.PLAIN),
    ],
)
def test_a_question_tells_which_time_it_means(query: str, attitude: Attitude) -> None:
    assert asked(query).attitude is attitude


def _ordered(query: str, *texts: str, as_of: datetime | None = None) -> Order:
    hits = [
        Hit(
            1 - place / 10, 0.9, datetime(2025, int(month), 1, tzinfo=UTC), slots_of(text), frozenset(query_terms(text))
        )
        for place, (month, text) in enumerate(entry.split("|") for entry in texts)
    ]
    return order_updates(hits, asked(query), as_of=as_of)


_MOVES = ("1|I live in Bonn.", "2|The printer is out of ink.", "5|I moved to Graz.", "9|Maybe I could live in Rome.")


@requirement("REQ-010-018")
def test_the_current_fact_comes_first_and_the_older_is_labelled() -> None:
    order = _ordered("Where am I living now?", *_MOVES)
    assert order.places[0] == 2
    assert order.labels == (Label.SUPERSEDED, Label.NONE, Label.CURRENT, Label.NONE)


@pytest.mark.parametrize("query", ["Where did I live before Graz?", "Where did I live at first?"])
def test_a_question_about_the_past_gets_the_older_fact(query: str) -> None:
    assert _ordered(query, *reversed(_MOVES[:3])).places[0] == 2


def test_a_date_gets_the_fact_of_its_time() -> None:
    when = datetime(2025, 3, 1, tzinfo=UTC)
    assert _ordered("Where did I live on 1 March 2025?", _MOVES[2], _MOVES[0], as_of=when).places == (1, 0)


def test_hobbies_replace_one_another_never() -> None:
    order = _ordered("What are my hobbies now?", "1|Archery is a hobby of mine.", "2|Rowing is a hobby of mine.")
    assert order.places == (0, 1)


@given(st.lists(st.tuples(st.text(), st.floats(0, 1), st.floats(-1, 1)), max_size=30), st.text())
def test_any_hits_are_only_reordered(found: list[tuple[str, float, float]], query: str) -> None:
    hits = [Hit(score, cosine, None, slots_of(text), frozenset(query_terms(text))) for text, score, cosine in found]
    order = order_updates(hits, asked(query))
    assert sorted(order.places) == list(range(len(hits)))
    assert len(order.labels) == len(hits)


@pytest.mark.parametrize("unit", ["a", "I live in Porto. ", "my ", "'s ", "The of is ", "(", "A. "])
def test_a_megabyte_is_read_within_the_time_limit(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    assert len(slots_of(text)) <= 24
    assert asked(text).attitude in set(Attitude)
