"""What must every provider find by scope, filter and time, in which order, and page by page?"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import InvalidInputError
from mnemic.ports import Edge, EdgeKind, IMemoryProvider, MemoryFilter, Readable
from mnemic.ports.filters import parse_where
from mnemic.testing.marks import requirement
from mnemic.testing.strategies import HOSTILE_NAMES, TENANT, at, corpus, fill, inherited, json_objects, memory, place
from mnemic.types import Address, MemoryClassification, MemoryEntry, MemoryScope, MemoryType

__all__ = ["QuerySuite"]

EAST = timezone(timedelta(hours=9))


async def _found(
    provider: IMemoryProvider, where: MemoryFilter | Mapping[str, Any] | None, scope: MemoryScope = TENANT
) -> set[str]:
    """Keys by listing, which every other way of finding must agree with."""
    parsed = None if where is None else parse_where(where)
    listed = {entry.key for entry in (await provider.list(scope, parsed, limit=1000)).items}
    assert {hit.key for hit in await provider.search(scope, "", limit=1000, where=parsed)} == listed
    assert {hit.key for hit in await provider.search(scope, "thing", limit=1000, where=parsed)} == listed
    assert await provider.count(scope, parsed) == len(listed)
    return listed


SCOPE_FIELDS: dict[str, Any] = {
    "volk_id": "bob",
    "user_id": "",
    "session_id": "s2",
    "task_id": "x",
    "project_id": "p",
    "portfolio_id": "f",
    "crew_id": "c",
    "date_from": at(2),
    "date_to": at(3),
}


def _lies_in(entry: MemoryEntry, fields: Mapping[str, Any], date_field: str) -> bool:
    moment = getattr(entry, date_field) or entry.created_at
    return all(
        moment >= value
        if name == "date_from"
        else moment <= value
        if name == "date_to"
        else getattr(entry, name) == value
        for name, value in fields.items()
    )


class QuerySuite:
    """Scopes, filters, listings and times."""

    pytestmark: ClassVar = [pytest.mark.retrieve, pytest.mark.edge_cases]

    @requirement("ID-002", "PRV-013", "PRV-004", "REQ-010-013", "REQ-010-031")
    async def test_each_scope_field_alone_and_in_pairs_narrows_as_the_oracle_does(
        self, provider: IMemoryProvider
    ) -> None:
        everything = corpus()
        await fill(provider, [*everything, *(replace(entry, tenant_id="t2") for entry in everything)])
        pairs = [*itertools.combinations(SCOPE_FIELDS, 2), *((name,) for name in SCOPE_FIELDS), ()]
        for names in pairs:
            fields = {name: SCOPE_FIELDS[name] for name in names}
            for date_field in ("created_at", "occurred_at"):
                scope = MemoryScope(tenant_id="t1", date_field=date_field, **fields)
                expected = {entry.key for entry in everything if _lies_in(entry, fields, date_field)}
                assert await _found(provider, None, scope) == expected, names

    @requirement("ID-001")
    async def test_an_empty_task_or_crew_matches_nothing_and_an_empty_user_the_agent_itself(
        self, provider: IMemoryProvider
    ) -> None:
        await fill(provider, [memory("own"), memory("users", user_id="u")])
        assert await _found(provider, None, MemoryScope(tenant_id="t1", task_id="")) == set()
        assert await _found(provider, None, MemoryScope(tenant_id="t1", crew_id="")) == set()
        assert await _found(provider, None, MemoryScope(tenant_id="t1", user_id="")) == {"own"}

    @requirement("ID-005", "ID-011", "ID-008", "D16", "D17")
    async def test_a_hostile_name_finds_its_own_entry_alone_in_every_field(self, provider: IMemoryProvider) -> None:
        fields = ("session_id", "task_id", "project_id", "crew_id", "portfolio_id")
        entries = [memory(f"k{n}", f"thing {n}", **dict.fromkeys(fields, name)) for n, name in enumerate(HOSTILE_NAMES)]
        await fill(provider, entries)
        for number, name in enumerate(HOSTILE_NAMES):
            for field in fields:
                narrowed: dict[str, Any] = {field: name}
                scope = replace(TENANT, **narrowed)
                assert [hit.key for hit in await provider.search(scope, "thing")] == [f"k{number}"], (field, name)

    @requirement("ID-011", "ID-008", "D42")
    async def test_what_another_tenant_does_changes_no_answer(self, provider: IMemoryProvider) -> None:
        mine = [memory(f"k{n}", f"thing number {n} word{n % 3}") for n in range(9)]
        await fill(provider, mine)

        async def answers() -> list[Any]:
            hits = await provider.search(TENANT, "thing word1 number 4", limit=50)
            stats = await provider.word_stats(TENANT, ["thing", "word1"])
            return [hits, stats, await provider.count(TENANT), await provider.keys(TENANT), await provider.list(TENANT)]

        before = await answers()
        await fill(
            provider,
            [replace(e, tenant_id=t, content=f"{e.content} word1") for e in mine for t in ("public", "t", "T1")],
        )
        assert await answers() == before

    @requirement("PRV-010", "PRV-013", "FR-004", "REQ-010-012")
    async def test_each_part_of_a_filter_narrows_and_all_must_hold(self, provider: IMemoryProvider) -> None:
        system, shared = MemoryClassification.SYSTEM, MemoryClassification.SHARED
        await fill(
            provider,
            [
                memory("a", source="Web", tags=("x", "y"), category="fact", pinned=True, metadata={"n": 1}),
                memory("b", source="chat", tags=("y",), memory_type=MemoryType.ENTITY, classification=system),
                memory("c", tags=("z",), embedding_model="m", classification=shared, metadata={"n": 2}),
            ],
        )
        for where, expected in (
            (MemoryFilter(keys=("a", "c", "absent")), "ac"),
            (MemoryFilter(keys=()), ""),
            (MemoryFilter(source="wEB"), "a"),
            (MemoryFilter(tags_all=("Y",)), "ab"),
            (MemoryFilter(tags_all=("x", "y")), "a"),
            (MemoryFilter(tags_any=("x", "z")), "ac"),
            (MemoryFilter(memory_types=(MemoryType.ENTITY, MemoryType.EPISODIC)), "b"),
            (MemoryFilter(categories=("FACT", "event")), "a"),
            (MemoryFilter(pinned=False), "bc"),
            (MemoryFilter(classifications=(system, shared)), "bc"),
            (MemoryFilter(embedding_model="m"), "c"),
            (MemoryFilter(metadata={"n": 2.0}), "c"),
            (MemoryFilter(tags_any=("y",), pinned=True, metadata={"n": 1}), "a"),
            (MemoryFilter(tags_any=("y",), pinned=True, metadata={"n": 2}), ""),
        ):
            assert await _found(provider, where) == set(expected), where

    @requirement("PRV-011", "PRV-012")
    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            ({"v": "straSSE"}, {"text", "list"}),
            ({"v": "tra"}, set()),
            ({"v": "%"}, set()),
            ({"v": 1}, {"one", "float", "list"}),
            ({"v": True}, {"true"}),
            ({"v": None}, {"null"}),
            ({"v": {"$ne": 1}}, {"text", "true", "null", "object"}),
            ({"v": {"$gt": 0.5, "$lte": 1}}, {"one", "float", "list"}),
            ({"v": {"$gte": "s", "$lt": "t"}}, {"text", "list"}),
            ({"v": {"$in": ["straße", None]}}, {"text", "null", "list"}),
            ({"v": {"$nin": [1, "Straße"]}}, {"true", "null", "object"}),
            ({"v": {"$exists": True}}, {"text", "one", "float", "true", "null", "list", "object"}),
            ({"v": {"$exists": False}}, {"missing"}),
            ({"v.deep": 3}, {"object"}),
            ({"v.deep": {"$exists": True}}, {"object"}),
            ({"NOT": {"v": {"$exists": True}}}, {"missing"}),
            ({"OR": [{"v": True}, {"v": None}]}, {"true", "null"}),
            ({"AND": [{"v": {"$gte": 1}}, {"NOT": {"key": "list"}}]}, {"one", "float"}),
            ({"key": ["one", "null"], "v": 1}, {"one"}),
            ({"type": "LongTerm", "v": 1, "category": {"$ne": "x"}, "source": "unknown"}, {"one", "float", "list"}),
        ],
    )
    async def test_values_compare_by_kind(
        self, provider: IMemoryProvider, where: dict[str, Any], expected: set[str]
    ) -> None:
        values = {"text": "Straße", "one": 1, "float": 1.0, "true": True, "null": None, "list": [7, 1, "STRASSE"]}
        entries = [memory(key, metadata={"v": value}) for key, value in values.items()]
        await fill(provider, [*entries, memory("missing"), memory("object", metadata={"v": {"deep": 3}})])
        assert await _found(provider, where) == expected

    @requirement("D21", "PRV-011")
    async def test_tags_match_whole_and_without_regard_to_case(self, provider: IMemoryProvider) -> None:
        tags = ("test", "testing", "te st", "a,b", '"', "%", "te_t", "ÜBER")
        await fill(provider, [memory(tag, tags=(tag,)) for tag in tags])
        for tag in tags:
            assert await _found(provider, {"tag": tag}) == {tag}
        assert await _found(provider, {"tags": ["TEST"]}) == {"test"}
        assert await _found(provider, {"tags_any": ["über", "b"]}) == {"ÜBER"}

    @requirement("D20")
    @inherited
    @given(metadata=json_objects(), name=st.sampled_from(HOSTILE_NAMES))
    async def test_a_metadata_name_is_a_literal_or_refused(
        self, provider: IMemoryProvider, metadata: dict[str, Any], name: str
    ) -> None:
        await provider.clear(TENANT)
        await fill(provider, [memory("a", metadata={**metadata, name: "mine"}), memory("b", metadata=metadata)])
        await fill(provider, [memory("c", tenant_id="t2", metadata={name: "mine"})])
        if name in {"$", "AND", "NOT"}:
            with pytest.raises(InvalidInputError):
                await _found(provider, {name: "mine"})
        else:
            assert await _found(provider, {name: "mine"}) == {"a"}

    @requirement("PRV-010", "ID-004.1", "REQ-010-049")
    async def test_the_readable_set_is_part_of_the_query(self, provider: IMemoryProvider) -> None:
        shared, system = MemoryClassification.SHARED, MemoryClassification.SYSTEM
        entries = [
            memory("own"),
            memory("users", user_id="u"),
            memory("other-user", user_id="w"),
            memory("foreign", volk_id="bob"),
            memory("system", volk_id="bob", classification=system),
            memory("project", volk_id="bob", classification=shared, project_id="p"),
            memory("crew", volk_id="bob", classification=shared, project_id="q", crew_id="c"),
            memory("no-crew", volk_id="bob", classification=shared, project_id="q"),
            memory("by-edge", volk_id="bob"),
            memory("by-uid", volk_id="bob"),
        ]
        await fill(provider, entries)
        await provider.link(TENANT, [Edge("t1", entries[8].uid, EdgeKind.SHARED_WITH, "ada")])
        mine = Readable(volk="ada", user="u", projects=("p",), crews=("c", ""), shared_uids=(entries[9].uid,))
        everybodys = {"own", "system", "by-edge"}
        assert await _found(provider, MemoryFilter(readable_by=mine)) == {
            *everybodys,
            "users",
            "project",
            "crew",
            "by-uid",
        }
        assert await _found(provider, MemoryFilter(readable_by=Readable(volk="ada"))) == everybodys
        wide = Readable(volk="eve", tenant_wide=True)
        assert await _found(provider, MemoryFilter(readable_by=wide)) == {"system", "project", "crew", "no-crew"}
        await provider.delete(place(volk="bob"), "by-edge")
        await provider.store(place(volk="bob"), "by-edge", memory("by-edge", volk_id="bob", version=9))
        assert await _found(provider, MemoryFilter(readable_by=Readable(volk="ada"))) == {"own", "system"}

    @requirement("PRV-006", "FR-020")
    async def test_an_expired_entry_is_in_no_answer(self, provider: IMemoryProvider) -> None:
        gone, later = datetime(2001, 1, 1, tzinfo=UTC), datetime(2999, 1, 1, tzinfo=UTC)
        await fill(provider, [memory("gone", expires_at=gone), memory("later", expires_at=later), memory("never")])
        assert await _found(provider, None) == {"later", "never"}
        assert await _found(provider, MemoryFilter(now=later)) == {"never"}
        assert await _found(provider, MemoryFilter(now=gone - timedelta(microseconds=1))) == {"gone", "later", "never"}
        assert await provider.get(place(), "gone") is None
        assert await provider.get_many(TENANT, [memory("gone").address]) == {}
        assert [address.key for address in await provider.keys(TENANT)] == ["later", "never"]

    @requirement("PRV-006")
    async def test_a_superseded_entry_is_found_only_when_asked_for(self, provider: IMemoryProvider) -> None:
        await fill(provider, [memory("old", superseded_by=Address("t1", "ada", "", "new")), memory("new")])
        assert await _found(provider, None) == {"new"}
        assert await _found(provider, MemoryFilter(include_superseded=True)) == {"old", "new"}
        assert await provider.get(place(), "old") is not None

    @requirement("FR-019")
    async def test_as_of_answers_from_the_version_that_held_then(self, provider: IMemoryProvider) -> None:
        await fill(provider, [memory("k", "thing one", valid_from=at(1), tags=("a",))])
        await fill(provider, [memory("k", "thing two", version=2, valid_from=at(5), tags=("b",))])
        await fill(
            provider, [memory("s", "thing s", valid_from=at(1), valid_to=at(3), superseded_by=memory("k").address)]
        )
        for day, expected in (
            (0, set()),
            (1, {"thing one", "thing s"}),
            (2.9, {"thing one", "thing s"}),
            (3, {"thing one"}),
        ):
            assert await self._contents(provider, day) == expected
        assert await self._contents(provider, 4.999) == {"thing one"}
        assert await self._contents(provider, 5) == {"thing two"}
        assert await _found(provider, MemoryFilter(as_of=at(2), tags_all=("a",))) == {"k"}
        assert await _found(provider, MemoryFilter(as_of=at(2), tags_all=("b",))) == set()
        assert [hit.content for hit in await provider.search(TENANT, "one", where=MemoryFilter(as_of=at(2)))] == [
            "thing one"
        ]
        assert await provider.search(TENANT, "two", where=MemoryFilter(as_of=at(2))) == []

    @staticmethod
    async def _contents(provider: IMemoryProvider, day: float) -> set[str]:
        page = await provider.list(TENANT, MemoryFilter(as_of=at(day)))
        return {entry.content for entry in page.items}

    @requirement("FR-019", "FR-018")
    async def test_as_of_still_sees_what_was_deleted_later(self, provider: IMemoryProvider) -> None:
        await fill(provider, [memory("k", valid_from=datetime(2001, 1, 1, tzinfo=UTC))])
        await provider.delete(place(), "k")
        assert await _found(provider, MemoryFilter(as_of=datetime(2001, 6, 1, tzinfo=UTC))) == {"k"}
        assert await _found(provider, MemoryFilter(as_of=datetime(2999, 1, 1, tzinfo=UTC))) == set()

    @requirement("D06", "ID-002", "D07")
    async def test_date_bounds_are_inclusive_in_every_zone(self, provider: IMemoryProvider) -> None:
        moments = [at(0), at(1), at(1) + timedelta(microseconds=1), at(2)]
        await fill(provider, [memory(f"k{n}", created_at=moment) for n, moment in enumerate(moments)])
        for bound in (at(1), at(1).astimezone(EAST), at(1).replace(tzinfo=None)):
            assert await _found(provider, None, MemoryScope(tenant_id="t1", date_from=bound)) == {"k1", "k2", "k3"}
            assert await _found(provider, None, MemoryScope(tenant_id="t1", date_to=bound)) == {"k0", "k1"}
            assert await _found(provider, None, MemoryScope(tenant_id="t1", date_from=bound, date_to=bound)) == {"k1"}
