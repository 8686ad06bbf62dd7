"""What a reader hands back, and the limits it works under."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from memory.reading.errors import Reason, UnreadableDocument


class MediaType(StrEnum):
    """The formats Oboete reads."""

    PDF = "application/pdf"
    DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
    XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    HTML = "text/html"
    MARKDOWN = "text/markdown"
    CSV = "text/csv"
    TEXT = "text/plain"

    @property
    def has_pages(self) -> bool:
        """True where people cite pages or slides by their numbers; elsewhere sections."""
        return self in {MediaType.PDF, MediaType.PPTX}


class Concern(StrEnum):
    """Stable codes for what was left out of a document that could be read otherwise."""

    PAGES_WITHOUT_TEXT = "pages_without_text"
    """Pages with pictures only, probably scanned."""
    GARBAGE_PAGES = "garbage_pages"
    """Pages whose fonts give no readable text."""
    DAMAGED_PAGES = "damaged_pages"
    """Pages, slides or parts that could not be opened."""
    REPLACED_CHARACTERS = "replaced_characters"
    """The text encoding was not certain: some bytes had no character."""


@dataclass(frozen=True, slots=True)
class ReadingWarning:
    """Something a reader of the answer should know; `pages` are 1-based, ascending."""

    concern: Concern
    pages: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A page, slide, sheet or section, whichever is the unit that people cite."""

    number: int | None
    """1-based page or slide number; None where the format has no pages."""
    headings: tuple[str, ...]
    """Heading path, outermost first; the document's title is not part of it."""
    text: str
    """Markdown-like: paragraphs apart by a blank line, tables as `| a | b |` rows.

    The characters are the author's; searching normalises them (`Chunk.passage`).
    """


@dataclass(frozen=True, slots=True)
class Document:
    """The text of one file. At least one page, and no page without text."""

    title: str
    media_type: MediaType
    pages: tuple[Page, ...]
    warnings: tuple[ReadingWarning, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """How much a file may ask for before it is refused."""

    max_bytes: int = 50_000_000
    """Size of the file."""
    max_unpacked_bytes: int = 300_000_000
    """Sum of all the parts of a zip container, unpacked."""
    max_pages: int = 5_000
    """Pages, slides or sheets."""
    max_characters: int = 20_000_000
    """Text of the whole document."""
    max_cells: int = 2_000_000
    """Cells of the rectangle that a sheet spans, empty ones included."""
    seconds: float = 120.0
    """Processor seconds, and wall-clock seconds: whichever is used up first."""
    memory_bytes: int = 1_500_000_000
    """Address space of the reading process."""


@dataclass(slots=True)
class CharacterBudget:
    """Counts text as it is gathered, so that a bomb is noticed before it fills the memory."""

    limit: int
    spent: int = field(default=0, init=False)

    def spend(self, text: str) -> str:
        """Return `text` unchanged. Raises UnreadableDocument when the limit is passed."""
        self.spent += len(text)
        if self.spent > self.limit:
            raise UnreadableDocument(Reason.TOO_BIG)
        return text
