"""What is refused says why, and leaves nothing."""

import math
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic import BatchItem, MemoryEngine, MemoryScope
from mnemic.errors import DimensionError, InvalidInputError, LimitError, MnemicError
from mnemic.testing import requirement
from mnemic.testing.strategies import inherited
from tests.engine.world import World, digest, entries, running

pytestmark = pytest.mark.edge_cases

_DEEP: dict[str, Any] = {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": {"i": 1}}}}}}}}}
_CIRCLE: dict[str, Any] = {}
_CIRCLE["self"] = _CIRCLE
_BAD: dict[str, tuple[dict[str, Any], type[MnemicError], str]] = {
    "blank": ({"content": " \n\t"}, InvalidInputError, "content is blank"),
    "empty": ({"content": ""}, InvalidInputError, "content is blank"),
    "no text": ({"content": 5}, InvalidInputError, "content is int"),
    "NUL": ({"content": "x\0y"}, InvalidInputError, "content holds a NUL character at place 1"),
    "surrogate": ({"content": "a\ud83d"}, InvalidInputError, "content holds a lone surrogate at place 1"),
    "large": ({"content": "ä" * (1 << 19) + "x"}, LimitError, "content has 1048577 bytes, the limit is 1048576"),
    "blank key": ({"key": " "}, InvalidInputError, "key is blank"),
    "long key": ({"key": "k" * 257}, LimitError, "key has 257 characters, the limit is 256"),
    "wide key": ({"key": "日" * 171}, LimitError, "key has 513 bytes, the limit is 512"),
    "NUL key": ({"key": "k\0"}, InvalidInputError, "key holds a NUL"),
    "key no text": ({"key": 5}, InvalidInputError, "key is int"),
    "many tags": ({"tags": [str(n) for n in range(33)]}, LimitError, "tags has 33 tags, the limit is 32"),
    "long tag": ({"tags": ["x", "t" * 65]}, LimitError, r"tags\[1\] has 65 characters, the limit is 64"),
    "blank tag": ({"tags": [""]}, InvalidInputError, r"tags\[0\] is blank"),
    "NUL tag": ({"tags": ["t\0"]}, InvalidInputError, r"tags\[0\] holds a NUL"),
    "tags as text": ({"tags": "work"}, InvalidInputError, "tags is str"),
    "tags as number": ({"tags": 5}, InvalidInputError, "tags is int"),
    "tag no text": ({"tags": [["x"]]}, InvalidInputError, r"tags\[0\] is list"),
    "NaN": ({"metadata": {"a": {"s": math.nan}}}, InvalidInputError, r"metadata\.a\.s is nan"),
    "infinity": ({"metadata": {"s": [1, -math.inf]}}, InvalidInputError, r"metadata\.s\[1\] is -inf"),
    "wide integer": ({"metadata": {"s": 1 << 63}}, InvalidInputError, r"metadata\.s has 64 bits"),
    "deep": ({"metadata": _DEEP}, LimitError, "8 levels"),
    "circle": ({"metadata": _CIRCLE}, LimitError, "8 levels"),
    "many members": ({"metadata": {"m": list(range(256))}}, LimitError, "256 members"),
    "large metadata": ({"metadata": {"m": "x" * (16 << 10)}}, LimitError, "metadata has 16392 bytes, the limit is"),
    "NUL metadata": ({"metadata": {"a": "p\0q"}}, InvalidInputError, r"metadata\.a holds a NUL"),
    "surrogate name": ({"metadata": {"a\ud83d": 1}}, InvalidInputError, "metadata: a name holds a lone surrogate"),
    "number as name": ({"metadata": {1: 1}}, InvalidInputError, "metadata: a name is int"),
    "metadata as list": ({"metadata": [1]}, InvalidInputError, "metadata is list"),
    "bytes": ({"metadata": {"a": b"x"}}, InvalidInputError, r"metadata\.a is bytes"),
    "set": ({"metadata": {"a": {1}}}, InvalidInputError, r"metadata\.a is set"),
    "decimal": ({"metadata": {"a": Decimal(1)}}, InvalidInputError, r"metadata\.a is Decimal"),
    "numpy": ({"metadata": {"a": np.float32(1)}}, InvalidInputError, r"metadata\.a is float32"),
    "class": ({"classification": "secret"}, InvalidInputError, "'secret'; give one of private, shared, system"),
    "type": ({"memory_type": "dream"}, InvalidInputError, "memory_type is 'dream'; give one of short_term"),
    "origin": ({"origin": "moon"}, InvalidInputError, "origin is 'moon'; give one of system"),
    "category": ({"category": "poem"}, InvalidInputError, "category is 'poem'; give one of fact"),
    "importance": ({"importance": 1.1}, InvalidInputError, "importance is 1.1; give a number from 0 to 1"),
    "importance NaN": ({"importance": math.nan}, InvalidInputError, "importance is nan"),
    "importance as text": ({"importance": "high"}, InvalidInputError, "importance is 'high'"),
    "turn": ({"turn": -1}, InvalidInputError, "turn is -1; give a whole number"),
    "turn as text": ({"turn": "1"}, InvalidInputError, "turn is '1'; give a whole number"),
    "time as text": ({"occurred_at": "2026-01-01"}, InvalidInputError, "occurred_at is str; give a datetime"),
    "version": ({"expected_version": -1}, InvalidInputError, "expected_version is -1"),
    "version as text": ({"expected_version": "1"}, InvalidInputError, "expected_version is '1'"),
    "long speaker": ({"speaker": "s" * 129}, InvalidInputError, "speaker has 129 characters; give 1 to 128"),
    "source": ({"source": "a\nb"}, InvalidInputError, "source holds a control character"),
    "lineage": ({"derived_from": ["k"]}, InvalidInputError, "derived_from holds what is no Address"),
    "short vector": ({"embedding": [1.0] * 63}, DimensionError, "64"),
    "vector with NaN": ({"embedding": [math.nan] * 64}, DimensionError, "NaN"),
    "vector of zeros": ({"embedding": [0.0] * 64}, DimensionError, "zeros"),
    "vector of text": ({"embedding": ["x"] * 64}, DimensionError, "no list of numbers"),
}


@requirement("FR-017", "FR-017.1", "D02", "D22")
@pytest.mark.parametrize("case", _BAD)
async def test_a_bad_value_is_one_typed_error_and_leaves_nothing(engine: MemoryEngine, world: World, case: str) -> None:
    options, kind, message = _BAD[case]
    await engine.store("what stands there", key="there")
    before, told = await digest(world.store), len(world.told("memory.store.completed"))
    with pytest.raises(kind, match=message) as caught:
        await engine.store(**{"content": "x", **options})
    assert "; " in str(caught.value)  # the next step
    assert len(str(caught.value)) < 400
    assert await digest(world.store) == before
    assert len(world.told("memory.store.completed")) == told


@requirement("D01", "D02", "ENG-016")
@pytest.mark.parametrize("case", _BAD)
async def test_a_bad_item_of_a_batch_is_the_same_error_and_the_others_are_kept(
    engine: MemoryEngine, world: World, case: str
) -> None:
    options, kind, message = _BAD[case]
    bad = {"content": "x", **options}
    items = [BatchItem(content=f"text {number}") for number in range(63)]
    items.insert(20, BatchItem(content=bad.pop("content"), options=bad))
    results = await engine.store_many(items)
    assert len(results) == 64
    assert isinstance(results[20].error, kind)
    with pytest.raises(kind, match=message):
        raise results[20].error
    assert len(await entries(world.store)) == 63


_CHANGES = ("content", "tags", "metadata", "classification", "importance", "occurred_at")


@requirement("FR-017", "D22")
@pytest.mark.parametrize("case", [name for name, (options, *_) in _BAD.items() if {*options} <= {*_CHANGES}])
async def test_a_bad_value_is_refused_by_update_as_by_store(engine: MemoryEngine, world: World, case: str) -> None:
    options, kind, message = _BAD[case]
    await engine.store("what stands there", key="k", tags=["t"], metadata={"a": 1})
    before = await digest(world.store)
    with pytest.raises(kind, match=message):
        await engine.update("k", **options)
    assert await digest(world.store) == before


class _Colour(Enum):
    BLUE = "blue"


@requirement("D22", "TYP-015")
async def test_metadata_has_one_table_of_accepted_values(engine: MemoryEngine) -> None:
    moment = datetime(2026, 1, 1, 9, tzinfo=timezone(timedelta(hours=9)))
    given_: dict[str, Any] = {
        "none": None,
        "yes": True,
        "small": -(1 << 63),
        "great": (1 << 63) - 1,
        "zero": -0.0,
        "huge": 1e308,
        "when": moment,
        "naive": datetime(2026, 1, 1),  # noqa: DTZ001 - a naive time is the case
        "day": moment.date(),
        "id": UUID(int=5),
        "colour": _Colour.BLUE,
        "pair": (1, "b"),
    }
    await engine.store("x", key="k", metadata=given_)
    found = await engine.retrieve("k")
    assert found is not None
    kept = dict(found.metadata)
    assert kept == {
        **given_,
        "when": "2026-01-01T00:00:00+00:00",
        "naive": "2026-01-01T00:00:00+00:00",
        "day": "2026-01-01",
        "id": str(UUID(int=5)),
        "colour": "blue",
        "pair": [1, "b"],
    }
    assert math.copysign(1, kept["zero"]) == -1


@requirement("D06", "FR-017.1")
async def test_a_naive_time_is_read_as_utc(engine: MemoryEngine) -> None:
    naive = datetime(2025, 6, 1, 12)  # noqa: DTZ001 - a naive time is the case
    aware = datetime(2025, 6, 1, 21, tzinfo=timezone(timedelta(hours=9)))
    await engine.store("the naive one", key="naive", occurred_at=naive)
    await engine.store("the aware one", key="aware", occurred_at=aware)
    scope = MemoryScope(date_from=naive, date_to=aware, date_field="occurred_at")
    assert {hit.key for hit in await engine.search("one", scope=scope)} == {"naive", "aware"}
    found = await engine.retrieve("naive")
    assert found is not None
    assert found.occurred_at == datetime(2025, 6, 1, 12, tzinfo=UTC)


@requirement("REQ-010-019", "FR-004.1")
@pytest.mark.parametrize("limit", [0, -1, 1001, 10**9])
async def test_a_limit_out_of_range_is_refused(engine: MemoryEngine, limit: int) -> None:
    with pytest.raises(InvalidInputError, match=f"limit is {limit}; give 1 to 1000"):
        await engine.search("x", limit=limit)
    with pytest.raises(InvalidInputError, match="limit"):
        await engine.retrieve_by(limit=limit)
    await engine.store("x", key="k")
    with pytest.raises(InvalidInputError, match="limit"):
        await engine.related("k", limit=limit)


@requirement("FR-004.1")
@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("", InvalidInputError),
        (" \n", InvalidInputError),
        ("a\0", InvalidInputError),
        ("\ud83d", InvalidInputError),
        ("x" * 8193, LimitError),
    ],
)
async def test_a_query_without_words_or_beyond_its_limit_is_refused(
    engine: MemoryEngine, query: str, kind: type[MnemicError]
) -> None:
    for ask in (engine.search, engine.context):
        with pytest.raises(kind, match="query"):
            await ask(query)


