"""What tokens look like: a wrong one is told from a right one before any platform is asked.

Shapes say no more than the platforms promise: how long a token is may change.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from bot.errors import BadSettings
from bot.settings import Settings, variable


@dataclass(frozen=True, slots=True)
class Shape:
    """How a right token looks."""

    pattern: str
    """Regular expression for the whole of it."""
    looks: str
    """The same in words, after "a right one"."""

    def fits(self, token: str) -> bool:
        """True for what can be such a token."""
        return re.fullmatch(self.pattern, token) is not None


SHAPES: Final = {
    "slack_bot_token": Shape(r"xoxb-[\w-]+", "starts with xoxb-"),
    "slack_app_token": Shape(r"xapp-[\w-]+", "starts with xapp-"),
    "slack_signing_secret": Shape(r"[0-9a-f]{32}", "is 32 hexadecimal characters"),
    "discord_token": Shape(r"[\w-]+\.[\w-]+\.[\w-]+", "has three parts joined by dots"),
}
"""By the setting that holds the token."""


def require(settings: Settings, *, http: bool) -> None:
    """Raises BadSettings that names every token which serving needs and which cannot be one."""
    wrong = [
        name
        for name in _needed(settings, http=http)
        if not SHAPES[name].fits(value(settings, name))
    ]
    if not wrong:
        return
    lines = [f"- {variable(name)}: {_said(value(settings, name), SHAPES[name])}" for name in wrong]
    raise BadSettings(
        "\n".join(["Some tokens are wrong:", *lines]),
        fix="Copy them again; `oboete doctor` examines them.",
    )


def value(settings: Settings, name: str) -> str:
    """The token that a setting holds; empty for none."""
    token: str = getattr(settings, name).get_secret_value()
    return token


def _needed(settings: Settings, *, http: bool) -> list[str]:
    needed = []
    if value(settings, "slack_bot_token"):
        needed += ["slack_bot_token", "slack_signing_secret" if http else "slack_app_token"]
    if value(settings, "discord_token"):
        needed.append("discord_token")
    return needed


def _said(token: str, shape: Shape) -> str:
    wrong = "does not look like one" if token else "is not set"
    return f"{wrong}; a right one {shape.looks}"
