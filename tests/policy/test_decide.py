"""The rules of section 19 as tables; the readable set equals the single decisions."""

import itertools
from typing import Any

import pytest

from mnemic.config import GovernanceSettings
from mnemic.policy import BuiltinPolicy
from mnemic.ports import Action, MemoryFilter
from mnemic.ports.matching import is_readable
from mnemic.providers.inmemory import InMemoryProvider
from mnemic.testing import ManualClock, requirement
from mnemic.testing.strategies import fill, memory
from mnemic.types import Identity, MemoryClassification, MemoryEntry, MemoryScope

pytestmark = pytest.mark.governance

_P, _SH, _SY = MemoryClassification


def _policy(**settings: Any) -> BuiltinPolicy:
    return BuiltinPolicy(GovernanceSettings.model_validate(settings))


def _ada(**fields: Any) -> Identity:
    return Identity(**{"tenant_id": "t1", "volk_id": "ada", **fields})


@requirement("GOV-002")
@pytest.mark.parametrize(
    ("roles", "allowed"),
    [
        ((), {_P}),
        (("team_lead",), {_P, _SH}),
        (("system_admin",), {_P, _SY}),
        (("team_lead", "system_admin"), {_P, _SH, _SY}),
        (("tenant_admin", "auditor", "Team_Lead"), {_P}),
    ],
)
@pytest.mark.parametrize("classification", list(MemoryClassification))
async def test_a_class_may_be_stored_by_who_has_its_role(
    roles: tuple[str, ...], allowed: set[MemoryClassification], classification: MemoryClassification
) -> None:
    by_identity = await _policy().decide(_ada(roles=frozenset(roles)), Action.STORE, classification=classification)
    configured = _policy(agents={"ada": {"roles": roles}})
    by_settings = await configured.decide(_ada(), Action.STORE, classification=classification)
    for decision in (by_identity, by_settings):
        assert (decision.allowed, decision.rule) == (classification in allowed, "can_store_memory")
        assert decision.allowed or "governance.agents.ada.roles" in decision.reason


_READ = [
    # owner's volk, entry's user, class, entry's project, entry's crew; reader's user, project, crew; readable
    ("ada", "", _P, "p", "", "", "p", "", True),
    ("ada", "u1", _P, "p", "", "u1", "p", "", True),
    ("ada", "", _P, "p", "", "u1", "p", "", True),
    ("ada", "u1", _P, "p", "", "u2", "p", "", False),
    ("ada", "u1", _P, "p", "", "", "p", "", False),
    ("bob", "", _P, "p", "c", "", "p", "c", False),
    ("bob", "", _SH, "p", "", "", "p", "", True),
    ("bob", "u1", _SH, "p", "", "u2", "p", "", True),
    ("bob", "", _SH, "p", "", "", "q", "", False),
    ("bob", "", _SH, "p", "c", "", "q", "c", True),
    ("bob", "", _SH, "p", "", "", "q", "", False),
    ("bob", "", _SH, "default", "", "", "default", "", True),
    ("bob", "", _SY, "p", "", "", "q", "", True),
    ("ada", "u1", _SY, "p", "", "u2", "q", "", True),
]


@requirement("GOV-004")
@pytest.mark.parametrize(
    ("volk", "user", "classification", "project", "crew", "as_user", "as_project", "as_crew", "readable"), _READ
)
async def test_an_entry_is_read_by_owner_class_project_and_crew(
    volk: str,
    user: str,
    classification: MemoryClassification,
    project: str,
    crew: str,
    as_user: str,
    as_project: str,
    as_crew: str,
    readable: bool,
) -> None:
    entry = memory("k", volk_id=volk, user_id=user, classification=classification, project_id=project, crew_id=crew)
    who = _ada(user_id=as_user, project_id=as_project, crew_id=as_crew)
    decision = await _policy().decide(who, Action.READ, entry=entry)
    assert (decision.allowed, decision.rule) == (readable, "can_read_memory")


@requirement("GOV-004")
async def test_shared_can_be_set_to_reach_the_whole_tenant_and_no_further() -> None:
    wide = _policy(shared_readers="tenant")
    shared = memory("k", volk_id="bob", project_id="p", classification=_SH)
    assert (await wide.decide(_ada(project_id="q"), Action.READ, entry=shared)).allowed
    foreign = memory("k", volk_id="bob", tenant_id="t2", classification=_SY)
    assert not (await wide.decide(_ada(), Action.READ, entry=foreign)).allowed