@requirement("ENG-003")
@pytest.mark.parametrize(
    "options",
    [{"mode": "magic"}, {"profile": "best"}, {"min_similarity": 1.5}, {"min_similarity": math.nan}, {"where": {}}],
)
async def test_an_unknown_option_value_of_search_is_refused(engine: MemoryEngine, options: dict[str, Any]) -> None:
    await engine.store("x")
    with pytest.raises(InvalidInputError):
        await engine.search("x", **options)


@requirement("D18")
@pytest.mark.parametrize(
    "where", ["source = 'x'", ["source"], {}, {"n": {"$regex": "x"}}, {"AND": []}, {"n": [1]}, {"n": {}}, "", 0]
)
async def test_a_malformed_filter_is_an_error_on_every_path_that_takes_one(engine: MemoryEngine, where: Any) -> None:
    await engine.store("x")
    for call in (
        engine.search("x", where=where),
        engine.context("x", where=where),
        engine.retrieve_by(where=where),
        engine.count(where=where),
        engine.forget(where),
    ):
        with pytest.raises(InvalidInputError):
            await call


@requirement("D20", "PRV-012")
@pytest.mark.parametrize(
    "name", ["a') OR 1=1 --", "a.b", '"', "a]", "$.x", "x`) RETURN m //", "@n:{*}", "n" * 200, "a'", "tags[0]"]
)
async def test_a_name_in_a_filter_is_a_literal(engine: MemoryEngine, name: str) -> None:
    await engine.acting_as(tenant_id="t2").store("canary", metadata={"a": 1})
    await engine.store("one", key="plain", metadata={"b": 1})
    if not name.startswith("$"):
        await engine.store("two", key="named", metadata={name: "v"})
        page = await engine.retrieve_by(where={name: "v"})
        assert [entry.key for entry in page.items] == ["named"]
    else:
        with pytest.raises(InvalidInputError):
            await engine.retrieve_by(where={name: "v"})


