"""Chunks are small enough, end at sentences, and know where they come from."""

from __future__ import annotations

import math
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import chunking
from memory.chunking import MIN_TOKENS, Chunk, chunk_document
from memory.reading import Document, MediaType, Page


def count_tokens(text: str) -> int:
    """Roughly what multilingual models count: a token a Japanese character, 4 Latin ones."""
    return math.ceil(sum(1.0 if char > "\u2e7f" else 0.25 for char in text))


def document(*pages: Page, title: str = "社内ハンドブック") -> Document:
    return Document(title, MediaType.TEXT, pages)


def chunks(text: str, max_tokens: int = 64, headings: tuple[str, ...] = ()) -> list[Chunk]:
    return chunk_document(
        document(Page(None, headings, text)), max_tokens=max_tokens, count_tokens=count_tokens
    )


JAPANESE = "".join(
    f"第{number}の規則では、休暇は前日までに申し出ること。理由は「私用です。」だけでよい。"
    for number in range(40)
)
ENGLISH = " ".join(
    f"Rule {number} says that leave is asked for one day ahead. No reason is needed, Mr. Sato."
    for number in range(40)
)


@pytest.mark.parametrize("text", [JAPANESE, ENGLISH], ids=["ja", "en"])
def test_chunks_end_at_sentences(text: str) -> None:
    pieces = chunks(text)
    assert len(pieces) > 10
    assert all(re.search(r"[。.]」?$", piece.text) for piece in pieces)


def test_short_page_is_one_chunk_with_its_place() -> None:
    page = Page(7, ("第三章", "Leave"), "休暇は十日とする。")
    (chunk,) = chunk_document(document(page), max_tokens=64, count_tokens=count_tokens)
    assert (chunk.page, chunk.section, chunk.headings) == (7, 0, ("第三章", "Leave"))
    assert (chunk.start, chunk.end, chunk.text) == (0, 9, "休暇は十日とする。")
    assert chunk.passage == "社内ハンドブック > 第三章 > Leave\n休暇は十日とする。"


def test_no_chunk_crosses_a_page() -> None:
    pages = [Page(number, (), f"{number}ページ目の文。") for number in (1, 2, 3)]
    found = chunk_document(document(*pages), max_tokens=500, count_tokens=count_tokens)
    assert [(chunk.page, chunk.section) for chunk in found] == [(1, 0), (2, 1), (3, 2)]


def test_passage_is_normalised_and_text_is_the_authors() -> None:
    (chunk,) = chunks("⼀つのＶＰＮとﾏﾆｭｱﾙ")
    assert chunk.text == "⼀つのＶＰＮとﾏﾆｭｱﾙ"
    assert chunk.passage.endswith("一つのVPNとマニュアル")


def test_long_table_repeats_its_header_row_in_the_passage() -> None:
    header = "| 名前 | city |"
    rows = "\n".join(f"| 佐藤{number} | Osaka {number} |" for number in range(60))
    pieces = chunks(f"前置き。\n\n{header}\n| --- | --- |\n{rows}\n\n後書き。")
    inside = [piece for piece in pieces if piece.text.startswith("| 佐藤")]
    assert len(inside) > 5
    assert all(piece.columns == header and header in piece.passage for piece in inside)
    assert pieces[0].columns == ""
    assert pieces[0].text.startswith("前置き。")


def test_context_gives_up_the_outermost_names_first() -> None:
    headings = tuple(f"とても長い見出しの第{number}番" for number in range(9))
    (chunk,) = chunks("本文。", headings=headings)
    assert chunk.headings == headings
    assert chunk.context.endswith(headings[-1])
    assert count_tokens(chunk.context) <= 16


def test_endless_title_is_cut_to_its_share() -> None:
    found = chunk_document(
        document(Page(None, (), JAPANESE), title="長" * 5_000),
        max_tokens=64,
        count_tokens=count_tokens,
    )
    assert all(0 < count_tokens(chunk.context) <= 16 for chunk in found)


def test_room_for_less_than_a_sentence_is_an_error() -> None:
    with pytest.raises(ValueError, match="max_tokens"):
        chunks("文。", max_tokens=MIN_TOKENS - 1)


