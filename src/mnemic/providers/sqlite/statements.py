"""Where are the SQL statements? In ``sqlite.sql`` beside this module, each under a name."""

from __future__ import annotations

import re
from importlib.resources import files

__all__ = ["SQL"]


def _load() -> dict[str, str]:
    text = files(__package__).joinpath("sqlite.sql").read_text("utf-8")
    parts = re.split(r"^-- name: (\w+).*$", text, flags=re.MULTILINE)
    return {name: body.strip().removesuffix(";") for name, body in zip(parts[1::2], parts[2::2], strict=True)}


SQL = _load()
"""Statement by name."""
