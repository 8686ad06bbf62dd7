"""Recognises text that came out of a file as characters nobody wrote."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from itertools import pairwise

_MIN_CHARACTERS = 4
_MAX_NOT_TEXT = 0.1
"""Share of characters that are no text at all; 0 in 1,505 paragraphs of JSQuAD, JaQuAD, XQuAD."""
_MAX_SCRIPT_CHANGES = 0.25
"""Share of neighbouring letters of unrelated scripts; at most 0.065 in those paragraphs."""

_TOGETHER = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "LATIN", "BOPOMOFO", "KANGXI"})
"""Scripts that ordinary East Asian text mixes within a word or sentence."""
_NEUTRAL = frozenset({"COMBINING", "MODIFIER", "VARIATION", "MICRO", "MASCULINE", "FEMININE"})
_SAME_AS = {"HALFWIDTH": "KATAKANA", "IDEOGRAPHIC": "CJK", "FULLWIDTH": "LATIN"}
_IGNORED_CONTROLS = frozenset("\t\n\r\f\x02\u00ad\ufffe\u200b\u200c\u200d\u200e\u200f\ufeff")


def is_garbage(text: str) -> bool:
    """Whether fonts without a usable character map, or a wrong decoding, made this text.

    Two signs: characters that are no text (replacement, private use, unassigned, control),
    and letters that change script from one to the next, as glyph numbers taken for
    character codes do.
    """
    shown = [char for char in text if not char.isspace() and char not in _IGNORED_CONTROLS]
    if len(shown) < _MIN_CHARACTERS:
        return any(_is_no_text(char) for char in shown)
    if sum(map(_is_no_text, shown)) > _MAX_NOT_TEXT * len(shown):
        return True
    scripts = [_script(char) for char in text]
    neighbours = [(one, other) for one, other in pairwise(scripts) if one and other]
    if len(neighbours) < _MIN_CHARACTERS:
        return False
    changes = sum(
        one != other and not (one in _TOGETHER and other in _TOGETHER) for one, other in neighbours
    )
    return changes > _MAX_SCRIPT_CHANGES * len(neighbours)


@lru_cache(maxsize=1 << 14)
def _is_no_text(char: str) -> bool:
    if char == "\ufffd":
        return True
    return char not in _IGNORED_CONTROLS and unicodedata.category(char) in ("Cc", "Cn", "Co", "Cs")


@lru_cache(maxsize=1 << 14)
def _script(char: str) -> str:
    """The script of a letter, vowel sign or ideograph, from its Unicode name; "" for others."""
    if not (char.isalpha() or unicodedata.category(char) in ("Mc", "Mn")):
        return ""
    first = unicodedata.name(char, "UNKNOWN").split(maxsplit=1)[0]
    first = first.partition("-")[0]
    return "" if first in _NEUTRAL else _SAME_AS.get(first, first)
