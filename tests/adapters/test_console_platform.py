"""What is typed at the terminal, as it becomes a message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.console_platform import clean, printable


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("I live in Osaka\x1b[A", "I live in Osaka"),
        ("大阪\x1b[Dに\x1bOC住んでいます\x1b[1;5C", "大阪に住んでいます"),
        ("\x1b[200~pasted\nwords\x1b[201~", "pasted\nwords"),
        ("\x1b[31mred\x1b[0m\x07, \x9b1mbold", "red, bold"),
        ("\x1b]0;a title\x07猫\x1b]8;;https://example.com\x1b\\link", "猫link"),
        ("\x9d0;a title\x9cword", "word"),
        ("a\0b\x08c\x7fd\x85e\x1b", "abcde"),
        ("one\ttwo\r\n三", "one\ttwo\n三"),
        ("caf\udce9!", "caf\ufffd\ufffd\ufffd!"),
        ("[A ^[[A 😀 か\u3099", "[A ^[[A 😀 か\u3099"),
    ],
)
def test_what_keys_send_is_no_part_of_the_words(typed: str, text: str) -> None:
    assert clean(typed) == text


@given(st.text(st.characters() | st.sampled_from("\x1b[]O;0AP\\\x07\x90\x9b\x9c\x9d")))
def test_what_is_left_steers_no_terminal_and_stays_as_it_is(typed: str) -> None:
    left = clean(typed)
    assert printable(left) == left
    assert clean(left) == left
    left.encode("utf-8")


def test_many_sequences_that_never_end_are_read_once() -> None:
    for start in ("\x1b]", "\x90", "\x1b[", "\x1bP0"):
        assert "\x1b" not in clean(start * 100_000)
