"""BM25 over the postings of the readable audiences: the reading side of keyword search.

All statistics (how many records, how long, how many have a term) come from the audiences a
search may read, so that a word in an unreadable place changes no score and no order.
Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sqlalchemy import ColumnElement, String, Table, bindparam, cast, func, select
from sqlmodel import Session

from memory import tokens
from memory.store.statements import numbers
from memory.tables import LexicalStatisticsRow, PostingRow
from memory.tokens import QueryTerms
from memory.types import Kind

K1 = 0.9
"""How soon repeating a word stops counting. Anserini's default (Yang et al., 2017); lower than
the 1.2 to 2 of the paper, as chat records are short and repeat little."""

B = 0.6
"""How much long records are held back, 0 to 1; the paper's range is 0.5 to 0.8."""

BIGRAM_WEIGHT = 0.5
"""A Japanese word is matched by its form and again by each of its bigrams; at full weight
spelling outvotes meaning (hard JSQuAD questions hit@5: 38 at 1, 43 at a half)."""

PROPOSING_POSTINGS = 8_000
"""The terms worth most propose candidates until this many postings are read; the others, which
are common, only add to the scores of what was proposed. It bounds the time of a question in a
large audience; `tests/bench/lexical_structures.py` shows what of the exact result is kept."""

RESCORED = 500
"""How many of the best candidates get the scores of the common terms."""

_LENGTH_BITS = 20
"""More than the terms of the longest text (`tokens.MAX_CHARACTERS`, at most three a character)."""

_posting: Table = PostingRow.__table__  # type: ignore[attr-defined]
_statistics: Table = LexicalStatisticsRow.__table__  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the best candidates of a search have of each term. Best first."""

    keys: npt.NDArray[np.int64]
    """`Ref.key`, shape (n,)."""
    scores: npt.NDArray[np.float64]
    """BM25, shape (n,), > 0, descending; equal scores newest key first."""
    frequencies: npt.NDArray[np.float32]
    """How often candidate i has term j, shape (n, t)."""
    lengths: npt.NDArray[np.int64]
    """Terms in the candidate, repeats counted, shape (n,)."""
    terms: tuple[str, ...]
    """The t terms; a prefix is shown as `猫*`."""
    weights: npt.NDArray[np.float64]
    """What having the term is worth (its idf; half for a bigram), shape (t,), > 0."""
    document_frequencies: npt.NDArray[np.int64]
    """Readable records that have the term, shape (t,)."""
    documents: int
    """Readable records, of any kind."""
    mean_length: float
    """Terms per readable record."""


class Statistics(NamedTuple):
    """Sums over the readable records, of any kind."""

    documents: int
    length: int
    """Terms of all of them."""

    @property
    def mean_length(self) -> float:
        """Terms per record; 0 when there is none."""
        return self.length / self.documents if self.documents else 0.0


def evidence(
    session: Session,
    audience_ids: Collection[int],
    query: QueryTerms,
    limit: int,
    *,
    kinds: Collection[Kind] = tuple(Kind),
) -> Evidence:
    """The best `limit` records for the terms, with what BM25 and a finer ranking need.

    `kinds` chooses what is found; the statistics are those of everything readable. Exact, except
    that a record which has only common terms is missed once rarer ones proposed enough.
    """
    readable = sorted(set(audience_ids))
    labels = tuple(_labels(query))
    columns = {label: column for column, label in enumerate(labels)}
    statistics = collection_statistics(session, readable)
    counts = document_frequencies(session, readable, query)
    df = np.array([counts[label] for label in labels], dtype=np.int64)
    weights = _weights(labels, df, statistics.documents)
    proposing, common = _divide(query, counts, dict(zip(labels, weights, strict=True)))
    found = _candidates(session, readable, proposing, columns, kinds)
    scores = _scores(found, weights, statistics.mean_length)
    if common:
        found = found.take(_best_first(scores, found.keys, max(limit, RESCORED)))
        _add_common(session, found, common, columns)
        scores = _scores(found, weights, statistics.mean_length)
    order = _best_first(scores, found.keys, limit)
    found = found.take(order)
    return Evidence(
        keys=found.keys,
        scores=scores[order],
        frequencies=found.frequencies,
        lengths=found.lengths,
        terms=labels,
        weights=weights,
        document_frequencies=df,
        documents=statistics.documents,
        mean_length=statistics.mean_length,
    )


def collection_statistics(session: Session, audience_ids: Collection[int]) -> Statistics:
    """How many records the audiences hold, and their terms."""
    rows = session.connection().execute(_TOTALS, {"audiences": list(audience_ids)})
    return Statistics(*rows.one())


def document_frequencies(
    session: Session, audience_ids: Collection[int], query: QueryTerms
) -> dict[str, int]:
    """In how many records of the audiences each term occurs; a prefix is keyed `猫*`."""
    connection = session.connection()
    counts = dict.fromkeys(_labels(query), 0)
    readable = {"audiences": list(audience_ids)}
    if query.exact:
        rows = connection.execute(_TERM_COUNTS, {**readable, "terms": query.exact})
        counts.update((term, count) for term, count in rows)
    for prefix in query.prefixes:
        rows = connection.execute(_PREFIX_COUNT, {**readable, **_range(prefix)})
        counts[_label(prefix)] = rows.scalar_one()
    return counts


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Records proposed by at least one term, in parallel arrays."""

    audiences: npt.NDArray[np.int64]
    keys: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    frequencies: npt.NDArray[np.float32]
    """Shape (n, t)."""

    def take(self, order: npt.NDArray[np.int64]) -> _Candidates:
        return _Candidates(
            self.audiences[order], self.keys[order], self.lengths[order], self.frequencies[order]
        )


