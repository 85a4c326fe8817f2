"""A date in the question brings candidates from all of its time and a small boost, and hides nothing."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from mnemic.ports import MemoryFilter
from mnemic.providers.inmemory import InMemoryProvider
from mnemic.retrieval import Ranking, Retriever, SearchRequest
from mnemic.retrieval.dates import Interval
from mnemic.retrieval.timely import in_window, of_window
from mnemic.testing import ManualClock, requirement
from mnemic.testing.strategies import TENANT, at, fill, memory
from mnemic.types import MemoryEntry, MemoryHits, MemoryScope

_WINDOW = Interval(at(0), at(8))


async def _days(count: int = 20, each: int = 1) -> InMemoryProvider:
    store = InMemoryProvider(clock=ManualClock(at(60)))
    rows = [
        memory(f"d{day:02}-{n}", f"Note {day} {n}", occurred_at=at(day + n / 100))
        for day in range(count)
        for n in range(each)
    ]
    await fill(store, rows)
    return store


async def _found(store: InMemoryProvider, interval: Interval | None, scope: MemoryScope = TENANT) -> list[str]:
    return sorted({entry.key for entry in await of_window(store, scope, MemoryFilter(), interval)})


async def test_each_part_of_the_window_gives_some() -> None:
    found = await _found(await _days(each=9), _WINDOW)

    assert {key[:3] for key in found} == {f"d{day:02}" for day in range(8)}
    assert len(found) == 8 * 4


async def test_an_open_window_gives_the_newest_of_it() -> None:
    assert await _found(await _days(), Interval(at(17.5), None)) == ["d18-0", "d19-0"]
    assert await _found(await _days(), Interval(None, at(2))) == ["d00-0", "d01-0"]


async def test_the_scope_narrows_the_window() -> None:
    scope = replace(TENANT, date_field="occurred_at", date_from=at(3), date_to=at(4))
    store = await _days()

    assert await _found(store, _WINDOW, scope) == ["d03-0", "d04-0"]
    assert await _found(store, _WINDOW, replace(scope, date_from=at(9), date_to=None)) == []
    assert await _found(store, _WINDOW, replace(scope, date_field="created_at")) == []
    assert await _found(store, None) == []


def test_what_has_no_time_of_its_event_lies_in_no_window() -> None:
    entry = memory("k", "Note", occurred_at=at(8))

    assert in_window(replace(entry, occurred_at=at(0)), _WINDOW)
    assert not in_window(entry, _WINDOW)
    assert not in_window(replace(entry, occurred_at=None), _WINDOW)
    assert not in_window(entry, None)


def _walks() -> list[MemoryEntry]:
    texts = ["We walked to the harbour", "We walked to the harbour again", "Soup with leeks"]
    return [memory(f"w{n}", text, occurred_at=at(n * 40)) for n, text in enumerate(texts)]


async def _find(query: str, ranking: Ranking | None = None, **fields: Any) -> MemoryHits:
    store = InMemoryProvider(clock=ManualClock(at(90)))
    await fill(store, _walks())
    request = SearchRequest(query=query, scope=TENANT, where=MemoryFilter(), now=at(90), **fields)
    return await Retriever(store, ranking=ranking).search(request)


@requirement("FR-004.4")
async def test_a_date_lifts_what_happened_then_a_little_and_hides_nothing() -> None:
    day = f"{at(40) + timedelta(hours=1):%d %B %Y}"
    dated, plain = await _find(f"walked to the harbour on {day}"), await _find("walked to the harbour")

    assert {hit.key: hit.score_parts["timely"] for hit in dated} == {"w0": 0.0, "w1": 1.0}
    assert {hit.score_parts["timely"] for hit in plain} == {0.0}


async def test_what_shares_no_word_is_found_by_its_day() -> None:
    day = f"{at(80) + timedelta(hours=1):%d %B %Y}"

    assert ("w2", ("time",)) in [(hit.key, hit.channels) for hit in await _find(f"what did we eat on {day}")]
