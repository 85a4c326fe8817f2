"""Words and vectors in SQLite: one tenant's answers, erased bytes, and how the rows are found."""

import asyncio
import random
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import apsw.ext
import numpy as np
import pytest

from mnemic.errors import DimensionError
from mnemic.ports import MemoryFilter, Readable, Unit
from mnemic.providers.inmemory import InMemoryProvider
from mnemic.providers.sqlite import SqliteProvider
from mnemic.providers.sqlite.connect import Target, connect
from mnemic.providers.sqlite.statements import SQL
from mnemic.providers.sqlite.where import compiled
from mnemic.testing import ManualClock, requirement
from mnemic.testing.strategies import START, memory, place
from mnemic.types import DurabilityMode, MemoryHit, MemoryScope, Vector
from mnemic.vectors import normalise

TENANT = MemoryScope(tenant_id="t1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
async def provider(path: Path) -> AsyncIterator[SqliteProvider]:
    provider = SqliteProvider(path, durability=DurabilityMode.PROCESS, clock=ManualClock())
    await provider.open()
    yield provider
    await provider.close()


def shown(hits: list[MemoryHit]) -> list[tuple[str, float]]:
    return [(hit.key, hit.score) for hit in hits]


@requirement("ID-011")
async def test_another_tenants_memories_move_no_score(provider: SqliteProvider) -> None:
    for number, text in enumerate(["red apples and pears", "apples", "green pears", "a red car"]):
        await provider.store(place(), f"k{number}", memory(f"k{number}", text))
    before = shown(await provider.search(TENANT, "red apples")), await provider.word_stats(TENANT, ["apples"])
    for number in range(50):
        other = memory(f"k{number}", "red apples", tenant_id="t2", embedding=[1.0, 0.5], embedding_model="m")
        await provider.store(place("t2"), other.key, other)
    after = shown(await provider.search(TENANT, "red apples")), await provider.word_stats(TENANT, ["apples"])
    assert before == after
    assert await provider.search_similar(TENANT, [1.0, 0.5]) == []


@requirement("PRV-023")
@pytest.mark.parametrize(
    "query", ['"', "*", "apples*", "(", "AND", "a:b", "don't", "x OR", "NEAR(", "-", "\0", "\ud800", "^a", "{"]
)
async def test_no_query_is_syntax(provider: SqliteProvider, query: str) -> None:
    await provider.store(place(), "a", memory("a", "don't AND apples a:b x"))
    hits = await provider.search(TENANT, query)
    assert [hit.key for hit in hits] in ([], ["a"])


@requirement("PRV-024")
async def test_the_common_words_answer_where_the_rare_ones_fill_no_limit(provider: SqliteProvider) -> None:
    words = [f"rare{number}" for number in range(12)]
    entries = [memory(f"k{number}", f"{word} shared", version=1) for number, word in enumerate(words)]
    await provider.store_many(place(), [*entries, memory("last", "shared")])
    query = " ".join([*words, "shared"])
    assert len(await provider.search(TENANT, query, limit=8)) == 8
    assert len(await provider.search(TENANT, query, limit=13)) == 13
    assert len(await provider.search(TENANT, "which and the shared", limit=13)) == 13


async def test_a_query_of_many_hundred_words_is_answered(provider: SqliteProvider) -> None:
    words = [f"word{number}" for number in range(1200)]
    for number in range(0, 1200, 100):
        await provider.store(place(), f"k{number}", memory(f"k{number}", " ".join(words[number : number + 100])))
    assert len(await provider.search(TENANT, " ".join(words)[:8192], limit=12)) == 11


@requirement("PRV-022")
async def test_the_entry_that_is_the_query_comes_first(provider: SqliteProvider) -> None:
    texts = ["apple apple", "apple", "the apple of an eye, much longer than that", "An apple for me"]
    for number, text in enumerate(texts):
        await provider.store(place(), f"k{number}", memory(f"k{number}", text))
    hits = await provider.search(TENANT, " an apple FOR me ")
    assert (hits[0].key, hits[0].score) == ("k3", 1.0)


async def test_nothing_of_what_was_replaced_or_removed_is_left_in_the_file(path: Path) -> None:
    provider = SqliteProvider(path)
    canaries = [f"zqcanary{number}" for number in range(3)]
    vector = np.linspace(-1, 1, 64, dtype=np.float32)
    for number, word in enumerate(canaries):
        entry = memory(f"k{number}-{word}", f"{word} text", tags=(word,), metadata={"a": word})
        await provider.store_with_embedding(place(), entry.key, entry, vector)
        for filler in range(60):
            await provider.store(place(), f"f{number}-{filler}", memory(f"f{number}-{filler}", f"other words {filler}"))
    assert leftovers(path, *canaries, vector=vector) > 0
    await provider.commit(Unit(entries=(memory(f"k0-{canaries[0]}", "clean", version=2),)))
    await provider.delete(place(), f"k1-{canaries[1]}")
    assert await provider.clear(place()) == 182
    await provider.close()
    assert leftovers(path, *canaries, vector=vector) == 0


def leftovers(path: Path, *words: str, vector: Vector) -> int:
    raw = b"".join(file.read_bytes() for file in path.parent.iterdir())
    needles = [word.encode() for word in words] + [word[4:].encode() for word in words]
    return sum(raw.count(needle) for needle in [*needles, normalise(vector).astype(np.float16).tobytes()[:40]])


@requirement("REQ-010-017", "REQ-010-040")
@pytest.mark.parametrize("every", [1, 10, 100])
async def test_a_filter_never_costs_a_hit_below_the_exact_limit(provider: SqliteProvider, every: int) -> None:
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((600, 16)).astype(np.float32)
    entries = [
        memory(f"k{n}", embedding=vector, embedding_model="m", tags=("x",) if n % every == 0 else ())
        for n, vector in enumerate(vectors)
    ]
    oracle = InMemoryProvider(clock=ManualClock())
    await provider.store_many(place(), entries)
    await oracle.store_many(place(), entries)
    where = MemoryFilter(tags_all=("x",))
    for query in rng.standard_normal((5, 16)):
        hits = await provider.search_similar(TENANT, query, limit=10, where=where)
        exact = await oracle.search_similar(TENANT, query, limit=10, where=where)
        assert [hit.key for hit in hits] == [hit.key for hit in exact]
        assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in exact], abs=1e-3)


