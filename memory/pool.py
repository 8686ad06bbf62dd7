"""Gathers what the ranking looks at: candidates, the turns around them, their terms and vectors.

Everything comes from readable places: candidates were found there, and a neighbour shares the
place of its message. Rows are read by key, so the cost depends on the pool, not on the store.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from sqlalchemy import Integer, bindparam, select
from sqlmodel import Session, col

from memory import ranking
from memory.bm25 import Evidence
from memory.store import embeddings, facts, messages, neighbours, sources
from memory.store.embeddings import Model
from memory.store.neighbours import SESSION_GAP
from memory.tables import LexicalEntryRow, PostingRow
from memory.types import Audience, Fact, Kind, Message, Person, Readable, Ref, SourceChunk

Record = Fact | Message | SourceChunk

CONTEXT_COLUMNS = len(ranking.OFFSETS) + 1


@dataclass(frozen=True, slots=True)
class Asked:
    """What a search wants, besides the words of its query."""

    query: str
    asker: Person | None = None
    window: tuple[datetime, datetime] | None = None


@dataclass(frozen=True, slots=True)
class Gathered:
    """A pool for `ranking.rank`, and the records of its rows."""

    pool: ranking.Pool
    refs: tuple[Ref, ...]
    facts: Mapping[int, Fact]
    messages: Mapping[int, Message]
    chunks: Mapping[int, SourceChunk]

    def record(self, ref: Ref) -> Record:
        """The record of a row."""
        if ref.kind is Kind.FACT:
            return self.facts[ref.id]
        return self.messages[ref.id] if ref.kind is Kind.MESSAGE else self.chunks[ref.id]


def gather(
    session: Session,
    places: Mapping[Audience, int],
    keys: Sequence[int],
    evidence: Evidence,
    model: Model | None,
    asked: Asked,
) -> Gathered:
    """The pool of the candidates `keys`, in that order, followed by what stands around them.

    `places` are the readable audiences with their ids.
    """
    readable = Readable(frozenset(places))
    refs = [Ref.from_key(key) for key in keys]
    known = facts.get(session, [r.id for r in refs if r.kind is Kind.FACT], readable)
    said = messages.get(session, [r.id for r in refs if r.kind is Kind.MESSAGE], readable)
    read = sources.chunks(session, [r.id for r in refs if r.kind is Kind.CHUNK], readable)
    found: dict[Kind, Mapping[int, Record]] = {
        Kind.FACT: known,
        Kind.MESSAGE: said,
        Kind.CHUNK: read,
    }
    refs = [r for r in refs if r.id in found[r.kind]]
    # what stands next to a match is a candidate too: an answer follows its question
    first = neighbours.around(session, said)
    beside = {i for ids in first.values() for i in ids if i is not None} - said.keys()
    said |= messages.get(session, beside, readable)
    refs += [Ref(Kind.MESSAGE, id_) for id_ in sorted(beside & said.keys())]
    around = first | neighbours.around(session, beside & said.keys())
    extra = {i for ids in around.values() for i in ids if i is not None} - said.keys()
    said |= messages.get(session, extra, readable)  # `found` sees them too
    rows = [*refs, *(Ref(Kind.MESSAGE, id_) for id_ in sorted(extra & said.keys()))]
    place = {ref: index for index, ref in enumerate(rows)}
    records = [found[r.kind][r.id] for r in rows]
    frequencies, lengths = _terms(session, rows, records, places, evidence)
    context = np.full((len(rows), CONTEXT_COLUMNS), -1, dtype=np.int64)
    for id_, ids in around.items():
        row = place[Ref(Kind.MESSAGE, id_)]
        for column, other in enumerate(ids):
            if other is not None and other in said and _together(said[id_], said[other]):
                context[row, column] = place[Ref(Kind.MESSAGE, other)]
    pool = ranking.Pool(
        candidate=np.arange(len(rows)) < len(refs),
        groups=_groups(rows, known),
        kinds=np.array([int(ref.kind) for ref in rows], dtype=np.int64),
        frequencies=frequencies,
        lengths=lengths,
        vectors=_vectors(session, rows, records, places, model),
        context=context,
        speaker=np.array([_named(record, asked) for record in records], dtype=bool),
        asks=np.array([ranking.ends_as_question(record.text) for record in records], dtype=bool),
        in_time=np.array([_in_time(record, asked.window) for record in records], dtype=bool),
    )
    return Gathered(pool, tuple(rows), known, said, read)


def _together(message: Message, other: Message) -> bool:
    return abs(message.sent_at - other.sent_at) <= SESSION_GAP


def _groups(rows: Sequence[Ref], known: Mapping[int, Fact]) -> np.ndarray:
    """One group per record, but for a message and the facts that are most of what it says."""
    number = {ref: index for index, ref in enumerate(rows)}
    groups = np.arange(len(rows), dtype=np.int64)
    for ref in rows:
        if ref.kind is not Kind.FACT:
            continue
        for item in known[ref.id].evidence:
            source = number.get(Ref(Kind.MESSAGE, item.message_id))
            if source is not None:
                groups[source] = groups[number[ref]]
    return groups


def _named(record: Record, asked: Asked) -> bool:
    """True when the question names whom the record is from or about."""
    people: list[tuple[str, bool]] = []
    if isinstance(record, SourceChunk):
        return False
    if isinstance(record, Fact):
        for who in (record.subject, record.speaker):
            if isinstance(who, Person):
                people.append((who.name, who == asked.asker))
            else:
                people.append((who, False))
    else:
        mine = record.author is not None and record.author == asked.asker
        people.append((record.author_name, mine))
    return any(ranking.names(asked.query, name, is_asker=mine) for name, mine in people)


def _in_time(record: Record, window: tuple[datetime, datetime] | None) -> bool:
    """True when the record was said, or held, in the window asked for."""
    if window is None or isinstance(record, SourceChunk):
        return False
    start, end = window
    if isinstance(record, Message):
        return start <= record.sent_at < end
    if record.valid_from is not None:
        return record.valid_from < end and (
            record.valid_until is None or record.valid_until > start
        )
    return start <= record.said_at < end


def _vectors(
    session: Session,
    rows: Sequence[Ref],
    records: Sequence[Record],
    places: Mapping[Audience, int],
    model: Model | None,
) -> np.ndarray:
    """Centred vectors by row, zeros where there is none."""
    if model is None:
        return np.zeros((len(rows), 1), dtype=np.float32)
    by_place: defaultdict[int, list[int]] = defaultdict(list)
    for ref, record in zip(rows, records, strict=True):
        by_place[places[record.audience]].append(ref.key)
    stored: dict[int, np.ndarray] = {}
    for audience_id, keys in by_place.items():
        stored |= embeddings.of_owners(session, audience_id, model, keys)
    result = np.zeros((len(rows), model.dimension), dtype=np.float32)
    has = [index for index, ref in enumerate(rows) if ref.key in stored]
    if has:
        found = np.stack([stored[rows[index].key] for index in has])
        result[has] = model.calibration.center(found)
    return result


_OWNERS = bindparam("owners", type_=Integer, expanding=True, literal_execute=True)
_LOOKUP = select(col(PostingRow.term), col(PostingRow.owner), col(PostingRow.frequency)).where(
    col(PostingRow.audience_id) == bindparam("audience"),
    col(PostingRow.term).in_(bindparam("terms", expanding=True)),
    col(PostingRow.owner).in_(_OWNERS),
)
_LENGTHS = select(col(LexicalEntryRow.owner), col(LexicalEntryRow.length)).where(
    col(LexicalEntryRow.audience_id) == bindparam("audience"),
    col(LexicalEntryRow.owner).in_(_OWNERS),
)


def _terms(
    session: Session,
    rows: Sequence[Ref],
    records: Sequence[Record],
    places: Mapping[Audience, int],
    evidence: Evidence,
) -> tuple[np.ndarray, np.ndarray]:
    """How often each row has each term, float32 (n, t), and the rows' lengths, int64 (n,)."""
    frequencies = np.zeros((len(rows), len(evidence.terms)), dtype=np.float32)
    lengths = np.ones(len(rows), dtype=np.int64)
    found = {int(key): index for index, key in enumerate(evidence.keys)}
    missing: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for index, (ref, record) in enumerate(zip(rows, records, strict=True)):
        at = found.get(ref.key)
        if at is not None:
            frequencies[index] = evidence.frequencies[at]
            lengths[index] = evidence.lengths[at]
        else:
            missing[places[record.audience]][ref.key] = index
    columns = {term: column for column, term in enumerate(evidence.terms)}
    exact = [term for term in evidence.terms if not term.endswith("*")]
    connection = session.connection()
    for audience_id, owners in missing.items():
        here = {"audience": audience_id, "owners": list(owners)}
        for owner, length in connection.execute(_LENGTHS, here):
            lengths[owners[owner]] = max(length, 1)
        if exact:
            for term, owner, count in connection.execute(_LOOKUP, {**here, "terms": exact}):
                frequencies[owners[owner], columns[term]] = count
    return frequencies, lengths
