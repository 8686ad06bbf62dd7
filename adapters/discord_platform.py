"""Discord as a chat platform, on discord.py: see `bot.ports.Platform` and docs/architecture.md."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import aiohttp
import discord

from adapters import discord_posts
from adapters.discord_audiences import (
    DIRECT,
    PLATFORM,
    Audiences,
    direct_place,
    name_of,
    place,
    place_of,
)
from adapters.discord_client import Client, intents, redirect
from adapters.discord_commands import CommandSpec
from adapters.discord_delivery import Delivery
from adapters.discord_events import Self
from adapters.discord_gap import Gap, own_ids
from adapters.discord_incoming import Incoming
from adapters.discord_interactions import Interactions
from adapters.discord_invite import (
    MESSAGE_CONTENT,
    SERVER_MEMBERS,
    explain_intents,
)
from adapters.discord_recorder import GuildMessages, Recorder, channel_ids
from adapters.discord_setup import Guilds, ask_for_missing_intents, sync_commands
from adapters.discord_state import Hooks, KeyValue, Ledger, Rules
from bot.errors import PlatformUnavailable
from bot.messages import Attachment, InboxEvent, IncomingMessage, ReplyStream, Said
from bot.ports import Inbox, Privacy
from memory.ports import Clock
from memory.types import Audience, Person, Readable

log = logging.getLogger(__name__)

DELETED_PLACE_LIMIT: Final = 100_000


@dataclass(frozen=True, slots=True)
class Connection:
    """Where Discord is and how the connection is watched. None: Discord's own addresses."""

    api_url: str | None = None
    """Such as https://discord.com/api/v10."""
    gateway_url: str | None = None
    heartbeat_timeout: float = 60.0
    """Seconds without any word from the gateway after which the socket is given up."""
    guild_timeout: float = 2.0
    """Seconds without a further guild after which all are taken to have come."""
    edit_interval: float = 1.2
    """Seconds between two edits of an answer that is being streamed."""


