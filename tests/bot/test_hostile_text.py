"""No text keeps the patterns busy: what reads every message must not be stopped by one.

The deadline is no measurement: patterns that try a run again at each of its places take minutes
or years on these texts, and fractions of a second otherwise.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from types import FrameType

import pytest

from bot.forget_request import wanted
from bot.phrases import phrase
from bot.reminders import wish
from memory import tokens
from memory.analysis import question, read, resolve_time, statements
from memory.redaction import redact

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
LENGTH = 40_000
DEADLINE = 60
"""Seconds of this process's own time for all of the texts together."""

READERS: dict[str, Callable[[str], object]] = {
    "plain words": phrase,
    "redaction": redact,
    "statements": lambda text: statements(text, speaker_name="Taro"),
    "question": question,
    "sentence": read,
    "reminder": lambda text: wish(f"remind me {text}", NOW, "UTC"),
    "what to forget": lambda text: wanted(text, NOW, "UTC"),
    "a time": lambda text: [resolve_time(text, NOW, "UTC", code) for code in ("en", "ja")],
    "keywords": tokens.terms,
}
REPEATED = (
    *(" ", "\n", "\u3000", "a\n", "a ", "1", "１", "0,", "十", "一", "九", "/", "//", "://a:", "_"),
    *("sk-", "sk-a-", "PIN", "api key ", "password is ", "パスワードは", "`a", "``a", "```", '"'),
    *("http://", "<http://a>", "https://a ", "> ", "- ", "in ", "last ", "february 31 ", "「", "["),
    *("のこと", "、", "を", "覚えて", "忘れて", "について", "that's wrong, ", "=", "{;"),
    "remember ",
    *("\u202e", "\u0301", "\u200b", "😀", "ﷺ", "\ud800"),
)
BEGINNINGS = ("", "key", "bearer", "password", "I like ", "私は")
ENDINGS = ("", " x", "x!", "あ", "月", "\n")


@pytest.fixture(autouse=True)
def _deadline() -> Iterator[None]:
    def late(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"not done after {DEADLINE} seconds of work")

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, DEADLINE)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize("reader", READERS)
def test_no_text_takes_for_ever(reader: str) -> None:
    for number, unit in enumerate(REPEATED):
        body = (unit * LENGTH)[:LENGTH]
        READERS[reader](f"{BEGINNINGS[number % 6]}{body}{ENDINGS[number // 6 % 6]}")


def test_spaces_after_a_label_do_not() -> None:
    for label in ("key", "api key", "token =", "bearer", "password", "パスワードは"):
        for space in (" ", "\u3000", "\n"):
            redact(f"{label}{space * LENGTH}x")


def test_a_secret_behind_a_wide_gap_is_still_found() -> None:
    assert "hunter2!" not in redact(f"password:{' ' * 40}hunter2!").text
    assert "a1b2c3d4e5f6g7h8" not in redact(f"API key:{' ' * 40}a1b2c3d4e5f6g7h8").text


def test_a_command_keeps_its_words_and_full_stops() -> None:
    said = phrase("  remember that I like   tea. \n")
    assert said is not None
    assert said.argument == "I like   tea."
    assert phrase("forget   \n") is None
    assert phrase("remember  when we met") is None
