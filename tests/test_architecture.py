"""The house rules that no linter knows."""

import ast
import importlib
import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from mnemic.testing import requirement

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "mnemic"
TESTS = ROOT / "tests"

MAX_LINES = 400
BANNED_SUFFIXES = ("Manager", "Helper", "Helpers", "Util", "Utils", "Service", "Handler", "Factory")
BANNED_MODULES = {"utils", "util", "helpers", "helper", "common", "core", "managers", "services", "interfaces", "misc"}
FAMILIES = {
    *("core_interface", "store", "retrieve", "search", "summarize", "migration"),
    *("embedding", "governance", "performance", "resilience", "integration", "edge_cases"),
}
# Layers that may know a port but never an adapter, whenever they are built.
INSIDE = ("engine", "orchestrator", "tiers", "context", "cognition", "policy", "retrieval", "ports")
# In pieces, so that this file passes its own test.
REGISTRIES = re.compile(
    "|".join(
        (
            "python" + "hosted",
            "//" + r"(test\.)?pypi\.",
            "npm" + r"js\.",
            "//" + r"crates\.",
            r"repo1?\." + "maven",
            "deb" + r"\.debian",
            "prox" + r"y\.golang",
        )
    )
)


class Module(NamedTuple):
    path: Path
    source: str
    tree: ast.Module

    @property
    def name(self) -> str:
        parts = self.path.relative_to(SRC.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _modules(root: Path) -> list[Module]:
    sources = ((path, path.read_text(encoding="utf-8")) for path in sorted(root.rglob("*.py")))
    return [Module(path, source, ast.parse(source)) for path, source in sources]


@pytest.fixture(scope="module")
def package() -> list[Module]:
    return _modules(SRC)


def test_no_module_is_longer_than_400_lines(package: list[Module]) -> None:
    assert {m.name: n for m in package if (n := len(m.source.splitlines())) > MAX_LINES} == {}


def test_every_module_says_in_its_first_line_what_it_answers(package: list[Module]) -> None:
    assert [m.name for m in package if not ast.get_docstring(m.tree) or not m.source.startswith('"""')] == []


def test_no_class_is_named_after_nothing_in_particular(package: list[Module]) -> None:
    classes = [node.name for m in package for node in ast.walk(m.tree) if isinstance(node, ast.ClassDef)]
    assert [name for name in classes if name.endswith(BANNED_SUFFIXES)] == []


def test_no_module_is_a_drawer_for_odds_and_ends(package: list[Module]) -> None:
    assert [m.name for m in package if BANNED_MODULES & set(m.name.split("."))] == []


def test_a_declared_interface_names_every_public_class_and_function(package: list[Module]) -> None:
    wrong = {}
    for module in package:
        declared, public = _declared(module.tree), set(_public(module.tree))
        if declared is not None and (missing := public - set(declared)):
            wrong[module.name] = sorted(missing)
    assert wrong == {}


def test_every_name_of_a_declared_interface_exists(package: list[Module]) -> None:
    wrong = []
    for module in package:
        declared = _declared(module.tree) or []
        # Read from the source where that is enough: the modules of extras cannot be imported without them.
        lazy = importlib.import_module(module.name) if "__getattr__" in _bound(module.tree) else None
        wrong += [f"{module.name}.{n}" for n in declared if n not in _bound(module.tree) and not hasattr(lazy, n)]
        wrong += [f"{module.name}.{n} twice" for n in set(declared) if declared.count(n) > 1]
    assert wrong == []


def _bound(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {alias.asname or alias.name.split(".")[0] for alias in aliases}
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
    return names


def _declared(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List() | ast.Tuple() as value):
                return [str(name) for name in ast.literal_eval(value)]
    return None


def _public(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if not name.startswith("_"):
                    yield name


def test_every_exception_from_a_gate_has_its_code_and_a_reason() -> None:
    wrong = []
    for root in (SRC, TESTS, ROOT / "tools"):
        for path in sorted(root.rglob("*.py")):
            comments = _comments(path.read_text(encoding="utf-8"))
            wrong += [f"{path.relative_to(ROOT)}:{line} {text}" for line, text in comments if not _is_reasoned(text)]
    assert wrong == []


def _comments(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


_EXCEPTION = re.compile(r"\bnoqa\b|type: ignore|pragma: no (cover|branch)")
_WITH_CODE = re.compile(r"noqa: ?[A-Z]+[0-9]+(, ?[A-Z]+[0-9]+)*|type: ignore\[[a-z, -]+\]|pragma: no (cover|branch)")


def _is_reasoned(comment: str) -> bool:
    rest = _WITH_CODE.sub("", comment)
    return not _EXCEPTION.search(comment) or (not _EXCEPTION.search(rest) and len(re.findall(r"\w{2,}", rest)) > 1)


@pytest.mark.parametrize(
    ("comment", "reasoned"),
    [
        ("# an ordinary comment", True),
        ("# no" + "qa: S608 - the name comes from a whitelist", True),
        ("# type" + ": ignore[attr-defined]  # the stub lacks it", True),
        ("# no" + "qa", False),
        ("# no" + "qa: S608", False),
        ("# type" + ": ignore  # the stub lacks it", False),
        ("# type" + ": ignore[arg-type]", False),
        ("# pragma" + ": no cover", False),
    ],
)
def test_a_reason_is_told_from_a_bare_exception(comment: str, reasoned: bool) -> None:
    assert _is_reasoned(comment) is reasoned


def test_no_test_is_skipped_or_expected_to_fail() -> None:
    skipping = {"skip", "skipif", "xfail", "importorskip", "SkipTest", "skipTest"}
    found = [
        f"{module.path.relative_to(ROOT)}:{node.lineno}"
        for module in _modules(TESTS)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and node.attr in skipping
    ]
    assert found == []


def test_nothing_reads_a_clock_without_its_zone(package: list[Module]) -> None:
    found = [
        f"{module.name}:{node.lineno}"
        for module in package
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and _is_naive(node)
    ]
    assert found == []


def _is_naive(call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(attr="utcnow" | "utcfromtimestamp" | "today"):
            return True
        case ast.Attribute(attr="now", value=ast.Name(id="datetime") | ast.Attribute(attr="datetime")):
            return not call.args and not call.keywords
    return False


def test_no_file_holds_the_address_of_a_package_registry() -> None:
    folders = ("src", "tests", "tools", "docs", "examples", "benchmarks", "requirements", "changelog.d", ".ci")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    files += [path for path in ROOT.iterdir() if path.is_file() and not path.name.startswith(".coverage")]
    assert [str(path.relative_to(ROOT)) for path in files if REGISTRIES.search(_text(path))] == []


def _text(path: Path) -> str:
    return "" if "__pycache__" in path.parts or path.suffix == ".onnx" else path.read_text("utf-8", errors="replace")


def test_the_contract_against_adapters_covers_all_that_is_built() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [forbidden] = [contract for contract in contracts if contract["type"] == "forbidden"]
    built = {f"mnemic.{name}" for name in INSIDE if (SRC / name).is_dir() or (SRC / f"{name}.py").is_file()}
    assert set(forbidden["source_modules"]) == built


@requirement("CHK-001")
def test_every_family_of_the_seed_has_tests() -> None:
    used = {
        node.attr
        for root in (TESTS, SRC / "testing")
        for module in _modules(root)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "mark"
    }
    assert used >= FAMILIES, FAMILIES - used
