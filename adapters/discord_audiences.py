"""Who can read what on Discord: places, public channels, and what a destination may draw on.

Nothing here is cached except membership of private threads, because discord.py's own cache of
roles, overwrites, members and channels is kept current by the gateway. While the gateway is
down, or before a guild's data has come, the answer is the destination alone (fail closed).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import discord

from adapters.discord_texts import say
from bot.messages import Surface
from bot.ports import Privacy
from memory.ports import Clock
from memory.types import Audience, Person, Readable

PLATFORM: Final = "discord"
DIRECT: Final = "@me"
"""Tenant of everything outside a guild, as in Discord's own links. Users belong to it as well:
a Discord user is the same person in every guild."""

MEMBERSHIP_LIFETIME: Final = timedelta(minutes=5)

GuildChannel = (
    discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.ForumChannel
)
"""The channels that hold messages themselves or in their threads."""


def person(user_id: int | str) -> Person:
    return Person(PLATFORM, DIRECT, str(user_id))


def direct_place(user_id: int | str) -> Audience:
    """The DM with a user, named after the user: known without asking for the channel's id."""
    return Audience(PLATFORM, DIRECT, str(user_id))


def place(guild_id: int, channel_id: int) -> Audience:
    return Audience(PLATFORM, str(guild_id), str(channel_id))


def place_of(
    guild_id: int, channel_id: int, channel: GuildChannel | discord.Thread | None
) -> Audience:
    """The place of what is said in a channel: a thread's is its parent's, unless private."""
    if isinstance(channel, discord.Thread) and not channel.is_private():
        return place(guild_id, channel.parent_id)
    return place(guild_id, channel_id)


def name_of(client: discord.Client, where: Audience, locale: str) -> str:
    """A place as people see it; empty when it is not known (now)."""
    if where.tenant == DIRECT:
        return say("alone", locale)
    guild = client.get_guild(int(where.tenant))
    channel = guild.get_channel_or_thread(int(where.name)) if guild else None
    return f"#{channel.name}" if channel else ""


def is_public(channel: GuildChannel) -> bool:
    """True when every member of the guild can read the channel, now and back in time.

    Needs both permissions for @everyone and no overwrite that takes one of them away from
    anybody. An age-restricted channel is not for every member. Threads are not asked about:
    they belong to their channel.
    """
    if channel.is_nsfw():
        return False
    needed = _reading(channel).value
    everyone = channel.guild.default_role
    allow, deny = channel.overwrites_for(everyone).pair()
    if (everyone.permissions.value & ~deny.value | allow.value) & needed != needed:
        return False
    return not any(
        overwrite.pair()[1].value & needed
        for target, overwrite in channel.overwrites.items()
        if target != everyone
    )


def can_read(channel: GuildChannel, member: discord.Member) -> bool:
    """True when the member can read the channel now. Age-restricted ones: cannot be known."""
    return not channel.is_nsfw() and channel.permissions_for(member) >= _reading(channel)


def is_guest(member: discord.Member) -> bool:
    """A guest sees one voice channel, whatever the permissions compute to."""
    return member.flags.guest


def public_places(guild: discord.Guild) -> frozenset[Audience]:
    return frozenset(place(guild.id, c.id) for c in _channels(guild) if is_public(c))


@dataclass(frozen=True, slots=True)
class Where:
    """A place, and what an answer that everybody there sees may draw on."""

    surface: Surface
    audience: Audience
    readable: Readable

    @classmethod
    def alone(cls, surface: Surface, audience: Audience) -> Where:
        return cls(surface, audience, Readable.of(audience))


