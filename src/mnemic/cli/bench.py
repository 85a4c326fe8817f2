"""How good is it? Runs on labelled folders, and their figures."""

from __future__ import annotations

import asyncio
import re
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from mnemic.app import embedder
from mnemic.bench import baselines as plain_methods
from mnemic.bench import kit, report, scorer, speed
from mnemic.bench import quality as runs
from mnemic.cli import output
from mnemic.cli.options import Common
from mnemic.errors import InvalidInputError
from mnemic.types import DurabilityMode

Run = dict[str, scorer.Answer]
Answers = dict[int | None, Run]

_OF_A_CUT = re.compile(r"@\d+t$")
"""Figures of a context cut to other budgets: in JSON only."""
_OF_CATEGORIES = ("recall@1", "recall@10", "ndcg@10", "mrr@10", "rp@10", "answer@1", "current_first", "empty")


def run_quality(
    told: Common,
    *,
    folders: Annotated[list[Path], typer.Argument(metavar="DATA_DIR...", help="Labelled folders.")],
    out: Annotated[Path, typer.Option("--out", help="RUN.jsonl; a folder where there are several folders.")],
    context_tokens: Annotated[str, typer.Option(help="Budgets, like 512,1024.")] = "",
    profile: Annotated[str | None, typer.Option(help="Ranking by name.", show_default=False)] = None,
    limit: Annotated[int, typer.Option(min=20, max=1000, help="Results of a question.")] = 50,
    categories: Annotated[bool, typer.Option("--categories", help="Figures of each category too.")] = False,
    baselines: Annotated[bool, typer.Option(help="Answer by plain methods too.")] = True,
    table: Annotated[Path | None, typer.Option(help="Write the table as Markdown.", show_default=False)] = None,
    curves: Annotated[Path | None, typer.Option(help="Draw evidence against tokens.", show_default=False)] = None,
    label: Annotated[str, typer.Option(help="Version that the table names.")] = "",
) -> None:
    """Answer labelled folders through the public interface, write the runs, and score them beside plain methods."""
    budgets = _budgets(context_tokens)
    budgets = tuple(sorted({*budgets, *report.CURVE_BUDGETS})) if curves else budgets
    model = embedder(told.settings())
    items: list[dict[str, Any]] = []
    sets: list[report.Measured] = []
    for folder in folders:
        file = out if len(folders) == 1 and out.suffix == ".jsonl" else out / f"{folder.resolve().name}.jsonl"
        plan = runs.Plan(out=file, budgets=budgets, profile=profile, limit=limit)
        course = _answered(told, folder, plan)
        labels = kit.labels(folder)
        answers = {budget: scorer.read_run(plan.file(budget)) for budget in (None, *budgets)}
        scores = {budget: scorer.score(labels, run) for budget, run in answers.items()}
        plain = (
            plain_methods.answers(labels, kit.questions(folder), model, file.parent / "vectors") if baselines else {}
        )
        sets.append(_measured(labels, folder, answers, plain, course))
        items.append({"name": labels.name, "run": str(file), "course": course, "scores": scores})
        if not told.json:
            _show(items[-1], categories=categories)
            _show_arms(sets[-1])
    if table:
        model_id = model.model_id if model else "none"
        table.write_text(report.table(sets, model_id=model_id, label=label), encoding="utf-8")
    if curves:
        curves.write_text(report.curves(sets), encoding="utf-8")
    if told.json:
        output.print_json({"items": [_as_json(*pair) for pair in zip(items, sets, strict=True)]})


def run_speed(
    told: Common,
    *,
    memories: Annotated[int, typer.Option(min=100, help="Size of the store.")] = 10_000,
    durability: Annotated[DurabilityMode, typer.Option(help="What a write survives.")] = DurabilityMode.POWER,
    seconds: Annotated[float, typer.Option(min=0, help="How long 16 agents call together.")] = 10.0,
) -> None:
    """Time single calls and a load of 16 agents, beside a yardstick of the same run."""
    rows, facts = asyncio.run(speed.measure(memories, durability=durability, seconds=seconds))
    if told.json:
        output.print_json({**output.listed(row.record() for row in rows), "facts": facts})
        return
    table = Table(box=None, show_edge=False, pad_edge=False)
    for name in ("operation", "calls", "median ms", "P95 ms", "yardstick", "ms", "ratio"):
        table.add_column(name, justify="left" if name in {"operation", "yardstick"} else "right", overflow="fold")
    for row in rows:
        yardstick = (row.yardstick, f"{row.yardstick_ms:.3f}", f"{row.ratio:.1f}") if row.yardstick else ("", "", "")
        table.add_row(row.name, f"{row.count:,}", f"{row.p50_ms:.2f}", f"{row.p95_ms:.2f}", *yardstick)
    output.print_(table, ", ".join(f"{name.replace('_', ' ')} {value:,.1f}" for name, value in facts.items()))


