"""Nobody sees, finds or changes what is not theirs, on any path."""

import asyncio
import inspect
from typing import Any

import pytest

from mnemic import Identity, MemoryClassification, MemoryEngine, MemoryScope, SearchMode
from mnemic.errors import AccessDeniedError, IdentityError, InvalidInputError, MnemicError, ScopeError
from mnemic.ports import MemoryFilter, Readable
from mnemic.testing import requirement
from mnemic.testing.strategies import HOSTILE_NAMES
from tests.engine.world import World, digest, running

pytestmark = pytest.mark.governance

_CANARY = "zebrafinch"
_WRITES = {"store", "store_many", "store_messages", "update", "delete", "forget", "link", "promote", "import_"}
_NO_READS = {"initialize", "start", "stop", "flush", "sweep", "migrate_to_cold", "reindex", "acting_as"}
_READS: dict[str, list[dict[str, Any]]] = {
    "retrieve": [
        {"key": "canary"},
        {"key": "canary", "owner": "ada"},
        {"key": "canary", "owner": ("ada", "")},
        {"key": "canary", "version": 1},
        {"key": "canary", "owner": "ada", "version": 1},
    ],
    "search": [{"query": _CANARY, "mode": mode} for mode in SearchMode]
    + [{"query": _CANARY, "include_superseded": True}, {"query": _CANARY, "scope": MemoryScope(session_id="s1")}],
    "summarize": [{"context_id": "s1"}, {"context_id": "task:t"}, {"context_id": "s1", "keys": ["canary"]}],
    "context": [{"query": _CANARY}, {"query": _CANARY, "keys": ["canary"]}],
    "retrieve_by": [{}, {"tags": [_CANARY]}, {"scope": MemoryScope(volk_id="ada")}, {"where": {"key": "canary"}}],
    "related": [{"key": "canary"}, {"key": "own", "kinds": ["task", "session", "volk", "project"], "depth": 5}],
    "history": [{"key": "canary"}],
    "count": [{}],
    "export": [{}, {"scope": MemoryScope(volk_id="ada")}],
    "get_health": [{}],
    "verify_audit": [{}],
}


def test_every_public_method_is_known_as_reading_or_writing() -> None:
    public = {name for name, _ in inspect.getmembers(MemoryEngine, callable) if not name.startswith("_")}
    assert public == _WRITES | _NO_READS | _READS.keys()


@requirement("ID-008", "US-004.4", "TYP-014")
@pytest.mark.parametrize("other", ["t2", "public"])
@pytest.mark.parametrize("name", _READS)
async def test_no_reading_method_shows_another_tenant_anything(engine: MemoryEngine, name: str, other: str) -> None:
    await _plant(engine, MemoryClassification.SYSTEM)
    await _nothing_is_shown(engine.acting_as(tenant_id=other, user_id="u9"), name)


@requirement("US-001.4", "REQ-010-049")
@pytest.mark.parametrize("name", _READS)
async def test_no_reading_method_shows_another_agent_what_is_private(engine: MemoryEngine, name: str) -> None:
    await _plant(engine, MemoryClassification.PRIVATE)
    await _nothing_is_shown(engine.acting_as(volk_id="bob"), name)


@requirement("ID-004.1")
@pytest.mark.parametrize("name", _READS)
async def test_no_reading_method_shows_another_user_what_is_private(engine: MemoryEngine, name: str) -> None:
    await _plant(engine.acting_as(user_id="u1"), MemoryClassification.PRIVATE)
    await _nothing_is_shown(engine.acting_as(user_id="u2"), name)


async def _plant(engine: MemoryEngine, classification: MemoryClassification) -> None:
    await engine.acting_as(roles=["system_admin"]).store(
        f"the {_CANARY} sings",
        key="canary",
        tags=[_CANARY],
        metadata={"note": _CANARY},
        classification=classification,
        task_id="t",
    )


async def _nothing_is_shown(engine: MemoryEngine, name: str) -> None:
    await engine.store("the kettle sings", key="own", task_id="t")
    await engine.flush()
    for options in _READS[name]:
        call = getattr(engine, name)(**options)
        try:
            answer = [line async for line in call] if name == "export" else await call
        except MnemicError as error:
            answer = str(error)
        assert _CANARY not in repr(answer), options
        if name == "count":
            assert answer == 1


