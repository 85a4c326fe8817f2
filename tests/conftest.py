"""What holds for every test: no blocking call in the event loop, and the same examples in every run."""

from collections.abc import Iterator

import pytest
from blockbuster import BlockBuster, blockbuster_ctx
from hypothesis import settings

# `pytest --hypothesis-profile explore` looks for new examples instead.
settings.register_profile("ci", derandomize=True, deadline=None, database=None, print_blob=True)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("ci")


@pytest.fixture(autouse=True)
def _no_blocking_calls() -> Iterator[BlockBuster]:
    """Make a file, lock, sleep or socket call of mnemic inside a running event loop an error."""
    with blockbuster_ctx(scanned_modules=["mnemic"]) as blockbuster:
        yield blockbuster
