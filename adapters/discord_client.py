"""discord.py's client, wired: its events go to the recorder and to the interactions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route
from discord.state import ConnectionState

log = logging.getLogger(__name__)


class Listener(Protocol):
    """What a client tells."""

    async def setting_up(self) -> None:
        """Logged in, not connected."""
        ...

    async def ready(self) -> None:
        """A new session: events before it may have been missed."""
        ...

    def is_live(self, live: bool) -> None:
        """The cache is current from now on, or no longer."""
        ...

    async def said(self, message: discord.Message) -> None: ...

    async def edited(self, message: discord.Message) -> None: ...

    async def deleted(self, guild_id: int | None, channel_id: int, ids: Sequence[int]) -> None: ...

    async def channel_gone(self, guild_id: int, channel_id: int, parent_id: int | None) -> None: ...

    async def reacted(self, reaction: discord.RawReactionActionEvent, *, added: bool) -> None: ...

    async def called(self, interaction: discord.Interaction[Any]) -> None: ...

    async def joined(self, guild: discord.Guild) -> None: ...

    async def removed(self, guild_id: int) -> None: ...

    def thread_members_changed(self, thread_id: int) -> None: ...


def redirect(api_url: str | None, gateway_url: str | None) -> None:
    """Send discord.py to other addresses (settings for proxies and local stand-ins).

    discord.py keeps them in class attributes, so this holds for the whole process.
    """
    if api_url:
        Route.BASE = api_url.rstrip("/")
    if gateway_url:
        DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway_url)


def intents(*, message_content: bool = True, members: bool = True) -> discord.Intents:
    """What the bot asks the gateway for; the two arguments are the privileged ones."""
    wanted = discord.Intents.none()
    wanted.guilds = True
    wanted.guild_messages = True
    wanted.dm_messages = True
    wanted.guild_reactions = True
    wanted.dm_reactions = True
    wanted.message_content = message_content
    wanted.members = members
    return wanted


class _State(ConnectionState["Client"]):
    """discord.py ends the connection at an event whose shape it does not know, such as a partial
    message update. About messages and interactions that is one event lost; what is about
    guilds, roles or members may still end it, or the cache that tells who can read what would
    be wrong from then on.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for event, parse in self.parsers.items():
            if event.startswith(("MESSAGE_", "INTERACTION_")):
                self.parsers[event] = _tolerant(event, parse)


def _tolerant(event: str, parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def parse_or_skip(data: Any) -> None:
        try:
            parse(data)
        except (KeyError, TypeError, ValueError, AttributeError) as unknown:
            log.warning("%s %s skipped: %s", event, data.get("id"), type(unknown).__name__)

    return parse_or_skip


class Client(discord.Client):
    """A client that tells one listener; a failing listener stops nothing (discord.py logs it)."""

    def __init__(
        self,
        listener: Listener,
        wanted: discord.Intents,
        *,
        heartbeat_timeout: float,
        guild_timeout: float,
    ) -> None:
        super().__init__(
            intents=wanted,
            allowed_mentions=discord.AllowedMentions.none(),
            max_messages=None,  # edits and deletions carry all that is needed
            heartbeat_timeout=heartbeat_timeout,
            guild_ready_timeout=guild_timeout,
        )
        self._listener = listener

    def _get_state(self, **options: Any) -> _State:
        return _State(
            dispatch=self.dispatch, handlers=self._handlers, hooks=self._hooks, http=self.http,
            **options,
        )  # fmt: skip

    async def setup_hook(self) -> None:
        await self._listener.setting_up()

    async def on_ready(self) -> None:
        self._listener.is_live(True)
        await self._listener.ready()

    async def on_resumed(self) -> None:
        self._listener.is_live(True)

    async def on_disconnect(self) -> None:
        self._listener.is_live(False)

    async def on_message(self, message: discord.Message) -> None:
        await self._listener.said(message)

    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        await self._listener.edited(payload.message)

    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        await self._listener.deleted(payload.guild_id, payload.channel_id, [payload.message_id])

    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        ids = sorted(payload.message_ids)
        await self._listener.deleted(payload.guild_id, payload.channel_id, ids)

    async def on_raw_reaction_add(self, payload: discord.RawReactionActionEvent) -> None:
        await self._listener.reacted(payload, added=True)

    async def on_raw_reaction_remove(self, payload: discord.RawReactionActionEvent) -> None:
        await self._listener.reacted(payload, added=False)

    async def on_guild_channel_delete(self, channel: discord.abc.GuildChannel) -> None:
        await self._listener.channel_gone(channel.guild.id, channel.id, None)

    async def on_raw_thread_delete(self, payload: discord.RawThreadDeleteEvent) -> None:
        self._listener.thread_members_changed(payload.thread_id)
        private = payload.thread_type is discord.ChannelType.private_thread
        parent = None if private else payload.parent_id
        await self._listener.channel_gone(payload.guild_id, payload.thread_id, parent)

    async def on_interaction(self, interaction: discord.Interaction[Any]) -> None:
        await self._listener.called(interaction)

    async def on_guild_join(self, guild: discord.Guild) -> None:
        await self._listener.joined(guild)

    async def on_guild_available(self, guild: discord.Guild) -> None:
        await self._listener.joined(guild)  # it may have been joined while it was unavailable

    async def on_guild_remove(self, guild: discord.Guild) -> None:
        await self._listener.removed(guild.id)

    async def on_thread_member_join(self, member: discord.ThreadMember) -> None:
        self._listener.thread_members_changed(member.thread_id)

    async def on_thread_member_remove(self, member: discord.ThreadMember) -> None:
        self._listener.thread_members_changed(member.thread_id)

    async def on_raw_thread_member_remove(self, payload: discord.RawThreadMembersUpdate) -> None:
        self._listener.thread_members_changed(payload.thread_id)
