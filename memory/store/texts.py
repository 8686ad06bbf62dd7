"""The text of any retrievable record, by its key: what gets indexed and embedded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any
from typing import Any

from sqlalchemy import ColumnElement, literal, true
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
            select(*_columns(table)).where(col(table.id).in_(ids), _findable(table))
        )
        for id_, text, name in rows:
            if text.strip():
                found[Ref(kind, id_).key] = f"{name}: {text}" if name else text
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


def _parts(table: _Table) -> tuple[Any, ...]:
    """The columns that make the text, which comes last."""
    return (ChunkRow.context, ChunkRow.columns, ChunkRow.text) if table is ChunkRow else (table.text,)


def _findable(table: _Table) -> ColumnElement[bool]:
    return true() if table is FactRow else col(table.findable).is_(True)


def _columns(table: type[FactRow] | type[MessageRow]) -> tuple[ColumnElement[Any], ...]:
    """Id, text, and the name that stands before it.

    A message is found by who said it as well: without the name LoCoMo loses two points at 20.
    """
    name = col(MessageRow.author_name) if table is MessageRow else literal("")
    return col(table.id), col(table.text), name  # type: ignore[return-value]
