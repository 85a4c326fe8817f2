"""English time expressions are found and resolved against a moment and its zone; all else names no time."""

import threading
import time
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.retrieval.dates import Interval, Mention, mentions, window

pytestmark = pytest.mark.search

NOW = datetime(2025, 6, 18, 14, 30, tzinfo=UTC)  # a Wednesday
GRAINS = {"instant", "minute", "hour", "day", "week", "month", "season", "quarter", "year", "decade", "range"}


def moment(text: str) -> datetime | None:
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None


def span(text: str) -> Interval:
    """Read "2025-05-01..2025-06-01", one day, or one side left open."""
    start, dots, end = text.partition("..")
    if not dots:
        day = datetime.fromisoformat(start).replace(tzinfo=UTC)
        return Interval(day, day + timedelta(days=1))
    return Interval(moment(start), moment(end))


def only(text: str, now: datetime = NOW) -> Mention:
    found = mentions(text, now=now)
    assert len(found) == 1, found
    return found[0]


DAYS = {
    "next Easter": "2026-04-05",
    "3 weeks from now": "2025-07-09",
    "Friday 20-6": "2025-06-20",
    "Thursday 5/6": "2025-06-05",
    "on Mon. 3 May": "2025-05-03",
    "3 of May 2024": "2024-05-03",
    "We moved on 3 May 2024.": "2024-05-03",
    "It was May 3rd, 2024": "2024-05-03",
    "the third of May 2024": "2024-05-03",
    "on the 3rd day of May 2024": "2024-05-03",
    "2024-05-03": "2024-05-03",
    "2024/05/03": "2024-05-03",
    "backup_20240503.tar": "2024-05-03",
    "3-May-2024": "2024-05-03",
    "2024 May 3": "2024-05-03",
    "3.5.2024": "2024-05-03",
    "5/3/2024": "2024-05-03",
    "25/12/2024": "2024-12-25",
    "Dec. 31, '99": "1999-12-31",
    "January twenty first nineteen ninety nine": "1999-01-21",
    "on 22/04": "2025-04-22",
    "2024年5月3日に会った": "2024-05-03",
    "3 mai 2024": "2024-05-03",
    "el 3 de mayo de 2024": "2024-05-03",
    "3 мая 2024": "2024-05-03",
    "today": "2025-06-18",
    "yesterday": "2025-06-17",
    "yesterday's lunch": "2025-06-17",
    "the day before yesterday": "2025-06-16",
    "the day after tomorrow": "2025-06-20",
    "two days after tomorrow": "2025-06-21",
    "on Monday": "2025-06-16",
    "we will meet on Monday": "2025-06-23",
    "last Friday": "2025-06-13",
    "this Friday": "2025-06-20",
    "next Friday": "2025-06-27",
    "the coming Wednesday": "2025-06-25",
    "Tuesday of next week": "2025-06-24",
    "Friday the 13th": "2025-06-13",
    "on the 4th": "2025-06-04",
    "the 21st of next month": "2025-07-21",
    "two weeks ago": "2025-06-04",
    "a couple of days ago": "2025-06-16",
    "a fortnight ago": "2025-06-04",
    "a week ago today": "2025-06-11",
    "two and a half weeks ago": "2025-06-01",
    "in three days": "2025-06-21",
    "in two weeks' time": "2025-07-02",
    "three weeks from tomorrow": "2025-07-10",
    "10 days before 1 March 2024": "2024-02-20",
    "Monday three weeks from now": "2025-07-07",
    "the first Monday of May 2024": "2024-05-06",
    "the last Friday of last month": "2025-05-30",
    "the last day of February 2024": "2024-02-29",
    "Christmas 2024": "2024-12-25",
    "Easter 2024": "2024-03-31",
    "Thanksgiving 2024": "2024-11-28",
    "the Monday after Easter 2024": "2024-04-01",
}

