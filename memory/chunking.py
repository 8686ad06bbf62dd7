"""Cuts documents into chunks of bounded token count, at sentence ends wherever possible.

The splitter is semantic-text-splitter: it cuts at the largest unit that fits (paragraph, line,
sentence by UAX #29, word, character). On JSQuAD paragraphs run together, 98 % of its cuts
were at the end of a sentence; semchunk 4.1, which looks for spaces, reached 7 %.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
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
_WINDOW = 4_000
"""Characters that the splitter sees at a time: its work grows with the square of a run without a
break. About five times the longest chunk, so that few chunks end at the end of a window."""
_BREAKS = tuple(
    re.compile(pattern) for pattern in (r"\n\n", r"\n", r"[。！？](?![」』）])|[.!?] ", r"\s")
)
"""Where a window may end, the best first: paragraph, line, sentence, word."""


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
        begins = [begin for begin, _, _ in tables]
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
                    columns=_columns_at(start, tables, begins),
                )
            )
    return chunks


def _columns_at(place: int, tables: Sequence[tuple[int, int, str]], begins: Sequence[int]) -> str:
    """Header row of the table that a chunk at `place` continues."""
    before = bisect_left(begins, place) - 1
    return tables[before][2] if before >= 0 and place < tables[before][1] else ""


def _split(
    text: str, context: str, columns: str, max_tokens: int, count_tokens: CountTokens
) -> list[tuple[int, str]]:
    """Pieces with the character offset where they start."""
    from semantic_text_splitter import TextSplitter

    splitter = TextSplitter.from_callback(
        partial(_count_passage, context, columns, count_tokens), max_tokens
    )
    return [
        (start + offset, piece)
        for start, end in _windows(text)
        for offset, piece in splitter.chunk_indices(text[start:end])
    ]


def _windows(text: str) -> Iterator[tuple[int, int]]:
    """Half-open ranges that cover the text, each ending at the last and best break that leaves
    it at least half its length.
    """
    start = 0
    while len(text) - start > _WINDOW:
        least, most = start + _WINDOW // 2, start + _WINDOW
        ends = ([found.end() for found in mark.finditer(text, least, most)] for mark in _BREAKS)
        end = next((found[-1] for found in ends if found), most)
        yield start, end
        start = end
    yield start, len(text)


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
