"""mnemic: the governed memory engine for AI agents."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mnemic import sync as sync
    from mnemic.app import open_engine
    from mnemic.config import Settings, load_settings
    from mnemic.engine import MemoryEngine
    from mnemic.errors import MnemicError
    from mnemic.ports import BatchItem, BatchResult
    from mnemic.types import (
        Address,
        ContextBlock,
        Health,
        Identity,
        MemoryClassification,
        MemoryEntry,
        MemoryHit,
        MemoryHits,
        MemoryScope,
        MemorySummary,
        MemoryType,
        Origin,
        Page,
        SearchMode,
        SummarizationStrategy,
    )

__version__ = "0.1.0"

_HOMES = {
    "open_engine": "mnemic.app",
    "Settings": "mnemic.config",
    "load_settings": "mnemic.config",
    "MemoryEngine": "mnemic.engine",
    "MnemicError": "mnemic.errors",
    "BatchItem": "mnemic.ports",
    "BatchResult": "mnemic.ports",
    "Address": "mnemic.types",
    "ContextBlock": "mnemic.types",
    "Health": "mnemic.types",
    "Identity": "mnemic.types",
    "MemoryClassification": "mnemic.types",
    "MemoryEntry": "mnemic.types",
    "MemoryHit": "mnemic.types",
    "MemoryHits": "mnemic.types",
    "MemoryScope": "mnemic.types",
    "MemorySummary": "mnemic.types",
    "MemoryType": "mnemic.types",
    "Origin": "mnemic.types",
    "Page": "mnemic.types",
    "SearchMode": "mnemic.types",
    "SummarizationStrategy": "mnemic.types",
}
"""Where each public name lives; it is imported when it is first used (PEP 562)."""

__all__ = [
    "Address",
    "BatchItem",
    "BatchResult",
    "ContextBlock",
    "Health",
    "Identity",
    "MemoryClassification",
    "MemoryEngine",
    "MemoryEntry",
    "MemoryHit",
    "MemoryHits",
    "MemoryScope",
    "MemorySummary",
    "MemoryType",
    "MnemicError",
    "Origin",
    "Page",
    "SearchMode",
    "Settings",
    "SummarizationStrategy",
    "load_settings",
    "open_engine",
]


def __getattr__(name: str) -> Any:
    if name == "sync":
        return importlib.import_module("mnemic.sync")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'mnemic' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
