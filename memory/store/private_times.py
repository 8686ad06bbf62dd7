"""What was said while a place was private, which its becoming public does not widen.

The records of a place stand in rows of other tables by its id. When a place becomes private or
public, its row is given another name (`Audience.time`), so that everything said until then keeps
its place, its index and its keyword entries, and what is said from now on gets a new one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from sqlalchemy import delete, select, update
from sqlmodel import Session, col

from memory.store import audiences, places, reminders
from memory.tables import AudienceRow, KeyValueRow
from memory.types import Audience, require_aware

_PRIVATE = "private."
"""Begins the keys that name the places that were private when last looked at, and since when."""

STATE = "private times"
"""The key under which changes are counted: another process may make them."""


def note(
    session: Session, private: Iterable[Audience], was_public: Collection[Audience], now: datetime
) -> None:
    """These places are private. Those that `was_public` names were public until now: what was
    said in them until then is public again when they are.
    """
    for place in private:
        if places.get_value(session, f"{_PRIVATE}{place}") is not None:
            continue
        places.set_value(session, f"{_PRIVATE}{place}", require_aware(now).isoformat())
        if place in was_public:
            _rename(session, place, place.open_time)
    _changed(session)


def noted(session: Session) -> dict[Audience, datetime]:
    """The places that were private when last looked at, with the time when that was noted."""
    found = {}
    for key in places.value_keys(session, _PRIVATE):
        since = places.get_value(session, key)
        if since:
            found[Audience.parse(key.removeprefix(_PRIVATE))] = datetime.fromisoformat(since)
    return found


def end(session: Session, place: Audience, until: datetime) -> None:
    """The place has become public: set apart what was said in it while it was private.

    It was private at the moment `until` still. Reminders and digests hold words, and would be
    posted there: they are dropped. Nothing happens when it was set apart already.
    """
    was_private = session.execute(
        delete(KeyValueRow)
        .where(col(KeyValueRow.key) == f"{_PRIVATE}{place}")
        .returning(col(KeyValueRow.key))
    ).scalar_one_or_none()
    if was_private is None:
        return
    known = audiences.at_any_time(session, place)
    here = next((id_ for id_, each in known.items() if each == place), None)
    if here is not None:
        while place.ended_time(until) in known.values():
            until += datetime.resolution
        _rename(session, place, place.ended_time(until))
        reminders.remove_in(session, here)
    _rename(session, place.open_time, place)
    _changed(session)


def _rename(session: Session, old: Audience, new: Audience) -> None:
    session.execute(
        update(AudienceRow).where(col(AudienceRow.name) == str(old)).values(name=str(new))
    )
    audiences.renamed(session)


def _changed(session: Session) -> None:
    places.set_value(session, STATE, str(int(places.get_value(session, STATE) or 0) + 1))


def remove(session: Session, prefix: str) -> int:
    """Forget of places whose names begin so that they are private; counts them."""
    theirs = delete(KeyValueRow).where(
        col(KeyValueRow.key).startswith(f"{_PRIVATE}{prefix}", autoescape=True)
    )
    _changed(session)
    return len(session.execute(theirs.returning(col(KeyValueRow.key))).all())


def times(session: Session) -> list[Audience]:
    """All the times that were set apart, in order."""
    names = session.execute(select(col(AudienceRow.name))).scalars()
    return sorted(each for each in map(Audience.parse, names) if each.time)
