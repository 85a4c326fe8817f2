"""By what formula do named parts become a score?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from mnemic.errors import InvalidInputError
from mnemic.retrieval.settings import Ranking

__all__ = ["PROFILES", "base", "check_profile", "formula"]

_DEFAULTS = Ranking()
_BOOSTS = ("speaker", "timely", "recency", "importance")
_STEP = 100  # similarity counts in hundredths where recency decides between near equals
Parts = Mapping[str, Any]
"""Numbers, or arrays with one number for each hit."""


def formula(profile: str, parts: Parts, ranking: Ranking = _DEFAULTS) -> Any:
    """Compute the score of a profile from its parts.

    Args:
        profile: A name of ``PROFILES``.
        parts: What ``score_parts`` of a hit holds, or arrays of it.
        ranking: The constants in force.

    Returns:
        The score in [0, 1]; an array where the parts are arrays.

    Raises:
        InvalidInputError: There is no such profile.
    """
    return PROFILES[check_profile(profile)](parts, ranking)


def check_profile(profile: str) -> str:
    """Refuse a name that no profile has."""
    if profile not in PROFILES:
        raise InvalidInputError(f"profile is {profile!r}; choose one of {', '.join(PROFILES)}")
    return profile


def _balanced(parts: Parts, ranking: Ranking) -> Any:
    around = parts["previous"] + parts["next"]
    found = (base(parts) + parts["passage"] + ranking.smoothing * around) / (1 + 2 * ranking.smoothing)
    boosts = {name: getattr(ranking, name) for name in _BOOSTS}
    gained = sum(weight * parts[name] for name, weight in boosts.items())
    return found * parts["length"] * (1 + gained) / (1 + sum(boosts.values())) + parts["moved"]


def base(parts: Parts) -> Any:
    """What words, meaning and literal matches give before neighbours, length and boosts."""
    meant = (1 - parts["late_weight"]) * parts["dense"] + parts["late_weight"] * parts["late"]
    mixed = parts["weight"] * parts["lexical"] + (1 - parts["weight"]) * meant
    return (mixed + parts["literal_weight"] * parts["literal"]) / (1 + parts["literal_weight"])


def _composite(parts: Parts, ranking: Ranking) -> Any:
    return (
        0.5 * np.maximum(0.0, np.nan_to_num(parts.get("cosine", 0.0)))
        + 0.3 * parts["fading"]
        + 0.2 * parts["importance"]
    )


def _fusion(parts: Parts, ranking: Ranking) -> Any:
    return 0.35 * parts["fading"] + 0.45 * parts["similarity"] + 0.20 * parts["quality"]


def _priority(parts: Parts, ranking: Ranking) -> Any:
    # Lexicographic in one number: a step of similarity outweighs all recency, being explicit outweighs all else.
    steps = np.round(parts["similarity"] * _STEP)
    return (parts["explicit"] * (_STEP + 2) + steps + parts["recency"] / 2) / (2 * _STEP + 3)


PROFILES: Mapping[str, Callable[[Parts, Ranking], Any]] = MappingProxyType(
    {"balanced": _balanced, "composite": _composite, "fusion": _fusion, "priority": _priority}
)
