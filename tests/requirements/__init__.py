"""The manifest: every requirement of mnemic, tested or deferred to the capability that will bring it."""

from tests.requirements import functions, identity, orchestrator, providers, reliability, seed
from tests.requirements.entry import CAPABILITIES, Requirement

ALL: tuple[Requirement, ...] = (
    identity.ROWS + seed.ROWS + functions.ROWS + providers.ROWS + orchestrator.ROWS + reliability.ROWS
)

__all__ = ["ALL", "CAPABILITIES", "Requirement"]
