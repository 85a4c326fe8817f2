"""Memory under a token budget: packed blocks and summaries."""

from mnemic.context.packing import pack
from mnemic.context.summaries import short_summary, summarize_entries

__all__ = ["pack", "short_summary", "summarize_entries"]
