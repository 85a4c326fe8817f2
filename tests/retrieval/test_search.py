"""A retriever finds the right memories in a store, in one order, and says why."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mnemic.errors import InvalidInputError
from mnemic.ports import MemoryFilter, Readable
from mnemic.providers.inmemory import InMemoryProvider
from mnemic.retrieval import Ranking, Retriever, SearchRequest, formula
from mnemic.testing import ManualClock, requirement
from mnemic.testing.strategies import START, TENANT, at, fill, memory, place
from mnemic.types import MemoryClassification, MemoryEntry, MemoryHits, MemoryScope, SearchMode, Vector

_MODEL = "toy:1"
_TEA = np.array([1, 0, 0, 0], dtype=np.float32)
_SEA = np.array([0, 1, 0, 0], dtype=np.float32)


@pytest.fixture
def store() -> InMemoryProvider:
    return InMemoryProvider(clock=ManualClock(at(30)))


def _toward(one: Vector, other: Vector, share: float) -> Vector:
    mixed = one * (1 - share) + other * share
    turned: Vector = (mixed / np.linalg.norm(mixed)).astype(np.float32)
    return turned


async def _keep(store: InMemoryProvider, entry: MemoryEntry, vector: Vector) -> None:
    scope = place(entry.tenant_id, entry.volk_id, entry.user_id)
    await store.store_with_embedding(scope, entry.key, replace(entry, embedding_model=_MODEL), vector)


def _request(query: str, vector: Vector | None = None, **fields: Any) -> SearchRequest:
    known = {"scope": TENANT, "where": MemoryFilter(), "now": at(30), "model_id": _MODEL}
    return SearchRequest(query=query, vector=vector, **{**known, **fields})


async def _find(store: InMemoryProvider, query: str, vector: Vector | None = None, **fields: Any) -> MemoryHits:
    return await Retriever(store).search(_request(query, vector, **fields))


def _keys(hits: MemoryHits) -> list[str]:
    return [hit.key for hit in hits]


async def _three(store: InMemoryProvider) -> None:
    await _keep(store, memory("tea", "Ada drinks green tea"), _TEA)
    await _keep(store, memory("sea", "The coast was windy"), _SEA)
    await _keep(store, memory("both", "Order abc-123 holds a lamp"), _toward(_TEA, _SEA, 0.5))


@requirement("REQ-010-015", "US-004.1")
async def test_search_by_meaning_finds_what_shares_no_word(store: InMemoryProvider) -> None:
    await _three(store)

    hits = await _find(store, "her favourite beverage", _TEA, mode=SearchMode.SEMANTIC)

    assert _keys(hits)[0] == "tea"


@requirement("REQ-010-016", "US-004.2")
async def test_hybrid_search_finds_an_identifier_whose_vector_is_far(store: InMemoryProvider) -> None:
    await _three(store)

    assert _keys(await _find(store, "abc-123", _TEA))[0] == "both"
    assert _keys(await _find(store, "something to drink", _TEA))[0] == "tea"


async def test_keyword_search_gives_only_what_shares_a_word(store: InMemoryProvider) -> None:
    await _three(store)

    assert _keys(await _find(store, "green lamp", _SEA, mode=SearchMode.KEYWORD)) == ["tea", "both"]


@requirement("FR-009")
async def test_without_a_vector_words_answer(store: InMemoryProvider) -> None:
    await _three(store)

    assert _keys(await _find(store, "the windy coast")) == ["sea"]


async def test_a_question_of_stop_words_is_answered_by_meaning(store: InMemoryProvider) -> None:
    await _three(store)

    hits = await _find(store, "what is the", _SEA)

    assert _keys(hits)[0] == "sea"
    assert all(hit.score_parts["weight"] == 0 for hit in hits)


async def test_a_question_without_any_word_is_answered_by_meaning(store: InMemoryProvider) -> None:
    await _three(store)

    assert _keys(await _find(store, "\U0001f30a", _SEA))[0] == "sea"


async def test_an_entry_without_vector_is_reached_by_its_words(store: InMemoryProvider) -> None:
    await _three(store)
    await fill(store, [memory("late", "The ferry leaves at noon")])

    hits = await _find(store, "when leaves the ferry", _SEA)

    assert _keys(hits)[0] == "late"
    assert "cosine" not in hits[0].score_parts


@requirement("REQ-010-018", "FR-004.2")
@pytest.mark.parametrize("profile", ["balanced", "composite", "fusion", "priority"])
async def test_the_score_is_the_formula_of_its_parts_and_falls_with_rank(store: InMemoryProvider, profile: str) -> None:
    await _three(store)

    hits = await _find(store, "green tea on the coast abc-123", _TEA, profile=profile)

    assert len(hits) == 3
    assert [hit.rank for hit in hits] == [1, 2, 3]
    assert all(abs(formula(profile, hit.score_parts) - hit.score) < 1e-9 for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(hit.relevance_score == hit.score for hit in hits)


@requirement("REQ-010-018", "D33")
async def test_ties_go_to_the_newer_then_by_address(store: InMemoryProvider) -> None:
    places = [("a", "bob", ""), ("b", "ada", "u"), ("a", "ada", "u"), ("z", "ada", "")]
    for key, volk, user in places:
        await fill(store, [memory(key, "green tea", volk_id=volk, user_id=user, pinned=True)])
    await fill(store, [memory("new", "green tea", created_at=at(1), pinned=True)])

    hits = await _find(store, "green tea")

    assert len({hit.score for hit in hits}) == 1
    assert [(hit.key, hit.volk_id, hit.user_id) for hit in hits] == [
        ("new", "ada", ""),
        ("z", "ada", ""),
        ("a", "ada", "u"),
        ("b", "ada", "u"),
        ("a", "bob", ""),
    ]


@requirement("US-004.5")
async def test_equal_questions_get_equal_answers(store: InMemoryProvider) -> None:
    await _three(store)
    retriever = Retriever(store)

    first, second = [await retriever.search(_request("tea by the sea", _TEA)) for _ in range(2)]

    assert first == second


@requirement("FR-004")
async def test_the_floor_acts_on_similarity_and_counts_what_it_hides(store: InMemoryProvider) -> None:
    await _three(store)

    hits = await _find(store, "beverage", _TEA, min_similarity=0.5)

    assert hits.filtered_count == 1
    assert all(hit.score_parts["similarity"] >= 0.5 for hit in hits)
    assert hits.best_score == max(hit.score_parts["similarity"] for hit in hits)


@requirement("FR-004")
async def test_similarity_is_the_larger_of_meaning_and_words(store: InMemoryProvider) -> None:
    await _three(store)

    hit = (await _find(store, "abc-123", _SEA))[0]

    assert hit.score_parts["similarity"] == pytest.approx(max(hit.score_parts["own"], 0.7), abs=0.3)
    assert hit.score_parts["similarity"] >= hit.score_parts["own"]


@requirement("REQ-010-019")
async def test_no_more_than_the_limit_comes_back(store: InMemoryProvider) -> None:
    await fill(store, [memory(f"k{number}", "green tea") for number in range(11)])

    assert len(await _find(store, "tea")) == 10
    assert len(await _find(store, "tea", limit=3)) == 3


async def test_an_unknown_profile_is_refused_before_anything_is_asked(store: InMemoryProvider) -> None:
    with pytest.raises(InvalidInputError, match="profile is 'magic'"):
        await _find(store, "tea", profile="magic")


async def test_nothing_is_found_in_an_empty_store(store: InMemoryProvider) -> None:
    hits = await _find(store, "tea", _TEA)

    assert hits == []
    assert hits.best_score == 0


async def test_vectors_of_another_model_are_counted_and_not_compared(store: InMemoryProvider) -> None:
    await _three(store)

    hits = await _find(store, "green tea", _TEA, model_id="other:1")

    assert _keys(hits) == ["tea"]
    assert hits.skipped_vectors == 1
    assert "cosine" not in hits[0].score_parts


@requirement("FR-004.3")
async def test_priority_puts_a_named_key_first(store: InMemoryProvider) -> None:
    await _three(store)

    hits = await _find(store, "green tea", _TEA, profile="priority", explicit=frozenset({"sea"}))

    assert _keys(hits) == ["sea", "tea", "both"]


def _talk(**fields: Any) -> list[MemoryEntry]:
    texts = ["What do you drink at work?", "Always the green one.", "Nice weather today."]
    return [
        memory(f"t{turn}", text, session_id="s", turn=turn, occurred_at=at(turn / 1000), **fields)
        for turn, text in enumerate(texts)
    ]


async def test_the_turn_after_the_one_that_was_found_is_found_too(store: InMemoryProvider) -> None:
    await fill(store, _talk())

    hits = await _find(store, "drink at work")

    assert _keys(hits)[:2] == ["t0", "t1"]
    assert hits[1].channels == ("turns",)
    assert hits[1].score_parts["previous"] > 0


async def test_a_turn_outside_the_filter_is_no_neighbour(store: InMemoryProvider) -> None:
    await fill(store, _talk())

    hits = await _find(store, "drink at work", where=MemoryFilter(keys=("t0", "t2")))

    assert _keys(hits) == ["t0"]


@requirement("REQ-010-017")
async def test_a_turn_outside_the_scope_neither_shows_nor_counts(store: InMemoryProvider) -> None:
    await fill(store, _talk())
    early = MemoryScope(tenant_id="t1", date_to=at(0.0005), date_field="occurred_at")
    alone = InMemoryProvider(clock=ManualClock(at(30)))
    await fill(alone, _talk()[:1])

    here, there = await _find(store, "drink at work", scope=early), await _find(alone, "drink at work")

    assert _keys(here) == _keys(there) == ["t0"]
    assert here[0].score_parts["next"] == 0


@requirement("US-004.4")
async def test_being_shared_by_name_does_not_show_the_turns_around(store: InMemoryProvider) -> None:
    talk = _talk(classification=MemoryClassification.SHARED)
    await fill(store, talk)

    guest = Readable(volk="bob", shared_uids=(talk[0].uid,))

    assert _keys(await _find(store, "drink at work", where=MemoryFilter(readable_by=guest))) == ["t0"]


async def test_neighbours_can_be_switched_off(store: InMemoryProvider) -> None:
    await fill(store, _talk())

    hits = await Retriever(store, ranking=Ranking(neighbours_of=0)).search(_request("drink at work"))

    assert _keys(hits) == ["t0"]


async def test_the_one_speaker_who_is_named_gets_a_small_boost(store: InMemoryProvider) -> None:
    await fill(store, [memory("a", "I like tea", speaker="Ada"), memory("g", "I like tea", speaker="Grace")])

    hits = await _find(store, "what tea does Grace like")

    assert [(hit.key, hit.score_parts["speaker"]) for hit in hits] == [("g", 1.0), ("a", 0.0)]


async def test_two_named_speakers_get_no_boost(store: InMemoryProvider) -> None:
    await fill(store, [memory("a", "I like tea", speaker="Ada"), memory("g", "I like tea", speaker="Grace")])

    hits = await _find(store, "do Ada and Grace like tea")

    assert {hit.score_parts["speaker"] for hit in hits} == {0.0}


async def test_an_old_version_is_compared_by_a_vector_made_for_it(store: InMemoryProvider) -> None:
    old = memory("k", "Ada lives in Oslo", valid_to=at(10))
    await _keep(store, old, _TEA)
    await _keep(store, replace(old, content="Ada lives in Rome", version=2, valid_from=at(10), valid_to=None), _TEA)
    asked: list[str] = []

    async def embed(texts: Sequence[str]) -> Vector:
        asked.extend(texts)
        return np.stack([_SEA for _ in texts])

    hits = await _find(store, "where lives Ada", _SEA, where=MemoryFilter(as_of=at(5)), embed_texts=embed)

    assert [hit.content for hit in hits] == ["Ada lives in Oslo"] == asked
    assert hits[0].score_parts["cosine"] == pytest.approx(1.0)


async def test_a_recent_memory_goes_before_an_equal_older_one_only(store: InMemoryProvider) -> None:
    await fill(store, [memory("old", "green tea", speaker="Ada"), memory("new", "green tea", created_at=at(29))])
    await fill(store, [memory("other", "a kettle for tea", created_at=at(30))])

    assert _keys(await _find(store, "green tea")) == ["new", "old", "other"]


async def test_a_long_text_yields_to_a_short_one_that_says_the_same(store: InMemoryProvider) -> None:
    await _keep(store, memory("long", "green tea " + "and much else was said " * 60, created_at=START), _TEA)
    await _keep(store, memory("short", "green tea", created_at=START), _TEA)

    assert _keys(await _find(store, "green tea", _TEA)) == ["short", "long"]


async def _meeting(first: int, text: str) -> MemoryHits:
    store = InMemoryProvider(clock=ManualClock(at(30)))
    telling = {first, first + 20, first + 21, first + 22}
    texts = [f"The budget, {text} {turn}" if turn in telling else f"{text} {turn}" for turn in range(first + 40)]
    await fill(store, [memory(f"t{turn:03}", said, session_id="s", turn=turn) for turn, said in enumerate(texts)])
    return await _find(store, "what about the budget", limit=4)


async def test_in_a_transcript_a_passage_outweighs_a_turn_that_stands_alone() -> None:
    hits = await _meeting(100, "well")

    assert hits[0].key == "t121"
    assert "t100" not in _keys(hits)
    assert all(hit.score_parts["passage"] for hit in hits)
    assert all(abs(formula("balanced", hit.score_parts) - hit.score) < 1e-9 for hit in hits)


async def test_a_short_session_and_one_of_long_turns_are_no_transcripts() -> None:
    for hits in (await _meeting(40, "well"), await _meeting(100, "well " * 60)):
        assert {hit.score_parts["passage"] for hit in hits} == {0.0}
