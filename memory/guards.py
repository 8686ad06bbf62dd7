"""Which two facts can never be the same, whatever a model says, and which are without one.

Pure functions over two sentences. `compare` finds contradictions; `same_without_model`
additionally asks that every content word of one sentence has its counterpart in the other.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from memory.analysis import read
from memory.analysis.content import Content, Word
from memory.analysis.differences import (
    align,
    counts,
    negation_differs,
    numbers_differ,
    order_reversed,
    particles_differ,
    quantities_differ,
    roles_differ,
    tense_differs,
)
from memory.analysis.english_content import STRONG_PARTICLES
from memory.analysis.english_content import content as english_content
from memory.analysis.japanese_content import content as japanese_content
from memory.analysis.lexicon import (
    are_opposite_english,
    are_opposite_japanese,
)
from memory.analysis.results import Reading, Tense, is_single_valued
from memory.tokens import normalised


class Guard(StrEnum):
    """Why two sentences cannot be the same fact."""

    NEGATION = "negation"
    NUMBER = "number"
    DATE = "date"
    NAME = "name"
    ANTONYM = "antonym"
    ROLE_SWAP = "role swap"
    CERTAINTY = "certainty"
    TENSE = "tense"
    SUBJECT = "subject"
    ATTRIBUTE = "attribute"
    VALUE = "value"
    SYMBOL = "symbol"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two sentences have in common, and what forbids that they are one fact."""

    guards: frozenset[Guard]
    only_first: tuple[Word, ...]
    """Content words without a counterpart in the second sentence."""
    only_second: tuple[Word, ...]
    shared: int
    """Content words that have one."""

    @property
    def can_be_same(self) -> bool:
        return not self.guards


def compare(a: str, b: str, language: str) -> Comparison:
    """Compare two facts; `language` (BCP 47) is that of both."""
    is_japanese = language == "ja"
    first, second = _contents(a, b, is_japanese)
    only_first, only_second, shared = align(first, second, is_japanese)
    opposite = are_opposite_japanese if is_japanese else are_opposite_english
    fired = {
        Guard.NEGATION: negation_differs(first, second),
        Guard.NUMBER: numbers_differ(first, second),
        Guard.DATE: bool(first.dates - second.dates and second.dates - first.dates),
        Guard.NAME: any(w.is_name for w in only_first) and any(w.is_name for w in only_second),
        Guard.ANTONYM: any(opposite(x.lemma, y.lemma) for x in only_first for y in only_second)
        or particles_differ(first, second)
        or quantities_differ(first, second),
        Guard.ROLE_SWAP: roles_differ(first, second, is_japanese)
        or (not is_japanese and order_reversed(first, second)),
        Guard.CERTAINTY: first.is_certain != second.is_certain,
        Guard.TENSE: tense_differs(first, second),
        Guard.SYMBOL: _symbols_differ(a, b),
    }
    guards = {guard for guard, is_fired in fired.items() if is_fired}
    readings = read(a), read(b)
    guards |= _reading_guards(*readings, is_japanese)
    if _read_alike(*readings, is_japanese):
        # "can't stand mushrooms", "hate mushrooms": the pattern has counted the negation.
        guards.discard(Guard.NEGATION)
    return Comparison(frozenset(guards), only_first, only_second, shared)


_WORD_WITH_SYMBOLS: Final = re.compile(r"\w+[+#]+")


def _symbols_differ(a: str, b: str) -> bool:
    """True for "C" and "C++", and for two different pictures; one alone may be decoration."""
    first, second = (unicodedata.normalize("NFKC", text).casefold() for text in (a, b))
    if set(_WORD_WITH_SYMBOLS.findall(first)) != set(_WORD_WITH_SYMBOLS.findall(second)):
        return True
    pictures = [{c for c in text if unicodedata.category(c) == "So"} for text in (first, second)]
    return all(pictures) and pictures[0] != pictures[1]


def _reading_guards(first: Reading, second: Reading, is_japanese: bool) -> set[Guard]:
    guards = set()
    if (
        first.subject
        and second.subject
        and not _same_subject(first.subject, second.subject, is_japanese)
    ):
        guards.add(Guard.SUBJECT)
    if first.attribute and second.attribute:
        kinds = first.attribute.partition(":")[0], second.attribute.partition(":")[0]
        if kinds[0] != kinds[1]:
            guards.add(Guard.ATTRIBUTE)
        elif not _same_value(first.value, second.value, is_japanese):
            guards.add(Guard.VALUE)
    return guards


def _read_alike(first: Reading, second: Reading, is_japanese: bool) -> bool:
    """True when both name the same attribute, with the same value, in the same sense."""
    if not first.attribute or not first.value or not second.value:
        return False
    kinds = (
        first.attribute.partition(":")[0],
        second.attribute and second.attribute.partition(":")[0],
    )
    if kinds[0] != kinds[1] or (first.negated, first.tense) != (second.negated, second.tense):
        return False
    read_content = japanese_content if is_japanese else english_content
    left, right = read_content(first.value).keys, read_content(second.value).keys
    return left == right if left or right else _same_words(first.value, second.value)


