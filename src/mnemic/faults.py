"""Where may a test stop the process, and was the place reached? Outside tests nothing happens here."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["arm", "crashpoint", "disarm"]

_armed: dict[str, Callable[[], None]] = {}


def crashpoint(name: str) -> None:
    """Name a place in the code; does nothing unless a test armed it."""
    if _armed and (action := _armed.get(name)):
        action()


def arm(name: str, action: Callable[[], None]) -> None:
    """Run ``action`` whenever the named place is reached; it may raise or end the process."""
    _armed[name] = action


def disarm() -> None:
    """Forget every armed place."""
    _armed.clear()
