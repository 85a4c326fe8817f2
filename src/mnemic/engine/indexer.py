"""Which entries still lack their vector, and who makes it? Writes return first; vectors follow in batches (FR-002)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from mnemic import words
from mnemic.errors import CapabilityError, MnemicError
from mnemic.ports import Annotation, Clock, Embedder, Embedding, Job, ModelInput, Unit, VectorWrite, input_hash
from mnemic.tiers import Tiers
from mnemic.types import Address, MemoryEntry, MemoryScope

__all__ = ["EMBED", "Indexer", "Owner", "embed_job"]

_LOG = logging.getLogger(__name__)

EMBED = "embed"
"""The kind of job that owes a vector."""
_BATCH = 256
_ROOM = 2048
_LONG_TOKENS = 512
"""Entries over this get a short summary."""
_BACKOFF_S = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)


class Owner(NamedTuple):
    """Whose memory it is."""

    tenant_id: str
    volk_id: str
    user_id: str


def embed_job(entry: MemoryEntry, *, tries: int = 0, due_at: datetime | None = None) -> Job:
    """Make the durable note that an entry's version needs a vector."""
    address = entry.address
    payload = {"volk": address.volk_id, "user": address.user_id, "key": address.key, "version": entry.version}
    id_ = f"{EMBED}:{address.uid}:{entry.version}"
    return Job(id=id_, kind=EMBED, tenant_id=address.tenant_id, payload=payload, tries=tries, due_at=due_at)


@dataclass(frozen=True, slots=True)
class _Owed:
    entry: MemoryEntry
    text: str
    tries: int = 0
    before: MemoryEntry | None = None
    """The turn that it is embedded behind."""

    @property
    def input(self) -> ModelInput:
        return ModelInput(self.text, words.index_text(self.before) if self.before else "")

    @property
    def owner(self) -> Owner:
        return Owner(self.entry.tenant_id, self.entry.volk_id, self.entry.user_id)


