"""May this identity do this, and what may it read?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum

from mnemic.types import Identity, MemoryClassification, MemoryEntry


class Action(StrEnum):
    """What can be asked of the policy, named as in section 19 of the contract."""

    STORE = "store"
    READ = "read"
    UPDATE = "update"
    RECLASSIFY = "reclassify"
    DELETE = "delete"
    SHARE = "share"
    MIGRATE = "migrate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """An answer that names its rule (GOV-016)."""

    allowed: bool
    rule: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readable:
    """What an identity may read, as data that a storage query can hold.

    An entry is readable if its volk is the caller's and its user is the caller's or empty; or it is of class system; or
    of class shared and in one of ``projects`` or ``crews`` (or ``tenant_wide``); or it is shared with the volk by name
    (a SHARED_WITH edge, or its uid in ``shared_uids``).
    """

    volk: str
    user: str = ""
    projects: tuple[str, ...] = ()
    crews: tuple[str, ...] = ()
    shared_uids: tuple[str, ...] = ()
    tenant_wide: bool = False


class Policy(ABC):
    """Decides; an engine that cannot answer raises PolicyUnavailableError, which denies."""

    @abstractmethod
    async def decide(
        self,
        who: Identity,
        action: Action,
        *,
        entry: MemoryEntry | None = None,
        classification: MemoryClassification | None = None,
    ) -> Decision:
        """Answer for one action on one entry, or on a class where there is no entry yet."""

    @abstractmethod
    async def readable(self, who: Identity) -> Readable:
        """The set that ``decide`` would allow to read, as a predicate."""