class Audiences:
    """Computes places and readable sets of one connected client.

    `is_live` tells whether the client's cache is current; `members_known` whether it was
    granted the members intent, without which every member is asked for anew.
    """

    def __init__(
        self,
        client: discord.Client,
        *,
        is_live: Callable[[], bool],
        members_known: bool,
        privacy: Privacy,
        clock: Clock,
    ) -> None:
        self._client = client
        self._privacy = privacy
        self._is_live = is_live
        self._members_known = members_known
        self._clock = clock
        self._in_thread: dict[tuple[int, int], tuple[bool, datetime]] = {}

    async def of_channel(
        self, guild_id: int, channel_id: int, channel: GuildChannel | discord.Thread | None
    ) -> Where:
        """The place that a channel or thread of a guild belongs to."""
        here = place_of(guild_id, channel_id, channel)
        private_thread = isinstance(channel, discord.Thread) and channel.is_private()
        if isinstance(channel, discord.Thread):
            channel = channel.parent
        if channel is None:
            return Where.alone(Surface.UNKNOWN, here)
        public = not private_thread and is_public(channel)
        surface = Surface.PUBLIC if public else Surface.PRIVATE
        everywhere = public_places(channel.guild)
        # while the gateway is away, too: a reminder may be posted then
        await self._privacy.opened(everywhere)
        if not self._is_live():
            return Where.alone(surface, here)
        itself = frozenset({here})
        if not public:
            await self._privacy.closed(itself)
            itself = await self._privacy.of_members(itself)
        if self._strangers_may_read(channel):
            return Where(surface, here, Readable(itself))
        return Where(surface, here, Readable(everywhere | itself))

    async def of_person(self, user_id: int, guild: discord.Guild | None) -> Readable:
        """What a reply that only this user sees may draw on: their DM, and what they can read
        now of `guild`, or of every mutual guild when there is none (a DM).

        This is not a guild reading a DM: nobody else sees the reply.
        """
        found = {direct_place(user_id)}
        if self._is_live():
            for each in self._client.guilds if guild is None else (guild,):
                found |= await self._of_member(each, user_id)
        return Readable(frozenset(found))

    async def of_asker(self, user_id: int, guild_id: int | None) -> Readable:
        """What a reply that only the asker sees may draw on, where they asked."""
        guild = self._client.get_guild(guild_id) if guild_id else None
        if guild_id and guild is None:  # a user's own install, where the bot is no member
            return Readable.of(direct_place(user_id))
        return await self.of_person(user_id, guild)

    async def member(self, guild: discord.Guild, user_id: int) -> discord.Member | None:
        """The member as they are now; None when they are not one or it cannot be found out."""
        if guild.unavailable:
            return None
        if self._members_known and guild.chunked:
            return guild.get_member(user_id)
        try:
            return await guild.fetch_member(user_id)
        except discord.HTTPException:
            return None

    def forget_thread_members(self, thread_id: int) -> None:
        """Membership of a private thread changed."""
        for key in [key for key in self._in_thread if key[0] == thread_id]:
            del self._in_thread[key]

    def forget_all(self) -> None:
        """Events may have been missed."""
        self._in_thread.clear()

    async def _of_member(self, guild: discord.Guild, user_id: int) -> frozenset[Audience]:
        member = await self.member(guild, user_id)
        if member is None or is_guest(member):
            return frozenset()
        own = {place(guild.id, c.id) for c in _channels(guild) if can_read(c, member)}
        for thread in guild.threads:
            parent = thread.parent
            if not thread.is_private() or parent is None or not can_read(parent, member):
                continue
            if await self._is_in_thread(thread, user_id):
                own.add(place(guild.id, thread.id))
        public = public_places(guild)
        await self._privacy.opened(public)
        await self._privacy.closed(own - public)
        return await self._privacy.of_members(own - public) | public

    async def _is_in_thread(self, thread: discord.Thread, user_id: int) -> bool:
        key = (thread.id, user_id)
        now = self._clock()
        known = self._in_thread.get(key)
        if known and now < known[1]:
            return known[0]
        try:
            await thread.fetch_member(user_id)
        except discord.NotFound:
            inside = False
        except discord.HTTPException:
            return False
        else:
            inside = True
        if self._members_known:  # without that intent no event would tell of a change
            self._in_thread[key] = (inside, now + MEMBERSHIP_LIFETIME)
        return inside

    def _strangers_may_read(self, channel: GuildChannel) -> bool:
        if not isinstance(channel, discord.VoiceChannel | discord.StageChannel):
            return False
        guild = channel.guild
        return not (self._members_known and guild.chunked) or any(map(is_guest, guild.members))


def _channels(guild: discord.Guild) -> Iterable[GuildChannel]:
    return (c for c in guild.channels if not isinstance(c, discord.CategoryChannel))


def _reading(channel: GuildChannel) -> discord.Permissions:
    needed = discord.Permissions(view_channel=True, read_message_history=True)
    if isinstance(channel, discord.VoiceChannel | discord.StageChannel):
        needed.connect = True  # the client opens a voice channel's chat only to who may enter
    return needed
