"""Which requirements does a test prove?"""

from __future__ import annotations

import pytest

__all__ = ["requirement"]


def requirement(*ids: str) -> pytest.MarkDecorator:
    """Mark a test with the ids of the contract, of a promise or of a case that it proves."""
    return pytest.mark.requirement(*ids)
