"""Which knowledge base is a question for? Pure functions on vectors and scores, no database.

A base is judged by its best chunks and by its mean vector. Vectors are centred by the mean of
the readable bases, not of the language: what all bases have in common tells none of them apart.
The confidence is the probability that the question is for any base, by the best chunk of all,
times a softmax over the bases.
What each part adds is measured by `oboete eval route`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from memory.ranking import Floats
from memory.store.routing_feedback import Verdict
from memory.types import Vector, Vectors

BEST: Final = 3
"""Chunks that speak for a base; with 1 a single stray chunk decides, with 5 topics blur."""

WORDS: Final = 0.3
"""Cosine that having all words of the question is worth, on top of the meaning."""

MEAN: Final = 0.2
"""Weight of the base's mean vector beside its best chunks."""

LANGUAGE: Final = 5
"""The mean of the readable bases counts as many chunks as they have, that of the language as many
as this: with only a few chunks there is no mean of theirs to speak of."""

TEMPERATURE: Final = 0.04
SCOPE: Final = 0.36
SCOPE_SPREAD: Final = 0.055
"""Fitted by maximum likelihood on CLINC150's routing set: how fast a lead becomes certainty, and
from which score on, and how fast, a question is for one of the bases at all."""

CLOSE: Final = 0.5
"""Bases whose confidence is at least this share of the best one's are searched together."""

UNSURE: Final = 50.0
"""Percent below which a model is asked, where there is one."""

FEEDBACK: Final = 0.3
"""Cosine that a verdict on the very same question is worth."""

ALIKE: Final = 0.4
"""Centred cosine from which an earlier question's verdict says something about this one."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for one base."""

    vectors: Vectors
    """Of its chunks that were found, float32 (n, d), as the model gives them; (n, 0) without a
    model."""
    words: Floats
    """Share of the question's information that each of them has, [0, 1), shape (n,)."""
    mean: Vector | None
    """Of all its chunks, float32 (d,); None when not known."""
    size: int
    """How many chunks it has."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A base that a question may be for."""

    base_id: int
    confidence: float
    """Percent; all bases together give less than 100, the rest is "none of them"."""
    distance: float | None
    """Cosine distance from the question to the mean vector, [0, 2]; None when not known."""
    score: float


def route(
    question: Vector | None,
    evidence: Mapping[int, Evidence],
    language_mean: Vector | None,
    verdicts: Sequence[Verdict] = (),
) -> list[Choice]:
    """All bases, best first. `question` and the vectors are as the model gives them."""
    if not evidence:
        return []
    common = _common_mean(evidence, language_mean) if language_mean is not None else None
    scores, tops, distances = [], [], []
    for each in evidence.values():
        meaning, distance = _meaning(question, each, common)
        best = np.sort(meaning + WORDS * each.words)[-BEST:]
        near = MEAN * (1 - distance) if distance is not None else 0.0
        # a base with fewer chunks than others is not worse for it, one without any is
        scores.append(near + (float(best.mean()) if len(best) else -1.0))
        tops.append(near + (float(best[-1]) if len(best) else -1.0))
        distances.append(distance)
    moved = _moved(question, list(evidence), common, verdicts)
    final = np.array(scores) + moved
    # one good chunk shows that a base knows of it; which base it is for shows in several
    confidences = _in_scope(float((np.array(tops) + moved).max())) * _softmax(final)
    choices = [
        Choice(base_id, 100 * float(confidences[at]), distances[at], float(final[at]))
        for at, base_id in enumerate(evidence)
    ]
    return sorted(choices, key=lambda choice: (-choice.score, choice.base_id))


def close(choices: Sequence[Choice]) -> list[Choice]:
    """The best base, and those that are nearly as likely."""
    return [each for each in choices if each.confidence >= CLOSE * choices[0].confidence]


def out_of_scope(choices: Sequence[Choice]) -> bool:
    """True when the question is more likely for none of the bases than for some."""
    return sum(choice.confidence for choice in choices) < 50


def nearest_mean(question: Vector, means: Mapping[int, Vector]) -> list[Choice]:
    """The method of S5, for comparison: cosine distance to each mean, softmax with temperature 10.

    `question` and `means` are as the model gives them.
    """
    distances = {base_id: 1 - _cosine(question, mean) for base_id, mean in means.items()}
    logits = np.array([-10 * distance for distance in distances.values()])
    shares = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    choices = [
        Choice(base_id, 100 * float(share), distance, -distance)
        for (base_id, distance), share in zip(distances.items(), shares, strict=True)
    ]
    return sorted(choices, key=lambda choice: (-choice.score, choice.base_id))


def _common_mean(evidence: Mapping[int, Evidence], language_mean: Vector) -> Vector:
    """Mean of the readable bases, each counting alike, and of the language."""
    known = [(each.mean, each.size) for each in evidence.values() if each.mean is not None]
    if not known:
        return language_mean
    own = np.mean([mean for mean, _ in known], axis=0)
    size = sum(count for _, count in known)
    mixed: Vector = ((size * own + LANGUAGE * language_mean) / (size + LANGUAGE)).astype(np.float32)
    return mixed


def _meaning(
    question: Vector | None, each: Evidence, common: Vector | None
) -> tuple[Floats, float | None]:
    """Centred cosines of the chunks, shape (n,), and the distance to the mean."""
    if question is None or common is None:
        return np.zeros(len(each.words)), None
    asked = _unit(question - common)
    meaning = _unit(each.vectors - common) @ asked if len(each.vectors) else np.zeros(0)
    if each.mean is None:
        return meaning.astype(np.float64), None
    return meaning.astype(np.float64), 1 - float(_unit(each.mean - common) @ asked)


def _moved(
    question: Vector | None,
    base_ids: Sequence[int],
    common: Vector | None,
    verdicts: Sequence[Verdict],
) -> Floats:
    """What earlier verdicts on questions like this one add to each base, shape (b,)."""
    moved = np.zeros(len(base_ids))
    if question is None or common is None:
        return moved
    asked = _unit(question - common)
    for verdict in verdicts:
        alike = float(_unit(verdict.vector - common) @ asked)
        if verdict.base_id in base_ids and alike > ALIKE:
            weight = (alike - ALIKE) / (1 - ALIKE)
            moved[base_ids.index(verdict.base_id)] += FEEDBACK * verdict.rating * weight
    limited: Floats = np.clip(moved, -FEEDBACK, FEEDBACK)
    return limited


def _in_scope(top: float) -> float:
    """Probability that the question is for some base, by the best chunk of any."""
    return float(1 / (1 + np.exp((SCOPE - top) / SCOPE_SPREAD)))


def _softmax(scores: Floats) -> Floats:
    """Probability of each base if the question is for one of them, shape (b,)."""
    powers = np.exp((scores - scores.max()) / TEMPERATURE)
    shares: Floats = powers / powers.sum()
    return shares


def _unit(vectors: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit: np.ndarray = vectors / np.maximum(norms, 1e-12)
    return unit


def _cosine(one: Vector, other: Vector) -> float:
    return float(_unit(one) @ _unit(other))
