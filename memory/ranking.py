"""Fuses the signals of a search into one ranking: pure functions on arrays, no database.

A score is a sum of what each signal gives, in standard deviations above unrelated text:

    meaning    standardised cosine of question and record
    words      `WORDS` times the share of the question's information that the record's words hold
    context    what both gain or lose by what stands around: turns, or the chunk of a passage
    speaker    the record is from or about somebody whom the question names
    asks       the record is itself a question, which seldom answers one
    time       the record is about the time that the question asks for

The first three are evidence and decide whether anything relevant was found; the others are cues
and only order what is there. No signal hides a record. Every constant holds for all kinds of
record, languages and data sets; what each signal adds is measured in docs/retrieval.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from memory.bm25 import K1, B
from memory.calibration import Calibration
from memory.tokens import normalised
from memory.types import Vector, Vectors

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
_F = TypeVar("_F", np.float32, np.float64)

OFFSETS: Final = (-2, -1, 1, 2)
"""The turns that are read with a message, counted from it: columns of `Pool.context`. One more
column is the chunk that a passage stands in."""

_CONTEXT_WEIGHTS: Final = np.array([0.3, 0.6, 0.3, 0.15, 0.5])
"""Halved with each step away, and once more for what came after: a question's words stand in the
turn before its answer. Half for the chunk around a passage."""

WORDS: Final = 6.0
"""Standard deviations for a record that holds all words of the question. On the evaluation sets
5 to 8 differ by a point at most, on hard JSQuAD questions by two."""

_SPEAKER: Final = 0.4
_ASKS: Final = -0.6
_TIME: Final = 2.0
"""Meaning spreads by 0.3 within a conversation: the speaker counts as one such step, being a
question as two, and a stated time outweighs all but a much better match."""

CONTEXT_TERM: Final = 0.3
"""Weight of a word from the asker's last turns, beside 1 for a word of the question itself."""

RELEVANT: Final = 4.1
"""Evidence from which a passage of a document answers. Chosen on one half of JSQuAD and XQuAD; on
the other 0 of 24 false answers and 0 of 98 false refusals. The best of n unrelated passages rises
by 0.1 to 0.2 each time n doubles, so a much larger corpus wants `choose_threshold` again."""

POSSIBLE: Final = 3.4
"""The same for messages and facts, which have fewer words. Chosen on half of a LoCoMo sample, with
another conversation's questions as unanswerable; on the other half 6 of 150 false answers and 10
of 150 false refusals. A passage between the two is worth a second look."""

RELEVANT_WORDS: Final = 1.6
"""Instead of `RELEVANT` while no embedding model can be asked and words are all the evidence:
0 of 24 false answers and 2 of 98 false refusals on the other half."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for."""

    weights: Floats
    """What having each term is worth, shape (t,), > 0: idf, less for bigrams, times
    `CONTEXT_TERM` for terms that only earlier turns have."""
    vector: Vector | None
    """Centred and L2-normalised, float32 (d,); None when no model could be asked."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates and what stands around them: n rows in any order."""

    candidate: Flags
    """False for a row that is here as context only and is not ranked."""
    groups: Ints
    """Rows of one group say the same (a fact and its message, passages of a chunk): only the
    best of them is ranked."""
    kinds: Ints
    """`Kind` of each row: lengths are compared within a kind."""
    frequencies: npt.NDArray[np.float32]
    """How often row i has term j, shape (n, t)."""
    lengths: Ints
    """Terms in the row, repeats counted."""
    vectors: Vectors
    """Centred and L2-normalised, float32 (n, d); zeros for a chunk, and for what has none yet."""
    context: Ints
    """Rows of the turns at `OFFSETS` in the same session, then of the chunk; shape (n, 5), -1
    for none."""
    speaker: Flags
    """From or about somebody whom the question names: see `names`."""
    asks: Flags
    """Ends as a question does: see `ends_as_question`."""
    in_time: Flags
    """About the time that the question asks for."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best row of each group, in order; all arrays have shape (m,)."""

    rows: Ints
    """Rows of the pool, best first; equal scores keep the order of the pool."""
    scores: Floats
    """Standard deviations above unrelated text, descending."""
    evidence: Floats
    """The part of each score that meaning, words and context gave."""
    signals: Mapping[str, Floats]
    """What each signal gave, by name; they add up to `scores`."""

    def relevant(self, threshold: float) -> bool:
        """True when some record has evidence enough for an answer."""
        return bool(len(self.evidence)) and float(self.evidence.max()) >= threshold


def rank(question: Question, pool: Pool, calibration: Calibration) -> Ranking:
    """Order the candidates by all signals together."""
    alone = np.full_like(pool.context, -1)
    meaning = _meaning(question, pool, alone, calibration)
    words = WORDS * coverage(question, pool, alone)
    evidence = _meaning(question, pool, pool.context, calibration)
    evidence += WORDS * coverage(question, pool, pool.context)
    signals: dict[str, Floats] = {
        "meaning": meaning,
        "words": words,
        "context": evidence - meaning - words,
        "speaker": _SPEAKER * pool.speaker.astype(np.float64),
        "asks": _ASKS * pool.asks.astype(np.float64),
        "time": _TIME * pool.in_time.astype(np.float64),
    }
    scores = sum(signals.values(), np.zeros(len(evidence)))
    rows = _best_of_each_group(scores, pool)
    chosen = {name: values[rows] for name, values in signals.items()}
    return Ranking(rows, scores[rows], evidence[rows], chosen)


