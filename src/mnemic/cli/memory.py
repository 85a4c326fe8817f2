"""Which commands read and write memories?"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from mnemic.cli import output
from mnemic.cli.options import Common, check_degraded, json_object, run, time
from mnemic.engine import MemoryEngine
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.importers.draft import given
from mnemic.types import MemoryClassification, MemoryEntry, MemoryScope, MemoryType, SearchMode, SummarizationStrategy

Key = Annotated[str, typer.Argument(help="Key of the memory.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="Tag; may be repeated.", show_default=False)]
Metadata = Annotated[str | None, typer.Option("--metadata", help="A JSON object.", show_default=False)]
Class = Annotated[MemoryClassification | None, typer.Option("--class", help="Who may read it.", show_default=False)]
AsOf = Annotated[str | None, typer.Option("--as-of", help="What held at that time (ISO 8601).", show_default=False)]
Now = Annotated[str | None, typer.Option("--now", help="The time of asking (ISO 8601).", show_default=False)]
At = Annotated[str | None, typer.Option("--at", help="When it happened (ISO 8601).", show_default=False)]
Profile = Annotated[str | None, typer.Option("--profile", help="Ranking by name.", show_default=False)]
Where = Annotated[str | None, typer.Option("--where", help="Filter as a JSON object.", show_default=False)]
InSession = Annotated[str | None, typer.Option("--in-session", help="Only this session.", show_default=False)]
Version = Annotated[int | None, typer.Option("--expected-version", help="Must stand there.", show_default=False)]

_UNKNOWN = "no memory with this key that you can read; check the key, the tenant, the agent and the user"


def _show_entry(told: Common, entry: MemoryEntry) -> None:
    if told.json:
        output.print_json(output.plain(entry, vectors=bool(told.vectors)))
    else:
        output.stdout.print(output.entry_text(entry), soft_wrap=True)


def _show_entries(told: Common, entries: list[MemoryEntry], **more: Any) -> None:
    if told.json:
        output.print_json(output.listed(entries, vectors=bool(told.vectors), **more))
    elif entries:
        output.print_(output.entries_table(entries))
    else:
        output.note("no memories")


def _content(text: str) -> str:
    """The argument, or standard input where it is ``-``."""
    if text != "-":
        return text
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInputError("standard input is not UTF-8 text; convert it first") from None


def store(
    told: Common,
    *,
    content: Annotated[str, typer.Argument(help="The text to keep; - reads standard input.")],
    key: Annotated[str | None, typer.Option("--key", help="Its key; a new one by default.", show_default=False)] = None,
    tag: Tags = None,
    metadata: Metadata = None,
    class_: Class = None,
    type_: Annotated[MemoryType | None, typer.Option("--type", help="Kind of memory.", show_default=False)] = None,
    category: Annotated[str | None, typer.Option(help="fact, decision, preference, …", show_default=False)] = None,
    speaker: Annotated[str | None, typer.Option(help="Who said it.", show_default=False)] = None,
    role: Annotated[str | None, typer.Option(help="user, assistant or system.", show_default=False)] = None,
    turn: Annotated[int | None, typer.Option(help="Place in its session.", show_default=False)] = None,
    importance: Annotated[float | None, typer.Option(help="0 to 1.", show_default=False)] = None,
    source: Annotated[str | None, typer.Option(help="Where it came from.", show_default=False)] = None,
    pin: Annotated[bool | None, typer.Option("--pin", help="Always first in a context.", show_default=False)] = None,
    at: At = None,
    expires: Annotated[str | None, typer.Option(help="Until when (ISO 8601).", show_default=False)] = None,
    expected_version: Version = None,
    idempotency_key: Annotated[str | None, typer.Option(help="Repeats add nothing.", show_default=False)] = None,
) -> None:
    """Keep a memory."""
    options = given(
        key=key,
        tags=tag,
        metadata=json_object(metadata, "metadata"),
        classification=class_,
        memory_type=type_,
        category=category,
        speaker=speaker,
        role=role,
        turn=turn,
        importance=importance,
        source=source,
        pinned=pin,
        occurred_at=time(at, "at"),
        expires_at=time(expires, "expires"),
        expected_version=expected_version,
        idempotency_key=idempotency_key,
    )
    said = _content(content)

    async def work(memory: MemoryEngine) -> MemoryEntry:
        entry = await memory.store(said, **options)
        await memory.flush()
        return entry

    _show_entry(told, run(told, work))


def retrieve(
    told: Common,
    *,
    key: Key,
    owner: Annotated[str | None, typer.Option(help="Agent that owns it, or agent/user.", show_default=False)] = None,
    version: Annotated[int | None, typer.Option(help="A kept version.", show_default=False)] = None,
    as_of: AsOf = None,
) -> None:
    """Show the memory at a key."""
    agent, slash, user = (owner or "").partition("/")
    who: str | tuple[str, str] | None = (agent, user) if slash else agent or None
    at = time(as_of, "as-of")

    async def work(memory: MemoryEngine) -> MemoryEntry | None:
        return await memory.retrieve(key, owner=who, version=version, as_of=at)

    if (entry := run(told, work)) is None:
        raise NotFoundError(_UNKNOWN)
    _show_entry(told, entry)


def search(
    told: Common,
    *,
    query: Annotated[str, typer.Argument(help="What to look for, in your own words.")],
    limit: Annotated[int, typer.Option(help="At most so many.")] = 10,
    mode: Annotated[SearchMode, typer.Option(help="Which channels answer.")] = SearchMode.HYBRID,
    profile: Profile = None,
    min_similarity: Annotated[float | None, typer.Option(help="Floor, 0 to 1.", show_default=False)] = None,
    where: Where = None,
    in_session: InSession = None,
    since: Annotated[str | None, typer.Option(help="Not before (ISO 8601).", show_default=False)] = None,
    until: Annotated[str | None, typer.Option(help="Not after (ISO 8601).", show_default=False)] = None,
    as_of: AsOf = None,
    now: Now = None,
    include_superseded: Annotated[bool, typer.Option("--include-superseded", help="Also what was replaced.")] = False,
) -> None:
    """Find memories by meaning and words, best first, with the reason for each."""
    scope = MemoryScope(
        session_id=in_session,
        date_from=time(since, "since"),
        date_to=time(until, "until"),
        date_field="occurred_at" if since or until else "created_at",
    )
    options = given(
        scope=scope,
        limit=limit,
        mode=mode,
        profile=profile,
        min_similarity=min_similarity,
        where=json_object(where, "where"),
        as_of=time(as_of, "as-of"),
        now=time(now, "now"),
        include_superseded=include_superseded,
    )
    hits = run(told, lambda memory: memory.search(query, **options))
    if told.json:
        output.print_json(output.plain(hits, vectors=bool(told.vectors)))
    elif hits:
        output.print_(output.hits_table(hits))
    else:
        output.note("nothing found")
    check_degraded(told, hits.degraded)


def context(
    told: Common,
    *,
    query: Annotated[str, typer.Argument(help="What the prompt is about.")],
    max_tokens: Annotated[
        int | None, typer.Option(help="Budget; the configured one by default.", show_default=False)
    ] = None,
    strategy: Annotated[SummarizationStrategy | None, typer.Option(help="What goes first.", show_default=False)] = None,
    key: Annotated[
        list[str] | None, typer.Option("--key", help="Must be in; may be repeated.", show_default=False)
    ] = None,
    profile: Profile = None,
    counter: Annotated[str | None, typer.Option(help="Token counter by model or name.", show_default=False)] = None,
    where: Where = None,
    in_session: InSession = None,
    as_of: AsOf = None,
    now: Now = None,
) -> None:
    """Pack what is known about something into text for a prompt, within a token budget."""
    options = given(
        max_tokens=max_tokens,
        strategy=strategy,
        keys=key,
        profile=profile,
        counter=counter,
        where=json_object(where, "where"),
        scope=MemoryScope(session_id=in_session),
        as_of=time(as_of, "as-of"),
        now=time(now, "now"),
    )
    block = run(told, lambda memory: memory.context(query, **options))
    if told.json:
        output.print_json(output.plain(block))
    else:
        output.write(block.text)
        about = "about " if block.estimated else ""
        output.note(
            f"{about}{block.tokens_used} of {block.token_budget} tokens ({block.counter}), "
            f"{len(block.injected)} memories, {block.dropped} left out"
        )
    check_degraded(told, block.degraded)


def summarize(
    told: Common,
    *,
    context_id: Annotated[str, typer.Argument(help="A session, or task:<id> or project:<id>.")],
    max_tokens: Annotated[int, typer.Option(help="Budget.")] = 2048,
    strategy: Annotated[SummarizationStrategy, typer.Option(help="By what.")] = SummarizationStrategy.RELEVANCE,
    query: Annotated[str | None, typer.Option(help="The current question.", show_default=False)] = None,
    key: Annotated[
        list[str] | None, typer.Option("--key", help="Comes first; may be repeated.", show_default=False)
    ] = None,
    store: Annotated[bool, typer.Option("--store", help="Keep the summary as a memory.")] = False,
    now: Now = None,
) -> None:
    """Say in few words what a session, task or project holds, with the sources."""
    options = given(query=query, keys=key, now=time(now, "now"))

    async def work(memory: MemoryEngine) -> Any:
        summary = await memory.summarize(context_id, max_tokens=max_tokens, strategy=strategy, store=store, **options)
        await memory.flush()
        return summary

    summary = run(told, work)
    if told.json:
        output.print_json(output.plain(summary))
    else:
        output.write(summary.content)
        output.note(f"{summary.token_count} tokens from {summary.source_count} memories")
    check_degraded(told, summary.degraded)


def update(
    told: Common,
    *,
    key: Key,
    content: Annotated[str | None, typer.Argument(help="The new text; - reads standard input.")] = None,
    tag: Tags = None,
    clear_tags: Annotated[bool, typer.Option("--clear-tags", help="Leave no tag.")] = False,
    metadata: Metadata = None,
    class_: Class = None,
    importance: Annotated[float | None, typer.Option(help="0 to 1.", show_default=False)] = None,
    pin: Annotated[bool | None, typer.Option("--pin/--unpin", help="First in a context.", show_default=False)] = None,
    at: At = None,
    expected_version: Version = None,
) -> None:
    """Write a new version in which only what is given differs; the old one stays in the history."""
    changes = given(
        content=None if content is None else _content(content),
        tags=[] if clear_tags else tag,
        metadata=json_object(metadata, "metadata"),
        classification=class_,
        importance=importance,
        pinned=pin,
        occurred_at=time(at, "at"),
        expected_version=expected_version,
    )

    async def work(memory: MemoryEngine) -> MemoryEntry:
        entry = await memory.update(key, **changes)
        await memory.flush()
        return entry

    _show_entry(told, run(told, work))


def delete(told: Common, *, key: Key, expected_version: Version = None) -> None:
    """Delete a memory; its versions stay in the history for a while."""
    if not run(told, lambda memory: memory.delete(key, expected_version=expected_version)):
        raise NotFoundError(_UNKNOWN)
    if told.json:
        output.print_json({"key": key, "deleted": True})
    else:
        output.note("deleted")


def history(told: Common, *, key: Key) -> None:
    """Show every kept version of a memory, newest first."""
    versions = run(told, lambda memory: memory.history(key))
    if not versions:
        raise NotFoundError(_UNKNOWN)
    _show_entries(told, versions)


def related(
    told: Common,
    *,
    key: Key,
    depth: Annotated[int, typer.Option(help="Steps, 1 to 5.")] = 1,
    kind: Annotated[
        list[str] | None, typer.Option("--kind", help="Kind of edge; repeatable.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option(help="At most so many.")] = 50,
) -> None:
    """Show the memories that one is connected with, nearest first."""
    _show_entries(told, run(told, lambda memory: memory.related(key, depth=depth, kinds=kind, limit=limit)))


def list_(
    told: Common,
    *,
    tag: Tags = None,
    match: Annotated[str, typer.Option(help="all or any of the tags.")] = "all",
    where: Where = None,
    in_session: InSession = None,
    limit: Annotated[int, typer.Option(help="A page of so many.")] = 100,
    cursor: Annotated[str | None, typer.Option(help="The next_cursor of the page before.", show_default=False)] = None,
) -> None:
    """List memories, newest first."""
    options = given(tags=tag, where=json_object(where, "where"), cursor=cursor)
    scope = MemoryScope(session_id=in_session)
    page = run(told, lambda memory: memory.retrieve_by(tags_match=match, scope=scope, limit=limit, **options))
    _show_entries(told, list(page.items), next_cursor=page.next_cursor)
    if page.next_cursor and not told.json:
        output.note(f"more: --cursor {page.next_cursor}")
