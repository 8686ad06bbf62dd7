"""In what two sentences differ, feature by feature."""

from __future__ import annotations

from itertools import combinations
from typing import Final

from memory.analysis.content import Content, Word
from memory.analysis.lexicon import are_opposite_japanese, are_related_english


def align(
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


def negation_differs(first: Content, second: Content) -> bool:
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


def numbers_differ(first: Content, second: Content) -> bool:
    """True when both say numbers, and not the same."""
    return bool(first.numbers and second.numbers) and counts(first) != counts(second)


def counts(content: Content) -> tuple[float, ...]:
    """The numbers apart from one, which is often no more than an article."""
    return tuple(number for number in content.numbers if number != 1)


_OPPOSITE_PARTICLES: Final = frozenset(
    frozenset(pair.split())
    for pair in (
        "in out",
        "into out",
        "on off",
        "up down",
        "over under",
        "on under",
        "above below",
        "before after",
        "inside outside",
        "in outside",
        "back away",
        "for against",
        "with without",
        "behind before",
    )
)


def particles_differ(first: Content, second: Content) -> bool:
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


def quantities_differ(first: Content, second: Content) -> bool:
    left, right = first.quantities - second.quantities, second.quantities - first.quantities
    return any({x, y} in _OPPOSITE_QUANTITIES for x in left for y in right)


def order_reversed(first: Content, second: Content) -> bool:
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


_CHANGING_ROLES: Final = frozenset(
    {"agent", "other", "source", "owner", "than", "from", "to", "about", "for", "of", "with"}
)


def roles_differ(first: Content, second: Content, is_japanese: bool) -> bool:
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


def tense_differs(first: Content, second: Content) -> bool:
    if first.tense != second.tense:
        return True
    return bool(first.past_verbs & second.present_verbs or second.past_verbs & first.present_verbs)
