"""Places as rows: the only way from a `Readable` to the ids that queries filter by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, bindparam, insert, select
from sqlmodel import Session, col

from memory.tables import AudienceRow
from memory.types import Audience, Readable


def readable_ids(session: Session, readable: Readable) -> dict[int, Audience]:
    """Ids of those readable places that hold anything, with the place; sorted by id."""
    names = {str(audience): audience for audience in readable}
    if not names:
        return {}
    rows = session.connection().execute(_BY_NAME, {"names": list(names)}).all()
    return {id_: names[name] for id_, name in rows if id_ is not None}


def ensure_id(session: Session, audience: Audience) -> int:
    """The place's id, made now if it is new."""
    connection = session.connection()
    found = connection.execute(_BY_NAME, {"names": [str(audience)]}).scalar()
    if found is not None:
        return found
    made = connection.execute(_ADD, {"name": str(audience)}).scalar_one()
    assert made is not None
    return made


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


def of_known_row(audience_id: Any) -> ColumnElement[int]:
    """The column `audience_id` in a query that finds its rows by their ids.

    The sum keeps SQLite from looking through a whole place, by an index that begins with it, for
    the few rows that were asked for: at 10,000 messages that takes ten times as long.
    """
    result: ColumnElement[int] = audience_id + 0
    return result


# Built once: every read begins with one of these, and assembling it takes longer than running it.
_BY_NAME = (
    select(col(AudienceRow.id), col(AudienceRow.name))
    .where(col(AudienceRow.name).in_(bindparam("names", expanding=True)))
    .order_by(col(AudienceRow.id))
)
_ADD = insert(AudienceRow).returning(col(AudienceRow.id))
_BY_ID = select(col(AudienceRow.id), col(AudienceRow.name)).where(
    col(AudienceRow.id).in_(bindparam("ids", expanding=True))
)
