"""Where do sentences end?"""

from __future__ import annotations

import re

import sentencex

__all__ = ["lead", "sentences"]

# The library goes by the rules of one language; these ends hold in every one.
_ENDS = re.compile(r"(?<=[\u3002\uff01\uff1f\u0964\u06d4\n])")


def sentences(text: str) -> list[str]:
    """Split a text into its sentences; joined again they are the text, but for lone surrogates."""
    sound = text.encode("utf-8", "replace").decode("utf-8")
    return [part for piece in sentencex.segment("en", sound) for part in _ENDS.split(piece) if part]


def lead(text: str, size: int) -> list[str]:
    """Split the first ``size`` characters; the last sentence is left out where it is broken by that."""
    found = sentences(text[:size])
    return found if len(text) <= size else found[:-1]