STRETCHES = {
    "3 May 2024 onwards": ("range", "2024-05-03.."),
    "3 May 2024 or earlier": ("range", "..2024-05-04"),
    "3 May 2024 for 5 days": ("range", "2024-05-03..2024-05-08"),
    "3 May 2024 for 2 hours from 9am": ("range", "2024-05-03T09:00..2024-05-03T11:00"),
    "3 May 2024 from 9:30 am for 7 hours": ("range", "2024-05-03T09:30..2024-05-03T16:30"),
    "Thursday before 5 pm": ("range", "..2025-06-12T17:00"),
    "next Thursday later than 10": ("range", "2025-06-26T10:00.."),
    "Thursday after 4 pm": ("range", "2025-06-12T16:00.."),
    "two weeks starting tomorrow": ("range", "2025-06-19..2025-07-03"),
    "starting 3 May 2024 for 5 days": ("range", "2024-05-03..2024-05-08"),
    "year to date": ("range", "2025-01-01..2025-06-18"),
    "prior to 3 May 2024": ("range", "..2024-05-03"),
    "as late as 3 July 2025": ("range", "..2025-07-03"),
    ">= 2019": ("range", "2019-01-01.."),
    "<= 2019": ("range", "..2020-01-01"),
    "more than 2 weeks before 3 May 2024": ("range", "..2024-04-19"),
    "less than 5 days after tomorrow": ("range", "2025-06-19..2025-06-24"),
    "more than a year ago": ("range", "..2024-06-18"),
    "from the middle of March 2024 to the end of May 2024": ("range", "2024-03-16..2024-06-01"),
    "from 10 pm to 2 am yesterday": ("range", "2025-06-17T22:00..2025-06-18T02:00"),
    "between 3 May 2024 and now": ("range", "2024-05-03..2025-06-18"),
    "between now and seven o'clock pm": ("range", "2025-06-18T14:30..2025-06-18T19:00"),
    "later this week": ("range", "2025-06-18..2025-06-23"),
    "earlier this week": ("range", "2025-06-16..2025-06-18"),
    "later today": ("range", "2025-06-18T12:00..2025-06-19"),
    "late tomorrow": ("range", "2025-06-19T14:00..2025-06-20"),
    "early this afternoon": ("range", "2025-06-18T12:00..2025-06-18T14:00"),
    "early last winter": ("range", "2024-12-01..2024-12-31"),
    "the end of the month": ("range", "2025-06-21..2025-07-01"),
    "the past two quarters": ("range", "2024-10-01..2025-04-01"),
    "the next two decades": ("range", "2030-01-01..2050-01-01"),
    "within the last year": ("range", "2024-06-18..2025-06-18"),
    "within the next 2 days and 3 hours": ("range", "2025-06-18T14:30..2025-06-20T17:30"),
    "within 3 days": ("range", "2025-06-18..2025-06-21"),
    "the 3 next weeks": ("range", "2025-06-19..2025-07-10"),
    "2 years before 2020": ("year", "2018-01-01..2019-01-01"),
    "the last minute": ("range", "2025-06-18T14:29..2025-06-18T14:30"),
    "last hour": ("range", "2025-06-18T13:30..2025-06-18T14:30"),
    "this summer": ("season", "2025-06-01..2025-09-01"),
    "this winter": ("season", "2025-12-01..2026-03-01"),
    "next spring": ("season", "2026-03-01..2026-06-01"),
    "Labor Day weekend 2024": ("range", "2024-08-31..2024-09-03"),
    "the weekend of 3 May 2024": ("range", "2024-05-04..2024-05-06"),
    "the last weekend of May 2024": ("range", "2024-05-25..2024-05-27"),
    "Thursday 5-6 pm": ("range", "2025-06-12T17:00..2025-06-12T18:00"),
    "December 24-26": ("range", "2024-12-24..2024-12-26"),
    "in '95": ("year", "1995-01-01..1996-01-01"),
    "in May '95": ("month", "1995-05-01..1995-06-01"),
    "Sunday at 3-5": ("range", "2025-06-15T15:00..2025-06-15T17:00"),
    "on the 17 from 2pm to 4pm": ("range", "2025-06-17T14:00..2025-06-17T16:00"),
    "the 90's": ("decade", "1990-01-01..2000-01-01"),
    "next working week": ("range", "2025-06-23..2025-06-28"),
    "next calendar year": ("year", "2026-01-01..2027-01-01"),
    "last March": ("month", "2025-03-01..2025-04-01"),
    "in May 2024": ("month", "2024-05-01..2024-06-01"),
    "2024-05": ("month", "2024-05-01..2024-06-01"),
    "05/2024": ("month", "2024-05-01..2024-06-01"),
    "March of last year": ("month", "2024-03-01..2024-04-01"),
    "last month": ("month", "2025-05-01..2025-06-01"),
    "the month after next": ("month", "2025-08-01..2025-09-01"),
    "this week's plan": ("week", "2025-06-16..2025-06-23"),
    "the week before last": ("week", "2025-06-02..2025-06-09"),
    "the week of 3 May 2024": ("week", "2024-04-29..2024-05-06"),
    "week 20 of 2024": ("week", "2024-05-13..2024-05-20"),
    "2024-W20": ("week", "2024-05-13..2024-05-20"),
    "the first week of May 2024": ("week", "2024-04-29..2024-05-06"),
    "this weekend": ("range", "2025-06-21..2025-06-23"),
    "over the weekend": ("range", "2025-06-14..2025-06-16"),
    "2010-2015": ("range", "2010-01-01..2015-01-01"),
    "the weekend before last": ("range", "2025-06-07..2025-06-09"),
    "in 2019": ("year", "2019-01-01..2020-01-01"),
    "last year": ("year", "2024-01-01..2025-01-01"),
    "the year 1999": ("year", "1999-01-01..2000-01-01"),
    "Q2 2024": ("quarter", "2024-04-01..2024-07-01"),
    "the third quarter of 2024": ("quarter", "2024-07-01..2024-10-01"),
    "last quarter": ("quarter", "2025-01-01..2025-04-01"),
    "the second half of 2024": ("range", "2024-07-01..2025-01-01"),
    "last summer": ("season", "2024-06-01..2024-09-01"),
    "in the winter of 2023": ("season", "2023-12-01..2024-03-01"),
    "the 1990s": ("decade", "1990-01-01..2000-01-01"),
    "the '80s": ("decade", "1980-01-01..1990-01-01"),
    "the early nineties": ("range", "1990-01-01..1994-01-01"),
    "early May 2024": ("range", "2024-05-01..2024-05-10"),
    "mid-May 2024": ("range", "2024-05-10..2024-05-21"),
    "late May 2024": ("range", "2024-05-21..2024-06-01"),
    "at the end of 2024": ("range", "2024-09-01..2025-01-01"),
    "between 3 May and 7 May 2024": ("range", "2024-05-03..2024-05-07"),
    "from 3 to 7 May 2024": ("range", "2024-05-03..2024-05-07"),
    "May 3-7, 2024": ("range", "2024-05-03..2024-05-07"),
    "5/3/2024 - 5/7/2024": ("range", "2024-05-03..2024-05-07"),
    "from November 2023 until the end of February 2024": ("range", "2023-11-01..2024-03-01"),
    "between January and March last year": ("range", "2024-01-01..2024-03-01"),
    "from 2010 to 2015": ("range", "2010-01-01..2015-01-01"),
    "from Monday to Friday": ("range", "2025-06-16..2025-06-20"),
    "since May 2024": ("range", "2024-05-01.."),
    "since two weeks ago": ("range", "2025-06-04.."),
    "until the end of May 2024": ("range", "..2024-06-01"),
    "before 2019": ("range", "..2019-01-01"),
    "after 2019": ("range", "2020-01-01.."),
    "2019 or later": ("range", "2019-01-01.."),
    "the past 3 months": ("range", "2025-03-18..2025-06-18"),
    "the last 24 hours": ("range", "2025-06-17T14:30..2025-06-18T14:30"),
    "the next ten days": ("range", "2025-06-19..2025-06-29"),
    "the first ten days of May 2024": ("range", "2024-05-01..2024-05-11"),
    "for 3 days from 3 May 2024": ("range", "2024-05-03..2024-05-06"),
    "this morning": ("range", "2025-06-18T08:00..2025-06-18T12:00"),
    "last night": ("range", "2025-06-17T20:00..2025-06-18T00:00"),
    "Tuesday evening": ("range", "2025-06-17T16:00..2025-06-17T20:00"),
    "from 3 to 5 pm yesterday": ("range", "2025-06-17T15:00..2025-06-17T17:00"),
    "16:30-17:00 on 3 May 2024": ("range", "2024-05-03T16:30..2024-05-03T17:00"),
}

