"""How a page of a document is cited."""

from __future__ import annotations

from bot.i18n import Translator
from memory.types import SourceChunk


def label(chunk: SourceChunk, say: Translator) -> str:
    """The file with its page, or with its innermost heading."""
    if chunk.page is not None:
        return say("{source}, p. {page}", source=chunk.source, page=chunk.page)
    return f"{chunk.source}, {chunk.headings[-1]}" if chunk.headings else chunk.source
