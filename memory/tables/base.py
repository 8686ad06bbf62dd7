"""The column types and names that all tables share, and the places they are divided into."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import DateTime, Dialect, TypeDecorator
from sqlmodel import Field, SQLModel

from memory.types import require_aware

NAMING = {
    "ix": "ix_%(column_0_N_label)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}
SQLModel.metadata.naming_convention = NAMING

AUTOINCREMENT: dict[str, Any] = {"sqlite_autoincrement": True}


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
    __table_args__ = (AUTOINCREMENT,)

    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(unique=True)
