"""What replies were made from. A reply is usable only where all of that is readable.

What a reply was made from directly is one row each; what those replies were made from is found
by following the rows (`memory.forgetting.erase_derived`). The places behind a reply are added up
when it is stored, because every search asks for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from sqlalchemy import insert, select
from sqlmodel import Session, col

from memory.store import audiences
from memory.store.statements import numbers
from memory.tables import ChunkRow, FactRow, LineagePlaceRow, LineageRow, MessageRow
from memory.types import Kind, Readable, Ref

_ROWS: tuple[tuple[Kind, Any], ...] = (
    (Kind.FACT, FactRow),
    (Kind.MESSAGE, MessageRow),
    (Kind.CHUNK, ChunkRow),
)


class Origin(NamedTuple):
    """Where something made from records comes from."""

    places: frozenset[int]
    """Ids of the places of the records, and of all that they were made from."""
    whole: bool
    """True while each of the records is still there, with words in it."""


def origin(session: Session, refs: Collection[Ref]) -> Origin:
    """What the records are now."""
    direct = of_records(session, refs)
    replies = [ref.key for ref in refs if ref.kind is Kind.MESSAGE]
    if not replies:
        return direct
    behind = session.connection().execute(_BEHIND, {"keys": replies}).scalars()
    return Origin(direct.places.union(behind), direct.whole)


def of_records(session: Session, refs: Collection[Ref]) -> Origin:
    """As `origin`, without what the records were made from."""
    found: set[int] = set()
    whole = True
    for kind, _ in _ROWS:
        ids = {ref.id for ref in refs if ref.kind is kind}
        if ids:
            rows = session.connection().execute(_RECORDS[kind], {"ids": list(ids)}).all()
            found.update(place for place, _ in rows)
            whole = whole and sum(left for _, left in rows) == len(ids)
    return Origin(frozenset(found), whole)


def add(
    session: Session, reply_id: int, audience_id: int, sources: Iterable[Ref], origin: Origin
) -> None:
    """Note what a reply in a place was made from. Once more for the same reply, nothing new is
    noted.
    """
    reply = Ref(Kind.MESSAGE, reply_id)
    made_from = set(sources) - {reply}
    connection = session.connection()
    if made_from:
        rows = [{"derived": reply.key, "source": ref.key} for ref in sorted(made_from)]
        connection.execute(_ADD_SOURCE, rows)
    behind = origin.places - {audience_id}
    if behind:
        rows = [{"derived": reply.key, "audience_id": id_} for id_ in sorted(behind)]
        connection.execute(_ADD_PLACE, rows)


def closed(
    session: Session, message_ids: Collection[int], audience_ids: Collection[int]
) -> set[int]:
    """Those of the messages that were made from a record of any other place than these."""
    if not message_ids:
        return set()
    here = {
        "keys": [Ref(Kind.MESSAGE, id_).key for id_ in message_ids],
        "audiences": list(audience_ids),
    }
    return {
        Ref.from_key(key).id for key in session.connection().execute(_ELSEWHERE, here).scalars()
    }


def places(session: Session, refs: Collection[Ref]) -> Readable:
    """The places of the records, and of all that they were made from."""
    return Readable(frozenset(audiences.names(session, origin(session, refs).places).values()))


def sources(session: Session, reply_id: int) -> list[Ref]:
    """What a reply was made from directly."""
    made_from = select(col(LineageRow.source)).where(
        col(LineageRow.derived) == Ref(Kind.MESSAGE, reply_id).key
    )
    keys = session.connection().execute(made_from).scalars()
    return [Ref.from_key(key) for key in sorted(keys)]


# Built once: assembling a statement takes longer than running it.
_RECORDS = {
    kind: select(table.audience_id, table.text != "").where(table.id.in_(numbers("ids")))
    for kind, table in _ROWS
}
_BEHIND = (
    select(col(LineagePlaceRow.audience_id))
    .where(col(LineagePlaceRow.derived).in_(numbers("keys")))
    .distinct()
)
_ELSEWHERE = (
    select(col(LineagePlaceRow.derived))
    .where(
        col(LineagePlaceRow.derived).in_(numbers("keys")),
        col(LineagePlaceRow.audience_id).not_in(numbers("audiences")),
    )
    .distinct()
)
_ADD_SOURCE = insert(LineageRow).prefix_with("OR IGNORE", dialect="sqlite")
_ADD_PLACE = insert(LineagePlaceRow).prefix_with("OR IGNORE", dialect="sqlite")
