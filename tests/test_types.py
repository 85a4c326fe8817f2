"""The values that are passed around: frozen, complete, and of one form."""

import dataclasses
from datetime import UTC, datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import mnemic.types as types_
from mnemic.errors import InvalidInputError
from mnemic.testing import requirement
from mnemic.testing.strategies import HOSTILE_NAMES, entries, memory
from mnemic.types import (
    Address,
    ContextBlock,
    Health,
    HealthStatus,
    Identity,
    MemoryClassification,
    MemoryEntry,
    MemoryHit,
    MemoryHits,
    MemoryScope,
    MemorySummary,
    MemoryType,
    Origin,
    SummarizationStrategy,
    check_id,
    utc,
)

pytestmark = pytest.mark.core_interface

_RECORDS = [
    value
    for name in types_.__all__
    if isinstance(value := getattr(types_, name), type) and dataclasses.is_dataclass(value)
]


def _names(kind: Any) -> set[str]:
    return {field.name for field in dataclasses.fields(kind)}


@requirement("REQ-010-004")
@pytest.mark.parametrize("kind", _RECORDS)
def test_every_record_is_frozen_and_slotted(kind: type) -> None:
    assert "__slots__" in vars(kind)
    parameters: Any = kind.__dataclass_params__  # type: ignore[attr-defined]  # of every dataclass
    assert parameters.frozen


@requirement("REQ-010-004", "TYP-001", "TYP-002", "TYP-003", "TYP-004")
def test_an_entry_has_the_fields_of_the_contract() -> None:
    seed = "key content summary tags metadata classification embedding created_at updated_at volk_id session_id"
    place = "relevance_score tenant_id user_id task_id project_id portfolio_id crew_id created_by"
    worth = "memory_type category importance quality source origin pinned token_count access_count last_accessed_at"
    talk = "speaker role turn"
    history = "version recorded_at occurred_at expires_at valid_from valid_to superseded_by derived_from shared_with"
    assert _names(MemoryEntry) == {*f"{seed} {place} {worth} {talk} {history} embedding_model".split()}
    with pytest.raises(dataclasses.FrozenInstanceError):
        memory("k").content = "x"  # type: ignore[misc]  # the case


@requirement("TYP-001", "TYP-003", "TYP-004")
def test_an_entry_fills_in_what_follows_from_other_fields() -> None:
    moment, then = datetime(2026, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)
    entry = MemoryEntry(key="k", content="x", created_at=moment, volk_id="ada")
    derived = (entry.updated_at, entry.recorded_at, entry.last_accessed_at, entry.valid_from)
    assert (derived, entry.created_by) == ((moment,) * 4, "ada")
    assert dataclasses.replace(memory("k"), valid_from=then).valid_from == then
    assert MemoryEntry(key="k", content="x", created_at=moment, occurred_at=then).valid_from == then
    defaults = (entry.memory_type, entry.category, entry.importance, entry.source, entry.origin, entry.pinned)
    assert defaults == ("long_term", "unknown", 0.5, "unknown", "agent", False)


@requirement("TYP-015")
@given(entry=entries())
def test_equality_and_hash_leave_vectors_out(entry: MemoryEntry) -> None:
    other = dataclasses.replace(entry, embedding=np.ones(3, dtype=np.float32), embedding_model="another")
    assert entry == other
    assert hash(entry) == hash(other)
    assert entry != dataclasses.replace(entry, content=entry.content + "x")


def test_tags_keep_their_order_without_repeats_and_metadata_cannot_be_changed() -> None:
    given_ = {"a": 1}
    entry = memory("k", tags=["b", "a", "b"], metadata=given_)
    given_["a"] = 2
    assert entry.tags == ("b", "a")
    assert isinstance(entry.metadata, MappingProxyType)
    assert dict(entry.metadata) == {"a": 1}


@requirement("TYP-005")
def test_a_hit_is_an_entry_with_its_score() -> None:
    entry = memory("k", tags=("t",))
    hit = MemoryHit.of(entry, score=0.5, score_parts={"lexical": 1.0}, channels=["words"], rank=2)
    assert _names(MemoryHit) - _names(MemoryEntry) == {"score", "score_parts", "channels", "rank"}
    assert (hit.relevance_score, hit.channels, hit.rank, hit.entry()) == (0.5, ("words",), 2, entry)


@requirement("TYP-006")
def test_hits_are_a_list_that_knows_what_was_degraded() -> None:
    hits = MemoryHits([MemoryHit.of(memory("k"), score=1.0)], degraded=["embedder"], best_score=0.5)
    assert isinstance(hits, list)
    assert (len(hits), hits.degraded, hits.best_score) == (1, ("embedder",), 0.5)
    assert (hits.filtered_count, hits.skipped_vectors, hits.pending_vectors) == (0, 0, 0)


