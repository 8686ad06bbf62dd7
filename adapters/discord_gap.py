"""Reads again what happened in followed conversations while the bot was not connected."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import discord

from adapters.discord_audiences import DIRECT, direct_place, place_of
from adapters.discord_events import stamp
from adapters.discord_recorder import SEEN, GuildMessages, Recorder
from adapters.discord_state import KeyValue, Ledger
from bot.messages import Said
from memory.ports import Clock
from memory.types import Audience

_AT = re.compile(r"/channels/(?P<guild>\d+|@me)/(?P<channel>\d+)/\d+")
"""Where a permalink leads."""

log = logging.getLogger(__name__)

ANSWERED_FOR: Final = timedelta(minutes=10)
"""An older question is stored, and not answered any more."""
CONVERSATIONS: Final = 200
"""The most recently active ones are read again."""
MESSAGES: Final = 200
"""At most so many missed messages of one conversation."""
CHECKED: Final = 100
"""So many stored messages of a place are checked for edits and deletion."""


class Gap:
    """Catches up after a gap; commits through the recorder, which drops what is known."""

    def __init__(
        self,
        client: discord.Client,
        *,
        recorder: Recorder,
        keep: KeyValue,
        ledger: Ledger,
        clock: Clock,
    ) -> None:
        self._client = client
        self._recorder = recorder
        self._keep = keep
        self._ledger = ledger
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()

    async def read(self) -> None:
        """Read every followed conversation from where it was left."""
        async with self._one_at_a_time:
            seen = [
                (key.removeprefix(SEEN), json.loads(value))
                for key in await self._keep.keys(SEEN)
                if (value := await self._keep.get(key))
            ]
            seen.sort(key=lambda each: int(each[1][2]), reverse=True)
            for channel_id, (guild_id, user_id, last) in seen[:CONVERSATIONS]:
                try:
                    await self._conversation(int(channel_id), guild_id, user_id, int(last))
                except discord.HTTPException as refused:
                    log.warning("gap in %s not read: %s", channel_id, refused.code)

    async def recheck(self, said: Sequence[Said]) -> int:
        """Look messages up; commit what became of them. Gives how many were gone or different.

        What may not be read, or cannot be now, is left alone.
        """
        found = 0
        for each in said:
            at = _AT.search(each.permalink or "")
            if at is None or not each.message_id.isdecimal():
                continue  # said by a command: it stands nowhere
            guild = self._client.get_guild(int(at["guild"])) if at["guild"] != DIRECT else None
            if guild is None and at["guild"] != DIRECT:
                continue
            try:
                found += await self._look_up(each, guild, int(at["channel"]))
            except discord.HTTPException as refused:
                log.warning("%s cannot be looked up: %s", at["channel"], refused.code)
        return found

    async def _look_up(self, said: Said, guild: discord.Guild | None, channel_id: int) -> bool:
        channel: object = None
        try:
            if guild is None:
                channel = self._client.get_partial_messageable(channel_id)
            else:
                channel = guild.get_channel_or_thread(channel_id)
                channel = channel or await guild.fetch_channel(channel_id)
            if not isinstance(channel, discord.abc.Messageable):
                return False
            message = await channel.fetch_message(int(said.message_id))
        except discord.NotFound:  # the message, or the channel with it
            await self._recorder.delete(said.audience, channel_id, channel, [int(said.message_id)])
            return True
        if message.edited_at is None:
            return False
        left = {str(file.id) for file in message.attachments}
        same = stamp(message.edited_at) == said.revision
        if left.issuperset(said.files) if said.files else same:
            return False
        await self._recorder.edit(message)
        return True

    async def _conversation(
        self, channel_id: int, guild_id: str | None, user_id: str | None, last: int
    ) -> None:
        guild = self._client.get_guild(int(guild_id)) if guild_id else None
        if guild_id and guild is None:
            return
        channel: discord.abc.Messageable
        if guild is None:
            channel = self._client.get_partial_messageable(channel_id)
            here = direct_place(user_id or "0")
        else:
            known = guild.get_channel_or_thread(channel_id) or await guild.fetch_channel(channel_id)
            if not isinstance(known, GuildMessages):
                return
            channel, here = known, place_of(guild.id, channel_id, known)
        await self._changes(channel, channel_id, here)
        after = discord.Object(last)
        async for message in channel.history(after=after, limit=MESSAGES, oldest_first=True):
            late = self._clock() - message.created_at > ANSWERED_FOR
            await self._recorder.message(message, gap=late)

    async def _changes(
        self, channel: discord.abc.Messageable, channel_id: int, here: Audience
    ) -> None:
        """Edits and deletions of what is stored, seen by reading it again."""
        stored = await self._ledger.stored(here, CHECKED)
        ids = own_ids(stored, channel_id, here, is_post=is_post(channel))
        if not ids:
            return
        oldest = discord.Object(ids[-1] - 1)
        found = {
            message.id: message
            async for message in channel.history(after=oldest, limit=MESSAGES, oldest_first=True)
        }
        for message in found.values():
            if message.edited_at is not None:
                await self._recorder.edit(message)
        # Past the last message that was read nothing is known.
        horizon = max(found, default=0) if len(found) == MESSAGES else ids[0]
        gone = [each for each in ids if each not in found and each <= horizon]
        await self._recorder.delete(here, channel_id, channel, gone)


def is_post(channel: object) -> bool:
    """True for a post of a forum or media channel: a thread that holds its first message."""
    return isinstance(channel, discord.Thread) and isinstance(channel.parent, discord.ForumChannel)


def own_ids(
    stored: Sequence[tuple[str, str]], channel_id: int, here: Audience, *, is_post: bool
) -> list[int]:
    """Ids of a place's stored messages that were posted in this channel or thread itself, newest
    first. A question that a thread was opened for, and whose id the thread has, stands in the
    channel; what was said by a command stands nowhere."""
    channel = str(channel_id)
    in_channel = here.name == channel
    return sorted(
        (
            int(message_id)
            for conversation, message_id in stored
            if message_id.isdecimal()
            and (
                in_channel and message_id == conversation
                if message_id == conversation and not (is_post and message_id == channel)
                else conversation == channel
            )
        ),
        reverse=True,
    )
