"""Places as rows: the only way from a `Readable` to the ids that queries filter by."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import insert
from sqlmodel import Session, col, select

from memory.tables import AudienceRow
from memory.types import Audience, Readable


def readable_ids(session: Session, readable: Readable) -> dict[int, Audience]:
    """Ids of those readable places that hold anything, with the place; sorted by id."""
    names = {str(audience): audience for audience in readable}
    if not names:
        return {}
    rows = session.exec(
        select(AudienceRow.id, AudienceRow.name)
        .where(col(AudienceRow.name).in_(list(names)))
        .order_by(col(AudienceRow.id))
    )
    return {id_: names[name] for id_, name in rows if id_ is not None}


def ensure_id(session: Session, audience: Audience) -> int:
    """The place's id, made now if it is new."""
    found = session.exec(select(AudienceRow.id).where(AudienceRow.name == str(audience))).first()
    if found is not None:
        return found
    made = session.execute(
        insert(AudienceRow).values(name=str(audience)).returning(col(AudienceRow.id))
    )
    return int(made.scalar_one())


def names(session: Session, ids: Iterable[int]) -> dict[int, Audience]:
    """The places behind ids that a query gave."""
    rows = session.exec(
        select(AudienceRow.id, AudienceRow.name).where(col(AudienceRow.id).in_(set(ids)))
    )
    return {id_: Audience.parse(name) for id_, name in rows if id_ is not None}
