"""Settings, read from the environment and `.env`; every problem is reported at once."""

from __future__ import annotations

import json
import os
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import platformdirs
from babel import Locale, UnknownLocaleError
from dotenv import dotenv_values
from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from bot.errors import BadSettings
from bot.persona import Persona
from memory.types import Audience

PREFIX = "OBOETE_"
_CHAT_KINDS = ("none", "auto", "ollama:", "openai:")
_EMBEDDER_KINDS = ("auto", "embedded", "ollama:", "openai:")

Names = Annotated[tuple[str, ...], NoDecode]
"""Comma-separated in the environment."""

Personas = Annotated[dict[str, Persona], NoDecode]
"""JSON in the environment."""


def _system_language() -> str:
    """The language of the environment (LC_ALL, LC_MESSAGES, LANG), or English."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        language = os.environ.get(name, "").split(".")[0].split("_")[0]
        if language:
            return language if language.isalpha() and len(language) in {2, 3} else "en"
    return "en"


def _plain(name: str) -> Any:
    """A setting that goes by its usual name, without our prefix."""
    return AliasChoices(name)


class Settings(BaseSettings):
    """All settings. The table in the README is checked against this class by a test."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_file=".env", extra="ignore", frozen=True, env_ignore_empty=True
    )

    data_dir: Path = Field(
        default_factory=lambda: Path(platformdirs.user_data_dir("oboete")),
        description="Folder for the database, the ledger of what was forgotten, and backups",
    )
    database_url: str = Field("", description="SQLAlchemy URL; default: SQLite in the data folder")
    chat_model: str = Field(
        "none",
        description="`none`, `auto` (Ollama when it answers), `ollama:NAME` or `openai:NAME`",
    )
    embedder: str = Field("auto", description="`auto`, `embedded`, `ollama:NAME` or `openai:NAME`")
    ollama_host: str = Field(
        "http://127.0.0.1:11434",
        validation_alias=_plain("OLLAMA_HOST"),
        description="Address of the Ollama server",
    )
    openai_base_url: str = Field(
        "", validation_alias=_plain("OPENAI_BASE_URL"), description="OpenAI-compatible server"
    )
    openai_api_key: SecretStr = Field(
        SecretStr(""), validation_alias=_plain("OPENAI_API_KEY"), description="Its key, if any"
    )
    rerank_url: str = Field(
        "", description="Server with a cross-encoder that reorders what is found; empty: none"
    )
    rerank_model: str = Field("", description="Its model, where the server has several")
    hyde: bool = Field(
        False, description="Search near a made-up answer too: one more model call a question"
    )
    context_tokens: int = Field(
        8192, ge=1024, description="Tokens that prompt and answer may have together"
    )
    answer_tokens: int = Field(1024, ge=64, description="Most tokens of one answer")
    model_seconds: int = Field(120, ge=5, description="Longest wait for a whole model answer")
    index_megabytes: int = Field(
        1024, ge=16, description="Memory for vectors; more than the largest channel needs"
    )
    source_megabytes: int = Field(
        50, ge=1, description="Largest document that is taken in, kept with its text"
    )
    mcp_token: SecretStr = Field(
        SecretStr(""), description="Whose memory `oboete mcp` serves: from `oboete mcp issue`"
    )
    locale: str = Field(
        default_factory=lambda: _system_language(),
        description="Language of command replies where none is known; default: the system's",
    )
    time_zone: str = Field("UTC", description="Time zone of people whose own is not known")
    admins: Names = Field((), description="People (`platform:tenant:id`) who may administer")
    message_days: int = Field(0, ge=0, description="Days to keep messages; 0 keeps them")
    fact_days: int = Field(0, ge=0, description="Days to keep facts; 0 keeps them")
    backup_keep: int = Field(4, ge=1, description="Weekly backups to keep")
    health_port: int = Field(
        0, ge=0, le=65535, description="Local port for health and metrics; 0 turns it off"
    )
    log_level: str = Field("warning", description="`debug`, `info`, `warning` or `error`")
    log_format: Literal["text", "json"] = Field("text", description="`text`, or `json` lines")
    slack_bot_token: SecretStr = Field(
        SecretStr(""), validation_alias=_plain("SLACK_BOT_TOKEN"), description="`xoxb-…`"
    )
    slack_app_token: SecretStr = Field(
        SecretStr(""),
        validation_alias=_plain("SLACK_APP_TOKEN"),
        description="`xapp-…`, for Socket Mode",
    )
    slack_signing_secret: SecretStr = Field(
        SecretStr(""),
        validation_alias=_plain("SLACK_SIGNING_SECRET"),
        description="For `oboete run --http`",
    )
    discord_token: SecretStr = Field(
        SecretStr(""), validation_alias=_plain("DISCORD_TOKEN"), description="Bot token"
    )

    slack_api_url: str = Field(
        "https://slack.com/api/", description="Slack's Web API, or a proxy or stand-in for it"
    )
    slack_http_host: str = Field("127.0.0.1", description="Where `oboete run --http` listens")
    slack_http_port: int = Field(3000, ge=0, le=65535, description="Port of `oboete run --http`")
    discord_api_url: str = Field("", description="Discord's REST API, if not its own")
    discord_gateway_url: str = Field("", description="Discord's gateway, if not its own")
    discord_threads: bool = Field(
        True, description="Answer a mention on Discord in a thread; else as a reply in place"
    )
    allow_channels: Names = Field((), description="Channel ids it talks in; empty: all")
    deny_channels: Names = Field((), description="Channel ids it never talks in")
    allow_users: Names = Field((), description="User ids it talks with; empty: all")
    deny_users: Names = Field((), description="User ids it never talks with")
    personas: Personas = Field(
        default_factory=dict,
        description="How it speaks where, as JSON:"
        ' `{"platform:tenant:channel": {"style": "…", "language": "ja"}}`',
    )
    redact_phone_numbers: bool = Field(False, description="Redact phone numbers as well")
    redact_postal_codes: bool = Field(False, description="Redact postal codes as well")

    @field_validator(
        "admins", "allow_channels", "deny_channels", "allow_users", "deny_users", mode="before"
    )
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("personas", mode="before")
    @classmethod
    def _json(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError as error:
            raise ValueError("is not JSON") from error

    @field_validator("personas")
    @classmethod
    def _of_places(cls, value: dict[str, Persona]) -> dict[str, Persona]:
        for place in value:
            Audience.parse(place)
        return value

    @field_validator("chat_model")
    @classmethod
    def _known_chat(cls, value: str) -> str:
        return _kind(value, _CHAT_KINDS)

    @field_validator("embedder")
    @classmethod
    def _known_embedder(cls, value: str) -> str:
        return _kind(value, _EMBEDDER_KINDS)

    @field_validator("locale")
    @classmethod
    def _known_locale(cls, value: str) -> str:
        try:
            Locale.parse(value, sep="-" if "-" in value else "_")
        except (UnknownLocaleError, ValueError) as error:
            raise ValueError("is not a language code such as `en` or `ja`") from error
        return value

    @field_validator("time_zone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError("is not an IANA time zone such as `Asia/Tokyo`") from error
        return value

    @field_validator("log_level")
    @classmethod
    def _known_level(cls, value: str) -> str:
        if value.lower() not in {"debug", "info", "warning", "error"}:
            raise ValueError("must be debug, info, warning or error")
        return value.lower()

    @property
    def url(self) -> str:
        """Address of the database."""
        return self.database_url or f"sqlite:///{self.data_dir / 'oboete.db'}"


def _kind(value: str, kinds: tuple[str, ...]) -> str:
    for kind in kinds:
        if value == kind if not kind.endswith(":") else value.removeprefix(kind) not in {"", value}:
            return value
    shown = ", ".join(f"{kind}NAME" if kind.endswith(":") else kind for kind in kinds)
    raise ValueError(f"must be one of {shown}")


def variable(field: str) -> str:
    """The environment variable of a setting."""
    alias = Settings.model_fields[field].validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else PREFIX + field.upper()


def load(env_file: Path = Path(".env")) -> Settings:
    """Read the settings. Raises BadSettings that names every problem and its fix."""
    problems = _unknown(env_file)
    try:
        settings = Settings(_env_file=env_file)
    except ValidationError as error:
        for item in error.errors():
            place = str(item["loc"][0]) if item["loc"] else ""
            field = next((f for f in Settings.model_fields if place in {f, variable(f)}), place)
            reason = str(item["msg"]).removeprefix("Value error, ")
            problems.append(f"{variable(field)}: {reason} (now: {_shown(field, item['input'])})")
        settings = None
    if problems or settings is None:
        raise BadSettings(
            "\n".join(["Some settings are wrong:", *(f"- {line}" for line in problems)]),
            fix="Correct them in the environment or in .env; the README lists all settings.",
        )
    return settings


def _shown(field: str, value: object) -> str:
    """A wrong value as it may be printed: secrets are not."""
    secret = field in Settings.model_fields and Settings.model_fields[field].annotation is SecretStr
    return "hidden" if secret else repr(value)


def _unknown(env_file: Path) -> list[str]:
    """Variables with our prefix that are no setting, each with the one that may be meant."""
    known = {variable(field) for field in Settings.model_fields}
    given = {*os.environ, *dotenv_values(env_file)} if env_file.is_file() else {*os.environ}
    lines = []
    for name in sorted(n for n in given if n.upper().startswith(PREFIX) and n.upper() not in known):
        close = get_close_matches(name, known, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        lines.append(f"{name}: there is no such setting{hint}")
    return lines
