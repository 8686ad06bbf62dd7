"""A small model of Discord: guilds, roles, overwrites, members, channels, threads, messages.

It knows what its REST and gateway doubles need, in the shapes of Discord's API v10.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field
from typing import Any

import discord

Json = dict[str, Any]

TEXT, DM, VOICE, GROUP_DM, CATEGORY, NEWS, PUBLIC_THREAD, PRIVATE_THREAD, FORUM = (
    0, 1, 2, 3, 4, 5, 11, 12, 15,
)  # fmt: skip
VIEW = discord.Permissions(view_channel=True).value
HISTORY = discord.Permissions(read_message_history=True).value
EVERYDAY = discord.Permissions(
    view_channel=True,
    read_message_history=True,
    send_messages=True,
    send_messages_in_threads=True,
    create_public_threads=True,
    embed_links=True,
    attach_files=True,
    connect=True,
).value
BOT = 1
_EMPTY_LISTS = """emojis features presences voice_states stickers stage_instances
guild_scheduled_events soundboard_sounds"""
_EPOCH_MS = 1_420_070_400_000


@dataclass(slots=True)
class Person:
    id: int
    name: str
    bot: bool = False
    accepts_dms: bool = True

    def user(self) -> Json:
        return {
            "id": str(self.id),
            "username": self.name,
            "global_name": self.name,
            "discriminator": "0",
            "avatar": None,
            "bot": self.bot,
        }


@dataclass(slots=True)
class Overwrite:
    target: int
    is_member: bool
    allow: int = 0
    deny: int = 0


@dataclass(slots=True)
class Channel:
    id: int
    type: int
    guild: int | None
    name: str = ""
    parent: int | None = None
    overwrites: list[Overwrite] = field(default_factory=list)
    nsfw: bool = False
    recipient: int | None = None
    members: set[int] = field(default_factory=set)
    """Of a thread."""
    messages: dict[int, Json] = field(default_factory=dict)

    @property
    def is_thread(self) -> bool:
        return self.type in (PUBLIC_THREAD, PRIVATE_THREAD)


@dataclass(slots=True)
class Guild:
    id: int
    name: str
    owner: int
    roles: dict[int, int] = field(default_factory=dict)
    """Permissions by role; @everyone has the guild's id."""
    members: dict[int, set[int]] = field(default_factory=dict)
    """Role ids by user; @everyone is understood."""
    guests: set[int] = field(default_factory=set)
    locale: str = "en-US"


