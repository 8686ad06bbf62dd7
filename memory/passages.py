"""The sentences of a chunk, each found by itself: a passage is matched, its chunk is read.

On the hard JSQuAD questions whole chunks find the answer among the first five for 43 %, their
sentences for 65 %. A passage has no row: what it says follows from its chunk, and so does its
id, which is that of the chunk with the number of the sentence below it.
"""

from __future__ import annotations

import re

from memory.types import Kind, Ref

MOST = 256
"""Passages of one chunk; a chunk has about as many tokens at most. The last takes what is left."""

_BOUNDARY = re.compile(
    r"(?<=[。！？])(?![」』）)])"
    r"|(?<=[.!?])\s+"
    r"|\n\s*\n"
    r"|\n(?=\s*(?:\||[-*+•・●■]\s*|\d{1,3}[.)）]\s))"
)
"""After a sentence, between paragraphs, before a table's row or a list's item."""
_WORDS = re.compile(r"\w\s*\w")


def split(text: str) -> list[str]:
    """The passages of a chunk's text, in order; at least one, none without words but the first."""
    passages: list[str] = []
    for piece in _BOUNDARY.split(text):
        piece = piece.strip()
        if not piece:
            continue
        if passages and (len(passages) == MOST or not _WORDS.search(piece)):
            passages[-1] = f"{passages[-1]} {piece}"
        else:
            passages.append(piece)
    return passages or [text]


def refs(chunk_id: int, text: str) -> list[Ref]:
    """The passages of a chunk by the names they have in every index."""
    return [Ref(Kind.PASSAGE, chunk_id * MOST + number) for number in range(len(split(text)))]


def place_of(passage_id: int) -> tuple[int, int]:
    """The id of a passage's chunk, and the number of its sentence there."""
    return divmod(passage_id, MOST)


def keys_of(chunk_id: int) -> tuple[int, int]:
    """The lowest and the highest key that a passage of the chunk can have."""
    return (
        Ref(Kind.PASSAGE, chunk_id * MOST).key,
        Ref(Kind.PASSAGE, chunk_id * MOST + MOST - 1).key,
    )
