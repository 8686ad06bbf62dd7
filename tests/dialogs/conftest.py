"""Settings for conversations with the bundled embedder, introduced once for all tests."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from adapters.embedded_models import EmbeddedEmbedder
from bot import app as application
from bot.settings import Settings


@pytest.fixture(scope="session")
def embedded() -> EmbeddedEmbedder:
    """The bundled model, loaded once."""
    return EmbeddedEmbedder()


@pytest.fixture(scope="session")
def prepared(
    tmp_path_factory: pytest.TempPathFactory, embedded: EmbeddedEmbedder
) -> Path:
    """A data folder in which the bundled model has been measured: that takes seconds."""
    folder = tmp_path_factory.mktemp("prepared")
    settings = Settings(data_dir=folder, embedder="embedded", chat_model="none")

    async def prepare() -> None:
        async with application.opened(settings):
            pass

    asyncio.run(prepare())
    return folder


@pytest.fixture
def settings(
    prepared: Path,
    embedded: EmbeddedEmbedder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Settings:
    """No language model, the bundled embedder, and a data folder of this test's own."""
    monkeypatch.setattr(application, "make_embedder", lambda *_: embedded)
    folder = tmp_path / "data"
    shutil.copytree(prepared, folder)
    return Settings(data_dir=folder, embedder="embedded", chat_model="none")
