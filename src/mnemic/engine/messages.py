"""How do chat messages become memories? As turns of a session, in the form in which chat clients hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from mnemic.chain import h
from mnemic.engine.shared import Caller
from mnemic.engine.writing import store_many
from mnemic.errors import ConflictError, InvalidInputError
from mnemic.ports.engine import BatchItem, BatchResult
from mnemic.types import Address, MemoryScope, Origin

__all__ = ["store_messages"]

_ORIGINS = {"user": Origin.USER, "tool": Origin.TOOL}


async def store_messages(
    caller: Caller, messages: Sequence[Mapping[str, Any]], *, session_id: str
) -> list[BatchResult]:
    """Keep each ``{role, content, name?, ts?}`` as a turn; keyed by content and place, so a repeat adds nothing."""
    caller = caller.acting(session_id=session_id)
    items = [_item(place, message, session_id) for place, message in enumerate(messages)]
    results = await store_many(caller, items)
    repeated = [place for place, result in enumerate(results) if isinstance(result.error, ConflictError)]
    keys = {place: caller.address(items[place].options["key"]) for place in repeated}
    known = await _known(caller, list(keys.values()))
    return [
        BatchResult(entry=known[keys[place]]) if place in keys and keys[place] in known else result
        for place, result in enumerate(results)
    ]


async def _known(caller: Caller, addresses: Sequence[Address]) -> Mapping[Address, Any]:
    if not addresses:
        return {}
    found = await caller.shared.tiers.memories.get_many(MemoryScope(tenant_id=caller.who.tenant_id), addresses)
    return {address: replace(entry, embedding=None) for address, entry in found.items()}


def _item(place: int, message: Mapping[str, Any], session_id: str) -> BatchItem:
    if "content" not in message:
        raise InvalidInputError(f"messages[{place}] has no content; give {{role, content, name?, ts?}}")
    content, role = _text(place, message["content"]), str(message.get("role", "user"))
    name = message.get("name")
    key = f"message:{h('message', session_id, str(place), role, content)}"
    return BatchItem(
        content=content,
        options={
            "key": key,
            "role": role,
            "speaker": name or role,
            "turn": place,
            "origin": _ORIGINS.get(role, Origin.AGENT),
            "source": "messages",
            "occurred_at": _moment(place, message.get("ts")),
            "expected_version": 0,
        },
    )


def _text(place: int, content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "\n".join(part for part in parts if isinstance(part, str))
    raise InvalidInputError(f"messages[{place}].content is {type(content).__name__}; give text or a list of parts")


def _moment(place: int, ts: Any) -> datetime | None:
    if ts is None or isinstance(ts, datetime):
        return ts
    try:
        return datetime.fromisoformat(str(ts))
    except ValueError:
        raise InvalidInputError(f"messages[{place}].ts is no ISO 8601 time; give one, with its zone") from None
