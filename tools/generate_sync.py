"""Write src/mnemic/sync/__init__.py from the signatures of the async engine: `make pages`."""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

from mnemic.app import open_engine
from mnemic.engine import MemoryEngine

FACADE = Path(__file__).parents[1] / "src" / "mnemic" / "sync" / "__init__.py"

_HEAD = '''\
"""How is memory used without async? Written by tools/generate_sync.py: change the engine, not this."""

from __future__ import annotations

{standard}

from mnemic import app
{ours}

__all__ = ["MemoryEngine", "open_engine"]

# The generator wraps long lists of parameters itself, several to a line.
# fmt: off

'''
_CLASS = '''
class MemoryEngine:
    """The async engine's twin: every method waits; ``acting_as`` gives another that shares engine and thread."""

    def __init__(self, engine: AsyncMemoryEngine, loop: LoopThread) -> None:
        self._engine, self._loop = engine, loop

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def identity(self) -> Identity:
        """Who acts through this binding."""
        return self._engine.identity

    def initialize(self) -> None:
        """Open the storage and subscribe to the end of sessions."""
        self._loop.begin("initialize", self._engine.initialize())

    def start(self) -> None:
        """Initialize if need be, load the model, and begin background work."""
        self._loop.begin("start", self._engine.start())

    def stop(self) -> None:
        """Drain and close within 5 seconds, then end the thread."""
        self._loop.check("stop")
        try:
            self._loop.run("stop", self._engine.stop())
        finally:
            self._loop.close()
'''
_WIDTH = 120
_GLUE = "\N{NO-BREAK SPACE}"
_ROOTS = {"collections", "datetime", "pathlib", "types", "typing", "mnemic"}
_ALWAYS = {"collections.abc": ["Iterator"], "mnemic.sync.loop": ["LoopThread"]}
_RENAMED = {"MemoryEngine": "MemoryEngine as AsyncMemoryEngine"}
_BY_HAND = {"initialize", "start", "stop"}


def facade() -> str:
    """Render the module."""
    methods = [_method(name, method) for name, method in public_methods().items() if name not in _BY_HAND]
    body = "\n".join([_open_engine(), _CLASS, *methods])
    return _HEAD.format(**_imports(body)) + "\n" + body


def _imports(body: str) -> dict[str, str]:
    """Import what the body names, from where the async engine and its opener import it."""
    homes = {name: module for path, names in _ALWAYS.items() for name, module in dict.fromkeys(names, path).items()}
    written_in = dict.fromkeys(part.__module__ for part in (*_parts(), open_engine))
    for module in (sys.modules[name] for name in written_in):
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in _ROOTS:
                homes |= {alias.name: node.module for alias in node.names if alias.name not in homes}
    by_module: dict[str, list[str]] = {}
    for name in set(re.findall(r"[A-Z]\w+|datetime", body)) & set(homes):
        by_module.setdefault(homes[name], []).append(name)
    lines = {module: _import(module, sorted(names, key=str.lower)) for module, names in sorted(by_module.items())}
    ours = "\n".join(line for module, line in lines.items() if module.startswith("mnemic"))
    standard = "\n".join(line for module, line in lines.items() if not module.startswith("mnemic"))
    return {"ours": ours, "standard": standard}


def _import(module: str, names: list[str]) -> str:
    names = [_RENAMED.get(name, name) for name in names]
    line = f"from {module} import {', '.join(names)}"
    return line if len(line) <= _WIDTH else f"from {module} import (\n    " + ",\n    ".join(names) + ",\n)"


def public_methods() -> dict[str, Callable[..., Any]]:
    """The methods of the async engine, in their order, wherever in the engine they are written."""
    parts = _parts()
    return {n: m for cls in parts for n, m in vars(cls).items() if n[0] != "_" and inspect.isfunction(m)}


def _parts() -> list[type]:
    return [cls for cls in reversed(MemoryEngine.__mro__) if cls.__module__.startswith("mnemic.engine")]


def _open_engine() -> str:
    arguments = ", ".join(_arguments(open_engine))
    return _wrapped("def open_engine(", _parameters(open_engine), ") -> MemoryEngine:", indent="") + (
        '    """Put an engine together; it opens by ``with``, or by ``start()``."""\n'
        f"    engine = app.open_engine({arguments})\n"
        "    return MemoryEngine(engine, LoopThread())\n"
    )


def _method(name: str, method: Callable[..., Any]) -> str:
    returns = str(inspect.signature(method).return_annotation).replace("Self", "MemoryEngine")
    before, after = f"MemoryEngine(self._engine.{name}(", "), self._loop)"
    if inspect.iscoroutinefunction(method):
        before, after = f'self._loop.run("{name}", self._engine.{name}(', "))"
    elif inspect.isasyncgenfunction(method):
        before, after = f'self._loop.iterate("{name}", self._engine.{name}(', "))"
        returns = returns.replace(AsyncIterator.__name__, Iterator.__name__)
    giving = "" if returns == "None" else "return "
    return (
        _wrapped(f"def {name}(", _parameters(method), f") -> {returns}:", indent="    ")
        + f'        """{_first_line(name)}"""\n'
        + _wrapped(giving + before, _arguments(method), after, indent="        ")
    )


def _wrapped(before: str, parts: list[str], after: str, *, indent: str) -> str:
    """One line where it fits, else the parts in as few lines as they need."""
    line = f"{indent}{before}{', '.join(parts)}{after}\n"
    if len(line) <= _WIDTH + 1:
        return line
    whole = ", ".join(part.replace(" ", _GLUE) for part in parts) + ","
    inner = textwrap.fill(
        whole, _WIDTH, initial_indent=indent + "    ", subsequent_indent=indent + "    ", break_on_hyphens=False
    )
    return f"{indent}{before}\n{inner.replace(_GLUE, ' ')}\n{indent}{after}\n"


def _first_line(name: str) -> str:
    """The first line of the method's docstring, or of the port's where the method refers to it."""
    docs = [inspect.cleandoc(vars(c)[name].__doc__) for c in MemoryEngine.__mro__ if name in vars(c)]
    said = [doc for doc in docs if not doc.startswith("See the port")]
    return textwrap.shorten(said[0].splitlines()[0], _WIDTH - len('        """"""'), placeholder=" ...")


def _parameters(function: Callable[..., Any]) -> list[str]:
    """The parameters as they are declared; annotations are text already."""
    parts, starred = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        annotation = "" if parameter.annotation is parameter.empty else f": {parameter.annotation}"
        default = "" if parameter.default is parameter.empty else f" = {_literal(parameter.default)}"
        parts.append(f"{parameter.name}{annotation}{default}")
    return parts


def _literal(value: object) -> str:
    """A default as source: enum members by name."""
    name = getattr(value, "name", None)
    if name:
        return f"{type(value).__name__}.{name}"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _arguments(function: Callable[..., Any]) -> list[str]:
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    return [p.name if p.kind is p.POSITIONAL_OR_KEYWORD else f"{p.name}={p.name}" for p in parameters]


if __name__ == "__main__":
    FACADE.write_text(facade(), encoding="utf-8")
