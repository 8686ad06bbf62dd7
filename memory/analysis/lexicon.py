"""Which words mean the same and which the opposite.

English: antonyms, synonyms and direct hypernyms of verbs, of the senses that occur in running text,
derived from WordNet 3.0 (see `WORDNET-LICENSE.txt`). Japanese: Sudachi's own synonym groups and
normalised spellings, and pairs of characters that make two words opposites (着陸, 離陸).
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Final

_NEGATING_CHARACTERS: Final = "不無未非"


@cache
def _antonyms() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in _lines("antonyms_en.txt"):
        first, second = line.split()
        found.setdefault(first, set()).add(second)
        found.setdefault(second, set()).add(first)
    return {word: frozenset(others) for word, others in found.items()}


@cache
def _opposites() -> frozenset[frozenset[str]]:
    return frozenset(frozenset(line.split()) for line in _lines("opposites_ja.txt"))


@cache
def _opposite_characters() -> frozenset[frozenset[str]]:
    return frozenset(frozenset(pair) for pair in words("opposite_characters_ja.txt"))


@cache
def _related() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in _lines("synonyms_en.txt"):
        word, *others = line.split()
        for other in others:
            found.setdefault(word, set()).add(other)
            found.setdefault(other, set()).add(word)
    return {word: frozenset(others) for word, others in found.items()}


def words(name: str) -> frozenset[str]:
    """The word list `name` of this package."""
    return frozenset(word for line in _lines(name) for word in line.split())


def _lines(name: str) -> list[str]:
    return resources.files("memory.analysis").joinpath(name).read_text("utf-8").splitlines()


def are_opposite_english(first: str, second: str) -> bool:
    """True for lemmas that WordNet calls antonyms, or that a prefix makes opposites."""
    if second in _antonyms().get(first, ()):
        return True
    short, long = sorted((first, second), key=len)
    return len(short) > 3 and long in {
        prefix + short for prefix in ("un", "in", "im", "ir", "il", "dis", "non", "mis")
    }


def are_related_english(first: str, second: str) -> bool:
    """True for lemmas that share a sense, or of which one is the other's direct hypernym."""
    return first == second or second in _related().get(first, ())


def has_opposite_english(word: str) -> bool:
    """True for a lemma, in lower case, that has an antonym: most adjectives of states have."""
    return word in _antonyms()


def are_opposite_japanese(first: str, second: str) -> bool:
    """True for words of which one opposite character pair, or one 不 or 非, is the difference."""
    if first == second:
        return False
    if frozenset((first, second)) in _opposites():
        return True
    if any(second == c + first or first == c + second for c in _NEGATING_CHARACTERS):
        return True
    only_first = [c for c in first if "一" <= c <= "鿿" and c not in second]
    only_second = [c for c in second if "一" <= c <= "鿿" and c not in first]
    return any(frozenset((a, b)) in _opposite_characters() for a in only_first for b in only_second)
