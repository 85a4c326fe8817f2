"""The built-in rules of section 19: owner, class and tenant, decided without a second process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from mnemic.config import AgentSettings, GovernanceSettings
from mnemic.ports import Action, Decision, Policy, Readable
from mnemic.ports.matching import is_readable
from mnemic.types import Identity, MemoryClassification, MemoryEntry

__all__ = ["BuiltinPolicy", "owns"]

_ROLE_FOR = {MemoryClassification.SHARED: "team_lead", MemoryClassification.SYSTEM: "system_admin"}


class _Question(NamedTuple):
    who: Identity
    roles: frozenset[str]
    readable: Readable
    entry: MemoryEntry | None
    classification: MemoryClassification | None


def owns(who: Identity, entry: MemoryEntry) -> bool:
    """Whether the caller is the entry's owner: its volk, for the same user or for none (ID-004.1)."""
    return entry.tenant_id == who.tenant_id and entry.volk_id == who.volk_id and entry.user_id in {"", who.user_id}


class BuiltinPolicy(Policy):
    """Decides from configuration alone; roles come from there or from a verified token (GOV-015)."""

    def __init__(self, settings: GovernanceSettings) -> None:
        self._agents = settings.agents
        self._tenant_wide = settings.shared_readers == "tenant"

    async def decide(
        self,
        who: Identity,
        action: Action,
        *,
        entry: MemoryEntry | None = None,
        classification: MemoryClassification | None = None,
    ) -> Decision:
        """See the port."""
        if entry is not None and entry.tenant_id != who.tenant_id:
            return Decision(allowed=False, rule="tenant", reason="another tenant")
        agent = self._agent(who)
        question = _Question(who, who.roles | set(agent.roles), await self.readable(who), entry, classification)
        return _RULES[action](question)

    async def readable(self, who: Identity) -> Readable:
        """See the port."""
        agent = self._agent(who)
        crew = who.crew_id or agent.crew_id or ""
        return Readable(
            volk=who.volk_id,
            user=who.user_id,
            projects=(agent.project_id or who.project_id,),
            crews=(crew,) if crew else (),
            tenant_wide=self._tenant_wide,
        )

    def _agent(self, who: Identity) -> AgentSettings:
        return self._agents.get(who.volk_id, _UNKNOWN)


_UNKNOWN = AgentSettings()


def _store(question: _Question) -> Decision:
    role = _ROLE_FOR.get(question.classification or MemoryClassification.PRIVATE)
    if role is None or role in question.roles:
        return Decision(allowed=True, rule="can_store_memory")
    return Decision(
        allowed=False,
        rule="can_store_memory",
        reason=f"class {question.classification} needs role {role!r}: governance.agents.{question.who.volk_id}.roles",
    )


def _read(question: _Question) -> Decision:
    entry = question.entry
    named = {entry.uid} if entry is not None and question.who.volk_id in entry.shared_with else set()
    allowed = entry is not None and is_readable(entry, question.readable, named)
    return Decision(allowed=allowed, rule="can_read_memory")


def _own(rule: str) -> Callable[[_Question], Decision]:
    def decide(question: _Question) -> Decision:
        allowed = question.entry is not None and owns(question.who, question.entry)
        return Decision(allowed=allowed, rule=rule, reason="" if allowed else "only the owner may")

    return decide


def _reclassify(question: _Question) -> Decision:
    owner = _own("can_reclassify_memory")(question)
    return _store(question) if owner.allowed else owner


_RULES: Mapping[Action, Callable[[_Question], Decision]] = {
    Action.STORE: _store,
    Action.READ: _read,
    Action.UPDATE: _own("can_update_memory"),
    Action.DELETE: _own("can_delete_memory"),
    Action.SHARE: _own("can_share_memory"),
    Action.RECLASSIFY: _reclassify,
    Action.MIGRATE: _own("can_migrate_memory"),
}
