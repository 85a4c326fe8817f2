"""What a provider gets for its seven methods, and what it does not."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from mnemic.errors import CapabilityError
from mnemic.ports import Capability, Head, IMemoryProvider, MemoryFilter
from mnemic.providers.inmemory import InMemoryProvider
from mnemic.testing import ManualClock, requirement
from mnemic.testing.strategies import TENANT, fill, memory, place
from mnemic.types import Address, MemoryEntry, MemoryHit, MemoryScope, Vector

pytestmark = pytest.mark.core_interface


class Seven(IMemoryProvider):
    """Has the seven methods and nothing else."""

    name: ClassVar[str] = "seven"
    capabilities = Capability.NONE

    def __init__(self, inner: InMemoryProvider) -> None:
        self.inner = inner

    async def store(self, scope: MemoryScope, key: str, entry: MemoryEntry) -> bool:
        return await self.inner.store(scope, key, entry)

    async def get(self, scope: MemoryScope, key: str) -> MemoryEntry | None:
        return await self.inner.get(scope, key)

    async def search(
        self, scope: MemoryScope, query: str, *, limit: int = 10, where: MemoryFilter | None = None
    ) -> list[MemoryHit]:
        return await self.inner.search(scope, query, limit=limit, where=where)

    async def delete(self, scope: MemoryScope, key: str, *, version: int | None = None) -> bool:
        return await self.inner.delete(scope, key, version=version)

    async def clear(self, scope: MemoryScope) -> int:
        return await self.inner.clear(scope)

    async def store_with_embedding(
        self, scope: MemoryScope, key: str, entry: MemoryEntry, embedding: Sequence[float] | Vector
    ) -> bool:
        return await self.inner.store_with_embedding(scope, key, entry, embedding)

    async def search_similar(
        self,
        scope: MemoryScope,
        embedding: Sequence[float] | Vector,
        *,
        limit: int = 10,
        min_score: float = 0.0,
        where: MemoryFilter | None = None,
    ) -> list[MemoryHit]:
        return await self.inner.search_similar(scope, embedding, limit=limit, min_score=min_score, where=where)


@pytest.fixture
def native() -> InMemoryProvider:
    return InMemoryProvider(clock=ManualClock())


@pytest.fixture
def seven(native: InMemoryProvider) -> Seven:
    return Seven(native)


@requirement("PRV-001", "PRV-003")
@pytest.mark.parametrize(
    "call",
    [
        lambda p: p.list(TENANT),
        lambda p: p.count(TENANT),
        lambda p: p.keys(TENANT),
        lambda p: p.word_stats(TENANT, ["a"]),
        lambda p: p.neighbours(TENANT, []),
        lambda p: p.versions(place(), "k"),
        lambda p: p.link(TENANT, []),
        lambda p: p.edges(TENANT, []),
        lambda p: p.related(place(), "k"),
        lambda p: p.collections(),
    ],
)
async def test_what_seven_methods_cannot_do_is_an_error_and_no_empty_answer(
    seven: Seven, call: Callable[[IMemoryProvider], Awaitable[Any]]
) -> None:
    with pytest.raises(CapabilityError):
        await call(seven)


@requirement("PRV-002")
async def test_the_defaults_of_seven_methods_do_what_the_native_ones_do(seven: Seven, native: InMemoryProvider) -> None:
    await seven.open()
    entries = [memory("a", "red kettle"), memory("b", "red"), memory("a", "old", version=1)]
    assert await seven.store_many(place(), entries) == [True, True, False]
    assert await seven.update(place(), "a", memory("a", "red kettle lid", version=2))
    assert not await seven.update(place(), "absent", memory("absent"))
    addresses = [memory(key).address for key in ("a", "b", "absent")]
    assert await seven.get_many(TENANT, addresses) == await native.get_many(TENANT, addresses)
    assert await seven.heads(TENANT, addresses) == {addresses[0]: Head(2, live=True), addresses[1]: Head(1, live=True)}
    assert await seven.ping() is True
    await seven.close()


@requirement("PRV-002")
async def test_the_default_annotates_by_a_replay_and_refuses_to_clear(seven: Seven) -> None:
    await fill(seven, [memory("k", version=3, valid_to=None)])
    assert await seven.annotate(place(), "k", version=3, importance=0.9, access_count=4)
    assert not await seven.annotate(place(), "k", version=2, importance=0.1)
    assert not await seven.annotate(place(), "absent", version=1, importance=0.1)
    assert await seven.get(place(), "k") == memory("k", version=3, importance=0.9, access_count=4)
    with pytest.raises(CapabilityError):
        await seven.annotate(place(), "k", version=3, valid_to=None)


@requirement("PRV-002")
async def test_the_default_similarity_is_the_native_one(native: InMemoryProvider) -> None:
    for key, model in (("a", "m"), ("b", "n")):
        await native.store_with_embedding(place(), key, memory(key, embedding_model=model), [3.0, 4.0])
    query = np.array([1.0, 0.0], np.float32)
    addresses = [Address("t1", "ada", "", key) for key in ("a", "b", "absent")]
    found = await IMemoryProvider.similarities(native, TENANT, query, addresses, model_id="m")
    assert found == await native.similarities(TENANT, query, addresses, model_id="m")
    assert found == {addresses[0]: pytest.approx(0.6)}
