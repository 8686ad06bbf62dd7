"""The durable queue of messages that facts have not been read off yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, exists, func
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from memory.store import audiences
from memory.tables import ExtractionRow
from memory.types import Audience, Message, Person

RETRY_BASE = timedelta(seconds=30)
RETRY_MOST = timedelta(hours=1)

HELD = 3
"""Failures of a message up to which later ones of its conversation wait for it."""


@dataclass(frozen=True, slots=True)
class Pending:
    """One message in the queue."""

    message_id: int
    audience: Audience
    conversation: str
    author: Person
    queued_at: datetime
    attempts: int


def enqueue(session: Session, message: Message, now: datetime) -> None:
    """Queue a message of a person; a message that waits already takes the place of itself."""
    assert message.author is not None
    row = {
        "message_id": message.id,
        "audience_id": audiences.ensure_id(session, message.audience),
        "conversation": message.conversation,
        "author": str(message.author),
        "queued_at": now,
        "due_at": now,
        "attempts": 0,
    }
    session.connection().execute(_ENQUEUE, row)


_NEW = upsert(ExtractionRow)
_ENQUEUE = _NEW.on_conflict_do_update(
    index_elements=["message_id"],
    set_={name: _NEW.excluded[name] for name in ("queued_at", "due_at", "attempts")},
)


def waiting(session: Session, now: datetime, limit: int = 1000) -> list[Pending]:
    """Messages that are due, in the order in which they were queued.

    None before an earlier one of its conversation, unless that has failed often; none of a locked
    tenant.
    """
    earlier = aliased(ExtractionRow)
    held = exists().where(
        col(earlier.audience_id) == col(ExtractionRow.audience_id),
        col(earlier.conversation) == col(ExtractionRow.conversation),
        col(earlier.message_id) < col(ExtractionRow.message_id),
        col(earlier.due_at) > now,
        col(earlier.attempts) <= HELD,
    )
    rows = session.exec(
        select(ExtractionRow)
        .where(
            col(ExtractionRow.due_at) <= now,
            ~held,
            ~audiences.locked(col(ExtractionRow.audience_id)),
        )
        .order_by(col(ExtractionRow.queued_at), col(ExtractionRow.message_id))
        .limit(limit)
    ).all()
    places = audiences.names(session, [row.audience_id for row in rows])
    return [
        Pending(
            row.message_id,
            places[row.audience_id],
            row.conversation,
            Person.parse(row.author),
            row.queued_at,
            row.attempts,
        )
        for row in rows
    ]


def finish(session: Session, message_ids: Iterable[int]) -> None:
    session.execute(
        delete(ExtractionRow).where(col(ExtractionRow.message_id).in_(set(message_ids)))
    )


def postpone(session: Session, message_ids: Iterable[int], now: datetime) -> None:
    """Try again later, each time after twice as long, at most an hour."""
    rows = session.exec(
        select(ExtractionRow).where(col(ExtractionRow.message_id).in_(set(message_ids)))
    )
    for row in rows:
        row.attempts += 1
        row.due_at = now + min(RETRY_BASE * 2 ** min(row.attempts - 1, 20), RETRY_MOST)
        session.add(row)
    session.flush()


def is_waiting(session: Session, message_id: int) -> bool:
    """True while the message has not been read."""
    return session.get(ExtractionRow, message_id) is not None


def count(session: Session, author: Person | None = None) -> int:
    """How many messages (of one person) are still to be read."""
    query = select(func.count()).select_from(ExtractionRow)
    if author is not None:
        query = query.where(ExtractionRow.author == str(author))
    return session.exec(query).one()
