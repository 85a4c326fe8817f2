"""What does a writer do that is to be interrupted, and what must be there afterwards?"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import apsw

from mnemic.chain import GENESIS
from mnemic.embedders.hashing import Hashing
from mnemic.ports import AuditRecord, AuditRow, Deletion, Unit, VectorWrite, chained
from mnemic.providers.sqlite import SqliteProvider
from mnemic.testing.strategies import TENANT, memory, place
from mnemic.types import DurabilityMode

EMBEDDER = Hashing(dim=16)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Write:
    """One write: the version of a key that it leaves, and whether it deletes."""

    key: str
    version: int
    deletes: bool = False

    @property
    def text(self) -> str:
        """What the version holds, long enough to lie on several pages."""
        return f"entry {self.key} version {self.version} " + f"word{self.key}x{self.version} " * (
            self.version * 37 % 200
        )

    def line(self) -> str:
        """The acknowledgement."""
        return f"{self.key} {self.version} {int(self.deletes)}\n"

    @classmethod
    def parse(cls, line: str) -> Write:
        """Read an acknowledgement."""
        key, version, deletes = line.split()
        return cls(key, int(version), deletes == "1")


async def unit_of(write: Write) -> Unit:
    """The write with its vector and its audit row."""
    entry = memory(write.key, write.text, version=write.version, embedding_model=EMBEDDER.model_id)
    audit = AuditRecord(
        entry_id=f"{write.key}:{write.version}", time=NOW, tenant_id="t1", kind="write", action="store", actor="ada",
        resource=entry.uid, result="success",
    )  # fmt: skip
    if write.deletes:
        return Unit(deletions=(Deletion(address=entry.address, version=write.version, at=NOW),), audit=(audit,))
    [vector] = await EMBEDDER.embed([write.text])
    written = VectorWrite(
        address=entry.address, version=entry.version, model_id=EMBEDDER.model_id, input_hash=b"h", vector=vector
    )
    return Unit(entries=(entry,), vectors=(written,), audit=(audit,))


async def run(
    provider: SqliteProvider,
    acknowledge: Callable[[Write], None],
    *,
    seed: int,
    writers: int,
    count: int,
    early: bool = False,
) -> None:
    """Write from several tasks, each on keys of its own: new ones, new versions, deletions.

    Args:
        provider: Where to.
        acknowledge: Called for each write when it returned.
        seed: Of the random choices.
        writers: How many at once.
        count: Writes of each.
        early: Acknowledge before the write, which is wrong: the control.
    """

    async def write_all(number: int) -> None:
        chance = random.Random(f"{seed}/{number}")
        versions: dict[str, int] = {}
        for _ in range(count):
            key = f"k{number}n{chance.randrange(1 + len(versions) * 2)}"
            versions[key] = versions.get(key, 0) + 1
            write = Write(key, versions[key], deletes=versions[key] > 1 and chance.random() < 0.2)
            if early:
                acknowledge(write)
            await provider.commit(await unit_of(write))
            if not early:
                acknowledge(write)

    async with asyncio.TaskGroup() as group:
        for number in range(writers):
            group.create_task(write_all(number))


async def losses(path: Path, acknowledged: Iterable[Write]) -> int:
    """Open what survived; check that nothing is torn, and count the acknowledged writes that are not there."""
    provider = SqliteProvider(path, durability=DurabilityMode.PROCESS)
    newest = {write.key: write for write in acknowledged}
    addresses = [memory(key).address for key in newest]
    heads = {address.key: head for address, head in (await provider.heads(TENANT, addresses)).items()}
    lost = sum(key not in heads or heads[key].version < write.version for key, write in newest.items())
    for key, head in heads.items():
        if head.version == newest[key].version:
            assert head.live is not newest[key].deletes
    await _check_whole(provider)
    await provider.close()
    [[verdict]] = apsw.Connection(str(path)).execute("PRAGMA integrity_check")
    assert verdict == "ok"
    return lost


async def _check_whole(provider: SqliteProvider) -> None:
    """Each version has its text, its audit row, its words and its vector, or nothing of it is there."""
    rows: list[AuditRow] = []
    page: list[AuditRow] | None = None
    while page is None or page:
        page = await provider.audit_rows("t1", "write", after_seq=len(rows))
        rows += page
    previous = GENESIS
    for number, row in enumerate(rows, start=1):
        assert row == chained(row.record, number, previous)
        previous = row.entry_hash
    entries = {entry.key: entry for entry in (await provider.list(TENANT, limit=1000)).items}
    buried = {grave.address.key: grave.version for grave in await provider.tombstones("t1")}
    last = {key: int(version) for key, version in (row.record.entry_id.split(":") for row in rows)}
    assert {**{key: entry.version for key, entry in entries.items()}, **buried} == last
    for entry in entries.values():
        assert entry.content == Write(entry.key, entry.version).text
        assert await provider.get(place(), entry.key) == entry
    sample = [entry for entry in entries.values() if "word" in entry.content][:5]
    for entry in sample:
        [hit] = await provider.search(TENANT, f"word{entry.key}x{entry.version}")
        assert hit.key == entry.key
    addresses = [entry.address for entry in entries.values()]
    [any_vector] = await EMBEDDER.embed(["any"])
    found = await provider.similarities(TENANT, any_vector, addresses, model_id=EMBEDDER.model_id)
    assert found.keys() == set(addresses)
