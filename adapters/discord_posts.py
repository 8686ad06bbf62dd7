"""The bot's own posts, named so that they can be taken back; and people's files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import aiohttp
import discord

from bot.errors import PlatformRefused, PlatformUnavailable
from bot.messages import Attachment

CHUNK_BYTES: Final = 1 << 16


def post_id(refs: Sequence[str]) -> str | None:
    """One id for all messages of an answer: `channel/first,second…`; the first message's own
    id for what only the asker ever saw, which cannot be taken back."""
    if not refs:
        return None
    channel, slash, _ = refs[0].rpartition("/")
    ids = [ref.rpartition("/")[2] for ref in refs]
    return channel + slash + ",".join(ids) if slash else ids[0]


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
