"""Joined and hashed so that two different things never meet."""

import base64
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.chain import GENESIS, canonical, enc, h, link, lp
from mnemic.testing import requirement
from mnemic.testing.strategies import HOSTILE_NAMES, texts

pytestmark = pytest.mark.core_interface

_PARTS = st.lists(texts(min_size=0, max_size=6), max_size=4)


@requirement("ID-005")
@given(one=_PARTS, other=_PARTS)
def test_joined_parts_are_equal_only_if_every_part_is(one: list[str], other: list[str]) -> None:
    assert (lp(*one) == lp(*other)) == (one == other)
    assert (h("m", *one) == h("m", *other)) == (one == other)


@requirement("ID-005")
def test_a_hash_is_the_documented_one() -> None:
    raw = b"\0\0\0\1m" + b"\0\0\0\2t1" + b"\0\0\0\2\xc3\xa4"
    wanted = base64.b32encode(hashlib.sha256(raw).digest()).decode().lower().rstrip("=")[:32]
    assert h("m", "t1", "ä") == wanted
    assert len({h(label, "x") for label in ("m", "c", "id", "body")}) == 4


@requirement("ID-005")
def test_names_of_files_never_meet_even_where_case_is_ignored() -> None:
    names = [*HOSTILE_NAMES, "CON", "con", "nul", "com1", "ä" * 128, "Ä" * 128, "~x", "%41"]
    encoded = {name: enc(name) for name in names}
    assert len({code.lower() for code in encoded.values()}) == len(set(names))
    assert all(
        len(code) <= 96 and set(code) <= {*"abcdefghijklmnopqrstuvwxyz0123456789_-%~"} for code in encoded.values()
    )
    assert {encoded[name][0] for name in ("con", "nul", "com1", "ä" * 128)} == {"~"}
    assert enc("a:b/C") == "a%3ab%2f%43"


@given(value=st.dictionaries(texts(max_size=5), st.integers() | texts(max_size=5) | st.none(), max_size=5))
def test_the_canonical_form_depends_on_nothing_but_the_values(value: dict[str, object]) -> None:
    backwards = dict(reversed(value.items()))
    assert canonical(value) == canonical(backwards)
    assert json.loads(canonical(value)) == value
    assert b": " not in canonical({"a": {"b": 1}, "c": [1, 2]})


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_json_does_not_know_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical({"a": number})


@requirement("AUD-002")
def test_a_link_is_sha256_over_the_row_with_its_predecessor() -> None:
    row = {"seq": 1, "action": "store"}
    text = f'{{"action":"store","prev_hash":"{GENESIS}","seq":1}}'
    assert link(row, GENESIS) == hashlib.sha256(text.encode()).hexdigest()
    assert link(row, link(row, GENESIS)) != link(row, GENESIS)
    assert GENESIS == "0" * 64
