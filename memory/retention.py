"""Retention: words and facts go after the days that the settings allow.

A message that expires leaves its facts, which then rest on an expired source. What still waits
to be read is read first: nothing is lost because a model was away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, update
from sqlmodel import Session, col, select

from memory import records
from memory.store import facts, summaries, traces
from memory.store.changes import Change
from memory.tables import EvidenceRow, ExtractionRow, FactRow, MessageRow
from memory.types import Kind, Ref

BATCH = 500
"""Records per transaction, so that nobody waits long for the writer."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Days to keep; 0 keeps for ever."""

    message_days: int = 0
    fact_days: int = 0


def expired_messages(session: Session, limits: Limits, now: datetime, limit: int) -> list[int]:
    """Ids of messages with words that are older than allowed, oldest first."""
    if not limits.message_days:
        return []
    cutoff = now - timedelta(days=limits.message_days)
    ids = session.exec(
        select(MessageRow.id)
        .where(
            MessageRow.sent_at < cutoff,
            MessageRow.text != "",
            col(MessageRow.id).not_in(select(ExtractionRow.message_id)),
        )
        .order_by(col(MessageRow.id))
        .limit(limit)
    )
    return [id_ for id_ in ids if id_ is not None]


def expired_facts(session: Session, limits: Limits, now: datetime, limit: int) -> list[int]:
    """Ids of facts that nobody has said since longer than allowed, oldest first."""
    if not limits.fact_days:
        return []
    cutoff = now - timedelta(days=limits.fact_days)
    ids = session.exec(
        select(FactRow.id).where(FactRow.said_at < cutoff).order_by(col(FactRow.id)).limit(limit)
    )
    return [id_ for id_ in ids if id_ is not None]


def expire_messages(session: Session, ids: Sequence[int]) -> int:
    """Take out the words of messages, and whole rows where no fact rests on them. Counts them."""
    supporting = set(
        session.exec(select(EvidenceRow.message_id).where(col(EvidenceRow.message_id).in_(ids)))
    )
    for id_ in ids:
        row = session.get_one(MessageRow, id_)
        records.unindex(session, row.audience_id, Ref(Kind.MESSAGE, id_))
    traces.remove_for(session, ids)
    session.execute(
        update(MessageRow)
        .where(col(MessageRow.id).in_(supporting))
        .values(text="", text_key=b"", expired=True, mentions={})
    )
    gone = set(ids) - supporting
    session.execute(delete(MessageRow).where(col(MessageRow.id).in_(gone)))
    summaries.drop_stale(session)
    return len(ids)


def expire_facts(session: Session, ids: Sequence[int]) -> int:
    """Delete facts; what they had superseded stays in the past. Counts them."""
    supporting = select(EvidenceRow.message_id).where(col(EvidenceRow.fact_id).in_(ids))
    # else the same words, said again, would be taken for read and teach nothing
    session.execute(
        update(MessageRow).where(col(MessageRow.id).in_(supporting)).values(text_key=b"")
    )
    for id_ in ids:
        row = session.get_one(FactRow, id_)
        facts.close_for_good(session, id_)
        records.unindex(session, row.audience_id, Ref(Kind.FACT, id_))
    for id_ in ids:
        facts.remove(session, id_, Change.EXPIRED)
    summaries.drop_stale(session)
    return len(ids)
