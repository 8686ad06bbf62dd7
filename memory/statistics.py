"""What there is and how it grows, in numbers. Counts only: nobody's words, nobody's names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Float, cast, func
from sqlmodel import Session, col, select

from memory.store import extraction, inbox
from memory.tables import EmbeddingQueueRow, FactRow, InboxRow, MessageRow, TraceRow

WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts over the whole installation. Shares are between 0 and 1; None without any."""

    people: int
    """Who have said something that is kept."""
    places: int
    messages: int
    messages_this_week: int
    facts: int
    facts_this_week: int
    facts_week_before: int
    superseded: float | None
    """Share of facts whose place another took."""
    passing: float | None
    """Share of facts that hold, or held, only until some day."""
    unread: int
    waiting: int
    answers: int
    calls_per_message: float | None
    """Model calls that an answer waited for, on average over the last week."""
    milliseconds: float | None
    """Of an answer, on average over the last week."""
    liked: int
    disliked: int


def gather(session: Session, now: datetime) -> Statistics:
    """Count everything."""
    week = now - WEEK
    facts = _count(session, FactRow)
    recent = col(TraceRow.created_at) >= week
    calls = cast(func.json_extract(col(TraceRow.steps), "$.calls"), Float)
    ms = cast(func.json_extract(col(TraceRow.steps), "$.ms"), Float)
    average = session.execute(select(func.avg(calls), func.avg(ms)).where(recent)).one()
    superseded = _count(session, FactRow, col(FactRow.superseded_by).is_not(None))
    passing = _count(
        session,
        FactRow,
        col(FactRow.superseded_by).is_(None),
        col(FactRow.valid_until).is_not(None),
    )
    return Statistics(
        people=_distinct(session, col(MessageRow.author)),
        places=_distinct(session, col(MessageRow.audience_id)),
        messages=_count(session, MessageRow),
        messages_this_week=_count(session, MessageRow, col(MessageRow.stored_at) >= week),
        facts=facts,
        facts_this_week=_count(session, FactRow, col(FactRow.learned_at) >= week),
        facts_week_before=_count(
            session,
            FactRow,
            col(FactRow.learned_at) >= week - WEEK,
            col(FactRow.learned_at) < week,
        ),
        superseded=superseded / facts if facts else None,
        passing=passing / facts if facts else None,
        unread=extraction.count(session),
        waiting=inbox.depth(session),
        answers=_count(session, TraceRow),
        calls_per_message=average[0],
        milliseconds=average[1],
        liked=_count(session, TraceRow, col(TraceRow.rating) > 0),
        disliked=_count(session, TraceRow, col(TraceRow.rating) < 0),
    )


def _count(session: Session, table: type, *where: object) -> int:
    query = select(func.count()).select_from(table)
    return int(session.exec(query.where(*where)).one())  # type: ignore[arg-type]


def _distinct(session: Session, column: object) -> int:
    return int(session.exec(select(func.count(func.distinct(column)))).one())


def last_inbound(session: Session) -> dict[str, float]:
    """When each platform's last event came, as a Unix time."""
    rows = session.execute(
        select(InboxRow.platform, func.max(InboxRow.received_at)).group_by(col(InboxRow.platform))
    )
    return {platform: moment.timestamp() for platform, moment in rows}


def queued(session: Session) -> int:
    """How many texts lack a vector."""
    return session.exec(select(func.count()).select_from(EmbeddingQueueRow)).one()
