"""The migrations make what the models say, from nothing and from every earlier revision."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlmodel import SQLModel

import migrations
from memory.errors import SchemaMismatch, StoreUnavailable
from memory.store.database import Database


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{tmp_path / 'oboete.db'}")
    database.prepare()
    yield database
    database.close()


def test_models_equal_migrations(database: Database) -> None:
    assert migrations.differences(database.engine) == []


def test_a_difference_would_be_seen(database: Database) -> None:
    with database.engine.begin() as connection:
        connection.execute(text("ALTER TABLE person ADD COLUMN shoe_size INTEGER"))
        connection.execute(text("DROP TABLE key_value"))
    assert len(migrations.differences(database.engine)) == 2


def test_tables_without_row_ids_and_ids_never_reused_survive_migration(database: Database) -> None:
    with database.engine.connect() as connection:
        rows = connection.exec_driver_sql(
            "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
        )
        made = {str(name): str(sql) for name, sql in rows}
    for name, table in SQLModel.metadata.tables.items():
        without = table.dialect_options["sqlite"]["with_rowid"] is False
        assert ("WITHOUT ROWID" in made[name]) is without, name
        counted = bool(table.dialect_options["sqlite"]["autoincrement"])
        assert ("AUTOINCREMENT" in made[name]) is counted, name


def test_an_empty_database_is_brought_to_the_newest_revision(empty: Database) -> None:
    assert migrations.current(empty.engine) is None
    migrations.upgrade(empty.engine)
    assert migrations.current(empty.engine) == migrations.head()


def test_upgrading_twice_changes_nothing(empty: Database) -> None:
    migrations.upgrade(empty.engine)
    migrations.upgrade(empty.engine)
    assert migrations.differences(empty.engine) == []


def test_a_database_of_a_newer_program_is_refused_and_left_alone(database: Database) -> None:
    with database.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(SchemaMismatch, match="newer version"):
        migrations.upgrade(database.engine)
    assert migrations.current(database.engine) == "9999"


def test_a_migration_that_fails_leaves_nothing_half_done(
    empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with empty.engine.begin() as connection:
        connection.execute(text("CREATE TABLE trace (id INTEGER)"))  # in the way
    with pytest.raises(StoreUnavailable):
        migrations.upgrade(empty.engine)
    with empty.engine.connect() as connection:
        names = connection.exec_driver_sql("SELECT name FROM sqlite_master").scalars().all()
    assert [name for name in names if name not in {"trace", "alembic_version"}] == []
    assert migrations.current(empty.engine) is None
