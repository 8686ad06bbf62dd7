"""The place that only administrators read: the default for knowledge bases and databases."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from bot.messages import IncomingMessage, Surface
from memory.types import Audience, Person, Readable

ADMINS = Audience("oboete", "installation", "admins")
"""Read by the people in OBOETE_ADMINS, where nobody else reads along. No platform has this name,
so no channel can be mistaken for it."""


def with_admin_place(readable: Readable, person: Person, admins: Collection[str]) -> Readable:
    """What a person can read alone: for an administrator, the place of administrators too."""
    if str(person) not in admins:
        return readable
    return Readable(readable.audiences | {ADMINS})


def seen_alone(message: IncomingMessage, admins: Collection[str]) -> IncomingMessage:
    """The message with the place of administrators, if the answer is for an administrator only."""
    if not (message.surface is Surface.DM or message.private_reply):
        return message
    readable = with_admin_place(message.readable, message.author.person, admins)
    return replace(message, readable=readable)
