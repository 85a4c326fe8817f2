"""Commands that move, count and look after whole stores."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from mnemic.testing import requirement
from tests.cli.conftest import CONFIG, Cli

pytestmark = pytest.mark.integration

DATA = Path(__file__).parent.parent / "data" / "importers"


@requirement("ENG-016", "D46")
def test_a_second_import_adds_nothing_and_bad_rows_make_it_partial(cli: Cli) -> None:
    first = cli("import", DATA / "plain.jsonl", "--json")
    again = cli("import", DATA / "plain.jsonl", "--json")
    counts = ("added", "updated", "unchanged", "set_aside")
    assert [first.json()[name] for name in counts] == [7, 0, 0, 3]
    assert [again.json()[name] for name in counts] == [0, 0, 7, 3]
    assert (first.code, again.code) == (6, 6)
    assert [row["place"] for row in first.json()["reasons"]] == ["line 4", "line 6", "line 9"]
    assert all(entry["version"] == 1 for entry in cli("list", "--json").json()["items"])


def test_an_import_without_bad_rows_ends_well_and_says_what_it_did(cli: Cli) -> None:
    said = cli("import", DATA / "notes")
    assert (said.code, said.out) == (0, "markdown: 8 added, 0 updated, 0 unchanged, 0 set aside\n")


def test_a_changed_note_becomes_a_new_version_of_its_section(cli: Cli, tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text("# Gate\nThe code is 1.\n")
    cli("import", note)
    note.write_text("# Gate\nThe code is 2.\n")
    assert cli("import", note, "--json").json()["updated"] == 1
    assert cli("retrieve", "markdown:note.md#gate", "--json").json()["version"] == 2


@requirement("ID-004")
def test_rows_of_the_kit_go_to_their_own_tenants_and_sessions(cli: Cli) -> None:
    cli("import", DATA / "kit")
    north = cli("list", "--tenant", "north", "--json").json()["items"]
    assert {entry["key"] for entry in north} == {"kit:k1", "kit:k2", "kit:k3", "kit:k4"}
    assert {entry["session_id"] for entry in north} == {"s1", "s2"}
    assert {entry["origin"] for entry in north} == {"import"}
    assert cli("list", "--json").json()["items"] == []


def test_the_zone_of_an_import_moves_times_that_name_none(cli: Cli) -> None:
    cli("import", DATA / "plain.jsonl", "--timezone", "Europe/Berlin")
    found = cli("search", "rudder", "--json").json()["items"][0]
    assert found["occurred_at"] == "2026-03-14T09:05:00+00:00"
    assert cli("import", DATA / "plain.jsonl", "--timezone", "Mars/Olympus").code == 2


@requirement("D50")
def test_an_export_imported_into_an_empty_store_is_the_same_export(cli: Cli, tmp_path: Path) -> None:
    cli("import", DATA / "conversations.json")
    cli("store", "Tea is at four.", "--key", "tea", "--tag", "habit", "--metadata", '{"a": {"b": [1, null]}}')
    cli("update", "tea", "Tea is at five.")
    cli("store", "Away with it.", "--key", "gone")
    cli("delete", "gone")
    out = tmp_path / "export.ndjson"
    assert cli("export", "--out", out).code == 0
    assert cli("import", out, "--json", db="other.db").json()["format"] == "mnemic"
    assert cli("export", db="other.db").out == out.read_text(encoding="utf-8")
    assert cli("import", out, "--json", db="other.db").json()["added"] == 0
    assert out.stat().st_mode & 0o077 == 0


@requirement("ENG-016", "D46")
def test_a_cut_own_export_is_refused_whole(cli: Cli, tmp_path: Path) -> None:
    cli("store", "Tea is at four.", "--key", "tea")
    text = cli("export").out
    cut = tmp_path / "cut.ndjson"
    cut.write_text(text[:-30])
    said = cli("import", cut, "--json", db="other.db")
    assert (said.code, said.problem()["code"]) == (2, "MNE-VAL-001")
    assert cli("list", "--json", db="other.db").json()["items"] == []


def test_stats_show_growth_sources_types_and_sizes(cli: Cli) -> None:
    cli("import", DATA / "bracketed.txt")
    cli("store", "Tea is at four.", "--at", "2026-03-01", "--type", "entity")
    figures = cli("stats", "--json").json()
    assert figures["memories"] == 8
    assert figures["by_month"] == {"2026-03": 1, "2026-05": 7}
    assert figures["by_source"] == {"chat": 7, "unknown": 1}
    assert figures["by_type"] == {"long_term": 7, "entity": 1}
    assert figures["without_vector"] == 0
    assert "█" in cli("stats").out


def test_stats_of_an_empty_store_are_zeros(cli: Cli) -> None:
    assert cli("stats", "--json").json()["memories"] == 0
    assert cli("stats").code == 0


@requirement("SES-003")
def test_closing_a_session_moves_its_memories_once(cli: Cli) -> None:
    cli("store", "One.", "--session", "s1")
    cli("store", "Two.", "--session", "s1")
    assert cli("session", "close", "s1", "--json").json() == {"session_id": "s1", "moved": 2}
    assert cli("session", "close", "s1", "--json").json()["moved"] == 0


@requirement("REQ-010-038")
def test_reindex_makes_the_vectors_that_were_missing(cli: Cli, tmp_path: Path) -> None:
    none = tmp_path / "none.yaml"
    none.write_text(CONFIG.replace("hashing", "none"))
    cli("store", "Tea is at four.", "--key", "tea", "--config", none)
    assert cli("stats", "--json", "--config", none).json()["without_vector"] == 1
    assert cli("reindex").code == 0
    assert cli("stats", "--json").json()["without_vector"] == 0


@requirement("TYP-014")
def test_doctor_tells_the_parts_the_durability_and_that_every_memory_is_intact(cli: Cli) -> None:
    cli("store", "Tea is at four.")
    health = cli("doctor", "--verify", "--json").json()
    assert (health["status"], health["durability"], health["identity_mode"]) == ("healthy", "process", "compatibility")
    assert health["components"].keys() == {"hot", "cold", "embedder", "governance", "audit", "llm", "journal"}
    assert (health["memories"], health["verified"]["memories_intact"]) == (1, 1)
    assert health["verified"]["audit_valid"]
    assert health["verified"]["audit_rows"] >= 1
    assert "durability" in cli("doctor").out


@requirement("REL-008")
def test_doctor_finds_a_memory_that_differs_from_its_checksum(cli: Cli, tmp_path: Path) -> None:
    cli("store", "Tea is at four.", "--key", "tea")
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as db:
        db.execute("UPDATE entries SET body = CAST(replace(CAST(body AS TEXT), 'four', 'nine') AS BLOB)")
        assert db.changes() == 1
    said = cli("doctor", "--verify", "--json")
    assert (said.code, said.problem()["code"]) == (1, "MNE-COR-001")
    assert "nine" not in said.err


@requirement("CFG-001")
def test_config_shows_what_is_in_force_and_masks_secrets(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_EMBEDDING__API_KEY", "sesame")
    said = cli("config", "--tenant", "acme", "--json")
    assert said.json()["identity"]["tenant_id"] == "acme"
    assert said.json()["embedding"]["api_key"] == "***"
    assert "sesame" not in said.out + cli("config").out


@pytest.mark.parametrize(
    "command", ["store", "search", "import", "session close", "bench quality", "doctor", "context", "demo"]
)
def test_every_command_explains_itself_and_the_common_options(cli: Cli, command: str) -> None:
    said = cli(*command.split(), "--help")
    assert said.code == 0
    for option in ("--json", "--db", "--tenant", "--strict"):
        assert option in said.out


def _spawned(tmp_path: Path, *args: str, **more: str) -> subprocess.CompletedProcess[str]:
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    command = [sys.executable, "-m", "mnemic", "--db", str(tmp_path / "m.db"), "--config", str(config), *args]
    env = {"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(sys.path), **more}
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=15, check=False)


def test_the_module_runs_as_a_program_of_its_own(tmp_path: Path) -> None:
    assert _spawned(tmp_path, "store", "Tea is at four.", "--key", "tea").returncode == 0
    said = _spawned(tmp_path, "retrieve", "tea", "--json")
    assert json.loads(said.stdout)["content"] == "Tea is at four."
    gone = _spawned(tmp_path, "retrieve", "nothing")
    assert (gone.returncode, gone.stdout, gone.stderr.count("\n")) == (3, "", 1)


def test_a_corrupt_store_is_one_line_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "m.db").write_bytes(b"this is no database, whatever its name says" * 100)
    said = _spawned(tmp_path, "list")
    assert said.returncode == 1
    assert said.stderr.startswith("error MNE-STO-001: ")
    assert "Traceback" not in said.stderr


def test_what_nobody_foresaw_is_one_line_too_and_keeps_the_text_to_itself(tmp_path: Path) -> None:
    script = tmp_path / "broken.py"
    script.write_text(
        "from mnemic.cli import main, options\n"
        "def broken(*args, **more): raise KeyError('the text of a memory')\n"
        "options.open_engine = broken\n"
        "main()\n"
    )
    command = [sys.executable, str(script), "list"]
    env = {"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(sys.path)}
    said = subprocess.run(command, capture_output=True, text=True, env=env, timeout=15, check=False)
    assert (said.returncode, said.stdout) == (1, "")
    assert re.fullmatch(r"error MNE-GEN-001: KeyError at \S+broken\.py:2; please report this\n", said.stderr)


def test_a_reader_that_leaves_early_gets_no_complaint(tmp_path: Path) -> None:
    for number in range(3):
        _spawned(tmp_path, "store", "word " * 20_000, "--key", f"k{number}")
    config = tmp_path / "config.yaml"
    command = f"{sys.executable} -m mnemic --db {tmp_path}/m.db --config {config} export | head -c 10"
    env = {"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(sys.path)}
    said = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=env, timeout=15, check=False)
    assert (len(said.stdout), said.stderr) == (10, "")


def test_what_people_read_says_the_same_as_the_numbers(cli: Cli, tmp_path: Path) -> None:
    assert cli("store", "One.", "--session", "s1", "--key", "one").code == 0
    assert cli("session", "close", "s1").out == "1 memories left the working set\n"
    assert cli("reindex").out == "0 vectors made\n"
    assert cli("reindex", "--all", "--json").json() == {"reindexed": 1}
    out = tmp_path / "export.ndjson"
    assert f"lines written to {out}" in cli("export", "--out", out).err
    assert cli("import", out, db="other.db").out == "1 versions added\n"
    assert cli("delete", "one", "--json").json() == {"key": "one", "deleted": True}
    assert cli("list").err == "no memories\n"


def test_an_export_to_a_place_that_does_not_exist_is_a_typed_error(cli: Cli, tmp_path: Path) -> None:
    said = cli("export", "--out", tmp_path / "nowhere" / "export.ndjson", "--json")
    assert (said.code, said.problem()["code"]) == (2, "MNE-VAL-001")


def test_an_export_of_one_session_holds_that_session_alone(cli: Cli) -> None:
    cli("store", "One.", "--session", "s1")
    cli("store", "Two.", "--session", "s2")
    rows = [json.loads(line) for line in cli("export", "--in-session", "s1").out.splitlines()]
    assert [row["content"] for row in rows if row["type"] == "entry"] == ["One."]


def test_only_the_first_reasons_are_shown_to_people(cli: Cli, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{}\n" * 14)
    said = cli("import", bad)
    assert (said.code, said.err.count("line ")) == (6, 10)
    assert "and 4 more" in said.err


@pytest.mark.timeout(60)
def test_the_demo_gives_its_answers_as_json_too(cli: Cli) -> None:
    shown = cli("demo", "--json").json()
    assert {item["kind"] for item in shown["items"]} >= {"fact", "date", "update", "as_of", "unanswerable"}
    assert shown["context"]["tokens_used"] <= 300


def test_completion_offers_commands_and_options(tmp_path: Path) -> None:
    told = {"_MNEMIC_COMPLETE": "complete_bash", "COMP_WORDS": "mnemic se", "COMP_CWORD": "1"}
    said = _spawned(tmp_path, **told)
    assert {"search", "session"} <= set(said.stdout.split())
