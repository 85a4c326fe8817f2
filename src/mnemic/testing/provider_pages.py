"""In which order, and page by page, must every provider list what it has?"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import ClassVar

import pytest

from mnemic.errors import InvalidInputError
from mnemic.ports import IMemoryProvider, MemoryFilter, Order
from mnemic.testing.marks import requirement
from mnemic.testing.strategies import START, TENANT, at, corpus, fill, memory, place
from mnemic.types import Address

__all__ = ["PageSuite"]


class PageSuite:
    """Limits, cursors, orders and defaults."""

    pytestmark: ClassVar = [pytest.mark.retrieve]

    @requirement("PRV-013", "PRV-024")
    async def test_a_filter_acts_before_the_limit(self, provider: IMemoryProvider) -> None:
        await fill(provider, [memory(f"k{n:03}", tags=("rare",) if n % 50 == 49 else ()) for n in range(200)])
        rare = MemoryFilter(tags_all=("rare",))
        for query in ("", "thing"):
            hits = await provider.search(TENANT, query, limit=3, where=rare)
            assert [hit.key for hit in hits] == ["k049", "k099", "k149"]

    @requirement("PRV-024", "REQ-010-019")
    @pytest.mark.parametrize("limit", [0, -1, 1001, 10**9])
    async def test_a_limit_out_of_bounds_is_refused(self, provider: IMemoryProvider, limit: int) -> None:
        await provider.store_with_embedding(place(), "k", memory("k"), [1.0])
        for call in (
            provider.search(TENANT, "thing", limit=limit),
            provider.search_similar(TENANT, [1.0], limit=limit),
            provider.list(TENANT, limit=limit),
            provider.keys(TENANT, limit=limit),
        ):
            with pytest.raises(InvalidInputError):
                await call

    @requirement("PRV-020")
    @pytest.mark.parametrize("query", ["", " \n\t\u3000"])
    async def test_an_empty_query_lists_the_scope_newest_first(self, provider: IMemoryProvider, query: str) -> None:
        await fill(provider, [memory("old"), memory("b", created_at=at(1)), memory("a", created_at=at(1))])
        hits = await provider.search(TENANT, query)
        assert [(hit.key, hit.score) for hit in hits] == [("a", 1.0), ("b", 1.0), ("old", 1.0)]
        assert [hit.key for hit in await provider.search(TENANT, query, limit=1)] == ["a"]

    @requirement("D32", "PRV-002", "PRV-033")
    @pytest.mark.parametrize("size", [1, 7, 100, 536, 537, 538, 1000])
    @pytest.mark.parametrize("order", list(Order))
    async def test_pages_show_each_entry_once_while_others_write(
        self, provider: IMemoryProvider, size: int, order: Order
    ) -> None:
        entries = [memory(f"k{n:04}", created_at=at(n // 9)) for n in range(537 if size > 1 else 60)]
        await provider.store_many(place(), entries)
        seen: list[str] = []
        cursor, pages = None, 0
        while cursor is not None or not pages:
            page = await provider.list(TENANT, order=order, after=cursor, limit=size)
            seen += [entry.key for entry in page.items]
            cursor, pages = page.next_cursor, pages + 1
            await fill(
                provider, [memory(f"new{pages}", created_at=START - timedelta(days=pages) if pages % 2 else at(999))]
            )
        mine = [key for key in seen if not key.startswith("new")]
        sign = -1 if order is Order.NEWEST else 1
        expected = sorted(entries, key=lambda entry: (sign * entry.created_at.timestamp(), entry.key))
        assert mine == [entry.key for entry in expected]
        assert len(set(seen)) == len(seen)

    @requirement("D32", "D18")
    @pytest.mark.parametrize("cursor", ["", "x", "{}", "[1]", "[null,1,2,3]", "%", "0"])
    async def test_a_malformed_cursor_is_refused(self, provider: IMemoryProvider, cursor: str) -> None:
        with pytest.raises(InvalidInputError):
            await provider.list(TENANT, after=cursor)

    @requirement("PRV-033")
    async def test_keys_come_in_code_point_order_and_stand_deletion(self, provider: IMemoryProvider) -> None:
        names = ("b", "a", "é", "Z", "日本", "\U0001f600", "\ufffd", "a b")
        await fill(provider, [memory(k, volk_id=v, user_id=u) for k in names for v in ("z", "A") for u in ("", "u")])
        expected = sorted(Address("t1", v, u, k) for k in names for v in ("z", "A") for u in ("", "u"))
        seen: list[Address] = []
        while page := await provider.keys(TENANT, after=seen[-1] if seen else None, limit=5):
            seen += page
            await provider.delete(place(volk=page[0].volk_id, user=page[0].user_id), page[0].key)
        assert seen == expected

    @requirement("PRV-002")
    async def test_a_native_method_equals_the_default_made_of_the_seven(self, provider: IMemoryProvider) -> None:
        await fill(provider, [*corpus(), memory("old", superseded_by=Address("t1", "ada", "", "k01"))])
        await provider.delete(place(), "old")
        addresses = [*(entry.address for entry in corpus()), Address("t1", "x", "", "absent")]
        port = IMemoryProvider
        assert await provider.count(TENANT) == await port.count(provider, TENANT) == 48
        assert await provider.keys(TENANT, limit=20) == await port.keys(provider, TENANT, limit=20)
        assert await provider.get_many(TENANT, addresses) == await port.get_many(provider, TENANT, addresses)
        assert await provider.heads(TENANT, addresses) == await port.heads(provider, TENANT, addresses)

    @requirement("PRV-037", "PRV-006")
    async def test_own_writes_are_found_at_once(self, provider: IMemoryProvider) -> None:
        async def write_and_find(number: int) -> bool:
            entry = memory(f"k{number}", f"thing unique{number}")
            await provider.store(place(), entry.key, entry)
            return [hit.key for hit in await provider.search(TENANT, f"unique{number}")] == [entry.key]

        assert all(await asyncio.gather(*(write_and_find(number) for number in range(30))))
