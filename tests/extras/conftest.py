"""Tests of the extras run when they are named: `make test` does not install their packages."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    named = (config.invocation_params.dir / argument.split("::")[0] for argument in config.args)
    return None if any(path.is_relative_to(HERE) for path in named) else True
