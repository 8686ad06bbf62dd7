"""Reads the placed characters of a PDF page from PDFium's text interface."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory.reading.layout import (
    Glyph,
    Line,
    compose,
    continues_column,
    drop_ruby,
    group_rows,
    is_wide,
    order_columns,
    split_columns,
)

if TYPE_CHECKING:
    import pypdfium2

_SAME_WORD_GAP = 1.6
"""Origins of neighbouring square characters this many sizes apart are one word, set loosely."""


class PlacedText:
    """The characters of one page in PDFium's order, with their geometry on demand.

    Asking for geometry costs about a microsecond a call, so Latin pages only ask for it at
    the ends of lines.
    """

    def __init__(self, textpage: pypdfium2.PdfTextPage) -> None:
        import pypdfium2.raw as raw

        self._raw = raw
        self._page = textpage
        count = max(0, raw.FPDFText_CountChars(textpage))
        self.chars: list[str] = [
            chr(min(raw.FPDFText_GetUnicode(textpage, index), 0x10FFFF)) for index in range(count)
        ]

    def __len__(self) -> int:
        return len(self.chars)

    def text(self) -> str:
        """The page as running text, not yet tidied."""
        rows = self._rows()
        vertical = self._vertical_rows(rows)
        glyphs = [self.glyph(index) for row in vertical for index in row if self._is_drawn(index)]
        columns, loose = split_columns(glyphs)
        if not columns:
            return compose(drop_ruby([self._line(row) for row in rows]))
        taken = {row[0] for row in vertical}
        others = [self._line(row) for row in rows if row[0] not in taken] + group_rows(loose)
        return arrange(columns, others)

    def glyph(self, index: int) -> Glyph:
        """Position, size and direction of one character."""
        x, y, matrix = ctypes.c_double(), ctypes.c_double(), self._raw.FS_MATRIX()
        self._raw.FPDFText_GetCharOrigin(self._page, index, x, y)
        self._raw.FPDFText_GetMatrix(self._page, index, matrix)
        size = self._raw.FPDFText_GetFontSize(self._page, index)
        scale = math.hypot(matrix.c, matrix.d) or 1.0
        angle = math.atan2(matrix.b, matrix.a)
        # Seen along its own baseline, text that is turned on the page reads like any other.
        across, along = math.sin(angle), math.cos(angle)
        return Glyph(
            char=self.chars[index],
            x=x.value * along + y.value * across,
            y=y.value * along - x.value * across,
            size=abs(size * scale) or 1.0,
            upright=abs(angle) < 0.1,
        )

    def _rows(self) -> list[list[int]]:
        """Indices of the characters of each line that PDFium found."""
        rows: list[list[int]] = [[]]
        for index, char in enumerate(self.chars):
            if char == "\n":
                rows.append([])
            elif char != "\r":
                rows[-1].append(index)
        return [row for row in rows if any(not self.chars[index].isspace() for index in row)]

    def _vertical_rows(self, rows: Sequence[list[int]]) -> list[list[int]]:
        """Lines that may be vertical: their first characters stand above each other."""
        found = []
        for row in rows:
            drawn = [index for index in row if not self.chars[index].isspace()][:2]
            if not all(is_wide(self.chars[index]) for index in drawn):
                continue
            if len(drawn) == 1 or continues_column(*map(self.glyph, drawn)):
                found.append(row)
        return found

    def _is_drawn(self, index: int) -> bool:
        return not self._raw.FPDFText_IsGenerated(self._page, index)

    def _line(self, row: Sequence[int]) -> Line:
        text = "".join(
            self.chars[index]
            for place, index in enumerate(row)
            if not (self.chars[index] == " " and self._splits_word(row, place))
        )
        drawn = [index for index in row if not self.chars[index].isspace()]
        first, last = self.glyph(drawn[0]), self.glyph(drawn[-1])
        width = last.size * (1.0 if is_wide(last.char) else 0.5)
        return Line(_join_surrogates(text), first.x, last.x + width, -first.y, first.size)

    def _splits_word(self, row: Sequence[int], place: int) -> bool:
        """Whether a space was put by PDFium between Japanese characters that are set loosely."""
        if not 0 < place < len(row) - 1:
            return False
        before, after = row[place - 1], row[place + 1]
        if not (is_wide(self.chars[before]) and is_wide(self.chars[after])):
            return False
        if self._is_drawn(row[place]):
            return False
        left, right = self.glyph(before), self.glyph(after)
        return right.x - left.x <= _SAME_WORD_GAP * left.size


def arrange(columns: Sequence[Line], rows: Sequence[Line]) -> str:
    """Text of a page with vertical columns: rows above them, the columns, the other rows."""
    ordered = order_columns(drop_ruby(columns))
    top = min(column.start for column in columns)
    above = [row for row in rows if row.across <= top]
    below = [row for row in rows if row.across > top]
    parts = [compose(drop_ruby(lines)) for lines in (above, ordered, below)]
    return "\n\n".join(part for part in parts if part)


def _join_surrogates(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
