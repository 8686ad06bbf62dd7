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
        Index("ix_message_platform_id", "platform_id"),
        Index("ix_message_permalink", "permalink"),
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
    __table_args__ = (
        Index("ix_trace_reply_id", "reply_id"),
        Index("ix_trace_rating", "rating"),
        _AUTOINCREMENT,
    )

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


class LineagePlaceRow(SQLModel, table=True):
    """A reply was made from something said in this place, which is not its own."""

    __tablename__ = "lineage_place"
    __table_args__ = ({"sqlite_with_rowid": False},)

    derived: int = Field(primary_key=True)
    """`Ref.key` of the derived record (a reply)."""
    audience_id: int = Field(primary_key=True, sa_column_args=[ForeignKey("audience.id")])


class ExtractionRow(SQLModel, table=True):
    """A message revision that facts have not been read off yet."""

    __tablename__ = "extraction_queue"
    __table_args__ = (
        Index("ix_extraction_queue_due", "due_at"),
        Index("ix_extraction_queue_conversation", "audience_id", "conversation", "message_id"),
    )

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


class KnowledgeBaseRow(SQLModel, table=True):
    """A named collection of documents for one place."""

    __tablename__ = "knowledge_base"
    __table_args__ = (UniqueConstraint("audience_id", "name_key"), _AUTOINCREMENT)

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
        _AUTOINCREMENT,
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
        _AUTOINCREMENT,
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
    __table_args__ = (UniqueConstraint("audience_id", "name_key"), _AUTOINCREMENT)

    id: int | None = Field(default=None, primary_key=True)
    audience_id: int = Field(foreign_key="audience.id")
    name: str
    name_key: str
    location: str
    """SQLite file or PostgreSQL address."""
    registered_by: str
    registered_at: datetime = Field(sa_type=UtcDateTime)


class TokenRow(SQLModel, table=True):
    """Lets a program ask on behalf of one person. The token itself is never stored."""

    __tablename__ = "token"
    __table_args__ = (_AUTOINCREMENT,)

    id: int | None = Field(default=None, primary_key=True)
    person: str = Field(index=True)
    label: str
    digest: bytes = Field(sa_type=LargeBinary, unique=True)
    """SHA-256 of the token, which has 256 random bits."""
    created_at: datetime = Field(sa_type=UtcDateTime)
    last_used_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class JobRunRow(SQLModel, table=True):
    """One run of a job for one slot of its schedule: a slot is run once, whatever clocks do."""

    __tablename__ = "job_run"
    __table_args__ = (UniqueConstraint("job", "slot"), _AUTOINCREMENT)

    id: int | None = Field(default=None, primary_key=True)
    job: str
    slot: str
    """The local day, week or minute that the run is for."""
    attempts: int = 0
    started_at: datetime = Field(sa_type=UtcDateTime, index=True)
    finished_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    outcome: str | None = None
    counts: dict[str, int] = Field(default_factory=dict, sa_type=JSON)
    """What was done, in numbers; nobody's words."""


class ReminderRow(SQLModel, table=True):
    """Something to be posted later: a person's reminder, or a channel's digest."""

    __tablename__ = "reminder"
    __table_args__ = (Index("ix_reminder_due", "next_at"), _AUTOINCREMENT)

    id: int | None = Field(default=None, primary_key=True)
    person: str = Field(index=True)
    author_name: str
    audience_id: int = Field(foreign_key="audience.id")
    conversation: str
    """Where it was asked for, so that it can be posted in the same thread."""
    message_key: str = Field(index=True)
    """The platform's id of the message that asked for it: it goes when that is deleted."""
    kind: str
    text: str
    schedule: dict[str, Any] = Field(sa_type=JSON)
    time_zone: str
    locale: str
    created_at: datetime = Field(sa_type=UtcDateTime)
    next_at: datetime = Field(sa_type=UtcDateTime)
    last_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    posting_since: datetime | None = Field(default=None, sa_type=UtcDateTime)
    """Set before posting and cleared after: a crash in between is not answered by a second post."""


class SummaryRow(SQLModel, table=True):
    """A profile of a person, or a summary of a conversation, from one audience's records."""

    __tablename__ = "summary"
    __table_args__ = (UniqueConstraint("audience_id", "kind", "about"), _AUTOINCREMENT)

    id: int | None = Field(default=None, primary_key=True)
    audience_id: int = Field(foreign_key="audience.id")
    kind: str
    about: str
    """The person's address, or the conversation's key."""
    text: str
    model: str
    made_at: datetime = Field(sa_type=UtcDateTime)


class SummarySourceRow(SQLModel, table=True):
    """A record that a summary was made from, as it was then: it goes stale when that changes."""

    __tablename__ = "summary_source"
    __table_args__ = (
        Index("ix_summary_source_source", "source"),
        {"sqlite_with_rowid": False},
    )

    summary_id: int = Field(primary_key=True, sa_column_args=[ForeignKey("summary.id")])
    source: int = Field(primary_key=True)
    """`Ref.key` of the fact or message."""
    text_key: bytes = Field(sa_type=LargeBinary)


class FactChangeRow(SQLModel, table=True):
    """What happened to a fact after it was learned: ids and times, nobody's words.

    When the fact goes, one row stays and says how.
    """

    __tablename__ = "fact_change"
    __table_args__ = (Index("ix_fact_change_fact_id", "fact_id", "audience_id"), _AUTOINCREMENT)

    id: int | None = Field(default=None, primary_key=True)
    audience_id: int = Field(foreign_key="audience.id")
    fact_id: int
    """Also of facts that are gone, so no foreign key."""
    change: str
    """See `memory.store.changes.Change`."""
    cause: int | None = None
    """Id of the other fact that brought it about."""
    changed_at: datetime = Field(sa_type=UtcDateTime)
