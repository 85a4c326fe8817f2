"""Which day does a date with a month's name in another language mean? The part that dateparser knows better."""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING

from mnemic.retrieval.dates.calendar import day_span
from mnemic.retrieval.dates.fields import Found
from mnemic.retrieval.dates.lexicon import Reader

if TYPE_CHECKING:
    from dateparser.date import DateDataParser

__all__ = ["foreign_date"]

_DATE = re.compile(
    r"\d{1,2}(?:\.|er|º|ª)?\s(?:de\s|di\s|von\s)?[^\W\d_]{3,12}\.?\s(?:de\s|del\s)?(?:1[5-9]|2[01])\d\d(?!\d)"
)
_LANGUAGES = ["de", "fr", "es", "it", "pt", "nl", "pl", "sv", "da", "ru", "uk", "cs", "tr"]
# The parser keeps its state in itself and in the tables that it loads on the way.
_LOCK = Lock()


def foreign_date(reader: Reader, at: int) -> tuple[Found, int] | None:
    """Read a whole date such as "12 mars 2024" or "5 de mayo de 2024".

    Returns:
        Its day and the token behind it, or None where the words between the figures are no month.
    """
    hit = reader.match(_DATE, at)
    day = _day(hit[0][0]) if hit else None
    return (Found((day_span(day.date()),), "day"), hit[1]) if hit and day else None


@lru_cache(maxsize=1024)
def _day(text: str) -> datetime | None:
    with _LOCK:
        found: datetime | None = _parser().get_date_data(text).date_obj
        return found


@lru_cache(maxsize=1)
def _parser() -> DateDataParser:
    # Imported at the first such date: it takes 0.4 s and most texts never need it.
    from dateparser.date import DateDataParser

    strict = {"STRICT_PARSING": True, "REQUIRE_PARTS": ["day", "month", "year"], "DATE_ORDER": "DMY"}
    return DateDataParser(languages=_LANGUAGES, settings={**strict, "PARSERS": ["absolute-time"]})
