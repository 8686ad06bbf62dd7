"""What a sentence says, in a form in which two sentences can be compared."""

from __future__ import annotations

from dataclasses import dataclass, field

from memory.analysis.results import Tense


@dataclass(frozen=True, slots=True)
class Word:
    """One content word."""

    key: str
    """Equal for two words that only differ in inflection or spelling."""
    lemma: str
    """Dictionary form, for the lexicon."""
    negated: bool = False
    """True when a negation stands close enough to mean this word."""
    is_name: bool = False
    is_verb: bool = False
    role: str = ""
    """What a noun is to the words around it, passives undone: `agent`, `other`, `source`, `owner`,
    `than`; in English the preposition before it, or `owner`."""
    groups: frozenset[int] = frozenset()
    """Groups of synonyms (Japanese)."""
    governor: str = ""
    """Key of the verb that `role` refers to."""
    is_pronoun: bool = False
    """Counts for who did what, not for what is said: Japanese leaves it out."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a sentence says apart from grammar words."""

    words: tuple[Word, ...]
    """In order of appearance."""
    particles: tuple[str, ...] = ()
    """Prepositions and verb particles; in Japanese, words for places (上, 中)."""
    numbers: tuple[float, ...] = ()
    """Sorted."""
    dates: frozenset[str] = field(default_factory=frozenset)
    """Months, days, weekdays, clock times and relative days, normalised."""
    negations: int = 0
    is_certain: bool = True
    tense: Tense = Tense.NOW
    past_verbs: frozenset[str] = frozenset()
    present_verbs: frozenset[str] = frozenset()
    passive: bool = False
    grammar: frozenset[str] = frozenset()
    """Pronouns and question words (English)."""
    quantities: frozenset[str] = frozenset()
    """Of `all`, `much`, `some`, `little` and `only`, those that the sentence says."""

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(word.key for word in self.words if not word.is_pronoun)
