"""Traces of answers, and the lineage that says what a reply was made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, update
from sqlmodel import Session, col, select

from memory.store import audiences
from memory.store.facts import LARGEST_ID
from memory.tables import LineagePlaceRow, LineageRow, TraceRow
from memory.types import Audience, Kind, Person, Readable, Ref

WORDS = frozenset({"query", "searches"})
"""The steps that hold words of the conversation."""

_ADD = insert(TraceRow).returning(col(TraceRow.id))


@dataclass(frozen=True, slots=True)
class Trace:
    """How one answer came about. `steps` holds ids and numbers; words only of the query."""

    id: int
    audience: Audience
    asker: Person
    message_id: int | None
    reply_id: int | None
    created_at: datetime
    steps: Mapping[str, Any]
    rating: int | None


def add(
    session: Session,
    audience: Audience,
    asker: Person,
    message_id: int | None,
    reply_id: int | None,
    steps: Mapping[str, Any],
    now: datetime,
) -> int:
    """Store a trace; gives its id."""
    row = {
        "audience_id": audiences.ensure_id(session, audience),
        "asker": str(asker),
        "message_id": message_id,
        "reply_id": reply_id,
        "created_at": now,
        "steps": dict(steps),
    }
    trace_id = session.connection().execute(_ADD, row).scalar_one()
    assert trace_id is not None
    return trace_id


def get(session: Session, trace_id: int, asker: Person) -> Trace | None:
    """The asker's own trace."""
    row = session.get(TraceRow, trace_id) if trace_id <= LARGEST_ID else None
    mine = row is not None and row.asker == str(asker)
    return _open_trace(session, row) if row is not None and mine else None


def latest(session: Session, asker: Person, audience: Audience) -> Trace | None:
    """The trace of the last answer that the asker got in this place."""
    here = audiences.readable_ids(session, Readable.of(audience))
    row = session.exec(
        select(TraceRow)
        .where(TraceRow.asker == str(asker), col(TraceRow.audience_id).in_(here))
        .order_by(col(TraceRow.id).desc())
        .limit(1)
    ).first()
    return _open_trace(session, row) if row else None


def rate(session: Session, trace_id: int, asker: Person, rating: int) -> bool:
    """Store the asker's own verdict, +1 or -1; False for somebody else's trace."""
    rated = session.execute(
        update(TraceRow)
        .where(col(TraceRow.id) == trace_id, col(TraceRow.asker) == str(asker))
        .values(rating=rating)
        .returning(col(TraceRow.id))
    )
    return rated.scalar_one_or_none() is not None


def rate_reply(session: Session, reply_id: int, asker: Person, rating: int) -> bool:
    """As `rate`, for the trace that belongs to a reply."""
    row = session.exec(select(TraceRow.id).where(TraceRow.reply_id == reply_id)).first()
    return row is not None and rate(session, row, asker, rating)


def derived_from(session: Session, sources: Iterable[Ref]) -> list[int]:
    """Ids of the replies that were made from any of the sources."""
    keys = {ref.key for ref in sources}
    rows = session.exec(select(LineageRow.derived).where(col(LineageRow.source).in_(keys)))
    return sorted({Ref.from_key(key).id for key in rows})


def remove_for(session: Session, message_ids: Iterable[int]) -> None:
    """Delete the traces in which a message was the question or the reply, and the lineage."""
    ids = set(message_ids)
    session.execute(
        delete(TraceRow).where(col(TraceRow.message_id).in_(ids) | col(TraceRow.reply_id).in_(ids))
    )
    keys = {Ref(Kind.MESSAGE, id_).key for id_ in ids}
    session.execute(
        delete(LineageRow).where(
            col(LineageRow.derived).in_(keys) | col(LineageRow.source).in_(keys)
        )
    )
    session.execute(delete(LineagePlaceRow).where(col(LineagePlaceRow.derived).in_(keys)))


def _open_trace(session: Session, row: TraceRow) -> Trace | None:
    """The trace, unless its place is locked."""
    found = _to_trace(session, row)
    return None if audiences.is_locked(session, found.audience) else found


def _to_trace(session: Session, row: TraceRow) -> Trace:
    assert row.id is not None
    return Trace(
        row.id,
        audiences.names(session, [row.audience_id])[row.audience_id],
        Person.parse(row.asker),
        row.message_id,
        row.reply_id,
        row.created_at,
        row.steps,
        row.rating,
    )