@requirement("TYP-007", "TYP-008", "TYP-014")
def test_results_have_the_fields_of_the_contract() -> None:
    summary = "content token_count source_count source_keys strategy created_at sections classification degraded"
    block = "text injected tokens_used token_budget remaining dropped strategy degraded"
    assert _names(MemorySummary) >= {*summary.split()}
    assert _names(ContextBlock) >= {*block.split()}
    assert _names(Health) == {*["status", "components", "degraded", "durability", "identity_mode", "outbox"]}
    assert [*HealthStatus] == ["healthy", "degraded", "unhealthy"]


@requirement("TYP-010", "TYP-011")
def test_classes_and_strategies_have_the_seeds_names() -> None:
    assert [*MemoryClassification] == ["private", "shared", "system"]
    assert [*SummarizationStrategy] == ["relevance", "recency", "importance", "hybrid"]


@requirement("TYP-012")
@pytest.mark.parametrize(
    ("spelling", "member"),
    [
        ("short_term", MemoryType.SHORT_TERM),
        ("ShortTerm", MemoryType.SHORT_TERM),
        ("LONGTERM", MemoryType.LONG_TERM),
        ("Episodic", MemoryType.EPISODIC),
        ("entity", MemoryType.ENTITY),
        ("Procedural", MemoryType.PROCEDURAL),
    ],
)
def test_a_memory_type_has_two_spellings(spelling: str, member: MemoryType) -> None:
    assert MemoryType(spelling) is member
    with pytest.raises(ValueError, match="dream"):
        MemoryType("dream")


@requirement("TYP-013")
def test_origins_are_trusted_from_four_to_none() -> None:
    trust = {origin.value: origin.trust for origin in Origin}
    assert trust == {"system": 4, "user": 3, "agent": 2, "tool": 1, "document": 1, "import": 1, "web": 0}


@requirement("ID-001")
def test_an_identity_has_defaults_and_no_none() -> None:
    who = Identity()
    named = {name: getattr(who, name) for name in _names(Identity)}
    assert named == {
        "tenant_id": "public",
        **dict.fromkeys(("volk_id", "session_id", "project_id", "portfolio_id"), "default"),
        **dict.fromkeys(("user_id", "client_id", "task_id", "crew_id"), ""),
        "roles": frozenset(),
    }
    for name in named.keys() - {"roles"}:
        with pytest.raises(InvalidInputError, match=name):
            Identity(**{name: None})  # type: ignore[arg-type]  # the case


@requirement("ID-002")
def test_a_scope_has_the_seeds_seven_filters_and_ours() -> None:
    seven = {*["session_id", "task_id", "volk_id", "project_id", "portfolio_id", "date_from", "date_to"]}
    assert _names(MemoryScope) == seven | {"tenant_id", "user_id", "crew_id", "date_field"}
    assert all(getattr(MemoryScope(), name) is None for name in seven)
    with pytest.raises(InvalidInputError, match="date_field is 'updated_at'; give created_at or occurred_at"):
        MemoryScope(date_field="updated_at")


@requirement("D06", "ID-002")
def test_times_of_a_scope_become_utc() -> None:
    naive = datetime(2026, 1, 1, 12)  # noqa: DTZ001 - a naive time is the case
    east = datetime(2026, 1, 1, 21, tzinfo=timezone(timedelta(hours=9)))
    scope = MemoryScope(date_from=naive, date_to=east)
    assert scope.date_from == scope.date_to == datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert utc(east).tzinfo is UTC


@requirement("ID-004", "ID-005")
def test_no_two_addresses_share_a_uid() -> None:
    names = HOSTILE_NAMES[:16]
    addresses = {Address(a, b, c, d) for a in names for b in names for c in (*names[:4], "") for d in names}
    assert len({address.uid for address in addresses}) == len(addresses)
    assert memory("k").uid == memory("k").address.uid == Address("t1", "ada", "", "k").uid


@requirement("ID-005")
@pytest.mark.parametrize("value", HOSTILE_NAMES)
def test_an_odd_id_is_kept_as_it_is(value: str) -> None:
    assert check_id("volk_id", value) == value


@requirement("ID-005")
@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("", "0 characters"),
        ("   ", "3 characters"),
        ("x" * 129, "129 characters"),
        (" a", "outer white space"),
        ("e\u0301", "NFC"),
        ("a\nb", "control character"),
        ("a\ud83db", "lone surrogate"),
        (5, "is int"),
        (None, "is NoneType"),
    ],
)
def test_a_bad_id_is_named_with_its_fault(value: Any, fault: str) -> None:
    with pytest.raises(InvalidInputError, match=f"volk_id .*{fault}"):
        check_id("volk_id", value)
