"""What does mnemic do? Shown on a conversation of half a year that comes with it."""

from __future__ import annotations

import dataclasses
import json
import tempfile
import time
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from mnemic.cli import output
from mnemic.cli.options import Common, run
from mnemic.engine import MemoryEngine
from mnemic.importers import ImportOptions, Parsed, parse
from mnemic.importers.draft import moment
from mnemic.importers.ingest import Tally, ingest
from mnemic.types import ContextBlock, MemoryHit, MemoryHits

_FOLDER = files("mnemic") / "data" / "demo"
_TENANT = "demo"
_ASKED, _SHOWN, _TOP = 10, 2, 5
_PREVIEW = 200
_PACKED = "What do I have to know to order lunch for Mira at our next planning meeting?"
_PACKED_AT = "2026-07-06T09:00:00+02:00"
_BUDGET = 300

Question = dict[str, Any]
Answers = list[tuple[Question, MemoryHits]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Course:
    """What was done, and when each part of it was."""

    tally: Tally
    answers: Answers
    block: ContextBlock
    opened: float
    stored: float
    asked: float


def demo(
    told: Common,
    *,
    everything: Annotated[bool, typer.Option("--all", help="Show every question, not one of each kind.")] = False,
) -> None:
    """Import a conversation of half a year, ask it questions of every kind, and pack a context."""
    questions = [json.loads(line) for line in (_FOLDER / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    with tempfile.TemporaryDirectory(prefix="mnemic-demo-") as scratch, as_file(_FOLDER / "conversation.jsonl") as file:
        chosen = told if told.db else dataclasses.replace(told, db=str(Path(scratch) / "demo.db"))
        began = time.perf_counter()
        rows = parse(file, "kit", ImportOptions())
        course = run(chosen, lambda memory: _course(memory, rows, questions))
    if told.json:
        _print_json(course)
        return
    _print_head(course.tally, course.opened - began, course.stored - course.opened)
    for question, hits in course.answers if everything else _one_of_each(course.answers):
        _print_answer(question, hits)
    _print_context(course.block)
    _print_end(course.answers, (course.asked - course.stored) / len(questions))


async def _course(memory: MemoryEngine, rows: Parsed, questions: list[Question]) -> _Course:
    opened = time.perf_counter()
    with output.progress() as bar:
        task = bar.add_task("import", total=None)
        tally = await ingest(memory, rows, source="demo", on_progress=lambda t: bar.update(task, completed=t.total))
    stored = time.perf_counter()
    bound = memory.acting_as(tenant_id=_TENANT)
    answers = [(question, await _ask(bound, question)) for question in questions]
    asked = time.perf_counter()
    block = await bound.context(_PACKED, max_tokens=_BUDGET, now=moment(_PACKED_AT))
    return _Course(tally=tally, answers=answers, block=block, opened=opened, stored=stored, asked=asked)


async def _ask(memory: MemoryEngine, question: Question) -> MemoryHits:
    """Ask as the question says: at its time, and, where it looks back, of that day."""
    now, as_of = moment(question["ts"]), moment(question.get("as_of"))
    return await memory.search(question["text"], limit=_ASKED, now=now, as_of=as_of)


def _place(question: Question, hits: MemoryHits) -> int | None:
    """The place of the first memory that answers."""
    right = {f"kit:{id_}" for id_ in question["relevant"]}
    return next((place for place, hit in enumerate(hits, start=1) if hit.key in right), None)


def _one_of_each(answers: Answers) -> Answers:
    """The first question of each kind."""
    kinds: dict[str, tuple[Question, MemoryHits]] = {}
    for question, hits in answers:
        kinds.setdefault(question["kind"], (question, hits))
    return list(kinds.values())


def _print_json(course: _Course) -> None:
    items = [
        {"id": q["id"], "kind": q["kind"], "query": q["text"], "place": _place(q, hits), **output.plain(hits)}
        for q, hits in course.answers
    ]
    output.print_json({"items": items, "context": output.plain(course.block)})


def _print_head(tally: Tally, opening_s: float, storing_s: float) -> None:
    output.print_(Rule(Text("mnemic demo", style="bold"), align="left"))
    rate = tally.added / storing_s if storing_s else 0.0
    output.print_(
        "Two people and two agents build a booking app for ferries: eight sessions from\n"
        "January to July 2026, in English and German. Everything below runs on one file,\n"
        "without a server, a network or a language model.\n",
        Text(
            f"ready in {opening_s:.1f} s; {tally.added} memories stored and embedded in {storing_s:.1f} s, {rate:.0f}/s"
            + (f"; {tally.unchanged} were there" if tally.unchanged else ""),
            style="dim",
        ),
    )


def _print_answer(question: Question, hits: MemoryHits) -> None:
    asked = f", as of {question['as_of'][:10]}" if question.get("as_of") else ""
    output.print_("", Text.assemble((question["text"], "bold"), (f"  ({question['kind']}{asked})", "cyan")))
    right = {f"kit:{id_}" for id_ in question["relevant"]}
    for hit in hits[:_SHOWN] if right else hits[:1]:
        output.print_(Padding(_hit(hit, right=hit.key in right), (0, 0, 0, 2)))
    if not right:
        said = f"No turn says it. How sure that an answer is there: {hits.best_score:.2f}"
        output.print_(Padding(Text(said, style="yellow"), (0, 0, 0, 2)))


def _hit(hit: MemoryHit, *, right: bool) -> Text:
    mark = ("✓ ", "green") if right else ("· ", "dim")
    head = f"{hit.score:.2f}  {output.day(hit.valid_from)}  {hit.speaker or hit.role}: "
    return Text.assemble(
        mark, (head, "bold" if right else ""), output.shown(hit.content, _PREVIEW), (f"\n  {output.why(hit)}", "dim")
    )


def _print_context(block: ContextBlock) -> None:
    output.print_("", Rule(Text(f"a context for: {_PACKED}", style="bold"), align="left"))
    about = "about " if block.estimated else ""
    output.print_(
        Text(output.shown(block.text)),
        "",
        Text(
            f"{about}{block.tokens_used} of {block.token_budget} tokens (counter {block.counter}), "
            f"{len(block.injected)} memories, {block.remaining} tokens left",
            style="dim",
        ),
    )


def _print_end(answers: Answers, seconds: float) -> None:
    places = [_place(question, hits) for question, hits in answers if question["relevant"]]
    first, among = places.count(1), sum(place is not None and place <= _TOP for place in places)
    output.print_(
        "",
        Rule(style="dim"),
        f"{len(places)} questions with an answer: the right memory first {first} times, "
        f"in the first {_TOP} {among} times; {seconds * 1000:.0f} ms a question.",
        Text("✓ marks a turn that was labelled as the answer beforehand; --all shows every question.", style="dim"),
    )