_SYNTAX = [*"\"':-*^(){}[]\\ /~+", " AND ", " OR ", " NOT ", "NEAR", "kettle", "😀", "日本"]
_QUERIES = st.lists(st.sampled_from(_SYNTAX), max_size=20).map("".join)


@requirement("D19", "FR-004.1")
@inherited
@given(query=_QUERIES)
async def test_a_query_is_never_syntax(engine: MemoryEngine, query: str) -> None:
    text = f"{query} kettle"
    await engine.store(text, key="k")
    hits = await engine.search(text, limit=5)
    assert "k" in [hit.key for hit in hits]
    if query.strip():
        await engine.search(query)


@requirement("FR-017")
async def test_limits_come_from_the_settings(world: World) -> None:
    async with running(world.engine(settings={"limits": {"content_bytes": 4, "tags": 0}})) as engine:
        with pytest.raises(LimitError, match="content has 5 bytes, the limit is 4"):
            await engine.store("12345")
        with pytest.raises(LimitError, match="tags has 1 tags, the limit is 0"):
            await engine.store("1234", tags=["x"])
        assert (await engine.store("1234")).content == "1234"


@requirement("ENG-002")
@pytest.mark.parametrize("key", ["", "k\0", "\ud83d", "k" * 257])
async def test_a_bad_key_is_refused_by_every_method_that_takes_one(engine: MemoryEngine, key: str) -> None:
    for call in (
        engine.retrieve(key),
        engine.retrieve(key, owner="bob"),
        engine.retrieve(key, version=1),
        engine.update(key, content="x"),
        engine.delete(key),
        engine.history(key),
        engine.related(key),
        engine.link(key, "other"),
        engine.promote(key, "s2"),
    ):
        with pytest.raises((InvalidInputError, LimitError), match="key"):
            await call
