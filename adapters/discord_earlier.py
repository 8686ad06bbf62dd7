"""Finds the bot's own answer of an earlier attempt, so that it is not sent again after a crash."""

from __future__ import annotations

import logging
from typing import Final

import discord

from bot.messages import EventKind, InboxEvent, IncomingMessage
from bot.ports import Inbox

log = logging.getLogger(__name__)

SEARCHED_MESSAGES: Final = 50
"""How many messages after a question are searched for its answer."""
_REMEMBERED: Final = 1000


class EarlierAnswers:
    """References (`channel/message`, or a message of an interaction) by event."""

    def __init__(self, client: discord.Client, inbox: Inbox) -> None:
        self._client = client
        self._inbox = inbox
        self._begun: dict[int, list[str]] = {}

    async def note(self, event: InboxEvent, refs: list[str]) -> None:
        """Remember what the answer to an event consists of so far."""
        self._begun[event.id] = refs
        while len(self._begun) > _REMEMBERED:
            del self._begun[next(iter(self._begun))]
        await self._inbox.note_reply(event.id, " ".join(refs))

    def noted(self, event: InboxEvent) -> list[str]:
        """What an earlier attempt sent, as far as it was noted."""
        return list(self._begun.get(event.id) or (event.reply_ref or "").split())

    async def find(self, event: InboxEvent, message: IncomingMessage) -> list[str] | None:
        """What an earlier attempt sent, searched for where it was not noted; empty for a first
        attempt; None when it cannot be found out. An edited question may have been answered
        before it was edited.
        """
        if noted := self.noted(event):
            return noted
        asked = message.kind in (EventKind.MESSAGE, EventKind.EDIT)
        if not asked or (event.attempts <= 1 and message.kind is not EventKind.EDIT):
            return []
        channels = [int(message.thread or message.channel)]
        if message.conversation == message.message_id and not message.thread:
            channels.insert(0, int(message.message_id))
        try:
            for channel_id in channels:
                if found := await self._search(channel_id, int(message.message_id)):
                    return found
        except discord.HTTPException as refused:
            log.warning("%s: earlier answer not found out (%s)", event.delivery, refused.code)
            return None
        return []

    async def _search(self, channel_id: int, question_id: int) -> list[str]:
        """The first message that replies to the question, or opens the question's own thread,
        and the bot's messages right behind it."""
        history = self._client.get_partial_messageable(channel_id).history(
            after=discord.Object(question_id), limit=SEARCHED_MESSAGES, oldest_first=True
        )
        found: list[str] = []
        try:
            async for each in history:
                refers_to = each.reference.message_id if each.reference else None
                mine = self._client.user is not None and each.author.id == self._client.user.id
                begins = refers_to == question_id or (channel_id == question_id and not found)
                if mine and (begins or (found and refers_to is None)):
                    found.append(f"{channel_id}/{each.id}")
                elif found:
                    break
        except discord.NotFound:
            return []  # the thread was never opened
        return found
