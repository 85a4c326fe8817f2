"""Write docs/requirements.md from the manifest and the tests: `make pages`."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from tests.requirements import ALL, CAPABILITIES, Requirement
from tests.requirements.claims import ROOT, claims

PAGE = ROOT / "docs" / "requirements.md"

_HEAD = """\
# Requirements

Generated from `tests/requirements/` by `make pages`; a test fails when it is out of date. Each row is one requirement
in short, its priority (P1 serves the first three user stories), the modules that answer for it, and the test modules
that prove it. A row that says *later* names the capability that will bring it.
"""


def page(requirements: Sequence[Requirement], claimed: Mapping[str, Sequence[str]]) -> str:
    """Render the page."""
    later = [r for r in requirements if r.deferred_to]
    parts = [_HEAD, f"{len(requirements) - len(later)} tested, {len(later)} later, {len(requirements)} in all.\n"]
    for prefix, rows in groupby(requirements, key=lambda r: r.id.rstrip("0123456789.b").rstrip("-")):
        parts.append("\n".join(["", f"## {_title(prefix)}", "", *_table(list(rows), claimed), ""]))
    parts.append("\n".join(["", "## Capabilities to come", "", "| capability | brings |", "|---|---|"]))
    parts.append("".join(f"\n| {name} | {brings} |" for name, brings in CAPABILITIES.items()))
    return "".join(parts) + "\n"


def _title(prefix: str) -> str:
    return {"P": "P, promises of reliability", "D": "D, cases of developers"}.get(prefix, prefix)


def _table(rows: Sequence[Requirement], claimed: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield "| id | requirement | priority | modules | proven in |"
    yield "|---|---|---|---|---|"
    for row in rows:
        modules = row.modules.replace(",", ", ")
        yield f"| {row.id} | {row.text} | {row.priority} | {modules} | {_proof(row, claimed.get(row.id, ()))} |"


def _proof(row: Requirement, tests: Sequence[str]) -> str:
    if row.deferred_to:
        return f"*later: {row.deferred_to}*"
    files = dict.fromkeys(test.split("::")[0] for test in tests)
    return ", ".join(f"`{file}`" for file in files)


if __name__ == "__main__":
    PAGE.write_text(page(ALL, claims()), encoding="utf-8")
