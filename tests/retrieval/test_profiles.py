"""Profiles are formulas that anybody can recompute, and keep their laws."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import ConfigurationError, InvalidInputError
from mnemic.retrieval import PROFILES, Ranking, formula
from mnemic.testing import requirement

_WEIGHTS = ("weight", "late_weight", "literal_weight")
_NAMES = (
    "lexical dense late literal previous next length speaker timely recency fading importance quality explicit "
    "similarity cosine"
)
_SIGNALS = tuple(_NAMES.split())
_SHARE = st.floats(0, 1)
_PARTS = st.fixed_dictionaries(
    {**dict.fromkeys((*_SIGNALS, *_WEIGHTS), _SHARE), "moved": st.just(0.0), "passage": st.just(0.0)}
)
_NOTHING = dict.fromkeys((*_SIGNALS, *_WEIGHTS, "moved", "passage"), 0.0)


@requirement("FR-004.2", "FR-004.3", "REQ-010-018")
@pytest.mark.parametrize(
    ("profile", "parts", "expected"),
    [
        ("composite", {"cosine": 0.8, "fading": 0.5, "importance": 0.5}, 0.4 + 0.15 + 0.1),
        ("composite", {"cosine": -0.3, "fading": 1.0, "importance": 1.0}, 0.3 + 0.2),
        ("fusion", {"fading": 1.0, "similarity": 0.6, "quality": 0.5}, 0.35 + 0.27 + 0.1),
        ("priority", {"explicit": 1.0}, 102 / 203),
        ("priority", {"similarity": 0.996, "recency": 1.0}, 100.5 / 203),
        ("balanced", {"lexical": 1.0, "weight": 0.4, "length": 1.0}, 0.4 / 1.2 / 1.14),
        ("balanced", {"dense": 1.0, "weight": 0.4, "length": 0.5}, 0.3 / 1.2 / 1.14),
        ("balanced", {"late": 1.0, "late_weight": 0.5, "weight": 0.4, "length": 1.0}, 0.3 / 1.2 / 1.14),
        ("balanced", {"dense": 1.0, "late_weight": 0.5, "length": 1.0, "moved": -0.1}, 0.5 / 1.2 / 1.14 - 0.1),
        ("balanced", {"lexical": 1.0, "weight": 1.0, "length": 1.0, "speaker": 1.0}, 1.05 / 1.2 / 1.14),
        ("balanced", {"lexical": 1.0, "weight": 0.5, "next": 1.0, "length": 1.0}, (0.5 + 0.1) / 1.2 / 1.14),
        ("balanced", {"lexical": 1.0, "weight": 0.5, "literal_weight": 0.5, "length": 1.0}, 0.5 / 1.5 / 1.2 / 1.14),
        ("balanced", {"passage": 0.6, "previous": 0.5, "length": 1.0}, (0.6 + 0.05) / 1.2 / 1.14),
        ("balanced", dict.fromkeys(_SIGNALS, 1.0), 1.0),
    ],
)
def test_a_profile_gives_the_value_of_its_formula(profile: str, parts: Mapping[str, float], expected: float) -> None:
    assert formula(profile, {**_NOTHING, **parts}) == pytest.approx(expected, abs=1e-12)


@requirement("FR-004.4")
@pytest.mark.parametrize("profile", PROFILES)
@given(parts=_PARTS, name=st.sampled_from(_SIGNALS), raised=_SHARE)
def test_a_score_stays_in_range_and_never_falls_when_a_signal_rises(
    profile: str, parts: dict[str, float], name: str, raised: float
) -> None:
    before = formula(profile, parts)
    after = formula(profile, {**parts, name: max(parts[name], raised)})

    assert 0 <= before <= after + 1e-12 <= 1 + 2e-12


@requirement("FR-004.3")
@given(st.tuples(_SHARE, _SHARE), st.tuples(_SHARE, _SHARE))
def test_priority_goes_by_explicit_then_similarity_then_recency(
    one: tuple[float, float], other: tuple[float, float]
) -> None:
    def score(explicit: float, similarity: float, recency: float) -> float:
        parts = {**_NOTHING, "explicit": explicit, "similarity": similarity, "recency": recency}
        return float(formula("priority", parts))

    steps = [(round(similarity * 100), recency) for similarity, recency in (one, other)]
    assert score(1, *one) > score(0, *other)
    assert (score(0, *one) <= score(0, *other) + 1e-12) == (steps[0] <= steps[1]) or abs(one[1] - other[1]) < 1e-9


@requirement("FR-004.3")
def test_an_unknown_profile_is_refused_with_the_known_names() -> None:
    with pytest.raises(InvalidInputError, match=r"'best'.*balanced, composite, fusion, priority"):
        formula("best", _NOTHING)


@requirement("FR-004.4")
@pytest.mark.parametrize("name", ["speaker", "timely", "recency", "importance"])
def test_a_boost_above_a_tenth_is_refused(name: str) -> None:
    boost: Any = {name: 0.2}
    with pytest.raises(ConfigurationError, match=rf"ranking\.{name} is 0.2"):
        Ranking(**boost)


@pytest.mark.parametrize("wrong", [{"candidates": 0}, {"k1": 0.0}, {"smoothing": 0.6}, {"b": -0.1}])
def test_an_impossible_constant_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"ranking\."):
        Ranking(**wrong)