class World:
    """What Discord knows. Changing it emits nothing: the double does that."""

    def __init__(self) -> None:
        self.people: dict[int, Person] = {BOT: Person(BOT, "oboete", bot=True)}
        self.guilds: dict[int, Guild] = {}
        self.channels: dict[int, Channel] = {}
        self._ids = itertools.count()

    def new_id(self) -> int:
        """A snowflake of now; later ones are greater."""
        return (int(time.time() * 1000) - _EPOCH_MS << 22) | (next(self._ids) & 0x3FFFFF)

    def person(self, name: str, *, bot: bool = False) -> Person:
        person = Person(self.new_id(), name, bot)
        self.people[person.id] = person
        return person

    def guild(self, name: str, *members: Person) -> Guild:
        guild = Guild(self.new_id(), name, owner=self.new_id())
        guild.roles[guild.id] = EVERYDAY
        guild.members = {BOT: set(), **{member.id: set() for member in members}}
        self.guilds[guild.id] = guild
        return guild

    def role(self, guild: Guild, permissions: int = 0) -> int:
        role = self.new_id()
        guild.roles[role] = permissions
        return role

    def channel(self, guild: Guild, name: str, kind: int = TEXT, *overwrites: Overwrite) -> Channel:
        channel = Channel(self.new_id(), kind, guild.id, name, overwrites=list(overwrites))
        self.channels[channel.id] = channel
        return channel

    def restricted(self, guild: Guild, name: str, *roles: int) -> Channel:
        """A channel that only the bot and these roles see."""
        return self.channel(
            guild,
            name,
            TEXT,
            Overwrite(guild.id, False, deny=VIEW),
            Overwrite(BOT, True, allow=EVERYDAY),
            *(Overwrite(role, False, allow=EVERYDAY) for role in roles),
        )

    def thread(
        self, parent: Channel, name: str, *members: Person, private: bool = False, under: int = 0
    ) -> Channel:
        kind = PRIVATE_THREAD if private else PUBLIC_THREAD
        thread = Channel(under or self.new_id(), kind, parent.guild, name, parent.id)
        thread.members = {BOT, *(member.id for member in members)}
        self.channels[thread.id] = thread
        return thread

    def dm(self, person: Person) -> Channel:
        for channel in self.channels.values():
            if channel.type == DM and channel.recipient == person.id:
                return channel
        channel = Channel(self.new_id(), DM, None, recipient=person.id)
        self.channels[channel.id] = channel
        return channel

    def message(self, channel: Channel, author: Person, content: str, **more: Any) -> Json:
        """Add a message; `more` overrides fields of its payload."""
        id_ = self.new_id()
        mentioned = [p.user() for p in self.people.values() if f"<@{p.id}>" in content]
        body: Json = {
            "id": str(id_),
            "channel_id": str(channel.id),
            "author": author.user(),
            "content": content,
            "timestamp": iso(time.time()),
            "edited_timestamp": None,
            "tts": False,
            "mention_everyone": False,
            "mentions": mentioned,
            "mention_roles": [],
            "attachments": [],
            "embeds": [],
            "pinned": False,
            "type": 0,
            "flags": 0,
            "components": [],
            **more,
        }
        channel.messages[id_] = body
        return body

    def as_event(self, channel: Channel, body: Json) -> Json:
        """A message as the gateway sends it."""
        if channel.guild is None:
            return body
        author = int(body["author"]["id"])
        return {
            **body,
            "guild_id": str(channel.guild),
            "member": self.member_body(self.guilds[channel.guild], author, with_user=False),
        }

    def member_body(self, guild: Guild, user: int, *, with_user: bool = True) -> Json:
        body: Json = {
            "roles": [str(role) for role in guild.members.get(user, ())],
            "joined_at": "2026-01-01T00:00:00+00:00",
            "nick": None,
            "deaf": False,
            "mute": False,
            "flags": 1 << 4 if user in guild.guests else 0,
        }
        return {**body, "user": self.people[user].user()} if with_user else body

    def channel_body(self, channel: Channel) -> Json:
        body: Json = {"id": str(channel.id), "type": channel.type, "name": channel.name}
        if channel.type in (DM, GROUP_DM):
            assert channel.recipient is not None
            return {**body, "recipients": [self.people[channel.recipient].user()]}
        body["guild_id"] = str(channel.guild)
        if channel.is_thread:
            return body | {
                "parent_id": str(channel.parent),
                "owner_id": str(BOT),
                "message_count": len(channel.messages),
                "member_count": len(channel.members),
                "thread_metadata": {
                    "archived": False,
                    "archive_timestamp": "2026-01-01T00:00:00+00:00",
                    "auto_archive_duration": 1440,
                    "locked": False,
                },
            }
        return body | {
            "position": 0,
            "bitrate": 64_000,
            "user_limit": 0,
            "nsfw": channel.nsfw,
            "permission_overwrites": [
                {
                    "id": str(each.target),
                    "type": int(each.is_member),
                    "allow": str(each.allow),
                    "deny": str(each.deny),
                }
                for each in channel.overwrites
            ],
        }

    def role_body(self, guild: Guild, role: int) -> Json:
        return {
            "id": str(role),
            "name": "@everyone" if role == guild.id else f"role{role}",
            "color": 0,
            "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
            "hoist": False,
            "position": 0 if role == guild.id else 1,
            "permissions": str(guild.roles[role]),
            "managed": False,
            "mentionable": False,
            "flags": 0,
        }

    def guild_body(self, guild: Guild) -> Json:
        mine = [c for c in self.channels.values() if c.guild == guild.id]
        return {
            "id": str(guild.id),
            "name": guild.name,
            "owner_id": str(guild.owner),
            "roles": [self.role_body(guild, role) for role in guild.roles],
            "channels": [self.channel_body(c) for c in mine if not c.is_thread],
            "threads": [self.channel_body(c) for c in mine if c.is_thread],
            "members": [self.member_body(guild, user) for user in guild.members],
            "member_count": len(guild.members),
            "preferred_locale": guild.locale,
            "unavailable": False,
            "large": False,
            "system_channel_id": None,
            "system_channel_flags": 0,
            "verification_level": 0,
            "default_message_notifications": 0,
            "explicit_content_filter": 0,
            "mfa_level": 0,
            "nsfw_level": 0,
            "premium_tier": 0,
            **{name: [] for name in _EMPTY_LISTS.split()},
        }

    def may(self, channel: Channel, user: int, permission: int) -> bool:
        """Discord's own algorithm: base, @everyone's overwrite, roles', the member's."""
        if channel.guild is None:
            return True
        if channel.is_thread:
            assert channel.parent is not None
            if channel.type == PRIVATE_THREAD and user not in channel.members:
                return False
            return self.may(self.channels[channel.parent], user, permission)
        guild = self.guilds[channel.guild]
        if user not in guild.members:
            return False
        roles = guild.members[user]
        allowed = guild.roles[guild.id]
        for role in roles:
            allowed |= guild.roles[role]
        layers = (
            [o for o in channel.overwrites if o.target == guild.id],
            [o for o in channel.overwrites if not o.is_member and o.target in roles],
            [o for o in channel.overwrites if o.is_member and o.target == user],
        )
        for layer in layers:
            deny = allow = 0
            for each in layer:
                deny, allow = deny | each.deny, allow | each.allow
            allowed = allowed & ~deny | allow
        return allowed & permission == permission


def iso(seconds: float) -> str:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{stamp}.{int(seconds * 1e6) % 1_000_000:06d}+00:00"
