"""What there is and how it grows, in numbers. Counts only: nobody's words, nobody's names."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Float, cast, func
from sqlmodel import Session, col, select

from memory.store import audiences
from memory.tables import (
    EmbeddingQueueRow,
    ExtractionRow,
    FactRow,
    InboxRow,
    MessageRow,
    TraceRow,
)

WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts over an installation, or one workspace of it.

    Shares are between 0 and 1; None without any.
    """

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


def gather(session: Session, now: datetime, workspace: tuple[str, str] | None = None) -> Statistics:
    """Count everything, or what is in the places of one workspace (platform, tenant)."""
    week = now - WEEK
    places = None if workspace is None else audiences.of_workspace(session, *workspace)
    recent = [col(TraceRow.created_at) >= week, *_inside(TraceRow, places)]
    calls = cast(func.json_extract(col(TraceRow.steps), "$.calls"), Float)
    ms = cast(func.json_extract(col(TraceRow.steps), "$.ms"), Float)
    average = session.execute(select(func.avg(calls), func.avg(ms)).where(*recent)).one()
    of_facts, said = _inside(FactRow, places), _inside(MessageRow, places)
    answered = _inside(TraceRow, places)
    superseded = _count(session, FactRow, *of_facts, col(FactRow.superseded_by).is_not(None))
    facts = _count(session, FactRow, *of_facts)
    passing = _count(
        session,
        FactRow,
        *of_facts,
        col(FactRow.superseded_by).is_(None),
        col(FactRow.valid_until).is_not(None),
    )
    return Statistics(
        people=_distinct(session, col(MessageRow.author), *said),
        places=_distinct(session, col(MessageRow.audience_id), *said),
        messages=_count(session, MessageRow, *said),
        messages_this_week=_count(session, MessageRow, *said, col(MessageRow.stored_at) >= week),
        facts=facts,
        facts_this_week=_count(session, FactRow, *of_facts, col(FactRow.learned_at) >= week),
        facts_week_before=_count(
            session,
            FactRow,
            *of_facts,
            col(FactRow.learned_at) >= week - WEEK,
            col(FactRow.learned_at) < week,
        ),
        superseded=superseded / facts if facts else None,
        passing=passing / facts if facts else None,
        unread=_count(session, ExtractionRow, *_inside(ExtractionRow, places)),
        waiting=_count(session, InboxRow, *_waiting(workspace)),
        answers=_count(session, TraceRow, *answered),
        calls_per_message=average[0],
        milliseconds=average[1],
        liked=_count(session, TraceRow, *answered, col(TraceRow.rating) > 0),
        disliked=_count(session, TraceRow, *answered, col(TraceRow.rating) < 0),
    )


def _count(session: Session, table: type, *where: object) -> int:
    query = select(func.count()).select_from(table)
    return int(session.exec(query.where(*where)).one())  # type: ignore[arg-type]


def _distinct(session: Session, column: object, *where: object) -> int:
    query = select(func.count(func.distinct(column)))
    return int(session.exec(query.where(*where)).one())  # type: ignore[arg-type]


def _inside(table: Any, places: Collection[int] | None) -> tuple[ColumnElement[bool], ...]:
    return () if places is None else (col(table.audience_id).in_(places),)


def _waiting(workspace: tuple[str, str] | None) -> tuple[object, ...]:
    """Events that are not handled yet."""
    waiting = col(InboxRow.done_at).is_(None)
    if workspace is None:
        return (waiting,)
    platform, tenant = workspace
    return (waiting, InboxRow.platform == platform, InboxRow.tenant == tenant)


def last_inbound(session: Session) -> dict[str, float]:
    """When each platform's last event came, as a Unix time."""
    rows = session.execute(
        select(InboxRow.platform, func.max(InboxRow.received_at)).group_by(col(InboxRow.platform))
    )
    return {platform: moment.timestamp() for platform, moment in rows}


def queued(session: Session) -> int:
    """How many texts lack a vector."""
    return session.exec(select(func.count()).select_from(EmbeddingQueueRow)).one()
