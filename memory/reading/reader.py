"""Reads one file in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePath

from memory.reading.document import Document, MediaType, ReadingLimits
from memory.reading.errors import Reason, UnreadableDocument
from memory.reading.html import read_html
from memory.reading.pdf import read_pdf
from memory.reading.sections import MAX_HEADING
from memory.reading.sheets import read_csv, read_workbook
from memory.reading.slides import read_slides
from memory.reading.sniff import sniff
from memory.reading.text import read_markdown, read_text
from memory.reading.word import read_word

_READERS: dict[MediaType, Callable[[bytes, str, ReadingLimits], Document]] = {
    MediaType.PDF: read_pdf,
    MediaType.DOCX: read_word,
    MediaType.PPTX: read_slides,
    MediaType.XLSX: read_workbook,
    MediaType.HTML: read_html,
    MediaType.MARKDOWN: read_markdown,
    MediaType.CSV: read_csv,
    MediaType.TEXT: read_text,
}


def read_document(data: bytes, name: str, *, limits: ReadingLimits) -> Document:
    """Read a file into pages or sections of text.

    `name` is the file's name; its stem is the title when the file has none. One call at a time:
    PDFium is not thread-safe. Files from people belong into `read_in_subprocess`, because the
    limits on time and memory hold only there and a native library may crash.

    Raises UnreadableDocument, never anything else for any bytes.
    """
    if len(data) > limits.max_bytes:
        raise UnreadableDocument(Reason.TOO_BIG)
    if not data.strip():
        raise UnreadableDocument(Reason.EMPTY)
    media_type = sniff(data, name)
    try:
        document = _READERS[media_type](data, PurePath(name).stem or name, limits)
    except UnreadableDocument:
        raise
    except MemoryError as error:
        raise UnreadableDocument(Reason.TOO_BIG) from error
    except Exception as error:
        # Format libraries raise anything at all on damaged files; this is their one boundary.
        raise UnreadableDocument(Reason.CORRUPT) from error
    if not document.pages:
        raise UnreadableDocument(Reason.EMPTY)
    pages = tuple(
        replace(page, headings=tuple(heading[:MAX_HEADING] for heading in page.headings))
        for page in document.pages
    )
    return replace(document, title=document.title[:MAX_HEADING], pages=pages)
