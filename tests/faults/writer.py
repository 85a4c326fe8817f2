"""The process that is killed: writes to a file, and each acknowledgement to standard output."""

import asyncio
import os
import sys

from mnemic.providers.sqlite import SqliteProvider
from mnemic.types import DurabilityMode
from tests.faults.workload import Write, run


def _acknowledge(write: Write) -> None:
    os.write(1, write.line().encode())


async def _main(path: str, durability: str, seed: str, mode: str) -> None:
    provider = SqliteProvider(path, durability=DurabilityMode(durability))
    await run(provider, _acknowledge, seed=int(seed), writers=12, count=1_000_000, early=mode == "early")


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
