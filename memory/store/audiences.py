"""Places as rows: the only way from a `Readable` to the ids that queries filter by.

So it is here that a locked tenant's places are left out of whatever is read: one where Oboete was
uninstalled (`memory.uninstalled`).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, bindparam, delete, exists, func, insert, or_, select
from sqlmodel import Session, col

from memory.store.statements import numbers
from memory.tables import AudienceRow, KeyValueRow
from memory.types import Audience, Person, Readable

_KNOWN = "ids of places"
"""What a session has looked up, in its `info`."""

LOCKED = "locked."
"""Begins the keys that say since when a tenant is locked."""


def readable_ids(session: Session, readable: Readable) -> dict[int, Audience]:
    """Ids of those readable places that hold anything, with the place; sorted by id.

    None of a locked tenant, unless it is for upkeep.
    """
    names = {str(audience): audience for audience in readable}
    if not names:
        return {}
    query = _BY_NAME if readable.upkeep else _OPEN_BY_NAME
    rows = session.connection().execute(query, {"names": list(names)}).all()
    return {id_: names[name] for id_, name in rows if id_ is not None}


def ensure_id(session: Session, audience: Audience) -> int:
    """The place's id, made now if it is new.

    Looked up once per session: a session is one transaction, and what moves a name says so to
    `renamed`.
    """
    known: dict[Audience, int] = session.info.setdefault(_KNOWN, {})
    if audience not in known:
        connection = session.connection()
        found = connection.execute(_BY_NAME, {"names": [str(audience)]}).scalar()
        if found is None:
            found = connection.execute(_ADD, {"name": str(audience)}).scalar_one()
        assert found is not None
        known[audience] = found
    return known[audience]


def remove(session: Session, audience_id: int) -> None:
    """Delete a place, of which nothing is left."""
    session.connection().execute(_REMOVE, {"id": audience_id})
    renamed(session)


def renamed(session: Session) -> None:
    """Names of places mean other rows from here on."""
    session.info.pop(_KNOWN, None)


def at_any_time(session: Session, place: Audience) -> dict[int, Audience]:
    """Ids of the place and of its times that were set apart, with each; sorted by id.

    For events of the platform, which knows nothing of such times, and for forgetting.
    """
    rows = session.connection().execute(_AT_ANY_TIME, name_range(place)).all()
    return {id_: Audience.parse(name) for id_, name in rows if id_ is not None}


def open_at_any_time(session: Session, place: Audience) -> dict[int, Audience]:
    """As `at_any_time`; nothing of a locked tenant."""
    return {} if is_locked(session, place) else at_any_time(session, place)


def name_range(place: Audience) -> dict[str, str]:
    """The parameters of `is_at_any_time`."""
    first = f"{place.now}~ended~"
    return {
        "now": str(place.now),
        "open": str(place.open_time),
        "first": first,
        "last": first + ":",
    }


def when_said(place: Audience, times: Iterable[Audience], sent_at: datetime) -> Audience:
    """Which of the place's times something was said in that is handled only now."""
    over = [t for t in times if t.ended_at is not None and sent_at < t.ended_at]
    return min(over, default=place)


def names(session: Session, ids: Iterable[int]) -> dict[int, Audience]:
    """The places behind ids that a query gave."""
    wanted = list(set(ids))
    if not wanted:
        return {}
    rows = session.connection().execute(_BY_ID, {"ids": wanted}).all()
    return {id_: Audience.parse(name) for id_, name in rows if id_ is not None}


def of_workspace(session: Session, platform: str, tenant: str) -> dict[int, Audience]:
    """Ids of the places of one tenant, with the place."""
    inside = col(AudienceRow.name).startswith(f"{platform}:{tenant}:", autoescape=True)
    rows = session.connection().execute(
        select(col(AudienceRow.id), col(AudienceRow.name)).where(inside)
    )
    return {id_: Audience.parse(name) for id_, name in rows if id_ is not None}


def locked(audience_id: Any) -> ColumnElement[bool]:
    """True for a row of a locked tenant's place, by the column that holds the place's id.

    For the queries of jobs, which have no `Readable`.
    """
    closed: ColumnElement[bool] = audience_id.in_(_LOCKED_IDS)
    return closed


def is_locked(session: Session, one: Audience | Person) -> bool:
    """True for a place, or a person, of a locked tenant."""
    key = locked_key(one.platform, one.tenant)
    return session.get(KeyValueRow, key) is not None


def locked_key(platform: str, tenant: str) -> str:
    """Names the row that says since when a tenant is locked."""
    return f"{LOCKED}{platform}:{tenant}"


def of_known_row(audience_id: Any) -> ColumnElement[int]:
    """The column `audience_id` in a query that finds its rows by their ids.

    The sum keeps SQLite from looking through a whole place, by an index that begins with it, for
    the few rows that were asked for: at 10,000 messages that takes ten times as long.
    """
    result: ColumnElement[int] = audience_id + 0
    return result


_LOCK = col(KeyValueRow.key)
# a range, because an index is not used for LIKE; all locks lie within
_IS_LOCK = _LOCK.between(LOCKED, LOCKED[:-1] + chr(ord(LOCKED[-1]) + 1))
_ANY_LOCK = exists().where(_IS_LOCK)
"""Asked once per query, not for each place: mostly there is none."""
_UNDER_LOCK = exists().where(
    _IS_LOCK,
    func.substr(AudienceRow.name, 1, func.length(_LOCK) - len(LOCKED) + 1)
    == func.substr(_LOCK, len(LOCKED) + 1) + ":",
)
"""A lock that names the place's platform and tenant."""

_LOCKED_IDS = select(col(AudienceRow.id)).where(_UNDER_LOCK)

is_at_any_time = or_(
    col(AudienceRow.name).in_([bindparam("now"), bindparam("open")]),
    and_(col(AudienceRow.name) > bindparam("first"), col(AudienceRow.name) < bindparam("last")),
)
"""True for the row of a place or of one of its times, by `name_range`: digits come before the
colon."""

# Built once: every read begins with one of these, and assembling it takes longer than running it.
_BY_NAME = (
    select(col(AudienceRow.id), col(AudienceRow.name))
    .where(col(AudienceRow.name).in_(bindparam("names", expanding=True)))
    .order_by(col(AudienceRow.id))
)
_OPEN_BY_NAME = _BY_NAME.where(or_(~_ANY_LOCK, ~_UNDER_LOCK))
_AT_ANY_TIME = (
    select(col(AudienceRow.id), col(AudienceRow.name))
    .where(is_at_any_time)
    .order_by(col(AudienceRow.id))
)
_REMOVE = delete(AudienceRow).where(col(AudienceRow.id) == bindparam("id"))
_ADD = insert(AudienceRow).returning(col(AudienceRow.id))
_BY_ID = select(col(AudienceRow.id), col(AudienceRow.name)).where(
    col(AudienceRow.id).in_(numbers("ids"))
)
