"""Databases that are registered for questions about figures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import delete
from sqlmodel import Session, col, select

from memory.store import audiences
from memory.store.bases import name_key
from memory.tables import DataSourceRow
from memory.types import Audience, Person, Readable


@dataclass(frozen=True, slots=True)
class DataSource:
    """A registered database."""

    id: int
    name: str
    location: str
    """Path of a SQLite file, or a `postgresql://` address."""
    audience: Audience


def put(
    session: Session, name: str, location: str, audience: Audience, by: Person, now: datetime
) -> DataSource:
    """Register a database, in place of one of the same name and audience."""
    place = audiences.ensure_id(session, audience)
    session.execute(
        delete(DataSourceRow).where(
            col(DataSourceRow.audience_id) == place, col(DataSourceRow.name_key) == name_key(name)
        )
    )
    row = DataSourceRow(
        audience_id=place,
        name=name,
        name_key=name_key(name),
        location=location,
        registered_by=str(by),
        registered_at=now,
    )
    session.add(row)
    session.flush()
    assert row.id is not None
    return DataSource(row.id, name, location, audience)


def listed(session: Session, readable: Readable, name: str | None = None) -> list[DataSource]:
    """Readable databases, by name; those of one name, where given."""
    # few places have one, and every question asks
    here = places(session).audiences & readable.audiences
    ids = audiences.readable_ids(session, replace(readable, audiences=here))
    if not ids:
        return []
    query = (
        select(DataSourceRow)
        .where(col(DataSourceRow.audience_id).in_(ids))
        .order_by(col(DataSourceRow.name_key), col(DataSourceRow.id))
    )
    if name is not None:
        query = query.where(DataSourceRow.name_key == name_key(name))
    return [
        DataSource(row.id or 0, row.name, row.location, ids[row.audience_id])
        for row in session.exec(query)
    ]


def places(session: Session) -> Readable:
    """Every place that has a database."""
    ids = session.exec(select(DataSourceRow.audience_id).distinct())
    return Readable(frozenset(audiences.names(session, ids).values()))


def remove(session: Session, source_id: int) -> None:
    session.execute(delete(DataSourceRow).where(col(DataSourceRow.id) == source_id))
