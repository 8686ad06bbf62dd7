"""Keyword search: an inverted index in plain SQL.

Postings are clustered by (audience, term, record), so a search touches the terms it asks for in
the places it may read and nothing else. Forgetting deletes the record's rows, which
`secure_delete` overwrites at once. Measured against FTS5 in `tests/bench/lexical_structures.py`.
Functions are synchronous; callers run them in a worker thread, inside a transaction.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Table, bindparam, delete, insert, select, text, update
from sqlmodel import Session

from memory import tokens
from memory.bm25 import (
    Evidence,
    Statistics,
    collection_statistics,
    document_frequencies,
    evidence,
)
from memory.tables import LexicalEntryRow, LexicalStatisticsRow, PostingRow
from memory.types import Kind

__all__ = [
    "Evidence",
    "LexicalHit",
    "NewEntry",
    "Statistics",
    "add",
    "add_many",
    "check",
    "collection_statistics",
    "document_frequencies",
    "evidence",
    "keys_between",
    "remove",
    "search",
]

_SEPARATOR = "\x1f"

_posting: Table = PostingRow.__table__  # type: ignore[attr-defined]
_entry: Table = LexicalEntryRow.__table__  # type: ignore[attr-defined]
_statistics: Table = LexicalStatisticsRow.__table__  # type: ignore[attr-defined]


class NewEntry(NamedTuple):
    """A record to be indexed."""

    audience_id: int
    key: int
    """`Ref.key` of the record."""
    text: str


@dataclass(frozen=True, slots=True)
class LexicalHit:
    """A record found by its words."""

    key: int
    """`Ref.key`."""
    score: float
    """BM25, > 0, best first; comparable within one search only."""
    terms: tuple[str, ...]
    """The terms of the query that it has; a prefix is shown as `猫*`."""


def add(session: Session, audience_id: int, key: int, text: str) -> None:
    """Index one record; what was indexed under its key in this audience before is replaced."""
    add_many(session, [NewEntry(audience_id, key, text)])


def add_many(session: Session, entries: Iterable[NewEntry]) -> None:
    """Index many records at once, faster than one by one. Of equal keys the last one counts.

    A record without terms gets an entry too, so that every record has one.
    """
    postings: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    totals: dict[int, Statistics] = {}
    for audience_id, key, words in {entry[:2]: entry for entry in entries}.values():
        remove(session, audience_id, key)
        frequencies = Counter(tokens.terms(words))
        length = frequencies.total()
        here = {"audience_id": audience_id, "owner": key, "length": length}
        rows.append({**here, "terms": _SEPARATOR.join(frequencies)})
        postings += (
            {**here, "term": term, "frequency": frequency}
            for term, frequency in frequencies.items()
        )
        before = totals.get(audience_id, Statistics(0, 0))
        totals[audience_id] = Statistics(before.documents + 1, before.length + length)
    # In the order of the table: neighbours share pages.
    postings.sort(key=lambda row: (row["audience_id"], row["term"], row["owner"]))
    connection = session.connection()
    if rows:
        connection.execute(_ADD_ENTRY, rows)
    if postings:
        connection.execute(_ADD_POSTING, postings)
    for audience_id, total in totals.items():
        _count(session, audience_id, total)


def remove(session: Session, audience_id: int, key: int) -> bool:
    """Take one record out, exactly. False when it was not indexed."""
    connection = session.connection()
    here = {"audience": audience_id, "key": key}
    stored = connection.execute(_STORED, here).one_or_none()
    if stored is None:
        return False
    terms, length = stored
    if terms:
        each = [{**here, "one": term} for term in _split(terms)]
        connection.execute(_DELETE_POSTING, each)
    connection.execute(_DELETE_ENTRY, here)
    _count(session, audience_id, Statistics(-1, -length))
    return True


def terms_of(
    session: Session, records: Sequence[tuple[int, int]], terms: Sequence[str]
) -> list[tuple[int, int, str | None, int]]:
    """How often some records, given as (audience id, key), have each of the terms.

    Gives (key, length of the record in terms, term, frequency); a term that a record does not
    have is left out, and a record that has none of them comes once, with None.
    """
    asked = {"records": json.dumps(records), "terms": json.dumps(terms)}
    rows = session.connection().execute(_TERMS_OF, asked).all()
    return [(key, length, term, times or 0) for key, length, term, times in rows]


# One look-up per record, in as many places as they are: SQLite scans for `(a, b) IN (...)`.
_TERMS_OF = text("""
SELECT e.owner, e.length, p.term, p.frequency
FROM json_each(:records) AS r CROSS JOIN lexical_entry AS e
  ON e.audience_id = json_extract(r.value, '$[0]') AND e.owner = json_extract(r.value, '$[1]')
  LEFT JOIN posting AS p ON p.audience_id = e.audience_id AND p.owner = e.owner
  AND p.term IN (SELECT value FROM json_each(:terms))
