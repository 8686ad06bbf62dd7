"""`oboete doctor`: every part looked at, and what to fix."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot import app as application
from bot import app_models, doctor
from bot.doctor import Finding
from memory.store import lease
from memory.store.database import Database
from memory.store.lease import Holder
from tests.fakes import FakeEmbedder
from tests.ollama_double import OllamaDouble


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, database: Database, tmp_path: Path) -> None:
    """A healthy installation."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OBOETE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(app_models, "make_embedder", lambda *_: FakeEmbedder())


@pytest.fixture
async def ollama(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[OllamaDouble]:
    async with OllamaDouble() as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        yield server


async def findings() -> dict[str, Finding]:
    return {finding.subject: finding for finding in await doctor.examine()}


async def test_a_healthy_installation_has_no_problem() -> None:
    found = await findings()
    assert [finding for finding in found.values() if not finding.ok] == []
    assert {"settings", "database", "lease", "index", "embedder", "chat model"} <= set(found)
    assert "free" in found["lease"].said
    assert str(found["database"]).startswith("ok")


async def test_wrong_settings_are_each_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBOETE_CHAT_MODEL", "gpt")
    monkeypatch.setenv("OBOETE_NONSENSE", "1")
    found = await doctor.examine()
    assert [finding.ok for finding in found] == [False, False]
    assert all(finding.fix for finding in found)


async def test_a_database_that_is_none_is_a_finding(tmp_path: Path, database: Database) -> None:
    database.close()
    (tmp_path / "data" / "oboete.db").write_bytes(b"no database " * 1000)
    found = await findings()
    assert not found["database"].ok
    assert "OBOETE_DATA_DIR" in found["database"].fix
    assert found["embedder"].ok, "the rest is looked at all the same"


async def test_the_holder_of_the_lease_is_named(database: Database) -> None:
    holder = Holder("elsewhere", 4711, "n")
    now = application.system_clock()
    await database.write(lambda s: lease.acquire(s, holder, now))
    assert "process 4711 on elsewhere" in (await findings())["lease"].said


async def test_an_embedder_that_is_away_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    away = FakeEmbedder()
    away.away = True
    monkeypatch.setattr(app_models, "make_embedder", lambda *_: away)
    found = (await findings())["embedder"]
    assert not found.ok
    assert "OBOETE_EMBEDDER" in found.fix


async def test_a_missing_model_is_named_with_the_line_that_fetches_it(
    ollama: OllamaDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OBOETE_CHAT_MODEL", "ollama:qwen3:4b")
    assert (await findings())["chat model"].ok
    monkeypatch.setenv("OBOETE_CHAT_MODEL", "ollama:nosuch:7b")
    found = (await findings())["chat model"]
    assert not found.ok
    assert "ollama pull nosuch:7b" in found.fix


async def test_a_server_that_does_not_answer_is_a_finding(
    monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", f"http://127.0.0.1:{unused_tcp_port}")
    monkeypatch.setenv("OBOETE_CHAT_MODEL", "ollama:qwen3:4b")
    found = (await findings())["chat model"]
    assert not found.ok
    assert found.fix


async def test_an_address_that_is_not_local_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    remote = FakeEmbedder()
    remote.is_local = False
    monkeypatch.setattr(app_models, "make_embedder", lambda *_: remote)
    assert "NOT LOCAL" in (await findings())["embedder address"].said


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("SLACK_BOT_TOKEN", "xoxb-1234567890-abcdef", "xoxp-1234567890"),
        ("SLACK_APP_TOKEN", "xapp-1-A123-4567890-abc", "xoxb-123456789012"),
        ("SLACK_SIGNING_SECRET", "0123456789abcdef" * 2, "short"),
        ("DISCORD_TOKEN", f"{'M' * 24}.Gabcde.{'x' * 27}", "Bot abc"),
    ],
)
async def test_tokens_are_looked_at_by_shape_and_never_shown(
    monkeypatch: pytest.MonkeyPatch, name: str, good: str, bad: str
) -> None:
    assert (await findings())[name].said == "not set"
    monkeypatch.setenv(name, good)
    assert (await findings())[name].ok
    monkeypatch.setenv(name, bad)
    found = (await findings())[name]
    assert not found.ok
    assert found.fix
    assert bad not in str(found)