class Indexer:
    """Embeds what was stored, in batches, in one task; durable jobs survive a crash and are taken up at start.

    Args:
        tiers: Where vectors go.
        embedder: What makes them.
        clock: Says when to try again.
        timeout_s: How long a batch may take.
        shorten: Tells a long text in a few of its sentences.
    """

    def __init__(
        self,
        tiers: Tiers,
        embedder: Embedder | None,
        clock: Clock,
        *,
        timeout_s: float,
        shorten: Callable[[str], str],
    ) -> None:
        self._tiers, self._embedder, self._clock = tiers, embedder, clock
        self._timeout_s, self._shorten = timeout_s, shorten
        self._queue: dict[tuple[Address, int], _Owed] = {}
        self._under_way: dict[tuple[Address, int], _Owed] = {}
        self._failures, self._look_again = 0, False
        self.failing: str | None = None
        """Why the embedder does not answer now, None while it does; ``turned`` is set when it changes."""
        self.bind()

    def bind(self) -> None:
        """Belong to the event loop that uses it next; what was owed is taken up from its jobs."""
        self._queue.clear()
        self._under_way.clear()
        self._wake, self._changed, self.turned = asyncio.Event(), asyncio.Condition(), asyncio.Event()

    def add(self, entry: MemoryEntry, *, tries: int = 0) -> None:
        """Owe an entry's vector; its job is durable already."""
        if self._embedder is not None:
            self._queue[entry.address, entry.version] = _Owed(entry, words.index_text(entry), tries)
            self._wake.set()

    def owed(self, owner: Owner | None = None) -> int:
        """How many vectors are owed, to one owner or to all."""
        items = (*self._queue.values(), *self._under_way.values())
        return len(items) if owner is None else sum(item.owner == owner for item in items)

    async def settled(self, owner: Owner | None = None, *, timeout_s: float | None = None) -> bool:
        """Wait until nothing is owed any more; False if the time, or the embedder's patience, ran out first."""
        try:
            async with asyncio.timeout(timeout_s), self._changed:
                await self._changed.wait_for(lambda: self.owed(owner) == 0 or self.failing is not None)
        except TimeoutError:
            return False
        return self.owed(owner) == 0

    async def indexed(self, entry: MemoryEntry) -> None:
        """Wait until one entry's vector is there, or the embedder is known to fail."""
        place = (entry.address, entry.version)
        async with self._changed:
            await self._changed.wait_for(
                lambda: (place not in self._queue and place not in self._under_way) or self.failing is not None
            )

    async def room(self) -> None:
        """Wait while the queue is long, so that a bulk load goes at the embedder's pace."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._queue) < _ROOM or self.failing is not None)

    async def resume(self) -> None:
        """Take up what an earlier process owed."""
        if self._embedder is None:
            return
        jobs = await self._tiers.journal.jobs(EMBED, due=self._clock.now(), limit=_ROOM)
        for tenant in {job.tenant_id for job in jobs}:
            await self._take_up(tenant, [job for job in jobs if job.tenant_id == tenant])

    async def run(self) -> None:
        """Embed batch after batch until cancelled; the vectors of one commit while the next are made."""
        commit: asyncio.Task[None] | None = None
        try:
            while True:
                if not self._queue:
                    await self._idle()
                batch = self._take_batch()
                try:
                    writes = await self._writes(batch)
                    if commit is not None:
                        await commit
                except BaseException:
                    await self._release(batch)
                    raise
                commit = asyncio.create_task(self._finish(batch, writes))
        finally:
            if commit is not None:
                await commit

    async def _idle(self) -> None:
        self._wake.clear()
        try:
            soon = self._look_again or self.failing is not None
            async with asyncio.timeout(_BACKOFF_S[0 if soon else -1]):
                await self._wake.wait()
        except TimeoutError:
            self._look_again = False
            await self.resume()

    def _take_batch(self) -> list[_Owed]:
        places = list(self._queue)[:_BATCH]
        batch = [self._queue.pop(place) for place in places]
        self._under_way.update(zip(places, batch, strict=True))
        return batch

    async def _writes(self, batch: Sequence[_Owed]) -> list[VectorWrite | None]:
        """A vector for each, None where there is none now: it is tried again later."""
        answers: Sequence[VectorWrite | Exception]
        try:
            answers = await self._embedded(await self._placed(batch))
        except MnemicError as error:
            answers = [error] * len(batch)
        failed = [(item, answer) for item, answer in zip(batch, answers, strict=True) if isinstance(answer, Exception)]
        if len(failed) < len(batch):
            self._failures = 0
            self._turn(None)
        if failed:
            await self._failed([item for item, _ in failed], failed[0][1], all_of_them=len(failed) == len(batch))
        return [None if isinstance(answer, Exception) else answer for answer in answers]

    def _turn(self, failing: str | None) -> None:
        if failing != self.failing:
            self.failing = failing
            self.turned.set()

    async def _placed(self, batch: Sequence[_Owed]) -> list[_Owed]:
        """The batch with the turns before: of the same session, owner, class and origin (FR-010)."""
        assert self._embedder is not None  # noqa: S101 - see _ask
        turns = [item.entry for item in batch if item.entry.turn]
        if not turns or not self._embedder.sees_before:
            return list(batch)
        found: dict[Address, MemoryEntry | None] = {}
        for tenant in dict.fromkeys(entry.tenant_id for entry in turns):
            own = [entry for entry in turns if entry.tenant_id == tenant]
            try:
                neighbours = await self._tiers.memories.neighbours(MemoryScope(tenant_id=tenant), own)
            except CapabilityError:  # such a store keeps no order of turns; each is embedded alone
                continue
            found |= {entry.address: neighbours.get(entry.address, (None, None))[0] for entry in own}
        return [replace(item, before=_of_same_origin(item.entry, found.get(item.entry.address))) for item in batch]

    async def _embedded(self, batch: Sequence[_Owed]) -> list[VectorWrite | Exception]:
        """A vector or a failure for each; a text that cannot be embedded is found by halving."""
        if not batch:
            return []
        try:
            return list(await self._ask(batch))
        except TimeoutError as error:
            return [error] * len(batch)
        except MnemicError as error:
            if len(batch) == 1:
                return [error]
            half = len(batch) // 2
            return [*await self._embedded(batch[:half]), *await self._embedded(batch[half:])]

    async def _ask(self, batch: Sequence[_Owed]) -> list[VectorWrite]:
        assert self._embedder is not None  # noqa: S101 - nothing is owed without an embedder
        writes: dict[int, VectorWrite] = {}
        for tenant in dict.fromkeys(item.entry.tenant_id for item in batch):
            places = [place for place, item in enumerate(batch) if item.entry.tenant_id == tenant]
            async with asyncio.timeout(self._timeout_s):
                found = await self._embedder.encode_for(tenant, [batch[place].input for place in places])
            for place, embedding in zip(places, found, strict=True):
                writes[place] = _write(batch[place], self._embedder.model_id, embedding)
        return [writes[place] for place in range(len(batch))]

    async def _failed(self, batch: Sequence[_Owed], error: Exception, *, all_of_them: bool) -> None:
        """Note when to try again: a text that fails among others has tries of its own, else the embedder is down."""
        if all_of_them:
            self._turn(type(error).__name__)
            self._failures += 1
        now = self._clock.now()
        jobs = []
        for item in batch:
            tries = self._failures if all_of_them else item.tries + 1
            wait = timedelta(seconds=_BACKOFF_S[min(tries, len(_BACKOFF_S)) - 1])
            jobs.append(embed_job(item.entry, tries=item.tries + 1, due_at=now + wait))
        _LOG.warning("embedder failed (%s): %d vectors wait", type(error).__name__, len(batch))
        await self._tiers.commit(Unit(jobs=tuple(jobs)))

    async def _finish(self, batch: Sequence[_Owed], writes: Sequence[VectorWrite | None]) -> None:
        made = [(item.entry, write) for item, write in zip(batch, writes, strict=True) if write is not None]
        vectors = tuple(write for _, write in made if write.vector.any())
        done = tuple(write.job for _, write in made if not write.vector.any())  # no token, no vector
        try:
            if made:
                summaries = await self._summaries([entry for entry, _ in made])
                await self._tiers.commit(Unit(vectors=vectors, annotations=summaries, done=done))
        except MnemicError as error:
            _LOG.warning("%d vectors could not be kept (%s); their jobs wait", len(vectors), error.code)
            self._look_again = True
        finally:
            await self._release(batch)

    async def _release(self, batch: Sequence[_Owed]) -> None:
        """Tell who waits that a batch is over; what has no vector yet has its job."""
        async with self._changed:
            for item in batch:
                place = (item.entry.address, item.entry.version)
                if self._under_way.get(place) is item:  # else it is owed again, and under way in the next batch
                    del self._under_way[place]
            self._changed.notify_all()

    async def _summaries(self, entries: Sequence[MemoryEntry]) -> tuple[Annotation, ...]:
        """Tell each long entry in a few of its own sentences (FR-005.2)."""
        long = [entry for entry in entries if entry.token_count > _LONG_TOKENS and entry.summary is None]
        texts = [await asyncio.to_thread(self._shorten, entry.content) for entry in long]
        return tuple(
            Annotation(address=entry.address, version=entry.version, fields={"summary": text})
            for entry, text in zip(long, texts, strict=True)
        )

    async def _take_up(self, tenant_id: str, jobs: Sequence[Job]) -> None:
        places = [Address(tenant_id, job.payload["volk"], job.payload["user"], job.payload["key"]) for job in jobs]
        found = await self._tiers.memories.get_many(MemoryScope(tenant_id=tenant_id), list(dict.fromkeys(places)))
        gone = []
        for address, job in zip(places, jobs, strict=True):
            entry = found.get(address)
            if entry is None or entry.version != job.payload["version"]:
                gone.append(job.id)
            elif (address, entry.version) not in self._under_way:
                self.add(entry, tries=job.tries)
        if gone:
            await self._tiers.commit(Unit(done=tuple(gone)))


def _of_same_origin(entry: MemoryEntry, before: MemoryEntry | None) -> MemoryEntry | None:
    return before if before is not None and before.origin is entry.origin else None


def _write(item: _Owed, model_id: str, embedding: Embedding) -> VectorWrite:
    return VectorWrite(
        address=item.entry.address,
        version=item.entry.version,
        model_id=model_id,
        input_hash=input_hash(item.entry.tenant_id, model_id, item.input.whole),
        vector=embedding.vector,
        tokens=embedding.tokens,
        behind=None if item.before is None else (item.before.address, item.before.version),
        job=embed_job(item.entry).id,
    )
