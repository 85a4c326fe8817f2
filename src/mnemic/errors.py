"""What can go wrong, as one tree: each class has a code, an HTTP status and says whether a retry may help.

MnemicError
├── InvalidInputError          a value breaks a rule
│   ├── DimensionError         a vector of the wrong size, or not finite
│   └── ScopeError             a scope without its tenant
├── IdentityError              who acts is missing, malformed or contradictory
├── UnauthenticatedError       no token, or a wrong one
├── AccessDeniedError          the rule denies
├── NotFoundError              unknown or unreadable, alike
├── ConflictError              version, idempotency, ambiguous owner
├── LimitError                 larger than allowed
├── OverloadedError            too much at once
├── NotRunningError            before start, after stop
├── UnavailableError           no tier can serve
│   ├── EmbedderError          a text cannot be embedded
│   └── PolicyUnavailableError the rule engine cannot answer: deny
├── DeadlineError              the total deadline passed
├── CapabilityError            the provider cannot do it
├── CorruptEntryError          a checksum differs
├── DecryptionError            an authentication tag differs
├── ConfigurationError         unknown key, unknown provider, impossible combination
│   └── MissingExtraError      a package of an extra is not installed
├── StoreError                 the file is corrupt, read-only or newer than this version
│   └── StorageFullError       the disk is full
└── ModelIntegrityError        a packaged model differs from its hash
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "AccessDeniedError",
    "CapabilityError",
    "ConfigurationError",
    "ConflictError",
    "CorruptEntryError",
    "DeadlineError",
    "DecryptionError",
    "DimensionError",
    "EmbedderError",
    "IdentityError",
    "InvalidInputError",
    "LimitError",
    "MissingExtraError",
    "MnemicError",
    "ModelIntegrityError",
    "NotFoundError",
    "NotRunningError",
    "OverloadedError",
    "PolicyUnavailableError",
    "ScopeError",
    "StorageFullError",
    "StoreError",
    "UnauthenticatedError",
    "UnavailableError",
]


class MnemicError(Exception):
    """Anything that mnemic raises on purpose; the message names the value, what is allowed and the next step."""

    code: ClassVar[str] = "MNE-GEN-001"
    http_status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False


class InvalidInputError(MnemicError):
    """A value breaks a rule; the message names the field."""

    code, http_status = "MNE-VAL-001", 400


class DimensionError(InvalidInputError):
    """A vector has the wrong size, is all zeros, or holds NaN or infinity."""

    code = "MNE-DIM-001"


class ScopeError(InvalidInputError):
    """A scope that reached storage lacks what the operation needs."""

    code = "MNE-SCP-001"


class IdentityError(MnemicError):
    """Who acts is missing, malformed or contradictory."""

    code, http_status = "MLI-IDN-001", 400


class UnauthenticatedError(MnemicError):
    """No token was given, or a wrong one."""

    code, http_status = "MNE-AUT-001", 401


class AccessDeniedError(MnemicError):
    """The caller may know of the entry, or asks for a class, but the rule denies."""

    code, http_status = "MNE-ACC-001", 403


class NotFoundError(MnemicError):
    """No such entry, or none that the caller can read; the two cannot be told apart."""

    code, http_status = "MNE-NOF-001", 404


class ConflictError(MnemicError):
    """The store holds another version, another body or several owners."""

    code, http_status = "MNE-CNF-001", 409


class LimitError(MnemicError):
    """A value is larger than its limit; nothing was truncated or written."""

    code, http_status = "MNE-LIM-001", 413


class OverloadedError(MnemicError):
    """Too much is under way; try again after ``retry_after`` seconds."""

    code, http_status, retryable = "MNE-OVL-001", 429, True

    def __init__(self, message: str, *, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class NotRunningError(MnemicError):
    """The engine was not started yet, is stopped, or belongs to another event loop."""

    code, http_status, retryable = "MNE-RUN-001", 503, True


class UnavailableError(MnemicError):
    """No tier can serve the call now."""

    code, http_status, retryable = "MNE-BCK-001", 503, True


class EmbedderError(UnavailableError):
    """A text that must be embedded cannot be embedded now."""

    code = "MNE-EMB-001"


class PolicyUnavailableError(UnavailableError):
    """The rule engine cannot answer, so the answer is no."""

    code = "MNE-POL-001"


class DeadlineError(MnemicError):
    """The total deadline of the call passed."""

    code, http_status, retryable = "MNE-TMO-001", 504, True


class CapabilityError(MnemicError):
    """The provider cannot do this; an empty result would hide it."""

    code, http_status = "MNE-CAP-001", 501


class CorruptEntryError(MnemicError):
    """A stored record differs from its checksum; the message names its address only."""

    code = "MNE-COR-001"


class DecryptionError(MnemicError):
    """A sealed record does not authenticate; the message names its address only."""

    code = "MNE-ENC-001"


class ConfigurationError(MnemicError):
    """A setting is unknown, of the wrong type, or impossible together with another."""

    code = "MNE-CFG-001"


class MissingExtraError(ConfigurationError):
    """A package that an extra brings is not installed; the message has the command."""

    code = "MNE-EXT-001"


class StoreError(MnemicError):
    """The store's file is corrupt, read-only, or newer than this version of mnemic."""

    code = "MNE-STO-001"


class StorageFullError(StoreError):
    """The disk, or the quota of the store's file, is full; reads go on."""

    code, http_status, retryable = "MNE-FUL-001", 507, True


class ModelIntegrityError(MnemicError):
    """A packaged model file differs from its recorded hash."""

    code = "MNE-MOD-001"
