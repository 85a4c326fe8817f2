"""What ships for tests: suites that hold every adapter to its port, fakes, and the mark of a requirement."""

import pytest

# The suites' assertions explain themselves only if they are rewritten before they are imported.
pytest.register_assert_rewrite(
    *(f"mnemic.testing.{kind}_suite" for kind in ("cache", "counter", "embedder", "journal", "provider")),
    *(f"mnemic.testing.provider_{part}" for part in ("points", "queries", "pages", "search")),
)

from mnemic.testing.cache_suite import EmbeddingCacheSuite  # noqa: E402 - see above
from mnemic.testing.counter_suite import CounterSuite  # noqa: E402 - see above
from mnemic.testing.embedder_suite import EmbedderSuite, InMemoryEmbeddingCache  # noqa: E402 - see above
from mnemic.testing.fakes import FaultyEmbedder, ManualClock, RecordingBus, SequentialIds, faulty  # noqa: E402 - see above
from mnemic.testing.journal_suite import JournalSuite  # noqa: E402 - see above
from mnemic.testing.marks import requirement  # noqa: E402 - see above
from mnemic.testing.provider_suite import ProviderSuite  # noqa: E402 - see above

__all__ = [
    "CounterSuite",
    "EmbedderSuite",
    "EmbeddingCacheSuite",
    "FaultyEmbedder",
    "InMemoryEmbeddingCache",
    "JournalSuite",
    "ManualClock",
    "ProviderSuite",
    "RecordingBus",
    "SequentialIds",
    "faulty",
    "requirement",
]
