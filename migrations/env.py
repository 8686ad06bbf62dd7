"""Run by Alembic, on the connection that `migrations.upgrade` hands over."""

from __future__ import annotations

from alembic import context
from sqlmodel import SQLModel

import memory.tables

assert memory.tables

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=SQLModel.metadata,
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
