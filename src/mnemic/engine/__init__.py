"""The memory engine."""

from mnemic.engine.memory import MemoryEngine

__all__ = ["MemoryEngine"]
