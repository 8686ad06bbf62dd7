"""What is written for people is complete: settings, commands, translations."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po

import bot.errors as bot_errors
import memory.errors as memory_errors
from bot.command_registry import REGISTRY
from bot.settings import Settings, variable
from memory.reading.errors import MESSAGES

ROOT = Path(__file__).parents[1]
KEYWORDS = {"say": None, "plural": (1, 2)}
"""How texts for people are marked in the source."""
PLACEHOLDER = re.compile(r"\{\w+\}")
FAULTS = (bot_errors.BotFault, memory_errors.MemoryFault)


def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def table(text: str) -> dict[str, str]:
    """Rows of the README's table of settings: variable to meaning."""
    rows = re.findall(r"^\| `([A-Z][A-Z0-9_]+)` \|(.+)\|$", text, re.MULTILINE)
    return {name: rest.strip() for name, rest in rows}


def test_every_setting_is_in_the_readme_and_nothing_else() -> None:
    assert set(table(readme())) == {variable(field) for field in Settings.model_fields}


def test_the_readme_describes_each_setting_as_the_program_does() -> None:
    said = table(readme())
    for field, info in Settings.model_fields.items():
        assert info.description is not None
        assert info.description in said[variable(field)].replace("\\|", "|"), variable(field)


def test_no_setting_is_named_that_does_not_exist() -> None:
    known = {variable(field) for field in Settings.model_fields}
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        named = set(re.findall(r"\bOBOETE_[A-Z_]+[A-Z]\b", path.read_text(encoding="utf-8")))
        assert named <= known, path.name


def test_every_command_is_in_the_readme() -> None:
    text = readme()
    missing = [c.name for c in REGISTRY if not c.hidden and not re.search(rf"\b{c.name}\b", text)]
    assert missing == []


def test_links_inside_the_documentation_lead_somewhere() -> None:
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        text = path.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


# -- translations ----------------------------------------------------------------------------------


def in_source() -> set[str]:
    """Every text for people that stands in the source, as gettext knows it (its singular)."""
    found: set[str] = set()
    for _, _, message, _, _ in extract_from_dir(
        ROOT / "bot", [("**.py", "python")], keywords=KEYWORDS
    ):
        found.add(message[0] if isinstance(message, tuple) else message)
    kept_elsewhere = {command.summary for command in REGISTRY} | set(MESSAGES.values())
    return {text for text in found if text} | kept_elsewhere | faults()


def faults() -> set[str]:
    """What the errors say that people are told of, when nothing more is known."""
    defined = [*vars(memory_errors).values(), *vars(bot_errors).values()]
    return {str(each()) for each in defined if isinstance(each, type) and issubclass(each, FAULTS)}


def catalogue(language: str) -> Catalog:
    data = (ROOT / "bot" / "locales" / f"{language}.po").read_bytes()
    return read_po(BytesIO(data), locale=language)


def singular(message_id: str | tuple[str, ...] | list[str]) -> str:
    return message_id if isinstance(message_id, str) else message_id[0]


def strings(message: Message) -> list[str]:
    """The translations of a message, one for each plural form."""
    said = message.string or ""
    return [said] if isinstance(said, str) else list(said)


LANGUAGES = [path.stem for path in sorted((ROOT / "bot" / "locales").glob("*.po"))]


def test_the_source_has_texts_to_translate() -> None:
    assert len(in_source()) > 30
    assert "Thinking…" in in_source()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_is_translated(language: str) -> None:
    messages = {singular(m.id): m for m in catalogue(language) if m.id}
    assert sorted(in_source() - messages.keys()) == []
    untranslated = [text for text, message in messages.items() if not all(strings(message))]
    assert untranslated == []
    assert not any(message.fuzzy for message in messages.values())


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_is_translated_that_is_said_no_more(language: str) -> None:
    messages = {singular(m.id) for m in catalogue(language) if m.id}
    assert sorted(messages - in_source()) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_keep_every_value(language: str) -> None:
    for message in catalogue(language):
        if not message.id:
            continue
        wanted = set(PLACEHOLDER.findall(singular(message.id)))
        for string in strings(message):
            assert set(PLACEHOLDER.findall(string)) == wanted, message.id
