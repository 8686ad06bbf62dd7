"""SQLModel rows. They are the schema and never leave `memory`; `types` holds what callers see.

Every table that holds words, or anything made from words, carries `audience_id`, so that a read
can be limited to readable places by structure. Ids are never reused (AUTOINCREMENT): an id in a
link, a trace or a cache can never come to mean something else.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    LargeBinary,
    TypeDecorator,
    UniqueConstraint,
)
from sqlmodel import Field, SQLModel

from memory.types import require_aware

NAMING = {
    "ix": "ix_%(column_0_N_label)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}
SQLModel.metadata.naming_convention = NAMING

_AUTOINCREMENT: dict[str, Any] = {"sqlite_autoincrement": True}


class UtcDateTime(TypeDecorator[datetime]):
    """Aware on the way in (ValueError for a naive time), aware UTC on the way out."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        utc = require_aware(value)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class AudienceRow(SQLModel, table=True):
    """A place, by a small integer that other tables use."""

    __tablename__ = "audience"
    __table_args__ = (_AUTOINCREMENT,)

    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(unique=True)


class InboxRow(SQLModel, table=True):
    """An event, on disk before it is acknowledged. The payload goes when it has been handled."""

    __tablename__ = "inbox"
    __table_args__ = (
        UniqueConstraint("platform", "tenant", "delivery"),
        Index("ix_inbox_open", "done_at", "id"),
        _AUTOINCREMENT,
    )

    id: int | None = Field(default=None, primary_key=True)
    platform: str
    tenant: str
    delivery: str
    payload: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    received_at: datetime = Field(sa_type=UtcDateTime)
    attempts: int = 0
    reply_ref: str | None = None
    done_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    outcome: str | None = None


class ClaimRow(SQLModel, table=True):
    """A message that an event has been handled for: its twins and redeliveries stop here."""

    __tablename__ = "claim"

    key: str = Field(primary_key=True)
    inbox_id: int
    claimed_at: datetime = Field(sa_type=UtcDateTime, index=True)


class MessageRow(SQLModel, table=True):
    """A message, verbatim but for redaction and forgetting."""

    __tablename__ = "message"
    __table_args__ = (
        UniqueConstraint("audience_id", "platform_id"),
        Index("ix_message_conversation", "audience_id", "conversation", "sent_at"),
        Index("ix_message_author", "author", "audience_id", "text_key"),
        _AUTOINCREMENT,
    )

    id: int | None = Field(default=None, primary_key=True)
    audience_id: int = Field(foreign_key="audience.id")
    platform_id: str
    conversation: str
    role: str
    author: str | None = None
    author_name: str
    text: str
    text_key: bytes = Field(sa_type=LargeBinary)
    """As `FactRow.text_key`: a repeated message is not read by a model again."""
    sent_at: datetime = Field(sa_type=UtcDateTime)
    stored_at: datetime = Field(sa_type=UtcDateTime)
    permalink: str | None = None
    revision: str = ""
    time_zone: str = "UTC"
    mentions: dict[str, str] = Field(default_factory=dict, sa_type=JSON)
    """Names in the text, and the people whom they mention."""
    findable: bool = True
    """False for a reply that only quotes what is known: it is history, and no search finds it."""
    expired: bool = False
    """Its words went by retention; the facts stay, marked "source expired"."""


class FactRow(SQLModel, table=True):
    """A fact, derived from the messages in its evidence."""

    __tablename__ = "fact"
    __table_args__ = (
        Index("ix_fact_exact", "audience_id", "subject", "text_key"),
        Index("ix_fact_subject", "subject", "audience_id"),
        Index("ix_fact_speaker", "speaker", "audience_id"),
        Index("ix_fact_superseded_by", "superseded_by"),
        _AUTOINCREMENT,
    )

    id: int | None = Field(default=None, primary_key=True)
    audience_id: int = Field(foreign_key="audience.id")
    subject: str
    """A person as `platform:tenant:user`, or `~` and a name as text."""
    speaker: str
    text: str
    text_key: bytes = Field(sa_type=LargeBinary)
    """Hash of the normalised text: equal for exact repeats."""
    language: str
    origin: str
    attribute: str | None = None
    negated: bool = False
    said_at: datetime = Field(sa_type=UtcDateTime)
    learned_at: datetime = Field(sa_type=UtcDateTime)
    valid_from: datetime | None = Field(default=None, sa_type=UtcDateTime)
    valid_until: datetime | None = Field(default=None, sa_type=UtcDateTime)
    superseded_by: int | None = Field(default=None, foreign_key="fact.id")
    confirmed: int = 1