def looked_at(text: str) -> int:
    """Characters that are counted while a text is cut."""
    seen = 0

    def count(words: str) -> int:
        nonlocal seen
        seen += len(words)
        return len(words) // 3 + 1

    chunk_document(document(Page(None, (), text)), max_tokens=256, count_tokens=count)
    return seen


@pytest.mark.parametrize("run", ["\ufdfa", "a"], ids=ascii)
def test_work_grows_with_the_length_even_without_a_break(run: str) -> None:
    small, big = (looked_at(run * (size // len(run))) for size in (10_000, 40_000))
    assert 0 < big < 6 * small


@pytest.mark.parametrize(
    ("sentence", "last"),
    [
        ("規則では「私用です。」だけでよい。", "よい。"),
        ("本当ですか？", "？"),
        ("Leave is asked for one day ahead. ", r"\."),
        ("no sentence ends here ", "(^| )(no|sentence|ends|here)"),
    ],
)
def test_a_paragraph_longer_than_the_splitter_sees_is_cut_where_it_may_be(
    sentence: str, last: str
) -> None:
    pieces = chunks(sentence * (20_000 // len(sentence)), 256)
    assert len(pieces) > 20
    assert all(re.search(f"{last}$", piece.text) for piece in pieces)


@pytest.mark.parametrize("run", ["漢", "🎉", "a", "文。", "a word. ", "|a\n\n"])
def test_the_splitter_sees_a_long_text_in_parts_and_a_short_one_whole(run: str) -> None:
    """What it does between two looks at `count_tokens` grows with the square of what it sees."""
    for size in (0, 1, 3_999, 4_000):
        text = (run * size)[:size]
        assert list(chunking._windows(text)) == [(0, size)]
    text = run * 20_000
    windows = list(chunking._windows(text))
    assert "".join(text[start:end] for start, end in windows) == text
    assert all(2_000 <= end - start <= 4_000 for start, end in windows[:-1])
    assert windows[-1][1] - windows[-1][0] <= 4_000


class Place(int):
    """An offset that counts how often it is compared."""

    compared = 0

    def __lt__(self, other: int) -> bool:
        Place.compared += 1
        return int(self) < int(other)

    def __gt__(self, other: int) -> bool:
        Place.compared += 1
        return int(self) > int(other)


def test_tables_are_not_gone_through_once_for_each_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    real = chunking._tables
    monkeypatch.setattr(
        chunking,
        "_tables",
        lambda text: ((Place(start), Place(end), row) for start, end, row in real(text)),
    )
    looks = []
    for size in (500, 2_000):
        Place.compared = 0
        assert len(chunks("|a\n\n" * size)) > size / 100
        looks.append(Place.compared)
    assert 0 < looks[1] < 8 * looks[0]


def test_each_chunk_continues_the_table_it_is_in() -> None:
    tables = [
        f"| 名前{table} | city |\n" + f"| 佐藤{table} | Osaka |\n" * 30 for table in range(40)
    ]
    pieces = chunks("\n前置き。\n\n".join(tables))
    inside = [piece for piece in pieces if piece.text.startswith("| 佐藤")]
    assert len(inside) > 40
    for piece in inside:
        (number,) = set(re.findall(r"佐藤(\d+)", piece.text.split("前置き")[0]))
        assert piece.columns == f"| 名前{number} | city |"


texts = st.text(alphabet="あ漢字。、！ \n\u3000Word. |-ＡﾏＫ①㍿🎉é", max_size=600)


@given(texts, st.integers(MIN_TOKENS, 120), st.text(alphabet="章 A|", max_size=40))
def test_chunks_are_small_exact_and_complete(text: str, max_tokens: int, heading: str) -> None:
    found = chunks(text, max_tokens, (heading,) if heading else ())
    end = 0
    for chunk in found:
        assert count_tokens(chunk.passage) <= max_tokens
        assert text[chunk.start : chunk.end] == chunk.text
        assert not text[end : chunk.start].strip()
        assert unicodedata.is_normalized("NFKC", chunk.passage)
        end = chunk.end
    assert not text[end:].strip()
