"""What is done once: at the start of a connection, and when a guild is joined or left."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

import discord

from adapters.discord_client import intents
from adapters.discord_commands import CommandSpec, digest, to_payload
from adapters.discord_events import of_guild
from adapters.discord_invite import explain_intents, missing_intents
from adapters.discord_recorder import Recorder
from adapters.discord_state import KeyValue
from memory.ports import Clock

log = logging.getLogger(__name__)

COMMANDS_HASH: Final = "discord.commands"
"""Hash of the commands that Discord was last told of: it allows 200 creations a day."""
GREETED: Final = "discord.greeted."
"""+ guild id: the notice of what is stored was posted."""


async def ask_for_missing_intents(token: str) -> list[str]:
    """Ask Discord which privileged intents the application has not been given: asking the
    gateway for them would end the connection. Raises what discord.py raises."""
    unprivileged = intents(message_content=False, members=False)
    async with discord.Client(intents=unprivileged) as asking:
        await asking.login(token)
        missing = missing_intents(asking.application_flags)
    for line in explain_intents(missing).splitlines():
        log.warning("%s", line)
    return missing


async def sync_commands(
    client: discord.Client, commands: Sequence[CommandSpec], keep: KeyValue
) -> None:
    """Tell Discord of the commands when they are not what it was last told."""
    application = client.application_id
    assert application is not None
    payload = to_payload(commands)
    current = f"{application}:{digest(payload)}"
    if await keep.get(COMMANDS_HASH) != current:
        await client.http.bulk_upsert_global_commands(application, payload)
        await keep.put(COMMANDS_HASH, current)
        log.info("commands sent to Discord")


class Guilds:
    """Lets the bot say once in a guild what it stores there, and tells when it was removed."""

    def __init__(self, recorder: Recorder, keep: KeyValue, clock: Clock) -> None:
        self._recorder = recorder
        self._keep = keep
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()

    async def joined(self, guild: discord.Guild) -> None:
        """The bot is in a guild; does nothing where it has spoken already."""
        async with self._one_at_a_time:
            key = f"{GREETED}{guild.id}"
            if guild.unavailable or await self._keep.get(key):
                return
            channel = _first_to_write_in(guild)
            if channel is not None:
                joined = of_guild("joined", guild.id, channel.id, self._clock())
                await self._recorder.commit(joined)
                await self._keep.put(key, "yes")

    async def removed(self, guild_id: int) -> None:
        """The bot is no longer in a guild."""
        await self._keep.put(f"{GREETED}{guild_id}", "")
        left = of_guild("uninstalled", guild_id, guild_id, self._clock())
        await self._recorder.commit(left)


def _first_to_write_in(guild: discord.Guild) -> discord.TextChannel | None:
    usual = [guild.system_channel] if guild.system_channel else []
    for channel in [*usual, *guild.text_channels]:
        mine = channel.permissions_for(guild.me)
        if mine.view_channel and mine.send_messages:
            return channel
    return None
