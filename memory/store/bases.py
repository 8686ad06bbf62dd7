"""Knowledge bases: named collections of documents, each for one place."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, func, update
from sqlmodel import Session, col, select

from memory.store import audiences
from memory.tables import ChunkRow, KnowledgeBaseRow, SourceRow
from memory.types import Audience, Person, Readable


@dataclass(frozen=True, slots=True)
class KnowledgeBase:
    """A named collection of documents for one place."""

    id: int
    name: str
    audience: Audience
    collects: bool
    """Files posted in its place are added without being asked for."""
    sources: int
    chunks: int


def name_key(name: str) -> str:
    """A name without differences of writing: width, case and spacing."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def ensure_base(
    session: Session, name: str, audience: Audience, by: Person, now: datetime
) -> KnowledgeBase:
    """The place's base of that name, made now if it is new."""
    place = audiences.ensure_id(session, audience)
    here = Readable.of(audience).for_upkeep()
    known = bases(session, here, name=name)
    if known:
        return known[0]
    row = KnowledgeBaseRow(
        audience_id=place,
        name=" ".join(name.split()),
        name_key=name_key(name),
        created_by=str(by),
        created_at=now,
    )
    session.add(row)
    session.flush()
    return bases(session, here, ids=[row.id or 0])[0]


def bases(
    session: Session,
    readable: Readable,
    *,
    name: str | None = None,
    ids: Collection[int] | None = None,
) -> list[KnowledgeBase]:
    """Readable bases, by name; of one name, or of those ids, where given."""
    conditions: list[ColumnElement[bool]] = []
    if name is not None:
        conditions.append(col(KnowledgeBaseRow.name_key) == name_key(name))
    if ids is not None:
        conditions.append(col(KnowledgeBaseRow.id).in_(ids))
    return _bases(session, audiences.readable_ids(session, readable), *conditions)


def _bases(
    session: Session, readable: Mapping[int, Audience], *conditions: ColumnElement[bool]
) -> list[KnowledgeBase]:
    rows = session.exec(
        select(KnowledgeBaseRow)
        .where(col(KnowledgeBaseRow.audience_id).in_(readable), *conditions)
        .order_by(col(KnowledgeBaseRow.name_key), col(KnowledgeBaseRow.id))
    ).all()
    counts = {
        base_id: (sources, chunks)
        for base_id, sources, chunks in session.execute(
            select(SourceRow.base_id, func.count(col(SourceRow.id).distinct()), func.count())
            .join(ChunkRow, col(ChunkRow.source_id) == col(SourceRow.id))
            .where(
                col(SourceRow.base_id).in_([row.id for row in rows]),
                col(SourceRow.removed).is_(False),
            )
            .group_by(col(SourceRow.base_id))
        )
    }
    return [
        KnowledgeBase(
            row.id or 0,
            row.name,
            readable[row.audience_id],
            row.collects,
            *counts.get(row.id, (0, 0)),
        )
        for row in rows
    ]


def places(session: Session) -> Readable:
    """Every place that has a base."""
    ids = session.exec(select(KnowledgeBaseRow.audience_id).distinct())
    return Readable(frozenset(audiences.names(session, ids).values()))


def collecting(session: Session) -> set[Audience]:
    """Places of the bases that collect."""
    chosen = select(KnowledgeBaseRow.audience_id).where(col(KnowledgeBaseRow.collects))
    return set(audiences.names(session, session.exec(chosen)).values())


def set_collects(session: Session, base_id: int, collects: bool) -> None:
    session.execute(
        update(KnowledgeBaseRow)
        .where(col(KnowledgeBaseRow.id) == base_id)
        .values(collects=collects)
    )