def _same_subject(first: str, second: str, is_japanese: bool) -> bool:
    if first.casefold() == second.casefold():
        return True
    read_content = japanese_content if is_japanese else english_content
    left, right = read_content(first).keys, read_content(second).keys
    return bool(left and right) and (left <= right or right <= left)


def _same_value(first: str | None, second: str | None, is_japanese: bool) -> bool:
    if not first or not second:
        return True
    read_content = japanese_content if is_japanese else english_content
    left, right = read_content(first), read_content(second)
    if not left.keys or not right.keys:  # a letter, a picture: nothing tells what it means
        return _same_words(first, second)
    if left.keys <= right.keys or right.keys <= left.keys:
        return True
    only_left, only_right, _ = align(left, right, is_japanese)
    return _is_compound(only_left, only_right)


def _same_words(first: str, second: str) -> bool:
    return normalised(first).split() == normalised(second).split()


def same_without_model(a: str, b: str, similarity: float, language: str) -> bool:
    """True when two facts say the same, as far as words can tell.

    `similarity` is the calibrated similarity of their embeddings, in standard deviations
    above unrelated text (see `memory.calibration`).
    """
    found = compare(a, b, language)
    return (
        found.can_be_same and similarity >= MIN_SIMILARITY and _says_the_same(a, b, found, language)
    )


MIN_SIMILARITY: Final = 2.0


def _says_the_same(a: str, b: str, found: Comparison, language: str) -> bool:
    first, second = _contents(a, b, language == "ja")
    alike = _read_alike(read(a), read(b), language == "ja") and _only_pattern_words(found)
    if not alike and not _nothing_left(found, first, second):
        return False
    if not found.shared and first.grammar != second.grammar:
        return False
    return (
        counts(first) == counts(second)
        and first.dates == second.dates
        and _particles_fit(first, second)
        and ("only" in first.quantities) == ("only" in second.quantities)
    )


def _particles_fit(first: Content, second: Content) -> bool:
    """True unless one says "under" where the other says "on"; a noun compound may drop one."""
    left, right = set(first.particles), set(second.particles)
    return not (left ^ right) & STRONG_PARTICLES or left <= right or right <= left


def _nothing_left(found: Comparison, first: Content, second: Content) -> bool:
    """True when every content word has its counterpart.

    Compounds may be written apart ("sun glasses"), and a full name may stand for its parts.
    """
    left, right = found.only_first, found.only_second
    if _is_compound(left, right):
        return True
    if left and right:
        return False
    extended = first if left else second
    return all(_extends_name(word, extended, {*left, *right}) for word in left or right)


def _only_pattern_words(found: Comparison) -> bool:
    """True when at most one word is left on each side, and no name: "live" against "based"."""
    sides = found.only_first, found.only_second
    return all(len(side) <= 1 and not any(w.is_name for w in side) for side in sides)


def _is_compound(left: tuple[Word, ...], right: tuple[Word, ...]) -> bool:
    """True for "sun glasses" and "sunglasses", and when nothing is left on either side."""
    return "".join(w.lemma for w in left) == "".join(w.lemma for w in right)


def _extends_name(word: Word, content: Content, extra: set[Word]) -> bool:
    """True for the "Michael" of "Michael Bloomberg" when the other says "Bloomberg"."""
    place = content.words.index(word)
    following = content.words[place + 1 : place + 2]
    return word.is_name and any(other.is_name and other not in extra for other in following)


def _contents(a: str, b: str, is_japanese: bool) -> tuple[Content, Content]:
    read_content = japanese_content if is_japanese else english_content
    return read_content(a), read_content(b)


def supersedes(older: Reading, newer: Reading) -> bool:
    """True when what was said later ends what was said earlier, without asking a model.

    Both must be about the same subject and attribute. A single-valued attribute (home, job,
    favourite colour) is ended by another value; a like only by its own negation or dislike.
    Doubtful, past and future words end nothing, and nothing ends what is said of a person who
    cannot be told ("he lives in Paris").
    """
    if older.attribute is None or newer.attribute is None or not newer.certain:
        return False
    if older.tense is not Tense.NOW or newer.tense is not Tense.NOW:
        return False
    old_kind, _, old_object = older.attribute.partition(":")
    new_kind, _, new_object = newer.attribute.partition(":")
    if older.subject != newer.subject or (older.subject is None and new_kind != "deadline"):
        return False
    if {old_kind, new_kind} == {"likes", "dislikes"}:
        return old_object == new_object and not older.negated and not newer.negated
    if older.attribute != newer.attribute:
        return False
    same_value = (older.value or "").casefold() == (newer.value or "").casefold()
    if older.negated != newer.negated:
        return same_value
    return is_single_valued(newer.attribute) and not newer.negated and not same_value