@requirement("D42", "ID-004", "ID-008")
async def test_tenants_agents_and_users_keep_the_same_key_apart(engine: MemoryEngine) -> None:
    places = [
        engine.acting_as(tenant_id=tenant, volk_id=volk, user_id=user)
        for tenant in ("t1", "t2")
        for volk in ("ada", "bob")
        for user in ("u1", "u2")
    ]
    for number, place in enumerate(places):
        await place.store(f"text {number}", key="k")
    for number, place in enumerate(places):
        found = await place.retrieve("k")
        assert found is not None
        assert (found.content, found.version) == (f"text {number}", 1)
    assert await places[0].delete("k")
    assert [await place.retrieve("k") is None for place in places] == [True] + [False] * 7


@requirement("D42")
async def test_two_tenants_store_the_same_text(engine: MemoryEngine) -> None:
    other = engine.acting_as(tenant_id="t2")
    for place in (engine, other):
        await place.store("the same text", key="k")
    await engine.delete("k")
    assert await engine.retrieve("k") is None
    assert [hit.content for hit in await other.search("same text")] == ["the same text"]


@requirement("ID-003")
async def test_a_scope_of_another_tenant_is_denied(engine: MemoryEngine) -> None:
    foreign = MemoryScope(tenant_id="t2")
    for call in (
        engine.search("x", scope=foreign),
        engine.retrieve_by(scope=foreign),
        engine.count(foreign),
        engine.context("x", scope=foreign),
        engine.forget(None, scope=foreign),
    ):
        with pytest.raises(AccessDeniedError, match="another tenant"):
            await call


@requirement("ID-003")
async def test_nobody_brings_a_readable_set_along(engine: MemoryEngine) -> None:
    await engine.store("x")
    with pytest.raises(ScopeError, match="readable_by"):
        await engine.retrieve_by(where=MemoryFilter(readable_by=Readable(volk="ada")))


@requirement("ID-004.1")
async def test_every_user_sees_what_is_the_agents_own(engine: MemoryEngine) -> None:
    await engine.store("the shop opens at nine", key="shop")
    for user in ("u1", "u2"):
        place = engine.acting_as(user_id=user)
        await place.store(f"prefers tea, says {user}", key="tea")
        assert {hit.key for hit in await place.search("shop tea prefers")} == {"shop", "tea"}
        assert user in str([hit.content for hit in await place.search("prefers tea")])


@requirement("ID-004.1", "ID-005", "REQ-010-049")
async def test_hostile_names_never_meet(engine: MemoryEngine) -> None:
    names = HOSTILE_NAMES[:40]
    for name in names:
        await engine.acting_as(volk_id=name, user_id=name, session_id=name).store(f"secret of {name!r}", key="k")
    for name in names:
        place = engine.acting_as(volk_id=name, user_id=name, session_id=name)
        assert [entry.volk_id for entry in (await place.retrieve_by()).items] == [name]
        assert [hit.volk_id for hit in await place.search("secret")] == [name]
        assert [e.volk_id for e in (await place.retrieve_by(scope=MemoryScope(session_id=name))).items] == [name]


@requirement("REQ-010-049", "GOV-002", "GOV-013", "US-006.1")
@pytest.mark.parametrize(
    ("classification", "same_project", "other_project"),
    [("private", False, False), ("shared", True, False), ("system", True, True)],
)
async def test_a_class_reaches_whom_it_is_meant_for_on_every_path(
    engine: MemoryEngine, classification: str, same_project: bool, other_project: bool
) -> None:
    writer = engine.acting_as(roles=["team_lead", "system_admin"], project_id="p1")
    await writer.store(f"the {_CANARY} sings", key="k", classification=MemoryClassification(classification))
    for project, readable in (("p1", same_project), ("p2", other_project)):
        bob = engine.acting_as(volk_id="bob", project_id=project)
        texts = [
            repr(await bob.retrieve("k")),
            repr(await bob.search("sings")),
            repr(await bob.retrieve_by()),
            (await bob.context("sings")).text,
            (await bob.summarize("s1")).content,
        ]
        assert [_CANARY in text for text in texts] == [readable] * 5
        assert not any([_CANARY in line async for line in bob.export()])


