"""Knowledge bases, their documents, and databases that can be asked."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import JSON, ForeignKey, Index, LargeBinary, UniqueConstraint
from sqlmodel import Field, SQLModel

from memory.tables.base import AUTOINCREMENT, UtcDateTime


class KnowledgeBaseRow(SQLModel, table=True):
    """A named collection of documents for one place."""

    __tablename__ = "knowledge_base"
    __table_args__ = (UniqueConstraint("audience_id", "name_key"), AUTOINCREMENT)

    id: int | None = Field(default=None, primary_key=True)
    audience_id: int = Field(foreign_key="audience.id")
    name: str
    name_key: str
    """The name without differences of writing: two bases of a place never share it."""
    created_by: str
    created_at: datetime = Field(sa_type=UtcDateTime)
    collects: bool = False
    """Files posted in its place are added without being asked for."""


class KnowledgeBaseMeanRow(SQLModel, table=True):
    """The mean of a base's chunk vectors by one model: derived, and made again when they change."""

    __tablename__ = "knowledge_base_mean"
    __table_args__ = ({"sqlite_with_rowid": False},)

    base_id: int = Field(
        primary_key=True, sa_column_args=[ForeignKey("knowledge_base.id", ondelete="CASCADE")]
    )
    model_id: int = Field(
        primary_key=True, sa_column_args=[ForeignKey("embedding_model.id", ondelete="CASCADE")]
    )
    made_from: str
    """How many chunks there were, which was the newest, and how many lacked a vector."""
    vectors: int
    """How many it is the mean of."""
    mean: bytes = Field(sa_type=LargeBinary)
    """float32, as the model gives it; not normalised."""


class SourceRow(SQLModel, table=True):
    """A document. Its audience is that of its base."""

    __tablename__ = "source"
    __table_args__ = (
        Index("ix_source_digest", "base_id", "digest"),
        Index("ix_source_platform_id", "audience_id", "platform_id"),
        AUTOINCREMENT,
    )

    id: int | None = Field(default=None, primary_key=True)
    audience_id: int = Field(foreign_key="audience.id")
    base_id: int = Field(foreign_key="knowledge_base.id")
    platform_id: str
    """The platform's id of the file, or its path on this machine."""
    message_id: str | None = Field(default=None, index=True)
    """The platform's id of the message that it came with: it goes with that too."""
    name: str
    title: str
    media_type: str
    size: int
    """Bytes."""
    digest: bytes = Field(sa_type=LargeBinary)
    """SHA-256 of the bytes."""
    pages: int
    added_by: str
    added_at: datetime = Field(sa_type=UtcDateTime)
    permalink: str | None = None
    removed: bool = False
    """Nobody finds it any more; its chunks are being taken out."""


class SourceDataRow(SQLModel, table=True):
    """The bytes of a document, apart from its row so that lists do not read them."""

    __tablename__ = "source_data"

    source_id: int = Field(
        primary_key=True, sa_column_args=[ForeignKey("source.id", ondelete="CASCADE")]
    )
    data: bytes = Field(sa_type=LargeBinary)


class ChunkRow(SQLModel, table=True):
    """A piece of a document: what is found, quoted and cited."""

    __tablename__ = "chunk"
    __table_args__ = (
        UniqueConstraint("source_id", "number"),
        Index("ix_chunk_findable", "findable"),
        AUTOINCREMENT,
    )

    id: int | None = Field(default=None, primary_key=True)
    audience_id: int = Field(foreign_key="audience.id")
    source_id: int = Field(foreign_key="source.id")
    number: int
    """Place in the document, from 0."""
    page: int | None = None
    headings: list[str] = Field(default_factory=list, sa_type=JSON)
    context: str = ""
    columns: str = ""
    """Title, headings and column names that are searched with it; see `memory.chunking`."""
    text: str
    findable: bool = False
    """Its keyword entries are made: false only while its document is being taken in."""


class RoutingFeedbackRow(SQLModel, table=True):
    """A verdict on where an answer was looked for. Goes with the trace of that answer."""

    __tablename__ = "routing_feedback"
    __table_args__ = (Index("ix_routing_feedback_base_id", "base_id"),)

    trace_id: int = Field(
        primary_key=True, sa_column_args=[ForeignKey("trace.id", ondelete="CASCADE")]
    )
    base_id: int = Field(
        sa_column_args=[ForeignKey("knowledge_base.id", ondelete="CASCADE")], nullable=False
    )
    audience_id: int = Field(foreign_key="audience.id")
    """Where the question was asked: it counts only for those who can read it."""
    rating: int
    model_id: int
    vector: bytes = Field(sa_type=LargeBinary)
    """Of the question, float32, L2-normalised, by that model."""


class DataSourceRow(SQLModel, table=True):
    """A registered database that questions may be answered from, read-only."""

    __tablename__ = "data_source"
    __table_args__ = (UniqueConstraint("audience_id", "name_key"), AUTOINCREMENT)

    id: int | None = Field(default=None, primary_key=True)
    audience_id: int = Field(foreign_key="audience.id")
    name: str
    name_key: str
    location: str
    """SQLite file or PostgreSQL address."""
    registered_by: str
    registered_at: datetime = Field(sa_type=UtcDateTime)
