"""Schema migrations, and the functions that apply them."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine
from sqlmodel import SQLModel

import memory.tables  # registers the tables
from memory.errors import SchemaMismatch
from memory.store.database import translated

assert memory.tables


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def current(engine: Engine) -> str | None:
    """The revision that the database is at; None for an empty one."""
    with translated(), engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def head() -> str | None:
    """The revision that this program wants."""
    return ScriptDirectory.from_config(_config()).get_current_head()


def upgrade(engine: Engine, to: str = "head") -> None:
    """Bring the database to a revision, the newest unless another is named, in one transaction.

    Raises SchemaMismatch for a database that a newer Oboete wrote.
    """
    revision = current(engine)
    if revision == head():
        return
    known = {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}
    if revision is not None and revision not in known:
        raise SchemaMismatch(
            "The database was written by a newer version of Oboete; please update this one."
        )
    with translated(), engine.begin() as connection:
        command.upgrade(_config(connection), to)


def differences(engine: Engine) -> list[object]:
    """How the tables in the database differ from the models; empty when they agree."""
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return list(compare_metadata(context, SQLModel.metadata))