@requirement("REQ-010-017", "REQ-010-040")
async def test_recall_stays_high_above_the_exact_limit(path: Path) -> None:
    rng = np.random.default_rng(2)
    centres = rng.standard_normal((40, 64))
    vectors = (centres[rng.integers(0, 40, 5000)] + 0.7 * rng.standard_normal((5000, 64))).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    provider = SqliteProvider(path, durability=DurabilityMode.MEMORY, exact_limit=1000)
    shares = {f"every{every}": np.arange(0, 5000, every) for every in (1, 10, 100)}
    entries = [
        memory(f"k{n}", embedding=vector, embedding_model="m", tags=[f"every{m}" for m in (1, 10, 100) if n % m == 0])
        for n, vector in enumerate(vectors)
    ]
    await provider.store_many(place(), entries)
    for tag, allowed in shares.items():
        found = 0
        for query in vectors[rng.integers(0, 5000, 20)]:
            best = {f"k{allowed[n]}" for n in np.argsort(-(vectors[allowed] @ query))[:10]}
            hits = await provider.search_similar(TENANT, query, limit=10, where=MemoryFilter(tags_all=(tag,)))
            found += len(best & {hit.key for hit in hits})
        assert found / 200 >= 0.95
    await provider.close()


@requirement("PRV-027")
async def test_vectors_of_another_model_are_skipped_and_counted(provider: SqliteProvider) -> None:
    await provider.store(place(), "a", memory("a", embedding=[1.0, 0.0], embedding_model="old"))
    await provider.store(place(), "b", memory("b", embedding=[1.0, 0.0, 0.0], embedding_model="new"))
    hits = await provider.search_similar(TENANT, [1.0, 0.0, 0.0])
    assert [hit.key for hit in hits] == ["b"]
    assert getattr(hits, "skipped_vectors", None) == 1
    with pytest.raises(DimensionError):
        await provider.search_similar(TENANT, [1.0, 0.0], where=MemoryFilter(embedding_model="new"))


async def test_an_entry_that_was_embedded_anew_is_found_by_its_new_model_alone(provider: SqliteProvider) -> None:
    await provider.store(place(), "a", memory("a", embedding=[1.0, 0.0], embedding_model="old"))
    assert await provider.search_similar(TENANT, [1.0, 0.0])
    await provider.store(place(), "a", memory("a", embedding=[0.0, 1.0], embedding_model="new"))
    assert not await provider.search_similar(TENANT, [1.0, 0.0], where=MemoryFilter(embedding_model="old"))
    assert await provider.search_similar(TENANT, [0.0, 1.0], where=MemoryFilter(embedding_model="new"))


