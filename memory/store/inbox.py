"""The inbox: events on disk before they are acknowledged, and claims that drop their twins."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import String, cast, delete, func, insert, update
from sqlmodel import Session, col, select

from memory.tables import ClaimRow, InboxRow
from memory.types import InboxEvent

ONE_DAY = timedelta(days=1)


def commit(
    session: Session,
    platform: str,
    tenant: str,
    delivery: str,
    payload: dict[str, Any],
    now: datetime,
) -> int | None:
    """Store an event; None when this delivery is known already, handled or not."""
    inserted = session.execute(
        insert(InboxRow)
        .prefix_with("OR IGNORE", dialect="sqlite")
        .values(
            platform=platform,
            tenant=tenant,
            delivery=delivery,
            payload=payload,
            received_at=now,
            attempts=0,
        )
        .returning(col(InboxRow.id))
    )
    id_ = inserted.scalar_one_or_none()
    return None if id_ is None else int(id_)


def open_events(session: Session, after: int, limit: int) -> list[InboxEvent]:
    """Events not yet done with an id above `after`, oldest first."""
    rows = session.exec(
        select(InboxRow)
        .where(col(InboxRow.done_at).is_(None), col(InboxRow.id) > after)
        .order_by(col(InboxRow.id))
        .limit(limit)
    )
    return [_to_event(row) for row in rows]


def begin(session: Session, event_id: int) -> int:
    """Count one attempt at the event; gives how many that makes."""
    tried = session.execute(
        update(InboxRow)
        .where(col(InboxRow.id) == event_id)
        .values(attempts=InboxRow.attempts + 1)
        .returning(col(InboxRow.attempts))
    )
    return int(tried.scalar_one())


def claim(session: Session, keys: Sequence[str], event_id: int, now: datetime) -> bool:
    """True when no other event has claimed this message, by any of its keys."""
    for key in keys:
        row = session.get(ClaimRow, key)
        if row is not None and row.inbox_id != event_id:
            return False
        if row is None:
            session.add(ClaimRow(key=key, inbox_id=event_id, claimed_at=now))
    session.flush()
    return True


def was_deleted(session: Session, key: str) -> bool:
    """True when a deletion was handled of the message whose claim begins with `key`."""
    found = session.exec(
        select(ClaimRow.key).where(col(ClaimRow.key).startswith(key, autoescape=True)).limit(1)
    ).first()
    return found is not None


def note_reply(session: Session, event_id: int, reply_ref: str) -> None:
    """Remember where the answer is being written."""
    session.execute(
        update(InboxRow).where(col(InboxRow.id) == event_id).values(reply_ref=reply_ref)
    )


def finish(session: Session, event_id: int, outcome: str, now: datetime) -> None:
    """The event has been handled to its end: its words leave the inbox, its id stays."""
    session.execute(
        update(InboxRow)
        .where(col(InboxRow.id) == event_id)
        .values(done_at=now, outcome=outcome, payload=None, reply_ref=None)
    )


def erase(session: Session, event_id: int) -> None:
    """The event did not concern Oboete: nothing of it stays."""
    session.execute(delete(InboxRow).where(col(InboxRow.id) == event_id))


def forget_before(session: Session, moment: datetime) -> int:
    """Drop handled events and claims from before `moment`; no platform redelivers that late."""
    gone = session.execute(
        delete(InboxRow).where(col(InboxRow.done_at) < moment).returning(col(InboxRow.id))
    )
    session.execute(delete(ClaimRow).where(col(ClaimRow.claimed_at) < moment))
    return len(gone.scalars().all())


def erase_tenant(session: Session, platform: str, tenant: str, now: datetime) -> int:
    """Drop a tenant's events and claims, but for what came within the last day and may be just
    being handled; gives how many events.
    """
    gone = session.execute(
        delete(InboxRow)
        .where(
            col(InboxRow.platform) == platform,
            col(InboxRow.tenant) == tenant,
            col(InboxRow.done_at).is_not(None) | (col(InboxRow.received_at) < now - ONE_DAY),
        )
        .returning(col(InboxRow.id))
    )
    prefix = f"{platform}\x1f{tenant}\x1f"
    session.execute(
        delete(ClaimRow).where(
            col(ClaimRow.key).startswith(prefix, autoescape=True),
            col(ClaimRow.claimed_at) < now - ONE_DAY,
        )
    )
    return len(gone.scalars().all())


def last_received(session: Session, platform: str) -> datetime | None:
    """When the platform's last event came."""
    return session.exec(
        select(func.max(InboxRow.received_at)).where(InboxRow.platform == platform)
    ).one()


def mentions(session: Session, platform: str, tenant: str, message_id: str) -> bool:
    """True when an event that is not handled yet names the message."""
    found = session.exec(
        select(InboxRow.id).where(
            col(InboxRow.done_at).is_(None),
            InboxRow.platform == platform,
            InboxRow.tenant == tenant,
            cast(col(InboxRow.payload), String).contains(message_id, autoescape=True),
        )
    ).first()
    return found is not None


def depth(session: Session) -> int:
    """How many events wait or are being handled."""
    return session.exec(
        select(func.count()).select_from(InboxRow).where(col(InboxRow.done_at).is_(None))
    ).one()


def _to_event(row: InboxRow) -> InboxEvent:
    assert row.id is not None
    return InboxEvent(
        row.id,
        row.platform,
        row.tenant,
        row.delivery,
        row.payload or {},
        row.received_at,
        row.attempts,
        row.reply_ref,
    )
