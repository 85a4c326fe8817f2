"""Which words does the wire know? The enums, with the values of the contract."""

from __future__ import annotations

from enum import StrEnum


class MemoryClassification(StrEnum):
    """Who a memory is meant for."""

    PRIVATE = "private"
    SHARED = "shared"
    SYSTEM = "system"


class SummarizationStrategy(StrEnum):
    """By what the memories of a summary or a context are chosen."""

    RELEVANCE = "relevance"
    RECENCY = "recency"
    IMPORTANCE = "importance"
    HYBRID = "hybrid"


class MemoryType(StrEnum):
    """The kind of memory; it sets the half-life of its recency."""

    SHORT_TERM = "short_term"
    LONG_TERM = "long_term"
    EPISODIC = "episodic"
    ENTITY = "entity"
    PROCEDURAL = "procedural"

    @classmethod
    def _missing_(cls, value: object) -> MemoryType | None:
        folded = str(value).replace("_", "").casefold()
        return next((member for member in cls if member.value.replace("_", "") == folded), None)


class Origin(StrEnum):
    """Where a memory came from; ``trust`` orders origins (TYP-013)."""

    SYSTEM = "system"
    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    DOCUMENT = "document"
    IMPORT = "import"
    WEB = "web"

    @property
    def trust(self) -> int:
        """4 for the system itself, down to 0 for the web."""
        return {"system": 4, "user": 3, "agent": 2, "web": 0}.get(self.value, 1)


class SearchMode(StrEnum):
    """Which channels answer a search."""

    SEMANTIC = "semantic"
    KEYWORD = "keyword"
    HYBRID = "hybrid"


class DurabilityMode(StrEnum):
    """What an acknowledged write survives: power loss, the process's death, or nothing."""

    POWER = "power"
    PROCESS = "process"
    MEMORY = "memory"


class HealthStatus(StrEnum):
    """The whole in one word."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"
