"""The text of any retrievable record, by its key: what gets indexed and embedded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from sqlalchemy import ColumnElement, true
from sqlmodel import Session, col, select

from memory.chunking import passage_of
from memory.tables import ChunkRow, FactRow, MessageRow
from memory.types import Kind, Ref

_Table = type[FactRow] | type[MessageRow] | type[ChunkRow]
_TABLES: dict[Kind, _Table] = {
    Kind.FACT: FactRow,
    Kind.MESSAGE: MessageRow,
    Kind.CHUNK: ChunkRow,
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
            select(table.id, *_parts(table)).where(col(table.id).in_(ids), _findable(table))
        )
        found |= {
            Ref(kind, id_).key: _join(kind, *parts) for id_, *parts in rows if parts[-1].strip()
        }
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


def _parts(table: _Table) -> tuple[ColumnElement[str], ...]:
    """What the text is made of, in the order of `_join`."""
    if table is ChunkRow:
        return col(ChunkRow.context), col(ChunkRow.columns), col(ChunkRow.text)  # type: ignore[return-value]
    if table is MessageRow:
        return col(MessageRow.author_name), col(MessageRow.text)  # type: ignore[return-value]
    return (col(FactRow.text),)  # type: ignore[return-value]


def _join(kind: Kind, *parts: str) -> str:
    """One text of the parts.

    A message is found by who said it as well: without the name LoCoMo loses two points at 20.
    """
    if kind is Kind.CHUNK:
        return passage_of(*parts)
    return ": ".join(part for part in parts if part)


def _findable(table: _Table) -> ColumnElement[bool]:
    if table is MessageRow:
        return col(MessageRow.findable).is_(True)
    return col(ChunkRow.findable).is_(True) if table is ChunkRow else true()
