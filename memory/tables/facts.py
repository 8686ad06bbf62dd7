"""What was learned, what it rests on, and what was forgotten."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, LargeBinary, UniqueConstraint
from sqlmodel import Field, SQLModel

from memory.tables.base import AUTOINCREMENT, UtcDateTime


class FactRow(SQLModel, table=True):
    """A fact, derived from the messages in its evidence."""

    __tablename__ = "fact"
    __table_args__ = (
        Index("ix_fact_exact", "audience_id", "subject", "text_key"),
        Index("ix_fact_subject", "subject", "audience_id"),
        Index("ix_fact_speaker", "speaker", "audience_id"),
        Index("ix_fact_superseded_by", "superseded_by"),
        AUTOINCREMENT,
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


class FactChangeRow(SQLModel, table=True):
    """What happened to a fact after it was learned: ids and times, nobody's words.

    When the fact goes, one row stays and says how.
    """

    __tablename__ = "fact_change"
    __table_args__ = (Index("ix_fact_change_fact_id", "fact_id", "audience_id"), AUTOINCREMENT)

    id: int | None = Field(default=None, primary_key=True)
    audience_id: int = Field(foreign_key="audience.id")
    fact_id: int
    """Also of facts that are gone, so no foreign key."""
    change: str
    """See `memory.store.changes.Change`."""
    cause: int | None = None
    """Id of the other fact that brought it about."""
    changed_at: datetime = Field(sa_type=UtcDateTime)


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


class SummaryRow(SQLModel, table=True):
    """A profile of a person, or a summary of a conversation, from one audience's records."""

    __tablename__ = "summary"
    __table_args__ = (UniqueConstraint("audience_id", "kind", "about"), AUTOINCREMENT)

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
