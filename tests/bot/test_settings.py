"""Settings: read once, checked whole, every problem named with its fix."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.errors import BadSettings
from bot.settings import Settings, load, variable


def loaded(tmp_path: Path, text: str = "") -> Settings:
    path = tmp_path / ".env"
    path.write_text(text, encoding="utf-8")
    return load(path)


def test_nothing_needs_to_be_set(tmp_path: Path) -> None:
    settings = loaded(tmp_path)
    assert settings.chat_model == "none"
    assert settings.url == f"sqlite:///{settings.data_dir / 'oboete.db'}"
    assert str(settings.data_dir).endswith("oboete")


def test_the_environment_goes_before_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OBOETE_CHAT_MODEL", "ollama:qwen3:4b")
    settings = loaded(tmp_path, "OBOETE_CHAT_MODEL=auto\nOBOETE_TIME_ZONE=Asia/Tokyo\n")
    assert (settings.chat_model, settings.time_zone) == ("ollama:qwen3:4b", "Asia/Tokyo")


def test_tokens_and_servers_go_by_their_usual_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-1")
    monkeypatch.setenv("DISCORD_TOKEN", "d")
    monkeypatch.setenv("OLLAMA_HOST", "http://localhost:1")
    settings = loaded(tmp_path)
    assert settings.slack_bot_token.get_secret_value() == "xoxb-1"
    assert settings.discord_token.get_secret_value() == "d"
    assert settings.ollama_host == "http://localhost:1"
    assert "xoxb-1" not in repr(settings)


@pytest.mark.parametrize(
    ("given", "expected"),
    [("a:b:c", ("a:b:c",)), (" a:b:c , d:e:f,", ("a:b:c", "d:e:f")), ("", ())],
)
def test_lists_are_separated_by_commas(
    tmp_path: Path, given: str, expected: tuple[str, ...]
) -> None:
    assert loaded(tmp_path, f"OBOETE_ADMINS={given}\n").admins == expected


def test_an_empty_value_counts_as_not_set(tmp_path: Path) -> None:
    assert loaded(tmp_path, "OBOETE_HEALTH_PORT=\nOBOETE_CHAT_MODEL=\n").chat_model == "none"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("OBOETE_CHAT_MODEL=gpt-4", "must be one of none, auto, ollama:NAME, openai:NAME"),
        ("OBOETE_CHAT_MODEL=ollama:", "must be one of"),
        ("OBOETE_EMBEDDER=none", "must be one of"),
        ("OBOETE_LOCALE=xx-nowhere", "language code"),
        ("OBOETE_TIME_ZONE=Tokyo", "IANA time zone"),
        ("OBOETE_TIME_ZONE=../../etc/passwd", "IANA time zone"),
        ("OBOETE_LOG_LEVEL=loud", "must be debug"),
        ("OBOETE_HEALTH_PORT=70000", "OBOETE_HEALTH_PORT"),
        ("OBOETE_MESSAGE_DAYS=-1", "OBOETE_MESSAGE_DAYS"),
        ("OBOETE_CONTEXT_TOKENS=many", "OBOETE_CONTEXT_TOKENS"),
    ],
)
def test_a_wrong_value_is_named_with_what_would_be_right(
    tmp_path: Path, line: str, said: str
) -> None:
    with pytest.raises(BadSettings) as caught:
        loaded(tmp_path, f"{line}\n")
    assert line.split("=")[0] in str(caught.value)
    assert said in str(caught.value)
    assert caught.value.fix


def test_all_problems_come_at_once_one_line_each(tmp_path: Path) -> None:
    text = "OBOETE_CHAT_MODEL=x\nOBOETE_HEALTH_PORT=x\nOBOETE_CHATMODEL=none\nOBOETE_FOO=1\n"
    with pytest.raises(BadSettings) as caught:
        loaded(tmp_path, text)
    lines = str(caught.value).splitlines()[1:]
    names = {line.removeprefix("- ").split(":")[0] for line in lines}
    assert names == {
        "OBOETE_CHAT_MODEL",
        "OBOETE_HEALTH_PORT",
        "OBOETE_CHATMODEL",
        "OBOETE_FOO",
    }
    assert any("did you mean OBOETE_CHAT_MODEL?" in line for line in lines)


def test_a_secret_is_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBOETE_HEALTH_PORT", "x")
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-very-secret")
    with pytest.raises(BadSettings) as caught:
        loaded(tmp_path)
    assert "secret" not in str(caught.value)


def test_every_setting_has_one_variable_and_a_description() -> None:
    names = [variable(field) for field in Settings.model_fields]
    assert len(set(names)) == len(names)
    assert all(info.description for info in Settings.model_fields.values())


def test_whatever_is_secret_by_its_name_is_secret_by_its_type() -> None:
    secret = {
        field for field, info in Settings.model_fields.items() if info.annotation is SecretStr
    }
    named = {f for f in Settings.model_fields if f.endswith(("_token", "_secret", "_key"))}
    assert named
    assert named <= secret


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"LANG": "ja_JP.UTF-8"}, "ja"),
        ({"LANG": "ja_JP.UTF-8", "LC_ALL": "en_GB.UTF-8"}, "en"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({"LANG": "POSIX"}, "en"),
        ({}, "en"),
    ],
)
def test_the_language_of_replies_is_the_systems(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    expected: str,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert loaded(tmp_path).locale == expected
