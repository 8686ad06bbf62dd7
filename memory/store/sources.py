"""Documents, their chunks, and the knowledge bases they belong to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, delete, func, insert, or_, update
from sqlmodel import Session, col, select

from memory.chunking import Chunk
from memory.store import audiences
from memory.store.bases import KnowledgeBase
from memory.tables import AudienceRow, ChunkRow, KnowledgeBaseRow, SourceDataRow, SourceRow
from memory.types import Audience, Person, Readable, SourceChunk


@dataclass(frozen=True, slots=True)
class NewSource:
    """A document to be added to a base, apart from its bytes."""

    platform_id: str
    """The platform's id of the file, or its path: the same id later is the same document."""
    name: str
    added_by: Person
    permalink: str | None = None
    message_id: str | None = None
    """The platform's id of the message that it came with."""


@dataclass(frozen=True, slots=True)
class Source:
    """A stored document."""

    id: int
    base_id: int
    base: str
    audience: Audience
    platform_id: str
    name: str
    title: str
    media_type: str
    size: int
    """Bytes."""
    digest: bytes
    """SHA-256 of the bytes."""
    pages: int
    chunks: int
    added_by: Person
    added_at: datetime
    permalink: str | None
    message_id: str | None = None
    """The platform's id of the message that it came with."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What was read from a file."""

    title: str
    media_type: str
    pages: int
    digest: bytes
    chunks: Sequence[Chunk]


# -- documents -----------------------------------------------------------------------------------


def add(
    session: Session,
    base: KnowledgeBase,
    new: NewSource,
    contents: Contents,
    data: bytes,
    size: int,
    now: datetime,
) -> int:
    """Store a document whole; gives its id. Its chunks wait to be made findable.

    `data` are the bytes to keep, empty for none, and `size` is that of the file.
    """
    # by the base as it is now: its place may have become public while the file was read
    audience_id = session.get_one(KnowledgeBaseRow, base.id).audience_id
    row = SourceRow(
        audience_id=audience_id,
        base_id=base.id,
        platform_id=new.platform_id,
        message_id=new.message_id,
        name=new.name,
        title=contents.title,
        media_type=contents.media_type,
        size=size,
        digest=contents.digest,
        pages=contents.pages,
        added_by=str(new.added_by),
        added_at=now,
        permalink=new.permalink,
    )
    session.add(row)
    session.flush()
    assert row.id is not None
    if data:
        session.add(SourceDataRow(source_id=row.id, data=data))
        session.flush()
    rows = [
        {
            "audience_id": audience_id,
            "source_id": row.id,
            "number": number,
            "page": chunk.page,
            "headings": list(chunk.headings),
            "context": chunk.context,
            "columns": chunk.columns,
            "text": chunk.text,
            "findable": False,
        }
        for number, chunk in enumerate(contents.chunks)
    ]
    session.execute(insert(ChunkRow), rows)
    return row.id


def listed(
    session: Session,
    readable: Readable,
    *,
    base_id: int | None = None,
    digest: bytes | None = None,
    platform_id: str | None = None,
    ids: Collection[int] | None = None,
) -> list[Source]:
    """Readable documents, oldest first, that fit all that is given."""
    places = audiences.readable_ids(session, readable)
    query = (
        select(SourceRow, KnowledgeBaseRow.name, func.count())
        .join(KnowledgeBaseRow, col(KnowledgeBaseRow.id) == col(SourceRow.base_id))
        .join(ChunkRow, col(ChunkRow.source_id) == col(SourceRow.id))
        .where(col(SourceRow.audience_id).in_(places), _present())
        .group_by(col(SourceRow.id))
        .order_by(col(SourceRow.id))
    )
    if base_id is not None:
        query = query.where(SourceRow.base_id == base_id)
    if digest is not None:
        query = query.where(SourceRow.digest == digest)
    if platform_id is not None:
        query = query.where(SourceRow.platform_id == platform_id)
    if ids is not None:
        query = query.where(col(SourceRow.id).in_(ids))
    return [
        _to_source(row, base, places[row.audience_id], chunks)
        for row, base, chunks in session.execute(query)
    ]


def everywhere(session: Session, audience: Audience, platform_id: str) -> list[Source]:
    """The documents of one file, or of the files of one message, whatever place their base is
    for: of `audience`'s tenant, or added by somebody of that tenant.

    For the platform's own events, which nobody reads.
    """
    tenant = f"{audience.platform}:{audience.tenant}:"
    rows = session.execute(
        select(SourceRow.id, AudienceRow.name, SourceRow.added_by)
        .join(AudienceRow, col(AudienceRow.id) == col(SourceRow.audience_id))
        .where(
            or_(
                col(SourceRow.platform_id) == platform_id, col(SourceRow.message_id) == platform_id
            ),
            _present(),
        )
    )
    found = [
        (id_, Audience.parse(name))
        for id_, name, added_by in rows
        if name.startswith(tenant) or added_by.startswith(tenant)
    ]
    places = Readable(frozenset(place for _, place in found)).for_upkeep()
    return listed(session, places, ids=[id_ for id_, _ in found])


