"""Signals keep their range and their direction."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import ConfigurationError
from mnemic.retrieval import Decay
from mnemic.retrieval.signals import age_hours, calibrate, fading, length_prior, recency, recency_of
from mnemic.testing import requirement
from mnemic.testing.strategies import START, at, memory
from mnemic.types import MemoryClassification, MemoryType

_HOURS = st.floats(-1e6, 1e6, allow_nan=False)


@requirement("FR-015")
@pytest.mark.parametrize(
    ("kind", "hours", "expected"),
    [
        (MemoryType.SHORT_TERM, 0, 1.0),
        (MemoryType.SHORT_TERM, 24, 0.525),
        (MemoryType.SHORT_TERM, 48, 0.2875),
        (MemoryType.EPISODIC, 7 * 24, 0.525),
        (MemoryType.LONG_TERM, 30 * 24, 0.525),
        (MemoryType.LONG_TERM, 60 * 24, 0.2875),
        (MemoryType.ENTITY, 90 * 24, 0.525),
        (MemoryType.PROCEDURAL, 1e6, 1.0),
        (MemoryType.SHORT_TERM, 1e6, 0.05),
        (MemoryType.LONG_TERM, -5, 1.0),
    ],
)
def test_recency_halves_with_the_half_life_of_its_type(kind: MemoryType, hours: float, expected: float) -> None:
    entry = memory("k", memory_type=kind)

    assert recency_of(entry, START + timedelta(hours=hours), Decay()) == pytest.approx(expected, abs=1e-12)


@requirement("FR-015")
@pytest.mark.parametrize("steady", [{"pinned": True}, {"classification": MemoryClassification.SYSTEM}])
def test_what_is_pinned_or_of_the_system_does_not_fade(steady: dict[str, Any]) -> None:
    assert recency_of(memory("k", **steady), at(10_000), Decay()) == 1.0


@requirement("FR-015")
@pytest.mark.parametrize(("age_from", "days"), [("occurred", 9.0), ("created", 7.0), ("last_access", 2.0)])
def test_age_counts_from_the_chosen_moment(age_from: str, days: float) -> None:
    entry = memory("k", created_at=at(3), occurred_at=at(1), last_accessed_at=at(8))

    assert age_hours(entry, at(10), age_from) == days * 24


@requirement("FR-015")
def test_age_counts_from_creation_where_no_event_is_known() -> None:
    assert age_hours(memory("k"), at(1)) == 24


@given(_HOURS, _HOURS, st.floats(0.1, 1e5), st.floats(0, 1))
def test_recency_stays_between_floor_and_one_and_never_rises_with_age(
    one: float, other: float, half_life_h: float, floor: float
) -> None:
    younger, older = sorted((one, other))
    weights = [recency(age, half_life_h=half_life_h, floor=floor) for age in (younger, older)]

    assert 1 + 1e-12 >= weights[0] >= weights[1] >= floor


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_calibration_keeps_the_order_of_cosines(one: float, other: float) -> None:
    low, high = sorted((one, other))

    assert 0 < calibrate(low, "all-MiniLM-L6-v2:0:mean:256") <= calibrate(high, "all-MiniLM-L6-v2:0:mean:256") < 1


@given(st.integers(0, 10**7))
def test_a_longer_text_never_weighs_more(tokens: int) -> None:
    weights = [length_prior(size, since=64, power=0.1) for size in (tokens, tokens + 1)]

    assert 1 >= weights[0] >= weights[1] > 0


@requirement("FR-004.3")
def test_the_seeds_decay_halves_in_69_hours_since_creation() -> None:
    entry = memory("k", occurred_at=at(-100))

    assert fading(entry, START + timedelta(hours=69)) == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("wrong", [{"age_from": "birth"}, {"floor": 1.5}, {"half_life_h": {MemoryType.ENTITY: 0.0}}])
def test_an_impossible_decay_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="decay"):
        Decay(**wrong)
