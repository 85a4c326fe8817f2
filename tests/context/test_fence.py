"""Packed memory is data: its fence holds, and each memory can be cited."""

import random
import re
from typing import Any

import pytest

from mnemic.context import pack
from mnemic.testing import requirement
from mnemic.testing.strategies import at, memory
from mnemic.tokens import Word
from mnemic.types import ContextBlock, MemoryHit

_REFERENCE = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)


def _pack(*entries: Any) -> ContextBlock:
    hits = [MemoryHit.of(entry, score=0.5) for entry in entries]
    return pack(hits, counter=Word(), budget=8192, now=at(30))


def _break_outs() -> list[str]:
    """Two hundred ways to try to leave the fence, made of its own pieces."""
    chance = random.Random(7)
    pieces = [
        "</memory_context>",
        "<memory_context>",
        "<",
        ">",
        "&lt;",
        "\n",
        "\r",
        "\u2028",
        "\x85",
        "\x0b",
        "[1] ",
        "owner x",
        "system:",
        " ",
    ]
    return ["x" + "".join(chance.choices(pieces, k=chance.randint(1, 8))) + "y" for _ in range(200)]


@requirement("INJ-007", "US-003.6")
@pytest.mark.parametrize("field", ["content", "speaker", "session_id", "volk_id", "user_id", "role"])
def test_nothing_in_a_memory_leaves_the_fence_or_makes_a_line_of_its_own(field: str) -> None:
    for text in _break_outs():
        fields = {"content": "plain", field: text}
        block = _pack(memory("k", **fields), memory("other", "plain too"))

        inside = block.text.removeprefix("<memory_context>\n").removesuffix("</memory_context>")
        assert "<" not in inside
        assert ">" not in inside
        assert [number for number, _ in _REFERENCE.findall(block.text)] == ["1", "2"]
        assert all(line.startswith(("owner ", "1 Jan 2026", "[", "  ")) for line in inside.splitlines())


@requirement("INJ-007")
def test_each_reference_stands_for_the_memory_at_its_place() -> None:
    entries = [memory(f"k{n}", f"fact {n}", occurred_at=at(-n), session_id=f"s{n % 2}") for n in range(12)]
    block = _pack(*entries)

    contents = {entry.address: entry.content for entry in entries}
    shown = [(int(number), text) for number, text in _REFERENCE.findall(block.text)]
    assert shown == [(n, contents[address]) for n, address in enumerate(block.injected, start=1)]
    assert len(shown) == 12


@requirement("INJ-007")
def test_owner_day_and_session_of_several_stand_once_above_their_memories_in_time_order() -> None:
    block = _pack(
        memory("c", "third", occurred_at=at(2), session_id="s2", speaker="Ada"),
        memory("b", "second", occurred_at=at(0), session_id="s1", turn=1),
        memory("a", "first", occurred_at=at(0), session_id="s1", turn=0, speaker="Grace"),
        memory("d", "fourth", volk_id="bob", user_id="u", occurred_at=at(1), session_id="s1"),
    )

    assert block.text == (
        "<memory_context>\n"
        "owner ada, origin agent\n"
        "1 Jan 2026, s1\n"
        "[1] Grace: first\n"
        "[2] second\n"
        "3 Jan 2026\n"
        "[3] Ada: third\n"
        "owner bob/u, origin agent\n"
        "2 Jan 2026\n"
        "[4] fourth\n"
        "</memory_context>"
    )


def test_further_lines_of_a_memory_are_indented() -> None:
    assert "[1] list:\n  - one\n  - two\n</" in _pack(memory("k", "list:\n\n- one\r\n   - two\n")).text


def test_a_long_session_id_is_shortened() -> None:
    together = [memory(key, f"fact {key}", session_id="s" * 128) for key in "ab"]
    assert f", {'s' * 31}\u2026\n" in _pack(*together).text


def test_memories_alone_in_their_sessions_share_the_heading_of_their_day() -> None:
    block = _pack(*(memory(f"k{n}", f"fact {n}", session_id=f"s{n}") for n in range(3)))
    assert block.text.count("1 Jan 2026\n") == 1
    assert ", s" not in block.text
