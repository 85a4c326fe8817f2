"""What is passed around: who acts, what is asked for, what is remembered, what comes back."""

from mnemic.types.entry import MemoryEntry, MemoryHit, MemoryHits, Vector
from mnemic.types.identity import Address, Identity, MemoryScope, check_id, utc
from mnemic.types.kinds import (
    DurabilityMode,
    HealthStatus,
    MemoryClassification,
    MemoryType,
    Origin,
    SearchMode,
    SummarizationStrategy,
)
from mnemic.types.results import ContextBlock, Health, MemorySummary, Page, SummarySection, SystemEvent

__all__ = [
    "Address",
    "ContextBlock",
    "DurabilityMode",
    "Health",
    "HealthStatus",
    "Identity",
    "MemoryClassification",
    "MemoryEntry",
    "MemoryHit",
    "MemoryHits",
    "MemoryScope",
    "MemorySummary",
    "MemoryType",
    "Origin",
    "Page",
    "SearchMode",
    "SummarizationStrategy",
    "SummarySection",
    "SystemEvent",
    "Vector",
    "check_id",
    "utc",
]
