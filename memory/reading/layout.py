"""Turns lines placed on a page into running text, for both writing directions of Japanese.

Everything here is geometry on plain values; no PDF library is involved.
"""

from __future__ import annotations

import re
import statistics
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

_MIN_COLUMN = 3
"""Fewer characters above each other are more likely a narrow table cell than vertical writing."""
_PARAGRAPH_GAP = 1.4
"""A new paragraph starts where lines are this many times further apart than usual."""
_RUBY_SCALE = 0.6
"""Ruby is set at half the size of its base (JIS X 4051)."""

_CLOSERS = "」』】）)"
_SENTENCE_END = re.compile(rf"[。．！？!?：:][{_CLOSERS}]*\s*$")
_ITEM = re.compile(
    r"\s*(?:[・•●○◆◇■□▪▶※*\-–—]\s*"
    r"|[(（]?[0-9０-９a-zａ-ｚA-ZＡ-Ｚア-ンivxⅰ-ⅹ①-⑳]{1,3}[)）.．、](?![0-9０-９]{3})"
    r"|[a-zａ-ｚ0-９]\s|第[0-9０-９一二三四五六七八九十百]+[章節条項]"
    r"|[0-9０-９]+(?:[.．][0-9０-９]+)+\s)"
)
_HYPHENS = "\x02\ufffe\u00ad"
"""What PDFium and authors put for a hyphen that only exists because the line ends."""


@dataclass(frozen=True, slots=True)
class Glyph:
    """One character on a page; points, origin at the lower left."""

    char: str
    x: float
    y: float
    size: float
    upright: bool = True


@dataclass(frozen=True, slots=True)
class Line:
    """A horizontal line or a vertical column.

    `start` and `end` run in writing direction, `across` grows from line to line in reading
    direction (down the page, or right to left), so the same rules serve both directions.
    """

    text: str
    start: float
    end: float
    across: float
    size: float
    vertical: bool = False


def is_wide(char: str) -> bool:
    """Whether the character fills a square, as those of Chinese, Japanese and Korean do."""
    return unicodedata.east_asian_width(char) in "WF"


def continues_column(above: Glyph, below: Glyph) -> bool:
    """Whether `below` follows `above` in vertical writing."""
    size = max(above.size, below.size)
    return (
        above.upright
        and below.upright
        and is_wide(above.char)
        and is_wide(below.char)
        and abs(above.x - below.x) <= 0.5 * size
        and 0.3 * size <= above.y - below.y <= 2.2 * size
    )


def split_columns(glyphs: Sequence[Glyph]) -> tuple[list[Line], list[Glyph]]:
    """Find the vertical columns in glyphs given in drawing order; also returns the rest."""
    columns: list[Line] = []
    rest: list[Glyph] = []
    run: list[Glyph] = []

    def close() -> None:
        if len(run) >= _MIN_COLUMN:
            columns.append(_column(run))
        else:
            rest.extend(run)
        run.clear()

    for glyph in glyphs:
        if run and not continues_column(run[-1], glyph):
            close()
        run.append(glyph)
    close()
    return columns, rest


def _column(run: Sequence[Glyph]) -> Line:
    size = statistics.median(glyph.size for glyph in run)
    return Line(
        text="".join(glyph.char for glyph in run),
        start=-run[0].y,
        end=size - run[-1].y,
        across=-statistics.median(glyph.x for glyph in run),
        size=size,
        vertical=True,
    )


def group_rows(glyphs: Iterable[Glyph]) -> list[Line]:
    """Horizontal lines from loose glyphs, top to bottom; a visible gap becomes a space."""
    rows: list[list[Glyph]] = []
    for glyph in sorted(glyphs, key=lambda glyph: -glyph.y):
        if rows and abs(rows[-1][0].y - glyph.y) <= 0.4 * max(rows[-1][0].size, glyph.size):
            rows[-1].append(glyph)
        else:
            rows.append([glyph])
    return [_row(sorted(row, key=lambda glyph: glyph.x)) for row in rows]


def _row(row: Sequence[Glyph]) -> Line:
    text = row[0].char
    for left, right in pairwise(row):
        width = left.size if is_wide(left.char) else 0.6 * left.size
        gap = right.x - left.x - width
        text += f" {right.char}" if gap > 0.5 * left.size else right.char
    size = statistics.median(glyph.size for glyph in row)
    return Line(text, row[0].x, row[-1].x + size, -row[0].y, size)