def _budgets(value: str) -> tuple[int, ...]:
    try:
        found = tuple(int(part) for part in value.split(",") if part.strip())
    except ValueError:
        found = (0,)
    if any(budget < 1 for budget in found):
        raise InvalidInputError(f"--context-tokens is {value!r}; give whole numbers from 1, like 512,1024")
    return found


def _answered(told: Common, folder: Path, plan: runs.Plan) -> dict[str, Any]:
    with output.progress() as bar:
        tasks: dict[str, Any] = {}

        def on_progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(f"{folder.name} {what}", total=total)
            bar.update(tasks[what], completed=done)

        course = runs.write_run(folder, plan, settings=told.settings(), on_progress=on_progress)
    if course.set_aside and not told.json:
        output.note(f"{len(course.set_aside)} memories set aside, the first: {course.set_aside[0].reason}")
    return course.figures()


def _measured(
    labels: kit.Labels, folder: Path, answers: Answers, plain: dict[str, Run], course: dict[str, Any]
) -> report.Measured:
    contexts = {budget: run for budget, run in answers.items() if budget is not None}
    ours = report.arm("mnemic", labels, answers[None], contexts)
    others = tuple(report.arm(name, labels, run) for name, run in plain.items())
    scores = [scorer.score(labels, run) for run in answers.values()]
    over = [score.overall["over_budget"] for score in scores if "over_budget" in score.overall]
    return report.Measured(
        name=labels.name,
        checksum=kit.checksum(folder),
        course=course,
        leaks=sum(score.counts["leaked_memories"] + score.counts["leaked_canaries"] for score in scores),
        over_budget=max(over, default=None),
        arms=(ours, *others),
        gain=report.gain(labels, ours, others),
    )


def _as_json(item: dict[str, Any], measured: report.Measured) -> dict[str, Any]:
    scores = {
        ("ranking" if budget is None else str(budget)): output.plain(score) for budget, score in item["scores"].items()
    }
    arms = {each.name: {"overall": each.overall, "kept": each.kept} for each in measured.arms}
    gain = measured.gain and asdict(measured.gain)
    return {**item, "scores": scores, "data": measured.checksum, "arms": arms, "gain": gain}


def _show_arms(measured: report.Measured) -> None:
    if len(measured.arms) == 1:
        return
    figures = {each.name: {**each.overall, **{f"kept {b}": v for b, v in each.kept.items()}} for each in measured.arms}
    names = [*report.COLUMNS, *(name for name in figures["mnemic"] if name.startswith("kept "))]
    output.print_("", _table({arm: {n: v[n] for n in names if n in v} for arm, v in figures.items()}))
    if gain := measured.gain:
        told = f"{gain.figure} {gain.value:+.3f}, 95 % {gain.low:+.3f} to {gain.high:+.3f}"
        output.print_(f"gain over {gain.better}: {told}")


def _show(item: dict[str, Any], *, categories: bool) -> None:
    course = item["course"]
    counts = item["scores"][None].counts
    output.print_(
        "",
        f"{item['name']}: {course['memories']:,} memories at {course['memories_per_s']:g}/s, "
        f"{counts['questions']:,} questions; "
        f"search {course['search_ms_median']:g} ms, P95 {course['search_ms_p95']:g} ms",
    )
    leaks = sum(score.counts["leaked_memories"] + score.counts["leaked_canaries"] for score in item["scores"].values())
    output.print_(
        f"set aside {course['set_aside']}, refused questions {course['refused_questions']}, leaks {leaks}",
        _table({("ranking" if b is None else f"{b} tokens"): s for b, s in _apart(item["scores"]).items()}),
    )
    if categories:
        output.print_("", _categories(item["scores"][None].categories))


def _apart(scores: dict[int | None, scorer.Score]) -> dict[int | None, scorer.Figures]:
    """The ranking's figures, and of each budget only what its contexts add."""
    ranking = scores[None].overall
    return {b: {n: v for n, v in s.overall.items() if b is None or n not in ranking} for b, s in scores.items()}


def _table(columns: dict[str, dict[str, float]]) -> Table:
    """One row for each figure."""
    table = Table("figure", box=None, show_edge=False, pad_edge=False)
    for name in columns:
        table.add_column(name, justify="right")
    for name in dict.fromkeys(name for figures in columns.values() for name in figures):
        if not _OF_A_CUT.search(name):
            table.add_row(name, *(_number(figures.get(name)) for figures in columns.values()))
    return table


def _categories(categories: dict[str, dict[str, float]]) -> Table:
    """One row for each category."""
    table = Table("category", box=None, show_edge=False, pad_edge=False)
    names = [name for name in _OF_CATEGORIES if any(name in figures for figures in categories.values())]
    for name in names:
        table.add_column(name, justify="right", overflow="fold")
    for category, figures in categories.items():
        table.add_row(category, *(_number(figures.get(name)) for name in names))
    return table


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}" if value >= 10 else f"{value:.3f}"
