"""The geometry of lines: reading order and what is joined."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from memory.reading.layout import (
    Glyph,
    Line,
    compose,
    drop_ruby,
    group_rows,
    order_columns,
    split_columns,
)


def row(text: str, number: int, *, start: float = 0, width: float | None = None) -> Line:
    length = len(text) * 10 if width is None else width
    return Line(text, start, start + length, number * 15, 10)


def column(text: str, number: int, top: float = 0) -> Line:
    return Line(text, top, top + len(text) * 10, number * 15, 10, vertical=True)


def stack(text: str, x: float, top: float, size: float = 10) -> list[Glyph]:
    return [Glyph(char, x, top - size * place, size) for place, char in enumerate(text)]


def test_columns_are_found_whatever_order_they_are_drawn_in() -> None:
    glyphs = stack("左の列", 100, 500) + stack("右の列", 200, 500)
    columns, rest = split_columns(glyphs)
    assert [line.text for line in order_columns(columns)] == ["右の列", "左の列"]
    assert rest == []


def test_turned_text_and_short_stacks_are_no_columns() -> None:
    turned = [Glyph(char, 10, 500 - 10 * n, 10, upright=False) for n, char in enumerate("横書き")]
    columns, rest = split_columns(turned + stack("丸", 300, 300))
    assert columns == []
    assert len(rest) == 4


@given(st.integers(2, 12), st.randoms(use_true_random=False))
def test_column_order_does_not_depend_on_drawing_order(count: int, shuffler: random.Random) -> None:
    columns = [column("一二三四五", number) for number in range(count)]
    shuffled = columns.copy()
    shuffler.shuffle(shuffled)
    assert order_columns(shuffled) == columns


def test_rows_are_rebuilt_from_loose_glyphs_with_spaces_at_gaps() -> None:
    glyphs = [Glyph("b", 16, 100, 10), Glyph("a", 10, 100, 10), Glyph("c", 40, 100, 10)]
    glyphs.append(Glyph("次", 10, 80, 10))
    assert [line.text for line in group_rows(glyphs)] == ["ab c", "次"]


def test_vertical_ruby_is_left_out() -> None:
    base = Line("委託業務", 0, 40, 100, 10, vertical=True)
    ruby = Line("いたく", 0, 15, 90, 5, vertical=True)
    assert drop_ruby([base, ruby]) == [base]
    assert drop_ruby([ruby]) == [ruby]


def test_larger_type_or_distance_starts_a_new_paragraph() -> None:
    heading = Line("Heading", 0, 70, 0, 16)
    body = [row("本文は", 2), row("続く。", 3), Line("別の段落", 0, 40, 90, 10)]
    assert compose([heading, *body]) == "Heading\n\n本文は続く。\n\n別の段落"


def test_hyphen_at_the_line_end_disappears() -> None:
    assert compose([row("infor\x02", 0), row("mation", 1)]) == "information"


def test_indented_japanese_line_starts_a_paragraph() -> None:
    lines = [row("一行目は長い文章です", 0), row("短い行", 1), row("次の段落", 2, start=10)]
    assert compose(lines) == "一行目は長い文章です短い行\n次の段落"


def test_nothing_gives_nothing() -> None:
    assert compose([]) == ""


@given(
    st.lists(
        st.text(alphabet="あ漢。、「」Aa1 \u3000-・", min_size=1, max_size=12),
        min_size=1,
        max_size=8,
    )
)
def test_composing_loses_no_visible_character(texts: list[str]) -> None:
    lines = [row(text, number) for number, text in enumerate(texts)]
    assert "".join(compose(lines).split()) == "".join("".join(texts).split())
