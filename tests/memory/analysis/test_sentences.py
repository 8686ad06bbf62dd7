"""`split`: the author's own sentences, at their place in the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.analysis import split


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("I live in Osaka. I like cats!", ["I live in Osaka.", "I like cats!"]),
        ("Dr. Sato pays 3.50 for it. Fine.", ["Dr. Sato pays 3.50 for it.", "Fine."]),
        ("大阪に住んでいます。猫が好き！", ["大阪に住んでいます。", "猫が好き！"]),
        ("そうですね。3人です。", ["そうですね。", "3人です。"]),
        ("My name is Taro。大阪に住んでいます。", ["My name is Taro。", "大阪に住んでいます。"]),
        ("「明日行く。」と彼は言った。", ["「明日行く。」と彼は言った。"]),
        ("- I like tea\n- I like coffee", ["I like tea", "I like coffee"]),
        ("・紅茶が好き\n・珈琲も好き", ["紅茶が好き", "珈琲も好き"]),
        ("1. first thing\n2) second thing", ["first thing", "second thing"]),
        ("I moved to a house\nnear the sea.", ["I moved to a house\nnear the sea."]),
        ("I use `vim` at work.", ["I use `vim` at work."]),
        ("😀 I have 3 cats. 東京です。", ["😀 I have 3 cats.", "東京です。"]),
        ("", []),
        (" \n\t ", []),
        ("!!! ...", []),
    ],
)
def test_gives_each_sentence(text: str, sentences: list[str]) -> None:
    assert [sentence.text for sentence in split(text)] == sentences


@pytest.mark.parametrize(
    "pasted",
    [
        "```\nI live in Berlin.\n```",
        "```python\nname = 'Bob'",
        "~~~\nI live in Berlin.\n~~~",
        "> I live in Berlin.",
        "&gt; I live in Berlin.",
        ">>> I live in Berlin.\nAnd I like dogs.",
        "`I live in Berlin`",
        "2026-05-01 10:00:00 ERROR user lives in Berlin",
        "[10:32] bob: I live in Berlin",
        'Traceback (most recent call last):\n  File "a.py", line 3\nValueError: I live in Berlin',
        "    at com.example.Main.run(Main.java:12)",
        "$ echo I live in Berlin",
        "ERROR: cannot reach Berlin",
        'const home = "Berlin";',
        "https://example.com/berlin",
        "<https://example.com/berlin>",
        "On Monday Bob wrote:\n> I live in Berlin.",
    ],
)
def test_leaves_out_what_was_only_pasted(pasted: str) -> None:
    kept = split(f"I like tea.\n{pasted}")
    assert [sentence.text for sentence in kept] == ["I like tea."]


def test_words_after_a_code_block_are_the_authors_again() -> None:
    text = "見てください。\n```\nx = 1\n```\n大阪に住んでいます。"
    assert [s.text for s in split(text)] == ["見てください。", "大阪に住んでいます。"]


_PIECES = st.sampled_from(
    [
        "I live in Osaka. ",
        "猫が好き。",
        "\n",
        "> quoted\n",
        "```\n",
        "`code` ",
        "- ",
        "😀",
        "\ud800",
        "？",
        " ",
        "ok",
        "「",
        "」",
        "3",
        "\u200b",
    ]
)


@given(st.lists(_PIECES | st.text(max_size=8), max_size=12).map("".join))
def test_spans_point_at_the_text_in_order_without_overlap(text: str) -> None:
    end = 0
    for sentence in split(text):
        assert text[sentence.span.start : sentence.span.end] == sentence.text
        assert sentence.span.start >= end
        assert sentence.text == sentence.text.strip()
        end = sentence.span.end
