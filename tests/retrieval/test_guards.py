"""Facts are compared before likeness."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.retrieval.guards import Relation, facts_of, relation, same_facts

pytestmark = pytest.mark.edge_cases


def _relation(a: str, b: str, cosine: float | None) -> Relation:
    return relation(facts_of(a), facts_of(b), cosine)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The ferry leaves at 7.", "The ferry leaves at 8."),
        ("I still sing in the band.", "I no longer sing in the band."),
        ("We met Ada at the quay.", "We met Bo at the quay."),
        ("The review is on Monday.", "The review is on Friday."),
        ("I work as a baker.", "I work as a welder."),
        ("The parcel weighs 3 kg.", "The parcel weighs 3 g."),
    ],
)
def test_one_fact_that_differs_keeps_like_texts_apart(a: str, b: str) -> None:
    assert not same_facts(facts_of(a), facts_of(b))
    assert _relation(a, b, 0.99) is not Relation.DUPLICATE


def test_fillers_case_and_blanks_do_not_tell_texts_apart() -> None:
    assert _relation("I drive a blue van.", "By the way,  I DRIVE a blue van!", None) is Relation.DUPLICATE


def test_another_wording_of_the_same_value_is_a_duplicate() -> None:
    assert _relation("I live in Porto.", "My home is in Porto.", 0.8) is Relation.DUPLICATE


def test_another_value_of_one_attribute_is_an_update() -> None:
    assert _relation("I live in Porto.", "I moved to Lisbon.", 0.6) is Relation.UPDATE


def test_what_is_only_imagined_updates_nothing() -> None:
    assert _relation("I live in Porto.", "I wonder what it is like to live in Lisbon.", 0.6) is Relation.COMPATIBLE


def test_texts_about_different_things_are_unrelated() -> None:
    assert _relation("I live in Porto.", "The printer is out of ink.", 0.1) is Relation.UNRELATED


@given(st.text(), st.text(), st.none() | st.floats(-1, 1))
def test_any_two_texts_have_a_relation(a: str, b: str, cosine: float | None) -> None:
    assert _relation(a, b, cosine) in set(Relation)


@pytest.mark.parametrize("unit", ["a", "I live in Porto. ", "my ", "9:", "\"'", "The of is "])
def test_a_megabyte_is_read_within_the_time_limit(unit: str) -> None:
    assert not facts_of(unit * (1_000_000 // len(unit))).whole
