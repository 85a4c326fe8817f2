"""What must every provider do with one entry? Sections 10.1 and 10.3 of the contract."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given

from mnemic.errors import DimensionError, InvalidInputError, MnemicError, ScopeError
from mnemic.ports import Head, IMemoryProvider
from mnemic.testing.marks import requirement
from mnemic.testing.strategies import HOSTILE_NAMES, at, entries, inherited, memory, place
from mnemic.types import Address, MemoryEntry, MemoryScope

__all__ = ["PointSuite"]

CANARY = "canary-7f3a"


async def _read(provider: IMemoryProvider, scope: MemoryScope, key: str) -> MemoryEntry:
    found = await provider.get(scope, key)
    assert found is not None
    return found


class PointSuite:
    """Store, get, delete, versions, and the walls between owners."""

    pytestmark: ClassVar = [pytest.mark.store, pytest.mark.retrieve, pytest.mark.edge_cases]

    @requirement("TYP-015", "PRV-032", "REQ-010-004")
    @inherited
    @given(entry=entries())
    async def test_every_field_comes_back_as_it_was_stored(self, provider: IMemoryProvider, entry: MemoryEntry) -> None:
        await provider.clear(MemoryScope(tenant_id="t1"))
        scope = place(user=entry.user_id)
        assert await provider.store(scope, entry.key, entry)
        found = await _read(provider, scope, entry.key)
        assert (found, found.embedding_model) == (entry, entry.embedding_model)
        # Equality takes -0.0 for 0.0 and True for 1; the written form does not.
        assert json.dumps(dict(found.metadata), sort_keys=True) == json.dumps(dict(entry.metadata), sort_keys=True)

    @requirement("D22", "TYP-015")
    @pytest.mark.parametrize("number", [-0.0, 1e308, 5e-324, 0.1, 2**63 - 1, -(2**63), 1, True, None])
    async def test_a_finite_number_survives_exactly(self, provider: IMemoryProvider, number: Any) -> None:
        metadata = {"flat": number, "list": [number], "nested": {"deep": number}}
        await provider.store(place(), "n", memory("n", metadata=metadata))
        found = await _read(provider, place(), "n")
        assert repr(dict(found.metadata)) == repr(metadata)

    @requirement("D22", "FR-017.1")
    @pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, b"bytes", object()])
    async def test_a_value_that_json_lacks_is_refused_before_any_write(
        self, provider: IMemoryProvider, value: Any
    ) -> None:
        for metadata in ({"a": value}, {"a": [value]}, {"a": {"b": value}}):
            with pytest.raises(InvalidInputError):
                await provider.store(place(), "n", memory("n", metadata=metadata))
        assert await provider.get(place(), "n") is None

    @requirement("PRV-032", "D06")
    async def test_a_time_of_any_zone_comes_back_as_the_same_moment_in_utc(self, provider: IMemoryProvider) -> None:
        tokyo = datetime(2026, 1, 1, 9, 0, 0, 123456, tzinfo=timezone(timedelta(hours=9)))
        await provider.store(place(), "k", memory("k", created_at=tokyo, occurred_at=tokyo))
        found = await _read(provider, place(), "k")
        assert (found.created_at, found.occurred_at) == (tokyo, tokyo)
        assert found.created_at.utcoffset() == timedelta(0)

    @requirement("PRV-035")
    async def test_changing_what_was_given_or_returned_changes_nothing_stored(self, provider: IMemoryProvider) -> None:
        given_list = [1]
        await provider.store(place(), "k", memory("k", metadata={"a": {"b": given_list}}))
        given_list.append(2)
        (await _read(provider, place(), "k")).metadata["a"]["b"].append(3)
        [hit] = await provider.search(place(), "")
        hit.metadata["a"]["b"].append(4)
        assert (await _read(provider, place(), "k")).metadata == {"a": {"b": [1]}}

    @requirement("PRV-035")
    async def test_a_read_gives_neither_vector_nor_score(self, provider: IMemoryProvider) -> None:
        entry = memory("k", embedding_model="m", relevance_score=0.5)
        await provider.store_with_embedding(place(), "k", entry, [1.0, 2.0])
        found = await _read(provider, place(), "k")
        assert (found.embedding, found.relevance_score) == (None, None)

    @requirement("PRV-004", "ID-003")
    async def test_a_call_without_tenant_or_owner_is_refused(self, provider: IMemoryProvider) -> None:
        nobody, entry = MemoryScope(), memory("k")
        for call in (
            provider.store(nobody, "k", entry),
            provider.store(MemoryScope(tenant_id="t1", volk_id="ada"), "k", entry),
            provider.store(MemoryScope(tenant_id="t1", user_id=""), "k", entry),
            provider.store_with_embedding(nobody, "k", entry, [1.0]),
            provider.store_many(nobody, [entry]),
            provider.get(MemoryScope(tenant_id="t1"), "k"),
            provider.get_many(nobody, [entry.address]),
            provider.delete(MemoryScope(tenant_id="t1", volk_id="ada"), "k"),
            provider.annotate(nobody, "k", version=1, importance=0.1),
            provider.clear(nobody),
            provider.search(nobody, "thing"),
            provider.search_similar(nobody, [1.0]),
            provider.list(nobody),
            provider.count(nobody),
            provider.keys(nobody),
            provider.word_stats(nobody, ["thing"]),
            provider.heads(nobody, [entry.address]),
        ):
            with pytest.raises(ScopeError):
                await call
        assert await provider.count(MemoryScope(tenant_id="t1")) == 0

    @requirement("PRV-004")
    async def test_an_entry_outside_the_scope_is_none(self, provider: IMemoryProvider) -> None:
        await provider.store(place(), "k", memory("k", session_id="s1"))
        assert await provider.get(place(session_id="s2"), "k") is None
        assert await provider.delete(place(session_id="s2"), "k") is False
        assert await provider.get(place(session_id="s1"), "k") is not None

    @requirement("PRV-004")
    async def test_an_entry_of_another_address_than_the_scope_is_refused(self, provider: IMemoryProvider) -> None:
        for scope, key in ((place("t2"), "k"), (place(volk="bob"), "k"), (place(user="u"), "k"), (place(), "other")):
            with pytest.raises(InvalidInputError):
                await provider.store(scope, key, memory("k"))

    @requirement("PRV-021", "PRV-034", "FR-017.1", "D01", "D02", "D04")
    @pytest.mark.parametrize("bad", [None, "", " \n\t", "a\ud83d", "a\0b"])
    async def test_a_bad_key_or_content_is_refused_and_harms_nothing(self, provider: IMemoryProvider, bad: Any) -> None:
        await provider.store(place(), "good", memory("good"))
        for key, entry in (
            (bad, memory("k")),
            (bad, replace(memory("k"), key=bad)),
            ("k", replace(memory("k"), content=bad)),
        ):
            with pytest.raises(InvalidInputError):
                await provider.store(place(), key, entry)
        with pytest.raises(InvalidInputError):
            await provider.get(place(), bad)
        assert [hit.key for hit in await provider.search(place(), "")] == ["good"]

    @requirement("PRV-021")
    async def test_none_is_refused_as_entry_query_and_vector(self, provider: IMemoryProvider) -> None:
        nothing: Any = None
        for call in (
            provider.store(place(), "k", nothing),
            provider.search(place(), nothing),
            provider.search_similar(place(), nothing),
            provider.store_with_embedding(place(), "k", memory("k"), nothing),
        ):
            with pytest.raises(InvalidInputError):
                await call

    @requirement("PRV-005")
    async def test_a_newer_version_wins_and_an_older_one_changes_nothing(self, provider: IMemoryProvider) -> None:
        assert await provider.store(place(), "k", memory("k", "second", version=2))
        assert not await provider.store(place(), "k", memory("k", "first", version=1))
        assert not await provider.store(place(), "k", memory("k", "another second", version=2))
        assert (await _read(provider, place(), "k")).content == "second"
        assert await provider.store(place(), "k", memory("k", "fifth", version=5))
        assert (await _read(provider, place(), "k")).version == 5

    @requirement("PRV-005")
    async def test_a_replay_fills_what_is_derived_and_clears_nothing(self, provider: IMemoryProvider) -> None:
        heir = Address("t1", "ada", "", "heir")
        await provider.store(place(), "k", memory("k", superseded_by=heir, valid_to=at(9), tags=("a",)))
        late = memory(
            "k", summary="s", quality=0.2, importance=0.9, access_count=7, last_accessed_at=at(3), tags=("b",)
        )
        assert await provider.store(place(), "k", late)
        found = await _read(provider, place(), "k")
        assert found == replace(late, superseded_by=heir, valid_to=at(9), tags=("a",))

    @requirement("PRV-005")
    async def test_versions_in_any_order_leave_the_newest_once(self, provider: IMemoryProvider) -> None:
        for order in ((1, 2, 3), (3, 2, 1), (2, 3, 1), (1, 3, 2), (2, 1, 3), (3, 1, 2)):
            await provider.clear(MemoryScope(tenant_id="t1"))
            for version in (*order, *order):
                await provider.store(place(), "k", memory("k", f"text {version}", version=version))
            assert [hit.content for hit in await provider.search(place(), "text")] == ["text 3"]
            assert await provider.count(place()) == 1

    @requirement("PRV-031")
    async def test_an_upsert_keeps_the_creation_time_and_replaces_all_else(self, provider: IMemoryProvider) -> None:
        await provider.store(place(), "k", memory("k", "old", tags=("a",), metadata={"a": 1}, session_id="s1"))
        new = memory("k", "new", version=2, created_at=at(5), valid_from=at(5), session_id="s2")
        await provider.store(place(), "k", new)
        assert await provider.get(place(), "k") == replace(new, created_at=at(0))

    @requirement("PRV-031", "PRV-005")
    async def test_forty_writers_of_one_new_key_leave_one_entry(self, provider: IMemoryProvider) -> None:
        versions = [7 * number % 40 + 1 for number in range(40)]
        stores = (provider.store(place(), "k", memory("k", f"text {v}", version=v)) for v in versions)
        results = await asyncio.gather(*stores)
        assert any(results)
        assert [(hit.version, hit.content) for hit in await provider.search(place(), "")] == [(40, "text 40")]

    @requirement("PRV-031")
    async def test_a_reader_sees_neither_absence_nor_two_copies_during_upserts(self, provider: IMemoryProvider) -> None:
        await provider.store(place(), "k", memory("k", "text 1"))

        async def write() -> None:
            for version in range(2, 40):
                await provider.store(place(), "k", memory("k", f"text {version}", version=version))

        async def read() -> None:
            for _ in range(40):
                assert await provider.get(place(), "k") is not None
                assert len(await provider.search(place(), "text")) == 1

        await asyncio.gather(write(), read(), read())

    @requirement("PRV-002")
    async def test_update_writes_only_over_a_live_entry(self, provider: IMemoryProvider) -> None:
        assert not await provider.update(place(), "k", memory("k"))
        assert await provider.get(place(), "k") is None
        await provider.store(place(), "k", memory("k"))
        assert await provider.update(place(), "k", memory("k", "new", version=2))

    @requirement("PRV-029", "FR-018")
    async def test_delete_tells_whether_something_lived_and_leaves_a_tombstone(self, provider: IMemoryProvider) -> None:
        address = memory("k").address
        assert not await provider.delete(place(), "k")
        await provider.store(place(), "k", memory("k", version=3))
        assert not await provider.delete(place(), "k", version=2)
        assert await provider.delete(place(), "k", version=3)
        assert not await provider.delete(place(), "k")
        assert await provider.get(place(), "k") is None
        assert await provider.search(place(), "thing") == []
        assert await provider.heads(place(), [address]) == {address: Head(4, live=False)}

    @requirement("PRV-029", "PRV-005")
    async def test_only_a_version_newer_than_the_tombstone_brings_a_key_back(self, provider: IMemoryProvider) -> None:
        await provider.store(place(), "k", memory("k"))
        await provider.delete(place(), "k")
        assert not await provider.store(place(), "k", memory("k"))
        assert not await provider.store(place(), "k", memory("k", version=2))
        assert await provider.store(place(), "k", memory("k", "back", version=3))
        assert (await _read(provider, place(), "k")).content == "back"

    @requirement("PRV-030", "D29")
    async def test_clear_empties_its_scope_and_nothing_else(self, provider: IMemoryProvider) -> None:
        for tenant in ("t1", "t2"):
            for session in ("s1", "s2"):
                for key in ("a", "b"):
                    entry = memory(session + key, tenant_id=tenant, session_id=session)
                    await provider.store(place(tenant), entry.key, entry)
        await provider.delete(place("t1", session_id="s1"), "s1a")
        assert await provider.clear(MemoryScope(tenant_id="t1", session_id="s1")) == 1
        assert await provider.heads(place(), [Address("t1", "ada", "", "s1a")]) == {}
        assert [a.key for a in await provider.keys(MemoryScope(tenant_id="t1"))] == ["s2a", "s2b"]
        assert await provider.count(MemoryScope(tenant_id="t2")) == 4
        assert await provider.clear(MemoryScope(tenant_id="t1")) == 2

    @requirement("PRV-002")
    async def test_a_bad_entry_in_a_batch_writes_nothing(self, provider: IMemoryProvider) -> None:
        batch = [memory("a"), memory("b", metadata={"x": float("nan")}), memory("c")]
        with pytest.raises(InvalidInputError):
            await provider.store_many(place(), batch)
        assert await provider.count(place()) == 0
        assert await provider.store_many(place(), [memory("a"), memory("c"), memory("a")]) == [True, True, True]
        assert await provider.count(place()) == 2

    @requirement("PRV-002")
    async def test_annotate_changes_the_named_fields_of_that_version_alone(self, provider: IMemoryProvider) -> None:
        entry = memory("k", version=2, superseded_by=Address("t1", "ada", "", "x"), valid_to=at(1), pinned=True)
        await provider.store(place(), "k", entry)
        assert not await provider.annotate(place(), "k", version=1, importance=0.1)
        assert not await provider.annotate(place(), "absent", version=1, importance=0.1)
        assert await provider.annotate(place(), "k", version=2, importance=0.1, superseded_by=None, valid_to=None)
        assert await provider.get(place(), "k") == replace(entry, importance=0.1, superseded_by=None, valid_to=None)
        with pytest.raises(InvalidInputError):
            await provider.annotate(place(), "k", version=2, content="no derived field")

    @requirement("FR-019", "FR-018")
    async def test_history_holds_every_version_newest_first(self, provider: IMemoryProvider) -> None:
        for version in (1, 2):
            await provider.store(place(), "k", memory("k", f"text {version}", version=version, valid_from=at(version)))
        await provider.delete(place(), "k")
        found = await provider.versions(place(), "k")
        assert [(entry.version, entry.content) for entry in found] == [(2, "text 2"), (1, "text 1")]
        assert found[1].valid_to == at(2)
        assert await provider.versions(place(volk="bob"), "k") == []

    @requirement("ID-004", "ID-005", "D16", "D17", "D42", "FR-017")
    async def test_no_two_hostile_addresses_meet(self, provider: IMemoryProvider) -> None:
        names = HOSTILE_NAMES
        addresses = {
            Address(names[i], names[i * 7 % 41 % len(names)], "", names[i * 3 % len(names)]) for i in range(len(names))
        }
        addresses |= {Address("a", "b:c", "", "d"), Address("a:b", "c", "", "d"), Address("a", "b", "c:d", "d")}
        addresses |= {Address(t, v, u, "k") for t in ("t1", "t2") for v in ("x", "y") for u in ("", "u")}
        for a in addresses:
            entry = memory(a.key, repr(a), tenant_id=a.tenant_id, volk_id=a.volk_id, user_id=a.user_id)
            assert await provider.store(place(a.tenant_id, a.volk_id, a.user_id), a.key, entry)
        for a in addresses:
            scope = place(a.tenant_id, a.volk_id, a.user_id)
            assert (await _read(provider, scope, a.key)).content == repr(a)
            found = {hit.address for hit in await provider.search(scope, "", limit=1000)}
            assert found == {
                b for b in addresses if (b.tenant_id, b.volk_id, b.user_id) == (a.tenant_id, a.volk_id, a.user_id)
            }
        first = min(addresses)
        assert await provider.delete(place(first.tenant_id, first.volk_id, first.user_id), first.key)
        tenants = {a.tenant_id for a in addresses}
        rest = [hit for t in tenants for hit in await provider.search(MemoryScope(tenant_id=t), "", limit=1000)]
        assert {hit.address for hit in rest} == addresses - {first}

    @requirement("PRV-036")
    async def test_neither_errors_nor_logs_tell_what_is_stored(
        self, provider: IMemoryProvider, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        entry = memory(CANARY, f"{CANARY} text", metadata={"a": CANARY}, tags=(CANARY,), embedding_model="m")
        await provider.store_with_embedding(place(), CANARY, entry, [0.25, 0.5])
        messages = []
        for call in (
            provider.store(place(), CANARY, replace(entry, metadata={"a": {CANARY}})),
            provider.store(place("t2"), CANARY, entry),
            provider.store_with_embedding(place(), CANARY, replace(entry, version=2), [float("nan"), 0.25]),
            provider.search_similar(place(), [0.125, 0.25, 0.5]),
            provider.search(place(), CANARY, limit=0),
            provider.annotate(place(), CANARY, version=1, content=CANARY),
        ):
            with pytest.raises(MnemicError) as caught:
                await call
            messages += [str(caught.value), repr(caught.value)]
        told = "\n".join([*messages, caplog.text])
        assert CANARY not in told
        assert "0.125" not in told

    @requirement("PRV-038", "PRV-037")
    async def test_open_and_close_may_be_repeated_and_ping_never_raises(self, provider: IMemoryProvider) -> None:
        await provider.open()
        await provider.open()
        await provider.store(place(), "k", memory("k"))
        assert await provider.ping() is True
        await provider.close()
        await provider.close()
        assert await provider.ping() in {True, False}

    @requirement("PRV-027", "PRV-028", "D04", "D25")
    @pytest.mark.parametrize(
        "bad", [[0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0], [], [1.0, 2.0, 3.0], [[1.0, 2.0]]]
    )
    async def test_a_vector_that_cannot_be_compared_is_refused(self, provider: IMemoryProvider, bad: Any) -> None:
        await provider.store_with_embedding(place(), "a", memory("a", embedding_model="m"), [1.0, 2.0])
        with pytest.raises(DimensionError):
            await provider.store_with_embedding(place(), "b", memory("b", embedding_model="m"), bad)
        with pytest.raises(DimensionError):
            await provider.search_similar(place(), bad)
        assert await provider.get(place(), "b") is None
        assert [hit.key for hit in await provider.search_similar(place(), [1.0, 2.0])] == ["a"]

    @requirement("TYP-015", "PRV-032")
    async def test_a_vector_keeps_its_direction(self, provider: IMemoryProvider) -> None:
        vector = np.random.default_rng(3).standard_normal(384) * 1e3
        entry = memory("k", embedding_model="m")
        await provider.store_with_embedding(place(), "k", entry, vector.tolist())
        [found] = (await provider.get_many(place(), [entry.address], with_embedding=True)).values()
        assert found.embedding is not None
        assert found.embedding.dtype == np.float32
        assert found.embedding @ vector / np.linalg.norm(vector) >= 0.9999
        assert np.linalg.norm(found.embedding) == pytest.approx(1, abs=1e-3)
