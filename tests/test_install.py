"""What the two commands of the README do on a machine that lacks something, and what the locks hold."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[1]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Give a folder that holds the installer and the locks, and no .venv."""
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "venv.sh", tmp_path / "tools")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    return tmp_path


def _install(folder: Path, python: Path) -> subprocess.CompletedProcess[str]:
    command = ["sh", str(folder / "tools" / "venv.sh"), "core", "build"]
    return subprocess.run(
        command, env={"PATH": "/usr/bin:/bin", "PYTHON": str(python)}, capture_output=True, text=True, check=False
    )


def _interpreter(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_without_a_new_enough_python_the_package_to_install_is_named(bare: Path) -> None:
    outcome = _install(bare, _interpreter(bare / "python", "exit 1"))
    assert outcome.returncode == 1
    assert "no Python 3.11 or newer" in outcome.stderr
    assert re.search(r"apt install python3 |brew install python", outcome.stderr)
    assert not (bare / ".venv").exists()


def test_without_the_venv_module_its_package_is_named(bare: Path) -> None:
    script = f'case "$*" in *ensurepip*) exit 1 ;; esac\nexec {sys.executable} "$@"'
    outcome = _install(bare, _interpreter(bare / "python", script))
    assert outcome.returncode == 1
    assert re.search(r"apt install python3-venv|brew install python", outcome.stderr)
    assert not (bare / ".venv").exists()


def test_what_is_installed_already_is_left_alone(bare: Path) -> None:
    (bare / ".venv" / "bin").mkdir(parents=True)
    _interpreter(bare / ".venv" / "bin" / "python", f'echo "$*" >>{bare}/calls; exit 0')
    stamp = bare / ".venv" / ".installed-core-build"
    wanted = ("requirements/core.txt", "requirements/build.txt", "pyproject.toml")
    stamp.write_text("".join((bare / name).read_text() for name in wanted))
    assert _install(bare, Path("python3")).returncode == 0
    assert "install" not in (bare / "calls").read_text()
    stamp.write_text("an older lock")
    assert _install(bare, Path("python3")).returncode == 0
    assert "pip install" in (bare / "calls").read_text()


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_a_lock_holds_versions_and_hashes_and_no_address(lock: Path) -> None:
    text = lock.read_text()
    pinned = re.findall(r"^[a-z0-9-]+(?:\[\w+\])?==\S+.*\n    --hash=sha256:", text, re.MULTILINE)
    assert "://" not in text
    assert "--index" not in text
    assert len(pinned) == len(re.findall(r"^\w", text, re.MULTILINE)) > 0


def test_the_core_install_stays_small() -> None:
    names = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements" / "core.txt").read_text(), re.MULTILINE))
    assert len(names) <= 36
    assert not names & {"torch", "transformers", "huggingface-hub", "requests", "httpx"}
