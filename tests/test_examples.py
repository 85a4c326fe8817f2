"""Each example runs as its first lines say."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.timeout(60)]

EXAMPLES = Path(__file__).parents[1] / "examples"


def _run(name: str, *arguments: str, folder: Path, typed: str = "") -> list[str]:
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    done = subprocess.run(command, cwd=folder, input=typed, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_the_assistant_recalls_what_was_said_in_an_earlier_run(tmp_path: Path) -> None:
    first = _run("chat_assistant.py", "chat.db", folder=tmp_path, typed="My boat is called Petrel.\n\n")
    again = _run("chat_assistant.py", "chat.db", folder=tmp_path, typed="What is my boat called?\n\n")
    assert first[0].startswith("I have 0 memories")
    assert again[0].startswith("I have 2 memories")


def test_agents_share_by_role_and_project_only(tmp_path: Path) -> None:
    denied, lead, crew, cook, audit = _run("agents_with_roles.py", folder=tmp_path)
    assert denied == "crew may not tell the team: MNE-ACC-001"
    assert "Friday" in lead
    assert "Sunday" in lead
    assert "oilskins" not in lead
    assert "Friday" in crew
    assert "oilskins" in crew
    assert "Sunday" not in crew
    assert cook == "cook: []"
    assert audit == "audit intact: True"


def test_a_folder_of_notes_answers_and_is_taken_in_once(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "boat.md").write_text(
        "# Boat\n\n## Engine\n\nOil changed in March.\n\n## Sails\n\nThe jib is torn.\n"
    )
    count, best, *_ = _run("ask_notes.py", "notes", "Which sail needs mending?", folder=tmp_path)
    assert count == "2 sections added, 0 updated, 0 unchanged"
    assert "boat.md: " in best
    assert "Sails" in best
    assert _run("ask_notes.py", "notes", "oil", folder=tmp_path)[0] == "0 sections added, 0 updated, 2 unchanged"


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_every_example_is_run_by_a_test(example: str) -> None:
    assert f'"{example}"' in Path(__file__).read_text(encoding="utf-8")
