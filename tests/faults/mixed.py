"""One of several processes on one file: stores, updates, deletes and searches, then tells what it sees."""

import asyncio
import json
import random
import sys

from mnemic.errors import ConflictError
from mnemic.ports import Deletion, MemoryFilter, Unit
from mnemic.providers.sqlite import SqliteProvider
from mnemic.testing.strategies import TENANT, memory, place
from mnemic.types import DurabilityMode, MemoryEntry
from tests.faults.workload import EMBEDDER, NOW, Write, unit_of

COUNTERS = ("c0", "c1", "c2")


class Process:
    """Works on keys of its own and on three counters that all share."""

    def __init__(self, path: str, name: str) -> None:
        self.provider = SqliteProvider(path, durability=DurabilityMode.PROCESS)
        self.name, self.chance = name, random.Random(name)
        self.mine: dict[str, int] = {}
        self.added = dict.fromkeys(COUNTERS, 0)
        self.conflicts = 0

    async def work(self, operations: int) -> None:
        """Do so many operations of every kind."""
        kinds = [self.store, self.store, self.store, self.count_up, self.count_up, self.delete, self.search]
        for number in range(operations):
            await self.chance.choice(kinds)(number)

    async def store(self, number: int) -> None:
        """Store an entry of one's own with its vector, and find it at once."""
        write = Write(f"{self.name}n{number}", 1)
        await self.provider.commit(await unit_of(write))
        self.mine[write.key] = 1
        assert await self.provider.get(place(), write.key) is not None

    async def count_up(self, number: int) -> None:
        """Write the next version of a counter, or read again if another process was faster."""
        key = COUNTERS[number % len(COUNTERS)]
        while True:
            before = await self.provider.get(place(), key)
            version = before.version + 1 if before else 1
            try:
                await self.provider.commit(Unit(entries=(_counter(key, version),)))
            except ConflictError:
                self.conflicts += 1
            else:
                self.added[key] += 1
                return

    async def delete(self, _number: int) -> None:
        """Bury one of the own entries."""
        if self.mine:
            key = self.chance.choice(list(self.mine))
            version = self.mine.pop(key) + 1
            await self.provider.commit(
                Unit(deletions=(Deletion(address=memory(key).address, version=version, at=NOW),))
            )
            assert await self.provider.get(place(), key) is None

    async def search(self, _number: int) -> None:
        """Find an own entry by its word and by its vector."""
        if self.mine:
            key = self.chance.choice(list(self.mine))
            assert [hit.key for hit in await self.provider.search(TENANT, f"word{key}x1")] == [key]
            assert await self.nearest(key) == key

    async def nearest(self, key: str) -> str:
        """The key of the entry whose vector is nearest to what a key's text means."""
        [vector] = await EMBEDDER.embed([Write(key, 1).text])
        model = MemoryFilter(embedding_model=EMBEDDER.model_id)
        return (await self.provider.search_similar(TENANT, vector, limit=1, where=model))[0].key


def _counter(key: str, version: int) -> MemoryEntry:
    return memory(key, f"counter {version}", version=version)


async def _main(path: str, name: str, operations: int) -> None:
    process = Process(path, name)
    await process.work(operations)
    print(json.dumps({"mine": list(process.mine), "added": process.added, "conflicts": process.conflicts}), flush=True)  # noqa: T201 - how the parent hears of it
    others = json.loads(await asyncio.to_thread(sys.stdin.readline))
    seen = {
        "count": await process.provider.count(TENANT),
        "keys": [address.key for address in await process.provider.keys(TENANT, limit=1000)],
        "by_meaning": [await process.nearest(key) for key in others],
    }
    print(json.dumps(seen), flush=True)  # noqa: T201 - how the parent hears of it
    await process.provider.close()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