def coverage(question: Question, pool: Pool, context: Ints) -> Floats:
    """Share of the question's information that each row's words hold, [0, 1), shape (n,).

    BM25 divided by the score of a record that has every term without end, so that questions can
    be compared. Terms of the context count in part, as fields do in BM25F (Robertson, Zaragoza
    and Taylor 2004); a length is measured against that of the same kinds of record.
    """
    total = float(question.weights.sum())
    if not total or not len(pool.lengths):
        return np.zeros(len(pool.lengths))
    relative = pool.lengths / _typical_length(pool)
    present = _with_context(np.ones(len(relative)), context)
    damping = K1 * (1 - B + B * _with_context(relative, context) / present)
    frequencies = _with_context(pool.frequencies, context)
    covered: Floats = frequencies / (frequencies + damping[:, None]) @ question.weights / total
    return covered


def balance(ranking: Ranking, kinds: Ints, k: int, threshold: float) -> Ints:
    """Positions in `ranking` of the k to show, best first, with every kind that has evidence.

    `kinds` are those of the ranked rows. The best record of a kind takes the place of the worst
    one chosen, if its own evidence reaches `threshold` and the kind is not among the best k.
    """
    chosen = list(range(min(k, len(ranking.rows))))
    for kind in np.unique(kinds):
        places = np.flatnonzero((kinds == kind) & (ranking.evidence >= threshold))
        if not len(places) or places[0] in chosen or not chosen:
            continue
        present = kinds[chosen]
        spare = [at for at in chosen if np.count_nonzero(present == kinds[at]) > 1]
        if spare:
            chosen[chosen.index(spare[-1])] = int(places[0])
    return np.array(sorted(chosen), dtype=np.int64)


def choose_threshold(answerable: Floats, unanswerable: Floats) -> float:
    """The evidence at which false answers and false refusals are most nearly as rare.

    Takes the best evidence of each question of a labelled sample. Of equally good thresholds it
    gives the middle. Raises ValueError without questions of both sorts.
    """
    if not len(answerable) or not len(unanswerable):
        raise ValueError("needs answerable and unanswerable questions")
    values = np.unique(np.concatenate([answerable, unanswerable]))
    edges = np.concatenate([[values[0] - 1], (values[1:] + values[:-1]) / 2, [values[-1] + 1]])
    refused = (answerable[:, None] < edges).mean(axis=0)
    answered = (unanswerable[:, None] >= edges).mean(axis=0)
    worst = np.maximum(refused, answered)
    best = edges[worst == worst.min()]
    return float((best[0] + best[-1]) / 2)


_QUESTION_END: Final = re.compile(
    r"(?:[?？]|(?:です|ます|でした|ました|ません|でしょう|だろう)か[。.]?)[\s」』）)\"'”’]*$"
)
_FIRST_PERSON: Final = re.compile(
    r"\b(?:i|i'm|i've|i'd|me|my|mine|myself)\b|私|わたし|僕|ぼく|俺|おれ|自分|うちの"
)


def ends_as_question(text: str) -> bool:
    """True when a message hands over to its reader with a question, in English or Japanese."""
    return _QUESTION_END.search(text) is not None


def names(asked: str, name: str, *, is_asker: bool = False) -> bool:
    """True when a question names the person called `name`, or says "I" and that is the asker.

    `asked` is the question, `normalised`. Part of a name is enough: a word of it in scripts with
    spaces, else two characters or more.
    """
    if is_asker and _FIRST_PERSON.search(asked):
        return True
    return any(_mentions(asked, part) for part in re.split(r"[\s.・_@]+", normalised(name)))


def _mentions(asked: str, part: str) -> bool:
    if len(part) < 2 or part not in asked:
        return False
    if part.isascii():
        return re.search(rf"(?<![a-z0-9]){re.escape(part)}(?![a-z0-9])", asked) is not None
    return True


def _best_of_each_group(scores: Floats, pool: Pool) -> Ints:
    rows = np.flatnonzero(pool.candidate)
    rows = rows[np.argsort(-scores[rows], kind="stable")]
    _, first = np.unique(pool.groups[rows], return_index=True)
    best: Ints = rows[np.sort(first)]
    return best


def _typical_length(pool: Pool) -> Floats:
    """Mean length of the rows of each row's kind, (n,): a page is no worse for being a page."""
    typical = np.ones(len(pool.lengths))
    for kind in np.unique(pool.kinds):
        same = pool.kinds == kind
        typical[same] = max(float(pool.lengths[same].mean()), 1.0)
    return typical


def _meaning(question: Question, pool: Pool, context: Ints, calibration: Calibration) -> Floats:
    """Standardised cosines, shape (n,); what has no vector yet gets the median of the others."""
    rows = len(pool.vectors)
    if question.vector is None:
        return np.zeros(rows)
    read = _with_context(pool.vectors, context)
    norms = np.linalg.norm(read, axis=1)
    known = norms > 0
    if not known.any():
        return np.zeros(rows)
    cosines = (read @ question.vector / np.where(known, norms, 1)).astype(np.float32)
    scores = calibration.standardize(cosines).astype(np.float64)
    return np.where(known, scores, np.median(scores[known]))


def _with_context(values: npt.NDArray[_F], context: Ints) -> npt.NDArray[_F]:
    """Each row plus the weighted rows of its context; shape of `values`, (n,) or (n, c)."""
    total = values.copy()
    for column, weight in zip(context.T, _CONTEXT_WEIGHTS, strict=True):
        has = np.flatnonzero(column >= 0)
        total[has] += values[column[has]] * values.dtype.type(weight)
    return total


def widen(weights: Sequence[float], earlier: Sequence[float]) -> Floats:
    """Weights of the question's terms, then of the terms that only earlier turns have."""
    return np.concatenate([np.asarray(weights), CONTEXT_TERM * np.asarray(earlier)])
