"""What must every provider find by words, by meaning and along edges?"""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import InvalidInputError, ScopeError
from mnemic.ports import Edge, EdgeKind, IMemoryProvider, MemoryFilter, Readable
from mnemic.testing.marks import requirement
from mnemic.testing.strategies import TENANT, at, fill, inherited, memory, place, texts
from mnemic.types import Address, MemoryClassification, MemoryHits, MemoryScope
from mnemic.words import index_text, terms

__all__ = ["SearchSuite"]

CORPUS = (
    "The kettle is on the stove",
    "Zum Frühstück gibt es Brötchen",
    "Café crème, s'il vous plaît",
    "東京の天気は晴れ",
    "猫",
    "サーバーを再起動する",
    "Мы встретимся в пятницу",
    "mail to someone@example.org about src/main/app.py:42",
    "version 3.11.7 of lib-foo_bar",
    '100% sure * (maybe) AND OR NOT NEAR "quoted" it\'s a:b',
    "👩‍🔬 runs the ﬁne test ½",
)
SYNTAX = "\"':-*^(){}[]\\ /%_ANDORNOTNEAR AND OR NOT NEAR a b \t.;"


async def _fill_vectors(provider: IMemoryProvider, vectors: dict[str, list[float]], model: str = "m") -> None:
    for key, vector in vectors.items():
        await provider.store_with_embedding(place(), key, memory(key, embedding_model=model), vector)


