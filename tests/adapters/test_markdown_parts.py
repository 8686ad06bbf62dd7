"""Splitting Markdown: every part renders on its own and nothing is lost."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.markdown_parts import MIN_LIMIT, split_markdown, utf8_length, utf16_length

FENCE_LINE = re.compile(r"(?m)^[ \t>]*(?:[-*+] |\d+\. )?(`{3,}|~{3,}).*$")


def without_fences_and_space(text: str) -> str:
    return re.sub(r"\s+", "", FENCE_LINE.sub("", text))


def open_fences(part: str) -> int:
    return len(FENCE_LINE.findall(part)) % 2


def test_short_text_is_one_part() -> None:
    assert split_markdown("こんにちは", 200) == ["こんにちは"]


@pytest.mark.parametrize("text", ["", " ", "\n\n \n"])
def test_blank_text_has_no_parts(text: str) -> None:
    assert split_markdown(text, 200) == []


def test_limit_too_small_for_a_fence_is_refused() -> None:
    with pytest.raises(ValueError, match=str(MIN_LIMIT)):
        split_markdown("a", MIN_LIMIT - 1)


def test_breaks_between_paragraphs_when_there_are_some() -> None:
    first, second = "a" * 120, "b" * 120
    assert split_markdown(f"{first}\n\n{second}", 200) == [first, second]


def test_breaks_japanese_after_a_full_stop() -> None:
    sentence = "これは長い文章です。"
    parts = split_markdown(sentence * 60, 200)
    assert all(part.endswith("。") for part in parts)
    assert "".join(parts) == sentence * 60


def test_japanese_part_never_begins_with_punctuation_or_small_kana() -> None:
    text = "ちょっとキャッチコピーをつくってみたよっ「ねえ」ー" * 40
    for part in split_markdown(text, MIN_LIMIT)[1:]:
        assert part[0] not in "ょっャーよ」" or part[0] == "よ"


def test_code_block_is_closed_and_reopened_with_its_language() -> None:
    code = "\n".join(f"print({n})  # 表示" for n in range(100))
    parts = split_markdown(f"Here:\n\n```python\n{code}\n```\n\nDone.", 400)
    assert len(parts) > 3
    assert all(part.startswith("```python\n") for part in parts[1:-1])
    assert all(open_fences(part) == 0 for part in parts)
    lines = [line for part in parts for line in part.split("\n") if line.startswith("print")]
    assert lines == code.split("\n")


def test_code_that_fits_in_the_next_part_is_not_cut() -> None:
    code = "```sh\n" + "\n".join(["ls -l"] * 20) + "\n```"
    parts = split_markdown("word " * 30 + "\n\n" + code, 200)
    assert code in parts


def test_longer_fence_may_contain_a_shorter_one() -> None:
    text = "````md\n" + "```js\nlet a = 1\n```\n" * 30 + "````"
    parts = split_markdown(text, 200)
    assert all(part.startswith("````md\n") and part.endswith("\n````") for part in parts)


def test_fence_in_a_list_keeps_its_indent() -> None:
    text = "1. ```py\n" + "   x = 1\n" * 60 + "   ```\nafter"
    parts = split_markdown(text, 200)
    assert parts[0].endswith("\n   ```")
    assert parts[1].startswith("   ```py\n")
    assert parts[-1].endswith("after")


def test_fence_left_open_is_closed() -> None:
    assert split_markdown("```py\nx = 1", 200) == ["```py\nx = 1\n```"]


def test_link_and_bold_are_kept_whole_when_they_fit() -> None:
    link = "[議事録の全文はこちら](https://example.com/a/b/c?d=e)"
    text = " ".join(["short words here", link, "**太字の 強調**"] * 20)
    parts = split_markdown(text, 200)
    assert sum(part.count(link) for part in parts) == 20
    assert sum(part.count("**太字の 強調**") for part in parts) == 20


@pytest.mark.parametrize("cluster", ["👩‍👩‍👧", "が", "👍🏽", "🇯🇵", "葛󠄀"])
def test_what_a_reader_sees_as_one_character_is_not_cut(cluster: str) -> None:
    for part in split_markdown(cluster * 100, MIN_LIMIT):
        assert part.replace(cluster, "") == ""


markdown_lines = st.one_of(
    st.text(alphabet="ab 。、「」ー*_[]()`~>あ漢👍🏽\u200dが-1.", max_size=300),
    st.sampled_from(["```", "```python", "~~~~", "- ```js title", "> ```", "", "````", "``` `x`"]),
    st.just("https://example.com/" + "x" * 400),
)


@given(
    text=st.lists(markdown_lines, max_size=25).map("\n".join),
    limit=st.integers(MIN_LIMIT, 500),
    measure=st.sampled_from([len, utf8_length, utf16_length]),
)
def test_no_part_is_over_the_limit_or_blank_and_nothing_is_lost(
    text: str, limit: int, measure: object
) -> None:
    assert callable(measure)
    parts = split_markdown(text, limit, measure=measure)
    assert all(measure(part) <= limit and part.strip() for part in parts)
    wanted = without_fences_and_space(text)
    got = without_fences_and_space("\n".join(parts))
    if not FENCE_LINE.search(text):
        assert got == wanted


@given(
    code=st.lists(st.text(alphabet="abc d=()あ", min_size=1, max_size=120), max_size=60),
    before=st.text(alphabet="word 文。\n", max_size=400),
    limit=st.integers(MIN_LIMIT, 600),
)
def test_every_part_of_a_text_with_code_is_balanced(
    code: list[str], before: str, limit: int
) -> None:
    text = before + "\n```rust\n" + "\n".join(code) + "\n```\nend"
    parts = split_markdown(text, limit)
    assert all(open_fences(part) == 0 for part in parts)
    assert without_fences_and_space("\n".join(parts)) == without_fences_and_space(text)
    for part, following in pairwise(parts):
        if part.endswith("\n```") and following.startswith("```"):
            assert following.startswith("```rust")
