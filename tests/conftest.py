"""Fixtures: a fresh database per test, a clock that stands still, and the parts over them."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from sqlalchemy import event

import migrations
from adapters.embedded_models import EmbeddedEmbedder
from bot import app as application
from bot.settings import Settings
from memory.store.database import Database
from tests.fakes import Desk, FakeEmbedder, Mind, SettableClock

settings.register_profile(
    "oboete", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("oboete")


@pytest.fixture(autouse=True)
def _no_settings_from_outside(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The settings and data of whoever runs the tests must not matter, nor be touched."""
    for name in list(os.environ):
        if name.startswith(("OBOETE_", "SLACK_", "DISCORD_", "OLLAMA_", "OPENAI_")):
            monkeypatch.delenv(name)
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.getbasetemp() / "home"))


@pytest.fixture(scope="session")
def schema_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database at the newest schema, to be copied: migrating takes longer."""
    path = tmp_path_factory.mktemp("schema") / "oboete.db"
    database = Database(f"sqlite:///{path}")
    database.prepare()
    migrations.upgrade(database.engine)
    database.close()
    return path


@pytest.fixture
def database(schema_file: Path, tmp_path: Path) -> Iterator[Database]:
    """A database of this test's own, at the newest schema."""
    path = tmp_path / "data" / "oboete.db"
    path.parent.mkdir()
    shutil.copy(schema_file, path)
    database = Database(f"sqlite:///{path}")
    event.listen(database.engine, "connect", _do_not_wait_for_the_disk)
    yield database
    database.close()


def _do_not_wait_for_the_disk(connection: Any, _record: object) -> None:
    """What survives a power cut is SQLite's to test; a killed process loses nothing by this."""
    connection.execute("PRAGMA synchronous = OFF")


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def embedder() -> FakeEmbedder:
    return FakeEmbedder()


@pytest.fixture
async def mind(database: Database, clock: SettableClock, embedder: FakeEmbedder) -> Mind:
    """A memory whose embedding model has been introduced."""
    mind = Mind.over(database, clock, embedder)
    await mind.embedding.open()
    return mind


@pytest.fixture
def desk(mind: Mind) -> Desk:
    """The conversation core without a language model."""
    return Desk.over(mind)


@pytest.fixture(scope="session")
def embedded() -> EmbeddedEmbedder:
    """The bundled model, loaded once."""
    return EmbeddedEmbedder()


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory, embedded: EmbeddedEmbedder) -> Path:
    """A data folder in which the bundled model has been measured: that takes seconds."""
    folder = tmp_path_factory.mktemp("prepared")
    settings = Settings(data_dir=folder, embedder="embedded", chat_model="none")

    async def prepare() -> None:
        async with application.opened(settings):
            pass

    asyncio.run(prepare())
    return folder