class DiscordPlatform:
    """One bot user on Discord. Everything it needs is handed to it; it reads no settings."""

    name = PLATFORM

    def __init__(
        self,
        token: str,
        *,
        inbox: Inbox,
        keep: KeyValue,
        privacy: Privacy,
        ledger: Ledger,
        rules: Rules,
        commands: Sequence[CommandSpec],
        hooks: Hooks,
        clock: Clock,
        connection: Connection | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._token = token
        self._inbox = inbox
        self._keep = keep
        self._privacy = privacy
        self._ledger = ledger
        self._rules = rules
        self._commands = tuple(commands)
        self._hooks = hooks
        self._clock = clock
        self._connection = connection or Connection()
        self._monotonic = monotonic
        self._live = asyncio.Event()
        self._missing: tuple[str, ...] = ()
        self._recorder = Recorder(
            inbox=inbox, keep=keep, ledger=ledger, rules=rules, me=self._self, clock=clock
        )
        self._guilds = Guilds(self._recorder, keep, clock)
        self._interactions = Interactions(
            recorder=self._recorder,
            keep=keep,
            rules=rules,
            commands=self._commands,
            suggest=hooks.suggest,
            audiences=lambda: self._audiences,
            me=self._self,
        )
        self._wire(missing=())

    def lane(self, event: InboxEvent) -> str:
        """See `bot.ports.Platform`."""
        return str(event.payload["conversation"])

    async def run(self) -> None:
        """Receive events until cancelled.

        Raises PlatformUnavailable when the token is refused or Discord cannot be reached at the
        start; later, discord.py reconnects and resumes by itself.
        """
        redirect(self._connection.api_url, self._connection.gateway_url)
        try:
            self._wire(missing=await ask_for_missing_intents(self._token))
            await self.client.login(self._token)
            await self._stay_connected()
        except discord.LoginFailure as refused:
            raise PlatformUnavailable(
                "Discord refused the token", fix="Set DISCORD_TOKEN to the bot's current token."
            ) from refused
        except discord.PrivilegedIntentsRequired as refused:
            wanted = explain_intents((MESSAGE_CONTENT, SERVER_MEMBERS))
            raise PlatformUnavailable("Discord refused the intents", fix=wanted) from refused
        except (discord.DiscordException, aiohttp.ClientError, OSError) as failed:
            raise PlatformUnavailable(f"Discord cannot be used: {failed}") from failed
        finally:
            self.is_live(False)
            await self.client.close()

    async def until_ready(self) -> None:
        """Wait for the gateway: who may read what is not known without it."""
        await self._live.wait()

    async def incoming(self, event: InboxEvent) -> IncomingMessage | None:
        """See `bot.ports.Platform`. Raises PlatformUnavailable while the gateway is away."""
        if not self._live.is_set():
            raise PlatformUnavailable("not connected to Discord")
        return await self._incoming.read(event)

    async def deliver(
        self, event: InboxEvent, message: IncomingMessage, reply: ReplyStream
    ) -> str | None:
        """See `bot.ports.Platform`."""
        return await self._delivery.deliver(event, message, reply)

    async def post(self, audience: Audience, text: str, *, conversation: str) -> str | None:
        """See `discord_posts.post`."""
        return await discord_posts.post(self.client, audience, text, conversation)

    async def readable_for(self, audience: Audience) -> Readable:
        """What everybody who reads the place can read now; the place alone while that is not
        known.
        """
        if audience.tenant == DIRECT:
            return await self._audiences.of_person(int(audience.name), None)
        return await self._incoming.readable_in(int(audience.tenant), int(audience.name))

    async def place_name(self, place: Audience, locale: str) -> str:
        """See `bot.place_names.Naming`."""
        return name_of(self.client, place, locale)

    async def readable_by(self, who: Person) -> Readable:
        """What a person can read now: their DM and their mutual guilds."""
        return await self._audiences.of_person(int(who.name), None)

    async def still_readable(self, message: IncomingMessage, used: Readable) -> Readable:
        """Those of the places that whoever will read the answer can read at this moment."""
        for audience in used:
            if audience.name.isdecimal():
                self._audiences.forget_thread_members(int(audience.name))
        return Readable(used.audiences & (await self._incoming.readable_now(message)).audiences)

    async def retract(self, place: Audience, post: str) -> int:
        """Delete an answer of the place by what `deliver` gave. See `discord_posts.retract`."""
        return await discord_posts.retract(self.client, post)

    async def download(self, attachment: Attachment, max_bytes: int) -> bytes:
        """See `discord_posts.download`."""
        return await discord_posts.download(attachment, max_bytes)

    async def read_again(self) -> None:
        """Look again for missed messages, edits and deletions in followed conversations; does
        nothing while the gateway is away.
        """
        if self._live.is_set():
            await self._gap.read()

    async def recheck(self, said: Sequence[Said]) -> int:
        """See `bot.rereading.Rereadable`."""
        return await self._gap.recheck(said)

    @property
    def connected(self) -> bool:
        """False while the gateway is away, half-open sockets included."""
        return self._live.is_set()

    @property
    def last_inbound(self) -> datetime | None:
        """When an event was last put into the inbox (UTC)."""
        return self._recorder.last_inbound

    @property
    def missing_intents(self) -> tuple[str, ...]:
        """Names of the privileged intents that the application has not been given."""
        return self._missing

    def explain(self) -> str:
        """What the application has not been allowed, and how to allow it; empty if nothing."""
        return explain_intents(self._missing)

    # What the client tells (adapters.discord_client.Listener).

    async def setting_up(self) -> None:
        await sync_commands(self.client, self._commands, self._keep)

    def is_live(self, live: bool) -> None:
        if live:
            self._live.set()
        else:
            self._live.clear()
            self._audiences.forget_all()

    async def ready(self) -> None:
        for guild in self.client.guilds:
            await self._guilds.joined(guild)
        await self._gap.read()

    async def said(self, message: discord.Message) -> None:
        await self._recorder.message(message)

    async def edited(self, message: discord.Message) -> None:
        await self._recorder.edit(message)

    async def deleted(self, guild_id: int | None, channel_id: int, ids: Sequence[int]) -> None:
        channel: GuildMessages | None = None
        if guild_id is None:
            here = await self._recorder.place_of_direct(channel_id)
        else:
            channel = await self._message_channel(guild_id, channel_id)
            here = place_of(guild_id, channel_id, channel)
        if here is not None:
            await self._recorder.delete(here, channel_id, channel, ids)

    async def channel_gone(self, guild_id: int, channel_id: int, parent_id: int | None) -> None:
        here = place(guild_id, parent_id or channel_id)
        stored = await self._ledger.stored(here, DELETED_PLACE_LIMIT)
        if parent_id is None:
            ids = [int(message_id) for _, message_id in stored if message_id.isdecimal()]
        else:
            guild = self.client.get_guild(guild_id)
            parent = guild.get_channel(parent_id) if guild else None
            is_post = isinstance(parent, discord.ForumChannel)
            ids = own_ids(stored, channel_id, here, is_post=is_post)
        await self._recorder.delete(here, channel_id, None, ids)

    async def reacted(self, reaction: discord.RawReactionActionEvent, *, added: bool) -> None:
        guild_id, channel_id = reaction.guild_id, reaction.channel_id
        ids: list[str] = []
        if guild_id is None:
            here = direct_place(reaction.user_id)
        else:
            channel = await self._message_channel(guild_id, channel_id)
            here = place_of(guild_id, channel_id, channel)
            ids = channel_ids(channel_id, channel)
        await self._recorder.reaction(reaction, here, ids, added=added)

    async def called(self, interaction: discord.Interaction[Any]) -> None:
        await self._interactions.handle(interaction)

    async def joined(self, guild: discord.Guild) -> None:
        await self._guilds.joined(guild)

    async def removed(self, guild_id: int) -> None:
        await self._guilds.removed(guild_id)

    def thread_members_changed(self, thread_id: int) -> None:
        self._audiences.forget_thread_members(thread_id)

    def _wire(self, *, missing: Sequence[str]) -> None:
        """Build the client, and what depends on it, for the intents that are granted."""
        self._missing = tuple(missing)
        members = SERVER_MEMBERS not in missing
        self.client = Client(
            self,
            intents(message_content=MESSAGE_CONTENT not in missing, members=members),
            heartbeat_timeout=self._connection.heartbeat_timeout,
            guild_timeout=self._connection.guild_timeout,
        )
        self._audiences = Audiences(
            self.client,
            is_live=self._live.is_set,
            members_known=members,
            privacy=self._privacy,
            clock=self._clock,
        )
        self._incoming = Incoming(
            self.client,
            audiences=self._audiences,
            recorder=self._recorder,
            keep=self._keep,
            rules=self._rules,
            me=self._self,
        )
        self._delivery = Delivery(
            self.client,
            inbox=self._inbox,
            keep=self._keep,
            recorder=self._recorder,
            interactions=self._interactions,
            interval=self._connection.edit_interval,
            monotonic=self._monotonic,
        )
        self._gap = Gap(
            self.client,
            recorder=self._recorder,
            keep=self._keep,
            ledger=self._ledger,
            clock=self._clock,
        )

    async def _stay_connected(self) -> None:
        while not self.client.is_closed():
            try:
                await self.client.connect()
            except (KeyError, TypeError, ValueError, AttributeError):
                # discord.py stops at an event of a shape that it does not know. A new session
                # goes on after it, and the gap is read again.
                log.exception("an event could not be read, connecting anew")
                self.is_live(False)
                await asyncio.sleep(1)

    async def _message_channel(self, guild_id: int, channel_id: int) -> GuildMessages | None:
        guild = self.client.get_guild(guild_id)
        channel = guild.get_channel_or_thread(channel_id) if guild else None
        if guild is not None and channel is None:  # an archived thread
            with suppress(discord.HTTPException):
                channel = await guild.fetch_channel(channel_id)
        return channel if isinstance(channel, GuildMessages) else None

    def _self(self) -> Self:
        user = self.client.user
        return Self(user.id if user else 0, self._hooks.redact)