@requirement("GOV-002", "US-006.2")
@pytest.mark.parametrize(("classification", "role"), [("shared", "team_lead"), ("system", "system_admin")])
async def test_a_wider_class_needs_its_role_and_the_error_names_the_setting(
    world: World, classification: str, role: str
) -> None:
    settings = {"governance": {"agents": {"lea": {"roles": [role]}}}}
    async with running(world.engine(settings=settings)) as engine:
        before = await digest(world.store)
        with pytest.raises(AccessDeniedError, match=f"{role}.*governance.agents.ada.roles"):
            await engine.store("x", classification=MemoryClassification(classification))
        assert await digest(world.store) == before
        stored = await engine.acting_as(volk_id="lea").store("x", classification=MemoryClassification(classification))
        assert stored.classification == classification


@requirement("ID-010")
async def test_bound_engines_are_of_one_class_share_resources_and_inherit(engine: MemoryEngine) -> None:
    bound = engine.acting_as(user_id="u1", roles=["team_lead"])
    assert type(bound) is MemoryEngine
    assert bound.identity == Identity(
        tenant_id="t1", volk_id="ada", session_id="s1", user_id="u1", roles=frozenset({"team_lead"})
    )
    assert bound.acting_as(task_id="t").identity.user_id == "u1"
    await bound.acting_as(user_id="").store("x", key="k")
    assert await engine.retrieve("k") is not None


@requirement("ID-010")
async def test_bound_engines_used_at_once_never_mix(engine: MemoryEngine) -> None:
    async def work(volk: str) -> set[str]:
        place = engine.acting_as(volk_id=volk)
        seen = set()
        for number in range(10):
            await place.store(f"note {number}", key=f"n{number}")
            seen |= {hit.volk_id for hit in await place.search("note", limit=50)}
        return seen

    volks = [f"v{number}" for number in range(8)]
    assert await asyncio.gather(*(work(volk) for volk in volks)) == [{volk} for volk in volks]


async def test_agent_id_is_another_name_of_volk_id_and_may_not_contradict(engine: MemoryEngine) -> None:
    assert engine.acting_as(agent_id="bob").identity.volk_id == "bob"
    assert engine.acting_as(agent_id="bob", volk_id="bob").identity.volk_id == "bob"
    with pytest.raises(IdentityError, match="agent_id and volk_id"):
        engine.acting_as(agent_id="bob", volk_id="ada")


@requirement("ID-005")
@pytest.mark.parametrize("name", ["tenant_id", "volk_id", "session_id", "user_id", "client_id", "task_id", "crew_id"])
@pytest.mark.parametrize("value", [" ", " a", "a\n", "\ud83d", "e\u0301", "x" * 129, "a\0"])
async def test_an_id_that_breaks_the_rules_is_refused(engine: MemoryEngine, name: str, value: str) -> None:
    with pytest.raises(InvalidInputError, match=name):
        engine.acting_as(**{name: value})


@requirement("ID-006")
@pytest.mark.parametrize("missing", ["tenant_id", "user_id", "client_id"])
async def test_strict_mode_refuses_a_call_that_lacks_tenant_user_or_client(world: World, missing: str) -> None:
    named = {"tenant_id": "t1", "user_id": "u1", "client_id": "c1"}
    async with world.engine(settings={"identity": {"strict": True}}) as engine:
        partly = engine.acting_as(**{name: value for name, value in named.items() if name != missing})
        for call in (partly.store("x"), partly.retrieve("k"), partly.search("x"), partly.count(), partly.flush()):
            with pytest.raises(IdentityError, match=missing) as caught:
                await call
            assert (caught.value.code, caught.value.http_status) == ("MLI-IDN-001", 400)
        assert (await engine.acting_as(**named).store("x")).tenant_id == "t1"
        assert (await engine.get_health()).identity_mode == "strict"


@requirement("ID-006", "ID-001")
async def test_without_strict_mode_a_missing_tenant_is_public(world: World) -> None:
    async with world.engine() as engine:
        stored = await engine.store("x")
        assert (stored.tenant_id, stored.user_id, stored.volk_id) == ("public", "", "default")
        assert (await engine.get_health()).identity_mode == "compatibility"


@requirement("ID-006")
async def test_an_identity_of_the_settings_counts_as_given(world: World) -> None:
    identity = {"strict": True, "tenant_id": "t1", "user_id": "u1", "client_id": "c1"}
    async with world.engine(settings={"identity": identity}) as engine:
        assert (await engine.store("x")).user_id == "u1"