TIMES = {
    "45 minutes after 3 May 2024 9:00 am": ("instant", "2024-05-03T09:45"),
    "tomorrow at six forty-five pm": ("minute", "2025-06-19T18:45"),
    "twenty minutes past eight am tomorrow": ("minute", "2025-06-19T08:20"),
    "10, tonight": ("hour", "2025-06-18T22:00"),
    "first Monday 1pm of May 2024": ("hour", "2024-05-06T13:00"),
    "3 May 2024 at 9 am": ("hour", "2024-05-03T09:00"),
    "yesterday at noon": ("minute", "2025-06-17T12:00"),
    "tomorrow at half past seven am": ("minute", "2025-06-19T07:30"),
    "quarter to five pm yesterday": ("minute", "2025-06-17T16:45"),
    "at nine o'clock in the evening on 3 May 2024": ("hour", "2024-05-03T21:00"),
    "2024-05-03 14:05": ("minute", "2024-05-03T14:05"),
    "2024-05-03T14:05:09": ("instant", "2024-05-03T14:05:09"),
    "2024-05-03T14:05:09+02:00": ("instant", "2024-05-03T12:05:09"),
    "Fri, 3 May 2024 14:05:09 GMT": ("instant", "2024-05-03T14:05:09"),
    "3 May 2024 9:00 PST": ("minute", "2024-05-03T17:00"),
    "3 May 2024, 9:15 a.m. Asia/Tokyo": ("minute", "2024-05-03T00:15"),
    "last night at 9": ("hour", "2025-06-17T21:00"),
    "1.5 hours ago": ("instant", "2025-06-18T13:00"),
    "30 minutes ago": ("instant", "2025-06-18T14:00"),
    "two hours from now": ("instant", "2025-06-18T16:30"),
    "now": ("instant", "2025-06-18T14:30"),
}

