"""What does one signal say about one memory? Pure functions of age, length and similarity."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from mnemic.retrieval.settings import Decay
from mnemic.types import MemoryClassification, MemoryEntry, MemoryType

__all__ = ["age_hours", "calibrate", "fading", "length_prior", "recency", "recency_of"]

_HOUR_S = 3600.0
_FADING_H = 69.0
# Slope and middle of a logistic curve: at the middle a hit is relevant as often as not. Fitted on pairs of question and
# candidate; how, and on what, stands in benchmarks/quality.md.
_CURVES: Mapping[str, tuple[float, float]] = MappingProxyType({"all-MiniLM-L6-v2": (10.0, 0.62)})
_ANY_CURVE = (10.0, 0.62)


def recency(age_h: float, *, half_life_h: float, floor: float = 0.05) -> float:
    """Weigh a memory by age: 1 when new, falling to ``floor``; what is above the floor halves each half-life.

    Args:
        age_h: Age in hours; a time in the future counts as age 0.
        half_life_h: Hours, above 0; infinite means no decay.
        floor: The least weight, 0 to 1.

    Source: FR-015.
    """
    return floor + (1 - floor) * math.exp2(-max(0.0, age_h) / half_life_h)


def recency_of(entry: MemoryEntry, now: datetime, decay: Decay) -> float:
    """Give the recency of an entry by its type; what is pinned, of the system or procedural does not fade."""
    steady = entry.pinned or entry.classification is MemoryClassification.SYSTEM
    if steady or entry.memory_type is MemoryType.PROCEDURAL:
        return 1.0
    age = age_hours(entry, now, decay.age_from)
    return recency(age, half_life_h=decay.half_life_h[entry.memory_type], floor=decay.floor)


def age_hours(entry: MemoryEntry, now: datetime, age_from: str = "occurred") -> float:
    """Hours since the entry ``occurred`` (else ``created``), was ``created`` or had its ``last_access``; from 0."""
    moments = {"occurred": entry.occurred_at, "last_access": entry.last_accessed_at}
    since = moments.get(age_from) or entry.created_at
    return max(0.0, (now - since).total_seconds() / _HOUR_S)


def fading(entry: MemoryEntry, now: datetime) -> float:
    """Weigh by age since creation with a half-life of 69 hours, for the profiles ``composite`` and ``fusion``."""
    return math.exp2(-age_hours(entry, now, "created") / _FADING_H)


def length_prior(tokens: int, *, since: int, power: float) -> float:
    """Weigh down long entries, which have many chances to match: 1 up to ``since`` tokens, then slowly falling."""
    return math.pow(max(1.0, tokens / since), -power)


def calibrate(cosine: float, model_id: str | None) -> float:
    """Map the cosine of a model to the chance that such a hit is relevant; monotone, in (0, 1)."""
    slope, middle = _CURVES.get((model_id or "").partition(":")[0], _ANY_CURVE)
    return 1.0 / (1.0 + math.exp(-slope * (cosine - middle)))
