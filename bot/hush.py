"""A human's "stop" wins: in a conversation that was told to be quiet only a mention is heard."""

from __future__ import annotations

import re
from dataclasses import replace

from bot.i18n import Translator
from bot.messages import EventKind, IncomingMessage, Mention, Reply, Surface
from memory.directory import Directory

_STOP = re.compile(
    r"\s*(?:(?:please,?\s+)?(?:stop|be quiet|shut up|enough)(?:\s+(?:it|now|talking|please))?"
    r"|(?:もう)?(?:やめて|止めて|とめて|静かにして|黙って|だまって|ストップ)(?:ください|下さい|くれ|ね|よ)?)"
    r"[\s.!。！]*",
    re.IGNORECASE,
)

HUSHED = "hushed."
"""Begins the keys of conversations that were told to be quiet."""


class Hush:
    """Knows which conversations were told to be quiet. A direct message has no such state."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    async def stop(self, message: IncomingMessage, say: Translator) -> Reply | None:
        """The reply to somebody who says stop; None for everything else."""
        if not _concerned(message) or not message.addressed or not _STOP.fullmatch(message.text):
            return None
        await self._directory.put(_key(message), "yes")
        return Reply(say("All right: I say no more here until somebody mentions me."))

    async def heeded(self, message: IncomingMessage) -> IncomingMessage:
        """The message; not addressed to Oboete where it was told to stop, and no mention came."""
        if not _concerned(message) or not await self._directory.get(_key(message)):
            return message
        if message.mention is Mention.DIRECT:
            await self._directory.put(_key(message), "")
            return message
        return replace(message, addressed=False)


def _concerned(message: IncomingMessage) -> bool:
    return message.kind is EventKind.MESSAGE and message.surface is not Surface.DM


def _key(message: IncomingMessage) -> str:
    return f"{HUSHED}{message.here} {message.conversation}"
