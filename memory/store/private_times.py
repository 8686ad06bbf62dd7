"""What was said while a place was private, which its becoming public does not widen.

The records of a place stand in rows of other tables by its id. When a private place becomes
public, its row is given another name, so that everything said until then keeps its place, its
index and its keyword entries, and what is said from now on gets a new one.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import delete, select, update
from sqlmodel import Session, col

from memory.store import audiences, places, reminders
from memory.tables import AudienceRow, KeyValueRow
from memory.types import Audience

_PRIVATE = "private."
"""Begins the keys that name the places that were private when last looked at."""


def note(session: Session, private: Iterable[Audience]) -> None:
    """These places are private."""
    for place in private:
        places.set_value(session, f"{_PRIVATE}{place}", "")


def noted(session: Session) -> list[Audience]:
    """The places that were private when last looked at, in order."""
    keys = places.value_keys(session, _PRIVATE)
    return [Audience.parse(key.removeprefix(_PRIVATE)) for key in keys]


def end(session: Session, place: Audience) -> Audience | None:
    """The place has become public: set apart what was said in it until now.

    Gives the name that this has from now on; None when there is nothing, or when it was set apart
    already. Digests go on, of what is said from now on; reminders hold words, and are dropped.
    """
    was_private = session.execute(
        delete(KeyValueRow)
        .where(col(KeyValueRow.key) == f"{_PRIVATE}{place}")
        .returning(col(KeyValueRow.key))
    ).scalar_one_or_none()
    known = audiences.at_any_time(session, place)
    here = next((id_ for id_, each in known.items() if each == place), None)
    if was_private is None or here is None:
        return None
    ended = place.private_time(1 + max(each.ended for each in known.values()))
    session.execute(update(AudienceRow).where(col(AudienceRow.id) == here).values(name=str(ended)))
    audiences.renamed(session)
    reminders.keep_digests(session, here, audiences.ensure_id(session, place))
    return ended


def remove(session: Session, prefix: str) -> int:
    """Forget of places whose names begin so that they are private; counts them."""
    theirs = delete(KeyValueRow).where(
        col(KeyValueRow.key).startswith(f"{_PRIVATE}{prefix}", autoescape=True)
    )
    return len(session.execute(theirs.returning(col(KeyValueRow.key))).all())


def ended(session: Session) -> list[Audience]:
    """All the times that were set apart, in order."""
    names = session.execute(select(col(AudienceRow.name))).scalars()
    return sorted(each for each in map(Audience.parse, names) if each.ended)
