"""What a search gives, in what order, and what it says about itself."""

import socket
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mnemic import BatchItem, MemoryEngine, MemoryEntry, MemoryHit, MemoryScope, MemoryType, SearchMode
from mnemic.retrieval import PROFILES, formula
from mnemic.testing import ManualClock, requirement
from tests.engine.world import World, running

pytestmark = pytest.mark.search


def _never(*_: Any, **__: Any) -> socket.socket:
    raise AssertionError("a socket was opened")


async def _fill(engine: MemoryEngine) -> None:
    for number in range(36):
        place = engine.acting_as(
            session_id=f"s{number % 2}",
            project_id=f"p{number % 3}",
            portfolio_id=f"f{number % 2}",
            crew_id=("", "c")[number % 2],
        )
        volk = place.acting_as(volk_id=("ada", "bob")[number // 18])
        await volk.store(
            f"kettle number {number} is {('blue', 'green', 'red')[number % 3]}",
            key=f"k{number:02}",
            task_id=f"t{number % 4}",
            importance=number / 36,
        )


@requirement("REQ-010-014", "TYP-005", "TYP-006")
async def test_a_hit_is_an_entry_with_score_parts_channels_and_rank(engine: MemoryEngine) -> None:
    stored = await engine.store("the kettle is blue", key="k")
    hits = await engine.search("blue kettle")
    (hit,) = hits
    assert isinstance(hit, MemoryHit)
    assert isinstance(hit, MemoryEntry)
    assert (hit.created_at, hit.volk_id, hit.rank) == (stored.created_at, "ada", 1)
    assert hit.relevance_score == hit.score
    assert 0 <= hit.score <= 1
    assert set(hit.channels) == {"words", "vectors"}
    assert hit.entry() == await engine.retrieve("k")
    assert (await engine.retrieve("k") or hit).relevance_score is None
    assert (hits.degraded, hits.filtered_count, hits.skipped_vectors, hits.pending_vectors) == ((), 0, 0, 0)
    assert 0 < hits.best_score <= 1


@requirement("REQ-010-018", "US-004.5")
@pytest.mark.parametrize("profile", sorted(PROFILES))
async def test_a_score_is_the_profiles_formula_on_its_parts(engine: MemoryEngine, profile: str) -> None:
    await _fill(engine)
    await engine.flush()
    hits = await engine.search("blue kettle number 7", profile=profile, limit=30)
    assert len(hits) > 5
    for hit in hits:
        assert hit.score == pytest.approx(float(formula(profile, hit.score_parts)), abs=1e-9)
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    keys = [(-h.score, -h.created_at.timestamp(), h.volk_id, h.user_id, h.key) for h in hits]
    assert keys == sorted(keys)
    again = await engine.search("blue kettle number 7", profile=profile, limit=30)
    assert [hit.key for hit in again] == [hit.key for hit in hits]


@requirement("REQ-010-019")
async def test_ten_hits_unless_told(engine: MemoryEngine) -> None:
    await engine.store_many([BatchItem(content=f"kettle {number}") for number in range(11)])
    assert len(await engine.search("kettle")) == 10
    assert len(await engine.search("kettle", limit=3)) == 3
    assert len(await engine.search("kettle", limit=1000)) == 11


@requirement("REQ-010-017", "REQ-010-005", "ID-002", "US-004.4")
@pytest.mark.parametrize("mode", list(SearchMode))
async def test_each_scope_gives_what_a_store_of_only_those_entries_would(world: World, mode: SearchMode) -> None:
    async with running(world.engine()) as engine:
        start = world.clock.now()
        await _fill(engine)
        await engine.flush()
        end = world.clock.now()
        half = start + (end - start) / 2
        scopes = [
            MemoryScope(session_id="s1"),
            MemoryScope(task_id="t3"),
            MemoryScope(volk_id="ada"),
            MemoryScope(project_id="p2"),
            MemoryScope(portfolio_id="f1"),
            MemoryScope(crew_id="c"),
            MemoryScope(date_from=half),
            MemoryScope(date_to=half),
            MemoryScope(session_id="s1", project_id="p0"),
            MemoryScope(task_id="t1", date_to=half),
            MemoryScope(task_id=""),
            MemoryScope(session_id="nowhere"),
        ]
        every = {entry.key: entry for entry in (await engine.retrieve_by(limit=1000)).items}
        assert len(every) == 18
        for scope in scopes:
            wanted = {key for key, entry in every.items() if _lies_in(entry, scope)}
            hits = await engine.search("blue kettle number", scope=scope, mode=mode, limit=100)
            assert {hit.key for hit in hits} == wanted, scope
            assert await engine.count(scope) == len(wanted)


def _lies_in(entry: MemoryEntry, scope: MemoryScope) -> bool:
    names = ("session_id", "task_id", "volk_id", "project_id", "portfolio_id", "crew_id")
    same = all(getattr(scope, name) in {None, getattr(entry, name)} for name in names) and scope.task_id != ""
    after = scope.date_from is None or scope.date_from <= entry.created_at
    return same and after and (scope.date_to is None or entry.created_at <= scope.date_to)


@requirement("FR-004", "ENG-003")
async def test_the_floor_is_applied_as_given_and_tells_what_it_hid(engine: MemoryEngine) -> None:
    await engine.store("the kettle is blue", key="near")
    await engine.store("the kettle of the old lighthouse keeper stands outside in the rain", key="far")
    await engine.flush()
    everything = await engine.search("the kettle is blue", min_similarity=0.0)
    far = {hit.key: hit.score_parts["similarity"] for hit in everything}["far"]
    hits = await engine.search("the kettle is blue", min_similarity=min(1.0, far + 0.01))
    assert [hit.key for hit in hits] == ["near"]
    assert (everything.filtered_count, hits.filtered_count) == (0, 1)


@requirement("ENG-003", "PRV-013")
async def test_a_filter_acts_before_the_limit(engine: MemoryEngine) -> None:
    for number in range(30):
        await engine.store("kettle kettle kettle", tags=["noise"], key=f"n{number:02}")
    await engine.store("a kettle", key="k", tags=["wanted"], memory_type=MemoryType.EPISODIC, metadata={"n": 5})
    for where in ({"tag": "WANTED"}, {"type": "Episodic"}, {"n": {"$gte": 5}}, {"NOT": {"tag": "noise"}}, {"key": "k"}):
        assert [hit.key for hit in await engine.search("kettle", limit=1, where=where)] == ["k"], where


@requirement("ENG-003")
async def test_the_callers_now_moves_the_ranking(engine: MemoryEngine) -> None:
    then = datetime(2025, 1, 1, tzinfo=UTC)
    await engine.store("the kettle is blue", key="k", occurred_at=then)
    for days, recency in ((0, 1.0), (30, 0.05 + 0.95 / 2), (-5, 1.0)):
        (hit,) = await engine.search("kettle", now=then + timedelta(days=days))
        assert hit.score_parts["recency"] == pytest.approx(recency)


@requirement("FR-015")
async def test_age_lowers_a_rank_and_hides_nothing(engine: MemoryEngine) -> None:
    old = datetime(2001, 1, 1, tzinfo=UTC)
    await engine.store("the kettle is blue", key="old", occurred_at=old)
    await engine.store("the kettle is blue", key="new")
    assert [hit.key for hit in await engine.search("blue kettle")] == ["new", "old"]
    assert (await engine.retrieve("old")) is not None


@requirement("US-002.1", "SES-003")
async def test_a_later_session_finds_what_an_earlier_one_learned(engine: MemoryEngine) -> None:
    await engine.store("the kettle is blue", key="k")
    await engine.migrate_to_cold("s1")
    later = engine.acting_as(session_id="s2")
    assert [hit.key for hit in await later.search("blue kettle")] == ["k"]


@requirement("FR-005.1")
async def test_a_summary_gives_way_to_its_sources(engine: MemoryEngine) -> None:
    await engine.store("the kettle is blue. it stands on the stove.", key="a")
    summary = await engine.summarize("s1", store=True)
    assert summary.key is not None
    hits = await engine.search("blue kettle")
    assert [(hit.key, hit.rank) for hit in hits] == [("a", 1)]
    hits = await engine.search("blue kettle", where={"source": "summary"})
    assert [hit.key for hit in hits] == [summary.key]


@requirement("NFR-009", "US-004.5")
async def test_equal_input_clock_and_ids_give_equal_results(world: World, tmp_path_factory: Any) -> None:
    async def run(one: World) -> tuple[str, str, list[Any]]:
        async with running(one.engine()) as engine:
            await _fill(engine)
            await engine.flush()
            hits = await engine.search("blue kettle", limit=20)
            block = await engine.context("which kettle is green?", max_tokens=300)
            summary = await engine.summarize("s1")
            return block.text, summary.content, [(hit.address, hit.score, hit.score_parts) for hit in hits]

    twins = [World(world.kind, tmp_path_factory.mktemp("twin"), clock=ManualClock()) for _ in range(2)]
    assert await run(twins[0]) == await run(twins[1])


async def test_no_socket_is_opened(real_engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", _never)
    await real_engine.store("the kettle is blue", key="k")
    await real_engine.flush()
    assert [hit.key for hit in await real_engine.search("what colour is the pot for tea?")] == ["k"]


_FACTS = {
    "cat": "Mara's cat refuses to eat dry food since the move",
    "train": "the last train to the coast leaves at a quarter past nine in the evening",
    "build": "error E-4471: the build fails because libfrost.so.3 is missing on host qx-17",
    "rent": "the landlord raises the monthly payment for the flat by forty euros in March",
    "allergy": "Tom must not have anything with peanuts",
    "meeting": "we agreed to ship the second release after the holidays",
    "path": "the backups lie in /srv/archive/2026/nightly.tar.zst",
    "shoes": "running shoes wear out after about six hundred kilometres",
}


@requirement("REQ-010-015", "REQ-010-016", "US-004.1", "US-004.2")
async def test_meaning_and_identifiers_are_both_found(real_engine: MemoryEngine) -> None:
    for key, content in _FACTS.items():
        await real_engine.store(content, key=key)
    await real_engine.flush()
    paraphrases = {
        "pet is picky about its meals": "cat",
        "housing costs go up in spring": "rent",
        "guest with a nut intolerance": "allergy",
        "when do we publish version two?": "meeting",
    }
    for query, key in paraphrases.items():
        for mode in (SearchMode.SEMANTIC, SearchMode.HYBRID):
            assert key in [hit.key for hit in await real_engine.search(query, mode=mode, limit=3)], (query, mode)
    for query, key in {
        "E-4471": "build",
        "qx-17": "build",
        "nightly.tar.zst": "path",
        "libfrost.so.3": "build",
    }.items():
        for mode in (SearchMode.KEYWORD, SearchMode.HYBRID):
            best, *_ = await real_engine.search(query, mode=mode)
            assert best.key == key, (query, mode)
