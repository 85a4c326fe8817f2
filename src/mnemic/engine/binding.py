"""Who acts through an engine, and when does it live? One set of parts, bound to as many identities as call."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Self

from mnemic.engine.shared import Caller
from mnemic.engine.upkeep import Upkeep, health
from mnemic.ports import IMemoryEngine
from mnemic.types import Health, Identity

__all__ = ["Binding"]


class Binding(IMemoryEngine):
    """The lifecycle of an engine and its identity; the verbs stand in ``MemoryEngine``."""

    def __init__(self, caller: Caller, upkeep: Upkeep) -> None:
        self._caller, self._upkeep = caller, upkeep
        self._shared = caller.shared

    @property
    def identity(self) -> Identity:
        """Who acts through this binding."""
        return self._caller.who

    async def initialize(self) -> None:
        """Open the storage and subscribe to the end of sessions."""
        await self._upkeep.initialize()

    async def start(self) -> None:
        """Initialize if need be, load the model, and begin background work."""
        await self._upkeep.start()

    async def stop(self) -> None:
        """Drain and close within 5 seconds."""
        await self._upkeep.stop()

    async def get_health(self) -> Health:
        """See the port; answers also while the engine does not run."""
        return await health(self._shared)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def acting_as(
        self,
        *,
        tenant_id: str | None = None,
        volk_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        client_id: str | None = None,
        project_id: str | None = None,
        portfolio_id: str | None = None,
        task_id: str | None = None,
        crew_id: str | None = None,
        roles: Iterable[str] | None = None,
    ) -> Self:
        """The same engine for another identity, sharing every resource; unnamed fields are inherited (ID-010).

        ``agent_id`` is another name of ``volk_id``.
        """
        caller = self._caller.acting(
            tenant_id=tenant_id,
            volk_id=volk_id,
            agent_id=agent_id,
            session_id=session_id,
            user_id=user_id,
            client_id=client_id,
            project_id=project_id,
            portfolio_id=portfolio_id,
            task_id=task_id,
            crew_id=crew_id,
            roles=None if roles is None else frozenset(roles),
        )
        return type(self)(caller, self._upkeep)