def _divide(
    query: QueryTerms, counts: dict[str, int], weights: dict[str, float]
) -> tuple[QueryTerms, QueryTerms]:
    """The terms worth most, which propose candidates, and the others; unknown terms in neither.

    At least one known term proposes, however common.
    """
    proposing: set[str] = set()
    common: set[str] = set()
    read = 0
    for label in sorted(filter(counts.get, counts), key=lambda label: (-weights[label], label)):
        read += counts[label]
        (common if proposing and read > PROPOSING_POSTINGS else proposing).add(label)
    return _only(query, proposing), _only(query, common)


def _only(query: QueryTerms, labels: set[str]) -> QueryTerms:
    return QueryTerms(
        tuple(term for term in query.exact if term in labels),
        tuple(prefix for prefix in query.prefixes if _label(prefix) in labels),
    )


def _candidates(
    session: Session,
    audience_ids: Collection[int],
    query: QueryTerms,
    columns: dict[str, int],
    kinds: Collection[Kind],
) -> _Candidates:
    """Every record of those kinds that has one of the terms."""
    connection = session.connection()
    wanted = {"audiences": list(audience_ids), "kinds": [int(kind) for kind in kinds]}
    parts: list[tuple[int, int, str]] = []
    if query.exact:
        rows = connection.execute(_TERM_POSTINGS, {**wanted, "terms": query.exact})
        parts += ((columns[term], audience_id, numbers) for term, audience_id, numbers in rows)
    for prefix in query.prefixes:
        column = columns[_label(prefix)]
        rows = connection.execute(_PREFIX_POSTINGS, {**wanted, **_range(prefix)})
        parts += ((column, audience_id, numbers) for audience_id, numbers in rows)
    sizes = [numbers.count(" ") // 2 for _, _, numbers in parts]
    table = np.fromstring("".join(numbers for *_, numbers in parts), np.int64, sep=" ")
    owners, packed = table.reshape(-1, 2).T
    column_of = np.repeat(np.array([column for column, _, _ in parts], np.int64), sizes)
    audiences = np.repeat(np.array([audience for _, audience, _ in parts], np.int64), sizes)
    keys, first, row = np.unique(owners, return_index=True, return_inverse=True)
    frequencies = np.zeros((len(keys), len(columns)), np.float32)
    # Several terms may begin with one prefix, so places can repeat and are summed.
    np.add.at(frequencies, (row, column_of), (packed >> _LENGTH_BITS).astype(np.float32))
    lengths = packed[first] & (1 << _LENGTH_BITS) - 1
    return _Candidates(audiences[first], keys, lengths, frequencies)


def _add_common(
    session: Session, found: _Candidates, common: QueryTerms, columns: dict[str, int]
) -> None:
    """Fill in the frequencies of the common terms, looked up for these candidates only."""
    connection = session.connection()
    rows = {int(key): row for row, key in enumerate(found.keys)}
    # One audience at a time: all terms x all audiences x all records would be far more look-ups.
    for audience_id in np.unique(found.audiences):
        owners = found.keys[found.audiences == audience_id].tolist()
        here = {"audiences": [int(audience_id)], "owners": owners}
        if common.exact:
            terms = {"terms": common.exact}
            for term, owner, frequency in connection.execute(_TERM_LOOKUP, {**here, **terms}):
                found.frequencies[rows[owner], columns[term]] = frequency
        for prefix in common.prefixes:
            column = columns[_label(prefix)]
            for owner, frequency in connection.execute(_PREFIX_LOOKUP, {**here, **_range(prefix)}):
                found.frequencies[rows[owner], column] += frequency


def _weights(
    labels: tuple[str, ...], df: npt.NDArray[np.int64], documents: int
) -> npt.NDArray[np.float64]:
    """Inverse document frequency as in Lucene, which is never negative; less for bigrams."""
    share = np.array([BIGRAM_WEIGHT if tokens.is_spelling(label) else 1.0 for label in labels])
    weights: npt.NDArray[np.float64] = share * np.log1p((documents - df + 0.5) / (df + 0.5))
    return weights


def _scores(
    found: _Candidates, weights: npt.NDArray[np.float64], mean_length: float
) -> npt.NDArray[np.float64]:
    """BM25, shape (n,)."""
    if not len(found.keys):
        return np.empty(0)
    damping = K1 * (1 - B + B * found.lengths / mean_length)[:, None]
    saturated = found.frequencies * (K1 + 1) / (found.frequencies + damping)
    # Matrix products differ in their last bits by row; equal records must come out equal.
    scores: npt.NDArray[np.float64] = np.round(saturated @ weights, 9)
    return scores


def _best_first(
    scores: npt.NDArray[np.float64], keys: npt.NDArray[np.int64], limit: int
) -> npt.NDArray[np.int64]:
    """Positions of the best, in order: score descending, then newest key."""
    return np.lexsort((-keys, -scores))[:limit]


def _labels(query: QueryTerms) -> Iterator[str]:
    yield from query.exact
    yield from map(_label, query.prefixes)


def _label(prefix: str) -> str:
    return prefix + "*"


def _range(prefix: str) -> dict[str, str]:
    """Bounds of the terms that begin with `prefix`: no character is above the last one."""
    return {"low": prefix, "high": prefix + "\U0010ffff"}


def _text(number: ColumnElement[int]) -> ColumnElement[str]:
    return cast(number, String) + " "


# Built once: assembling a statement takes longer than running it in a small audience.
_READABLE = _posting.c.audience_id.in_(numbers("audiences"))
_OF_KIND = _posting.c.owner.bitwise_and(3).in_(numbers("kinds"))
_OWNED = _posting.c.owner.in_(numbers("owners"))
_IS_TERM = _posting.c.term.in_(bindparam("terms", expanding=True))
_IN_RANGE = _posting.c.term.between(bindparam("low"), bindparam("high"))
# One string of numbers per term is several times faster to fetch than a row per posting.
_PACKED = func.aggregate_strings(
    _text(_posting.c.owner)
    + _text(_posting.c.frequency.bitwise_lshift(_LENGTH_BITS).bitwise_or(_posting.c.length)),
    "",
)
_TOTALS = select(
    func.coalesce(func.sum(_statistics.c.documents), 0),
    func.coalesce(func.sum(_statistics.c.length), 0),
).where(_statistics.c.audience_id.in_(numbers("audiences")))
_TERM_COUNTS = (
    select(_posting.c.term, func.count()).where(_READABLE, _IS_TERM).group_by(_posting.c.term)
)
_PREFIX_COUNT = select(func.count(_posting.c.owner.distinct())).where(_READABLE, _IN_RANGE)
_TERM_POSTINGS = (
    select(_posting.c.term, _posting.c.audience_id, _PACKED)
    .where(_READABLE, _IS_TERM, _OF_KIND)
    .group_by(_posting.c.audience_id, _posting.c.term)
)
_PREFIX_POSTINGS = (
    select(_posting.c.audience_id, _PACKED)
    .where(_READABLE, _IN_RANGE, _OF_KIND)
    .group_by(_posting.c.audience_id)
)
_TERM_LOOKUP = select(_posting.c.term, _posting.c.owner, _posting.c.frequency).where(
    _READABLE, _IS_TERM, _OWNED
)
_PREFIX_LOOKUP = select(_posting.c.owner, _posting.c.frequency).where(_READABLE, _IN_RANGE, _OWNED)