@requirement("FR-019")
async def test_search_looks_back_at_versions_that_are_no_longer_current(provider: SqliteProvider) -> None:
    await provider.store(place(), "a", memory("a", "the office is in Oslo"))
    later = START + timedelta(days=9)
    await provider.store(place(), "a", memory("a", "the office is in Rome", version=2, valid_from=later))
    then = MemoryFilter(as_of=START + timedelta(days=1))
    assert [hit.content for hit in await provider.search(TENANT, "office", where=then)] == ["the office is in Oslo"]
    assert [hit.content for hit in await provider.search(TENANT, "office")] == ["the office is in Rome"]
    assert await provider.count(TENANT, then) == 1


def reader(path: Path) -> apsw.Connection:
    db = connect(Target(str(path), volatile=False, durability=DurabilityMode.PROCESS), reading=True)
    db.create_scalar_function("fits", lambda *_: True)
    return db


def plan(db: apsw.Connection, sql: str, values: Any = None) -> str:
    return "\n".join(row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", values))


@requirement("PRV-013")
@pytest.mark.parametrize(
    ("scope", "where", "index"),
    [
        (TENANT, None, "entries_by_time (tenant=?)"),
        (MemoryScope(tenant_id="t1", session_id="s"), None, "entries_by_session (tenant=? AND session=?)"),
        (MemoryScope(tenant_id="t1", task_id="s"), None, "entries_by_task (tenant=? AND task=?)"),
        (place(), MemoryFilter(keys=("a",)), "(tenant=? AND volk=? AND user=? AND key=?)"),
        (TENANT, MemoryFilter(tags_all=("x",)), "g USING PRIMARY KEY (tenant=? AND tag=?)"),
        (
            TENANT,
            MemoryFilter(readable_by=Readable(volk="a")),
            "edges_by_target (tenant=? AND target=? AND kind=?",
        ),
    ],
)
async def test_rows_are_found_by_an_index(
    provider: SqliteProvider, path: Path, scope: MemoryScope, where: MemoryFilter | None, index: str
) -> None:
    clause = compiled(scope, where, now=START)
    sql = f"SELECT e.id FROM tenants t CROSS JOIN entries e WHERE {clause.sql} ORDER BY e.created_at DESC LIMIT 9"
    found = await asyncio.to_thread(lambda: plan(reader(path), sql, clause.values))
    assert index in found
    assert not re.search(r"SCAN (e|t|g|x)\b", found)


@pytest.mark.parametrize(
    "name", [name for name, sql in SQL.items() if re.match("(--.*\n)*(SELECT|UPDATE|DELETE)[^{]*$", sql)]
)
async def test_no_statement_walks_a_whole_table(provider: SqliteProvider, path: Path, name: str) -> None:
    db = reader(path)
    count = apsw.ext.query_info(db, SQL[name]).bindings_count
    named = {"tenant": None, "volk": None, "user": None, "moment": None}
    walked = set(re.findall(r"SCAN (\w+)", plan(db, SQL[name], named if ":tenant" in SQL[name] else (None,) * count)))
    # A count or a bound over a whole table, and parameters that arrive as JSON.
    assert walked <= {"j", "json_each", "outbox", "tenants", "embedding_cache", "c"}
    db.close()


async def test_the_planner_is_told_of_indexes_that_exist(provider: SqliteProvider, path: Path) -> None:
    db = reader(path)
    told = {index for (index,) in db.execute("SELECT idx FROM sqlite_stat1 WHERE idx IS NOT NULL")}
    known = {name for (name,) in db.execute("SELECT name FROM sqlite_schema")}
    assert told <= known
    db.close()


async def test_random_writes_leave_words_and_counts_as_a_rebuild_would(provider: SqliteProvider) -> None:
    rng = random.Random(3)
    for _ in range(150):
        key = f"k{rng.randrange(12)}"
        there = await provider.get(place(), key)
        if there and rng.random() < 0.3:
            await provider.delete(place(), key)
        else:
            heads = await provider.heads(place(), [memory(key).address])
            version = max([0, *(head.version for head in heads.values())]) + 1
            text = " ".join(rng.choices(["red", "green", "apple", "pear", "a/b.py"], k=rng.randint(1, 9)))
            await provider.store(place(), key, memory(key, text, version=version))
    fresh = SqliteProvider(":memory:")
    for entry in (await provider.list(TENANT)).items:
        await fresh.store(place(), entry.key, entry)
    terms = ["red", "green", "appl", "pear", "a/b.py", "a", "b", "py"]
    assert await provider.word_stats(TENANT, terms) == await fresh.word_stats(TENANT, terms)
    await fresh.close()