@requirement("GOV-004")
async def test_project_and_crew_of_an_agent_come_from_the_settings_first() -> None:
    policy = _policy(agents={"ada": {"project_id": "p", "crew_id": "c"}})
    readable = await policy.readable(_ada(project_id="q"))
    assert (readable.projects, readable.crews) == (("p",), ("c",))


@requirement("GOV-009", "GOV-016")
@pytest.mark.parametrize(
    ("action", "rule"),
    [
        (Action.UPDATE, "can_update_memory"),
        (Action.DELETE, "can_delete_memory"),
        (Action.SHARE, "can_share_memory"),
        (Action.MIGRATE, "can_migrate_memory"),
    ],
)
@pytest.mark.parametrize("classification", list(MemoryClassification))
async def test_only_the_owner_changes(action: Action, rule: str, classification: MemoryClassification) -> None:
    roles = frozenset({"team_lead", "system_admin", "tenant_admin"})
    for volk, user, as_user, allowed in (
        ("ada", "", "", True),
        ("ada", "", "u1", True),
        ("ada", "u1", "u1", True),
        ("ada", "u1", "u2", False),
        ("ada", "u1", "", False),
        ("bob", "", "", False),
    ):
        entry = memory("k", volk_id=volk, user_id=user, classification=classification)
        decision = await _policy().decide(_ada(user_id=as_user, roles=roles), action, entry=entry)
        assert (decision.allowed, decision.rule) == (allowed, rule)


@pytest.mark.parametrize(
    ("volk", "roles", "target", "allowed"),
    [
        ("ada", (), _P, True),
        ("ada", (), _SH, False),
        ("ada", ("team_lead",), _SH, True),
        ("ada", ("team_lead",), _SY, False),
        ("bob", ("team_lead", "system_admin"), _SH, False),
    ],
)
async def test_a_class_is_changed_by_an_owner_who_may_store_in_the_new_one(
    volk: str, roles: tuple[str, ...], target: MemoryClassification, allowed: bool
) -> None:
    entry, who = memory("k", volk_id=volk), _ada(roles=frozenset(roles))
    decision = await _policy().decide(who, Action.RECLASSIFY, entry=entry, classification=target)
    assert decision.allowed is allowed


@requirement("GOV-016")
@pytest.mark.parametrize("action", list(Action))
async def test_a_decision_names_its_rule_and_the_tenant_stands_before_all(action: Action) -> None:
    roles = frozenset({"team_lead", "system_admin"})
    foreign = memory("k", tenant_id="t2", classification=_SY)
    decision = await _policy().decide(_ada(roles=roles), action, entry=foreign, classification=_P)
    assert (decision.allowed, decision.rule) == (False, "tenant")
    own = await _policy().decide(_ada(roles=roles), action, entry=memory("k"), classification=_P)
    assert own.allowed
    assert own.rule.startswith("can_")


def _everything() -> list[MemoryEntry]:
    places = itertools.product(("ada", "bob"), ("", "u1", "u2"), MemoryClassification, ("p", "q"), ("", "c", "d"))
    return [
        memory(f"k{n}", volk_id=volk, user_id=user, classification=kind, project_id=project, crew_id=crew)
        for n, (volk, user, kind, project, crew) in enumerate(places)
    ]


@requirement("GOV-016")
@pytest.mark.parametrize("readers", ["project", "tenant"])
async def test_the_readable_set_equals_the_single_decisions(readers: str) -> None:
    policy, every = _policy(shared_readers=readers), _everything()
    store = InMemoryProvider(clock=ManualClock())
    await fill(store, every)
    for user, project, crew in itertools.product(("", "u1"), ("p", "q", "r"), ("", "c")):
        who = _ada(user_id=user, project_id=project, crew_id=crew)
        decisions = {e.key for e in every if (await policy.decide(who, Action.READ, entry=e)).allowed}
        readable = await policy.readable(who)
        assert {e.key for e in every if is_readable(e, readable)} == decisions
        page = await store.list(MemoryScope(tenant_id="t1"), MemoryFilter(readable_by=readable), limit=1000)
        assert {e.key for e in page.items} == decisions
