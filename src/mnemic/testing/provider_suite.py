"""What must every memory provider do? Inherit one class, supply one fixture."""

from __future__ import annotations

import inspect
from contextlib import nullcontext

import pytest

from mnemic.errors import CapabilityError
from mnemic.ports import Capability, IMemoryProvider
from mnemic.testing.marks import requirement
from mnemic.testing.provider_pages import PageSuite
from mnemic.testing.provider_points import PointSuite
from mnemic.testing.provider_queries import QuerySuite
from mnemic.testing.provider_search import SearchSuite
from mnemic.testing.strategies import TENANT, memory, place

__all__ = ["ProviderSuite"]


class ProviderSuite(PointSuite, QuerySuite, PageSuite, SearchSuite):
    """Holds a provider to sections 10.1 to 10.3 of the contract.

    A subclass supplies a fixture ``provider`` that gives each test an empty provider of its own; pytest-asyncio runs in
    auto mode.
    """

    @requirement("PRV-001")
    def test_exactly_seven_methods_are_abstract_and_take_the_scope_first(self, provider: IMemoryProvider) -> None:
        seven = {"store", "get", "search", "delete", "clear", "store_with_embedding", "search_similar"}
        assert IMemoryProvider.__abstractmethods__ == seven
        for name in seven:
            assert next(iter(inspect.signature(getattr(provider, name)).parameters)) == "scope"

    @requirement("PRV-003")
    async def test_a_capability_is_there_exactly_if_it_is_declared(self, provider: IMemoryProvider) -> None:
        await provider.store(place(), "k", memory("k"))
        for flag, call in (
            (Capability.HISTORY, provider.versions(place(), "k")),
            (Capability.GRAPH, provider.link(TENANT, [])),
            (Capability.GRAPH, provider.edges(TENANT, [])),
            (Capability.GRAPH, provider.related(place(), "k")),
            (Capability.COLLECTIONS, provider.collections()),
        ):
            with nullcontext() if flag in provider.capabilities else pytest.raises(CapabilityError):
                await call
