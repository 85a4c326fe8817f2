"""What stands in for time, chance and misfortune in a test?"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, cast

import numpy as np

from mnemic.errors import EmbedderError, UnavailableError
from mnemic.ports import Clock, Embedder, EventHandler, Ids, IEventBus
from mnemic.types import SystemEvent, Vector

__all__ = ["FaultyEmbedder", "ManualClock", "RecordingBus", "SequentialIds", "faulty"]

T = TypeVar("T")


class ManualClock(Clock):
    """Time that stands still until it is told to go on, or that goes on by ``step`` at each look."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC), *, step: timedelta = timedelta(0)) -> None:
        self._now, self._step, self._passed = start, step, 0.0

    def now(self) -> datetime:
        """Give the moment, and go on by ``step``."""
        moment = self._now
        self.advance(self._step)
        return moment

    def monotonic(self) -> float:
        """Give the seconds that have passed since the start."""
        return self._passed

    def advance(self, by: timedelta) -> None:
        """Let time pass; a negative one sets the wall clock back, as happens, and not the monotonic one."""
        self._now += by
        self._passed += max(0.0, by.total_seconds())


class SequentialIds(Ids):
    """Valid UUIDs of version 4, counted up."""

    def __init__(self) -> None:
        self._count = 0

    def new(self) -> str:
        """Give the next id."""
        self._count += 1
        return f"00000000-0000-4000-8000-{self._count:012x}"


class RecordingBus(IEventBus):
    """Keeps every event that was published, and hands it on at once to who subscribed to its exact type or to ``*``."""

    def __init__(self) -> None:
        self.events: list[SystemEvent] = []
        self._handlers: dict[tuple[str, str], EventHandler] = {}

    async def publish(self, event: SystemEvent) -> None:
        """Keep and hand on."""
        self.events.append(event)
        for (_, pattern), handler in list(self._handlers.items()):
            if pattern in {event.type, "*"}:
                await handler(event)

    def subscribe(
        self, pattern: str, handler: EventHandler, *, subscriber_id: str, tenant_id: str | None = None
    ) -> None:
        """Take a subscriber in; ``tenant_id`` is kept to the letter of the port and not looked at."""
        self._handlers[subscriber_id, pattern] = handler

    def unsubscribe(self, subscriber_id: str) -> None:
        """Forget a subscriber."""
        self._handlers = {key: handler for key, handler in self._handlers.items() if key[0] != subscriber_id}


class FaultyEmbedder(Embedder):
    """Does as another embedder does until call number ``first``, then fails until ``recover``.

    Args:
        inner: The embedder that works.
        fault: ``raise``, ``hang``, or an answer that is nonsense: ``nothing``, ``zeros``, ``nan``, ``too_few``,
            ``too_short`` (another dimension).
        first: The first call that fails, counted from 1.
    """

    def __init__(self, inner: Embedder, fault: str = "raise", *, first: int = 1) -> None:
        self.model_id, self.dim, self.max_tokens = inner.model_id, inner.dim, inner.max_tokens
        self.precision, self.batch_invariant = inner.precision, inner.batch_invariant
        self.calls = 0
        self._inner, self._fault, self._first = inner, fault, first
        self._works = asyncio.Event()

    def recover(self) -> None:
        """Work from now on; calls that hang go on."""
        self._works.set()

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vector:
        """Embed, or fail."""
        self.calls += 1
        if self.calls >= self._first and not self._works.is_set():
            if self._fault == "raise":
                raise EmbedderError("the model does not answer; this is a test")
            if self._fault != "hang":
                return _nonsense(self._fault, len(texts), self.dim)
            await self._works.wait()
        return await self._inner.embed(texts, urgent=urgent)

    def count_tokens(self, text: str) -> int:
        """Count as the inner embedder does."""
        return self._inner.count_tokens(text)


def _nonsense(fault: str, rows: int, dim: int) -> Vector:
    shape = {"nothing": (0, dim), "too_few": (max(0, rows - 1), dim), "too_short": (rows, dim - 1)}
    return np.full(shape.get(fault, (rows, dim)), {"zeros": 0.0, "nan": np.nan}.get(fault, 0.5), dtype=np.float32)


def faulty(
    inner: T,
    *,
    at: int,
    fault: str = "raise",
    methods: Sequence[str] | None = None,
    forever: bool = False,
    error: Exception | None = None,
) -> T:
    """Give a twin of a provider, a journal or any port whose ``at``-th call fails.

    Args:
        inner: What does the work, and keeps the state.
        at: The call that fails, counted from 1 over all methods that count.
        fault: ``raise`` before anything happens, ``apply_then_raise`` (the answer is lost), or ``hang``.
        methods: The async methods that count; None means all.
        forever: Whether every later call fails too.
        error: What is raised; None means an ``UnavailableError``.
    """
    kind = type(inner)
    calls = 0
    failure = error or UnavailableError("the store does not answer; this is a test")

    def counted(name: str) -> Any:
        async def call(_self: object, *args: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            method = getattr(inner, name)
            if calls != at and not (forever and calls > at):
                return await method(*args, **options)
            if fault == "hang":
                await asyncio.Event().wait()
            if fault == "apply_then_raise":
                await method(*args, **options)
            raise failure

        return call

    names = [name for name, member in inspect.getmembers(kind, inspect.iscoroutinefunction) if not name.startswith("_")]
    overridden = {name: counted(name) for name in names if methods is None or name in methods}
    direct = {name: _forwarded(inner, name) for name in names if name not in overridden}
    twin: Any = object.__new__(type(f"Faulty{kind.__name__}", (kind,), {**direct, **overridden}))
    twin.__dict__ = inner.__dict__
    return cast("T", twin)


def _forwarded(inner: object, name: str) -> Any:
    async def call(_self: object, *args: Any, **options: Any) -> Any:
        return await getattr(inner, name)(*args, **options)

    return call