NO_TIMES = [
    "It may rain, and we march on.",
    "The sun shone. One second, please: may I?",
    "Who is my second cousin?",
    "We sat, we wed, and we were second to none.",
    "June called; April and Jan did not.",
    "31 February 2024",
    "on 2024-02-30",
    "the 2/30/2024 report",
    "in the year 0",
    "year 0000",
    "13/13/2013",
    "3 May 2024 at 9:00 Mars/Olympus",
    "3 May 2024 25:99:00 UTC",
    "2000 shares at 12.50",
    "version 3.11 of 1.2.3.4",
    "at 10 Downing Street",
    "call 555-1234-567",
    "a 5-day trip with 2-year-old twins",
    "half a cup, 1/2 spoon, 5/5 stars, open 24/7",
    "We won 3-2.",
    "from 2 to 3 kg",
    "ran it in 9.58 seconds",
    "every Monday",
    "on Saturday mornings",
    "12 apples 2024",
    "99999999999999999999 days ago",
    "9999 years ago",
    "the 4th floor",
    "the first time",
    "the last 0 days",
    "the last day",
    "in 1080p, with sqrt(2a^2 - (15-12))",
    "it takes 10 minutes to one hour",
    "the fifth Monday of February 2024",
    "",
    "?!*\"' AND (OR",
    "😀🕘",
    "时",
]


