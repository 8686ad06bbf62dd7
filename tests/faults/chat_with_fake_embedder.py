"""`oboete`, with an embedder that costs nothing: run as `python -m` by the tests beside it."""

from __future__ import annotations

from bot import app_models, cli
from bot.settings import Settings
from memory.ports import Embedder
from tests.fakes import FakeEmbedder


def _fake(name: str, settings: Settings) -> Embedder:
    return FakeEmbedder()


if __name__ == "__main__":
    app_models.make_embedder = _fake
    cli.main()
