"""A filter in the dictionary form is read or refused, never dropped."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import InvalidInputError
from mnemic.ports import Condition, Junction, MemoryFilter, Operator
from mnemic.ports.filters import parse_where
from mnemic.ports.matching import fold, matches
from mnemic.testing import requirement
from mnemic.testing.strategies import START, TENANT, json_objects, memory
from mnemic.types import MemoryType

pytestmark = [pytest.mark.search, pytest.mark.edge_cases]

NESTED: dict[str, Any] = {"a": 1}
for _ in range(8):
    NESTED = {"NOT": NESTED}


@requirement("D18", "PRV-012")
def test_only_none_means_unfiltered() -> None:
    assert parse_where(None) == MemoryFilter()


@requirement("D18", "D20", "PRV-012", "FR-017.1")
@pytest.mark.parametrize(
    ("where", "named"),
    [
        ({}, "dict of 0"),
        ("tag:x", "str"),
        ([], "list"),
        ([{"a": 1}], "list"),
        (7, "int"),
        (b"{}", "bytes"),
        ({"a": {}}, "none"),
        ({"a": {"$regex": "x"}}, "'$regex'"),
        ({"a": {"b": 1}}, "'b'"),
        ({"$or": [{"a": 1}]}, "name"),
        ({"$": 1}, "name"),
        ({"": 1}, "name"),
        ({1: 1}, "name"),
        ({"x" * 257: 1}, "name"),
        ({"a\0": 1}, "NUL"),
        ({"a": "\ud83d"}, "surrogate"),
        ({"a": [1, 2]}, "$in"),
        ({"a": object()}, "object"),
        ({"a": b"x"}, "bytes"),
        ({"a": float("nan")}, "float"),
        ({"a": {"$gt": None}}, "$gt"),
        ({"a": {"$lt": True}}, "$lt"),
        ({"a": {"$in": "text"}}, "$in"),
        ({"a": {"$in": [[1]]}}, "$in"),
        ({"a": {"$exists": 1}}, "$exists"),
        ({"AND": []}, "AND"),
        ({"OR": {"a": 1}}, "OR"),
        ({"NOT": [{"a": 1}]}, "list"),
        ({"NOT": {}}, "dict"),
        ({"tags": []}, "tags"),
        ({"tag": 7}, "tag"),
        ({"tags_any": ["a", 7]}, "tags_any"),
        ({"type": "immortal"}, "type"),
        ({"type": {"$in": ["entity", 7]}}, "type"),
        ({"key": None}, "key"),
        ({"OR": [{"a": 1}] * 257}, "257"),
        (NESTED, "level"),
        (MemoryFilter(tags_all="test"), "tags_all"),  # type: ignore[arg-type]  # the mistake that is tested
        (MemoryFilter(keys=("a\0",)), "keys"),
        (MemoryFilter(metadata={"a": [1]}), "a"),
        (MemoryFilter(metadata="a"), "metadata"),  # type: ignore[arg-type]  # the mistake that is tested
        (MemoryFilter(expr=Junction("XOR", (Condition("a", Operator.EQ, 1),))), "XOR"),
        (MemoryFilter(expr=Junction("AND", ())), "AND"),
        (MemoryFilter(expr=Condition("a", Operator.IN, 1)), "$in"),
    ],
)
def test_a_malformed_filter_is_refused_and_named(where: Any, named: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_where(where)
    assert named in str(caught.value)


@requirement("PRV-012")
@pytest.mark.parametrize(
    ("where", "expr"),
    [
        ({"tag": "x"}, Condition("tags", Operator.EQ, "x")),
        (
            {"tags": ["x", "y"]},
            Junction("AND", (Condition("tags", Operator.EQ, "x"), Condition("tags", Operator.EQ, "y"))),
        ),
        ({"tags_any": ["x", "y"]}, Condition("tags", Operator.IN, ("x", "y"))),
        ({"type": "ShortTerm"}, Condition("type", Operator.IN, (MemoryType.SHORT_TERM,))),
        ({"type": {"$ne": "entity"}}, Condition("type", Operator.NE, MemoryType.ENTITY)),
        ({"source": "chat"}, Condition("source", Operator.IN, ("chat",))),
        ({"a.b": {"$in": {1}}}, Condition("a.b", Operator.IN, (1,))),
        ({"a": None}, Condition("a", Operator.EQ, None)),
        (
            {"a": {"$gt": 1, "$lt": 2}, "NOT": {"b": 1}},
            Junction(
                "AND",
                (
                    Junction("AND", (Condition("a", Operator.GT, 1), Condition("a", Operator.LT, 2))),
                    Junction("NOT", (Condition("b", Operator.EQ, 1),)),
                ),
            ),
        ),
    ],
)
def test_the_short_form_is_read(where: dict[str, Any], expr: Condition | Junction) -> None:
    assert parse_where(where) == MemoryFilter(expr=expr)


@requirement("PRV-012")
def test_a_filter_that_is_one_already_is_left_as_it_is() -> None:
    where = MemoryFilter(tags_any=("x",), expr=Condition("a", Operator.EQ, 1))
    assert parse_where(where) is where


@requirement("D18")
@given(where=json_objects())
def test_any_object_is_a_filter_that_narrows_or_an_error(where: dict[str, Any]) -> None:
    entry = memory("k", metadata={"a": 1})
    try:
        parsed = parse_where(where)
    except InvalidInputError:
        return
    assert parsed.expr is not None
    assert matches(entry, TENANT, parsed, now=START) in {True, False}


@requirement("PRV-011")
@given(text=st.text())
def test_folding_is_done_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)
