"""The bot's own posts, named so that they can be taken back; and people's files."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Final

import aiohttp
import discord

from adapters.discord_audiences import DIRECT, place_of
from adapters.discord_format import to_parts
from bot.errors import PlatformRefused, PlatformUnavailable
from bot.messages import Attachment
from memory.types import Audience

CHUNK_BYTES: Final = 1 << 16


def post_id(refs: Sequence[str]) -> str | None:
    """One id for all messages of an answer: `channel/first,second…`; the first message's own
    id for what only the asker ever saw, which cannot be taken back."""
    if not refs:
        return None
    channel, slash, _ = refs[0].rpartition("/")
    ids = [ref.rpartition("/")[2] for ref in refs]
    return channel + slash + ",".join(ids) if slash else ids[0]


async def post(
    client: discord.Client, audience: Audience, text: str, conversation: str
) -> str | None:
    """Post Markdown unasked: in a DM, in the thread of the place that `conversation` names, or
    else in the channel itself. Gives a `post_id`.

    Raises PlatformUnavailable when nothing was shown and it may be tried again, PlatformRefused
    when it never will be.
    """
    refs: list[str] = []
    nonce = secrets.token_hex(10)
    try:
        channel = await _destination(client, audience, conversation)
        for number, part in enumerate(to_parts(text)):
            sent = await channel.send(
                part, nonce=f"{nonce}{number:x}", allowed_mentions=discord.AllowedMentions.none()
            )
            refs.append(f"{sent.channel.id}/{sent.id}")
    except discord.HTTPException as failed:
        if not isinstance(failed, discord.DiscordServerError):
            raise PlatformRefused(f"Discord refused a post: {failed}") from failed
        if not refs:
            raise PlatformUnavailable("Discord did not take a post") from failed
    except (aiohttp.ClientError, OSError) as failed:
        if not refs:
            raise PlatformUnavailable("Discord could not be reached") from failed
    return post_id(refs)


async def _destination(
    client: discord.Client, audience: Audience, conversation: str
) -> discord.abc.Messageable:
    if audience.tenant == DIRECT:
        return await client.create_dm(discord.Object(int(audience.name)))
    guild_id = int(audience.tenant)
    if conversation.isdecimal() and conversation != audience.name:
        try:
            thread = client.get_channel(int(conversation)) or await client.fetch_channel(
                int(conversation)
            )
        except discord.NotFound:
            thread = None  # the question was answered in place
        if isinstance(thread, discord.Thread) and audience == place_of(guild_id, thread.id, thread):
            return thread
    return client.get_partial_messageable(int(audience.name), guild_id=guild_id)


async def retract(client: discord.Client, post: str) -> int:
    """Delete the messages of an answer; tells how many went.

    Raises PlatformRefused when it is not the bot's, PlatformUnavailable when Discord is away.
    """
    channel, slash, ids = post.partition("/")
    if not slash:
        raise PlatformRefused("what only the asker saw cannot be taken back")
    there = client.get_partial_messageable(int(channel))
    gone = 0
    for message_id in ids.split(","):
        try:
            await there.get_partial_message(int(message_id)).delete()
            gone += 1
        except discord.NotFound:
            continue
        except discord.DiscordServerError as failed:
            raise PlatformUnavailable("Discord did not take back a message") from failed
        except discord.HTTPException as refused:
            raise PlatformRefused(f"Discord refused to delete a message: {refused}") from refused
    return gone


async def download(attachment: Attachment, max_bytes: int) -> bytes:
    """The bytes of an attachment. Its address needs no token, so none is sent.

    Raises PlatformRefused when it is longer than `max_bytes` or gone, PlatformUnavailable when
    Discord does not answer.
    """
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.get(attachment.url, allow_redirects=False) as answer,
        ):
            if answer.status >= 500:
                raise PlatformUnavailable(f"Discord answered a download with {answer.status}")
            if answer.status != 200:
                raise PlatformRefused("the file is no longer there")
            data = bytearray()
            async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
                data += chunk
                if len(data) > max_bytes:
                    raise PlatformRefused("the file is too large")
            return bytes(data)
    except (aiohttp.ClientError, TimeoutError, OSError) as failed:
        raise PlatformUnavailable("Discord did not answer a download") from failed
