"""Which ids does a BERT model see in a text?"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Final

from mnemic.models import FOLDER, read_verified

__all__ = ["WordPiece", "packaged_tokenizer"]

_LONGEST_WORD: Final = 100  # characters; a longer word is one unknown token, as in the original tokenizer
_CACHED_WORDS: Final = 50_000
_ASCII_WORD: Final = re.compile(r"[!-/:-@\[-`{-~]|[^\s!-/:-@\[-`{-~]+")
_ASCII_DROPPED: Final = dict.fromkeys(code for code in (*range(32), 127) if chr(code) not in "\t\n\r")
# As the original tokenizer has them, the gap before 0x2B920 included.
_CJK: Final = (
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF),
    (0x2A700, 0x2B81F), (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F),
)  # fmt: skip


class _Cleaned(dict[int, str]):
    """Character to cleaned text: controls go, white space becomes a space, an ideograph stands alone."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if char in "\t\n\r":
            cleaned = " "
        elif char == "\ufffd" or unicodedata.category(char) in {"Cc", "Cf", "Co", "Cs"}:
            cleaned = ""
        elif char.isspace():
            cleaned = " "
        else:
            cleaned = f" {char} " if any(low <= code <= high for low, high in _CJK) else char
        self[code] = cleaned
        return cleaned


class _Folded(dict[int, str]):
    """Decomposed character to folded text: accents go, punctuation stands alone, letters become small."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        category = unicodedata.category(char)
        if category == "Mn":
            folded = ""
        elif category[0] == "P" or (code < 128 and category[0] == "S"):
            folded = f" {char} "
        else:
            folded = char.lower()  # one by one: str.lower() on a whole word would turn a last sigma into another letter
        self[code] = folded
        return folded


class WordPiece:
    """The uncased BERT tokenizer, in pure Python.

    Text that looks like a special token (``[SEP]``) is plain text here, unlike in the original.

    Args:
        tokenizer: The bytes of a ``tokenizer.json`` whose model is WordPiece.
    """

    def __init__(self, tokenizer: bytes) -> None:
        self._vocabulary: dict[str, int] = json.loads(tokenizer)["model"]["vocab"]
        self._longest = max(map(len, self._vocabulary))
        self._unknown = (self._vocabulary["[UNK]"],)
        self._words: dict[str, tuple[int, ...]] = {}
        self._cleaned, self._folded = _Cleaned(), _Folded()

    def ids(self, text: str, *, limit: int | None = None) -> list[int]:
        """Return the ids of a text's tokens, without any frame, at most ``limit`` of them."""
        return list(islice(chain.from_iterable(map(self._word, self._split(text))), limit))

    def _split(self, text: str) -> list[str]:
        if text.isascii():
            return _ASCII_WORD.findall(text.translate(_ASCII_DROPPED).lower())
        decomposed = unicodedata.normalize("NFD", text.translate(self._cleaned))
        return decomposed.translate(self._folded).split()

    def _word(self, word: str) -> tuple[int, ...]:
        ids = self._words.get(word)
        if ids is None:
            if len(word) > _LONGEST_WORD:
                return self._unknown
            if len(self._words) >= _CACHED_WORDS:
                self._words.clear()
            pieces = tuple(self._pieces(word))
            ids = self._words[word] = self._unknown if -1 in pieces else pieces
        return ids

    def _pieces(self, word: str) -> Iterator[int]:
        start, prefix = 0, ""
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                piece = self._vocabulary.get(prefix + word[start:end])
                if piece is not None:
                    break
            else:
                yield -1
                return
            yield piece
            start, prefix = end, "##"


@cache
def packaged_tokenizer(model: str, folder: Path = FOLDER) -> WordPiece:
    """Return the tokenizer of a packaged model; each is loaded once.

    Raises:
        ModelIntegrityError: Its file differs from its recorded hash.
    """
    return WordPiece(read_verified(f"{model}/tokenizer.json", folder=folder))
