"""Which values try an adapter hardest? Hypothesis strategies, hostile names, and a short way to make an entry."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from mnemic.ports import IMemoryProvider
from mnemic.types import Address, MemoryClassification, MemoryEntry, MemoryScope, MemoryType, Origin

__all__ = [
    "HOSTILE_NAMES",
    "START",
    "TENANT",
    "at",
    "corpus",
    "entries",
    "fill",
    "ids",
    "inherited",
    "json_objects",
    "memory",
    "place",
    "texts",
]

START = datetime(2026, 1, 1, tzinfo=UTC)
TENANT = MemoryScope(tenant_id="t1")

HOSTILE_NAMES = (
    *(
        "a:b",
        "a",
        "a:",
        "b",
        "*",
        "a*",
        "{x}",
        "..",
        ".",
        "/",
        "a/b",
        "embed",
        "index",
        "public",
        "main",
        "default",
        "None",
    ),
    *(
        "a_b",
        "aXb",
        "a-b",
        "a.b",
        "a b",
        "a%",
        "a\\",
        "[a]",
        "A",
        "AND",
        "NOT",
        "'",
        '"',
        "';--",
        "@x",
        "$",
        "`",
        "null",
    ),
    *("é", "e\u0142", "ß", "ss", "Straße", "straße", "\u0430", "\u200b", "日本", "👩‍🔬", "%61", "a" * 128),
    "f2c59d63-1b1c-4a39-9a0e-6a2c6f9f3a55",
)
"""Names of tenants, agents, users, sessions and keys that some store, somewhere, takes for each other."""

inherited = settings(
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.differing_executors,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ]
)
"""For a property of a shipped suite: subclasses share it, and its fixture serves every example."""


def at(days: float = 0.0) -> datetime:
    """Give a moment some days after ``START``."""
    return START + timedelta(days=days)


def place(tenant: str = "t1", volk: str = "ada", user: str = "", **fields: Any) -> MemoryScope:
    """Give a scope that is fit for a point method."""
    return MemoryScope(tenant_id=tenant, volk_id=volk, user_id=user, **fields)


def memory(key: str, content: str = "a thing to remember", **fields: Any) -> MemoryEntry:
    """Give an entry of tenant ``t1`` and volk ``ada``, made at ``START``, unless ``fields`` say otherwise."""
    return MemoryEntry(**{"created_at": START, "tenant_id": "t1", "volk_id": "ada", **fields}, key=key, content=content)


async def fill(provider: IMemoryProvider, entries: Sequence[MemoryEntry]) -> None:
    """Store entries, each at its own place."""
    for entry in entries:
        await provider.store(place(entry.tenant_id, entry.volk_id, entry.user_id), entry.key, entry)


def corpus() -> list[MemoryEntry]:
    """Entries of which no two agree in every field of a scope."""
    chance = random.Random(5)
    return [
        memory(
            f"k{number:02}",
            volk_id=chance.choice(["ada", "bob"]),
            user_id=chance.choice(["", "u", "w"]),
            session_id=chance.choice(["s1", "s2"]),
            task_id=chance.choice(["", "x", "y"]),
            project_id=chance.choice(["default", "p"]),
            portfolio_id=chance.choice(["default", "f"]),
            crew_id=chance.choice(["", "c"]),
            created_at=at(number % 5),
            occurred_at=chance.choice([None, at(-10), at(number % 7)]),
        )
        for number in range(48)
    ]


def texts(*, min_size: int = 1, max_size: int = 40) -> st.SearchStrategy[str]:
    """Text of any script without NUL, lone surrogates and texts of white space alone."""
    chars = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    return st.text(chars, min_size=min_size, max_size=max_size).filter(lambda text: bool(text.strip()) or not min_size)


def ids() -> st.SearchStrategy[str]:
    """Valid ids, hostile ones among them."""
    return st.sampled_from(HOSTILE_NAMES)


def json_objects() -> st.SearchStrategy[dict[str, Any]]:
    """JSON objects with nested values, explicit nulls, 64-bit integers and every finite float."""
    scalars = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
        texts(min_size=0, max_size=12),
    )
    names = texts(max_size=8)
    values = st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=6
    )
    return st.dictionaries(names, values, max_size=4)


def entries(*, key: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[MemoryEntry]:
    """Entries of tenant ``t1`` and volk ``ada`` with any value in every other field."""
    moments = st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis wants naive bounds and adds the zone
    addresses = st.builds(Address, ids(), ids(), st.just("") | ids(), ids())
    unit = st.floats(0, 1)
    return st.builds(
        MemoryEntry,
        key=key or ids(),
        content=texts(),
        tenant_id=st.just("t1"),
        volk_id=st.just("ada"),
        user_id=st.just("") | ids(),
        **{name: ids() for name in ("session_id", "project_id", "portfolio_id", "created_by")},
        **{name: st.just("") | ids() for name in ("task_id", "crew_id")},
        **dict.fromkeys(("created_at", "updated_at", "last_accessed_at", "recorded_at", "valid_from"), moments),
        **{name: st.none() | moments for name in ("occurred_at", "valid_to")},
        expires_at=st.none() | st.just(datetime(2999, 1, 1, 1, 2, 3, 4, tzinfo=UTC)),
        summary=st.none() | texts(),
        tags=st.lists(texts(max_size=12), max_size=4, unique=True).map(tuple),
        metadata=json_objects(),
        classification=st.sampled_from(MemoryClassification),
        memory_type=st.sampled_from(MemoryType),
        origin=st.sampled_from(Origin),
        category=texts(max_size=12),
        source=texts(max_size=12),
        importance=unit,
        quality=st.none() | unit,
        pinned=st.booleans(),
        token_count=st.integers(0, 2**40),
        access_count=st.integers(0, 2**40),
        speaker=st.none() | texts(max_size=12),
        role=st.none() | st.sampled_from(["user", "assistant", "system"]),
        turn=st.none() | st.integers(0, 10_000),
        version=st.integers(1, 2**40),
        superseded_by=st.none() | addresses,
        derived_from=st.lists(addresses, max_size=2).map(tuple),
        embedding_model=st.none() | ids(),
    )
