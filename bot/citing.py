"""How a document and a page of it are named."""

from __future__ import annotations

from bot.i18n import Translator
from memory.knowledge import Source
from memory.reading import MediaType
from memory.types import SourceChunk


def label(chunk: SourceChunk, say: Translator) -> str:
    """The file with its page, or with its innermost heading."""
    if chunk.page is not None:
        return say("{source}, p. {page}", source=chunk.source, page=chunk.page)
    return f"{chunk.source}, {chunk.headings[-1]}" if chunk.headings else chunk.source


def extent(source: Source, say: Translator) -> str:
    """How long a document is: in pages or slides, or in sections where there are none."""
    if MediaType(source.media_type).has_pages:
        return say.plural("{count} page", "{count} pages", source.pages)
    return say.plural("{count} section", "{count} sections", source.pages)
