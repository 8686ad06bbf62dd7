"""Decides what is addressed to the bot, and puts it on disk before anything is done with it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime, timedelta
from itertools import chain, repeat
from typing import Any, Final

import discord

from adapters.discord_audiences import PLATFORM, direct_place, place_of
from adapters.discord_events import (
    Heard,
    Self,
    guild_id_of,
    is_from_person,
    mention_in,
    of_delete,
    of_edit,
    of_message,
    of_reaction,
)
from adapters.discord_state import KeyValue, Ledger, Rules
from bot.messages import Mention
from bot.ports import Inbox
from memory.errors import StoreUnavailable
from memory.ports import Clock
from memory.types import Audience

log = logging.getLogger(__name__)

FOLLOWED: Final = "discord.followed."
"""+ thread id → id of the message that first mentioned the bot there."""
SEEN: Final = "discord.seen."
"""+ channel id → [guild id or null, user id of the DM or null, id of the newest message]."""
POST: Final = "discord.post."
"""+ message id → `discord_posts.post_id` of the answer of several messages that it is part of."""
VERDICTS: Final = ("👍", "👎")
_SKIN_TONES: Final = "🏻🏼🏽🏾🏿"
DIRECT_USER: Final = "discord.dm."
"""+ DM channel id → user id."""

LOOP_LIMIT: Final = 40
"""Messages of one author in one channel within a minute that no person types."""
LOOP_WINDOW: Final = timedelta(minutes=1)
PAUSES: Final = (0.2, 1.0, 5.0, 30.0)
"""Seconds between attempts while the store cannot be used; the last one again and again."""
_CACHE_LIMIT: Final = 10_000

GuildMessages = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread


class LoopBreaker:
    """Ignores a pair of author and channel while it is faster than people are.

    Bots are ignored anyway; this is for programs that use a person's account.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._recent: OrderedDict[tuple[int, int], deque[datetime]] = OrderedDict()

    def allows(self, channel_id: int, author_id: int) -> bool:
        now = self._clock()
        times = self._recent.setdefault((channel_id, author_id), deque(maxlen=LOOP_LIMIT))
        self._recent.move_to_end((channel_id, author_id))
        if len(self._recent) > _CACHE_LIMIT:
            self._recent.popitem(last=False)
        full = len(times) == LOOP_LIMIT and now - times[0] < LOOP_WINDOW
        times.append(now)
        return not full


