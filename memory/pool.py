"""Gathers what the ranking looks at: candidates, the turns around them, their terms and vectors.

Everything comes from readable places: candidates were found there, and a neighbour shares the
place of its message. Rows are read by key, so the cost depends on the pool, not on the store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache

import numpy as np
from sqlmodel import Session

from memory import lexical, passages, ranking
from memory.analysis import asks
from memory.bm25 import Evidence
from memory.store import briefs, embeddings, sources
from memory.store.briefs import SESSION_GAP, FactBrief, MessageBrief
from memory.store.embeddings import Model
from memory.store.facts import NAME_MARK
from memory.tokens import normalised
from memory.types import Audience, Kind, Person, Readable, Ref, SourceChunk

Record = FactBrief | MessageBrief | SourceChunk

_OF_DOCUMENTS = (Kind.CHUNK, Kind.PASSAGE)
CONTEXT_COLUMNS = len(ranking.OFFSETS) + 1


@dataclass(frozen=True, slots=True)
class Asked:
    """What a search wants, besides the words of its query."""

    query: str
    asker: Person | None = None
    window: tuple[datetime, datetime] | None = None
    passage: str = ""
    """A made-up answer (HyDE) that helps to find the real one by meaning, and is no evidence."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """A pool for `ranking.rank`, and what its rows are."""

    pool: ranking.Pool
    refs: tuple[Ref, ...]
    texts: tuple[str, ...]
    """Of each row; of a passage that of its chunk."""
    chunks: Mapping[int, SourceChunk]

    def chunk(self, row: int) -> SourceChunk | None:
        """The chunk that a row is, or is a passage of."""
        ref = self.refs[row]
        return self.chunks[_chunk_id(ref)] if ref.kind in _OF_DOCUMENTS else None


def gather(
    session: Session,
    places: Mapping[Audience, int],
    keys: Sequence[int],
    best: Collection[int],
    evidence: Evidence,
    model: Model | None,
    asked: Asked,
) -> Gathered:
    """The pool of the candidates `keys`, in that order, followed by what stands around them.

    `places` are the readable audiences with their ids. What stands next to one of the `best`
    keys is a candidate too: an answer follows its question.
    """
    here = list(places.values())
    refs = [Ref.from_key(key) for key in keys]
    known = briefs.facts(session, [r.id for r in refs if r.kind is Kind.FACT], here)
    said = briefs.messages(
        session, [r.id for r in refs if r.kind is Kind.MESSAGE], here, with_around=True
    )
    # only around what may be read: a reply shares its place, and may be made from another one
    beside = _around(m for id_, m in said.items() if Ref(Kind.MESSAGE, id_).key in best)
    beside -= said.keys()
    said |= briefs.messages(session, beside, here, with_around=True)
    extra = _around(said.values()) - said.keys()
    said |= briefs.messages(session, extra, here)
    pages = {_chunk_id(r) for r in refs if r.kind in _OF_DOCUMENTS}
    read = sources.chunks(session, pages, Readable(frozenset(places))) if pages else {}

    def record_of(ref: Ref) -> Record | None:
        if ref.kind is Kind.FACT:
            return known.get(ref.id)
        return said.get(ref.id) if ref.kind is Kind.MESSAGE else read.get(_chunk_id(ref))

    refs += [Ref(Kind.MESSAGE, id_) for id_ in sorted(beside & said.keys())]
    refs = [r for r in refs if record_of(r) is not None]
    rows = [*refs, *(Ref(Kind.MESSAGE, id_) for id_ in sorted(extra & said.keys()))]
    rows += sorted({Ref(Kind.CHUNK, id_) for id_ in read} - set(refs))
    records = [record for ref in rows if (record := record_of(ref)) is not None]
    numbered: dict[tuple[int, int], int] = {}
    for index, (ref, record) in enumerate(zip(rows, records, strict=True)):
        at = places[record.audience] if isinstance(record, SourceChunk) else record.audience_id
        numbered[at, ref.key] = index
    frequencies, lengths = _terms(session, len(rows), numbered, evidence)
    pool = ranking.Pool(
        candidate=np.arange(len(rows)) < len(refs),
        groups=_groups(rows, known),
        kinds=np.array([int(ref.kind) for ref in rows], dtype=np.int64),
        frequencies=frequencies,
        lengths=lengths,
        vectors=_vectors(session, len(rows), numbered, model),
        context=_context(rows, said),
        speaker=_speakers(records, asked),
        asks=np.array([_asks(record) for record in records], dtype=bool),
        in_time=np.array([_in_time(record, asked.window) for record in records], dtype=bool),
    )
    return Gathered(pool, tuple(rows), tuple(record.text for record in records), read)


def _around(messages: Iterable[MessageBrief]) -> set[int]:
    return {id_ for message in messages for id_ in message.around if id_ is not None}


def _chunk_id(ref: Ref) -> int:
    """The chunk that a record of a document is, or is a passage of."""
    return ref.id if ref.kind is Kind.CHUNK else passages.place_of(ref.id)[0]


def _asks(record: Record) -> bool:
    return not isinstance(record, SourceChunk) and ranking.ends_as_question(record.text)


def _context(rows: Sequence[Ref], said: Mapping[int, MessageBrief]) -> np.ndarray:
    """As `ranking.Pool.context`, of the turns around the messages that were `said`.

    What was put to Oboete is context to its replies only.
    """
    place = {ref: index for index, ref in enumerate(rows)}
    context = np.full((len(rows), CONTEXT_COLUMNS), -1, dtype=np.int64)
    put = {id_ for id_, message in said.items() if _put_to_oboete(message)}
    for id_, message in said.items():
        row = place[Ref(Kind.MESSAGE, id_)]
        for column, other in enumerate(message.around):
            if other is None or other not in said or not _together(message, said[other]):
                continue
            if other not in put or message.author is None:
                context[row, column] = place[Ref(Kind.MESSAGE, other)]
    for row, ref in enumerate(rows):
        if ref.kind is Kind.PASSAGE:
            context[row, -1] = place[Ref(Kind.CHUNK, _chunk_id(ref))]
    return context


def _put_to_oboete(message: MessageBrief) -> bool:
    """True for a question that Oboete answered: what people say next is no answer to it.

    `asks`, because few people end "what is the pass phrase" as `ranking.ends_as_question` wants.
    """
    return message.answered and message.author is not None and asks(message.text)


def _together(message: MessageBrief, other: MessageBrief) -> bool:
    return abs(message.sent_at - other.sent_at) <= SESSION_GAP


def _groups(rows: Sequence[Ref], known: Mapping[int, FactBrief]) -> np.ndarray:
    """One group per record, but for a message and the facts that are most of what it says, and
    for the passages of a chunk.
    """
    number = {ref: index for index, ref in enumerate(rows)}
    groups = np.arange(len(rows), dtype=np.int64)
    for ref in rows:
        if ref.kind is Kind.PASSAGE:
            groups[number[ref]] = groups[number[Ref(Kind.CHUNK, _chunk_id(ref))]]
        if ref.kind is not Kind.FACT:
            continue
        for message_id in known[ref.id].sources:
            source = number.get(Ref(Kind.MESSAGE, message_id))
            if source is not None:
                groups[source] = groups[number[ref]]
    return groups


def _speakers(records: Sequence[Record], asked: Asked) -> np.ndarray:
    """True where the question names whom the record is from or about, bool (n,)."""
    asker = str(asked.asker) if asked.asker is not None else None
    question = normalised(asked.query)

    @cache
    def named(name: str, address: str | None) -> bool:
        mine = address is not None and address == asker
        return ranking.names(question, name, is_asker=mine)

    def stored(who: str) -> bool:
        """Of a subject or speaker as the fact's row has it."""
        if who.startswith(NAME_MARK):
            return named(who.removeprefix(NAME_MARK), None)
        return named(Person.parse(who).name, who)

    def one(record: Record) -> bool:
        if isinstance(record, FactBrief):
            return stored(record.subject) or stored(record.speaker)
        return isinstance(record, MessageBrief) and named(record.author_name, record.author)

    return np.array([one(record) for record in records], dtype=bool)


