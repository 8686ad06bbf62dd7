"""Facts and the evidence that holds them up."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, Table, and_, delete, or_, update
from sqlalchemy import select as core_select
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlmodel import Session, col, select

from memory.store import audiences, changes
from memory.store.changes import Change
from memory.store.statements import numbers, read
from memory.store.text_keys import text_key
from memory.tables import EvidenceRow, FactRow, MessageRow
from memory.types import Audience, Evidence, Fact, NewFact, Origin, Person, Readable, Span

LARGEST_ID = 2**63 - 1
"""Larger numbers, which people may type, are no ids; SQL would refuse them."""

NAME_MARK = "~"
"""Begins a subject that is a name as text; a person's subject is their address."""


def insert(session: Session, fact: NewFact, now: datetime, *, confirmed: int = 1) -> Fact:
    """Store a fact with its evidence."""
    row = FactRow(
        audience_id=audiences.ensure_id(session, fact.audience),
        subject=subject_key(fact.subject),
        speaker=str(fact.speaker),
        text=fact.text,
        text_key=text_key(fact.text),
        language=fact.language,
        origin=fact.origin.value,
        attribute=fact.attribute,
        negated=fact.negated,
        said_at=fact.said_at,
        learned_at=now,
        valid_from=fact.valid_from,
        valid_until=fact.valid_until,
        confirmed=confirmed,
    )
    session.add(row)
    session.flush()
    assert row.id is not None
    _add_evidence(session, row.id, fact.evidence)
    return _to_fact(row, fact.audience, fact.evidence)


def confirm(session: Session, known: Fact, again: NewFact) -> Fact:
    """Note that a known fact was said again: more evidence, counted, dated by the latest."""
    row = session.get_one(FactRow, known.id)
    row.confirmed += 1
    if again.speaker == known.speaker:  # nobody else makes a value look fresh
        row.said_at = max(row.said_at, again.said_at)
    session.add(row)
    session.flush()
    _add_evidence(session, known.id, again.evidence)
    return get(session, [known.id], Readable.of(known.audience).for_upkeep())[known.id]


def _add_evidence(session: Session, fact_id: int, evidence: Iterable[Evidence]) -> None:
    rows = [
        {
            "fact_id": fact_id,
            "message_id": item.message_id,
            "start": item.span.start,
            "end": item.span.end,
        }
        for item in evidence
    ]
    if rows:
        session.connection().execute(_ADD_EVIDENCE, rows)


_NEW_EVIDENCE = upsert(EvidenceRow)
_ADD_EVIDENCE = _NEW_EVIDENCE.on_conflict_do_update(
    index_elements=["fact_id", "message_id", "start"], set_={"end": _NEW_EVIDENCE.excluded.end}
)


def exact(session: Session, fact: NewFact, *, of_speaker: bool = False) -> Fact | None:
    """The newest fact of the same subject and place in the same words, current ones first.

    With `of_speaker` only what the same person said: "my wife" is somebody else for each.
    """
    ids = audiences.readable_ids(session, Readable.of(fact.audience).for_upkeep())
    where = [
        col(FactRow.audience_id).in_(ids),
        col(FactRow.subject) == subject_key(fact.subject),
        col(FactRow.text_key) == text_key(fact.text),
    ]
    if of_speaker:
        where.append(col(FactRow.speaker) == str(fact.speaker))
    newest = _fact.c.superseded_by.is_not(None), _fact.c.id.desc()
    found = core_select(_fact).where(*where).order_by(*newest).limit(1)
    rows = read(session, found, {})
    return next(iter(_with_evidence(session, rows, ids)), None)


def of_subject(
    session: Session,
    subject: Person | str,
    audience: Audience,
    attributes: Collection[str] | None = None,
) -> list[Fact]:
    """Facts about a subject in one place (of some attributes) that nothing superseded, oldest
    first.
    """
    ids = audiences.readable_ids(session, Readable.of(audience).for_upkeep())
    where = [
        col(FactRow.audience_id).in_(ids),
        col(FactRow.subject) == subject_key(subject),
        col(FactRow.superseded_by).is_(None),
    ]
    if attributes is not None:
        where.append(col(FactRow.attribute).in_(attributes))
    return _select(session, ids, where)


def maybe_same_subject(
    session: Session, subject: Person | str, speaker: Person, audience: Audience
) -> list[int]:
    """Ids of the open facts of one place that may be about the same, oldest first.

    They are about the subject or, unless that is another person than the speaker, said by the
    same speaker of themself or of something that has a name: whom a sentence is about is not
    always told from its words ("Rugby is played by some men", "some men play rugby").
    """
    ids = audiences.readable_ids(session, Readable.of(audience).for_upkeep())
    about = col(FactRow.subject) == subject_key(subject)
    if subject == speaker or isinstance(subject, str):
        unsure = or_(
            col(FactRow.subject).startswith(NAME_MARK), col(FactRow.subject) == str(speaker)
        )
        about = or_(about, and_(col(FactRow.speaker) == str(speaker), unsure))
    rows = session.connection().execute(
        core_select(col(FactRow.id))
        .where(col(FactRow.audience_id).in_(ids), about, col(FactRow.superseded_by).is_(None))
        .order_by(col(FactRow.id))
    )
    return [id_ for id_ in rows.scalars() if id_ is not None]


