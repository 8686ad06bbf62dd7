"""PPTX, read from its XML: python-pptx would bring four more packages for the same text.

Element names are those of ECMA-376 part 1, sections 19 and 21, without namespaces.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from memory.reading.document import (
    CharacterBudget,
    Concern,
    Document,
    MediaType,
    Page,
    ReadingLimits,
    ReadingWarning,
)
from memory.reading.errors import Reason, UnreadableDocument
from memory.reading.ooxml import Package
from memory.reading.sections import one_line, table, tidy

_TITLES = ("title", "ctrTitle")
_NOT_CONTENT = ("sldNum", "dt", "ftr", "hdr", "sldImg")
"""Placeholders that repeat on every slide."""


def read_slides(data: bytes, title: str, limits: ReadingLimits) -> Document:
    """Read a PPTX: titles, text, tables and speaker notes, by slide. Raises UnreadableDocument."""
    package = Package(data, limits)
    main = next(iter(package.related("", "officeDocument")), "ppt/presentation.xml")
    slides = _slides_in_order(package, main)
    if len(slides) > limits.max_pages:
        raise UnreadableDocument(Reason.TOO_BIG)
    budget = CharacterBudget(limits.max_characters)
    pages: list[Page] = []
    wordless: list[int] = []
    for number, part in enumerate(slides, 1):
        page = _slide(package, part, number)
        if page.text:
            budget.spend(page.text)
            pages.append(page)
        elif any(package.relationships(part, "image")):
            wordless.append(number)
    if not pages:
        raise UnreadableDocument(Reason.SCANNED if wordless else Reason.EMPTY)
    warnings = (ReadingWarning(Concern.PAGES_WITHOUT_TEXT, tuple(wordless)),) if wordless else ()
    return Document(package.title() or title, MediaType.PPTX, tuple(pages), warnings)


def _slides_in_order(package: Package, main: str) -> list[str]:
    """Slide parts in presentation order; each part once, whatever the list repeats."""
    targets = dict(package.relationships(main, "slide"))
    listed = [item.get("id", "") for item in package.xml(main).iterfind("sldIdLst/sldId")]
    return list(dict.fromkeys(targets[name] for name in listed if name in targets))


def _slide(package: Package, part: str, number: int) -> Page:
    title, blocks = "", []
    for shape in _shapes(package.xml(part)):
        kind = _placeholder(shape)
        if kind in _NOT_CONTENT:
            continue
        text = _shape_text(shape)
        if kind in _TITLES and not title:
            title = one_line(text)
        elif text.strip():
            blocks.append(text)
    for notes in package.related(part, "notesSlide"):
        blocks += (
            _shape_text(shape)
            for shape in _shapes(package.xml(notes))
            if _placeholder(shape) not in _NOT_CONTENT
        )
    diagrams = package.related(part, "diagramData")
    blocks += (_paragraphs(package.xml(diagram)) for diagram in diagrams)
    text = tidy("\n\n".join(block for block in blocks if block.strip())) or title
    return Page(number, (title,) if title else (), text)


def _shapes(element: Element) -> Iterator[Element]:
    """Shapes and tables in drawing order, groups opened, second copies left out."""
    for item in element:
        if item.tag in ("sp", "graphicFrame"):
            yield item
        elif item.tag != "Fallback":
            yield from _shapes(item)


def _placeholder(shape: Element) -> str:
    placeholder = shape.find("nvSpPr/nvPr/ph")
    return placeholder.get("type", "body") if placeholder is not None else ""


def _shape_text(shape: Element) -> str:
    grids = list(shape.iter("tbl"))
    if grids:
        return "\n\n".join(table(_rows(grid)) for grid in grids)
    return _paragraphs(shape)


def _rows(grid: Element) -> Iterator[list[str]]:
    for row in grid.iterfind("tr"):
        yield [_paragraphs(cell) for cell in row.iterfind("tc")]


def _paragraphs(element: Element) -> str:
    return "\n".join(filter(None, map(_paragraph, element.iter("p"))))


def _paragraph(paragraph: Element) -> str:
    pieces = []
    for item in paragraph:
        if item.tag == "br":
            pieces.append("\n")
        elif item.tag in ("r", "fld"):
            pieces.append(item.findtext("t") or "")
    return "".join(pieces).strip()