def _in_time(record: Record, window: tuple[datetime, datetime] | None) -> bool:
    """True when the record was said, or held, in the window asked for."""
    if window is None or isinstance(record, SourceChunk):
        return False
    start, end = window
    if isinstance(record, MessageBrief):
        return start <= record.sent_at < end
    if record.valid_from is None and record.valid_until is None:
        return start <= record.said_at < end
    began = record.valid_from or record.said_at
    return began < end and (record.valid_until is None or record.valid_until > start)


def _vectors(
    session: Session, count: int, rows: Mapping[tuple[int, int], int], model: Model | None
) -> np.ndarray:
    """Centred vectors by row, zeros where there is none, float32 (count, d).

    `rows` are by audience id and key.
    """
    if model is None:
        return np.zeros((count, 1), dtype=np.float32)
    result = np.zeros((count, model.dimension), dtype=np.float32)
    # a chunk has words only: its passages have the meaning
    wanted = {
        record: row
        for record, row in rows.items()
        if Ref.from_key(record[1]).kind is not Kind.CHUNK
    }
    keys, vectors = embeddings.of_records(session, model, wanted)
    if keys:
        row_of = {key: row for (_, key), row in wanted.items()}
        result[[row_of[key] for key in keys]] = model.calibration.center(vectors)
    return result


def _terms(
    session: Session, count: int, rows: Mapping[tuple[int, int], int], evidence: Evidence
) -> tuple[np.ndarray, np.ndarray]:
    """How often each row has each term, float32 (count, t), and the rows' lengths, int64 (count,).

    `rows` are by audience id and key.
    """
    frequencies = np.zeros((count, len(evidence.terms)), dtype=np.float32)
    lengths = np.ones(count, dtype=np.int64)
    found = {int(key): index for index, key in enumerate(evidence.keys)}
    columns = {term: column for column, term in enumerate(evidence.terms)}
    exact = [
        term
        for term, records in zip(evidence.terms, evidence.document_frequencies, strict=True)
        if records and not term.endswith("*")
    ]
    row_of = {}
    others = []
    for (audience_id, key), row in rows.items():
        at = found.get(key)
        if at is None:
            row_of[key] = row
            others.append((audience_id, key))
        else:
            frequencies[row] = evidence.frequencies[at]
            lengths[row] = evidence.lengths[at]
    if not others:
        return frequencies, lengths
    for key, length, term, times in lexical.terms_of(session, others, exact):
        lengths[row_of[key]] = max(length, 1)
        if term is not None:
            frequencies[row_of[key], columns[term]] = times
    return frequencies, lengths
