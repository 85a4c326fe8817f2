"""Which commands look after a store?"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import typer
import yaml
from rich.text import Text

from mnemic.cli import output
from mnemic.cli.data import entries
from mnemic.cli.options import Common, check_degraded, run
from mnemic.engine import MemoryEngine
from mnemic.errors import CorruptEntryError
from mnemic.types import Health, HealthStatus

_SECRETS = ("key", "token", "password", "secret")


def close_session(told: Common, *, session_id: Annotated[str, typer.Argument(help="The session that ended.")]) -> None:
    """End a session: its memories leave the working set and stay for good."""

    async def work(memory: MemoryEngine) -> int:
        moved = await memory.migrate_to_cold(session_id)
        await memory.flush()
        return moved

    moved = run(told, work)
    if told.json:
        output.print_json({"session_id": session_id, "moved": moved})
    else:
        output.print_(f"{moved} memories left the working set")


def reindex(told: Common) -> None:
    """Make the vectors that are missing or of another model."""

    async def work(memory: MemoryEngine) -> int:
        with output.progress() as bar:
            bar.add_task("reindex", total=None)
            owed = await memory.reindex()
            await memory.flush()
            return owed

    owed = run(told, work)
    if told.json:
        output.print_json({"reindexed": owed})
    else:
        output.print_(f"{owed} vectors made")


def doctor(
    told: Common,
    *,
    verify: Annotated[bool, typer.Option("--verify", help="Read every memory against its checksum.")] = False,
) -> None:
    """Tell how each part is, what a write survives, and how much there is."""

    async def work(memory: MemoryEngine) -> tuple[Health, int, dict[str, int] | None]:
        health = await memory.get_health()
        return health, await memory.count(), await _verified(memory) if verify else None

    health, count, verified = run(told, work)
    if told.json:
        output.print_json({**output.plain(health), "memories": count, "verified": verified})
    else:
        _show_health(health, count, verified)
    check_degraded(told, health.degraded)
    if health.status is HealthStatus.UNHEALTHY:
        raise typer.Exit(5)
    if verified and verified["corrupt"]:
        raise typer.Exit(output.INTERNAL)


async def _verified(memory: MemoryEngine) -> dict[str, int]:
    """How many memories equal their checksums, each read alone, so that a bad one hides no other."""
    found: Counter[str] = Counter()
    try:
        async for entry in entries(memory):
            try:
                await memory.retrieve(entry.key, owner=(entry.volk_id, entry.user_id))
                found["intact"] += 1
            except CorruptEntryError:
                found["corrupt"] += 1
    except CorruptEntryError:
        found["corrupt"] += 1
    return {"intact": found["intact"], "corrupt": found["corrupt"]}


def _show_health(health: Health, count: int, verified: dict[str, int] | None) -> None:
    style = {HealthStatus.HEALTHY: "green", HealthStatus.DEGRADED: "yellow"}.get(health.status, "red")
    output.print_(Text(health.status.value, style=style))
    rows: dict[str, Any] = {
        **health.components,
        "durability": health.durability.value,
        "identity": health.identity_mode,
        "memories": f"{count:,}",
        **{name.replace("_", " "): f"{value:g}" for name, value in health.outbox.items()},
        **(verified or {}),
    }
    for name, value in rows.items():
        output.print_(Text(f"  {name:<16} {value}"))


def config(told: Common) -> None:
    """Show the settings in force; secrets are masked."""
    settings = _masked(told.settings().model_dump(mode="json"))
    if told.json:
        output.print_json(settings)
    else:
        nested = {"runtime": {"memory_engine": settings}}
        output.print_(Text(yaml.safe_dump(nested, sort_keys=False, allow_unicode=True).rstrip()))


def _masked(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _masked(member, key) for key, member in value.items()}
    secret = isinstance(value, str) and any(name == word or name.endswith(f"_{word}") for word in _SECRETS)
    return "***" if secret else value