@pytest.mark.parametrize(("text", "day"), DAYS.items())
def test_an_expression_of_a_day_means_that_day(text: str, day: str) -> None:
    assert (only(text).grain, only(text).interval) == ("day", span(day))


@pytest.mark.parametrize(("text", "grain", "stretch"), [(text, *wanted) for text, wanted in STRETCHES.items()])
def test_an_expression_of_a_stretch_means_its_start_and_end(text: str, grain: str, stretch: str) -> None:
    found = only(text)
    assert (found.grain, found.interval) == (grain, span(stretch))


@pytest.mark.parametrize(("text", "grain", "start"), [(text, *wanted) for text, wanted in TIMES.items()])
def test_an_expression_of_a_time_of_day_starts_then(text: str, grain: str, start: str) -> None:
    found = only(text)
    assert (found.grain, found.interval.start) == (grain, moment(start))


@pytest.mark.parametrize("text", NO_TIMES)
def test_words_without_a_time_and_impossible_times_are_no_signal(text: str) -> None:
    assert mentions(text, now=NOW) == []
    assert window(text, now=NOW) is None


def test_mentions_come_in_the_order_of_the_text_with_their_place() -> None:
    text = "Moved in May 2021; married on 3 May 2024 — and tomorrow we leave."
    found = mentions(text, now=NOW)
    assert [mention.text for mention in found] == ["May 2021", "3 May 2024", "tomorrow"]
    assert all(text[mention.begin : mention.stop] == mention.text for mention in found)


def test_no_more_mentions_than_the_limit() -> None:
    assert len(mentions("3 May 2024. " * 50, now=NOW, limit=4)) == 4


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("on 03/04/2024", ["2024-03-04", "2024-04-03"]),
        ("on 22/04", ["2025-04-22", "2026-04-22"]),
        ("we will go on 22/04", ["2026-04-22", "2025-04-22"]),
        ("on Monday", ["2025-06-16", "2025-06-23"]),
        ("12/11/30", ["2030-12-11", "1930-12-11", "2030-11-12", "1930-11-12"]),
        ("on 29 February", ["2024-02-29", "2028-02-29"]),
    ],
)
def test_an_ambiguous_day_keeps_all_readings_the_preferred_first(text: str, days: Sequence[str]) -> None:
    found = only(text)
    assert found.readings[0] == found.interval == span(days[0])
    assert set(found.readings) == {span(day) for day in days}


def test_an_hour_without_its_half_of_the_day_has_two_readings() -> None:
    starts = {reading.start for reading in only("3 May 2024 at 4").readings}
    assert starts == {moment("2024-05-03T04:00"), moment("2024-05-03T16:00")}


def test_today_is_the_day_of_the_callers_zone() -> None:
    late = datetime(2025, 6, 18, 23, 30, tzinfo=UTC)
    auckland, la = (
        only("today", late.astimezone(ZoneInfo(name))) for name in ("Pacific/Auckland", "America/Los_Angeles")
    )
    assert auckland.interval == span("2025-06-18T12:00..2025-06-19T12:00")
    assert la.interval == span("2025-06-18T07:00..2025-06-19T07:00")


def test_a_day_with_a_change_of_clocks_has_23_or_25_hours() -> None:
    now = NOW.astimezone(ZoneInfo("Europe/Berlin"))
    for text, hours in (("30 March 2025", 23), ("26 October 2025", 25)):
        interval = only(text, now).interval
        assert interval.start
        assert interval.end
        assert interval.end - interval.start == timedelta(hours=hours)


def test_a_day_whose_midnight_is_left_out_begins_behind_the_change() -> None:
    cairo = NOW.astimezone(ZoneInfo("Africa/Cairo"))
    assert only("25 April 2025", cairo).interval.start == moment("2025-04-24T22:00")


def test_a_clock_time_that_a_change_leaves_out_is_no_signal() -> None:
    assert mentions("30 March 2025 at 02:30", now=NOW.astimezone(ZoneInfo("Europe/Berlin"))) == []


