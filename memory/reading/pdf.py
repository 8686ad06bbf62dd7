"""PDF: PDFium reads the pages; pdfminer.six gives a second opinion where it finds too little.

PDFium is fast and decodes fonts best, but drops characters without height, which is what
vertical text in a font that is not embedded consists of.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

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
from memory.reading.garbage import is_garbage
from memory.reading.layout import is_wide
from memory.reading.pdf_glyphs import PlacedText
from memory.reading.pdf_second_opinion import SecondOpinion
from memory.reading.sections import MAX_HEADING, one_line, tidy

if TYPE_CHECKING:
    import pypdfium2

_MORE_TEXT = 1.2
"""The second opinion counts when it finds this many times the characters."""
_MAX_PAGE_CHARACTERS = 500_000
"""About what an A0 sheet of 4 pt type holds."""
_MAX_PAGE_OBJECTS = 200_000
_MAX_OUTLINE_DEPTH = 8
_MAX_OUTLINE_ENTRIES = 20_000


def read_pdf(data: bytes, title: str, limits: ReadingLimits) -> Document:
    """Read a PDF page by page. Raises UnreadableDocument."""
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        password = "password" in str(error).lower()
        raise UnreadableDocument(Reason.PASSWORD if password else Reason.CORRUPT) from error
    try:
        return _Reader(pdf, SecondOpinion(data), limits).document(title)
    finally:
        pdf.close()


class _Reader:
    def __init__(
        self, pdf: pypdfium2.PdfDocument, second: SecondOpinion, limits: ReadingLimits
    ) -> None:
        self._pdf = pdf
        self._second = second
        self._limits = limits
        self._found: dict[Concern, list[int]] = {concern: [] for concern in Concern}

    def document(self, title: str) -> Document:
        count = len(self._pdf)
        if count > self._limits.max_pages:
            raise UnreadableDocument(Reason.TOO_BIG)
        budget = CharacterBudget(self._limits.max_characters)
        outline = list(_outline(self._pdf))
        first_on, last_on = dict(reversed(outline)), dict(outline)
        path: tuple[str, ...] = ()
        pages = []
        for number in range(1, count + 1):
            if text := self._page(number):
                pages.append(Page(number, first_on.get(number, path), budget.spend(text)))
            path = last_on.get(number, path)
        if not pages:
            raise UnreadableDocument(self._reason())
        return Document(
            title=_usable_title(self._pdf.get_metadata_value("Title")) or title,
            media_type=MediaType.PDF,
            pages=tuple(pages),
            warnings=tuple(
                ReadingWarning(c, tuple(where)) for c, where in self._found.items() if where
            ),
        )

    def _reason(self) -> Reason:
        if self._found[Concern.GARBAGE_PAGES]:
            return Reason.GARBAGE
        if self._found[Concern.PAGES_WITHOUT_TEXT]:
            return Reason.SCANNED
        damaged = self._found[Concern.DAMAGED_PAGES] or not len(self._pdf)
        return Reason.CORRUPT if damaged else Reason.EMPTY

    def _page(self, number: int) -> str:
        """Text of one page, or "" with the reason noted."""
        import pypdfium2

        try:
            page = self._pdf[number - 1]
        except pypdfium2.PdfiumError:
            self._found[Concern.DAMAGED_PAGES].append(number)
            return ""
        try:
            text = _placed_text(page)
            suspicious = not text.strip() or any(map(is_wide, text))
            lost, pictures = _survey(page) if suspicious else (0, 0)
        except pypdfium2.PdfiumError:
            self._found[Concern.DAMAGED_PAGES].append(number)
            return ""
        finally:
            page.close()
        garbage = is_garbage(text)
        if garbage or lost:
            other = self._second.page_text(number)
            if not is_garbage(other) and (garbage or len(other) > _MORE_TEXT * len(text)):
                text, garbage = other, False
        if garbage:
            self._found[Concern.GARBAGE_PAGES].append(number)
            return ""
        text = tidy(text)
        if not text.strip() and pictures:
            self._found[Concern.PAGES_WITHOUT_TEXT].append(number)
        return text if text.strip() else ""


def _usable_title(title: str) -> str:
    """The title in the metadata; "" when it is mostly signs, as Shift JIS taken for Latin is."""
    title = one_line(title).removeprefix("Microsoft Word - ")[:MAX_HEADING]
    readable = sum(char.isalnum() or char.isspace() for char in title)
    return title if readable >= 0.6 * len(title) and not is_garbage(title) else ""


def _placed_text(page: pypdfium2.PdfPage) -> str:
    textpage = page.get_textpage()
    try:
        placed = PlacedText(textpage)
        if len(placed) > _MAX_PAGE_CHARACTERS:
            raise UnreadableDocument(Reason.TOO_BIG)
        return placed.text()
    finally:
        textpage.close()


def _survey(page: pypdfium2.PdfPage) -> tuple[int, int]:
    """How many text objects PDFium gives no area, in fonts it had to guess; and the pictures.

    Spaces have no area either; asking for a second opinion because of them only costs time.
    """
    import pypdfium2.raw as raw

    lost = pictures = 0
    for count, item in enumerate(page.get_objects(max_depth=3)):
        if count >= _MAX_PAGE_OBJECTS:
            break
        if item.type == raw.FPDF_PAGEOBJ_IMAGE:
            pictures += 1
        elif item.type == raw.FPDF_PAGEOBJ_TEXT:
            left, bottom, right, top = item.get_bounds()
            embedded = raw.FPDFFont_GetIsEmbedded(raw.FPDFTextObj_GetFont(item))
            flat = right - left < 0.01 or top - bottom < 0.01
            lost += flat and embedded == 0
    return lost, pictures


def _outline(pdf: pypdfium2.PdfDocument) -> Iterator[tuple[int, tuple[str, ...]]]:
    """1-based page numbers with the bookmark path that starts there, in outline order."""
    path: list[str] = []
    for count, entry in enumerate(pdf.get_toc(max_depth=_MAX_OUTLINE_DEPTH)):
        if count >= _MAX_OUTLINE_ENTRIES:
            return
        path[entry.level :] = [one_line(entry.get_title())[:MAX_HEADING]]
        target = entry.get_dest()
        index = target.get_index() if target else None
        if index is not None:
            yield index + 1, tuple(name for name in path if name)
