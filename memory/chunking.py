"""Cuts documents into chunks of bounded token count, at sentence ends wherever possible.

The splitter is semantic-text-splitter: it cuts at the largest unit that fits (paragraph, line,
sentence by UAX #29, word, character). On JSQuAD paragraphs run together, 98 % of its cuts
were at the end of a sentence; semchunk 4.1, which looks for spaces, reached 7 %.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from memory.reading.document import Document

CountTokens = Callable[[str], int]
"""Number of tokens that the embedding model sees for a text."""

MIN_TOKENS = 32
"""Below this a chunk has no room for a sentence beside its context."""

_CONTEXT_SHARE = 4
"""Title and headings get at most one part in this many of a chunk, column names as much again."""
_PATH_SEPARATOR = " > "


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document that can be found, cited and read on its own."""

    text: str
    """The author's characters: `document.pages[section].text[start:end]`."""
    title: str
    headings: tuple[str, ...]
    """Heading path, outermost first."""
    page: int | None
    """1-based page or slide number, where the format has them."""
    section: int
    """Index into the document's pages."""
    start: int
    end: int
    """Half-open range of characters in that page's text."""
    context: str = ""
    """Title and heading path on one line, shortened to fit."""
    columns: str = ""
    """Header row of the table that the chunk continues."""

    @property
    def passage(self) -> str:
        """What to embed and index: context, column names and text, normalised to NFKC.

        NFKC unites what looks the same: full-width letters, half-width kana and the radicals
        (⼀ for 一) that PDF fonts leave behind.
        """
        return passage_of(self.context, self.columns, self.text)


def chunk_document(
    document: Document, *, max_tokens: int, count_tokens: CountTokens
) -> list[Chunk]:
    """Chunks in reading order; none crosses a page or section.

    No `passage` has more than `max_tokens` tokens, unless one character has. `count_tokens` is
    called a few times per chunk. Raises ValueError when `max_tokens` is under `MIN_TOKENS`.
    """
    if max_tokens < MIN_TOKENS:
        raise ValueError(f"max_tokens must be at least {MIN_TOKENS}, not {max_tokens}")
    share = max_tokens // _CONTEXT_SHARE
    chunks: list[Chunk] = []
    contexts: dict[tuple[str, ...], str] = {}
    for section, page in enumerate(document.pages):
        if page.headings not in contexts:
            path = (document.title, *page.headings)
            contexts[page.headings] = _context(path, share, count_tokens)
        context = contexts[page.headings]
        tables = [
            (start, end, columns)
            for start, end, columns in _tables(page.text)
            if count_tokens(_normalise(columns)) <= share
        ]
        widest = max((columns for _, _, columns in tables), key=len, default="")
        for start, text in _split(page.text, context, widest, max_tokens, count_tokens):
            chunks.append(
                Chunk(
                    text=text,
                    title=document.title,
                    headings=page.headings,
                    page=page.number,
                    section=section,
                    start=start,
                    end=start + len(text),
                    context=context,
                    columns=next((c for s, e, c in tables if s < start < e), ""),
                )
            )
    return chunks


def _split(
    text: str, context: str, columns: str, max_tokens: int, count_tokens: CountTokens
) -> list[tuple[int, str]]:
    """Pieces with the character offset where they start."""
    from semantic_text_splitter import TextSplitter

    count = partial(_count_passage, context, columns, count_tokens)
    return TextSplitter.from_callback(count, max_tokens).chunk_indices(text)


def _count_passage(context: str, columns: str, count_tokens: CountTokens, text: str) -> int:
    return count_tokens(passage_of(context, columns, text))


def passage_of(context: str, columns: str, text: str) -> str:
    """What a chunk is embedded and indexed by: see `Chunk.passage`."""
    return _normalise("\n".join(part for part in (context, columns, text) if part))


def _normalise(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _context(path: tuple[str, ...], limit: int, count_tokens: CountTokens) -> str:
    """The path as one line, giving up outer names, then characters, until it fits."""
    names = [name for name in path if name]
    context = _PATH_SEPARATOR.join(names)
    while len(names) > 1 and count_tokens(_normalise(context)) > limit:
        names = names[1:]
        context = _PATH_SEPARATOR.join(names)
    while context and count_tokens(_normalise(context)) > limit:
        context = context[: len(context) // 2]
    return context


def _tables(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and header row of each table, as character offsets."""
    offset = 0
    start, columns = -1, ""
    for line in text.split("\n"):
        if line.startswith("|") and start < 0:
            start, columns = offset, line
        elif not line.startswith("|") and start >= 0:
            yield start, offset, columns
            start = -1
        offset += len(line) + 1
    if start >= 0:
        yield start, offset, columns
