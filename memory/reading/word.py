"""DOCX, read from its XML: mammoth 1.13 loses the base of ruby, python-docx 1.2 text boxes too.

Element names are those of ECMA-376 part 1, section 17, without namespaces.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from xml.etree.ElementTree import Element

from memory.reading.document import CharacterBudget, Document, MediaType, ReadingLimits
from memory.reading.errors import Reason, UnreadableDocument
from memory.reading.ooxml import Package
from memory.reading.sections import Sections, table

_SKIPPED: Final = frozenset(
    {
        "del", "moveFrom",  # tracked changes: what is no longer there
        "delText", "instrText", "fldData",  # codes behind the visible text
        "rt", "rubyPr",  # the reading of ruby; its base stays
        "Fallback",  # the second copy of what Choice holds
        "pPr", "rPr", "sectPr", "tblPr", "tblGrid", "trPr", "tcPr", "sdtPr", "txbxContent",
    }
)  # fmt: skip
_BREAKS: Final = {
    "tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t",
}  # fmt: skip
_MAX_HEADING_LEVEL = 9


def read_word(data: bytes, title: str, limits: ReadingLimits) -> Document:
    """Read a DOCX: body, tables, text boxes, foot- and endnotes. Raises UnreadableDocument."""
    package = Package(data, limits)
    main = next(iter(package.related("", "officeDocument")), "word/document.xml")
    body = package.xml(main).find("body")
    if body is None:
        raise UnreadableDocument(Reason.CORRUPT)
    sections = Sections(CharacterBudget(limits.max_characters))
    _Body(sections, _heading_styles(package, main)).read(body)
    for kind in ("footnotes", "endnotes"):
        for part in package.related(main, kind):
            for note in package.xml(part):
                if text := _note_text(note):
                    sections.block(text)
    pages = sections.pages()
    if not pages:
        raise UnreadableDocument(Reason.SCANNED if _has_pictures(package) else Reason.EMPTY)
    return Document(package.title() or title, MediaType.DOCX, pages)


class _Body:
    def __init__(self, sections: Sections, styles: dict[str, int]) -> None:
        self._sections = sections
        self._styles = styles

    def read(self, container: Element) -> None:
        """Add the blocks of a body, content control or text box in order."""
        for item in container:
            if item.tag == "p":
                self._paragraph(item)
            elif item.tag == "tbl":
                self._sections.block(table(_rows(item)))
            elif item.tag not in _SKIPPED:
                self.read(item)
            if item.tag in ("p", "tbl"):
                for box in _text_boxes(item):
                    self.read(box)

    def _paragraph(self, paragraph: Element) -> None:
        text = _text(paragraph)
        level = self._heading_level(paragraph)
        if level:
            self._sections.heading(level, text)
        elif text.strip() and paragraph.find("pPr/numPr") is not None:
            self._sections.block(f"- {text.strip()}")
        else:
            self._sections.block(text)

    def _heading_level(self, paragraph: Element) -> int:
        """1 for the outermost heading; 0 for body text."""
        own = paragraph.find("pPr/outlineLvl")
        if own is not None:
            return _outline_level(own)
        style = paragraph.find("pPr/pStyle")
        return self._styles.get(style.get("val", ""), 0) if style is not None else 0


def _heading_styles(package: Package, main: str) -> dict[str, int]:
    """Heading level by style id, following what styles are based on."""
    levels: dict[str, int] = {}
    based_on: dict[str, str] = {}
    for part in package.related(main, "styles"):
        for style in package.xml(part).findall("style"):
            name = style.get("styleId", "")
            outline = style.find("pPr/outlineLvl")
            parent = style.find("basedOn")
            if outline is not None:
                levels[name] = _outline_level(outline)
            elif parent is not None:
                based_on[name] = parent.get("val", "")
    for name in based_on:
        ancestor, steps = name, 0
        while ancestor in based_on and ancestor not in levels and steps < len(based_on):
            ancestor, steps = based_on[ancestor], steps + 1
        if ancestor in levels:
            levels[name] = levels[ancestor]
    return levels


def _outline_level(outline: Element) -> int:
    value = outline.get("val", "")
    # Outline level 9 means "body text" (17.3.1.20).
    return int(value) + 1 if value.isdecimal() and int(value) < _MAX_HEADING_LEVEL else 0


def _text(element: Element) -> str:
    return "".join(_pieces(element))


def _pieces(element: Element) -> Iterator[str]:
    """Visible text of a paragraph, without its text boxes."""
    for item in element:
        if item.tag == "t":
            yield item.text or ""
        elif item.tag in _BREAKS:
            yield _BREAKS[item.tag]
        elif item.tag not in _SKIPPED:
            yield from _pieces(item)


def _rows(table_element: Element) -> Iterator[list[str]]:
    for row in _nearest(table_element, "tr"):
        yield [_cell_text(cell) for cell in _nearest(row, "tc")]


def _cell_text(cell: Element) -> str:
    """Text of a cell; a table inside it becomes running text."""
    return " ".join(filter(None, (_text(item).strip() for item in _nearest_blocks(cell))))


def _nearest(element: Element, tag: str) -> Iterator[Element]:
    """Descendants with this tag, not looking inside those or inside nested tables."""
    for item in element:
        if item.tag == tag:
            yield item
        elif item.tag not in _SKIPPED and item.tag != "tbl":
            yield from _nearest(item, tag)


def _nearest_blocks(element: Element) -> Iterator[Element]:
    for item in element:
        if item.tag == "p":
            yield item
        elif item.tag not in _SKIPPED:
            yield from _nearest_blocks(item)


def _text_boxes(element: Element) -> Iterator[Element]:
    """Outermost text boxes anchored in a paragraph or table."""
    for item in element:
        if item.tag == "txbxContent":
            yield item
        elif item.tag not in _SKIPPED:
            yield from _text_boxes(item)


def _note_text(note: Element) -> str:
    if note.get("type", "normal") != "normal":  # separator lines
        return ""
    return "\n".join(filter(None, (_text(item).strip() for item in _nearest_blocks(note))))


def _has_pictures(package: Package) -> bool:
    return any("/media/" in name for name in package.names())