def order_columns(columns: Iterable[Line]) -> list[Line]:
    """Reading order of vertical writing: bands from the top, in each from right to left."""
    bands: list[list[Line]] = []
    bottom = float("-inf")
    for column in sorted(columns, key=lambda column: column.start):
        if column.start > bottom:
            bands.append([])
        bands[-1].append(column)
        bottom = max(bottom, column.end - column.size)
    ordered: list[Line] = []
    for band in bands:
        stacks: list[list[Line]] = []
        for column in sorted(band, key=lambda column: column.across):
            if stacks and column.across - stacks[-1][0].across <= 0.5 * column.size:
                stacks[-1].append(column)
            else:
                stacks.append([column])
        for stack in stacks:
            ordered += sorted(stack, key=lambda column: column.start)
    return ordered


def drop_ruby(lines: Sequence[Line]) -> list[Line]:
    """Leave out small kana set alongside a larger line, so readings are not doubled."""
    return [
        line
        for line in lines
        if not _is_kana(line.text) or not any(_is_ruby_of(line, base) for base in lines)
    ]


def _is_kana(text: str) -> bool:
    return all("\u3040" <= char <= "\u30ff" or char.isspace() for char in text)


def _is_ruby_of(line: Line, base: Line) -> bool:
    return (
        line.vertical == base.vertical
        and line.size <= _RUBY_SCALE * base.size
        and 0 < base.across - line.across <= 1.6 * base.size
        and line.start < base.end
        and line.end > base.start
    )


def compose(lines: Sequence[Line]) -> str:
    """Join lines in reading order into paragraphs: "\\n" inside one, a blank line between.

    A line is joined to the next when the author only ran out of room: Japanese without a
    space, other scripts with one. Lists, headings and sentence ends keep their own line.
    """
    return "\n\n".join(map(_compose_block, _blocks(lines)))


def _blocks(lines: Sequence[Line]) -> list[list[Line]]:
    """Lines grouped where type size, direction and distance stay the same."""
    pitch = _usual_pitch(lines)
    blocks: list[list[Line]] = []
    for line in lines:
        if blocks and _same_block(blocks[-1][-1], line, pitch):
            blocks[-1].append(line)
        else:
            blocks.append([line])
    return blocks


def _usual_pitch(lines: Sequence[Line]) -> float:
    steps = [
        below.across - above.across
        for above, below in pairwise(lines)
        if below.across > above.across
    ]
    return statistics.median_low(steps) if steps else 0.0


def _same_block(above: Line, below: Line, pitch: float) -> bool:
    sizes = sorted((above.size, below.size))
    step = below.across - above.across
    return (
        above.vertical == below.vertical
        and sizes[0] >= 0.85 * sizes[1]
        and step <= max(_PARAGRAPH_GAP * pitch, 1.2 * above.size)
    )


def _compose_block(lines: Sequence[Line]) -> str:
    text = lines[0].text
    for above, below in pairwise(lines):
        joint = _joint(above, below, lines)
        if joint == "\n":
            text += "\n" + below.text
        elif above.text[-1:] in _HYPHENS:
            text = text[:-1] + below.text.lstrip()
        else:
            text = text.rstrip() + joint + below.text.lstrip()
    return text


def _joint(above: Line, below: Line, block: Sequence[Line]) -> str:
    """What goes between two lines of a block: a line break, a space or nothing."""
    last, first = above.text.rstrip()[-1:], below.text.lstrip()[:1]
    if not last or not first or _ITEM.match(below.text) or below.text[0] == "\u3000":
        return "\n"
    aligned = [line for line in block if abs(line.start - above.start) <= 3 * above.size]
    start, end = min(line.start for line in aligned), max(line.end for line in aligned)
    if not (is_wide(last) or is_wide(first)):
        first_word = below.text.split(maxsplit=1)[0]
        fits = above.end + (len(first_word) + 1) * 0.5 * above.size <= end
        return "\n" if fits and above.text[-1] not in _HYPHENS else " "
    full = above.end >= end - 2 * above.size
    heading = bool(_ITEM.match(above.text)) and above.end < end - 0.2 * (end - start)
    indented = below.start - start >= 0.7 * above.size and below.across > above.across
    ended = bool(_SENTENCE_END.search(above.text)) or (last in _CLOSERS and not full)
    return "\n" if ended or heading or (indented and not full) else ""
