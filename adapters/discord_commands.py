"""`/memory` and the context menus: what Discord is told of them, and what comes back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

GROUP: Final = "memory"
NAME_LIMIT: Final = 32
DESCRIPTION_LIMIT: Final = 100
SUGGESTION_LIMIT: Final = 25
VALUE_LIMIT: Final = 100

_SUBCOMMAND, _STRING = 1, 3
_CHAT_INPUT, _USER, _MESSAGE = 1, 2, 3
_EVERYWHERE: Final = {"contexts": [0, 1, 2], "integration_types": [0, 1]}
"""Guilds, the bot's DM and private channels; installed by a guild or by a user."""


@dataclass(frozen=True, slots=True)
class ArgumentSpec:
    """An argument of a command. Texts are by language (`en` is required)."""

    name: str
    descriptions: Mapping[str, str]
    required: bool = False
    suggested: bool = False
    """Offer the caller's own facts while they type."""
    long: bool = False
    """Free text: asked for in a form when it is left out."""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command of the registry as Discord needs it. Texts are by language."""

    name: str
    descriptions: Mapping[str, str]
    arguments: tuple[ArgumentSpec, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    """Translations of the name, such as {"ja": "一覧"}."""


@dataclass(frozen=True, slots=True)
class MenuSpec:
    """An entry in the menu of a message or of a user."""

    names: Mapping[str, str]
    command: str
    on_message: bool


MENUS: Final = (
    MenuSpec({"en": "Remember this", "ja": "これを覚える"}, "remember", on_message=True),
    MenuSpec({"en": "Forget this", "ja": "これを忘れる"}, "forget", on_message=True),
    MenuSpec(
        {"en": "What do you know about me", "ja": "私について覚えていること"},
        "list",
        on_message=False,
    ),
)


@dataclass(frozen=True, slots=True)
class Invocation:
    """What a person called: `text` is the command line after `/memory`."""

    text: str
    arguments: dict[str, str]
    missing: ArgumentSpec | None = None
    """A long text that was left out and has to be asked for."""
    focused: str | None = None
    """What was typed so far into the argument that wants suggestions."""
    target: str = ""
    """Id of the message or user whose menu was used."""


def to_payload(specs: Sequence[CommandSpec]) -> list[dict[str, Any]]:
    """The application commands as Discord's API takes them, localised."""
    group = {
        "type": _CHAT_INPUT,
        "name": GROUP,
        "description": "What Oboete remembers",
        "description_localizations": {"ja": "Oboeteが覚えていること"},
        "options": [_subcommand(spec) for spec in specs],
        **_EVERYWHERE,
    }
    menus = [
        {
            "type": _MESSAGE if menu.on_message else _USER,
            "name": menu.names["en"],
            "name_localizations": _translations(menu.names, NAME_LIMIT),
            **_EVERYWHERE,
        }
        for menu in MENUS
    ]
    return [group, *menus]


def digest(payload: Sequence[Mapping[str, Any]]) -> str:
    """Changes exactly when the commands have to be sent again."""
    text = json.dumps(payload, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def parse(data: Mapping[str, Any], specs: Sequence[CommandSpec]) -> Invocation | None:
    """Read an interaction's `data`; None when the command is not (or no longer) ours."""
    if data.get("type", _CHAT_INPUT) != _CHAT_INPUT:
        menu = next((menu for menu in MENUS if menu.names["en"] == data.get("name")), None)
        if menu is None:
            return None
        return Invocation(menu.command, {}, target=str(data.get("target_id", "")))
    chosen = next(iter(data.get("options") or ()), None)
    if data.get("name") != GROUP or chosen is None:
        return None
    spec = next((spec for spec in specs if spec.name == chosen.get("name")), None)
    if spec is None:
        return None
    given = {option["name"]: option for option in chosen.get("options") or ()}
    arguments = {
        argument.name: str(given[argument.name].get("value", "")).strip()
        for argument in spec.arguments
        if argument.name in given
    }
    focused = next((str(o.get("value", "")) for o in given.values() if o.get("focused")), None)
    missing = next((a for a in spec.arguments if a.long and not arguments.get(a.name)), None)
    text = " ".join([spec.name, *filter(None, arguments.values())])
    return Invocation(text, arguments, missing, focused)


def suggestions(found: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """(name, value) as Discord accepts them: at most 25, at most 100 characters, not empty."""
    return [
        (label if len(label) <= VALUE_LIMIT else label[: VALUE_LIMIT - 1] + "…", value)
        for label, value in found
        if label and value and len(value) <= VALUE_LIMIT
    ][:SUGGESTION_LIMIT]


def _subcommand(spec: CommandSpec) -> dict[str, Any]:
    # Discord wants required options first.
    arguments = sorted(spec.arguments, key=lambda a: not (a.required and not a.long))
    return {
        "type": _SUBCOMMAND,
        "name": spec.name,
        "name_localizations": _translations(spec.names, NAME_LIMIT),
        "description": spec.descriptions["en"][:DESCRIPTION_LIMIT],
        "description_localizations": _translations(spec.descriptions, DESCRIPTION_LIMIT),
        "options": [_option(argument) for argument in arguments],
    }


def _option(argument: ArgumentSpec) -> dict[str, Any]:
    option: dict[str, Any] = {
        "type": _STRING,
        "name": argument.name,
        "description": argument.descriptions["en"][:DESCRIPTION_LIMIT],
        "description_localizations": _translations(argument.descriptions, DESCRIPTION_LIMIT),
        "required": argument.required and not argument.long,
    }
    if argument.choices:
        option["choices"] = [
            {"name": choice, "value": choice} for choice in argument.choices[:SUGGESTION_LIMIT]
        ]
    elif argument.suggested:
        option["autocomplete"] = True
    return option


def _translations(texts: Mapping[str, str], limit: int) -> dict[str, str]:
    return {language: text[:limit] for language, text in texts.items() if language != "en"}
