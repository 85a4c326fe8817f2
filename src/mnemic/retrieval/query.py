"""What is asked? The question within a paste, its literals, and the part of its vector that is not just asking."""

from __future__ import annotations

import re

import numpy as np

from mnemic.types import Vector
from mnemic.words import terms

__all__ = ["FRAME_QUESTIONS", "frame_of", "literals", "project", "ranking_query"]

_PASTE = 250
_QUESTION = re.compile(r"[^.!?\n\u3002\uff01\uff1f]*[?\uff1f]")
_QUOTE = re.compile(r"[\"\u201c\u201e\u00ab]([^\"\u201c\u201d\u00ab\u00bb]{3,120})[\"\u201d\u00bb\u201c]")
_IDENTIFIER = re.compile(r"(?=.*[/\\@_#]|.*\d.*[a-z._:+-]|.*[a-z._:+-].*\d|[^.]+\.[^.]{2,4}$|\d{5}).{3,}")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|s|am|pm|k|m)")

# Questions about nothing: what their vectors have in common is the act of asking, which every question of a search
# shares and no memory does.
FRAME_QUESTIONS = (
    "Can you recommend something for me?",
    "When did it happen?",
    "What should I do next?",
    "Could you give me some suggestions?",
    "Where was that?",
    "Who told me about it?",
    "What do you think would be best?",
    "How many of those are there?",
    "Which one did I choose?",
    "Do you remember what I said?",
    "What was the name of it?",
    "How long did it take?",
    "Why did they decide that?",
    "What are some good options?",
    "Can you help me with this?",
    "What would you advise?",
    "How often does that happen?",
    "What happened after that?",
    "Is there anything I should know?",
    "What did we agree on?",
    "How can I make it better?",
    "What kind of thing is it?",
    "Could you explain how this works?",
    "Please list everything about it.",
    "What is the latest on this?",
    "Have I mentioned this before?",
    "What did the two of them talk about?",
    "How much was it?",
    "Tell me more about that.",
    "What is the difference between them?",
    "Can you plan it for me?",
    "What time is it going to be?",
    "How did it go?",
    "What does it mean?",
    "What are the steps to do it?",
    "Which would suit me?",
    "Did anything change since then?",
    "What is the current state of it?",
    "How do I get started?",
    "Any ideas for what to try?",
)


def ranking_query(text: str) -> str:
    """Cut a long paste to its last question, since what stands before would drown it; other text stays as it is."""
    if len(text) <= _PASTE:
        return text
    questions = [found.strip() for found in _QUESTION.findall(text)]
    return next((found for found in reversed(questions) if len(found) > 1), text)


def literals(text: str) -> tuple[str, ...]:
    """Find what must stand in a text as it is: quoted words, and terms that look like identifiers."""
    quoted = (" ".join(terms(quote)) for quote in _QUOTE.findall(text))
    marked = (term for term in terms(text) if _IDENTIFIER.match(term) and not _ORDINAL.fullmatch(term))
    return tuple(dict.fromkeys(literal for literal in (*quoted, *marked) if literal))


def frame_of(vectors: Vector, rank: int) -> Vector | None:
    """Find the ``rank`` directions that the vectors of ``FRAME_QUESTIONS`` share most; None where there are none."""
    if rank == 0 or not np.any(vectors):
        return None
    # Not centred: the mean of all questions is the very thing that is looked for.
    _, _, right = np.linalg.svd(vectors.astype(np.float64), full_matrices=False)
    found: Vector = right[:rank].astype(np.float32)
    return found


def project(vector: Vector, frame: Vector | None) -> Vector:
    """Take the shared directions out of a question's vector; unchanged where next to nothing would remain."""
    if frame is None or frame.shape[1] != vector.shape[0]:
        return vector
    rest: Vector = vector - frame.T @ (frame @ vector)
    length = float(np.linalg.norm(rest))
    return vector if length < 0.1 else rest / np.float32(length)