def to_recheck(session: Session, platform: str, after: int, limit: int) -> list[Source]:
    """The next documents by id that came with a message of a platform, for its own look at what
    is still there.
    """
    rows = session.execute(
        select(SourceRow.id, AudienceRow.name)
        .join(AudienceRow, col(AudienceRow.id) == col(SourceRow.audience_id))
        .where(
            col(AudienceRow.name).startswith(f"{platform}:", autoescape=True),
            col(SourceRow.message_id).is_not(None),
            col(SourceRow.id) > after,
            _present(),
            ~audiences.locked(col(SourceRow.audience_id)),
        )
        .order_by(col(SourceRow.id))
        .limit(limit)
    ).all()
    places = Readable(frozenset(Audience.parse(name) for _, name in rows))
    return listed(session, places, ids=[id_ for id_, _ in rows])


def hide(session: Session, source_id: int) -> None:
    """From now on nobody finds it; `leaving` gives its chunks to be taken out."""
    session.execute(update(SourceRow).where(col(SourceRow.id) == source_id).values(removed=True))
    session.execute(delete(SourceDataRow).where(col(SourceDataRow.source_id) == source_id))


def finish_removal(session: Session) -> int:
    """Delete the hidden documents that have no chunks left; gives how many."""
    done = session.execute(
        delete(SourceRow).where(col(SourceRow.removed), ~_has_chunks()).returning(col(SourceRow.id))
    )
    return len(done.all())


def _has_chunks() -> ColumnElement[bool]:
    return select(ChunkRow.id).where(col(ChunkRow.source_id) == col(SourceRow.id)).exists()


def _present() -> ColumnElement[bool]:
    return col(SourceRow.removed).is_(False)


# -- chunks --------------------------------------------------------------------------------------


def chunk_ids(session: Session, source_id: int) -> list[int]:
    """Ids of a document's chunks, in its order."""
    rows = session.exec(
        select(ChunkRow.id).where(ChunkRow.source_id == source_id).order_by(col(ChunkRow.number))
    )
    return [id_ for id_ in rows if id_ is not None]


def chunks(session: Session, ids: Iterable[int], readable: Readable) -> dict[int, SourceChunk]:
    """Those of the chunks that are readable, by id."""
    places = audiences.readable_ids(session, readable)
    rows = session.execute(
        select(ChunkRow, SourceRow)
        .join(SourceRow, col(SourceRow.id) == col(ChunkRow.source_id))
        .where(
            col(ChunkRow.id).in_(set(ids)),
            audiences.of_known_row(ChunkRow.audience_id).in_(places),
            _present(),
        )
    )
    return {
        chunk.id or 0: SourceChunk(
            id=chunk.id or 0,
            source_id=chunk.source_id,
            base_id=source.base_id,
            audience=places[chunk.audience_id],
            text=chunk.text,
            source=source.name,
            title=source.title,
            headings=tuple(chunk.headings),
            page=chunk.page,
            digest=source.digest,
            added_at=source.added_at,
            permalink=source.permalink,
        )
        for chunk, source in rows
    }


def entering(session: Session, limit: int) -> list[tuple[int, int]]:
    """Chunks that are to be made findable, as (audience id, chunk id), oldest first."""
    rows = session.execute(
        select(ChunkRow.audience_id, ChunkRow.id)
        .join(SourceRow, col(SourceRow.id) == col(ChunkRow.source_id))
        .where(col(ChunkRow.findable).is_(False), _present())
        .order_by(col(ChunkRow.id))
        .limit(limit)
    )
    return [(audience_id, id_) for audience_id, id_ in rows]


def enter(session: Session, ids: Collection[int]) -> None:
    """Mark chunks as findable."""
    session.execute(update(ChunkRow).where(col(ChunkRow.id).in_(ids)).values(findable=True))


def leaving(session: Session, limit: int) -> list[tuple[int, int]]:
    """Chunks of hidden documents, as (audience id, chunk id)."""
    rows = session.execute(
        select(ChunkRow.audience_id, ChunkRow.id)
        .join(SourceRow, col(SourceRow.id) == col(ChunkRow.source_id))
        .where(col(SourceRow.removed))
        .order_by(col(ChunkRow.id))
        .limit(limit)
    )
    return [(audience_id, id_) for audience_id, id_ in rows]


def delete_chunks(session: Session, ids: Collection[int]) -> None:
    session.execute(delete(ChunkRow).where(col(ChunkRow.id).in_(ids)))


def waiting(session: Session) -> int:
    """How many chunks are to be made findable."""
    return session.exec(
        select(func.count()).select_from(ChunkRow).where(col(ChunkRow.findable).is_(False))
    ).one()


def _to_source(row: SourceRow, base: str, audience: Audience, chunk_count: int) -> Source:
    assert row.id is not None
    return Source(
        id=row.id,
        base_id=row.base_id,
        base=base,
        audience=audience,
        platform_id=row.platform_id,
        name=row.name,
        title=row.title,
        media_type=row.media_type,
        size=row.size,
        digest=row.digest,
        pages=row.pages,
        chunks=chunk_count,
        added_by=Person.parse(row.added_by),
        added_at=row.added_at,
        permalink=row.permalink,
        message_id=row.message_id,
    )
