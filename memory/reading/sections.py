"""Collects headings, paragraphs and tables into sections that know their heading path."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memory.reading.document import CharacterBudget, Page

MAX_HEADING = 200
"""Characters; anything longer is a paragraph in large type."""

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u00ad\u200b\u2060\ufeff\ufffe\uffff]")
_TRAILING_SPACE = re.compile(r"[ \t\u3000]+$", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n{3,}")


def tidy(text: str) -> str:
    """Drop control and invisible characters, trailing space and surplus blank lines."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n")
    text = _UNPRINTABLE.sub("", text)
    text = "".join(c if not "\ud800" <= c <= "\udfff" else "\ufffd" for c in text)
    return _BLANK_LINES.sub("\n\n", _TRAILING_SPACE.sub("", text)).strip("\n")


def one_line(text: str) -> str:
    """The text on one line, with single spaces."""
    return " ".join(tidy(text).split())


def table(rows: Iterable[Sequence[str]]) -> str:
    """Rows as a Markdown table whose first row is the header; empty rows and columns dropped."""
    cells = [[one_line(cell).replace("|", "\\|") for cell in row] for row in rows]
    cells = [row for row in cells if any(row)]
    if not cells:
        return ""
    used = [
        column
        for column in range(max(map(len, cells)))
        if any(column < len(row) and row[column] for row in cells)
    ]
    lines = [
        "| " + " | ".join(row[column] if column < len(row) else "" for column in used) + " |"
        for row in cells
    ]
    lines.insert(1, "|" + " --- |" * len(used))
    return "\n".join(lines)


class Sections:
    """Builds the pages of a format that has headings instead of pages."""

    def __init__(self, budget: CharacterBudget) -> None:
        self._budget = budget
        self._path: list[tuple[int, str]] = []
        self._blocks: list[str] = []
        self._pages: list[Page] = []
        self._bare_heading = ""

    def heading(self, level: int, text: str) -> None:
        """Start a section; `level` 1 is the outermost."""
        text = one_line(text)
        if not text:
            return
        if len(text) > MAX_HEADING:
            self.block(text)
            return
        # A heading followed by a deeper one shows in that one's path; any other must be kept.
        deeper = bool(self._path) and level > self._path[-1][0]
        self._close(keep_bare=not deeper)
        self._path = [(above, name) for above, name in self._path if above < level]
        self._path.append((level, self._budget.spend(text)))
        self._bare_heading = text

    def block(self, text: str) -> None:
        """Add a paragraph, list item or table."""
        text = tidy(text)
        if text.strip():
            self._blocks.append(self._budget.spend(text))

    def pages(self) -> tuple[Page, ...]:
        """All sections with text, in order."""
        self._close(keep_bare=True)
        return tuple(self._pages)

    def _close(self, *, keep_bare: bool) -> None:
        text = "\n\n".join(self._blocks)
        if not text and keep_bare:
            text = self._bare_heading
        if text:
            self._pages.append(Page(None, tuple(name for _, name in self._path), text))
        self._blocks = []
        self._bare_heading = ""
