"""Is it new, is it known, or does it take the place of something? Decided without side effects.

Exact repeats and single-valued attributes are decided here. What remains is a question of
meaning: guards say which pairs can never be the same, and only the rest is put to a judge (or,
without a model, to `guards.same_without_model`). When in doubt both are kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memory import analysis, guards
from memory.analysis.japanese import BARE_NAME, RELATIONS
from memory.analysis.results import is_single_valued
from memory.types import Fact, NewFact, Person, Verdict

NEAR = 2.0
"""Similarity, in standard deviations above unrelated text, from which a known fact is a candidate
for being the same. Similarity only nominates: opposites are neighbours too."""

MOST_CANDIDATES = 5
"""Candidates considered for one new fact, nearest first."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A known fact near a new one, and how they relate."""

    known: Fact
    similarity: float
    """Standard deviations above unrelated text."""
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do with a new fact."""

    verdict: Verdict
    known: Fact | None = None
    """The fact that it repeats (SAME) or, later said, takes the place of (SUPERSEDES)."""
    closed_by: Fact | None = None
    """For a fact that was said before a known value and arrives late: that value."""


def single_valued(attribute: str | None) -> bool:
    """True when a later value of the attribute ends an earlier one."""
    return attribute is not None and is_single_valued(attribute)


def ends_others(fact: NewFact | Fact) -> bool:
    """True when the fact is a value that ends an earlier one of its attribute.

    名前はタマです alone does not: it may name whoever was just spoken of.
    """
    return single_valued(fact.attribute) and not BARE_NAME.match(fact.text)


def rival_attributes(attribute: str) -> tuple[str, ...]:
    """The attributes whose values one of `attribute` can contradict: itself, and its opposite."""
    kind, colon, what = attribute.partition(":")
    other = {"likes": "dislikes", "dislikes": "likes"}.get(kind)
    return (attribute,) if other is None else (attribute, f"{other}{colon}{what}")


_OWN: Final = re.compile(
    r"\b(?:i|me|my|mine|we|us|our|ours)\b|私|僕|俺|わたし|ぼく|おれ|うち|自分|当方|弊社",
    re.IGNORECASE,
)


def depends_on_speaker(fact: NewFact) -> bool:
    """True when the same words of somebody else are another fact: "my wife is a nurse"."""
    if fact.subject == fact.speaker:
        return False
    return fact.subject in RELATIONS or _OWN.search(fact.text) is not None


def may_touch(new: NewFact, known: Fact) -> bool:
    """True when the new fact's speaker may change the known one: it is about them, or theirs.

    What one person says never changes what another said, nor what is known about them.
    """
    return new.speaker in (known.speaker, known.subject)


def is_open(known: Fact, new: NewFact) -> bool:
    """True when nothing had ended the known fact by the time the new one was said."""
    return known.superseded_by is None and (
        known.valid_until is None or known.valid_until > new.said_at
    )


def decide(
    new: NewFact,
    exact: Fact | None,
    same_attribute: Sequence[Fact],
    candidates: Sequence[Candidate],
) -> Decision:
    """Decide about one fact.

    `exact` is the known fact in the same words, `same_attribute` the open facts of the same
    subject, place and attribute, `candidates` those of the same subject and place that are near
    in meaning, with a judge's verdict where there was one.
    """
    if exact is not None and is_open(exact, new):
        return Decision(Verdict.SAME, exact)
    rivals = [fact for fact in same_attribute if fact.id != _id(exact) and rival(new, fact)]
    if rivals:
        return _in_time(new, rivals)
    for candidate in sorted(candidates, key=lambda c: -c.similarity):
        if candidate.known.id == _id(exact):
            continue
        if candidate.verdict is Verdict.SAME and may_be_same(new, candidate.known):
            return Decision(Verdict.SAME, candidate.known)
        if candidate.verdict is Verdict.SUPERSEDES and may_supersede(new, candidate.known):
            return _in_time(new, [candidate.known])
    return Decision(Verdict.DIFFERENT)


def _id(fact: Fact | None) -> int | None:
    return fact.id if fact is not None else None


def _in_time(new: NewFact, rivals: Sequence[Fact]) -> Decision:
    """What was said last holds now, in whatever order it arrived."""
    later = [fact for fact in rivals if fact.said_at > new.said_at]
    if later:
        return Decision(Verdict.DIFFERENT, closed_by=min(later, key=lambda fact: fact.said_at))
    return Decision(Verdict.SUPERSEDES, max(rivals, key=lambda fact: fact.said_at))


def rival(new: NewFact, known: Fact) -> bool:
    """True when the two are values of one attribute that cannot both hold now."""
    if new.attribute is None or known.attribute not in rival_attributes(new.attribute):
        return False
    if not (may_touch(new, known) and is_open(known, new)):
        return False
    opposite = new.attribute != known.attribute
    if opposite or new.negated != known.negated:
        if opposite == (new.negated != known.negated):
            return False  # not disliking is no contradiction
        # "I do not live in Tokyo" says nothing against "I live in Osaka"
        return not single_valued(new.attribute) or _same_value(new.text, known.text)
    if new.negated or not ends_others(new):
        return False
    # "I live in Osaka" and "I moved to Osaka" are one value in other words
    return not _same_value(new.text, known.text)


def _same_value(a: str, b: str) -> bool:
    first, second = analysis.read(a).value, analysis.read(b).value
    return first is not None and second is not None and first.casefold() == second.casefold()


def may_be_same(new: NewFact, known: Fact) -> bool:
    """False where a guard says that two facts differ, whatever a judge says."""
    if (new.speaker, new.negated) != (known.speaker, known.negated):
        return False
    if new.subject != known.subject and not _may_name_one(new, known):
        return False
    return guards.compare(new.text, known.text, new.language).can_be_same


def _may_name_one(new: NewFact, known: Fact) -> bool:
    """True when a sentence without a subject of its own, which counts as its speaker's, or one
    with a name as text may be about what the other is about: the guards, which see both, decide.
    """
    people = {s for s in (new.subject, known.subject) if isinstance(s, Person)}
    return people <= {new.speaker}


def may_supersede(new: NewFact, known: Fact) -> bool:
    """Only a value of the same attribute of the same subject takes another's place."""
    return (
        new.subject == known.subject
        and may_touch(new, known)
        and new.attribute is not None
        and new.attribute == known.attribute
    )


def without_judge(new: NewFact, known: Fact, similarity: float) -> Verdict:
    """The verdict when no model can be asked: SAME only when the words leave no doubt."""
    if new.language == known.language and may_be_same(new, known):
        if _same_value(new.text, known.text) and new.attribute == known.attribute is not None:
            return Verdict.SAME
        if guards.same_without_model(new.text, known.text, similarity, new.language):
            return Verdict.SAME
    return Verdict.DIFFERENT
