"""Statistics, and the commands that run an installation, through the program itself."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from bot import app_models, operations_cli
from bot.cli import cli, main
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


Refused = Callable[..., str]


@pytest.fixture
def refused(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Refused:
    """Runs the program, which must fail with 1; gives what it says about that."""

    def run(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["oboete", *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
        assert caught.value.code == 1
        return capsys.readouterr().err

    return run


HEADER = b'{"format": "oboete-tenant", "version": 1, "platform": "console", "tenant": "local"}\n'


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (b"not json", "Line 1"),
        (b"[]", "Line 1"),
        (b'{"format": "other"}', "header"),
        (b"", "empty"),
        (HEADER + b"[" * 100_000, "Line 2"),
        (HEADER + '{"type": "大阪"}'.encode("cp932"), "Line 2"),
        (HEADER + b'{"type": "place", "audience": "console:local:\xff", "public": false,'
         b' "paused": false, "listen": false, "greeted": false}', "Line 2"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_export_is_refused_in_a_sentence(
    refused: Refused, tmp_path: Path, lines: bytes, said: str
) -> None:
    (tmp_path / "bad.jsonl").write_bytes(lines + b"\n" if lines else b"")
    assert said in refused("import", str(tmp_path / "bad.jsonl"))


def test_a_backup_onto_a_file_is_refused_in_a_sentence(
    refused: Refused, data: Path, tmp_path: Path
) -> None:
    assert oboete("facts", "add", "--user", "taro", "猫が好きです").exit_code == 0
    kept = tmp_path / "today.db"
    assert oboete("backup", str(kept)).exit_code == 0
    before = kept.read_bytes()
    for target in (kept, data / "oboete.db"):
        said = refused("backup", str(target))
        assert said == f"oboete: There is a file already: {target}\n"
    assert kept.read_bytes() == before
    assert printed("stats")["facts"] == 1


def test_an_export_is_its_owners_alone_and_follows_no_link(tmp_path: Path) -> None:
    target, victim = tmp_path / "tenant.jsonl", tmp_path / "victim"
    victim.write_text("old")
    (tmp_path / "tenant.jsonl.partial").symlink_to(victim)
    modes: list[int] = []

    def lines() -> Iterator[dict[str, Any]]:
        modes.extend(path.stat().st_mode & 0o777 for path in tmp_path.glob("*.partial"))
        yield {"words": "秘密"}

    mask = os.umask(0)
    try:
        assert operations_cli._write(target, lines()) == 1
    finally:
        os.umask(mask)
    assert modes == [0o600]
    assert victim.read_text() == "old"
    assert target.stat().st_mode & 0o777 == 0o600
    assert not list(tmp_path.glob("*.partial"))


def test_a_tenant_needs_its_platform(data: Path, tmp_path: Path) -> None:
    assert oboete("export", "nonsense", str(tmp_path / "x")).exit_code == 2
