"""Buttons that work after a restart: everything they need is in their custom id.

A custom id is `oboete|b or m|owner|flag|command`; the flag is `-`, `d` for what asks first,
or the number of a page. Pressed by anybody but the owner it does nothing. A command too long for
the 100 characters is kept beside it under its digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import discord

from adapters.discord_format import CUSTOM_ID_LIMIT, LABEL_LIMIT, Pages
from adapters.discord_state import KeyValue
from adapters.discord_texts import say
from bot.messages import Choice

_MARK: Final = "oboete"
_BUTTON, _FORM = "b", "m"
_PLAIN, _DANGER = "-", "d"
_KEY: Final = "discord.command."
FIELD: Final = "answer"
"""Custom id of the one text field of every form."""


@dataclass(frozen=True, slots=True)
class Pressed:
    """A button or a form that came back."""

    owner: str
    command: str
    danger: bool
    is_form: bool
    page: int
    """Counts from 0."""


async def view_of(
    choices: Sequence[Choice], pages: Pages | None, owner: int | str, keep: KeyValue
) -> discord.ui.View:
    """The choices as rows of buttons for `owner`, then those that turn pages."""
    view = discord.ui.View(timeout=None)
    for choice in choices:
        view.add_item(
            discord.ui.Button(
                label=choice.label[:LABEL_LIMIT],
                style=discord.ButtonStyle.danger
                if choice.danger
                else discord.ButtonStyle.secondary,
                custom_id=await _custom_id(
                    _BUTTON, owner, _DANGER if choice.danger else _PLAIN, choice.command, keep
                ),
            )
        )
    if pages is not None:
        for label, page in (("◀", pages.shown - 1), ("▶", pages.shown + 1)):
            view.add_item(
                discord.ui.Button(
                    label=label,
                    disabled=not 0 <= page < pages.count,
                    custom_id=await _custom_id(_BUTTON, owner, str(page), pages.command, keep),
                )
            )
    view.stop()  # a finished view is not held in memory; presses are read from their custom id
    return view


async def read(custom_id: str, keep: KeyValue) -> Pressed | None:
    """What a custom id says; None when it is not one of ours."""
    mark, _, rest = custom_id.partition("|")
    kind, _, rest = rest.partition("|")
    owner, _, rest = rest.partition("|")
    flag, _, command = rest.partition("|")
    if mark != _MARK or kind not in (_BUTTON, _FORM) or not command:
        return None
    if command.startswith("#"):
        kept = await keep.get(_KEY + command[1:])
        if kept is None:
            return None
        command = kept
    page = int(flag) if flag.isdecimal() else 0
    return Pressed(owner, command, flag == _DANGER, kind == _FORM, page)


async def confirmation(
    command: str, owner: int | str, locale: str, keep: KeyValue
) -> discord.ui.Modal:
    """A form that asks whether to go on; what it holds must still mean yes."""
    return await _form(
        command, owner, _DANGER, keep, title=say("confirm", locale),
        label=say("confirm_label", locale), value=say("yes", locale), long=False,
    )  # fmt: skip


async def question(
    command: str, owner: int | str, title: str, label: str, keep: KeyValue
) -> discord.ui.Modal:
    """A form that asks for the text that a command needs."""
    return await _form(command, owner, _PLAIN, keep, title=title, label=label, value="", long=True)


async def _form(
    command: str,
    owner: int | str,
    flag: str,
    keep: KeyValue,
    *,
    title: str,
    label: str,
    value: str,
    long: bool,
) -> discord.ui.Modal:
    form = discord.ui.Modal(
        title=title[:45], custom_id=await _custom_id(_FORM, owner, flag, command, keep)
    )
    form.add_item(
        discord.ui.TextInput(
            label=label[:45],
            custom_id=FIELD,
            default=value or None,
            max_length=1500 if long else 20,
            style=discord.TextStyle.paragraph if long else discord.TextStyle.short,
        )
    )
    form.stop()
    return form


async def _custom_id(kind: str, owner: int | str, flag: str, command: str, keep: KeyValue) -> str:
    head = f"{_MARK}|{kind}|{owner}|{flag}|"
    if len(head) + len(command) <= CUSTOM_ID_LIMIT and not command.startswith("#"):
        return head + command
    digest = hashlib.sha256(command.encode()).hexdigest()[:32]
    await keep.put(_KEY + digest, command)
    return f"{head}#{digest}"
