"""What was said while a place was private, which its becoming public does not widen.

The records of a place stand in rows of other tables by its id. When a place becomes private or
public, its row is given another name (`Audience.time`), so that everything said until then keeps
its place, its index and its keyword entries, and what is said from now on gets a new one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from sqlalchemy import delete, select, update
from sqlmodel import Session, col

from memory.store import audiences, places, reminders
from memory.tables import AudienceRow, KeyValueRow
from memory.types import Audience

_PRIVATE = "private."
"""Begins the keys that name the places that were private when last looked at."""

STATE = "private times"
"""The key under which changes are counted: another process may make them."""


def note(
    session: Session, private: Iterable[Audience], was_public: Collection[Audience] = ()
) -> None:
    """These places are private. Those that `was_public` names were public until now: what was
    said in them until then is public again when they are.
    """
    for place in private:
        key = f"{_PRIVATE}{place}"
        if places.get_value(session, key) is None:
            places.set_value(session, key, "")
            if place in was_public:
                _rename(session, place, place.open_time)
    _changed(session)


def noted(session: Session) -> list[Audience]:
    """The places that were private when last looked at, in order."""
    keys = places.value_keys(session, _PRIVATE)
    return [Audience.parse(key.removeprefix(_PRIVATE)) for key in keys]


def end(session: Session, opened: Mapping[Audience, datetime]) -> None:
    """These places have become public: set apart what was said in them while they were private,
    which each was until then (aware) at least.

    Reminders and digests hold words, and would be posted there: they are dropped. Nothing happens
    where that was done already.
    """
    for place, until in sorted(opened.items()):
        was_private = delete(KeyValueRow).where(col(KeyValueRow.key) == f"{_PRIVATE}{place}")
        if not session.execute(was_private.returning(col(KeyValueRow.key))).all():
            continue
        known = audiences.at_any_time(session, place)
        ended = place.ended_time(until)
        while ended in known.values():
            until += datetime.resolution
            ended = place.ended_time(until)
        for id_ in (id_ for id_, each in known.items() if each == place):
            reminders.remove_in(session, id_)
        _rename(session, place, ended)
        _rename(session, place.open_time, place)
    _changed(session)


def _rename(session: Session, old: Audience, new: Audience) -> None:
    taken = select(col(AudienceRow.id)).where(col(AudienceRow.name) == str(new))
    if session.execute(taken).first() is None:
        row = update(AudienceRow).where(col(AudienceRow.name) == str(old))
        session.execute(row.values(name=str(new)))
        audiences.renamed(session)


def _changed(session: Session) -> None:
    places.set_value(session, STATE, str(int(places.get_value(session, STATE) or 0) + 1))


def remove(session: Session, prefix: str) -> int:
    """Forget which places are private, of those whose names begin so; counts them."""
    theirs = delete(KeyValueRow).where(
        col(KeyValueRow.key).startswith(f"{_PRIVATE}{prefix}", autoescape=True)
    )
    _changed(session)
    return len(session.execute(theirs.returning(col(KeyValueRow.key))).all())


def times(session: Session) -> list[Audience]:
    """All the times that were set apart, in order."""
    timed = select(col(AudienceRow.name)).where(col(AudienceRow.name).contains("~"))
    names = session.execute(timed).scalars()
    return sorted(each for each in map(Audience.parse, names) if each.time)
