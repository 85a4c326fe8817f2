"""How does the engine answer a labelled folder? Written as run files, through the public interface alone."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from mnemic.app import open_engine
from mnemic.bench import kit
from mnemic.config import Settings
from mnemic.engine import MemoryEngine
from mnemic.errors import IdentityError, InvalidInputError, LimitError
from mnemic.importers.draft import Draft, ImportOptions, Rejected, moment
from mnemic.importers.ingest import ingest
from mnemic.importers.kit import parse
from mnemic.ports import ITokenCounter
from mnemic.types import ContextBlock, MemoryHits, Origin

_WRITERS = frozenset({"team_lead", "system_admin"})
"""Roles that may store every class; a question is asked without them."""
_NOTHING = MemoryHits()

Progress = Callable[[str, int, int], None]
"""Told what is under way, how far it is, and of how many."""


class QuarterCounter(ITokenCounter):
    """Counts a quarter of the characters, rounded up: the unit of labelled folders."""

    name = "quarter"
    estimated = True

    def count(self, text: str) -> int:
        """A quarter of the characters, rounded up."""
        return kit.tokens(text)

    def truncate(self, text: str, max_tokens: int) -> str:
        """The first four characters for each token."""
        return text[: max(0, max_tokens) * 4]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a folder is answered; the first run file has the rankings, one more for each budget has contexts too."""

    out: Path
    budgets: tuple[int, ...] = ()
    profile: str | None = None
    limit: int = 50

    def file(self, budget: int | None = None) -> Path:
        """The run file of the rankings, or of one budget."""
        return self.out if budget is None else self.out.with_suffix(f".{budget}{self.out.suffix}")


@dataclass(slots=True)
class Course:
    """How a run went: what was stored and asked, what could not be, and how fast."""

    memories: int = 0
    set_aside: list[Rejected] = field(default_factory=list)
    questions: int = 0
    refused: int = 0
    store_s: float = 0.0
    search_ms: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        """The course in numbers."""
        times = sorted(self.search_ms) or [0.0]
        return {
            "memories": self.memories,
            "set_aside": len(self.set_aside),
            "memories_per_s": round(self.memories / self.store_s, 1) if self.store_s else 0.0,
            "questions": self.questions,
            "refused_questions": self.refused,
            "search_ms_median": round(median(times), 2),
            "search_ms_p95": round(times[int(len(times) * 0.95)] if len(times) > 1 else times[0], 2),
        }


def write_run(
    folder: Path, plan: Plan, *, settings: Settings | None = None, on_progress: Progress = lambda *_: None
) -> Course:
    """Store the folder's memories in a store of their own, ask its questions, and write the run files.

    Memories go in tenant by tenant in file order with ``ts`` as the time of the event; each question is asked as its
    tenant and user with its ``ts`` as now. Labels, categories and answers are never read.

    Raises:
        InvalidInputError: The folder is not of this format.
    """
    course, asked, rows = Course(), kit.questions(folder), list(_rows(folder))
    plan.out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as scratch:
        engine = open_engine(Path(scratch) / "bench.db", settings=settings)

        async def answered() -> dict[int | None, list[str]]:
            lines: dict[int | None, list[str]] = {budget: [] for budget in (None, *plan.budgets)}
            async with engine as memory:
                await _store(memory, rows, course, on_progress)
                for number, question in enumerate(asked, start=1):
                    for budget, row in await _answers(memory, question, plan, course):
                        lines[budget].append(json.dumps(row, ensure_ascii=False) + "\n")
                    on_progress("ask", number, len(asked))
            return lines

        for budget, written in asyncio.run(answered()).items():
            plan.file(budget).write_text("".join(written), encoding="utf-8")
    return course


def _rows(folder: Path) -> Iterator[Draft | Rejected]:
    """Memories under their own ids, without anything that a label stands in, tenant by tenant."""
    tenants: dict[str | None, list[Draft]] = {}
    for row in parse(folder, ImportOptions()):
        if isinstance(row, Rejected):
            yield row
            continue
        # An agent at work stores what it hears as its own; an import is of files that nobody vouches for.
        options = {n: v for n, v in row.options.items() if n != "metadata"} | {"origin": Origin.AGENT}
        draft = replace(row, key=row.key.removeprefix("kit:"), options=options)
        tenants.setdefault(row.tenant, []).append(draft)
    for drafts in tenants.values():
        yield from drafts


async def _store(memory: MemoryEngine, rows: Sequence[Draft | Rejected], course: Course, on_progress: Progress) -> None:
    began = time.perf_counter()
    writer = memory.acting_as(roles=_WRITERS)
    tally = await ingest(
        writer, rows, source="bench", on_progress=lambda tally: on_progress("store", tally.total, len(rows))
    )
    course.store_s = time.perf_counter() - began
    course.memories, course.set_aside = tally.added, tally.set_aside


async def _answers(
    memory: MemoryEngine, question: kit.Asked, plan: Plan, course: Course
) -> list[tuple[int | None, dict[str, Any]]]:
    """One row for the ranking, and one for each budget."""
    course.questions += 1
    now = moment(question.ts)
    blocks: dict[int, ContextBlock] = {}
    try:
        bound = memory.acting_as(tenant_id=question.tenant, user_id=question.user)
        began = time.perf_counter()
        hits = await bound.search(question.text, limit=plan.limit, profile=plan.profile, now=now)
        course.search_ms.append((time.perf_counter() - began) * 1000)
        for budget in plan.budgets:
            blocks[budget] = await bound.context(
                question.text, max_tokens=budget, profile=plan.profile, now=now, counter=QuarterCounter()
            )
    except (InvalidInputError, IdentityError, LimitError):
        hits, blocks = _NOTHING, {}
        course.refused += 1
    row = _ranking(question, hits)
    return [(None, row), *((budget, {**row, **_context(blocks.get(budget), budget)}) for budget in plan.budgets)]


def _ranking(question: kit.Asked, hits: MemoryHits) -> dict[str, Any]:
    ranked = [{"id": hit.key, "score": round(hit.score_parts.get("similarity", hit.score), 6)} for hit in hits]
    return {"query_id": question.id, "ranked": ranked, "best_score": round(hits.best_score, 6)}


def _context(block: ContextBlock | None, budget: int) -> dict[str, Any]:
    if block is None:
        return {"context_ids": [], "context_tokens": 0, "budget": budget, "text": ""}
    ids = [address.key for address in block.claimed]
    return {"context_ids": ids, "context_tokens": block.tokens_used, "budget": budget, "text": block.text}
