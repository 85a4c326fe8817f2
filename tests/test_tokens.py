"""The token counters against the laws, against reference counts and against the formulas."""

import math
import random
import subprocess
import sys
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import ConfigurationError
from mnemic.ports import ITokenCounter
from mnemic.testing import requirement
from mnemic.testing.counter_suite import CounterSuite
from mnemic.tokens import Anthropic, Tiktoken, Word, for_provider

# Counts of cl100k and o200k, made once with another implementation than the one under test (bpe-openai 0.1.4).
REFERENCE = [
    ("hello", 1, 1),
    ("Hello, world!", 4, 4),
    ("The kettle whistled twice before anyone came.", 10, 10),
    ("don't WON'T It's we'LL", 9, 7),
    ("x = foo(bar)[3]  # a comment", 11, 11),
    ("    return None\n\n\n", 4, 4),
    ("1234567890 3.14159 2026-11-30T08:15:00Z", 23, 23),
    ("/usr/share/doc/README.txt", 6, 6),
    ("https://example.org/a?b=c&d=%20", 12, 12),
    ("<|endoftext|> and </s>", 11, 11),
    ("naïve café, größer, señor", 10, 8),
    ("Завтра будет дождь.", 10, 7),
    ("\u0397 θάλασσα είναι ήρεμη.", 21, 10),
    ("今日は雨が降っています。", 11, 6),
    ("明天的会议改到下午三点。", 12, 10),
    ("오늘은 비가 옵니다.", 10, 7),
    ("مرحبا بالعالم", 10, 4),
    ("नमस्ते दुनिया", 13, 5),
    ("👩\u200d👩\u200d👧\u200d👦 🇩🇪 👍🏽 ❤️", 31, 19),
    ("tab\tand\r\nlines \xa0 end   ", 7, 7),
    ("é ﬁ ǅ \u02bcn \u017f's", 14, 12),
    ("antidisestablishmentarianism", 6, 6),
    ("z" * 1_000, 500, 500),
    ("qwertyuiop" * 300, 1200, 1500),
    ("雨天" * 1_000, 3000, 2000),
    ("🎉🌙" * 500, 3000, 2000),
    (" " * 700, 6, 6),
    ("Ab1 " * 400, 801, 801),
]


class TestCl100k(CounterSuite):
    def make(self) -> ITokenCounter:
        return Tiktoken("cl100k")


class TestO200k(CounterSuite):
    def make(self) -> ITokenCounter:
        return Tiktoken("o200k")


class TestAnthropic(CounterSuite):
    def make(self) -> ITokenCounter:
        return Anthropic()


class TestWord(CounterSuite):
    def make(self) -> ITokenCounter:
        return Word()


@requirement("REQ-010-041", "FR-011.1")
@pytest.mark.parametrize(("text", "cl100k", "o200k"), REFERENCE)
def test_tiktoken_counts_equal_the_reference(text: str, cl100k: int, o200k: int) -> None:
    assert Tiktoken("cl100k").count(text) == cl100k
    assert Tiktoken("o200k").count(text) == o200k


@requirement("REQ-010-041")
@pytest.mark.parametrize(
    ("name", "counter", "estimated"),
    [
        ("openai", "o200k", False),
        ("tiktoken", "o200k", False),
        ("gpt-4o-mini", "o200k", False),
        ("gpt-4.1", "o200k", False),
        ("gpt-5", "o200k", False),
        ("openai/o3", "o200k", False),
        ("gpt-4", "cl100k", False),
        ("gpt-4-turbo", "cl100k", False),
        ("GPT-3.5-turbo", "cl100k", False),
        ("cl100k_base", "cl100k", False),
        ("text-embedding-3-small", "cl100k", False),
        ("anthropic", "anthropic", True),
        ("claude-sonnet-4-5", "anthropic", True),
        ("word", "word", True),
        ("mistral", "word", True),
        ("", "word", True),
        (None, "word", True),
    ],
)
def test_a_provider_gets_its_counter_and_an_unknown_one_counts_words(
    name: str | None, counter: str, estimated: bool
) -> None:
    found = for_provider(name)
    assert (found.name, found.estimated) == (counter, estimated)


@requirement("FR-011.1")
@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("anthropic", 1.53),
        ("claude", 1.53),
        ("claude-instant-1.2", 1.18),
        ("claude-3-5-sonnet-20241022", 1.18),
        ("claude-sonnet-4-20250514", 1.18),
        ("anthropic/claude-opus-4-6", 1.18),
        ("claude-opus-4-7", 1.53),
        ("claude-opus-5", 1.53),
    ],
)
def test_a_named_older_model_has_the_smaller_factor(name: str, factor: float) -> None:
    text = "Forty words or so would be needed to tell the factors apart, and these are enough. " * 3
    assert for_provider(name).count(text) == math.ceil(Tiktoken("o200k").count(text) * factor)


@requirement("FR-011.1")
def test_the_anthropic_factor_is_configurable_and_at_least_one() -> None:
    text = "a configurable factor"
    assert for_provider("claude-opus-4-6", factor=2.0).count(text) == 2 * Tiktoken("o200k").count(text)
    for factor in (0.0, 0.5, math.nan, math.inf):
        with pytest.raises(ConfigurationError, match="anthropic_factor"):
            for_provider("anthropic", factor=factor)


@requirement("FR-011.1")
@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        (" \n ", 0),
        ("a", 2),  # 1.3
        ("a b c", 4),  # 3.9
        ("abcdefgh", 2),  # 8 / 4
        ("abcdefghi", 3),  # 9 / 4
        ("é", 2),  # max(1.3, 2 / 2)
        ("été là", 4),  # 5 / 2 + 3 / 2
        ("日本語", 5),  # 9 / 2
        ("four five 日本", 6),  # 1.3 + 1.3 + 3
    ],
)
def test_the_word_formula_holds_value_by_value(text: str, tokens: int) -> None:
    assert Word().count(text) == tokens


@requirement("FR-011.1")
@given(st.text(max_size=200))
def test_the_anthropic_estimate_is_the_factor_times_o200k_below_the_bytes(text: str) -> None:
    expected = min(math.ceil(Tiktoken("o200k").count(text) * 1.53), len(text.encode()))
    assert Anthropic().count(text) == expected


def test_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="p50k"):
        Tiktoken("p50k")


@requirement("FR-011")
def test_what_is_remembered_of_counted_text_is_bounded() -> None:
    counter, letters = Tiktoken("o200k"), random.Random(5)
    counter.count("loads the data")
    words = ["".join(letters.choices("bcdfghjklmnpqrstvwxz", k=50)) for _ in range(10_000)]
    tracemalloc.start()
    try:
        for word in words:
            counter.count(f"{word}, {word}")
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept_bytes < 2_000_000


@requirement("REQ-010-041")
def test_counting_needs_no_network() -> None:
    code = (
        "import socket\n"
        "def refuse(*_, **__): raise AssertionError('a socket was opened')\n"
        "socket.socket = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from mnemic.tokens import for_provider\n"
        "print([for_provider(name).count('no network is needed') for name in ('gpt-4', 'gpt-4o', 'claude', None)])\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[4, 4, 7, 6]"
