"""What must every token counter do?"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemic.ports import ITokenCounter
from mnemic.testing.marks import requirement

__all__ = ["CounterSuite"]

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|fim_prefix|>", "[CLS]", "[SEP]", "</s>")
FAMILY = "👨‍👩‍👧‍👦"
WHOLE = (FAMILY, "👍🏽", "🇩🇪", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "e\u0301", "❤️", "कि")  # each one character to its reader
SAMPLES = (
    "A plain sentence, with some punctuation; and 12345 numbers!",
    "Ein Satz mit Umlauten: größer, schöner, wärmer.",
    "東京は今日も雨です。明日は晴れるでしょう。",
    "مرحبا بالعالم، كيف حالك اليوم؟",
    f"emoji {FAMILY} and 🇩🇪🇫🇷 and 👍🏽 between words",
    "def f(x):\n\treturn {'a': x[0], \"b\": x ** 2}\n\n\n",
    "   leading and trailing   ",
    "x" * 3_000,
    "的" * 2_000,
    FAMILY * 200,
)
TEXTS = st.one_of(
    st.text(max_size=120),
    st.lists(st.sampled_from([*WHOLE, *SPECIAL, "word", " ", "\n\n", "中文", "don't", "1234567"]), max_size=40).map(
        "".join
    ),
)
BUDGETS = st.integers(min_value=-2, max_value=60)
_inherited = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors]
)


class CounterSuite:
    """Inherit, and give `make`."""

    def make(self) -> ITokenCounter:
        """Return a counter."""
        raise NotImplementedError

    @pytest.fixture
    def counter(self) -> ITokenCounter:
        """Return what `make` returns."""
        return self.make()

    @requirement("FR-011")
    def test_the_empty_text_has_no_token(self, counter: ITokenCounter) -> None:
        assert counter.count("") == 0
        assert counter.truncate("", 5) == ""

    @requirement("FR-011")
    @_inherited
    @given(text=TEXTS, budget=BUDGETS)
    def test_truncate_obeys_its_laws(self, counter: ITokenCounter, text: str, budget: int) -> None:
        _assert_lawful(counter, text, budget)

    @requirement("FR-011")
    @pytest.mark.parametrize("text", SAMPLES)
    def test_truncate_obeys_its_laws_on_real_text(self, counter: ITokenCounter, text: str) -> None:
        count = counter.count(text)
        for budget in (-1, 0, 1, 2, 3, 7, 19, count // 2, count - 1, count, count + 1):
            _assert_lawful(counter, text, budget)

    @requirement("FR-011")
    @pytest.mark.parametrize("whole", WHOLE)
    def test_truncate_never_splits_what_is_one_character_to_its_reader(
        self, counter: ITokenCounter, whole: str
    ) -> None:
        text = f"{whole}{whole} and {whole}" * 5
        for budget in range(counter.count(text)):
            cut = counter.truncate(text, budget)
            assert text.startswith(cut)
            rest = text[len(cut) :]
            assert any(rest.startswith(start) for start in (whole, " ", "a", "n", "d"))

    @requirement("D37", "FR-011")
    @pytest.mark.parametrize("text", SPECIAL)
    def test_special_token_text_is_plain_text(self, counter: ITokenCounter, text: str) -> None:
        assert 0 < counter.count(text) <= len(text.encode())
        assert counter.count(f"before {text} after") > counter.count("before  after")
        assert counter.truncate(text, 100) == text

    @requirement("FR-011")
    def test_eight_threads_count_alike(self, counter: ITokenCounter) -> None:
        expected = [counter.count(text) for text in SAMPLES]
        with ThreadPoolExecutor(8) as threads:
            for counts in threads.map(lambda _: [counter.count(text) for text in SAMPLES], range(8)):
                assert counts == expected

    @requirement("FR-011")
    def test_a_long_text_without_a_space_is_counted_in_time(self, counter: ITokenCounter) -> None:
        for piece in ("abcdefghij", "天地玄黄宇宙洪荒", "😀🎉"):
            assert counter.count(piece * 5_000) >= 5_000


def _assert_lawful(counter: ITokenCounter, text: str, budget: int) -> None:
    """Assert the laws of FR-011 for one text and one budget."""
    cut = counter.truncate(text, budget)
    assert text.startswith(cut)
    assert counter.count(cut) <= max(0, budget)
    assert counter.truncate(cut, budget) == cut
    assert cut.encode() == text.encode()[: len(cut.encode())]
    if budget <= 0:
        assert cut == ""
    elif counter.count(text) <= budget:
        assert cut == text
