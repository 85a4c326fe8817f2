"""What can be said before and after every command, and how does a command reach the engine?"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from mnemic.app import open_engine
from mnemic.cli import output
from mnemic.config import Settings, load_settings
from mnemic.engine import MemoryEngine
from mnemic.errors import InvalidInputError, MnemicError
from mnemic.importers.draft import moment

T = TypeVar("T")
Work = Callable[[MemoryEngine], Coroutine[Any, Any, T]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """What every command can be told."""

    json: bool | None = None
    vectors: bool | None = None
    strict: bool | None = None
    db: str | None = None
    config: Path | None = None
    tenant: str | None = None
    agent: str | None = None
    user: str | None = None
    client: str | None = None
    session: str | None = None
    project: str | None = None

    def settings(self) -> Settings:
        """The settings in force, with who acts."""
        who = {
            "tenant_id": self.tenant,
            "volk_id": self.agent,
            "user_id": self.user,
            "client_id": self.client,
            "session_id": self.session,
        }
        named = {name: value for name, value in who.items() if value is not None}
        return load_settings(self.config, overrides={"identity": named} if named else {})


def _option(*names: str, help_: str) -> Any:
    return typer.Option(*names, help=help_, show_default=False, rich_help_panel="Common options")


_COMMON: dict[str, Any] = {
    "json": Annotated[bool | None, _option("--json", help_="Print JSON.")],
    "vectors": Annotated[bool | None, _option("--vectors", help_="Show vectors in JSON.")],
    "strict": Annotated[bool | None, _option("--strict", help_="Exit with 10 where the result is degraded.")],
    "db": Annotated[str | None, _option("--db", help_="File of the store.")],
    "config": Annotated[Path | None, _option("--config", help_="Configuration file (YAML).")],
    "tenant": Annotated[str | None, _option("--tenant", help_="Whose memories: the tenant.")],
    "agent": Annotated[str | None, _option("--agent", help_="Which agent acts.")],
    "user": Annotated[str | None, _option("--user", help_="For which user it acts.")],
    "client": Annotated[str | None, _option("--client", help_="Through which client.")],
    "session": Annotated[str | None, _option("--session", help_="In which session.")],
    "project": Annotated[str | None, _option("--project", help_="In which project.")],
}


def common(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the common options; they arrive as its first argument, an error leaves as one line."""
    hints = get_type_hints(function, include_extras=True)
    own = [
        parameter.replace(annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in list(inspect.signature(function).parameters.values())[1:]
    ]
    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in _COMMON.items()
    ]

    def command(**values: Any) -> None:
        ctx: typer.Context = values.pop("ctx")
        given = {name: values.pop(name) for name in _COMMON}
        before = ctx.obj if isinstance(ctx.obj, Common) else Common()
        merged = dataclasses.replace(before, **{name: value for name, value in given.items() if value is not None})
        ctx.obj = merged
        with _reported(merged):
            function(merged, **values)

    command.__name__, command.__doc__ = function.__name__, function.__doc__
    # Typer reads the signature, which is the function's own and the common options together.
    command.__dict__["__signature__"] = inspect.Signature([context, *own, *options])
    return command


@contextmanager
def _reported(told: Common) -> Iterator[None]:
    try:
        yield
    except MnemicError as error:
        output.print_error(error, as_json=bool(told.json))
        raise typer.Exit(output.exit_code(error)) from None


def run(told: Common, work: Work[T]) -> T:
    """Open the engine on the named store, do the work as who was named, and close it."""
    engine = open_engine(told.db, settings=told.settings())

    async def opened() -> T:
        async with engine as memory:
            return await work(memory.acting_as(project_id=told.project) if told.project else memory)

    return asyncio.run(opened())


def check_degraded(told: Common, degraded: tuple[str, ...]) -> None:
    """Say what is degraded; with ``--strict`` that is exit code 10."""
    if degraded and not told.json:
        output.note(f"degraded: {', '.join(degraded)}")
    if degraded and told.strict:
        raise typer.Exit(output.DEGRADED)


def time(value: str | None, name: str) -> datetime | None:
    """Read a time option: ISO 8601, UTC where it names no zone."""
    try:
        return moment(value)
    except InvalidInputError:
        raise InvalidInputError(f"--{name} is {value!r}; give a time like 2026-03-29T09:00:00+02:00") from None


def json_object(value: str | None, name: str) -> dict[str, Any] | None:
    """Read an option that holds a JSON object."""
    if value is None:
        return None
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        raise InvalidInputError(f'--{name} is no JSON object; give one like {{"name": "value"}}')
    return read
