"""What is a part of the system: its lifecycle, and what comes in from outside so that runs can be replayed?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from mnemic.types import Health, SystemEvent

EventHandler = Callable[[SystemEvent], Awaitable[None]]
"""What a subscriber does with an event."""


class ComponentType(StrEnum):
    """The role under which a component is registered in the container."""

    MEMORY_ENGINE = "memory_engine"
    EVENT_BUS = "event_bus"


class IComponent(ABC):
    """A part with a lifecycle: initialize, start, stop; each call may be repeated."""

    component_type: ClassVar[ComponentType]

    async def initialize(self) -> None:
        """Open, verify and subscribe."""

    async def start(self) -> None:
        """Begin background work."""

    async def stop(self) -> None:
        """Drain, flush and close."""

    @abstractmethod
    async def get_health(self) -> Health:
        """Tell how each part is."""


class Clock(ABC):
    """The only source of time."""

    @abstractmethod
    def now(self) -> datetime:
        """The moment in aware UTC, to the microsecond."""

    @abstractmethod
    def monotonic(self) -> float:
        """Seconds that never run backwards."""


class Ids(ABC):
    """The only source of new ids."""

    @abstractmethod
    def new(self) -> str:
        """A UUID of version 4 as text."""


class IEventBus(ABC):
    """Delivers events to subscribers in this process (EVT-003)."""

    @abstractmethod
    async def publish(self, event: SystemEvent) -> None:
        """Hand an event to every matching subscriber; a slow or failing one blocks nobody."""

    @abstractmethod
    def subscribe(
        self, pattern: str, handler: EventHandler, *, subscriber_id: str, tenant_id: str | None = None
    ) -> None:
        """Call ``handler`` for each event whose type matches ``pattern``, where ``*`` may be the last part.

        Args:
            pattern: A topic, a prefix followed by ``.*``, or ``*`` alone.
            handler: An async function of one event.
            subscriber_id: Names the subscriber; the same id and pattern again replaces the handler.
            tenant_id: Only events of this tenant; None is for the system itself.
        """

    @abstractmethod
    def unsubscribe(self, subscriber_id: str) -> None:
        """Forget every subscription of a subscriber."""


class FactEmitter(ABC):
    """Records facts about a session outside memory (SES-002)."""

    @abstractmethod
    async def emit(self, session_id: str, fact: str, value: Mapping[str, Any]) -> None:
        """Record one fact; a failure undoes nothing."""


class ModelLookup(ABC):
    """Tells which model an agent runs on, so that tokens are counted as it counts them."""

    @abstractmethod
    def provider(self, volk_id: str) -> str | None:
        """Name of the model provider of an agent, None where it is unknown."""
