"""A turn is embedded behind the one before it, and no vector outlives what it saw."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from mnemic import BatchItem, MemoryClassification, MemoryEngine, MemoryScope, Origin, SearchMode
from mnemic.embedders.hashing import Hashing
from mnemic.embedders.minilm import MiniLM
from mnemic.maxsim import pack_tokens
from mnemic.ports import Encoded, ModelInput
from mnemic.testing import requirement
from mnemic.types import Address, Vector
from mnemic.vectors import pack
from tests.engine.world import Store, World, entries, running

pytestmark = pytest.mark.embedding

TURNS = ("do you still swim?", "yes, twice a week", "in the lake behind the mill")


class Seeing(Hashing):
    """Reads a text behind another; each word is a token. It can be held back, and counts what it is asked."""

    token_dim = 16
    sees_before = True

    def __init__(self) -> None:
        super().__init__(dim=32)
        self.asked: list[ModelInput] = []
        self.begun, self.free = asyncio.Event(), asyncio.Event()
        self.free.set()

    async def encode(self, inputs: Sequence[ModelInput], *, urgent: bool = False) -> list[Encoded]:
        self.asked += inputs
        self.begun.set()
        await self.free.wait()
        return [await self.made(item) for item in inputs]

    async def made(self, item: ModelInput) -> Encoded:
        whole = (await self.embed([item.whole]))[0]
        words = (await self.embed(item.text.split()))[:, :16] / 2 + whole[:16] / 2
        return Encoded(whole, words)


Known = tuple[Vector, bytes]


async def known(store: Store) -> dict[str, Known]:
    """The vector and token vectors of every memory that has them, by key."""
    found = await entries(store)
    addresses = [entry.address for entry in found]
    having = await store.get_many(MemoryScope(tenant_id="t1"), addresses, with_embedding=True)
    names = {entry.embedding_model for entry in found} - {None}
    tokens: dict[Address, bytes] = {}
    for name in names:
        tokens |= await store.tokens_of("t1", name or "", addresses)
    return {
        entry.key: (entry.embedding, tokens.get(entry.address, b""))
        for entry in having.values()
        if entry.embedding is not None
    }


def _items(**options: Any) -> list[BatchItem]:
    """The turns, under the keys t0, t1 and t2."""
    return [
        BatchItem(content=text, options={"key": f"t{turn}", "turn": turn, **options}) for turn, text in enumerate(TURNS)
    ]


def _seen(model: Seeing) -> dict[str, str]:
    """Behind what each text was read, the last time."""
    return {item.text: item.before for item in model.asked}


async def test_a_turn_is_embedded_behind_the_one_before_and_anything_else_alone(world: World) -> None:
    model = Seeing()
    async with running(world.engine(model=model)) as engine:
        await engine.store_many(_items())
        await engine.store("a fact of its own", key="fact")
        await engine.flush()
        found = await known(world.store)
    assert _seen(model) == {TURNS[0]: "", TURNS[1]: TURNS[0], TURNS[2]: TURNS[1], "a fact of its own": ""}
    expected = await model.made(ModelInput(TURNS[1], TURNS[0]))
    assert found["t1"][0] @ expected.vector > 0.999
    assert expected.tokens is not None
    assert found["t1"][1] == pack_tokens(expected.tokens)


@pytest.mark.parametrize(
    ("bound", "options"),
    [
        ({"session_id": "s2"}, {}),
        ({"volk_id": "bob"}, {}),
        ({"user_id": "u"}, {}),
        ({"tenant_id": "t2"}, {}),
        ({"roles": ["team_lead"]}, {"classification": MemoryClassification.SHARED}),
        ({}, {"origin": Origin.USER}),
        ({}, {"turn": 2}),
    ],
)
async def test_no_turn_sees_one_of_another_owner_class_origin_or_session(
    world: World, bound: dict[str, Any], options: dict[str, Any]
) -> None:
    model = Seeing()
    async with running(world.engine(model=model)) as engine:
        await engine.store(TURNS[0], turn=0)
        await engine.acting_as(**bound).store(TURNS[1], **{"turn": 1, **options})
        await engine.flush()
    assert _seen(model) == {TURNS[0]: "", TURNS[1]: ""}


Change = Callable[[MemoryEngine, World], Awaitable[object]]


async def _expire(engine: MemoryEngine, world: World) -> None:
    world.clock.advance(timedelta(days=9))
    assert await engine.sweep() == 1


async def _forget(engine: MemoryEngine, world: World) -> None:
    await engine.forget({"key": "t0"}, dry_run=False, expected_count=1)


async def _import(engine: MemoryEngine, world: World) -> None:
    """A newer version comes from another store."""
    lines = [line async for line in engine.export()]
    newer = [line.replace(TURNS[0], "do you still ski?").replace('"version":1', '"version":2') for line in lines]
    assert await engine.import_([line for line in newer if "mnemic-export" in line or '"key":"t0"' in line]) == 1


CHANGES: dict[str, tuple[Change, dict[str, Any] | None]] = {
    "update": (lambda engine, _: engine.update("t0", content="do you still ski?"), {"content": "do you still ski?"}),
    "store over": (lambda e, _: e.store("do you still ski?", key="t0", turn=0), {"content": "do you still ski?"}),
    "import": (_import, {"content": "do you still ski?"}),
    "tag": (lambda engine, _: engine.update("t0", tags=["sport"]), {"tags": ["sport"]}),
    "reclassify": (
        lambda engine, _: engine.update("t0", classification=MemoryClassification.SHARED),
        {"classification": MemoryClassification.SHARED},
    ),
    "move": (lambda e, _: e.acting_as(session_id="s2").store(TURNS[0], key="t0", turn=0), {"turn": 7}),
    "delete": (lambda engine, _: engine.delete("t0"), None),
    "forget": (_forget, None),
    "expire": (_expire, None),
}
"""What is done to the first turn, and how a store that only ever saw the end of it has it; None: not at all."""


@pytest.mark.parametrize("name", CHANGES)
async def test_what_changes_a_turn_takes_its_vector_out_of_the_next_at_once(
    world: World, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    change, left = CHANGES[name]
    model, fresh = Seeing(), World("inmemory", tmp_path_factory.mktemp("fresh"))
    first, *others = _items(expires_at=datetime(2026, 1, 8, tzinfo=UTC))
    others = [BatchItem(content=item.content, options={**item.options, "expires_at": None}) for item in others]
    async with running(world.engine(model=model)) as engine:
        leader = engine.acting_as(roles=["team_lead"])
        await leader.store_many([first, *others])
        await leader.flush()
        before = await known(world.store)
        model.free.clear()
        await change(leader, world)
        between = await known(world.store)
        assert between.keys() == {"t2"}
        assert np.array_equal(between["t2"][0], before["t2"][0])
        assert between["t2"][1] == before["t2"][1]
        _assert_gone(world, [before["t0"], before["t1"]])
        model.free.set()
        await leader.flush()
        after = await known(world.store)
    async with running(fresh.engine(model=Seeing())) as engine:
        leader = engine.acting_as(roles=["team_lead"])
        if left is not None:
            options = {**first.options, **{name: value for name, value in left.items() if name != "content"}}
            await leader.store(left.get("content", first.content), **options)
        await leader.store_many(others)
        await leader.flush()
        expected = await known(fresh.store)
    assert after.keys() == expected.keys()
    for key, (vector, tokens) in expected.items():
        np.testing.assert_allclose(after[key][0], vector, atol=2e-3, err_msg=key)
        assert after[key][1] == tokens, key


def _assert_gone(world: World, embeddings: list[Known]) -> None:
    """No table of the file holds these vectors."""
    if world.kind != "sqlite":
        return
    db = apsw.Connection(str(world.folder / "memory.db"))
    blobs = [
        value
        for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'")
        for row in db.execute(f"SELECT * FROM {table}")
        for value in row
        if isinstance(value, bytes)
    ]
    assert blobs
    for vector, tokens in embeddings:
        assert not any(pack(vector) in blob or tokens[:1000] in blob for blob in blobs)
    db.close()


async def test_a_vector_that_is_made_while_its_context_changes_is_made_anew(world: World) -> None:
    model = Seeing()
    async with running(world.engine(model=model)) as engine:
        model.free.clear()
        await engine.store_many(_items())
        await model.begun.wait()
        await engine.delete("t0")
        model.free.set()
        await engine.flush()
        assert _seen(model) == {TURNS[0]: "", TURNS[1]: "", TURNS[2]: TURNS[1]}
        found = await known(world.store)
        assert found.keys() == {"t1", "t2"}
        assert found["t1"][0] @ (await model.made(ModelInput(TURNS[1]))).vector > 0.999
        assert await world.store.job_count("embed") == 0


@pytest.mark.parametrize("together", [False, True])
async def test_a_turn_that_comes_late_is_seen_by_the_one_that_follows_it(world: World, together: bool) -> None:
    model = Seeing()
    async with running(world.engine(model=model)) as engine:
        await engine.store(TURNS[1], key="t1", turn=1, wait_indexed=True)
        late = BatchItem(content=TURNS[0], options={"turn": 0})
        if together:
            await engine.store_many([late])
        else:
            await engine.store(TURNS[0], turn=0)
        await engine.flush()
    assert _seen(model) == {TURNS[0]: "", TURNS[1]: TURNS[0]}


async def test_what_is_owed_to_the_next_turn_survives_the_process(world: World) -> None:
    model = Seeing()
    async with running(world.engine(model=model)) as engine:
        await engine.store_many(_items())
        await engine.flush()
        model.free.clear()
        await engine.delete("t0")
        assert {job.payload["key"] for job in await world.store.jobs("embed", due=world.clock.now())} == {"t1"}
        model.free.set()


@requirement("FR-016")
async def test_an_update_of_tags_alone_leaves_a_memory_to_be_found_by_meaning(world: World) -> None:
    async with running(world.engine()) as engine:
        await engine.store("the kettle is blue", key="k", wait_indexed=True)
        await engine.update("k", tags=["kitchen"])
        await engine.flush()
        assert [hit.key for hit in await engine.search("blue kettle", mode=SearchMode.SEMANTIC)] == ["k"]


async def test_without_token_vectors_only_the_vector_is_kept(world: World) -> None:
    settings = {"embedding": {"token_vectors": "none"}}
    async with running(world.engine(model=Seeing(), settings=settings)) as engine:
        await engine.store_many(_items())
        await engine.flush()
        assert {key: tokens for key, (_, tokens) in (await known(world.store)).items()} == {
            "t0": b"",
            "t1": b"",
            "t2": b"",
        }


async def test_the_packaged_model_reads_a_turn_behind_the_one_before(world: World) -> None:
    model = MiniLM()
    async with running(world.engine(model=model)) as engine:
        await engine.store_many(_items(speaker="Mara", occurred_at=datetime(2026, 3, 1, tzinfo=UTC)))
        await engine.flush()
        first, second = (f"[1 March 2026] Mara: {text}" for text in TURNS[:2])
        behind, alone = await model.encode([ModelInput(second, first), ModelInput(second)])
        vector, tokens = (await known(world.store))["t1"]
    assert vector @ behind.vector > 0.9999 > vector @ alone.vector
    assert behind.tokens is not None
    assert len(tokens) == len(behind.tokens) * 34


class _Made(Seeing):
    """Gives token vectors as many and as large as the packaged model does for 300 characters behind a header."""

    token_dim = 64

    def __init__(self) -> None:
        super().__init__()
        self.dim = 384
        self._random = np.random.default_rng(5)

    async def encode(self, inputs: Sequence[ModelInput], *, urgent: bool = False) -> list[Encoded]:
        rows = self._random.normal(size=(len(inputs), 384)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return [Encoded(row, self._random.normal(size=(80, 64)).astype(np.float32)) for row in rows]


@pytest.mark.performance
@pytest.mark.parametrize(("kept", "most"), [("pca64", 6_000), ("none", 4_000)])
async def test_a_memory_of_300_bytes_takes_little_room(tmp_path: Path, kept: str, most: int) -> None:
    world = World("sqlite", tmp_path)
    size = 2_000
    random = np.random.default_rng(6)
    words = [f"word{number}" for number in range(900)]
    async with running(world.engine(model=_Made(), settings={"embedding": {"token_vectors": kept}})) as engine:
        for start in range(0, size, 500):
            texts = [" ".join(random.choice(words, 50))[:300] for _ in range(500)]
            await engine.store_many(
                [BatchItem(content=t, options={"turn": start + n, "speaker": "Mara"}) for n, t in enumerate(texts)]
            )
        await engine.flush()
    assert _bytes_in(tmp_path) / size < most


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())
