"""What running the program needs: the lease, settings of its own, tokens, jobs, reminders."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index, LargeBinary, UniqueConstraint
from sqlmodel import Field, SQLModel

from memory.tables.base import AUTOINCREMENT, UtcDateTime


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


class TokenRow(SQLModel, table=True):
    """Lets a program ask on behalf of one person. The token itself is never stored."""

    __tablename__ = "token"
    __table_args__ = (AUTOINCREMENT,)

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
    __table_args__ = (UniqueConstraint("job", "slot"), AUTOINCREMENT)

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
    __table_args__ = (Index("ix_reminder_due", "next_at"), AUTOINCREMENT)

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
