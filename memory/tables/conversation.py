"""What was said, where, by whom, and how it was answered."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, LargeBinary, UniqueConstraint
from sqlmodel import Field, SQLModel

from memory.tables.base import AUTOINCREMENT, UtcDateTime


class InboxRow(SQLModel, table=True):
    """An event, on disk before it is acknowledged. The payload goes when it has been handled."""

    __tablename__ = "inbox"
    __table_args__ = (
        UniqueConstraint("platform", "tenant", "delivery"),
        Index("ix_inbox_open", "done_at", "id"),
        AUTOINCREMENT,
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
        AUTOINCREMENT,
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


class TraceRow(SQLModel, table=True):
    """How an answer came about: ids and numbers, and the query that was searched for."""

    __tablename__ = "trace"
    __table_args__ = (
        Index("ix_trace_reply_id", "reply_id"),
        Index("ix_trace_rating", "rating"),
        AUTOINCREMENT,
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
