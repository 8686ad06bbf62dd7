"""What happens to Oboete itself: it joined a place, somebody was deactivated, it was uninstalled.

Also feedback on answers. Nothing here is a command: only a platform can bring these about.
"""

from __future__ import annotations

import logging

from bot.i18n import Translator
from bot.messages import EventKind, IncomingMessage, Reply
from memory.directory import Directory
from memory.long_term import LongTermMemory

log = logging.getLogger(__name__)

SILENT = Reply("", silent=True)

UNINSTALLED = "uninstalled"
"""What happens where Oboete is not any more."""

_RATINGS = {"+1": 1, "thumbsup": 1, "👍": 1, "-1": -1, "thumbsdown": -1, "👎": -1}


class Happenings:
    """Handles what is neither talk nor a command."""

    def __init__(self, memory: LongTermMemory, directory: Directory) -> None:
        self._memory = memory
        self._directory = directory

    @staticmethod
    def concerns(message: IncomingMessage) -> bool:
        """True for what this handles."""
        return "event" in message.arguments or message.kind in {
            EventKind.REACTION,
            EventKind.DELETE,
        }

    async def handle(self, message: IncomingMessage, say: Translator) -> Reply:
        """Do what follows from it; mostly in silence."""
        if message.kind is EventKind.DELETE:
            await self._memory.source_deleted(message.audience, message.message_id)
            return SILENT
        if message.kind is EventKind.REACTION:
            await self._rate(message)
            return SILENT
        match message.arguments["event"]:
            case "joined":
                return await self._greet(message, say)
            case "deactivated":
                await self._directory.deactivate(message.author.person)
            case name if name == UNINSTALLED:
                await self._directory.lock_tenant(message.platform, message.tenant, message.sent_at)
            case other:
                log.info("nothing follows from %s", other)
        return SILENT

    async def _rate(self, message: IncomingMessage) -> None:
        rating = _RATINGS.get(message.text.strip(":"))
        if rating is None or message.reply_to is None:
            return
        rating = 0 if message.arguments.get("removed") == "yes" else rating
        await self._memory.rate_reply(message.here, message.reply_to, message.author.person, rating)

    async def _greet(self, message: IncomingMessage, say: Translator) -> Reply:
        """Say once in a place what is stored and how to stop it."""
        place = await self._directory.place(message.here)
        if place.greeted:
            return SILENT
        await self._directory.change_place(message.here, greeted=True)
        return Reply(
            say(
                "Hello, I am Oboete. I store what is addressed to me: mentions, replies in their"
                " threads, and direct messages. What was said here is only recalled where"
                " everybody could have read it. `/memory pause` stops storing here,"
                " `/memory pause me` stops storing your words, `/memory help` shows the rest."
            )
        )
