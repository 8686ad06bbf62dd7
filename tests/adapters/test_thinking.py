"""Thinking text is removed wherever the pieces of a stream are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.thinking import ThinkingFilter, without_thinking


def filtered(pieces: list[str]) -> str:
    thinking = ThinkingFilter()
    return "".join([*(thinking.feed(piece) for piece in pieces), thinking.finish()])


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("こんにちは", "こんにちは"),
        ("<think>考え</think>\n\nはい", "はい"),
        ("<THINK>x</Think>yes", "yes"),
        ("a <think>b</think>c", "a c"),
        ("<think>a</think><think>b</think>c", "c"),
        ("<think>a < b, <b>c</b></think>d", "d"),
        ("<think>never closed", ""),
        ("1 < 2 and <b>bold</b>", "1 < 2 and <b>bold</b>"),
        (
            "the tag `<think>` opens, `</think>` closes",
            "the tag `<think>` opens, `</think>` closes",
        ),
        ("ends with <thi", "ends with <thi"),
        ("ends with `", "ends with `"),
        ("a</think>b", "ab"),
        ("   \n x ", "x "),
    ],
)
def test_takes_out_thinking_only(text: str, answer: str) -> None:
    assert filtered([text]) == answer
    assert filtered(list(text)) == answer


@given(
    st.lists(
        st.sampled_from(
            [
                "<think>",
                "</think>",
                "<thinking>",
                "</thought>",
                "`",
                "<",
                "thi",
                "nk>",
                "猫",
                " ",
                "\n",
                "x",
            ]
        ),
        max_size=30,
    ),
    st.data(),
)
def test_the_cuts_between_pieces_make_no_difference(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    edges = [0, *cuts, len(text)]
    pieces = [text[a:b] for a, b in pairwise(edges)]
    assert filtered(pieces) == filtered([text])


@given(st.text(alphabet="ab<>/think 猫`", max_size=40), st.text(alphabet="xyz 犬", max_size=20))
def test_nothing_that_was_thought_is_said(thought: str, said: str) -> None:
    hidden = thought.replace("</think>", "")
    assert filtered([f"<think>{hidden}", "</think>", said]) in (said.lstrip(), "")


def test_a_piece_is_passed_on_as_soon_as_it_cannot_be_a_tag() -> None:
    thinking = ThinkingFilter()
    assert [thinking.feed(piece) for piece in ("Hi ", "<", "b", "> you")] == [
        "Hi ",
        "",
        "",
        "<b> you",
    ]


def test_a_closing_tag_alone_ends_thinking_that_the_prompt_began() -> None:
    assert without_thinking('I should say {}.\n</think>\n\n{"a": 1}') == '{"a": 1}'
    assert without_thinking("<think>a</think>b") == "b"
