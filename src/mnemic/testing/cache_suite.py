"""What must every store of vectors do: know them by input and by entry, and let none outlive what it saw?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from mnemic.ports import (
    Deletion,
    Embedding,
    EmbeddingCache,
    IMemoryProvider,
    Job,
    Journal,
    MemoryFilter,
    Unit,
    VectorWrite,
)
from mnemic.testing.marks import requirement
from mnemic.testing.strategies import TENANT, at, memory, place
from mnemic.types import MemoryEntry

__all__ = ["CachingStore", "EmbeddingCacheSuite"]

UNIT = np.array([0.6, 0.8], np.float32)
TOKENS = bytes(range(256)) * 9 + b"end"

Change = Callable[["CachingStore", MemoryEntry], Awaitable[object]]


class CachingStore(IMemoryProvider, Journal, EmbeddingCache):
    """What the suite needs: provider, journal and cache in one; only a type."""


def _write(entry: MemoryEntry, behind: MemoryEntry | None = None, **fields: object) -> VectorWrite:
    write = VectorWrite(
        address=entry.address,
        version=entry.version,
        model_id="m",
        input_hash=entry.key.encode(),
        vector=UNIT,
        tokens=TOKENS,
        behind=None if behind is None else (behind.address, behind.version),
    )
    return replace(write, **fields)  # type: ignore[arg-type]  # fields of a write


async def _change(store: CachingStore, entry: MemoryEntry) -> None:
    newer = replace(entry, content="other text", version=entry.version + 1)
    await store.commit(Unit(entries=(newer,)))


async def _bury(store: CachingStore, entry: MemoryEntry) -> None:
    await store.commit(Unit(deletions=(Deletion(address=entry.address, version=entry.version + 1, at=at(1)),)))


async def _store_over(store: CachingStore, entry: MemoryEntry) -> None:
    await store.store(place(), entry.key, replace(entry, content="other text", version=entry.version + 1))


async def _delete(store: CachingStore, entry: MemoryEntry) -> None:
    assert await store.delete(place(), entry.key)


async def _clear(store: CachingStore, entry: MemoryEntry) -> None:
    assert await store.clear(place(session_id=entry.session_id)) == 1


ENDS: dict[str, Change] = {
    "commit": _change, "bury": _bury, "store": _store_over, "delete": _delete, "clear": _clear,
}  # fmt: skip


class EmbeddingCacheSuite:
    """Holds a store to FR-010 and REQ-010-037.

    A subclass supplies an async fixture ``store`` that yields an empty provider, journal and cache in one to each test.
    """

    pytestmark: ClassVar = [pytest.mark.store, pytest.mark.embedding]

    @requirement("REQ-010-037")
    async def test_what_is_kept_is_known_by_tenant_model_and_input(self, store: CachingStore) -> None:
        await store.keep("t1", "m", {b"1": Embedding(UNIT), b"2": Embedding(UNIT[::-1].copy(), TOKENS)})
        found = await store.cached("t1", "m", [b"1", b"2", b"3", b"1"])
        assert {key: known.tokens for key, known in found.items()} == {b"1": b"", b"2": TOKENS}
        np.testing.assert_allclose(found[b"2"].vector, UNIT[::-1], atol=1e-3)
        assert await store.cached("t2", "m", [b"1"]) == await store.cached("t1", "n", [b"1"]) == {}
        await store.keep("t1", "m", {b"1": Embedding(UNIT, TOKENS)})
        assert (await store.cached("t1", "m", [b"1"]))[b"1"].tokens == TOKENS

    @requirement("REQ-010-037")
    async def test_an_entrys_token_vectors_are_known_by_it_and_by_its_input(self, store: CachingStore) -> None:
        one, two, bare = memory("one"), memory("two", user_id="u"), memory("bare")
        writes = (_write(one), _write(two, tokens=b"short"), _write(bare, tokens=b""))
        await store.commit(Unit(entries=(one, two, bare), vectors=writes))
        addresses = [entry.address for entry in (two, one, bare, memory("absent"), memory("one", tenant_id="t2"))]
        assert await store.tokens_of("t1", "m", addresses) == {one.address: TOKENS, two.address: b"short"}
        assert await store.tokens_of("t1", "other", addresses) == await store.tokens_of("t1", "m", []) == {}
        assert await store.tokens_of("t2", "m", addresses) == {}
        assert (await store.cached("t1", "m", [b"one"]))[b"one"].tokens == TOKENS

    async def test_a_new_vector_of_a_version_replaces_the_token_vectors(self, store: CachingStore) -> None:
        entry = memory("k")
        await store.commit(Unit(entries=(entry,), vectors=(_write(entry),)))
        await store.commit(Unit(vectors=(_write(entry, tokens=b"new", model_id="n", input_hash=b"2"),)))
        assert await store.tokens_of("t1", "n", [entry.address]) == {entry.address: b"new"}
        assert await store.tokens_of("t1", "m", [entry.address]) == {}

    @pytest.mark.parametrize("end", ENDS)
    async def test_with_an_entry_goes_all_that_saw_it_and_nothing_else(self, store: CachingStore, end: str) -> None:
        first = memory("first", session_id="s1")
        second, third = memory("second", session_id="s2"), memory("third", session_id="s2")
        await store.keep("t1", "m", {key: Embedding(UNIT, TOKENS) for key in (b"first", b"second", b"third", b"query")})
        writes = (_write(first), _write(second, first), _write(third, second))
        await store.commit(Unit(entries=(first, second, third), vectors=writes))
        assert len(await store.search_similar(TENANT, UNIT)) == 3
        await ENDS[end](store, first)
        addresses = [entry.address for entry in (first, second, third)]
        assert await store.tokens_of("t1", "m", addresses) == {third.address: TOKENS}
        assert [hit.key for hit in await store.search_similar(TENANT, UNIT)] == ["third"]
        assert (await store.cached("t1", "m", [b"first", b"second", b"third", b"query"])).keys() == {b"third", b"query"}
        found = (await store.get_many(TENANT, addresses[1:], with_embedding=True)).values()
        assert {(entry.key, entry.embedding is None, entry.embedding_model) for entry in found} == {
            ("second", True, None),
            ("third", False, "m"),
        }
        assert await store.count(TENANT, MemoryFilter(embedding_model="m")) == 1
        await store.commit(Unit(vectors=(_write(second),)))
        assert second.address in await store.tokens_of("t1", "m", addresses)

    @pytest.mark.parametrize("end", ENDS)
    async def test_a_vector_comes_too_late_when_what_it_saw_is_gone_and_stays_owed(
        self, store: CachingStore, end: str
    ) -> None:
        first, second = memory("first", session_id="s1"), memory("second", session_id="s2")
        job = Job(id="j", kind="embed", tenant_id="t1")
        await store.commit(Unit(entries=(first, second), jobs=(job,)))
        await ENDS[end](store, first)
        await store.commit(Unit(vectors=(_write(second, first, job="j"),)))
        assert await store.tokens_of("t1", "m", [second.address]) == {}
        assert await store.search_similar(TENANT, UNIT) == []
        assert await store.job_count("embed") == 1
        await store.commit(Unit(vectors=(_write(second, job="j"),)))
        assert await store.job_count("embed") == 0
        assert await store.tokens_of("t1", "m", [second.address]) == {second.address: TOKENS}

    async def test_a_vector_of_an_older_version_is_left_out_and_owed_no_more(self, store: CachingStore) -> None:
        entry = memory("k")
        await store.commit(Unit(entries=(entry,), jobs=(Job(id="j", kind="embed", tenant_id="t1"),)))
        await _change(store, entry)
        await store.commit(Unit(vectors=(_write(entry, job="j"),)))
        assert await store.tokens_of("t1", "m", [entry.address]) == {}
        assert await store.job_count("embed") == 0

    async def test_a_vector_made_anew_without_the_other_entry_stays_when_that_one_goes(
        self, store: CachingStore
    ) -> None:
        first, second = memory("first"), memory("second")
        await store.commit(Unit(entries=(first, second), vectors=(_write(second, first),)))
        await store.commit(Unit(vectors=(_write(second),)))
        await _bury(store, first)
        assert await store.tokens_of("t1", "m", [second.address]) == {second.address: TOKENS}
