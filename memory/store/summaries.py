"""Profiles and summaries: words made from one audience's records, with the records named.

A summary whose evidence changed or went is stale and is deleted at once; it is made anew later.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import and_, delete, or_
from sqlmodel import Session, col, func, select

from memory.store import audiences, lineage
from memory.store.facts import NAME_MARK
from memory.tables import FactRow, MessageRow, SummaryRow, SummarySourceRow
from memory.types import Audience, Kind, Readable, Ref


class About(StrEnum):
    """What a summary is of."""

    PERSON = "person"
    CONVERSATION = "conversation"


@dataclass(frozen=True, slots=True)
class Source:
    """A record that a summary was made from, and the key of its text then."""

    ref: Ref
    text_key: bytes


@dataclass(frozen=True, slots=True)
class Summary:
    """A derived text. `sources` are all of its evidence, in the order of their ids."""

    id: int
    audience: Audience
    about: About
    name: str
    """The person's address, or the conversation's key."""
    text: str
    model: str
    made_at: datetime
    sources: tuple[Ref, ...]


def put(
    session: Session,
    audience: Audience,
    about: About,
    name: str,
    text: str,
    model: str,
    sources: Collection[Source],
    now: datetime,
) -> bool:
    """Store a summary in place of the one before; False when a source has changed meanwhile, or
    is not of that place any more.
    """
    audience_id = audiences.ensure_id(session, audience)
    remove(session, audience, about, name)
    made_from = lineage.of_records(session, [source.ref for source in sources])
    if made_from.places - {audience_id}:
        return False
    row = SummaryRow(
        audience_id=audience_id, kind=about.value, about=name, text=text, model=model, made_at=now
    )
    session.add(row)
    session.flush()
    assert row.id is not None
    for source in sources:
        session.add(
            SummarySourceRow(summary_id=row.id, source=source.ref.key, text_key=source.text_key)
        )
    session.flush()
    return row.id not in drop_stale(session)


def get(session: Session, about: About, name: str, readable: Readable) -> list[Summary]:
    """Summaries of a person or conversation in readable places, in the order of the places."""
    here = audiences.readable_ids(session, readable)
    rows = session.exec(
        select(SummaryRow)
        .where(
            col(SummaryRow.audience_id).in_(here),
            SummaryRow.kind == about.value,
            SummaryRow.about == name,
        )
        .order_by(col(SummaryRow.audience_id))
    ).all()
    return [_to_summary(session, row, here[row.audience_id]) for row in rows]


def _to_summary(session: Session, row: SummaryRow, audience: Audience) -> Summary:
    assert row.id is not None
    keys = session.exec(
        select(SummarySourceRow.source)
        .where(SummarySourceRow.summary_id == row.id)
        .order_by(col(SummarySourceRow.source))
    )
    refs = tuple(Ref.from_key(key) for key in keys)
    return Summary(
        row.id, audience, About(row.kind), row.about, row.text, row.model, row.made_at, refs
    )


def remove(session: Session, audience: Audience, about: About, name: str) -> None:
    """Delete a summary, if there is one."""
    ids = session.exec(
        select(SummaryRow.id).where(
            SummaryRow.audience_id == audiences.ensure_id(session, audience),
            SummaryRow.kind == about.value,
            SummaryRow.about == name,
        )
    ).all()
    _delete(session, [id_ for id_ in ids if id_ is not None])


def drop_stale(session: Session) -> list[int]:
    """Delete every summary of which a source has changed, went or was superseded; gives ids."""
    source = col(SummarySourceRow.source)
    stale = session.exec(
        select(SummarySourceRow.summary_id)
        .outerjoin(
            FactRow,
            and_(
                source.op("&")(3) == int(Kind.FACT),
                col(FactRow.id) == source.op(">>")(2),
            ),
        )
        .outerjoin(
            MessageRow,
            and_(
                source.op("&")(3) == int(Kind.MESSAGE),
                col(MessageRow.id) == source.op(">>")(2),
            ),
        )
        .where(
            or_(
                and_(col(FactRow.id).is_(None), col(MessageRow.id).is_(None)),
                col(FactRow.text_key) != col(SummarySourceRow.text_key),
                col(FactRow.superseded_by).is_not(None),
                col(MessageRow.text_key) != col(SummarySourceRow.text_key),
            )
        )
        .distinct()
    ).all()
    _delete(session, stale)
    return list(stale)


def _delete(session: Session, ids: Collection[int]) -> None:
    if not ids:
        return
    session.execute(delete(SummarySourceRow).where(col(SummarySourceRow.summary_id).in_(ids)))
    session.execute(delete(SummaryRow).where(col(SummaryRow.id).in_(ids)))


def people_with(session: Session, audience_id: int, least: int) -> list[str]:
    """Subjects that are people and have at least so many open facts in a place."""
    rows = session.exec(
        select(FactRow.subject)
        .where(
            FactRow.audience_id == audience_id,
            col(FactRow.superseded_by).is_(None),
            col(FactRow.subject).not_like(f"{NAME_MARK}%"),
        )
        .group_by(col(FactRow.subject))
        .having(func.count() >= least)
    )
    return list(rows)


def conversations_with(session: Session, audience_id: int, least: int) -> list[str]:
    """Conversations of a place with at least so many messages."""
    rows = session.exec(
        select(MessageRow.conversation)
        .where(MessageRow.audience_id == audience_id, MessageRow.text != "")
        .group_by(col(MessageRow.conversation))
        .having(func.count() >= least)
    )
    return list(rows)
