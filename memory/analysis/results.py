"""What the analysis of a text gives: sentences, statements and questions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from memory.types import Span

SELF = "self"
"""Stands for the speaker wherever a subject is named."""


class Tense(StrEnum):
    """When a statement holds, seen from the moment it was said."""

    PAST = "past"
    NOW = "now"
    FUTURE = "future"


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of somebody's own words, at its place in the original text."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Reading:
    """What a pattern can tell with certainty about one clause."""

    subject: str | None = None
    """`SELF`, another name as it was written, or None when it cannot be told."""
    attribute: str | None = None
    """`home`, `likes:cats`, `favourite:colour`, …; None unless a pattern is certain."""
    value: str | None = None
    """The object of the attribute ("Osaka"), without articles and closing words."""
    negated: bool = False
    certain: bool = True
    tense: Tense = Tense.NOW


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence worth remembering, with what can be told about it without a model."""

    text: str
    """The words exactly as they stand at `span`."""
    span: Span
    subject: str | None
    attribute: str | None
    value: str | None
    negated: bool
    certain: bool
    tense: Tense
    language: str
    """BCP 47: `en`, `ja`, `zh`, …; `und` when there are no letters."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a message asks about."""

    is_question: bool
    attribute: str | None = None
    """As in `Reading`, without the object when it is what is asked (`likes`)."""
    about: str | None = None
    """`SELF`, another name, or None."""
    time: Tense | None = None
    """NOW or PAST when the words say so, else None."""
    is_talk: bool = False
    """A greeting, thanks or acknowledgement: there is nothing to look up."""
    language: str = "und"

    def fits(self, attribute: str | None) -> bool:
        """True when a fact about `attribute` can answer this.

        A question or fact without an attribute can be about anything. `likes` asks for
        every `likes:…` and `dislikes:…`; `likes:cats` only for cats.
        """
        if self.attribute is None or attribute is None:
            return True
        asked, _, asked_object = self.attribute.partition(":")
        known, _, known_object = attribute.partition(":")
        if {asked, known} <= _LIKINGS:
            asked = known
        elif asked == "favourite" and known in _LIKINGS:
            return True  # 好きな食べ物は？ asks for a favourite, and a like will do
        if asked != known:
            return False
        return not asked_object or not known_object or asked_object == known_object


_LIKINGS = {"likes", "dislikes"}


SINGLE_VALUED = frozenset(
    {"name", "home", "address", "job", "birthday", "age", "team", "employer", "origin"}
)
"""Attributes of which one value holds at a time; so does every `favourite:…` and `deadline:…`."""


def is_single_valued(attribute: str) -> bool:
    """True when a later value of `attribute` ends an earlier one."""
    return attribute in SINGLE_VALUED or attribute.partition(":")[0] in {"favourite", "deadline"}
