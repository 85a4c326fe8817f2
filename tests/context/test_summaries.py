"""A summary fits its budget and names where each part of it comes from."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.context import short_summary, summarize_entries
from mnemic.context.sentences import lead, sentences
from mnemic.testing import requirement
from mnemic.testing.strategies import START, at, memory
from mnemic.tokens import Tiktoken, Word
from mnemic.types import MemoryClassification, MemoryEntry, MemorySummary, SummarizationStrategy

_COUNTER = Tiktoken("cl100k")
_TOPICS = ("tea", "boats", "invoices", "gardens", "music")


def _talk(size: int = 40) -> list[MemoryEntry]:
    return [
        memory(
            f"k{n}",
            f"On day {n} we spoke of {_TOPICS[n % 5]} number {n}. Then {n * 7} birds flew. It was windy, part {n}.",
            occurred_at=START + timedelta(hours=7 * n),
            session_id=f"s{n // 10}",
            speaker="Ada" if n % 2 else None,
            importance=n / size,
            turn=n % 10,
        )
        for n in range(size)
    ]


def _summarize(entries: list[MemoryEntry], max_tokens: int = 2048, **fields: Any) -> MemorySummary:
    known = {"counter": _COUNTER, "strategy": SummarizationStrategy.RELEVANCE, "now": at(30)}
    return summarize_entries(entries, max_tokens=max_tokens, **{**known, **fields})


@requirement("REQ-010-022", "REQ-010-023", "US-005.1", "US-005.2", "TYP-007")
@given(
    strategy=st.sampled_from(SummarizationStrategy),
    max_tokens=st.integers(1, 4096),
    counter=st.sampled_from([_COUNTER, Word()]),
    extra=st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200),
)
def test_every_summary_fits_and_is_the_sum_of_its_sections(
    strategy: SummarizationStrategy, max_tokens: int, counter: Any, extra: str
) -> None:
    entries = [*_talk(), memory("odd", extra)]

    summary = _summarize(entries, max_tokens, strategy=strategy, counter=counter, query="boats " + extra)

    assert counter.count(summary.content) == summary.token_count <= max_tokens
    assert "".join(section.text for section in summary.sections) == summary.content
    assert all(section.source_keys for section in summary.sections)
    assert {key for section in summary.sections for key in section.source_keys} == set(summary.source_keys)
    assert summary.source_count == len(summary.source_keys)


@requirement("REQ-010-021")
def test_what_answers_the_query_stays_when_the_budget_shrinks() -> None:
    for budget in (60, 150, 400):
        told = _summarize(_talk(), budget, query="boats")
        about = [int(key[1:]) % 5 == 1 for key in told.source_keys]

        assert sum(about) == min(8, len(about)) > 0


@requirement("REQ-010-021", "FR-005")
def test_nearness_in_meaning_chooses_too() -> None:
    entries = _talk()

    told = _summarize(entries, 60, query="vessels", similarities={entries[7].address: 0.9, entries[2].address: 0.1})

    assert "k7" in told.source_keys
    assert "k2" not in told.source_keys


@requirement("REQ-010-021")
def test_named_keys_come_first() -> None:
    assert "k3" in _summarize(_talk(), 60, query="boats", explicit=frozenset({"k3"})).source_keys


@requirement("FR-005")
@pytest.mark.parametrize(
    ("strategy", "first"),
    [
        (SummarizationStrategy.RECENCY, "k39"),
        (SummarizationStrategy.IMPORTANCE, "k39"),
        (SummarizationStrategy.HYBRID, "k36"),
    ],
)
def test_each_strategy_chooses_by_its_measure(strategy: SummarizationStrategy, first: str) -> None:
    assert first in _summarize(_talk(), 80, strategy=strategy, query="boats number 36").source_keys


@requirement("US-005.4", "REQ-010-020")
@pytest.mark.parametrize("entries", [[], [memory("blank", "\u200b \n ")]])
def test_nothing_to_tell_gives_an_empty_summary(entries: list[MemoryEntry]) -> None:
    summary = _summarize(entries)

    told = (summary.content.strip(), summary.source_count == len(summary.source_keys), summary.classification)
    assert told[1:] == (True, MemoryClassification.PRIVATE)
    assert len(told[0]) <= 1 + len("1 January 2026:\n\u200b")


@requirement("US-005.6")
def test_the_class_is_the_strictest_of_the_sources() -> None:
    entries = [
        memory("a", "Tea is green.", classification=MemoryClassification.SYSTEM),
        memory("b", "Boats are slow.", classification=MemoryClassification.SHARED),
    ]

    assert _summarize(entries).classification is MemoryClassification.SHARED
    assert _summarize([*entries, memory("c", "Keys are hidden.")]).classification is MemoryClassification.PRIVATE


def test_what_was_said_already_is_not_said_again() -> None:
    entries = [memory("a", "Ada drinks green tea every morning."), memory("b", "Every morning Ada drinks green tea.")]

    assert _summarize(entries).source_count == 1


def test_days_stand_in_their_order_with_one_line_for_each_memory() -> None:
    entries = [
        memory("b", "Boats left. They were slow.", occurred_at=at(1)),
        memory("a", "Tea came.", occurred_at=at(0), speaker="Ada"),
        memory("c", "Music played", occurred_at=at(1.1)),
    ]

    assert _summarize(entries).content == (
        "1 January 2026:\nAda: Tea came.\n2 January 2026:\nBoats left. They were slow.\nMusic played\n"
    )


def test_equal_input_gives_an_equal_summary() -> None:
    assert _summarize(_talk(), 200, query="boats") == _summarize(_talk()[::-1], 200, query="boats")


@requirement("FR-005.2")
@given(st.integers(1, 200), st.text(alphabet="ab. \n", max_size=400))
def test_a_short_summary_keeps_its_bound(max_tokens: int, text: str) -> None:
    assert _COUNTER.count(short_summary(text, _COUNTER, max_tokens)) <= max_tokens


@requirement("FR-005.2")
def test_a_short_summary_is_made_of_central_sentences_in_their_order() -> None:
    text = "Ada plans the boat trip. Somebody sneezed. The boat trip of Ada starts in autumn. Rain fell."

    expected = "Ada plans the boat trip. The boat trip of Ada starts in autumn."
    assert short_summary(text, _COUNTER, _COUNTER.count(expected)) == expected


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=200))
def test_sentences_joined_are_the_text(text: str) -> None:
    assert "".join(sentences(text)) == text


def test_sentences_end_in_every_script() -> None:
    assert sentences("東京です。はい。") == ["東京です。", "はい。"]


def test_a_sentence_that_is_broken_by_the_bound_is_left_out() -> None:
    assert lead("One here. Two there. Three", 15) == ["One here. "]


def test_a_lone_surrogate_does_no_harm() -> None:
    assert len("".join(sentences("a \ud800. b"))) == len("a \ud800. b")
