"""Japanese words, by Sudachi."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

_PIECE: Final = 8_000
"""Characters given to Sudachi at once; it refuses more than 49,149 bytes."""


@dataclass(frozen=True, slots=True)
class Token:
    """One word as Sudachi sees it."""

    surface: str
    base: str
    """Dictionary form: 住ん → 住む."""
    normal: str
    """One spelling for all: 引越す, 引っ越す → 引っ越す."""
    tags: tuple[str, ...]
    """Part of speech, general to special, without the empty ones."""
    start: int
    synonyms: tuple[int, ...]
    """Groups of the Sudachi synonym dictionary this word belongs to."""

    def is_a(self, *tags: str) -> bool:
        """True when the part of speech starts with `tags`."""
        return self.tags[: len(tags)] == tags


_local = threading.local()


@cache
def _dictionary() -> Any:
    from sudachipy import Dictionary

    return Dictionary(dict="small")


_dictionary_lock = threading.Lock()


def _tokenizer() -> Any:
    """A tokenizer of this thread: one handle must not be used by two threads at a time."""
    if not hasattr(_local, "tokenizer"):
        from sudachipy import SplitMode

        with _dictionary_lock:
            _local.tokenizer = _dictionary().tokenizer(mode=SplitMode.C)
    return _local.tokenizer


_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


def tokens(text: str) -> list[Token]:
    """The words of `text` in order (longest units, Sudachi mode C)."""
    text = _SURROGATE.sub("�", text)
    return [
        Token(
            surface=m.surface(),
            base=m.dictionary_form(),
            normal=m.normalized_form(),
            tags=tuple(tag for tag in m.part_of_speech() if tag != "*"),
            start=offset + m.begin(),
            synonyms=tuple(m.synonym_group_ids()),
        )
        for offset in range(0, len(text), _PIECE)
        for m in _tokenizer().tokenize(text[offset : offset + _PIECE])
    ]
