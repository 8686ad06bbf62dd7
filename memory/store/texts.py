"""The text of any retrievable record, by its key: what gets indexed and embedded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from sqlalchemy import ColumnElement, true
from sqlalchemy import select as core_select
from sqlmodel import Session, col, select

from memory import passages
from memory.chunking import passage_of
from memory.store.statements import numbers, read
from memory.tables import ChunkRow, FactRow, MessageRow
from memory.types import Kind, Message, Ref

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
    found = _passages(session, wanted.pop(Kind.PASSAGE, []))
    for kind, ids in wanted.items():
        rows = read(session, _BY_ID[kind], {"ids": ids})
        found |= {
            Ref(kind, id_).key: _join(kind, *parts) for id_, *parts in rows if parts[-1].strip()
        }
    return found


def of_message(message: Message, *, findable: bool) -> str | None:
    """What a message is found by, as `by_key` gives it; None for one that is not to be found."""
    if not findable or not message.text.strip():
        return None
    return _join(Kind.MESSAGE, message.author_name, message.text)


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
    yield from ((audience_id, ref.key) for audience_id, ref in passages_of(session))


def every_embedded(session: Session) -> Iterator[tuple[int, int]]:
    """Those of `every_key` that are found by meaning as well."""
    return (at for at in every_key(session) if Ref.from_key(at[1]).kind.is_embedded)


def passages_of(
    session: Session, chunk_ids: Collection[int] | None = None
) -> Iterator[tuple[int, Ref]]:
    """The passages of findable chunks, or of some of them, as (audience id, ref)."""
    query = (
        select(ChunkRow.audience_id, ChunkRow.id, ChunkRow.text)
        .where(ChunkRow.text != "", _findable(ChunkRow))
        .order_by(col(ChunkRow.id))
    )
    if chunk_ids is not None:
        query = query.where(col(ChunkRow.id).in_(chunk_ids))
    for audience_id, id_, text in session.execute(query):
        for ref in passages.refs(id_, text):
            yield audience_id, ref


def _passages(session: Session, ids: Iterable[int]) -> dict[int, str]:
    """The texts of passages, by key; those of one chunk are split off together."""
    wanted: defaultdict[int, list[int]] = defaultdict(list)
    for id_ in ids:
        chunk_id, number = passages.place_of(id_)
        wanted[chunk_id].append(number)
    if not wanted:
        return {}
    rows = read(session, _BY_ID[Kind.CHUNK], {"ids": list(wanted)})
    found: dict[int, str] = {}
    for chunk_id, context, columns, text in rows:
        sentences = passages.split(text)
        for number in wanted[chunk_id]:
            if number < len(sentences) and sentences[number].strip():
                key = Ref(Kind.PASSAGE, chunk_id * passages.MOST + number).key
                found[key] = passage_of(context, columns, sentences[number])
    return found


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


# Built once: see `memory.store.statements`.
_BY_ID: dict[Kind, Any] = {
    kind: core_select(col(table.id), *_parts(table)).where(
        col(table.id).in_(numbers("ids")), _findable(table)
    )
    for kind, table in _TABLES.items()
}
