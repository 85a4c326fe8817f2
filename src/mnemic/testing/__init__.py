"""What ships for tests: suites that hold every adapter to its port, fakes, and the mark of a requirement."""

from mnemic.testing.fakes import FaultyEmbedder, ManualClock, RecordingBus, SequentialIds, faulty
from mnemic.testing.marks import requirement

__all__ = ["FaultyEmbedder", "ManualClock", "RecordingBus", "SequentialIds", "faulty", "requirement"]
