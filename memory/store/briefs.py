"""What a ranking looks at of a record, read without the rest of it.

A search ranks some thousand records to show a dozen, and making whole records of them all takes
ten times as long as ranking them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import select
from sqlmodel import Session, col

from memory.store import audiences, lineage
from memory.store.statements import numbers
from memory.tables import EvidenceRow, FactRow, MessageRow


class FactBrief(NamedTuple):
    """Of a fact."""

    audience_id: int
    text: str
    subject: str
    """As stored: see `FactRow.subject`."""
    speaker: str
    said_at: datetime
    valid_from: datetime | None
    valid_until: datetime | None
    sources: tuple[int, ...]
    """Ids of the messages that support it."""


class MessageBrief(NamedTuple):
    """Of a message."""

    audience_id: int
    text: str
    author: str | None
    author_name: str
    sent_at: datetime


def facts(
    session: Session, ids: Collection[int], audience_ids: Collection[int]
) -> dict[int, FactBrief]:
    """Those of the facts that are in one of the audiences, by id."""
    if not ids:
        return {}
    connection = session.connection()
    sources: defaultdict[int, list[int]] = defaultdict(list)
    for fact_id, message_id in connection.execute(_SOURCES, {"ids": list(ids)}).all():
        sources[fact_id].append(message_id)
    rows = connection.execute(_FACTS, {"ids": list(ids), "audiences": list(audience_ids)}).all()
    return {row.id: FactBrief(*row[1:], tuple(sources[row.id])) for row in rows}


def messages(
    session: Session, ids: Collection[int], audience_ids: Collection[int]
) -> dict[int, MessageBrief]:
    """Those of the messages that are in the audiences with all they were made from, by id."""
    if not ids:
        return {}
    here = {"ids": list(ids), "audiences": list(audience_ids)}
    rows = session.connection().execute(_MESSAGES, here).all()
    replies = [row.id for row in rows if row.author is None]
    closed = lineage.closed(session, replies, audience_ids)
    return {row.id: MessageBrief(*row[1:]) for row in rows if row.id not in closed}


# Built once: assembling a statement takes longer than running it.
_FACTS = select(
    col(FactRow.id),
    col(FactRow.audience_id),
    col(FactRow.text),
    col(FactRow.subject),
    col(FactRow.speaker),
    col(FactRow.said_at),
    col(FactRow.valid_from),
    col(FactRow.valid_until),
).where(
    col(FactRow.id).in_(numbers("ids")),
    audiences.of_known_row(FactRow.audience_id).in_(numbers("audiences")),
)
_SOURCES = select(col(EvidenceRow.fact_id), col(EvidenceRow.message_id)).where(
    col(EvidenceRow.fact_id).in_(numbers("ids"))
)
_MESSAGES = select(
    col(MessageRow.id),
    col(MessageRow.audience_id),
    col(MessageRow.text),
    col(MessageRow.author),
    col(MessageRow.author_name),
    col(MessageRow.sent_at),
).where(
    col(MessageRow.id).in_(numbers("ids")),
    audiences.of_known_row(MessageRow.audience_id).in_(numbers("audiences")),
)
