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


def test_replies_of_an_older_database_keep_the_places_behind_them(empty: Database) -> None:
    """Else what was said in one place could be read in another through a reply."""
    migrations.upgrade(empty.engine, "0001")
    with empty.engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO audience VALUES (1, 'slack:T:here'), (2, 'slack:T:a'), (3, 'slack:T:b')"
        )
        for id_, place in ((1, 1), (2, 2), (3, 1)):
            connection.exec_driver_sql(
                "INSERT INTO message (id, audience_id, platform_id, conversation, role,"
                " author_name,"
                " text, text_key, sent_at, stored_at, revision, time_zone, mentions, findable,"
                f" expired) VALUES ({id_}, {place}, 'm{id_}', 'c', 'user', 'n', 't', x'00',"
                " '2026-01-01', '2026-01-01', '', 'UTC', '{}', 1, 0)"
            )
        connection.exec_driver_sql(
            "INSERT INTO fact (id, audience_id, subject, speaker, text, text_key, language, origin,"
            " negated, said_at, learned_at, confirmed) VALUES (7, 3, 's', 'p', 't', x'00', 'en',"
            " 'stated', 0, '2026-01-01', '2026-01-01', 1)"
        )
        reply, here, elsewhere, fact = 1 << 2 | 1, 3 << 2 | 1, 2 << 2 | 1, 7 << 2 | 0
        for source in (here, elsewhere, fact):
            connection.exec_driver_sql("INSERT INTO lineage VALUES (?, ?)", (reply, source))
    migrations.upgrade(empty.engine)
    with empty.engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT derived, audience_id FROM lineage_place")
        behind = {(derived, place) for derived, place in rows}
    assert behind == {(reply, 2), (reply, 3)}
