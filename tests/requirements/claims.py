"""Which tests claim which requirements, read from the source without running it."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACES = (ROOT / "tests", ROOT / "src" / "mnemic" / "testing")


def claims() -> dict[str, list[str]]:
    """Map each claimed id to the places that claim it, as `file::test`."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for place in PLACES:
        for path in sorted(place.rglob("*.py")):
            for test, requirement in claims_in(path.read_text(encoding="utf-8")):
                found[requirement].append(f"{path.relative_to(ROOT).as_posix()}::{test}")
    return dict(found)


def claims_in(source: str) -> Iterator[tuple[str, str]]:
    """Yield (test, id) for each `@requirement("ID")` on a test function or class, and in a `pytestmark`."""
    for node in ast.walk(ast.parse(source)):
        marks: list[ast.expr]
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                marks, name = node.decorator_list, node.name
            case ast.Assign(targets=[ast.Name(id="pytestmark")]):
                marks, name = [node.value], "pytestmark"
            case _:
                continue
        ids = [argument for mark in marks for part in ast.walk(mark) for argument in _claimed(part)]
        if ids and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not name.startswith("test"):
            raise ValueError(f"{name} claims a requirement but is no test")
        yield from ((name, ast.literal_eval(argument)) for argument in ids)


def _claimed(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Call(func=ast.Name(id="requirement") | ast.Attribute(attr="requirement"), args=ids):
            return ids
    return []
