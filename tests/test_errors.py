"""One tree of errors: each class has a code, a status, and says whether a retry may help."""

import inspect

import pytest

from mnemic import errors
from mnemic.errors import MnemicError, OverloadedError
from mnemic.testing import requirement

pytestmark = pytest.mark.core_interface

_TABLE = {
    "InvalidInputError": ("MNE-VAL-001", 400, False),
    "DimensionError": ("MNE-DIM-001", 400, False),
    "ScopeError": ("MNE-SCP-001", 400, False),
    "IdentityError": ("MLI-IDN-001", 400, False),
    "UnauthenticatedError": ("MNE-AUT-001", 401, False),
    "AccessDeniedError": ("MNE-ACC-001", 403, False),
    "NotFoundError": ("MNE-NOF-001", 404, False),
    "ConflictError": ("MNE-CNF-001", 409, False),
    "LimitError": ("MNE-LIM-001", 413, False),
    "OverloadedError": ("MNE-OVL-001", 429, True),
    "NotRunningError": ("MNE-RUN-001", 503, True),
    "UnavailableError": ("MNE-BCK-001", 503, True),
    "EmbedderError": ("MNE-EMB-001", 503, True),
    "PolicyUnavailableError": ("MNE-POL-001", 503, True),
    "DeadlineError": ("MNE-TMO-001", 504, True),
    "CapabilityError": ("MNE-CAP-001", 501, False),
    "CorruptEntryError": ("MNE-COR-001", 500, False),
    "DecryptionError": ("MNE-ENC-001", 500, False),
    "ConfigurationError": ("MNE-CFG-001", 500, False),
    "MissingExtraError": ("MNE-EXT-001", 500, False),
    "StorageFullError": ("MNE-FUL-001", 507, True),
    "StoreError": ("MNE-STO-001", 500, False),
    "ModelIntegrityError": ("MNE-MOD-001", 500, False),
}


def _classes() -> dict[str, type[MnemicError]]:
    members = inspect.getmembers(errors, inspect.isclass)
    return {name: kind for name, kind in members if issubclass(kind, MnemicError) and kind is not MnemicError}


def test_every_class_has_the_code_the_status_and_the_retry_of_the_contract() -> None:
    found = {name: (kind.code, kind.http_status, kind.retryable) for name, kind in _classes().items()}
    assert found == _TABLE
    assert set(errors.__all__) == {*_TABLE, "MnemicError"}


def test_no_two_classes_share_a_code() -> None:
    codes = [MnemicError.code, *(kind.code for kind in _classes().values())]
    assert len(codes) == len(set(codes))


def test_the_drawing_of_the_tree_is_the_tree() -> None:
    text = inspect.getdoc(errors) or ""
    for name, kind in _classes().items():
        (line,) = [line for line in text.splitlines() if f"── {name} " in line]
        depth = len(kind.__mro__) - len(MnemicError.__mro__)
        assert line.index("── ") == 1 + 4 * (depth - 1), name


def test_an_overload_says_when_to_try_again() -> None:
    assert OverloadedError("too much").retry_after == 1.0
    assert OverloadedError("too much", retry_after=5.0).retry_after == 5.0


@requirement("REQ-010-001")
def test_every_error_of_mnemic_can_be_caught_as_one() -> None:
    for kind in _classes().values():
        with pytest.raises(MnemicError, match="what and why"):
            raise kind("what and why")