def get(session: Session, ids: Iterable[int], readable: Readable) -> dict[int, Fact]:
    """Those of the facts that are readable, by id."""
    possible = {id_ for id_ in ids if id_ <= LARGEST_ID}
    if not possible:
        return {}
    places = audiences.readable_ids(session, readable)
    rows = read(session, _BY_ID, {"ids": list(possible), "audiences": list(places)})
    return {fact.id: fact for fact in _with_evidence(session, rows, places)}


def concerning(session: Session, person: Person, readable: Readable) -> list[Fact]:
    """Everything readable that is about the person or was said by them, oldest first."""
    places = audiences.readable_ids(session, readable)
    mine = or_(col(FactRow.subject) == str(person), col(FactRow.speaker) == str(person))
    return _select(session, places, [col(FactRow.audience_id).in_(places), mine])


def learned_since(session: Session, readable: Readable, moment: datetime) -> list[Fact]:
    """Readable facts that were learned after `moment` and that nothing superseded, oldest first."""
    places = audiences.readable_ids(session, readable)
    where = [
        col(FactRow.audience_id).in_(places),
        col(FactRow.learned_at) > moment,
        col(FactRow.superseded_by).is_(None),
    ]
    return _select(session, places, where)


def supported_by(session: Session, message_id: int, readable: Readable) -> list[Fact]:
    """Readable facts that have the message among their evidence, oldest first."""
    places = audiences.readable_ids(session, readable)
    supported = select(EvidenceRow.fact_id).where(EvidenceRow.message_id == message_id)
    return _select(
        session,
        places,
        [audiences.of_known_row(FactRow.audience_id).in_(places), col(FactRow.id).in_(supported)],
    )


def supersede(session: Session, old: Fact, new: Fact) -> None:
    """Close the old fact's interval where the new one begins."""
    row = session.get_one(FactRow, old.id)
    row.superseded_by = new.id
    row.valid_until = new.valid_from or new.said_at
    session.add(row)
    session.flush()
    now = max(old.learned_at, new.learned_at)
    changes.add(session, row.audience_id, old.id, Change.SUPERSEDED, now, cause=new.id)


def revive(session: Session, superseding_id: int, now: datetime) -> list[int]:
    """Give back their place to the facts that a fact had closed; gives their ids.

    They are current again, unless that fact had been superseded itself: then by what did that.
    """
    superseding = session.get_one(FactRow, superseding_id)
    heir = session.get(FactRow, superseding.superseded_by) if superseding.superseded_by else None
    revived = []
    closed = session.exec(select(FactRow).where(FactRow.superseded_by == superseding_id)).all()
    for row in closed:
        assert row.id is not None
        row.superseded_by = heir.id if heir else None
        row.valid_until = (heir.valid_from or heir.said_at) if heir else None
        session.add(row)
        change = Change.SUPERSEDED if heir else Change.REVIVED
        cause = heir.id if heir else superseding_id
        changes.add(session, row.audience_id, row.id, change, now, cause=cause)
        revived.append(row.id)
    session.flush()
    return revived


def close_for_good(session: Session, superseding_id: int, now: datetime | None = None) -> None:
    """Let what a fact had superseded stay in the past although that fact goes."""
    closed = session.execute(
        update(FactRow)
        .where(col(FactRow.superseded_by) == superseding_id)
        .values(superseded_by=None)
        .returning(col(FactRow.id), col(FactRow.audience_id))
    )
    for id_, audience_id in closed.all():
        changes.add(session, audience_id, id_, Change.CLOSED, now, cause=superseding_id)


def drop_evidence(session: Session, fact_id: int, message_id: int) -> bool:
    """Take one message from a fact's evidence; True when other evidence is left."""
    session.execute(
        delete(EvidenceRow).where(
            col(EvidenceRow.fact_id) == fact_id, col(EvidenceRow.message_id) == message_id
        )
    )
    left = session.exec(select(EvidenceRow.fact_id).where(EvidenceRow.fact_id == fact_id)).first()
    return left is not None


def leave_to_others(session: Session, fact: Fact, gone: Collection[int]) -> None:
    """Take messages from a fact's evidence, of which something else is left: it is then said by
    whoever said that, and when.
    """
    for id_ in {item.message_id for item in fact.evidence} & set(gone):
        drop_evidence(session, fact.id, id_)
    left = {item.message_id for item in fact.evidence} - set(gone)
    said = session.exec(
        select(MessageRow)
        .where(col(MessageRow.id).in_(left), col(MessageRow.author).is_not(None))
        .order_by(col(MessageRow.sent_at))
    ).all()
    row = session.get_one(FactRow, fact.id)
    if said:
        if row.speaker not in {message.author for message in said}:
            row.speaker = said[0].author or row.speaker
        row.said_at = said[-1].sent_at
    row.confirmed = len(left)
    session.add(row)
    session.flush()


