"""The command line: ``mnemic`` and ``python -m mnemic``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from types import TracebackType
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup
from typer.main import get_command

from mnemic.cli import admin, bench, data, demo, memory, output
from mnemic.cli.options import Common, common
from mnemic.errors import InvalidInputError

__all__ = ["app", "main"]

_UsageError = cast("type[Exception]", typer.BadParameter.__mro__[1])
"""Typer's base class of everything that is wrong with a command line."""


class _Group(TyperGroup):
    """Says in our own way what is wrong with a command line."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        told = list(sys.argv[1:] if args is None else args)
        standalone = extra.pop("standalone_mode", True)
        code = output.INTERNAL
        try:
            result = super().main(told, *rest, **{**extra, "standalone_mode": False})
            code = result if isinstance(result, int) else 0
        except _UsageError as error:
            output.print_error(InvalidInputError(_told_wrong(error)), as_json="--json" in told)
            code = 2
        except typer.Abort:
            output.note("aborted")
        except BrokenPipeError:
            # Whoever read us has gone; the interpreter must not try to flush to it again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if standalone:
            sys.exit(code)
        return code


def _told_wrong(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "mnemic"
    said = getattr(error, "format_message", error.__str__)() or type(error).__name__
    return f"{said.rstrip('.')}; see {command} --help"


app = typer.Typer(
    cls=_Group,
    name="mnemic",
    help="The governed memory engine for AI agents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_session = typer.Typer(help="Look after sessions.", no_args_is_help=True)
_bench = typer.Typer(help="Measure quality and speed.", no_args_is_help=True)
app.add_typer(_session, name="session")
app.add_typer(_bench, name="bench")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mnemic {version('mnemic')}")
        raise typer.Exit


def _root(
    told: Common,
    _asked: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """The governed memory engine for AI agents."""


_COMMANDS: dict[str, Callable[..., None]] = {
    "store": memory.store,
    "retrieve": memory.retrieve,
    "search": memory.search,
    "context": memory.context,
    "summarize": memory.summarize,
    "update": memory.update,
    "delete": memory.delete,
    "history": memory.history,
    "related": memory.related,
    "list": memory.list_,
    "stats": data.stats,
    "import": data.import_,
    "export": data.export,
    "reindex": admin.reindex,
    "doctor": admin.doctor,
    "demo": demo.demo,
    "config": admin.config,
}

app.callback()(common(_root))
for _name, _function in _COMMANDS.items():
    app.command(_name)(common(_function))
_session.command("close")(common(admin.close_session))
_session.callback()(lambda: None)
_bench.command("quality")(common(bench.run_quality))
_bench.command("speed")(common(bench.run_speed))


def main() -> None:
    """Run the command line; what nobody foresaw leaves as one line too."""
    sys.excepthook = _unforeseen
    # Calling the app itself would put Typer's own hook, which prints a traceback, in place of ours.
    get_command(app)(prog_name="mnemic")


def _unforeseen(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Say where it happened, without the texts that an error may carry."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else "unknown place"
    output.stderr.print(f"error MNE-GEN-001: {kind.__name__} at {where}; please report this", style="red")
