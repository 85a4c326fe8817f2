"""`import mnemic` costs nearly nothing and touches no network."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.performance

_HEAVY = ["numpy", "onnxruntime", "pydantic", "typer", "apsw", "rich", "yaml", "asyncio", "Stemmer", "socket"]
_SCRIPT = f"""
import sys
before = set(sys.modules)
import mnemic
print([name for name in {_HEAVY} if name in sys.modules and name not in before])
print(sorted(name for name in mnemic.__all__ if not hasattr(mnemic, name)))
"""


def test_importing_the_package_loads_no_heavy_module_and_every_name_can_be_reached() -> None:
    run = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["[]", "[]"]
