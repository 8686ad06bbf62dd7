"""The command line in one process: arguments in, output and exit code out."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from bot import app as application
from bot import app_models, cli
from bot.errors import BadSettings, ModelUnavailable
from memory.errors import LeaseHeld, StoreUnavailable
from memory.store.database import Database
from tests.fakes import FakeEmbedder

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch,
    database: Database,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Runs `oboete` with arguments: exit code, standard output, standard error."""
    database.close()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OBOETE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(app_models, "make_embedder", lambda *_: FakeEmbedder())

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["oboete", *arguments])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        said = capsys.readouterr()
        assert isinstance(caught.value.code, int)
        return caught.value.code, said.out, said.err

    return run


def test_what_to_do_about_a_list_of_problems_stands_on_a_line_of_its_own(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OBOETE_TIME_ZONE", "Mars")
    code, _, err = run("stats")
    assert code == 2
    *_, problem, fix = err.splitlines()
    assert problem.endswith("(now: 'Mars')")
    assert fix.startswith("Correct them")


def test_a_new_data_folder_belongs_to_its_owner_alone(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OBOETE_DATA_DIR", str(folder))
        assert run("facts", "list", "--user", "taro")[0] == 0
    assert folder.stat().st_mode & 0o077 == 0


def test_facts_are_added_listed_found_forgotten_and_exported(run: Run) -> None:
    assert run("facts", "add", "--user", "taro", "I", "live", "in", "Osaka")[0] == 0
    assert run("facts", "add", "--user", "taro", "猫が好き")[0] == 0
    code, out, err = run("facts", "list", "--user", "taro", "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)["facts"]
    assert [fact["text"] for fact in facts] == ["I live in Osaka", "猫が好き"]
    assert "Osaka" in run("facts", "search", "--user", "taro", "Osaka")[1]
    assert json.loads(run("facts", "list", "--user", "hanako", "--json")[1]) == {"facts": []}
    code, out, _ = run("facts", "forget", "--user", "taro", str(facts[0]["id"]))
    assert (code, "Forgotten: 1 fact" in out) == (0, True)
    assert "Osaka" not in run("facts", "export", "--user", "taro")[1]
    assert "猫が好き" in run("facts", "export", "--user", "taro", "--markdown")[1]


def test_forgetting_by_words_or_everything_wants_a_yes(run: Run) -> None:
    run("facts", "add", "--user", "taro", "I live in Osaka")
    code, out, _ = run("facts", "forget", "--user", "taro", "Osaka")
    assert (code, "Osaka" in out) == (1, True)
    assert run("facts", "forget", "--user", "taro", "everything")[0] == 1
    assert len(json.loads(run("facts", "list", "--user", "taro", "--json")[1])["facts"]) == 1
    assert run("facts", "forget", "--user", "taro", "--yes", "Osaka")[0] == 0
    run("facts", "add", "--user", "taro", "I live in Kyoto")
    assert run("facts", "forget", "--user", "taro", "everything", "--yes")[0] == 0
    assert json.loads(run("facts", "list", "--user", "taro", "--json")[1]) == {"facts": []}


@pytest.mark.parametrize(
    ("locale", "user", "told", "words", "asks"),
    [
        ("en", "taro", "I live in Osaka", "Osaka", "To confirm: oboete facts forget --user taro "),
        (
            "ja",
            "太郎 山田",
            "大阪に住んでいます",
            "大阪",
            "oboete facts forget --user '太郎 山田' ",
        ),
    ],
)
def test_what_is_to_be_confirmed_is_named_as_it_is_typed_here(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    locale: str,
    user: str,
    told: str,
    words: str,
    asks: str,
) -> None:
    monkeypatch.setenv("OBOETE_LOCALE", locale)
    run("facts", "add", "--user", user, told)
    code, out, _ = run("facts", "forget", "--user", user, words)
    assert (code, asks in out, "/memory" in out) == (1, True, False)
    everything = run("facts", "forget", "--user", user, "everything")[1]
    assert f"oboete facts forget --user {shlex.quote(user)} everything --yes" in everything
    assert "/memory" not in everything
    said = next(line for line in out.splitlines() if asks in line)
    assert run(*shlex.split(said[said.index("oboete facts") :])[1:])[0] == 0
    assert told not in run("facts", "list", "--user", user)[1]


@pytest.mark.parametrize(
    ("tokens", "options", "said"),
    [
        (
            {"SLACK_BOT_TOKEN": "1234567890-abcdef", "SLACK_APP_TOKEN": "xapp-1-A1"},
            (),
            ["SLACK_BOT_TOKEN: does not look like one; a right one starts with xoxb-"],
        ),
        (
            {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xoxb-1"},
            (),
            ["SLACK_APP_TOKEN: does not look like one; a right one starts with xapp-"],
        ),
        (
            {"SLACK_BOT_TOKEN": "xoxp-1", "SLACK_SIGNING_SECRET": "ひみつ"},
            ("--http",),
            [
                "SLACK_BOT_TOKEN: does not look like one; a right one starts with xoxb-",
                "SLACK_SIGNING_SECRET: does not look like one;"
                " a right one is 32 hexadecimal characters",
            ],
        ),
        (
            {"SLACK_BOT_TOKEN": "xoxb-1", "DISCORD_TOKEN": "Bot abc"},
            (),
            [
                "SLACK_APP_TOKEN: is not set; a right one starts with xapp-",
                "DISCORD_TOKEN: does not look like one; a right one has three parts joined by dots",
            ],
        ),
    ],
)
def test_a_token_that_cannot_be_one_ends_the_start_before_anything_is_opened(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    tokens: dict[str, str],
    options: tuple[str, ...],
    said: list[str],
) -> None:
    for name, token in tokens.items():
        monkeypatch.setenv(name, token)
    monkeypatch.setattr(application, "opened", None)  # whatever speaks to a network is in there
    code, out, err = run("run", *options)
    assert (code, out) == (2, "")
    assert [line[2:] for line in err.splitlines() if line.startswith("- ")] == said
    assert all(token not in err for token in tokens.values())


def test_a_user_is_a_name_or_a_whole_address(run: Run) -> None:
    run("facts", "add", "--user", "console:local:taro", "I live in Osaka")
    assert "Osaka" in run("facts", "list", "--user", "taro")[1]
    assert "Osaka" not in run("facts", "list", "--user", "slack:T1:taro")[1]
    for wrong in ("a:b", ":", "a::b", ""):
        code, out, err = run("facts", "list", "--user", wrong)
        assert (code, out) == (2, "")
        assert "Traceback" not in err


def test_search_shows_scores_and_needs_to_know_who_asks(run: Run) -> None:
    run("facts", "add", "--user", "taro", "I live in Osaka")
    code, out, _ = run("search", "Osaka", "--user", "taro", "--explain")
    assert code == 0
    assert "Osaka" in out
    assert "meaning=" in out
    hits = json.loads(run("search", "Osaka", "--user", "taro", "--json")[1])["hits"]
    assert hits[0]["text"] == "I live in Osaka"
    assert json.loads(run("search", "Osaka", "--user", "hanako", "--json")[1]) == {"hits": []}
    assert run("search", "Osaka")[0] == 2
    assert run("search", "Osaka", "--user", "taro", "--channel", "general")[0] == 2


def test_check_reindex_and_migrate(run: Run) -> None:
    run("facts", "add", "--user", "taro", "I live in Osaka")
    assert run("check")[:2] == (0, "Everything agrees.\n")
    assert json.loads(run("check", "--json")[1]) == {"problems": []}
    code, out, _ = run("reindex")
    assert (code, "2 records" in out) == (0, True)
    assert run("migrate")[0] == 0


def test_check_fails_where_something_disagrees(run: Run, tmp_path: Path) -> None:
    run("facts", "add", "--user", "taro", "I live in Osaka")
    database = Database(f"sqlite:///{tmp_path / 'data' / 'oboete.db'}")
    database.inline("SELECT 1")
    with database.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM posting")
    database.close()
    code, out, _ = run("check")
    assert (code, out.startswith("- ")) == (1, True)
    assert "Osaka" not in out
    assert run("reindex")[0] == 0
    assert run("check")[0] == 0


def test_without_a_command_or_with_help_the_commands_are_shown(run: Run) -> None:
    assert "chat" in run("--help")[1]
    assert run("facts", "list", "--help")[0] == 0


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (BadSettings("It is wrong.", fix="Set it."), 2, "oboete: It is wrong. Set it.\n"),
        (BadSettings("a bad token", fix="Copy it."), 2, "oboete: a bad token. Copy it.\n"),
        (LeaseHeld("Somebody serves it."), 2, "oboete: Somebody serves it.\n"),
        (StoreUnavailable("The disk is full."), 1, "oboete: The disk is full.\n"),
        (ModelUnavailable("No server."), 1, "oboete: No server.\n"),
        (RuntimeError("surprise"), 1, "unexpected error"),
        (OSError("no such device"), 1, "no such device"),
        (BrokenPipeError(), 1, ""),
        (KeyboardInterrupt(), 130, ""),
        (typer.Exit(7), 7, ""),
    ],
)
def test_every_error_has_its_exit_code_and_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, said: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(application, "migrate", fail)
    got, out, err = run("migrate")
    assert (got, out) == (code, "")
    assert said in err
    assert len(err.splitlines()) <= 1
    assert "Traceback" not in err
