"""The text of any retrievable record, by its key: what gets indexed and embedded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from sqlalchemy import ColumnElement, true
from sqlmodel import Session, col, select

from memory.tables import FactRow, MessageRow
from memory.types import Kind, Ref

_TABLES: dict[Kind, type[FactRow] | type[MessageRow]] = {
    Kind.FACT: FactRow,
    Kind.MESSAGE: MessageRow,
}


def by_key(session: Session, keys: Iterable[int]) -> dict[int, str]:
    """The texts of those records that can be found: existing, findable and not blank; by key."""
    wanted: defaultdict[Kind, list[int]] = defaultdict(list)
    for key in keys:
        ref = Ref.from_key(key)
        wanted[ref.kind].append(ref.id)
    found: dict[int, str] = {}
    for kind, ids in wanted.items():
        table = _TABLES[kind]
        rows = session.execute(
            select(table.id, table.text).where(col(table.id).in_(ids), _findable(table))
        )
        found |= {Ref(kind, id_).key: text for id_, text in rows if text.strip()}
    return found


def every_key(session: Session) -> Iterator[tuple[int, int]]:
    """All records that can be found, as (audience id, key)."""
    for kind, table in _TABLES.items():
        rows = session.execute(
            select(table.audience_id, table.id)
            .where(table.text != "", _findable(table))
            .order_by(col(table.id))
        )
        for audience_id, id_ in rows:
            yield audience_id, Ref(kind, id_).key


def _findable(table: type[FactRow] | type[MessageRow]) -> ColumnElement[bool]:
    return col(MessageRow.findable).is_(True) if table is MessageRow else true()
