"""Any sequence of operations leaves the file as it leaves the dictionary."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mnemic.errors import MnemicError
from mnemic.ports import (
    Annotation,
    Deletion,
    Edge,
    EdgeKind,
    Job,
    MemoryFilter,
    Order,
    Readable,
    SessionRow,
    Touch,
    Unit,
    VectorWrite,
    WorkingMark,
)
from mnemic.ports.filters import parse_where
from mnemic.providers.inmemory import InMemoryProvider
from mnemic.providers.sqlite import SqliteProvider
from mnemic.testing import ManualClock, requirement
from mnemic.testing.strategies import at, memory, place
from mnemic.types import Address, MemoryClassification, MemoryEntry, MemoryHit, MemoryScope
from mnemic.words import terms

T = TypeVar("T")

TENANTS, VOLKS, KEYS, SESSIONS, MODELS = ("t1", "t2"), ("ada", "bob"), ("a", "b", "c"), ("s1", "s2"), ("m", "n")
WORDS = ("red kettle", "red stove", "blue kettle lid", "猫 kettle", "Red Kettle")
VECTORS = ([1.0, 0.0, 0.5], [0.0, 1.0, 0.25], [1.0, 1.0, 0.0], [-1.0, 0.5, 0.0])
WHERES: tuple[dict[str, Any] | MemoryFilter | None, ...] = (
    None,
    {"tag": "X"},
    {"n": {"$gte": 1}},
    {"NOT": {"n": 1}},
    {"OR": [{"tags_any": ["y"]}, {"n": {"$exists": False}}]},
    MemoryFilter(include_superseded=True),
    MemoryFilter(as_of=at(2)),
    MemoryFilter(as_of=at(6)),
    MemoryFilter(readable_by=Readable(volk="ada")),
    MemoryFilter(pinned=True, embedding_model="m"),
)
SCOPES = (
    *(MemoryScope(tenant_id=tenant) for tenant in TENANTS),
    *(MemoryScope(tenant_id="t1", session_id=session) for session in SESSIONS),
    MemoryScope(tenant_id="t1", date_from=at(1), date_to=at(3)),
)
ADDRESSES = [Address(t, v, "", k) for t in TENANTS for v in VOLKS for k in KEYS]
addresses = st.sampled_from(ADDRESSES)
versions = st.integers(1, 6)
vectors = st.none() | st.sampled_from(VECTORS)
days = st.integers(0, 8)


@st.composite
def _entries(draw: st.DrawFn) -> MemoryEntry:
    address = draw(addresses)
    return memory(
        address.key,
        draw(st.sampled_from(WORDS)),
        tenant_id=address.tenant_id,
        volk_id=address.volk_id,
        version=draw(versions),
        session_id=draw(st.sampled_from(SESSIONS)),
        task_id=draw(st.sampled_from(["", "x"])),
        tags=draw(st.sampled_from([(), ("x",), ("X", "y")])),
        metadata=draw(st.sampled_from([{}, {"n": 1}, {"n": 2.0}, {"n": None}])),
        created_at=at(draw(days)),
        valid_from=at(draw(days)),
        expires_at=draw(st.none() | days.map(at)),
        classification=draw(st.sampled_from(MemoryClassification)),
        pinned=draw(st.booleans()),
        importance=draw(st.sampled_from([0.5, 0.9])),
        turn=draw(st.none() | st.integers(0, 2)),
        superseded_by=draw(st.none() | addresses),
        embedding_model=draw(st.sampled_from(MODELS)),
        embedding=draw(vectors.map(lambda v: v if v is None else np.array(v, np.float32))),
    )


def _scope(address: Address) -> MemoryScope:
    return place(address.tenant_id, address.volk_id, address.user_id)


def _scores(hits: list[MemoryHit]) -> dict[Address, float]:
    return {hit.address: hit.score for hit in hits}


class Machine(RuleBasedStateMachine):
    """Does everything to both providers and compares what they say."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = ManualClock(at(0))
        self.oracle = InMemoryProvider(clock=self.clock)
        self.file = SqliteProvider(":memory:", clock=self.clock)
        self.jobs = 0

    def teardown(self) -> None:
        self.runner.run(self.file.close())
        self.runner.close()

    def both(self, call: Callable[[Any], Coroutine[Any, Any, T]]) -> tuple[T | str, T | str]:
        """Call on both; an error counts by its class."""

        async def outcome(provider: object) -> T | str:
            try:
                return await call(provider)
            except MnemicError as error:
                return type(error).__name__

        return self.runner.run(outcome(self.oracle)), self.runner.run(outcome(self.file))

    def same(self, call: Callable[[Any], Coroutine[Any, Any, Any]]) -> None:
        """Both must answer alike."""
        expected, found = self.both(call)
        assert found == expected

    # ---- writes

    @rule(entry=_entries())
    def store(self, entry: MemoryEntry) -> None:
        self.same(lambda provider: provider.store(_scope(entry.address), entry.key, entry))

    @rule(entries=st.lists(_entries(), max_size=4))
    def store_many(self, entries: list[MemoryEntry]) -> None:
        mine = [entry for entry in entries if entry.tenant_id == "t1"]
        self.same(lambda provider: provider.store_many(SCOPES[0], mine))

    @rule(entry=_entries(), vector=st.sampled_from([*VECTORS, [0.0, 0.0, 0.0]]))
    def store_with_embedding(self, entry: MemoryEntry, vector: list[float]) -> None:
        self.same(
            lambda p: p.store_with_embedding(_scope(entry.address), entry.key, replace(entry, embedding=None), vector)
        )

    @rule(address=addresses, version=st.none() | versions)
    def delete(self, address: Address, version: int | None) -> None:
        self.same(lambda provider: provider.delete(_scope(address), address.key, version=version))

    @rule(address=addresses, version=versions, heir=st.none() | addresses, importance=st.sampled_from([0.1, 0.7]))
    def annotate(self, address: Address, version: int, heir: Address | None, importance: float) -> None:
        fields = {"importance": importance, "superseded_by": heir, "summary": None}
        self.same(lambda provider: provider.annotate(_scope(address), address.key, version=version, **fields))

    @rule(entries=st.lists(_entries(), max_size=3), grave=addresses, version=versions, day=days, vector=vectors)
    def commit(
        self, entries: list[MemoryEntry], grave: Address, version: int, day: int, vector: list[float] | None
    ) -> None:
        self.jobs += 1
        written = [] if vector is None else [np.array(vector, np.float32)]
        unit = Unit(
            entries=tuple(entries),
            deletions=(Deletion(address=grave, version=version, at=at(day)),) if day % 3 == 0 else (),
            edges=tuple(
                Edge(e.tenant_id, e.uid, EdgeKind.RELATES_TO, replace(grave, tenant_id=e.tenant_id).uid)
                for e in entries
            ),
            vectors=tuple(
                VectorWrite(address=grave, version=version, model_id="m", input_hash=b"h", vector=v) for v in written
            ),
            annotations=(Annotation(address=grave, version=version, fields={"quality": 0.5}),),
            touches=tuple(Touch(address=e.address, count=1, at=at(day)) for e in entries),
            working=tuple(WorkingMark(address=e.address, session_id="s1", until=at(day)) for e in entries),
            sessions=(SessionRow(tenant_id="t1", session_id="s1", opened_at=at(day)),),
            jobs=(Job(id=f"j{self.jobs % 4}", kind="embed", tenant_id="t1", tries=self.jobs),),
        )
        self.same(lambda provider: provider.commit(unit))

    @rule(one=addresses, other=addresses, kind=st.sampled_from([EdgeKind.DERIVED_FROM, EdgeKind.SUMMARIZED_BY]))
    def link(self, one: Address, other: Address, kind: EdgeKind) -> None:
        edge = Edge(one.tenant_id, one.uid, kind, replace(other, tenant_id=one.tenant_id).uid)
        self.same(lambda provider: provider.link(MemoryScope(tenant_id=one.tenant_id), [edge]))

    @rule(one=addresses, volk=st.sampled_from(VOLKS))
    def share(self, one: Address, volk: str) -> None:
        edge = Edge(one.tenant_id, one.uid, EdgeKind.SHARED_WITH, volk)
        self.same(lambda provider: provider.link(MemoryScope(tenant_id=one.tenant_id), [edge]))

    @rule(scope=st.sampled_from(SCOPES[2:]))
    def clear(self, scope: MemoryScope) -> None:
        self.same(lambda provider: provider.clear(scope))

    @rule(day=days)
    def purge(self, day: int) -> None:
        self.same(lambda provider: provider.purge(deleted_before=at(day), now=at(day)))

    @precondition(lambda self: self.clock.now() < at(9))
    @rule()
    def wait(self) -> None:
        self.clock.advance(timedelta(days=1))

    # ---- reads

    @rule(scope=st.sampled_from(SCOPES), where=st.sampled_from(WHERES), order=st.sampled_from(Order))
    def everything_is_listed_alike(
        self, scope: MemoryScope, where: dict[str, Any] | MemoryFilter | None, order: Order
    ) -> None:
        parsed = parse_where(where)
        for call in (
            lambda provider: _walk(provider, scope, parsed, order),
            lambda provider: provider.count(scope, parsed),
            lambda provider: provider.keys(scope),
        ):
            self.same(call)

    @rule(
        scope=st.sampled_from(SCOPES),
        where=st.sampled_from(WHERES),
        query=st.sampled_from([*WORDS, "red", "", "absent"]),
    )
    def words_find_the_same(self, scope: MemoryScope, where: dict[str, Any] | MemoryFilter | None, query: str) -> None:
        expected, found = self.both(lambda provider: provider.search(scope, query, limit=100, where=parse_where(where)))
        assert isinstance(expected, list)
        assert isinstance(found, list)
        assert {hit.address: hit.entry() for hit in found} == {hit.address: hit.entry() for hit in expected}
        if expected:
            assert found[0].score == expected[0].score == 1.0

    @rule(
        scope=st.sampled_from(SCOPES),
        where=st.sampled_from(WHERES),
        model=st.sampled_from(MODELS),
        vector=st.sampled_from(VECTORS),
    )
    def vectors_find_the_same(
        self, scope: MemoryScope, where: dict[str, Any] | MemoryFilter | None, model: str, vector: list[float]
    ) -> None:
        parsed = replace(parse_where(where), embedding_model=model)
        expected, found = self.both(lambda provider: provider.search_similar(scope, vector, limit=100, where=parsed))
        assert isinstance(expected, list)
        assert isinstance(found, list)
        assert _scores(found) == pytest.approx(_scores(expected), abs=2e-3)

    @rule(
        address=addresses, depth=st.integers(1, 3), kinds=st.sampled_from([None, ["session"], ["volk", "RELATES_TO"]])
    )
    def walks_lead_alike(self, address: Address, depth: int, kinds: list[str] | None) -> None:
        self.same(lambda provider: provider.related(_scope(address), address.key, depth=depth, kinds=kinds))

    @invariant()
    def each_address_says_the_same(self) -> None:
        async def points(provider: Any) -> list[Any]:
            got = [await provider.get(_scope(address), address.key) for address in ADDRESSES]
            return [*got, *[await provider.versions(_scope(address), address.key) for address in ADDRESSES]]

        self.same(points)

    @invariant()
    def each_tenant_says_the_same(self) -> None:
        async def sets(provider: Any) -> list[Any]:
            said: list[Any] = [await provider.tenants(), await provider.job_count("embed")]
            for tenant in TENANTS:
                scope = MemoryScope(tenant_id=tenant)
                mine = [address for address in ADDRESSES if address.tenant_id == tenant]
                said += [await provider.heads(scope, mine), await provider.tombstones(tenant)]
                stats = await provider.word_stats(scope, sorted({*terms(" ".join(WORDS))}))
                said += [stats.rows, round(stats.average_length, 6), {t: n for t, n in stats.rows_with.items() if n}]
                said += [_sorted(await provider.edges(scope, [address.uid for address in mine]))]
                said += [await provider.working(tenant, "s1"), await provider.session(tenant, "s1")]
            entries, marks = await provider.overdue(now=at(5))
            return [*said, sorted(entries, key=lambda e: e.address), sorted(marks, key=lambda m: m.address)]

        self.same(sets)


def _sorted(edges: list[Edge]) -> list[Edge]:
    return sorted(edges, key=lambda edge: (edge.source, edge.kind, edge.target))


async def _walk(provider: Any, scope: MemoryScope, where: MemoryFilter, order: Order) -> list[MemoryEntry]:
    found: list[MemoryEntry] = []
    cursor = None
    while True:
        page = await provider.list(scope, where, order=order, after=cursor, limit=2)
        found += page.items
        if (cursor := page.next_cursor) is None:
            return found


@requirement("PRV-040", "PRV-041", "PRV-005", "PRV-006", "PRV-013")
@pytest.mark.store
@pytest.mark.timeout(90)
class TestMachine(Machine.TestCase):  # type: ignore[misc,valid-type]  # hypothesis makes the class at run time
    settings = settings(max_examples=40, stateful_step_count=20)


@pytest.mark.long
class TestMachineLonger(Machine.TestCase):  # type: ignore[misc,valid-type]  # hypothesis makes the class at run time
    settings = settings(max_examples=2000, stateful_step_count=60)
