"""What is to be posted later: reminders of people and digests of channels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, delete, func, update
from sqlmodel import Session, col, select

from memory.store import audiences
from memory.store.facts import LARGEST_ID
from memory.tables import ReminderRow
from memory.types import Audience, Person


class Kind(StrEnum):
    """What is posted."""

    REMINDER = "reminder"
    """The person's own words."""
    DIGEST = "digest"
    """What was learned in the channel since the last one."""


@dataclass(frozen=True, slots=True)
class NewReminder:
    """A reminder to be stored."""

    person: Person
    author_name: str
    audience: Audience
    conversation: str
    message_key: str
    kind: Kind
    text: str
    schedule: Mapping[str, Any]
    """As `bot.schedules.Schedule.as_data` gives it."""
    time_zone: str
    locale: str
    next_at: datetime


@dataclass(frozen=True, slots=True)
class Reminder:
    """A stored reminder."""

    id: int
    person: Person
    author_name: str
    audience: Audience
    conversation: str
    kind: Kind
    text: str
    schedule: Mapping[str, Any]
    time_zone: str
    locale: str
    created_at: datetime
    next_at: datetime
    last_at: datetime | None
    posting_since: datetime | None


def add(session: Session, new: NewReminder, now: datetime) -> Reminder:
    """Store a reminder; the same message asking again changes nothing."""
    audience_id = audiences.ensure_id(session, new.audience)
    times = audiences.at_any_time(session, new.audience)
    row = session.exec(
        select(ReminderRow).where(
            col(ReminderRow.audience_id).in_(times), ReminderRow.message_key == new.message_key
        )
    ).first()
    if row is None:
        row = ReminderRow(
            person=str(new.person),
            author_name=new.author_name,
            audience_id=audience_id,
            conversation=new.conversation,
            message_key=new.message_key,
            kind=new.kind.value,
            text=new.text,
            schedule=dict(new.schedule),
            time_zone=new.time_zone,
            locale=new.locale,
            created_at=now,
            next_at=new.next_at,
        )
        session.add(row)
        session.flush()
    return _to_reminder(row, new.audience)


def due(session: Session, now: datetime) -> list[Reminder]:
    """Those whose time has come, longest due first; those of a locked tenant wait."""
    rows = session.exec(
        select(ReminderRow)
        .where(ReminderRow.next_at <= now, ~audiences.locked(col(ReminderRow.audience_id)))
        .order_by(col(ReminderRow.next_at))
    ).all()
    return _all(session, rows)


def of_person(session: Session, person: Person, audience: Audience) -> list[Reminder]:
    """A person's reminders in one place, next first."""
    here = audiences.open_at_any_time(session, audience)
    rows = session.exec(
        select(ReminderRow)
        .where(ReminderRow.person == str(person), col(ReminderRow.audience_id).in_(here))
        .order_by(col(ReminderRow.next_at), col(ReminderRow.id))
    ).all()
    return _all(session, rows)


def begin_posting(session: Session, reminder_id: int, now: datetime) -> bool:
    """Note that it is about to be posted; False when it has gone meanwhile."""
    begun = session.execute(
        update(ReminderRow)
        .where(col(ReminderRow.id) == reminder_id)
        .values(posting_since=now)
        .returning(col(ReminderRow.id))
    )
    return begun.scalar_one_or_none() is not None


def posted(session: Session, reminder_id: int, next_at: datetime | None, now: datetime) -> None:
    """Note that it was posted (or left out this time); without a next time it is over."""
    if next_at is None:
        session.execute(delete(ReminderRow).where(col(ReminderRow.id) == reminder_id))
        return
    session.execute(
        update(ReminderRow)
        .where(col(ReminderRow.id) == reminder_id)
        .values(next_at=next_at, last_at=now, posting_since=None)
    )


def postpone(session: Session, reminder_id: int, until: datetime) -> None:
    """Try again later: the platform could not be reached, and certainly showed nothing."""
    session.execute(
        update(ReminderRow)
        .where(col(ReminderRow.id) == reminder_id)
        .values(next_at=until, posting_since=None)
    )


def cancel(
    session: Session,
    reminder_id: int,
    person: Person,
    administers: Callable[[str, str], bool] = lambda _platform, _tenant: False,
) -> bool:
    """Delete a person's own reminder, or anyone's in a workspace (platform, tenant) that they
    administer; False when there is none.
    """
    row = session.get(ReminderRow, reminder_id) if reminder_id <= LARGEST_ID else None
    if row is None:
        return False
    place = audiences.names(session, [row.audience_id])[row.audience_id]
    if row.person != str(person) and not administers(place.platform, place.tenant):
        return False
    session.delete(row)
    session.flush()
    return True


def remove_for_person(
    session: Session, person: Person, places: Collection[int] | None = None
) -> int:
    """Delete all of a person's reminders (in places, by id): they were forgotten, or have left.
    Counts them.
    """
    theirs = delete(ReminderRow).where(col(ReminderRow.person) == str(person))
    if places is not None:
        theirs = theirs.where(col(ReminderRow.audience_id).in_(places))
    return len(session.execute(theirs.returning(col(ReminderRow.id))).scalars().all())


def remove_made_between(session: Session, person: Person, start: datetime, end: datetime) -> int:
    """Delete what a person asked for from `start` until before `end`, in every place. Counts
    them.
    """
    gone = delete(ReminderRow).where(*_made_between(person, start, end))
    return len(session.execute(gone.returning(col(ReminderRow.id))).scalars().all())


def count_made_between(session: Session, person: Person, start: datetime, end: datetime) -> int:
    """How many `remove_made_between` would delete."""
    made = select(func.count()).select_from(ReminderRow).where(*_made_between(person, start, end))
    return session.exec(made).one()


def _made_between(
    person: Person, start: datetime, end: datetime
) -> tuple[ColumnElement[bool], ...]:
    made = col(ReminderRow.created_at)
    return (col(ReminderRow.person) == str(person), made >= start, made < end)


def remove_in(session: Session, audience_id: int) -> None:
    """Delete what anybody had asked for in a place, also by a command that is no message there."""
    session.execute(delete(ReminderRow).where(col(ReminderRow.audience_id) == audience_id))


def remove_for_message(session: Session, audience: Audience, message_key: str) -> int:
    """Delete what a message had asked for, because that message is gone. Counts them."""
    gone = session.execute(
        delete(ReminderRow)
        .where(
            col(ReminderRow.audience_id).in_(audiences.at_any_time(session, audience)),
            col(ReminderRow.message_key) == message_key,
        )
        .returning(col(ReminderRow.id))
    )
    return len(gone.scalars().all())


def count(session: Session) -> int:
    """How many there are."""
    return session.exec(select(func.count()).select_from(ReminderRow)).one()


def _all(session: Session, rows: Sequence[ReminderRow]) -> list[Reminder]:
    found = audiences.names(session, [row.audience_id for row in rows])
    return [_to_reminder(row, found[row.audience_id].now) for row in rows]


def _to_reminder(row: ReminderRow, audience: Audience) -> Reminder:
    assert row.id is not None
    return Reminder(
        row.id,
        Person.parse(row.person),
        row.author_name,
        audience,
        row.conversation,
        Kind(row.kind),
        row.text,
        row.schedule,
        row.time_zone,
        row.locale,
        row.created_at,
        row.next_at,
        row.last_at,
        row.posting_since,
    )
