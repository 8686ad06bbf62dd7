"""Plain text and Markdown."""

from __future__ import annotations

from itertools import pairwise

from memory.reading.document import (
    CharacterBudget,
    Concern,
    Document,
    MediaType,
    ReadingLimits,
    ReadingWarning,
)
from memory.reading.encoding import decode
from memory.reading.errors import Reason, UnreadableDocument
from memory.reading.garbage import is_garbage
from memory.reading.sections import Sections, tidy


def read_text(data: bytes, title: str, limits: ReadingLimits) -> Document:
    """Read plain text in any encoding as one section. Raises UnreadableDocument."""
    text, warnings = _decoded(data)
    sections = Sections(CharacterBudget(limits.max_characters))
    sections.block(text)
    return Document(title, MediaType.TEXT, sections.pages(), warnings)


def read_markdown(data: bytes, title: str, limits: ReadingLimits) -> Document:
    """Read Markdown, split at its headings; the text keeps its marks. Raises UnreadableDocument."""
    from markdown_it import MarkdownIt

    text, warnings = _decoded(data)
    text = tidy(text)
    lines = text.split("\n")
    sections = Sections(CharacterBudget(limits.max_characters))
    first, done = "", 0
    tokens = MarkdownIt("commonmark", {"maxNesting": 20}).parse(text)
    for opening, inline in pairwise(tokens):
        if opening.type != "heading_open" or opening.level or opening.map is None:
            continue
        begin, end = opening.map
        sections.block("\n".join(lines[done:begin]))
        sections.heading(int(opening.tag[1:]), inline.content)
        first, done = first or inline.content, end
    sections.block("\n".join(lines[done:]))
    pages = sections.pages()
    return Document(first or title, MediaType.MARKDOWN, pages, warnings)


def _decoded(data: bytes) -> tuple[str, tuple[ReadingWarning, ...]]:
    text, certain = decode(data)
    if not text.strip("\ufeff \t\r\n\f\v\u3000\x00"):
        raise UnreadableDocument(Reason.EMPTY)
    if is_garbage(text):
        raise UnreadableDocument(Reason.GARBAGE)
    return text, () if certain else (ReadingWarning(Concern.REPLACED_CHARACTERS),)
