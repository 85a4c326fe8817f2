"""The statement that a question wants stands before the others about the same thing; repeats stand last."""

from typing import Any

from mnemic.ports import MemoryFilter
from mnemic.providers.inmemory import InMemoryProvider
from mnemic.retrieval import Retriever, SearchRequest, formula
from mnemic.retrieval.versions import in_order
from mnemic.testing import ManualClock, requirement
from mnemic.testing.strategies import TENANT, at, fill, memory
from mnemic.types import MemoryEntry, MemoryHits


def _facts() -> list[MemoryEntry]:
    texts = ["I live in Oslo.", "I live in Porto now.", "I live in a flat by the river, in Turin.", "The cat is grey."]
    return [memory(f"f{n}", text, role="user", occurred_at=at(5 * n)) for n, text in enumerate(texts)]


async def _find(query: str, entries: list[MemoryEntry], **fields: Any) -> MemoryHits:
    store = InMemoryProvider(clock=ManualClock(at(30)))
    await fill(store, entries)
    request = {"scope": TENANT, "where": MemoryFilter(), "now": at(30), **fields}
    return await Retriever(store).search(SearchRequest(query=query, **request))


async def test_a_question_about_now_gets_the_newest_statement_first_and_labels_the_others() -> None:
    hits = await _find("Where am I living now?", _facts())

    assert hits[0].key == "f2"
    assert "current" in hits[0].channels
    assert {hit.key for hit in hits if "superseded" in hit.channels} == {"f0", "f1"}


async def test_a_question_about_a_day_gets_what_was_valid_on_it_first() -> None:
    day = f"{at(7):%d %B %Y}"

    assert (await _find(f"Where did I live on {day}?", _facts()))[0].key == "f1"


@requirement("REQ-010-018")
async def test_what_is_put_first_has_the_highest_score_by_the_formula() -> None:
    hits = await _find("Where am I living now?", _facts())

    assert any(hit.score_parts["moved"] for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(abs(formula("balanced", hit.score_parts) - hit.score) < 1e-9 for hit in hits)


async def test_other_profiles_keep_their_order() -> None:
    hits = await _find("Where am I living now?", _facts(), profile="fusion")

    assert {hit.score_parts["moved"] for hit in hits} == {0.0}


async def test_a_repeat_goes_behind_what_is_said_once() -> None:
    same = [memory(f"r{n}", "Bake the rye bread slowly", created_at=at(n)) for n in range(3)]
    other = memory("o", "A long walk went past the rye fields of the baker")

    hits = await _find("bake rye bread", [*same, other])

    assert [hit.key for hit in hits] == ["r2", "o", "r1", "r0"]


async def test_two_speakers_with_the_same_words_do_not_repeat_each_other() -> None:
    same = [memory(name, "Bake the rye bread slowly", speaker=name) for name in ("Ada", "Grace")]

    hits = await _find("bake rye bread", [*same, memory("o", "A walk past the rye fields")])

    assert [hit.key for hit in hits][2] == "o"


def _order(query: str, *texts: str) -> tuple[int, ...]:
    """Places of texts, newer ones later, that are all as good and all alike."""
    entries = [memory(f"t{n}", text, role="user", occurred_at=at(5 * n)) for n, text in enumerate(texts)]
    scores = [1.0 - 0.01 * n for n in range(len(texts))]
    likeness = {entry.address: 0.95 for entry in entries}
    return in_order(query, entries, scores, likeness, as_of=None).places


def test_a_newer_text_without_the_words_of_the_question_does_not_go_first() -> None:
    question = "Where is the compressor?"

    assert _order(question, "The compressor is behind the shed.", "The lathe is behind the barn.")[0] == 0


def test_the_word_first_in_another_sense_does_not_put_the_oldest_text_first() -> None:
    entries = [
        memory("new", "From now on start a report with the wind.", role="user", occurred_at=at(9)),
        memory(
            "old",
            "None. We can look again when the first pilot has more than one boat.",
            role="user",
            occurred_at=at(1),
        ),
    ]
    likeness = {entry.address: 0.95 for entry in entries}

    found = in_order("What comes first in a report about a landing?", entries, [0.7, 0.6], likeness, as_of=None)

    assert found.places == (0, 1)
