"""Which facts the words after `forget` mean: whole words, in scripts with and without spaces."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from memory import analysis, tokens
from memory.types import Fact


def with_words(words: str, known: Sequence[Fact]) -> list[Fact]:
    """The facts that have the words as they stand, none of them cut, or all of them in some
    form.
    """
    exact = tokens.query_terms(words).exact
    needed = {term for term in exact if not tokens.is_spelling(term)} or set(exact)
    plain = tokens.normalised(words)
    return [
        fact
        for fact in known
        if _stands_in(plain, tokens.normalised(fact.text))
        or (needed and needed <= set(tokens.terms(fact.text)))
    ]


def _stands_in(words: str, text: str) -> bool:
    """True where the words stand in the text and no word is cut at either end of them.

    What begins or ends a word of hiragana cannot be seen, so two of them are no word by
    themselves: いか is not meant by いかが.
    """
    if not words or _FEW_HIRAGANA.fullmatch(words):
        return False
    at = text.find(words)
    while at >= 0:
        if not (_is_cut(text, at) or _is_cut(text, at + len(words))):
            return True
        at = text.find(words, at + 1)
    return False


_FEW_HIRAGANA: Final = re.compile("[\u3041-\u309f]{1,2}")
_KATAKANA: Final = re.compile("[\u30a1-\u30fa\u30fc-\u30ff]")
_HAN: Final = re.compile(
    "[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


def _is_cut(text: str, at: int) -> bool:
    """True when the characters on both sides of a place in the text are of one word, or of one
    run of a script in which words are seldom set apart.
    """
    if not 0 < at < len(text):
        return False
    script = _script(text[at])
    return script is not None and script == _script(text[at - 1])


def _script(character: str) -> str | None:
    """`word` for the scripts with spaces; None for what tells nothing about where a word ends."""
    if _KATAKANA.match(character):
        return "katakana"
    if _HAN.match(character):
        return "han"
    if tokens.is_spelling(character):
        return None
    return "word" if unicodedata.category(character)[0] in "LNM" else None


def has_attribute(words: str, fact: Fact) -> bool:
    """True when the words name the fact's attribute: `home`, "where I live", 住所."""
    if fact.attribute is None:
        return False
    if words.lower() in {fact.attribute, fact.attribute.partition(":")[0]}:
        return True
    asked = analysis.question(f"{words}？" if analysis.language_of(words) == "ja" else f"{words}?")
    return asked.attribute is not None and asked.fits(fact.attribute)
