"""What do memories say in few words? Their own best sentences, each traced to its memory (FR-005)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from mnemic.context.fence import when
from mnemic.context.sentences import lead
from mnemic.ports import ITokenCounter
from mnemic.types import (
    Address,
    MemoryClassification,
    MemoryEntry,
    MemorySummary,
    SummarizationStrategy,
    SummarySection,
)
from mnemic.words import day_of, is_named, query_terms

__all__ = ["short_summary", "summarize_entries"]

_STRICTEST = (MemoryClassification.PRIVATE, MemoryClassification.SHARED, MemoryClassification.SYSTEM)
_READ_CHARS = 8192  # of one memory; what says it later than that is no sentence of a summary
_SHORT_TOKENS = 64
_DAY_S = 86_400.0
_RECENCY_DAYS = 30.0
_REPEAT = 0.7  # a sentence of which so many words were said already says nothing new
_RELEVANT = 0.5  # what fills a gap must be worth this share of what did not fit
_FIRST_SENTENCE = 0.1
_ON_TOPIC = 0.3
_CENTRAL = 0.3  # for the sentence whose words are said most
_SMOOTHED = 5  # words that every sentence is taken to have more, so that the shortest are not the most central
_EXPLICIT = 10.0


@dataclass(frozen=True, slots=True)
class _Sentence:
    entry: MemoryEntry
    place: int
    text: str
    words: frozenset[str]


def summarize_entries(
    entries: Sequence[MemoryEntry],
    *,
    counter: ITokenCounter,
    max_tokens: int,
    strategy: SummarizationStrategy,
    now: datetime,
    query: str = "",
    similarities: Mapping[Address, float] | None = None,
    explicit: frozenset[str] = frozenset(),
) -> MemorySummary:
    """Choose the sentences that say most about the context within a token budget.

    Args:
        entries: What may be told.
        counter: Counts the tokens.
        max_tokens: The most that ``content`` may have.
        strategy: By what entries are chosen.
        now: The moment of asking.
        query: What the summary is for.
        similarities: How near each entry is to the query, where that is known; else its words tell.
        explicit: Keys that come first.

    Returns:
        The summary; ``content`` is its sections joined without anything between, a day's with its date.
    """
    found = [sentence for entry in entries for sentence in _sentences(entry)]
    asked = frozenset(query_terms(query))
    worth = _Worth(strategy, asked, similarities or {}, now, found)
    scored = {
        id(sentence): worth.of(sentence) + (_EXPLICIT if sentence.entry.key in explicit else 0.0) for sentence in found
    }
    order = sorted(found, key=lambda s: (-scored[id(s)], -when(s.entry).timestamp(), s.entry.address, s.place))
    chosen = _choose([(sentence, scored[id(sentence)]) for sentence in order], counter, max_tokens)
    sections = _fitting_sections(chosen, counter, max_tokens) or _fragment(order, counter, max_tokens)
    content = "".join(section.text for section in sections)
    told = {key for section in sections for key in section.source_keys}
    sources = {s.entry.address: s.entry for s in (*chosen, *order[:1]) if s.entry.key in told}
    return MemorySummary(
        content=content,
        token_count=counter.count(content),
        source_count=len(sources),
        source_keys=tuple(entry.key for entry in sorted(sources.values(), key=_by_time)),
        strategy=strategy,
        created_at=now,
        sections=tuple(sections),
        classification=_strictest(sources.values()),
    )


def short_summary(text: str, counter: ITokenCounter, max_tokens: int = _SHORT_TOKENS) -> str:
    """Tell a long text in its own most central sentences, at most ``max_tokens`` of them, in their order."""
    pieces = [(place, " ".join(piece.split())) for place, piece in enumerate(lead(text, _READ_CHARS))]
    bags = {place: frozenset(query_terms(piece)) for place, piece in pieces if piece}
    common = Counter(word for words in bags.values() for word in words)

    def central(place: int) -> float:
        words = bags[place]
        return sum(common[word] for word in words) / (len(words) + _SMOOTHED) / (1 + 0.1 * place)

    kept: list[int] = []
    texts = dict(pieces)
    for place in sorted(bags, key=lambda place: (-central(place), place)):
        told = " ".join(texts[other] for other in sorted([*kept, place]))
        if counter.count(told) <= max_tokens:
            kept.append(place)
    return " ".join(texts[place] for place in sorted(kept)) or _whole_words(text, counter, max_tokens)


def _sentences(entry: MemoryEntry) -> Iterable[_Sentence]:
    for place, piece in enumerate(lead(entry.content, _READ_CHARS)):
        text = " ".join(piece.split())
        if text:
            yield _Sentence(entry, place, text, frozenset(query_terms(text)))


class _Worth:
    """What a sentence is worth: its entry by the strategy, then its words, then its place."""

    def __init__(
        self,
        strategy: SummarizationStrategy,
        asked: frozenset[str],
        similarities: Mapping[Address, float],
        now: datetime,
        found: Sequence[_Sentence],
    ) -> None:
        self._strategy, self._asked, self._now = strategy, asked, now
        self._similar = similarities if any(similarities.values()) else {}
        # A word of the question that is everywhere tells nothing.
        common = Counter(word for sentence in found for word in sentence.words & asked)
        self._weights = {word: 1 / (1 + common[word]) for word in asked}
        self._all = sum(self._weights.values()) or 1.0
        said = Counter(word for sentence in found for word in sentence.words)
        central = [sum(said[word] for word in s.words) / (len(s.words) + _SMOOTHED) for s in found]
        most = max(central, default=0.0) or 1.0
        self._central = {id(sentence): value / most for sentence, value in zip(found, central, strict=True)}
        entries = {sentence.entry.address: sentence for sentence in found}
        self._said = {address: self._overlap(sentence.words) for address, sentence in entries.items()}
        for sentence in found:
            self._said[sentence.entry.address] = max(self._said[sentence.entry.address], self._overlap(sentence.words))

    def of(self, sentence: _Sentence) -> float:
        entry = sentence.entry
        place = _FIRST_SENTENCE / (1 + sentence.place)
        said = _ON_TOPIC * self._overlap(sentence.words) + _CENTRAL * self._central[id(sentence)]
        return self._entry(entry) + said + place

    def _entry(self, entry: MemoryEntry) -> float:
        match self._strategy:
            case SummarizationStrategy.RECENCY:
                return self._recency(entry)
            case SummarizationStrategy.IMPORTANCE:
                return entry.importance
            case SummarizationStrategy.RELEVANCE:
                return self._relevance(entry)
            case _:
                return 0.8 * self._relevance(entry) + 0.1 * self._recency(entry) + 0.1 * entry.importance

    def _relevance(self, entry: MemoryEntry) -> float:
        said = self._said[entry.address]
        return (said + max(0.0, self._similar.get(entry.address, 0.0))) / 2 if self._similar else said

    def _recency(self, entry: MemoryEntry) -> float:
        return 1 / (1 + max(0.0, (self._now - when(entry)).total_seconds()) / _DAY_S / _RECENCY_DAYS)

    def _overlap(self, words: frozenset[str]) -> float:
        return sum(self._weights[word] for word in words & self._asked) / self._all


def _choose(order: Sequence[tuple[_Sentence, float]], counter: ITokenCounter, max_tokens: int) -> list[_Sentence]:
    """Take the best that are new and fit; after the first gap only what is about as good fills it."""
    chosen: list[_Sentence] = []
    said: set[str] = set()
    headings: set[str] = set()
    rest, floor = max_tokens, 0.0
    for sentence, score in order:
        if rest <= 0 or score < floor:
            break
        if sentence.words and len(sentence.words & said) >= _REPEAT * len(sentence.words):
            continue
        heading = _heading(sentence.entry)
        cost = counter.count(_told(sentence) + "\n") + (0 if heading in headings else counter.count(heading))
        if cost > rest:
            floor = max(floor, _RELEVANT * score)
            continue
        rest -= cost
        headings.add(heading)
        said |= sentence.words
        chosen.append(sentence)
    return chosen


def _fitting_sections(chosen: list[_Sentence], counter: ITokenCounter, max_tokens: int) -> list[SummarySection]:
    # Costs were summed sentence by sentence; the whole is recounted, and the least worthy goes until it fits.
    while chosen:
        sections = _sections(chosen)
        if counter.count("".join(section.text for section in sections)) <= max_tokens:
            return sections
        chosen.pop()
    return []


def _sections(chosen: Sequence[_Sentence]) -> list[SummarySection]:
    """One section for each day, one line for each memory of it."""
    ordered = sorted(chosen, key=lambda sentence: (*_by_time(sentence.entry), sentence.place))
    sections: list[SummarySection] = []
    for heading, day in groupby(ordered, key=lambda sentence: _heading(sentence.entry)):
        memories = [list(told) for _, told in groupby(day, key=lambda sentence: sentence.entry.address)]
        lines = [" ".join(map(_told, told)) for told in memories]
        keys = tuple(dict.fromkeys(told[0].entry.key for told in memories))
        sections.append(SummarySection(text=heading + "\n".join(lines) + "\n", source_keys=keys))
    return sections


def _fragment(order: Sequence[_Sentence], counter: ITokenCounter, max_tokens: int) -> list[SummarySection]:
    """Where no whole sentence fits, the beginning of the best."""
    for sentence in order[:1]:
        text = _whole_words(sentence.text, counter, max_tokens)
        return [SummarySection(text=text, source_keys=(sentence.entry.key,))] if text else []
    return []


def _whole_words(text: str, counter: ITokenCounter, max_tokens: int) -> str:
    cut = counter.truncate(text, max_tokens)
    whole = cut.rsplit(None, 1)[0] if len(cut) < len(text) and " " in cut.strip() else cut
    return whole.strip() if counter.count(whole.strip()) <= max_tokens else ""


def _heading(entry: MemoryEntry) -> str:
    return f"{day_of(entry)}:\n"


def _told(sentence: _Sentence) -> str:
    speaker = sentence.entry.speaker
    return f"{speaker}: {sentence.text}" if is_named(speaker) and sentence.place == 0 else sentence.text


def _by_time(entry: MemoryEntry) -> tuple[datetime, str, int, Address]:
    return when(entry), entry.session_id, -1 if entry.turn is None else entry.turn, entry.address


def _strictest(entries: Iterable[MemoryEntry]) -> MemoryClassification:
    return min((entry.classification for entry in entries), key=_STRICTEST.index, default=MemoryClassification.PRIVATE)
