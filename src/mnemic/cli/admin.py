"""Which commands look after a store?"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer
import yaml
from rich.progress import Progress
from rich.text import Text

from mnemic.cli import output
from mnemic.cli.data import entries
from mnemic.cli.options import Common, check_degraded, run
from mnemic.engine import MemoryEngine
from mnemic.types import Health, HealthStatus

_LOOK_EVERY_S = 0.2
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


def reindex(
    told: Common,
    *,
    everything: Annotated[bool, typer.Option("--all", help="Every vector, not only those that are missing.")] = False,
) -> None:
    """Make the vectors that are missing or of another model."""

    async def work(memory: MemoryEngine) -> int:
        async def made() -> int:
            count = await memory.reindex(everything=everything)
            await memory.flush()
            return count

        with output.progress() as bar:
            async with asyncio.TaskGroup() as group:
                job = group.create_task(made())
                await _watch(memory, job, bar)
            return job.result()

    made = run(told, work)
    if told.json:
        output.print_json({"reindexed": made})
    else:
        output.print_(f"{made} vectors made")


async def _watch(memory: MemoryEngine, job: asyncio.Task[int], bar: Progress) -> None:
    """Show how many vectors are still owed until the job is done."""
    task, most = bar.add_task("reindex", total=None), 0.0
    while not (await asyncio.wait([job], timeout=_LOOK_EVERY_S))[0]:
        owed = (await memory.get_health()).outbox.get("pending_vectors", 0.0)
        most = max(most, owed)
        bar.update(task, total=most, completed=most - owed)


def doctor(
    told: Common,
    *,
    verify: Annotated[bool, typer.Option("--verify", help="Read every memory and audit row against its hash.")] = False,
) -> None:
    """Tell how each part is, what a write survives, and how much there is."""

    async def work(memory: MemoryEngine) -> tuple[Health, int, dict[str, Any] | None]:
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
    if verified and not verified["audit_valid"]:
        raise typer.Exit(output.INTERNAL)


async def _verified(memory: MemoryEngine) -> dict[str, Any]:
    """Read everything; a memory that differs from its checksum is an error that names it."""
    intact = 0
    async for _ in entries(memory):
        intact += 1
    chains = (await memory.verify_audit()).values()
    return {
        "memories_intact": intact,
        "audit_rows": sum(chain.checked for chain in chains),
        "audit_valid": all(chain.valid for chain in chains),
    }


def _show_health(health: Health, count: int, verified: dict[str, Any] | None) -> None:
    style = {HealthStatus.HEALTHY: "green", HealthStatus.DEGRADED: "yellow"}.get(health.status, "red")
    output.print_(Text(health.status.value, style=style))
    rows: dict[str, Any] = {
        **health.components,
        "durability": health.durability.value,
        "identity": health.identity_mode,
        "memories": f"{count:,}",
        **{name.replace("_", " "): f"{value:g}" for name, value in health.outbox.items()},
        **{name.replace("_", " "): value for name, value in (verified or {}).items()},
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
        output.write(yaml.safe_dump(nested, sort_keys=False, allow_unicode=True).rstrip())


def _masked(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _masked(member, key) for key, member in value.items()}
    secret = isinstance(value, str) and any(name == word or name.endswith(f"_{word}") for word in _SECRETS)
    return "***" if secret else value
