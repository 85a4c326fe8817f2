"""The command line in this process, on a store of its own, with the model that needs no file."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mnemic.cli import app

CONFIG = "runtime: {memory_engine: {embedding: {provider: hashing}, durability: process}}\n"


@dataclass(frozen=True)
class Said:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)

    def problem(self) -> Any:
        return json.loads(self.err)


Cli = Callable[..., Said]


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Run ``mnemic ARGS`` on this test's store."""
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)

    def run(*args: str | Path, input: str | None = None, db: str = "memory.db") -> Said:  # noqa: A002 - as CliRunner names it
        told = ["--db", str(tmp_path / db), "--config", str(config), *map(str, args)]
        result = CliRunner().invoke(app, told, input=input)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Said(result.exit_code, result.stdout, result.stderr)

    return run
