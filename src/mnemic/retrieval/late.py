"""How alike are the tokens of a question and of each candidate? Late interaction over the tokens that are stored."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from mnemic.maxsim import maxsim
from mnemic.types import Address, Vector

__all__ = ["TokensOf", "late_scores"]

TokensOf = Callable[[Sequence[Address]], Awaitable[Mapping[Address, bytes]]]
_AT_ONCE = 64  # texts in one product: of the longest ones some 16 MB for a question of 254 tokens


async def late_scores(
    question: Vector | None, tokens_of: TokensOf | None, addresses: Sequence[Address]
) -> dict[Address, float]:
    """Compare the question's tokens with those of each candidate that has some."""
    if question is None or tokens_of is None or not len(question) or not addresses:
        return {}
    packed = {address: tokens for address, tokens in (await tokens_of(addresses)).items() if tokens}
    names, blobs = list(packed), list(packed.values())
    found: dict[Address, float] = {}
    for start in range(0, len(names), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        found |= zip(names[part], map(float, maxsim(question, blobs[part])), strict=True)
    return found
