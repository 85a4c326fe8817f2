"""Directives and preferences are told by their words and found whatever is asked."""

from dataclasses import replace
from typing import Any

import pytest

from mnemic.ports import MemoryFilter, Readable
from mnemic.providers.inmemory import InMemoryProvider
from mnemic.retrieval import Retriever, SearchRequest, formula
from mnemic.retrieval.lanes import DIRECTIVE, PREFERENCE, is_too_common, lane_of, reserved
from mnemic.testing import ManualClock, requirement
from mnemic.testing.strategies import TENANT, at, fill, memory
from mnemic.types import MemoryClassification, MemoryEntry, MemoryHits, Origin

_ANY = MemoryFilter()


def _said(text: str, **fields: Any) -> MemoryEntry:
    return memory("k", text, **{"role": "user", "turn": 0, "session_id": "s", **fields})


@pytest.mark.parametrize(
    "text",
    [
        "Always give distances in miles.",
        "Thanks! From now on, answer in Dutch.",
        "Please never suggest a place with stairs.",
        "Whenever I mention the boat, add the tide.",
        "Hey, when I ask about bread, give grams.",
        "We are done here, and make sure to cite the page.",
    ],
)
def test_a_directive_opens_a_sentence(text: str) -> None:
    assert lane_of(_said(text), _ANY) == DIRECTIVE


@pytest.mark.parametrize(
    "text", ["I prefer trains over planes.", "My favourite tea is sencha.", "I'm allergic to nuts."]
)
def test_a_preference_is_said_in_the_first_person(text: str) -> None:
    assert lane_of(_said(text), _ANY) == PREFERENCE


@pytest.mark.parametrize(
    "entry",
    [
        _said("The bus is always late."),
        _said("Always give miles.", role="assistant"),
        _said("Always give miles.", speaker="Ada"),
        _said("Always give miles.", turn=None),
        _said("Always give miles. " + "And then we walked on. " * 20),
        _said("Always give miles.", origin=Origin.WEB),
        _said("She prefers trains."),
    ],
)
def test_what_only_looks_like_one_stands_in_no_lane(entry: MemoryEntry) -> None:
    assert lane_of(entry, _ANY) is None


def test_what_its_writer_called_an_instruction_is_one_without_a_cue() -> None:
    assert lane_of(memory("k", "metric units", category="instruction"), _ANY) == DIRECTIVE
    assert lane_of(memory("k", "tea", category="preference"), _ANY) == PREFERENCE


def test_a_lane_holds_the_words_of_the_asking_owner_and_of_the_system() -> None:
    bob = MemoryFilter(readable_by=Readable(volk="bob"))
    entry = _said("Always give miles.")

    assert lane_of(entry, bob) is None
    assert lane_of(replace(entry, classification=MemoryClassification.SYSTEM), bob) == DIRECTIVE
    assert lane_of(replace(entry, volk_id="bob"), bob) == DIRECTIVE


def test_a_cue_that_most_texts_carry_tells_nothing() -> None:
    assert is_too_common([DIRECTIVE] * 4 + [None] * 6)
    assert not is_too_common([DIRECTIVE] * 3 + [None] * 7)
    assert not is_too_common([DIRECTIVE] * 2)


def test_the_best_directive_takes_the_tenth_place_unless_one_stands_higher() -> None:
    order = list(range(20))

    assert reserved(order, frozenset({15, 12})) == [*range(9), 12, 9, 10, 11, *range(13, 20)]
    assert reserved(order, frozenset({3, 15})) == order
    assert reserved(order, frozenset()) == order
    assert reserved(order, frozenset({40})) == order


async def _find(query: str, **fields: Any) -> MemoryHits:
    store = InMemoryProvider(clock=ManualClock(at(30)))
    talk = [
        memory(f"t{n}", f"We painted the boat in colour {n}", session_id="s", turn=2 * n, role="user")
        for n in range(30)
    ]
    rules = ["Always name the price in euros.", "I prefer paper over screens."]
    rows = [memory(f"r{n}", text, session_id="r", turn=2 * n, role="user") for n, text in enumerate(rules)]
    await fill(store, talk + rows)
    return await Retriever(store).search(SearchRequest(query=query, scope=TENANT, where=_ANY, now=at(30), **fields))


@requirement("REQ-010-018")
async def test_a_search_shows_a_directive_that_shares_nothing_with_the_question() -> None:
    hits = await _find("painted boat colour", limit=10)

    assert len(hits) == 10
    assert (hits[9].key, hits[9].channels) == ("r0", (DIRECTIVE,))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(abs(formula("balanced", hit.score_parts) - hit.score) < 1e-9 for hit in hits)


async def test_lanes_follow_beyond_the_limit_where_they_are_asked_for() -> None:
    hits = await _find("painted boat colour", limit=5, lanes=True)

    assert [hit.key for hit in hits[5:]] == ["r0", "r1"]
    assert [hit.rank for hit in hits] == list(range(1, 8))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len(await _find("painted boat colour", limit=5)) == 5
