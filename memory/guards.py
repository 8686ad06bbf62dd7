"""Which two facts can never be the same, whatever a model says, and which are without one.

Pure functions over two sentences. `compare` finds contradictions; `same_without_model`
additionally asks that every content word of one sentence has its counterpart in the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import Final

from memory.analysis import read
from memory.analysis.content import Content, Word
from memory.analysis.english_content import STRONG_PARTICLES
from memory.analysis.english_content import content as english_content
from memory.analysis.japanese_content import content as japanese_content
from memory.analysis.lexicon import (
    are_opposite_english,
    are_opposite_japanese,
    are_related_english,
)
from memory.analysis.results import Reading


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
    first, second = (
        (japanese_content(a), japanese_content(b))
        if is_japanese
        else (english_content(a), english_content(b))
    )
    only_first, only_second, shared = _align(first, second, is_japanese)
    guards = set()
    if _negation_differs(first, second):
        guards.add(Guard.NEGATION)
    if first.numbers and second.numbers and _counts(first) != _counts(second):
        guards.add(Guard.NUMBER)
    if first.dates - second.dates and second.dates - first.dates:
        guards.add(Guard.DATE)
    if any(w.is_name for w in only_first) and any(w.is_name for w in only_second):
        guards.add(Guard.NAME)
    opposite = are_opposite_japanese if is_japanese else are_opposite_english
    if (
        any(opposite(x.lemma, y.lemma) for x in only_first for y in only_second)
        or _particles_differ(first, second)
        or _quantities_differ(first, second)
    ):
        guards.add(Guard.ANTONYM)
    roles_differ = _roles_differ(first, second, is_japanese)
    if roles_differ or (not is_japanese and _order_reversed(first, second)):
        guards.add(Guard.ROLE_SWAP)
    if first.is_certain != second.is_certain:
        guards.add(Guard.CERTAINTY)
    if _tense_differs(first, second):
        guards.add(Guard.TENSE)
    readings = read(a), read(b)
    guards |= _reading_guards(*readings, is_japanese)
    if _read_alike(*readings, is_japanese):
        # "can't stand mushrooms", "hate mushrooms": the pattern has counted the negation.
        guards.discard(Guard.NEGATION)
    return Comparison(frozenset(guards), only_first, only_second, shared)


def _align(
    first: Content, second: Content, is_japanese: bool
) -> tuple[tuple[Word, ...], tuple[Word, ...], int]:
    """Words of each side without a counterpart, and the number of those with one."""
    left = [w for w in first.words if w.key not in second.keys and not w.is_pronoun]
    right = [w for w in second.words if w.key not in first.keys and not w.is_pronoun]
    shared = len(first.keys & second.keys)
    for word in list(left):
        twin = next((other for other in right if _is_related(word, other, is_japanese)), None)
        if twin is not None:
            left.remove(word)
            right.remove(twin)
            shared += 1
    return tuple(left), tuple(right), shared


def _is_related(first: Word, second: Word, is_japanese: bool) -> bool:
    if is_japanese:
        # 黄色い, 黄色: an adjective and its noun.
        stems = first.key.removesuffix("い"), second.key.removesuffix("い")
        return bool(first.groups & second.groups) or stems[0] == stems[1]
    return are_related_english(first.lemma, second.lemma)


def _negation_differs(first: Content, second: Content) -> bool:
    if bool(first.negations) != bool(second.negations):
        return True
    # "not tea but coffee" against "not coffee but tea": both negate, but not the same word.
    return first.negations > 0 and any(
        flags != _negated(second, key) and len(flags) == len(_negated(second, key))
        for key in first.keys & second.keys
        for flags in [_negated(first, key)]
    )


def _negated(content: Content, key: str) -> tuple[bool, ...]:
    return tuple(word.negated for word in content.words if word.key == key)


def _counts(content: Content) -> tuple[float, ...]:
    """The numbers apart from one, which is often no more than an article."""
    return tuple(number for number in content.numbers if number != 1)


_OPPOSITE_PARTICLES: Final = frozenset(
    frozenset(pair.split())
    for pair in (
        "in out", "into out", "on off", "up down", "over under", "on under", "above below", "before after",
        "inside outside", "in outside", "back away", "for against", "with without", "behind before",
    )
)


def _particles_differ(first: Content, second: Content) -> bool:
    left = set(first.particles) - set(second.particles)
    right = set(second.particles) - set(first.particles)
    roles = {w.key: w.role for w in first.words}
    if any(
        {w.role, roles.get(w.key)} in ({"from", "to"}, {"source", "other"}) for w in second.words
    ):
        return True
    return any(
        frozenset((x, y)) in _OPPOSITE_PARTICLES or are_opposite_japanese(x, y)
        for x in left
        for y in right
    )


_OPPOSITE_QUANTITIES: Final = ({"much", "little"}, {"all", "some"}, {"all", "little"})


def _quantities_differ(first: Content, second: Content) -> bool:
    left, right = first.quantities - second.quantities, second.quantities - first.quantities
    return any({x, y} in _OPPOSITE_QUANTITIES for x in left for y in right)


def _order_reversed(first: Content, second: Content) -> bool:
    """True for "A manages B" against "B manages A".

    Three words in one order here and in the opposite order there: no paraphrase does that,
    except a passive, for which the order must stay.
    """
    left, right = _places(first), _places(second)
    in_first = sorted((key for key in left if key in right), key=lambda key: left[key])
    in_second = sorted(in_first, key=lambda key: right[key])
    if first.passive != second.passive:
        return len(in_first) == 3 and in_first == in_second
    # "In Rome live my friends": the preposition shows that nothing has changed places.
    anchored = {w.key for w in first.words if w.role} & {w.key for w in second.words if w.role}
    reversed_triples = {triple[::-1] for triple in _close_triples(in_second, right)}
    return any(
        x not in anchored and y not in anchored
        for x, v, y in _close_triples(in_first, left) & reversed_triples
    )


def _places(content: Content) -> dict[str, int]:
    """Where each word stands that occurs once."""
    keys = [word.key for word in content.words]
    return {key: place for place, key in enumerate(keys) if keys.count(key) == 1}


_MAX_GAP: Final = 3
"""Content words between a verb and its noun; reordered clauses lie further apart."""


def _close_triples(keys: list[str], position: dict[str, int]) -> set[tuple[str, str, str]]:
    return {
        (x, v, y)
        for x, v, y in combinations(keys, 3)
        if position[v] - position[x] <= _MAX_GAP and position[y] - position[v] <= _MAX_GAP
    }


_CHANGING_ROLES: Final = frozenset({"agent", "other", "source", "owner", "than", "from", "to"})


def _roles_differ(first: Content, second: Content, is_japanese: bool) -> bool:
    """True when two nouns have changed places between doer and done-to, owner and owned.

    In English a noun without a preposition has a role as well; in Japanese one without a
    particle may have any (犬と猫を飼う).
    """
    left = {w.key: w.role if w.role in _CHANGING_ROLES else "" for w in first.words}
    right = {w.key: w.role if w.role in _CHANGING_ROLES else "" for w in second.words}
    changed = {
        (left[key], right[key])
        for key in left
        if key in right and (not is_japanese or (left[key] and right[key]))
    }
    return any(here != there and (there, here) in changed for here, there in changed)


def _tense_differs(first: Content, second: Content) -> bool:
    if first.tense != second.tense:
        return True
    return bool(first.past_verbs & second.present_verbs or second.past_verbs & first.present_verbs)


def _reading_guards(first: Reading, second: Reading, is_japanese: bool) -> set[Guard]:
    guards = set()
    if first.subject and second.subject and not _same_subject(first.subject, second.subject, is_japanese):
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
    kinds = first.attribute.partition(":")[0], second.attribute and second.attribute.partition(":")[0]
    if kinds[0] != kinds[1] or (first.negated, first.tense) != (second.negated, second.tense):
        return False
    read_content = japanese_content if is_japanese else english_content
    return read_content(first.value).keys == read_content(second.value).keys


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
    if not left.keys or not right.keys or left.keys <= right.keys or right.keys <= left.keys:
        return True
    only_left, only_right, _ = _align(left, right, is_japanese)
    return _is_compound(only_left, only_right)


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
    first, second = _contents(a, b, language)
    alike = _read_alike(read(a), read(b), language == "ja") and _only_pattern_words(found)
    if not alike and not _nothing_left(found, first, second):
        return False
    if not found.shared and first.grammar != second.grammar:
        return False
    return (
        _counts(first) == _counts(second)
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


def _contents(a: str, b: str, language: str) -> tuple[Content, Content]:
    read_content = japanese_content if language == "ja" else english_content
    return read_content(a), read_content(b)


def supersedes(older: Reading, newer: Reading) -> bool:
    """True when what was said later ends what was said earlier, without asking a model.

    Both must be about the same subject and attribute. A single-valued attribute (home, job,
    favourite colour) is ended by another value; a like only by its own negation or dislike.
    Doubtful, past and future words end nothing.
    """
    if older.attribute is None or newer.attribute is None or not newer.certain:
        return False
    if newer.tense is not Tense.NOW or older.tense is not Tense.NOW or older.subject != newer.subject:
        return False
    (old_kind, _, old_object), (new_kind, _, new_object) = older.attribute.partition(":"), newer.attribute.partition(":")
    if {old_kind, new_kind} == {"likes", "dislikes"}:
        return old_object == new_object and not older.negated and not newer.negated
    if older.attribute != newer.attribute:
        return False
    same_value = (older.value or "").casefold() == (newer.value or "").casefold()
    if older.negated != newer.negated:
        return same_value
    return is_single_valued(newer.attribute) and not newer.negated and not same_value