class Recorder:
    """Filters messages and commits them in the order in which they arrived."""

    def __init__(
        self,
        *,
        inbox: Inbox,
        keep: KeyValue,
        ledger: Ledger,
        rules: Rules,
        me: Callable[[], Self],
        clock: Clock,
    ) -> None:
        self._inbox = inbox
        self._keep = keep
        self._ledger = ledger
        self._rules = rules
        self._me = me
        self._clock = clock
        self._loops = LoopBreaker(clock)
        self._order = asyncio.Lock()
        self._followed: dict[int, str | None] = {}
        self.last_inbound: datetime | None = None

    async def message(self, message: discord.Message, *, gap: bool = False) -> None:
        """A message came in, or was found in the gap after downtime."""
        channel_id, author_id = message.channel.id, message.author.id
        if not is_from_person(message):
            return
        if not gap and not self._loops.allows(channel_id, author_id):
            log.warning("loop broken: author %s in %s", author_id, channel_id)
            return

        async def attempt() -> None:
            addressed = await self._addressed(message)
            if addressed is None:
                return
            heard = of_message(
                message,
                self._me(),
                _place(message),
                addressed=addressed,
                conversation=self._conversation(message.id, message.channel),
            )
            heard.payload["gap"] = gap
            await self.commit_once(heard)
            await self._mark(message)

        async with self._order:
            await self._insist(attempt)

    async def edit(self, message: discord.Message) -> None:
        """An author changed a message; the `edited_at` of an unfurl is old and drops out."""
        if message.edited_at is None or not is_from_person(message):
            return

        async def attempt() -> None:
            addressed = await self._addressed(message)
            here = _place(message)
            if addressed is None and not await self._ledger.knows(here, str(message.id)):
                return
            conversation = self._conversation(message.id, message.channel)
            edited = of_edit(
                message, self._me(), here, addressed=bool(addressed), conversation=conversation
            )
            await self.commit_once(edited)

        async with self._order:
            await self._insist(attempt)

    async def reaction(
        self,
        reaction: discord.RawReactionActionEvent,
        place: Audience,
        channel_ids: Sequence[str],
        *,
        added: bool,
    ) -> None:
        """Somebody judges a message by an emoji, or takes that back; only the bot's concern it."""
        verdict = reaction.emoji.name.rstrip(_SKIN_TONES)
        by_bot = reaction.member is not None and reaction.member.bot
        if verdict not in VERDICTS or by_bot or reaction.user_id == self._me().user_id:
            return
        if not self._rules.permit(str(reaction.user_id), channel_ids):
            return

        async def attempt() -> None:
            alone = f"{reaction.channel_id}/{reaction.message_id}"
            post = await self._keep.get(f"{POST}{reaction.message_id}") or alone
            if await self._ledger.knows(place, post):
                now = self._clock()
                await self.commit_once(
                    of_reaction(reaction, post, place, now, verdict=verdict, added=added)
                )

        async with self._order:
            await self._insist(attempt)

    async def delete(
        self, place: Audience, channel_id: int, channel: object, ids: Iterable[int]
    ) -> None:
        """Messages of a place are gone. What was never stored is not even noted."""

        async def attempt() -> None:
            for message_id in ids:
                if not await self._ledger.knows(place, str(message_id)):
                    continue
                conversation = self._conversation(message_id, channel) or str(channel_id)
                gone = of_delete(
                    message_id, channel_id, place, self._clock(), conversation=conversation
                )
                await self.commit_once(gone)

        async with self._order:
            await self._insist(attempt)

    async def commit(self, heard: Heard) -> None:
        """Put an event on disk, however long that takes."""
        await self._insist(lambda: self.commit_once(heard))

    async def commit_once(self, heard: Heard) -> int | None:
        """Put an event on disk; None when it is there already. Raises StoreUnavailable."""
        self.last_inbound = self._clock()
        return await self._inbox.commit(PLATFORM, heard.tenant, heard.delivery, heard.payload)

    async def place_of_direct(self, channel_id: int) -> Audience | None:
        """Whose DM a channel is; None when nobody ever wrote there."""
        user = await self._keep.get(f"{DIRECT_USER}{channel_id}")
        return direct_place(user) if user else None

    async def follow(self, thread_id: int, since: str) -> None:
        """Replies in this thread need no mention from now on."""
        if await self.followed_since(thread_id) is None:
            await self._keep.put(f"{FOLLOWED}{thread_id}", since)
            self._followed[thread_id] = since

    async def followed_since(self, thread_id: int) -> str | None:
        """Id of the message that first mentioned the bot in the thread."""
        if thread_id not in self._followed:
            if len(self._followed) >= _CACHE_LIMIT:
                self._followed.clear()
            self._followed[thread_id] = await self._keep.get(f"{FOLLOWED}{thread_id}")
        return self._followed[thread_id]

    def _conversation(self, message_id: int, channel: object) -> str:
        """The thread; or the message, which gives its id to the thread that will be opened."""
        if self._rules.answer_in_thread and isinstance(channel, discord.TextChannel):
            mine = channel.permissions_for(channel.guild.me)
            if mine.create_public_threads and mine.send_messages_in_threads:
                return str(message_id)
        return str(getattr(channel, "id", ""))

    async def _addressed(self, message: discord.Message) -> bool | None:
        """True: to be answered. False: to be stored, as the channel is listened to or collects
        files. None: drop.
        """
        in_guild = guild_id_of(message) is not None
        ids = channel_ids(message.channel.id, message.channel) if in_guild else []
        if not self._rules.permit(str(message.author.id), ids):
            return None
        if guild_id_of(message) is None:
            return True
        thread = message.channel.id if isinstance(message.channel, discord.Thread) else None
        if mention_in(message, self._me()) is Mention.DIRECT:
            if thread:
                await self.follow(thread, str(message.id))
            return True
        if thread and await self.followed_since(thread):
            return True
        here = _place(message)
        wanted = await self._ledger.listens(here) or (
            bool(message.attachments) and await self._ledger.collects(here)
        )
        return False if wanted else None

    async def _insist(self, attempt: Callable[[], Awaitable[Any]]) -> None:
        """Try until the store can be used: what came in must not be lost."""
        for pause in chain(PAUSES, repeat(PAUSES[-1])):
            try:
                await attempt()
            except StoreUnavailable:
                log.warning("store unavailable: an event waits %s s", pause)
                await asyncio.sleep(pause)
            else:
                return

    async def _mark(self, message: discord.Message) -> None:
        channel_id, guild_id = message.channel.id, guild_id_of(message)
        user = None if guild_id else str(message.author.id)
        if user and await self._keep.get(f"{DIRECT_USER}{channel_id}") is None:
            await self._keep.put(f"{DIRECT_USER}{channel_id}", user)
        seen = [str(guild_id) if guild_id else None, user, str(message.id)]
        await self._keep.put(f"{SEEN}{channel_id}", json.dumps(seen))


def channel_ids(channel_id: int, channel: object) -> list[str]:
    """Ids by which the rules know a channel of a guild: a thread counts as its parent, too."""
    parent = channel.parent_id if isinstance(channel, discord.Thread) else None
    return [str(i) for i in (channel_id, parent) if i]


def _place(message: discord.Message) -> Audience:
    guild_id = guild_id_of(message)
    if guild_id is None:
        return direct_place(message.author.id)
    channel = message.channel
    known = channel if isinstance(channel, GuildMessages) else None
    return place_of(guild_id, channel.id, known)
