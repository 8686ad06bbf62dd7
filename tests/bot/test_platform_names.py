"""The core knows no chat platform by name: what wires it to them is listed here."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = ("slack", "discord")
WIRING = {
    "bot/app.py",
    "bot/app_platforms.py",
    "bot/app_tokens.py",
    "bot/cli.py",
    "bot/settings.py",
    "bot/doctor.py",  # checks the shape of each token
    "memory/analysis/__init__.py",  # they are among the words that people say
    "memory/redaction.py",  # names the detectors of leaked tokens as their library does
}
FILES = sorted(
    path
    for room in ("bot", "memory")
    for path in (ROOT / room).rglob("*.py")
    if path.relative_to(ROOT).as_posix() not in WIRING
)


def names_in(source: str) -> list[str]:
    """Identifiers and short texts that name a platform; prose may, to give an example."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [
        token.string
        for token in tokens
        if token.type in {tokenize.NAME, tokenize.STRING}
        and " " not in token.string
        and any(name in token.string.lower() for name in NAMES)
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_platform_is_named(path: Path) -> None:
    assert names_in(path.read_text(encoding="utf-8")) == []


def test_a_name_would_be_found() -> None:
    assert names_in('if message.platform == "slack":\n    import discord\n') == [
        '"slack"',
        "discord",
    ]