class EvidenceRow(SQLModel, table=True):
    """The words of one message that support one fact."""

    __tablename__ = "evidence"
    __table_args__ = (
        Index("ix_evidence_message_id", "message_id"),
        {"sqlite_with_rowid": False},
    )

    fact_id: int = Field(foreign_key="fact.id", primary_key=True)
    message_id: int = Field(foreign_key="message.id", primary_key=True)
    start: int = Field(primary_key=True)
    end: int


class EmbeddingModelRow(SQLModel, table=True):
    """An embedding model and its calibration (see `memory.calibration`)."""

    __tablename__ = "embedding_model"
    __table_args__ = (_AUTOINCREMENT,)

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


class TraceRow(SQLModel, table=True):
    """How an answer came about: ids and numbers, and the query that was searched for."""

    __tablename__ = "trace"
    __table_args__ = (Index("ix_trace_reply_id", "reply_id"), _AUTOINCREMENT)

    id: int | None = Field(default=None, primary_key=True)
    audience_id: int = Field(foreign_key="audience.id")
    asker: str
    message_id: int | None = Field(default=None, foreign_key="message.id", index=True)
    reply_id: int | None = Field(default=None, foreign_key="message.id")
    created_at: datetime = Field(sa_type=UtcDateTime)
    steps: dict[str, Any] = Field(sa_type=JSON)
    rating: int | None = None


class LineageRow(SQLModel, table=True):
    """A reply or trace was made from this record: when the record goes, so does what it fed."""

    __tablename__ = "lineage"
    __table_args__ = (Index("ix_lineage_source", "source"), {"sqlite_with_rowid": False})

    derived: int = Field(primary_key=True)
    """`Ref.key` of the derived record (a reply)."""
    source: int = Field(primary_key=True)
    """`Ref.key` of what it was made from."""


class ExtractionRow(SQLModel, table=True):
    """A message revision that facts have not been read off yet."""

    __tablename__ = "extraction_queue"
    __table_args__ = (Index("ix_extraction_queue_due", "due_at"),)

    message_id: int = Field(primary_key=True, sa_column_args=[ForeignKey("message.id")])
    audience_id: int = Field(foreign_key="audience.id")
    conversation: str
    author: str = Field(index=True)
    queued_at: datetime = Field(sa_type=UtcDateTime)
    due_at: datetime = Field(sa_type=UtcDateTime)
    attempts: int = 0


class TombstoneRow(SQLModel, table=True):
    """A source revision that was forgotten: keyed hash, so that it tells nothing by itself."""

    __tablename__ = "tombstone"
    __table_args__ = ({"sqlite_with_rowid": False},)

    digest: bytes = Field(sa_type=LargeBinary, primary_key=True)
    forgotten_at: datetime = Field(sa_type=UtcDateTime)


class PlaceRow(SQLModel, table=True):
    """What was decided about a place, and what the console knows of its own channels."""

    __tablename__ = "place"

    audience: str = Field(primary_key=True)
    public: bool = False
    paused: bool = False
    listen: bool = False
    greeted: bool = False


class PlaceMemberRow(SQLModel, table=True):
    """Who is in a private console channel."""

    __tablename__ = "place_member"
    __table_args__ = ({"sqlite_with_rowid": False},)

    audience: str = Field(primary_key=True)
    person: str = Field(primary_key=True)


class PersonRow(SQLModel, table=True):
    """What a person chose."""

    __tablename__ = "person"

    person: str = Field(primary_key=True)
    paused: bool = False
    quiet: bool = False
    locale: str | None = None
    time_zone: str | None = None


class LeaseRow(SQLModel, table=True):
    """The process that serves this database; at most one row, id 1."""

    __tablename__ = "lease"

    id: int = Field(default=1, primary_key=True)
    token: str
    expires_at: datetime = Field(sa_type=UtcDateTime)


class KeyValueRow(SQLModel, table=True):
    """Small facts about the installation, such as the hash of the commands last synced."""

    __tablename__ = "key_value"

    key: str = Field(primary_key=True)
    value: str
