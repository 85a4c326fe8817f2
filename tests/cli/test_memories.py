"""Commands that read and write memories say what they did, in tables, in JSON and by exit code."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from mnemic.testing import requirement
from tests.cli.conftest import Cli

pytestmark = pytest.mark.integration

ENTRY_FIELDS = {
    "key",
    "content",
    "tags",
    "metadata",
    "classification",
    "created_at",
    "volk_id",
    "session_id",
    "version",
}


def test_a_stored_memory_is_retrieved_by_another_call(cli: Cli) -> None:
    assert cli("store", "Tea is at four.", "--key", "tea", "--tag", "habit").code == 0
    said = cli("retrieve", "tea")
    assert said.code == 0
    assert "Tea is at four." in said.out
    assert "habit" in said.out


def test_json_has_the_field_names_of_the_contract_and_no_vector(cli: Cli) -> None:
    stored = cli("store", "Tea is at four.", "--key", "tea", "--metadata", '{"n": 1}', "--json").json()
    assert stored.keys() >= ENTRY_FIELDS
    assert "embedding" not in stored
    assert stored["metadata"] == {"n": 1}
    assert "embedding" in cli("retrieve", "tea", "--json", "--vectors").json()


def test_common_options_stand_before_or_after_the_command(cli: Cli) -> None:
    cli("--tenant", "acme", "--agent", "ada", "store", "Tea is at four.", "--key", "tea")
    after = cli("retrieve", "tea", "--json", "--tenant", "acme", "--agent", "ada")
    before = cli("--json", "--agent", "ada", "--tenant", "acme", "retrieve", "tea")
    assert after.json()["tenant_id"] == before.json()["tenant_id"] == "acme"
    assert after.json()["volk_id"] == "ada"


@requirement("ID-008")
def test_a_memory_of_another_tenant_or_agent_is_absent(cli: Cli) -> None:
    cli("store", "Tea is at four.", "--key", "tea", "--tenant", "acme")
    assert cli("retrieve", "tea").code == 3
    assert cli("retrieve", "tea", "--tenant", "acme", "--agent", "bob").code == 3


def test_an_error_is_one_line_on_standard_error_with_its_code(cli: Cli) -> None:
    said = cli("retrieve", "nothing")
    assert (said.code, said.out) == (3, "")
    assert re.fullmatch(r"error MNE-NOF-001: [^\n]+\n", said.err)


def test_with_json_an_error_is_a_problem_object(cli: Cli) -> None:
    said = cli("delete", "nothing", "--json")
    assert said.code == 3
    assert said.problem().keys() == {"type", "title", "status", "detail", "code", "retryable"}
    assert (said.problem()["code"], said.problem()["status"], said.problem()["retryable"]) == (
        "MNE-NOF-001",
        404,
        False,
    )


@pytest.mark.parametrize(
    ("args", "code", "status"),
    [
        (("store", "   "), "MNE-VAL-001", 2),
        (("store", "x", "--key", "k", "--expected-version", "3"), "MNE-CNF-001", 2),
        (("store", "x", "--class", "system"), "MNE-ACC-001", 4),
        (("store", "x" * 1_100_000), "MNE-LIM-001", 2),
        (("store", "x", "--metadata", "[1]"), "MNE-VAL-001", 2),
        (("store", "x", "--at", "yesterday"), "MNE-VAL-001", 2),
        (("search", "x", "--limit", "0"), "MNE-VAL-001", 2),
        (("search", "x", "--limit", "1000000000"), "MNE-VAL-001", 2),
        (("search", "x", "--profile", "best"), "MNE-VAL-001", 2),
        (("search", "x", "--where", '{"a": {"$regex": "b"}}'), "MNE-VAL-001", 2),
        (("update", "nothing", "y"), "MNE-NOF-001", 3),
        (("history", "nothing"), "MNE-NOF-001", 3),
        (("retrieve", "x", "--config", "no-such-file.yaml"), "MNE-CFG-001", 2),
        (("retrieve", "x", "--tenant", " "), "MNE-VAL-001", 2),
        (("frobnicate",), "MNE-VAL-001", 2),
        (("store",), "MNE-VAL-001", 2),
        (("store", "x", "--no-such-option"), "MNE-VAL-001", 2),
        (("search", "x", "--limit", "many"), "MNE-VAL-001", 2),
    ],
)
def test_what_is_wrong_ends_with_the_exit_code_of_its_class(
    cli: Cli, args: tuple[str, ...], code: str, status: int
) -> None:
    said = cli(*args, "--json")
    assert (said.problem()["code"], said.code) == (code, status)
    assert said.out == ""


def test_a_search_shows_score_date_speaker_and_why_it_was_found(cli: Cli) -> None:
    cli("store", "The gate code is 4711.", "--key", "gate", "--speaker", "Pia", "--role", "user", "--at", "2026-05-01")
    cli("store", "Bread is sold out.", "--key", "bread")
    said = cli("search", "gate code")
    first = said.out.splitlines()[1]
    assert "2026-05-01" in first
    assert "Pia" in first
    assert "found by words, meaning" in said.out
    assert "gate" in said.out


@requirement("TYP-006")
def test_hits_as_json_are_a_list_with_what_the_search_knows_of_itself(cli: Cli) -> None:
    cli("store", "The gate code is 4711.", "--key", "gate")
    found = cli("search", "gate code", "--json").json()
    assert found.keys() == {"items", "degraded", "best_score", "filtered_count", "skipped_vectors", "pending_vectors"}
    assert found["items"][0]["score"] == found["items"][0]["relevance_score"]
    assert found["items"][0]["channels"] == ["words", "vectors"]


def test_a_search_that_finds_nothing_says_so_beside_an_empty_result(cli: Cli) -> None:
    said = cli("search", "anything at all")
    assert (said.code, said.out, said.err) == (0, "", "nothing found\n")


def test_text_from_standard_input_is_kept_byte_for_byte(cli: Cli) -> None:
    cli("store", "-", "--key", "note", input="  two lines\nÆrø\n")
    assert cli("retrieve", "note", "--json").json()["content"] == "  two lines\nÆrø\n"


@requirement("D43")
def test_a_memory_cannot_steer_the_terminal_that_shows_it(cli: Cli) -> None:
    cli("store", "-", "--key", "evil", input="\x1b[2J\x1b]0;owned\x07 [red]plain[/red] \u202egnirts")
    for command in (("retrieve", "evil"), ("search", "plain"), ("list",), ("history", "evil")):
        shown = cli(*command).out
        assert not re.search(r"[\x1b\x07\u202e]", shown)
        assert "[red]plain[/red]" in " ".join(shown.split())


@requirement("FR-016")
def test_an_update_makes_a_version_and_the_history_keeps_the_old_one(cli: Cli) -> None:
    cli("store", "Tea is at four.", "--key", "tea", "--tag", "habit")
    assert cli("update", "tea", "Tea is at five.", "--json").json()["version"] == 2
    texts = [entry["content"] for entry in cli("history", "tea", "--json").json()["items"]]
    assert texts == ["Tea is at five.", "Tea is at four."]
    assert cli("retrieve", "tea", "--version", "1", "--json").json()["tags"] == ["habit"]
    assert cli("update", "tea", "--clear-tags", "--json").json()["tags"] == []


@requirement("FR-019")
def test_as_of_looks_back_and_a_naive_time_is_utc(cli: Cli) -> None:
    cli("store", "Tea is at four.", "--key", "tea", "--at", "2026-01-01T00:00:00")
    cli("update", "tea", "Tea is at five.", "--at", "2026-03-01T01:00:00+01:00")
    then = cli("retrieve", "tea", "--as-of", "2026-02-28T23:59:59", "--json").json()
    assert then["content"] == "Tea is at four."
    assert cli("retrieve", "tea", "--as-of", "2026-03-01T00:00:00", "--json").json()["content"] == "Tea is at five."
    found = cli("search", "tea", "--as-of", "2026-02-01", "--json").json()
    assert [hit["content"] for hit in found["items"]] == ["Tea is at four."]


def test_a_deleted_memory_is_gone_and_deleting_it_again_is_absent(cli: Cli) -> None:
    cli("store", "Tea is at four.", "--key", "tea")
    assert [cli("delete", "tea").code, cli("delete", "tea").code, cli("retrieve", "tea").code] == [0, 3, 3]


@requirement("ENG-006", "D32")
def test_a_list_is_walked_by_its_cursor_without_gap_or_repeat(cli: Cli) -> None:
    for number in range(5):
        cli("store", f"Note {number}.", "--key", f"k{number}", "--tag", "note")
    keys: list[str] = []
    page: dict[str, Any] = {}
    cursor: list[str] = []
    for _ in range(3):
        page = cli("list", "--tag", "NOTE", "--limit", "2", "--json", *cursor).json()
        keys += [item["key"] for item in page["items"]]
        cursor = ["--cursor", page["next_cursor"] or ""]
    assert keys == ["k4", "k3", "k2", "k1", "k0"]
    assert page["next_cursor"] is None


@requirement("REQ-010-042")
def test_a_context_stays_within_its_budget_and_prints_only_the_block(cli: Cli) -> None:
    for number in range(20):
        cli("store", f"Boat {number} lies at jetty {number}, next to the yellow crane.", "--key", f"boat{number}")
    block = cli("context", "Where do the boats lie?", "--max-tokens", "120", "--json").json()
    assert block["tokens_used"] <= 120
    assert block["remaining"] == 120 - block["tokens_used"]
    said = cli("context", "Where do the boats lie?", "--max-tokens", "120")
    assert said.out.startswith("<memory_context")
    assert said.out.rstrip().endswith("</memory_context>")
    assert f"{block['tokens_used']} of 120 tokens" in said.err


def test_a_summary_names_its_sources(cli: Cli) -> None:
    cli("store", "The gate was painted green on Monday.", "--key", "gate", "--session", "s1")
    cli("store", "Bread costs four euros at the new bakery.", "--key", "bread", "--session", "s1")
    cli("store", "Elsewhere nothing happened.", "--key", "other", "--session", "s2")
    summary = cli("summarize", "s1", "--json").json()
    assert sorted(summary["source_keys"]) == ["bread", "gate"]
    assert "The gate was painted green" in cli("summarize", "s1").out


def test_entries_of_one_task_are_not_related_until_something_links_them(cli: Cli) -> None:
    cli("store", "One.", "--key", "one")
    cli("store", "Two.", "--key", "two")
    assert cli("related", "one", "--json").json() == {"items": []}


def test_a_degraded_search_is_exit_code_10_only_with_strict(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> None:
    cli("store", "The gate code is 4711.", "--key", "gate")
    config = tmp_path_factory.mktemp("config") / "none.yaml"
    config.write_text("runtime: {memory_engine: {embedding: {provider: none}}}")
    told = cli("search", "gate", "--config", config)
    assert told.code == 0
    assert "degraded: embedder" in told.err
    strict = cli("search", "gate", "--config", config, "--strict", "--json")
    assert strict.code == 10
    assert json.loads(strict.out)["degraded"] == ["embedder"]


@requirement("ID-006")
def test_strict_identity_asks_for_tenant_user_and_client(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_IDENTITY_STRICT", "true")
    given = {"--tenant": "acme", "--user": "u1", "--client": "web"}
    whole = [part for pair in given.items() for part in pair]
    assert cli("store", "Tea.", *whole).code == 0
    for missing in given:
        part = [value for name, text in given.items() if name != missing for value in (name, text)]
        said = cli("store", "Tea.", *part, "--json")
        assert (said.code, said.problem()["code"]) == (2, "MLI-IDN-001")
