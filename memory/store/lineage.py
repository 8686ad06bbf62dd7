"""What replies were made from. A reply is usable only where all of that is readable."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from sqlmodel import Session, col, select

from memory.store import audiences
from memory.tables import ChunkRow, FactRow, LineageRow, MessageRow
from memory.types import Kind, Readable, Ref

_ROWS: tuple[tuple[Kind, Any], ...] = (
    (Kind.FACT, FactRow),
    (Kind.MESSAGE, MessageRow),
    (Kind.CHUNK, ChunkRow),
)


def add(session: Session, reply_id: int, sources: Iterable[Ref]) -> None:
    """Note what a reply was made from; what its sources were made from counts as well."""
    derived = Ref(Kind.MESSAGE, reply_id).key
    direct = {ref.key for ref in sources}
    for key in (direct | _sources(session, direct)) - {derived}:
        session.merge(LineageRow(derived=derived, source=key))
    session.flush()


def closed(
    session: Session, message_ids: Collection[int], audience_ids: Collection[int]
) -> set[int]:
    """Those of the messages that were made from a record of any other place than these."""
    if not message_ids:
        return set()
    keys = [Ref(Kind.MESSAGE, id_).key for id_ in message_ids]
    made = session.exec(
        select(LineageRow.derived, LineageRow.source).where(col(LineageRow.derived).in_(keys))
    ).all()
    if not made:
        return set()
    elsewhere: set[int] = set()
    for kind, table in _ROWS:
        ids = {source.id for _, key in made if (source := Ref.from_key(key)).kind is kind}
        if ids:
            rows = session.exec(
                select(table.id).where(
                    col(table.id).in_(ids), col(table.audience_id).not_in(audience_ids)
                )
            )
            elsewhere |= {Ref(kind, id_).key for id_ in rows}
    return {Ref.from_key(derived).id for derived, source in made if source in elsewhere}


def places(session: Session, refs: Collection[Ref]) -> Readable:
    """The places of the records, and of all that they were made from."""
    direct = {ref.key for ref in refs}
    keys = direct | _sources(session, direct)
    ids: set[int] = set()
    for kind, table in _ROWS:
        mine = {ref.id for ref in map(Ref.from_key, keys) if ref.kind is kind}
        if mine:
            ids |= set(session.exec(select(table.audience_id).where(col(table.id).in_(mine))))
    return Readable(frozenset(audiences.names(session, ids).values()))


def _sources(session: Session, derived: Collection[int]) -> set[int]:
    return set(session.exec(select(LineageRow.source).where(col(LineageRow.derived).in_(derived))))
