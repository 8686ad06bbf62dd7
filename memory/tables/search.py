"""What records are found by: vectors and words."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, LargeBinary
from sqlmodel import Field, SQLModel

from memory.tables.base import AUTOINCREMENT, UtcDateTime


class EmbeddingModelRow(SQLModel, table=True):
    """An embedding model and its calibration (see `memory.calibration`)."""

    __tablename__ = "embedding_model"
    __table_args__ = (AUTOINCREMENT,)

    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(unique=True)
    dimension: int
    mean: bytes = Field(sa_type=LargeBinary)
    """float32, shape (dimension,)."""
    background_mean: float
    background_std: float
    serving: bool = False
    """Searches use this model's vectors; at most one row has it."""


class EmbeddingRow(SQLModel, table=True):
    """One vector: float32 bytes, L2-normalised. Clustered by audience and model for loading."""

    __tablename__ = "embedding"
    __table_args__ = ({"sqlite_with_rowid": False},)

    audience_id: int = Field(primary_key=True, sa_column_args=[ForeignKey("audience.id")])
    model_id: int = Field(primary_key=True, sa_column_args=[ForeignKey("embedding_model.id")])
    owner: int = Field(primary_key=True)
    """`Ref.key` of the fact, message or chunk."""
    text_hash: bytes = Field(sa_type=LargeBinary)
    vector: bytes = Field(sa_type=LargeBinary)


class EmbeddingQueueRow(SQLModel, table=True):
    """A text that still lacks a vector of a model."""

    __tablename__ = "embedding_queue"
    __table_args__ = (Index("ix_embedding_queue_due", "model_id", "due_at"),)

    model_id: int = Field(primary_key=True, sa_column_args=[ForeignKey("embedding_model.id")])
    owner: int = Field(primary_key=True)
    audience_id: int = Field(foreign_key="audience.id")
    attempts: int = 0
    due_at: datetime = Field(sa_type=UtcDateTime)


class AudienceVersionRow(SQLModel, table=True):
    """Counts the changes to one audience's vectors of one model: caches compare it."""

    __tablename__ = "audience_version"
    __table_args__ = ({"sqlite_with_rowid": False},)

    audience_id: int = Field(primary_key=True, sa_column_args=[ForeignKey("audience.id")])
    model_id: int = Field(primary_key=True, sa_column_args=[ForeignKey("embedding_model.id")])
    version: int


class PostingRow(SQLModel, table=True):
    """A term of one record, clustered by audience: a search reads only what is readable."""

    __tablename__ = "posting"
    __table_args__ = ({"sqlite_with_rowid": False},)

    audience_id: int = Field(primary_key=True, sa_column_args=[ForeignKey("audience.id")])
    term: str = Field(primary_key=True)
    owner: int = Field(primary_key=True)
    frequency: int
    length: int
    """Number of terms of the record: kept beside each posting so that scoring needs no second
    table."""


class LexicalStatisticsRow(SQLModel, table=True):
    """Sums over one audience's entries, kept with them: scoring needs them at every search."""

    __tablename__ = "lexical_statistics"
    __table_args__ = ({"sqlite_with_rowid": False},)

    audience_id: int = Field(primary_key=True, sa_column_args=[ForeignKey("audience.id")])
    documents: int
    length: int
    """Of all records together, in terms."""


class LexicalEntryRow(SQLModel, table=True):
    """What the postings hold of one record: its terms (to take them out again) and its length."""

    __tablename__ = "lexical_entry"
    __table_args__ = ({"sqlite_with_rowid": False},)

    audience_id: int = Field(primary_key=True, sa_column_args=[ForeignKey("audience.id")])
    owner: int = Field(primary_key=True)
    length: int
    """Number of terms, repeats counted."""
    terms: str
    """The distinct terms, joined by U+001F."""
