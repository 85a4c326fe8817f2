"""What counts as a word? One answer for every provider, every ranking and every index."""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache
from itertools import chain, pairwise

import Stemmer

from mnemic.types import MemoryEntry

__all__ = ["INDEX_FORMAT", "day_of", "index_text", "is_named", "only_stop_words", "query_terms", "terms"]

INDEX_FORMAT = "header1+turns1"
"""Names what vectors are made of: ``index_text``, a turn behind the one before it; a part of the id of each of them."""

_LONGEST = 96
_MONTHS = "January February March April May June July August September October November December"
_ROLES = frozenset({"user", "assistant", "system"})

# Joined words are one more term as a whole: paths, e-mail addresses, versions, identifiers, hashtags.
_JOINERS = "._-/\\@:+#&'"
_SPLIT = re.compile(r"[._\-/\\@:+#&']+")
_TRIM = "._-/\\@:&'"
_CONTRACTION = re.compile(r"[a-z]+'(?:d|m|t|ll|re|ve)")
# Scripts without spaces, or with particles glued on: Thai to Tibetan, Myanmar, Khmer, kana, Han, Hangul.
_UNSPACED = "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
_UNSPACED += "\U00020000-\U0003ffff"
_RUNS = re.compile(f"([{_UNSPACED}]+)")
_VOICING = "\u3099\u309a"
_LETTERS = {"\u0131": "i", "ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "\u2019": "'", "\u2010": "-"}

_STOP_WORDS = """
    a about above after again all also although am an and another any are aren't as at be because been before being
    below between both but by can can't could couldn't did didn't do does doesn't doing don't down during each either
    else ever few for from further get gets getting got had hadn't has hasn't have haven't having he her here hers
    herself him himself his how however i i'd i'll i'm i've if in into is isn't it its itself just let me might more
    most must my myself neither no nor not of off on once one only onto or other our ours ourselves out over own please
    quite rather really same shall she should shouldn't since so some such than that the their theirs them themselves
    then there these they they'd they'll they're they've this those through to too under until up upon us very was
    wasn't we we'd we'll we're we've were weren't what when where whether which while who whom whose why will with
    within without won't would wouldn't yet you you'd you'll you're you've your yours yourself yourselves
    """
_STOP = frozenset(_STOP_WORDS.split())

_local = threading.local()


def index_text(entry: MemoryEntry) -> str:
    """Give the text that is indexed and embedded: the content, behind date and name where the speaker has a name."""
    if not is_named(entry.speaker):
        return entry.content
    name = " ".join((entry.speaker or "").split())
    return f"[{day_of(entry)}] {name}: {entry.content}"


def day_of(entry: MemoryEntry) -> str:
    """Give the date of an entry in words: when it happened, else when it was made, in UTC."""
    day = entry.occurred_at or entry.created_at
    return f"{day.day} {_MONTHS.split()[day.month - 1]} {day.year}"


def is_named(speaker: str | None) -> bool:
    """Tell whether a speaker is somebody rather than just a role."""
    return bool(speaker and speaker.strip()) and (speaker or "").strip().casefold() not in _ROLES


def terms(text: str) -> list[str]:
    """Split any text into index terms, repeats kept.

    Words are folded (NFKC, case, diacritics), English ones stemmed, unspaced scripts cut into single characters and
    pairs; joined words such as paths, addresses and versions give their parts and the whole. A term holds no white
    space and no control character and is never empty.
    """
    return list(chain.from_iterable(map(_chunk_terms, _chunks(text))))


def query_terms(text: str) -> list[str]:
    """Split a query into terms without English stop words, unless nothing else is there."""
    chunks = _chunks(text)
    telling = [chunk for chunk in chunks if not _is_stop(chunk)]
    return list(chain.from_iterable(map(_chunk_terms, telling or chunks)))


def only_stop_words(text: str) -> bool:
    """Tell whether the words of a query say nothing about its subject."""
    return all(map(_is_stop, _chunks(text)))


def _is_stop(chunk: str) -> bool:
    return chunk.strip(_TRIM).removesuffix("'s") in _STOP


class _Folding(dict[int, str]):
    """Code point to its folded form; a blank for what parts words; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        folded = _fold(chr(code))
        if folded != " ":  # what parts words is a million code points that need not be kept
            self[code] = folded
        return folded


def _fold(char: str) -> str:
    if char in _JOINERS or char in _LETTERS:
        return _LETTERS.get(char, char)
    kind = unicodedata.category(char)
    if kind in {"Mn", "Me", "Cf"}:
        return char if char in _VOICING else ""
    if kind == "Nd":
        return str(unicodedata.digit(char))
    if not (kind == "Mc" or char.isalnum()):
        return " "
    bare = "".join(part for part in unicodedata.normalize("NFKD", char.casefold()) if _stays(part))
    return "".join(_LETTERS.get(part, part) for part in unicodedata.normalize("NFC", bare))


def _stays(part: str) -> bool:
    return part in _VOICING or unicodedata.category(part) == "Mc" or part.isalnum()


_FOLDING = _Folding()
_ASCII = {code: _FOLDING[code] for code in range(128)}


def _chunks(text: str) -> list[str]:
    if text.isascii():
        return text.translate(_ASCII).split()
    return unicodedata.normalize("NFKC", text).translate(_FOLDING).split()


def _chunk_terms(chunk: str) -> tuple[str, ...]:
    return _short_chunk_terms(chunk) if len(chunk) <= _LONGEST else _make_terms(chunk)


def _make_terms(chunk: str) -> tuple[str, ...]:
    whole = chunk.strip(_TRIM).removesuffix("'s")
    if whole.isascii() and whole.isalpha():
        return (_stem(whole),)
    if _CONTRACTION.fullmatch(whole):
        return (whole,)
    found = [term for part in _SPLIT.split(whole) if part for term in _word_terms(part)]
    if found and len(whole) <= _LONGEST and _SPLIT.sub("", whole) != whole:
        found.append(whole)
    return tuple(found)


_short_chunk_terms = lru_cache(maxsize=1 << 15)(_make_terms)


def _word_terms(word: str) -> list[str]:
    if word.isascii():
        return [_stem(word) if word.isalpha() else word[:_LONGEST]]
    found: list[str] = []
    for place, run in enumerate(_RUNS.split(word)):
        if place % 2:
            found += run
            found += map("".join, pairwise(run))
        elif run:
            found.append(_stem(run) if run.isascii() and run.isalpha() else run[:_LONGEST])
    return found


def _stem(word: str) -> str:
    if len(word) > _LONGEST:
        return word[:_LONGEST]
    # A stemmer holds state, so each thread has its own.
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:
        stemmer = _local.stemmer = Stemmer.Stemmer("english", 0)
    return str(stemmer.stemWord(word)) or word
