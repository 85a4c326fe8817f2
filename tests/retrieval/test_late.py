"""Token vectors judge every candidate that has some."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mnemic.maxsim import pack_tokens
from mnemic.ports import MemoryFilter
from mnemic.providers.inmemory import InMemoryProvider
from mnemic.retrieval import Retriever, SearchRequest, formula
from mnemic.retrieval.late import late_scores
from mnemic.testing import ManualClock, requirement
from mnemic.testing.strategies import TENANT, at, memory, place
from mnemic.types import Address, MemoryHits, SearchMode, Vector

_MODEL = "toy:1"
_EYE = np.eye(4, dtype=np.float32)


async def _find(tokens: Mapping[str, bytes], **fields: Any) -> MemoryHits:
    store = InMemoryProvider(clock=ManualClock(at(30)))
    for key in ("a", "b", "c"):
        entry = memory(key, f"green tea {key}", embedding_model=_MODEL)
        await store.store_with_embedding(place(), key, entry, _EYE[0])

    async def tokens_of(addresses: Sequence[Address]) -> Mapping[Address, bytes]:
        return {address: tokens[address.key] for address in addresses if address.key in tokens}

    known = {"scope": TENANT, "where": MemoryFilter(), "now": at(30), "model_id": _MODEL, "vector": _EYE[0]}
    request = {**known, "query_tokens": _EYE[:2], "tokens_of": tokens_of, **fields}
    return await Retriever(store).search(SearchRequest(query="green tea", **request))


def _packed(*rows: Vector) -> bytes:
    return pack_tokens(np.stack(rows))


@requirement("FR-004.2", "REQ-010-018")
async def test_of_equal_vectors_the_one_with_the_nearer_tokens_wins() -> None:
    hits = await _find({"a": _packed(_EYE[2]), "b": _packed(_EYE[0], _EYE[1]), "c": _packed(_EYE[0])})

    assert [hit.key for hit in hits] == ["b", "c", "a"]
    assert [hit.score_parts["late"] for hit in hits] == [1.0, 0.5, 0.0]
    assert all(abs(formula("balanced", hit.score_parts) - hit.score) < 1e-9 for hit in hits)


async def test_what_has_no_tokens_is_judged_by_its_vector() -> None:
    hits = await _find({"a": _packed(_EYE[2]), "b": _packed(_EYE[0])})

    late = {hit.key: hit.score_parts["late"] for hit in hits}
    assert late == {"a": 0.0, "b": 1.0, "c": hits[0].score_parts["dense"]}


async def test_without_any_tokens_they_have_no_weight() -> None:
    for hits in (await _find({}), await _find({}, query_tokens=None), await _find({}, tokens_of=None)):
        assert {hit.score_parts["late_weight"] for hit in hits} == {0.0}


async def test_other_profiles_and_modes_do_not_ask_for_tokens() -> None:
    tokens = {"a": _packed(_EYE[2]), "b": _packed(_EYE[0])}

    for fields in ({"profile": "fusion"}, {"mode": SearchMode.KEYWORD}, {"mode": SearchMode.SEMANTIC}):
        assert {hit.score_parts["late_weight"] for hit in await _find(tokens, **fields)} == {0.0}


async def test_many_candidates_are_compared_in_parts() -> None:
    addresses = [Address("t1", "ada", "", f"k{n:03}") for n in range(150)]
    rows = np.random.default_rng(3).standard_normal((150, 4)).astype(np.float32)
    tokens = {address: _packed(row) for address, row in zip(addresses, rows, strict=True)}

    async def tokens_of(asked: Sequence[Address]) -> Mapping[Address, bytes]:
        return {address: tokens[address] for address in asked}

    found = await late_scores(_EYE[:1], tokens_of, addresses)

    assert list(found) == addresses
    assert np.allclose(list(found.values()), rows[:, 0], atol=0.25)


async def test_a_question_without_tokens_is_compared_with_nothing() -> None:
    async def never(asked: Sequence[Address]) -> Mapping[Address, bytes]:
        raise AssertionError(asked)

    assert await late_scores(_EYE[:0], never, [Address("t", "v", "", "k")]) == {}
    assert await late_scores(_EYE, never, []) == {}