def add_evidence(session: Session, fact_id: int, item: Evidence) -> None:
    """Give a fact back support that it had lost."""
    row = session.get(FactRow, fact_id)
    message = session.get(MessageRow, item.message_id)
    if row is not None and message is not None:
        _add_evidence(session, fact_id, [item])
        row.confirmed += 1
        row.said_at = max(row.said_at, message.sent_at)
        session.add(row)
        session.flush()


def remove(
    session: Session,
    fact_id: int,
    why: Change = Change.FORGOTTEN,
    now: datetime | None = None,
    *,
    cause: int | None = None,
) -> None:
    """Delete the row and its evidence. Whoever calls has seen to what it superseded."""
    audience_id = session.get_one(FactRow, fact_id).audience_id
    session.execute(delete(EvidenceRow).where(col(EvidenceRow.fact_id) == fact_id))
    session.execute(delete(FactRow).where(col(FactRow.id) == fact_id))
    changes.add(session, audience_id, fact_id, why, now, cause=cause)


def as_new(fact: Fact) -> NewFact:
    """A known fact as one to be stored again."""
    return NewFact(
        text=fact.text,
        subject=fact.subject,
        speaker=fact.speaker,
        audience=fact.audience,
        language=fact.language,
        origin=fact.origin,
        evidence=fact.evidence,
        said_at=fact.said_at,
        attribute=fact.attribute,
        negated=fact.negated,
        valid_from=fact.valid_from,
        valid_until=fact.valid_until,
    )


def subject_key(subject: Person | str) -> str:
    """How a subject is stored; a name is compared without regard to case and width."""
    if isinstance(subject, Person):
        return str(subject)
    return NAME_MARK + " ".join(unicodedata.normalize("NFKC", subject).casefold().split())


def _subject(stored: str) -> Person | str:
    if stored.startswith(NAME_MARK):
        return stored.removeprefix(NAME_MARK)
    return Person.parse(stored)


def _select(
    session: Session, places: dict[int, Audience], where: Sequence[ColumnElement[bool]]
) -> list[Fact]:
    rows = read(session, _EACH.where(*where), {})
    return _with_evidence(session, rows, places)


def _with_evidence(
    session: Session, rows: Sequence[Row[Any]], places: dict[int, Audience]
) -> list[Fact]:
    if not rows:
        return []
    evidence: defaultdict[int, list[Evidence]] = defaultdict(list)
    found = read(session, _EVIDENCE, {"ids": [row.id for row in rows]})
    names: dict[tuple[int, str | None], str] = {}
    for fact_id, message_id, start, end, permalink, author, name in found:
        names[fact_id, author] = name
        evidence[fact_id].append(Evidence(message_id, Span(start, end), permalink))
    return [
        _to_fact(
            row,
            places[row.audience_id],
            evidence[row.id],
            names.get((row.id, row.speaker), ""),
        )
        for row in rows
    ]


def _to_fact(
    row: FactRow | Row[Any],
    audience: Audience,
    evidence: Iterable[Evidence],
    speaker_name: str = "",
) -> Fact:
    assert row.id is not None
    return Fact(
        id=row.id,
        text=row.text,
        subject=_subject(row.subject),
        speaker=Person.parse(row.speaker),
        audience=audience,
        language=row.language,
        origin=Origin(row.origin),
        attribute=row.attribute,
        negated=row.negated,
        said_at=row.said_at,
        learned_at=row.learned_at,
        valid_from=row.valid_from,
        valid_until=row.valid_until,
        superseded_by=row.superseded_by,
        confirmed=row.confirmed,
        evidence=tuple(evidence),
        speaker_name=speaker_name,
    )


# Built once: see `memory.store.statements`.
_fact: Table = FactRow.__table__  # type: ignore[attr-defined]
_EACH = core_select(_fact).order_by(_fact.c.id)
_BY_ID = _EACH.where(
    _fact.c.id.in_(numbers("ids")),
    audiences.of_known_row(_fact.c.audience_id).in_(numbers("audiences")),
)
_EVIDENCE = (
    core_select(
        col(EvidenceRow.fact_id),
        col(EvidenceRow.message_id),
        col(EvidenceRow.start),
        col(EvidenceRow.end),
        col(MessageRow.permalink),
        col(MessageRow.author),
        col(MessageRow.author_name),
    )
    .join(MessageRow, col(MessageRow.id) == col(EvidenceRow.message_id))
    .where(col(EvidenceRow.fact_id).in_(numbers("ids")))
    .order_by(col(MessageRow.sent_at), col(EvidenceRow.start))
)
