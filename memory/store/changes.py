"""The audit trail: what changed a fact, by ids and times. It never holds anybody's words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from sqlalchemy import delete
from sqlmodel import Session, col, select

from memory.store import audiences
from memory.tables import FactChangeRow
from memory.types import Readable


class Change(StrEnum):
    """What happened to a fact. That it was learned and confirmed, its evidence tells."""

    SUPERSEDED = "superseded"
    """A later value took its place."""
    REVIVED = "revived"
    """The source of what had superseded it is gone, so it is current again."""
    CLOSED = "closed"
    """What had superseded it was forgotten; it stays in the past."""
    PASSED = "passed"
    """The time that it was about is over."""
    MERGED = "merged"
    """A fact in other words was brought together with it."""
    FORGOTTEN = "forgotten"
    WITHDRAWN = "withdrawn"
    """Its author edited or deleted the message that it came from."""
    EXPIRED = "expired"
    MERGED_AWAY = "merged away"
    """It says the same as another fact, which stays."""


GONE = frozenset({Change.FORGOTTEN, Change.WITHDRAWN, Change.EXPIRED, Change.MERGED_AWAY})
"""How a fact can end; nothing else is left of its trail then."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One change."""

    change: Change
    at: datetime
    cause: int | None
    """Id of the other fact that brought it about."""


def add(
    session: Session,
    audience_id: int,
    fact_id: int,
    change: Change,
    now: datetime | None = None,
    *,
    cause: int | None = None,
) -> None:
    """Note a change. The end of a fact takes the place of all that was noted before."""
    if change in GONE:
        session.execute(delete(FactChangeRow).where(col(FactChangeRow.fact_id) == fact_id))
    session.add(
        FactChangeRow(
            audience_id=audience_id,
            fact_id=fact_id,
            change=change.value,
            cause=cause,
            changed_at=now or datetime.now(UTC),
        )
    )
    session.flush()


def of_fact(session: Session, fact_id: int, readable: Readable) -> list[Entry]:
    """What happened to a fact of a readable place, oldest first; also how it went."""
    places = audiences.readable_ids(session, readable)
    rows = session.exec(
        select(FactChangeRow)
        .where(
            FactChangeRow.fact_id == fact_id,
            col(FactChangeRow.audience_id).in_(places),
        )
        .order_by(col(FactChangeRow.id))
    )
    return [Entry(Change(row.change), row.changed_at, row.cause) for row in rows]