class SearchSuite:
    """Words, vectors and connections."""

    pytestmark: ClassVar = [pytest.mark.search, pytest.mark.edge_cases]

    # ---- words

    @requirement("PRV-022", "FR-004")
    async def test_every_word_of_an_entry_finds_it_and_nothing_that_lacks_it(self, provider: IMemoryProvider) -> None:
        entries = [memory(f"k{n}", text) for n, text in enumerate(CORPUS)]
        await fill(provider, entries)
        bags = {entry.key: set(terms(index_text(entry))) for entry in entries}
        words = sorted(
            {word for text in CORPUS for word in text.split()} | {"cafe", "京", "天気", "FRÜHSTÜCK", "fine", "app"}
        )
        for word in words:
            expected = {key for key, bag in bags.items() if bag & set(terms(word))}
            assert {hit.key for hit in await provider.search(TENANT, word)} == expected, word

    @requirement("PRV-022", "D19")
    @pytest.mark.parametrize("text", CORPUS)
    async def test_the_entry_that_equals_the_query_comes_first_with_score_1(
        self, provider: IMemoryProvider, text: str
    ) -> None:
        await fill(provider, [memory(f"k{n}", content) for n, content in enumerate(CORPUS)])
        await fill(provider, [memory(f"x{n}", f"{content} {content}") for n, content in enumerate(CORPUS)])
        [first, *rest] = await provider.search(TENANT, text)
        assert (first.content, first.score, first.relevance_score) == (text, 1.0, 1.0)
        scores = [first.score, *(hit.score for hit in rest)]
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score <= 1 for score in scores)

    @requirement("PRV-023", "D19", "FR-004.1")
    @inherited
    @given(query=st.text(st.sampled_from(SYNTAX), max_size=30) | texts(min_size=0))
    async def test_a_query_is_data_whatever_it_holds(self, provider: IMemoryProvider, query: str) -> None:
        if await provider.count(TENANT) == 0:
            await fill(provider, [memory(f"k{n}", text) for n, text in enumerate(CORPUS)])
        hits = await provider.search(TENANT, query, limit=100)
        wanted = set(terms(query))
        if query.strip():
            assert {hit.content for hit in hits} == {text for text in CORPUS if wanted & set(terms(text))}
        else:
            assert len(hits) == len(CORPUS)

    @requirement("D02", "D01")
    @pytest.mark.parametrize("query", ["kettle\0stove", "kettle \ud83d", "\0", "\ud83d"])
    async def test_a_query_with_nul_or_half_a_character_breaks_nothing(
        self, provider: IMemoryProvider, query: str
    ) -> None:
        await fill(provider, [memory("k", "The kettle is on the stove")])
        try:
            hits = await provider.search(TENANT, query)
        except InvalidInputError:
            hits = []
        assert {hit.key for hit in hits} <= {"k"}
        assert [hit.key for hit in await provider.search(TENANT, "kettle")] == ["k"]

    @requirement("D05", "PRV-024")
    @pytest.mark.parametrize("count", [0, 1, 2])
    @pytest.mark.parametrize("limit", [1, 10, 1000])
    async def test_a_store_of_hardly_any_entry_can_be_searched(
        self, provider: IMemoryProvider, count: int, limit: int
    ) -> None:
        await _fill_vectors(provider, {f"k{n}": [1.0, 0.0] for n in range(count)})
        for hits in (
            await provider.search(TENANT, "thing", limit=limit),
            await provider.search(TENANT, "", limit=limit),
            await provider.search_similar(TENANT, [1.0, 0.0], limit=limit),
            await provider.hybrid_search(TENANT, "thing", [1.0, 0.0], limit=limit),
        ):
            assert len(hits) == min(count, limit)
            assert all(hit.score == pytest.approx(1, abs=1e-3) and hit.score <= 1 for hit in hits)

    @requirement("D33", "PRV-025", "REQ-010-018")
    async def test_equal_scores_have_one_order_newer_then_address(self, provider: IMemoryProvider) -> None:
        entries = [
            memory(f"k{n:02}", volk_id=f"v{n % 3}", created_at=at(n % 4), embedding_model="m") for n in range(50)
        ]
        expected = [e.address for e in sorted(entries, key=lambda e: (-e.created_at.timestamp(), e.address))]
        for seed in range(3):
            await provider.clear(TENANT)
            for entry in random.Random(seed).sample(entries, len(entries)):
                await provider.store_with_embedding(place(volk=entry.volk_id), entry.key, entry, [0.6, 0.8])
            for limit in (1, 7, 8, 50):
                for hits in (
                    await provider.search(TENANT, "thing", limit=limit),
                    await provider.search(TENANT, "", limit=limit),
                    await provider.search_similar(TENANT, [1.0, 0.1], limit=limit),
                ):
                    assert [hit.address for hit in hits] == expected[:limit]

    @requirement("PRV-002", "ID-011")
    async def test_word_statistics_count_the_live_entries_of_the_tenant(self, provider: IMemoryProvider) -> None:
        await fill(provider, [memory("a", "red kettle"), memory("b", "red red stove lid"), memory("c", "gone red")])
        await fill(provider, [memory("z", "red kettle", tenant_id="t2"), memory("a", "blue kettle", version=2)])
        await provider.delete(place(), "c")
        stats = await provider.word_stats(TENANT, [*terms("red kettle absent blue")])
        assert stats.rows == 2
        assert stats.average_length == pytest.approx((2 + 4) / 2)
        found = {term: stats.rows_with.get(term, 0) for term in terms("red kettle absent blue")}
        assert found == dict(zip(terms("red kettle absent blue"), (1, 1, 0, 1), strict=True))

    @requirement("FR-018", "PRV-006")
    async def test_words_of_an_older_version_find_nothing(self, provider: IMemoryProvider) -> None:
        await fill(provider, [memory("k", "first words"), memory("k", "second thoughts", version=2)])
        assert await provider.search(TENANT, "first words") == []
        assert [hit.version for hit in await provider.search(TENANT, "second")] == [2]

    # ---- vectors

    @requirement("D34", "PRV-025", "PRV-026")
    async def test_a_score_is_the_cosine_and_the_floor_is_taken_as_given(self, provider: IMemoryProvider) -> None:
        await _fill_vectors(
            provider, {"exact": [3, 4, 0], "near": [4, 3, 0], "beside": [0, 0, 2], "against": [-3, -4, 0]}
        )
        cosines = {"exact": 1.0, "near": 0.96, "against": 0.0, "beside": 0.0}
        for floor in (-1.0, 0.0, 0.3, 0.7, 0.96 - 1e-3, 0.99):
            hits = await provider.search_similar(TENANT, [3.0, 4.0, 0.0], min_score=floor)
            expected = {key: cosine for key, cosine in cosines.items() if cosine >= floor}
            assert {hit.key: hit.score for hit in hits} == pytest.approx(expected, abs=1e-3), floor
            assert [hit.key for hit in hits] == list(expected)

    @requirement("PRV-006", "PRV-025")
    async def test_the_nearest_are_those_of_an_exact_scan(self, provider: IMemoryProvider) -> None:
        chance = np.random.default_rng(1)
        rows, queries = chance.standard_normal((300, 24)), chance.standard_normal((5, 24))
        entries = [
            memory(f"k{n:03}", embedding_model="m", embedding=row) for n, row in enumerate(rows.astype(np.float32))
        ]
        await provider.store_many(place(), entries)
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        for query in queries:
            cosines = np.maximum(unit @ (query / np.linalg.norm(query)), 0)
            hits = await provider.search_similar(TENANT, query.tolist(), limit=20)
            assert [hit.score for hit in hits] == pytest.approx(sorted(cosines, reverse=True)[:20], abs=1e-3)
            assert all(hit.score == pytest.approx(cosines[int(hit.key[1:])], abs=1e-3) for hit in hits)

    @requirement("PRV-027", "D24")
    async def test_vectors_of_another_model_or_size_are_skipped(self, provider: IMemoryProvider) -> None:
        await _fill_vectors(provider, {"m2": [1.0, 0.0]}, "m")
        await _fill_vectors(provider, {"n2": [1.0, 0.0]}, "n")
        await _fill_vectors(provider, {"o3": [1.0, 0.0, 0.0]}, "o")
        of_n = MemoryFilter(embedding_model="n")
        hits = await provider.search_similar(TENANT, [1.0, 0.0], where=of_n)
        assert [hit.key for hit in hits] == ["n2"]
        assert isinstance(hits, MemoryHits)
        assert hits.skipped_vectors == 2
        # A query that names no model is of the space written last among those of its size; spaces never mix.
        assert [hit.key for hit in await provider.search_similar(TENANT, [1.0, 0.0])] == ["n2"]
        assert [hit.key for hit in await provider.search_similar(TENANT, [0.0, 1.0, 1.0])] == ["o3"]
        addresses = [Address("t1", "ada", "", key) for key in ("m2", "n2", "o3", "absent")]
        query = np.array([0.6, 0.8], np.float32)
        found = await provider.similarities(TENANT, query, addresses, model_id="n")
        assert found == {addresses[1]: pytest.approx(0.6, abs=1e-3)}
        turned = await provider.similarities(TENANT, -query, addresses, model_id="n")
        assert turned == {addresses[1]: pytest.approx(-0.6, abs=1e-3)}

    @requirement("D36", "FR-016")
    async def test_a_new_version_without_vector_is_not_found_by_the_old_one(self, provider: IMemoryProvider) -> None:
        await _fill_vectors(provider, {"k": [1.0, 0.0], "other": [0.0, 1.0]})
        await provider.store(place(), "k", memory("k", "new", version=2))
        assert [hit.key for hit in await provider.search_similar(TENANT, [1.0, 0.0])] == ["other"]
        await provider.delete(place(), "other")
        assert await provider.search_similar(TENANT, [1.0, 0.0]) == []

    @requirement("PRV-005")
    async def test_a_replay_brings_a_vector_and_its_model_later(self, provider: IMemoryProvider) -> None:
        await provider.store(place(), "k", memory("k"))
        assert await provider.store_with_embedding(place(), "k", memory("k", embedding_model="m"), [1.0, 0.0])
        [hit] = await provider.search_similar(TENANT, [1.0, 0.0], where=MemoryFilter(embedding_model="m"))
        assert (hit.key, hit.embedding_model) == ("k", "m")

    @requirement("PRV-013", "PRV-002")
    async def test_hybrid_search_adds_both_channels_within_the_filter(self, provider: IMemoryProvider) -> None:
        for key, content, vector in (
            ("both", "red kettle", [1.0, 0.0]),
            ("text", "red", [0.0, 1.0]),
            ("near", "x", [1.0, 0.0]),
        ):
            entry = memory(key, content, tags=(key,), embedding_model="m")
            await provider.store_with_embedding(place(), key, entry, vector)
        hits = await provider.hybrid_search(TENANT, "red kettle", [1.0, 0.0], vector_weight=0.7, text_weight=0.3)
        assert [hit.key for hit in hits] == ["both", "near", "text"]
        assert hits[0].score == pytest.approx(1, abs=1e-3)
        assert hits[1].score == pytest.approx(0.7, abs=1e-3)
        only = MemoryFilter(tags_any=("text", "near"))
        assert [h.key for h in await provider.hybrid_search(TENANT, "red", [1.0, 0.0], where=only)] == ["near", "text"]

    # ---- connections

    @requirement("REQ-010-031")
    async def test_a_walk_goes_both_ways_to_its_depth_and_ends_in_cycles(self, provider: IMemoryProvider) -> None:
        entries = [memory(name) for name in "abcdef"]
        await fill(provider, entries)
        uid = {entry.key: entry.uid for entry in entries}
        pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "d")]
        drawn = [Edge("t1", uid[one], EdgeKind.DERIVED_FROM, uid[other]) for one, other in pairs]
        assert await provider.link(TENANT, [*drawn, *drawn]) == len(drawn)
        assert await provider.link(TENANT, drawn[:1]) == 0
        for depth, expected in ((1, "bc"), (2, "bcd"), (3, "bcde"), (5, "bcde")):
            assert [e.key for e in await provider.related(place(), "a", depth=depth)] == list(expected)
        assert [e.key for e in await provider.related(place(), "a", depth=5, limit=3)] == ["b", "c", "d"]
        assert await provider.related(place(), "f", depth=5) == []
        assert await provider.related(place(), "absent") == []
        at_d = await provider.edges(TENANT, [uid["d"]])
        assert sorted(at_d, key=lambda edge: edge.source) == sorted(drawn[3:], key=lambda edge: edge.source)

    @requirement("REQ-010-031")
    async def test_a_walk_neither_shows_nor_passes_what_the_filter_hides(self, provider: IMemoryProvider) -> None:
        hidden, beyond = memory("hidden", volk_id="bob"), memory("beyond")
        seen = memory("seen", volk_id="bob", classification=MemoryClassification.SYSTEM)
        start = memory("start")
        await fill(provider, [start, hidden, beyond, seen])
        chain = [(start, hidden), (hidden, beyond), (start, seen)]
        await provider.link(TENANT, [Edge("t1", one.uid, EdgeKind.RELATES_TO, two.uid) for one, two in chain])
        mine = MemoryFilter(readable_by=Readable(volk="ada"))
        assert [e.key for e in await provider.related(place(), "start", depth=5, where=mine)] == ["seen"]
        assert len(await provider.related(place(), "start", depth=5)) == 3
        with pytest.raises(ScopeError):
            await provider.link(TENANT, [Edge("t2", start.uid, EdgeKind.RELATES_TO, hidden.uid)])
        assert await provider.edges(MemoryScope(tenant_id="t2"), [start.uid, hidden.uid]) == []

    @requirement("REQ-010-031")
    async def test_one_task_relates_memories_and_other_groups_only_on_request(self, provider: IMemoryProvider) -> None:
        groups = {"task": "task_id", "session": "session_id", "volk": "volk_id", "project": "project_id"}
        apart = {"task_id": "", "session_id": "sx", "volk_id": "vx", "project_id": "px"}
        start = memory("start", task_id="x", session_id="s", project_id="p")
        entries = [memory(kind, **{**apart, name: getattr(start, name)}) for kind, name in groups.items()]
        await fill(provider, [start, *entries, memory("none", **apart), replace(start, tenant_id="t2", key="foreign")])
        assert [e.key for e in await provider.related(place(), "start")] == ["task"]
        for kind in groups:
            assert [e.key for e in await provider.related(place(), "start", kinds=[kind])] == [kind]
        assert await provider.related(place(), "start", kinds=[EdgeKind.SUMMARIZED_BY]) == []
        with pytest.raises(InvalidInputError):
            await provider.related(place(), "start", kinds=["friend"])

    @requirement("PRV-030")
    async def test_clear_takes_the_edges_of_what_it_removes_along(self, provider: IMemoryProvider) -> None:
        a, b, c = (memory(name, session_id=name) for name in "abc")
        await fill(provider, [a, b, c])
        edges = [Edge("t1", one.uid, EdgeKind.RELATES_TO, two.uid) for one, two in itertools.combinations((a, b, c), 2)]
        await provider.link(TENANT, edges)
        await provider.clear(MemoryScope(tenant_id="t1", session_id="a"))
        assert await provider.edges(TENANT, [a.uid, b.uid, c.uid]) == edges[2:]

    @requirement("TYP-003")
    async def test_neighbours_are_the_turns_before_and_after_of_one_conversation(
        self, provider: IMemoryProvider
    ) -> None:
        turns = [memory(f"k{n}", session_id="s1", turn=n) for n in range(4)]
        others = [memory(f"x{n}", session_id="s2", turn=n) for n in range(4)]
        await fill(provider, [*turns, *others, memory("none", session_id="s1")])
        await fill(provider, [memory("shared", session_id="s1", turn=2, classification=MemoryClassification.SHARED)])
        found = await provider.neighbours(TENANT, [turns[0], turns[1], turns[3]])
        keys = {address.key: tuple(e and e.key for e in pair) for address, pair in found.items()}
        assert keys == {"k0": (None, "k1"), "k1": ("k0", "k2"), "k3": ("k2", None)}
        await provider.delete(place(), "k2")
        assert (await provider.neighbours(TENANT, [turns[1]]))[turns[1].address][1] is None