def test_a_clock_time_that_a_change_repeats_has_two_readings() -> None:
    found = only("26 October 2025 at 02:30", NOW.astimezone(ZoneInfo("Europe/Berlin")))
    assert [reading.start for reading in found.readings] == [moment("2025-10-26T00:30"), moment("2025-10-26T01:30")]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("What did Ada say in May 2024?", "2024-05-01..2024-06-01"),
        ("What did we do between March and May 2024?", "2024-03-01..2024-06-01"),
        ("Where was I from 3 to 7 May 2024?", "2024-05-03..2024-05-08"),
        ("Who came by 3 May 2024?", "..2024-05-04"),
        ("What happened two weeks ago?", "2025-06-01..2025-06-09"),
        ("Which book did I read in March and April 2024?", "2024-03-01..2024-05-01"),
        ("What did I buy in the past month?", "2025-05-18T14:30..2025-06-18T14:30"),
        ("What did I say last week about the contract of 2019?", "2025-06-09..2025-06-16"),
        ("What did I eat yesterday evening?", "2025-06-17T17:00..2025-06-17T23:00"),
        ("What happened on 3 May 2024 at 14:00?", "2024-05-03T13:30..2024-05-03T14:30"),
    ],
)
def test_a_question_asks_about_one_window(query: str, wanted: str) -> None:
    assert window(query, now=NOW) == span(wanted)


@pytest.mark.parametrize("query", ["Where am I living now?", "Who called at 5?", "What is my job?", "May I march?"])
def test_a_question_without_a_date_has_no_window(query: str) -> None:
    assert window(query, now=NOW) is None


@given(st.text(max_size=200), st.datetimes(timezones=st.sampled_from([UTC, ZoneInfo("Africa/Cairo")])))
def test_no_text_and_no_moment_makes_it_fail(text: str, now: datetime) -> None:
    mentions(text, now=now)
    window(text, now=now)


WORDS = (
    "the last next this first of in on at from to and between since until before after 3 12 31 99 2024 0000 9999 - / "
    ": . , ' may march monday sun week weeks weekend day days ago am pm half past quarter q4 late mid end summer "
    "christmas tonight now years century twenty two couple noon st th utc + w 2025-02-30 30/02 24:00 1990s decade "
    "hours from"
)


@given(
    st.lists(st.sampled_from(WORDS.split()), max_size=14),
    st.sampled_from([NOW, datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]),
)
def test_no_order_of_time_words_makes_it_fail_or_gives_a_backward_stretch(words: list[str], now: datetime) -> None:
    text = " ".join(words)
    for mention in mentions(text, now=now):
        assert mention.grain in GRAINS
        assert mention.readings[0] == mention.interval
        assert text[mention.begin : mention.stop] == mention.text
        for reading in mention.readings:
            assert reading.start is None or reading.end is None or reading.start < reading.end


@given(st.dates(min_value=date(1900, 1, 1), max_value=date(2199, 12, 31)))
def test_a_written_date_is_read_back(day: date) -> None:
    for text in (f"{day:%Y-%m-%d}", f"{day:%d %B %Y}", f"{day:%B %d, %Y}", f"{day:%A}, {day:%d %b %Y}"):
        assert only(text).interval == span(day.isoformat())


@pytest.mark.parametrize(
    "unit",
    ["may ", "the week of ", "1:", "1 ", "3 days before ", "12 apples 2024 ", "between 3 and ", "x", "时", "😀 "],
)
def test_a_text_of_a_megabyte_is_read_in_a_second(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    start = time.thread_time()
    mentions(text, now=NOW)
    assert time.thread_time() - start < 1.0


def test_threads_read_alike() -> None:
    text = "3 mai 2024, then last Friday, then 7 мая 2021 in 2019"
    alone, found = mentions(text, now=NOW), []
    threads = [threading.Thread(target=lambda: found.append(mentions(text, now=NOW))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [alone] * 8