""")


def keys_between(session: Session, audience_id: int, low: int, high: int) -> list[int]:
    """The keys of the audience's indexed records from `low` to `high`, both included."""
    rows = session.connection().execute(
        select(_entry.c.owner).where(
            _entry.c.audience_id == audience_id, _entry.c.owner.between(low, high)
        )
    )
    return [key for key in rows.scalars() if key & 3 == low & 3]


def search(
    session: Session,
    audience_ids: Collection[int],
    query: str,
    limit: int,
    *,
    kinds: Collection[Kind] | None = None,
) -> list[LexicalHit]:
    """The records of the given audiences that share terms with `query`, best first.

    Equal scores: newest key first. At most `limit`. `kinds` keeps only those kinds of record.
    """
    wanted = tuple(Kind) if kinds is None else kinds
    found = evidence(session, audience_ids, tokens.query_terms(query), limit, kinds=wanted)
    return [
        LexicalHit(
            int(key),
            float(score),
            tuple(term for term, frequency in zip(found.terms, row, strict=True) if frequency),
        )
        for key, score, row in zip(found.keys, found.scores, found.frequencies, strict=True)
    ]


def check(session: Session) -> list[str]:
    """Where entries, postings and totals disagree, one line each; empty when they agree."""
    connection = session.connection()
    audiences: set[int] = set()
    for table in (_entry, _posting, _statistics):
        audiences.update(connection.execute(select(table.c.audience_id).distinct()).scalars())
    return [line for audience_id in sorted(audiences) for line in _check(session, audience_id)]


class _Sum(NamedTuple):
    """What one record's postings amount to; two equal ones hold the same terms."""

    postings: int = 0
    length: int = 0
    said_length: int = 0
    """The length written beside each posting, added up."""
    checksum: int = 0


def _check(session: Session, audience_id: int) -> list[str]:
    connection = session.connection()
    expected: dict[int, _Sum] = {}
    entries = select(_entry.c.owner, _entry.c.length, _entry.c.terms)
    for owner, length, terms in connection.execute(
        entries.where(_entry.c.audience_id == audience_id)
    ):
        each = _split(terms)
        checksum = sum(map(_checksum, each))
        expected[owner] = _Sum(len(each), length, len(each) * length, checksum)
    actual: dict[int, _Sum] = {}
    postings = select(
        _posting.c.term, _posting.c.owner, _posting.c.frequency, _posting.c.length
    ).where(_posting.c.audience_id == audience_id)
    for term, owner, frequency, length in connection.execute(postings):
        had = actual.get(owner, _Sum())
        actual[owner] = _Sum(
            had.postings + 1,
            had.length + frequency,
            had.said_length + length,
            had.checksum + _checksum(term),
        )
    problems = [
        f"audience {audience_id}: the keyword postings of record {owner} "
        + ("have no entry" if owner not in expected else "are not those of its entry")
        for owner in sorted(expected.keys() | actual.keys())
        if expected.get(owner) != actual.get(owner, _Sum())
    ]
    totals = Statistics(len(expected), sum(entry.length for entry in expected.values()))
    if collection_statistics(session, [audience_id]) != totals:
        problems.append(f"audience {audience_id}: its keyword totals are not those of its entries")
    return problems


def _count(session: Session, audience_id: int, change: Statistics) -> None:
    """Keep an audience's totals: a search must not have to add them up."""
    connection = session.connection()
    row = {"documents": change.documents, "length": change.length}
    if not connection.execute(_CHANGE_TOTALS, {"audience": audience_id, **row}).rowcount:
        connection.execute(_ADD_TOTALS, {"audience_id": audience_id, **row})


def _split(terms: str) -> list[str]:
    return terms.split(_SEPARATOR) if terms else []


def _checksum(term: str) -> int:
    return zlib.crc32(term.encode())


# Built once: assembling a statement takes longer than running it.
_HERE = (_entry.c.audience_id == bindparam("audience")) & (_entry.c.owner == bindparam("key"))
_ADD_ENTRY = insert(_entry)
_ADD_POSTING = insert(_posting)
_ADD_TOTALS = insert(_statistics)
_STORED = select(_entry.c.terms, _entry.c.length).where(_HERE)
_DELETE_ENTRY = delete(_entry).where(_HERE)
_DELETE_POSTING = delete(_posting).where(
    _posting.c.audience_id == bindparam("audience"),
    _posting.c.term == bindparam("one"),
    _posting.c.owner == bindparam("key"),
)
_CHANGE_TOTALS = (
    update(_statistics)
    .where(_statistics.c.audience_id == bindparam("audience"))
    .values(
        documents=_statistics.c.documents + bindparam("documents"),
        length=_statistics.c.length + bindparam("length"),
    )
)
