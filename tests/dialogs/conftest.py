"""Settings for conversations with the bundled embedder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from adapters.embedded_models import EmbeddedEmbedder
from bot import app_models
from bot.settings import Settings


@pytest.fixture
def settings(
    prepared: Path,
    embedded: EmbeddedEmbedder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Settings:
    """No language model, the bundled embedder, and a data folder of this test's own."""
    monkeypatch.setattr(app_models, "make_embedder", lambda *_: embedded)
    folder = tmp_path / "data"
    shutil.copytree(prepared, folder)
    return Settings(data_dir=folder, embedder="embedded", chat_model="none")
