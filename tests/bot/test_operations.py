"""Statistics, and the commands that run an installation, through the program itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bot import app_models
from bot.cli import cli
from bot.commands import Commands
from bot.i18n import translator
from bot.messages import Author
from bot.metrics import Metrics
from bot.operations import Operations, Options, assemble, told
from bot.settings import Settings
from memory.ports import Embedder
from memory.retention import Limits
from tests.fakes import GENERAL, TARO, Desk, FakeEmbedder, Mind


@pytest.fixture
def operations(mind: Mind, tmp_path: Path) -> Operations:
    return assemble(
        mind.memory,
        mind.directory,
        mind.database,
        mind.ledger,
        None,
        Metrics(mind.database, mind.clock),
        {},
        Options("UTC", Limits(), tmp_path / "backups", 4),
        mind.clock,
    )


async def test_statistics_count_without_words(mind: Mind, operations: Operations) -> None:
    await mind.state("I live in Osaka", attribute="home")
    mind.clock.advance(days=8)
    await mind.state("I live in Kyoto", attribute="home")
    await mind.state("猫が好きです", said={"audience": GENERAL}, language="ja")
    counted = await operations.statistics()
    assert (counted.people, counted.places, counted.messages) == (1, 2, 3)
    assert (counted.facts, counted.facts_this_week, counted.facts_week_before) == (3, 2, 1)
    assert counted.superseded == pytest.approx(1 / 3)
    assert counted.calls_per_message is None


async def test_only_an_admin_gets_statistics_in_the_chat(
    mind: Mind, desk: Desk, operations: Operations
) -> None:
    await mind.state("quetzalcoatl is my cat")
    desk.commands = Commands(
        mind.memory, mind.directory, desk.extractor, mind.clock, operations.runs()
    )
    refused = await desk.command("admin stats")
    assert "Only an admin" in refused.text
    admin = Author(TARO, "taro", is_admin=True)
    asked = await desk.command("admin", author=admin)
    assert "stats" in asked.text
    given = await desk.command("管理 stats", author=admin)
    assert "Facts: 1" in given.text
    assert given.private
    assert "quetzalcoatl" not in given.text


async def test_statistics_are_told_in_japanese_and_of_nothing(operations: Operations) -> None:
    text = told(await operations.statistics(), translator("ja"))
    assert "記憶：0件" in text
    assert "–" in text


async def test_ordinary_messages_are_left_to_others(desk: Desk, operations: Operations) -> None:
    for text in ("Where do I live?", "猫が好きです", "admin stats"):
        assert await operations.take(desk.incoming(text), translator("en")) is None


# -- the command line ----------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def fake(name: str, settings: Settings) -> Embedder:
        return FakeEmbedder()

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(app_models, "make_embedder", fake)
    monkeypatch.setenv("OBOETE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    return tmp_path / "data"


def oboete(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def printed(*arguments: str) -> dict[str, object]:
    result = oboete(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, object] = json.loads(result.stdout)
    return found


def test_the_commands_agree_with_each_other(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("I like cats", "猫が好きです"):
        assert oboete("facts", "add", "--user", "taro", text).exit_code == 0
    assert printed("stats")["facts"] == 2
    assert printed("consolidate", "--dry-run")["merged"] == 0
    jobs = printed("jobs")
    scheduled = {"consolidate", "check", "backup", "remind", "read", "read again", "recheck",
                 "erase uninstalled"}  # fmt: skip
    assert scheduled <= set(jobs["next"])  # type: ignore[call-overload]
    path = str(printed("backup")["path"])
    exported = data.parent / "tenant.jsonl"
    assert oboete("export", "console:local", str(exported)).exit_code == 0
    assert printed("import", str(exported))["facts"] == 0
    monkeypatch.setenv("OBOETE_DATA_DIR", str(data.parent / "there"))
    assert oboete("restore", path).exit_code != 0
    assert (
        oboete("restore", str(exported), "--ledger", str(data)).exit_code != 0
    )  # no backup at all
    assert printed("restore", path, "--ledger", str(data))["problems"] == []
    assert printed("stats")["facts"] == 2


def test_text_is_for_people(data: Path) -> None:
    for command in ("stats", "jobs", "consolidate", "backup"):
        result = oboete(command)
        assert result.exit_code == 0, result.output
        assert result.stdout.strip()
        assert "{" not in result.stdout


@pytest.mark.parametrize("line", ["not json", "[]", '{"format": "other"}'])
def test_a_file_that_is_no_export_is_refused(data: Path, tmp_path: Path, line: str) -> None:
    (tmp_path / "bad.jsonl").write_text(line + "\n")
    result = oboete("import", str(tmp_path / "bad.jsonl"))
    assert result.exit_code != 0


def test_a_tenant_needs_its_platform(data: Path, tmp_path: Path) -> None:
    assert oboete("export", "nonsense", str(tmp_path / "x")).exit_code == 2
