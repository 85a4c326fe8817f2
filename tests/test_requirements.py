"""Every requirement is proven by a test or deferred by name, and nothing else is claimed."""

from collections import Counter
from collections.abc import Iterator

import pytest

from mnemic.testing import requirement
from tests.requirements import ALL, CAPABILITIES
from tests.requirements.claims import claims, claims_in
from tools.requirements_page import PAGE, page

pytestmark = pytest.mark.integration

_RUNS = {
    "ID-{:03}": [range(1, 12)],
    "TYP-{:03}": [range(1, 16)],
    "ENG-{:03}": [range(1, 19)],
    "REQ-010-{:03}": [range(1, 56)],
    "US-{:03}": [range(1, 7)],
    "FR-{:03}": [range(1, 22)],
    "NFR-{:03}": [range(1, 10)],
    "ERR-{:03}": [range(1, 2)],
    "ORC-{:03}": [
        *(range(1, 19), range(20, 32), range(40, 45), range(50, 63), range(70, 79)),
        *(range(80, 90), range(90, 96), range(100, 109)),
    ],
    "PRV-{:03}": [range(1, 9), range(10, 14), range(20, 40), range(40, 53), range(60, 65)],
    "ENC-{:03}": [range(1, 9)],
    "COG-{:03}": [range(1, 22)],
    "EVT-{:03}": [range(1, 4), range(10, 17)],
    "AUD-{:03}": [range(1, 8)],
    "CXP-{:03}": [range(1, 4)],
    "INJ-{:03}": [range(1, 9)],
    "SES-{:03}": [range(1, 12)],
    "RED-{:03}": [range(1, 11)],
    "NEO-{:03}": [range(1, 12)],
    "GOV-{:03}": [range(1, 21)],
    "ERA-{:03}": [range(1, 4)],
    "REL-{:03}": [range(1, 14)],
    "WIR-{:03}": [range(1, 6)],
    "CFG-{:03}": [range(1, 3)],
    "CHK-{:03}": [range(1, 5)],
    "P{}": [range(1, 22)],
    "D{:02}": [range(1, 52)],
}
# How many sub-items `.1`, `.2`, … an id of the contract has; NFR-002b is the one that is named otherwise.
_SUB_ITEMS = {
    "ID-004": 1,
    "US-001": 6,
    "US-002": 5,
    "US-003": 6,
    "US-004": 5,
    "US-005": 6,
    "US-006": 5,
    "FR-004": 4,
    "FR-005": 2,
    "FR-011": 1,
    "FR-016": 1,
    "FR-017": 1,
    "FR-019": 1,
    "AUD-004": 1,
}


def _contract_ids() -> Iterator[str]:
    yield "NFR-002b"
    for form, runs in _RUNS.items():
        yield from (form.format(number) for run in runs for number in run)
    for parent, count in _SUB_ITEMS.items():
        yield from (f"{parent}.{number}" for number in range(1, count + 1))


def test_the_manifest_lists_every_id_of_the_contract_once() -> None:
    assert Counter(r.id for r in ALL) == Counter(_contract_ids())


def test_a_deferred_requirement_names_a_known_capability() -> None:
    assert {r.deferred_to for r in ALL if r.deferred_to} <= CAPABILITIES.keys()


def test_a_requirement_says_what_must_hold_and_who_answers() -> None:
    assert [r.id for r in ALL if not r.text.strip() or not r.modules.strip() or "|" in r.text] == []


def test_every_requirement_that_is_not_deferred_has_a_test() -> None:
    assert sorted({r.id for r in ALL if not r.deferred_to} - claims().keys()) == []


def test_no_test_names_an_unknown_requirement() -> None:
    known = {r.id for r in ALL}
    assert {name: tests for name, tests in claims().items() if name not in known} == {}


def test_no_deferred_requirement_is_claimed() -> None:
    deferred = {r.id for r in ALL if r.deferred_to}
    assert {name: tests for name, tests in claims().items() if name in deferred} == {}


@requirement("CHK-003")
def test_the_page_of_requirements_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(ALL, claims()), "run `make pages`"


def test_claims_are_found_on_functions_classes_and_modules() -> None:
    source = """
pytestmark = [pytest.mark.store, requirement("A")]
@requirement("B", "C")
async def test_one(): ...
@testing.requirement("D")
class TestTwo:
    @pytest.mark.requirement("E")
    def test_three(self): ...
"""
    assert sorted(name for _, name in claims_in(source)) == ["A", "B", "C", "D", "E"]


def test_only_tests_may_claim() -> None:
    with pytest.raises(ValueError, match="is no test"):
        list(claims_in('@requirement("A")\ndef build(): ...'))
