"""Shows a reply: in a thread or in place, in a DM, or as the answer to an interaction."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

import aiohttp
import discord

from adapters.discord_earlier import EarlierAnswers
from adapters.discord_format import Extras, compose, to_discord
from adapters.discord_interactions import Interactions
from adapters.discord_posts import post_id
from adapters.discord_recorder import POST, Recorder
from adapters.discord_state import KeyValue
from adapters.discord_texts import say
from adapters.discord_writer import Attached, ChannelSink, InteractionSink, Sink, Writer
from bot.errors import PlatformRefused, PlatformUnavailable
from bot.messages import (
    Delta,
    EventKind,
    InboxEvent,
    IncomingMessage,
    Reply,
    ReplyStream,
    Surface,
)
from bot.ports import Inbox

log = logging.getLogger(__name__)

TYPING_SECONDS: Final = 8.0
"""Discord shows "typing" for ten seconds."""
THREAD_NAME_LIMIT: Final = 60
THREAD_EXISTS: Final = 160004
LATE: Final = frozenset({10062, 10015, 10008, 50027})
"""Unknown interaction, unknown webhook, unknown message, invalid webhook token."""
NEEDED: Final = discord.Permissions(
    view_channel=True, send_messages=True, read_message_history=True, embed_links=True
)


class Delivery:
    """Delivers the replies of one connected client."""

    def __init__(
        self,
        client: discord.Client,
        *,
        inbox: Inbox,
        keep: KeyValue,
        recorder: Recorder,
        interactions: Interactions,
        interval: float,
        monotonic: Callable[[], float],
    ) -> None:
        self._client = client
        self._earlier = EarlierAnswers(client, inbox)
        self._keep = keep
        self._recorder = recorder
        self._interactions = interactions
        self._interval = interval
        self._monotonic = monotonic

    async def deliver(
        self, event: InboxEvent, message: IncomingMessage, stream: ReplyStream
    ) -> str | None:
        """Show the reply and return a `discord_posts.post_id`. See `bot.ports.Platform`.

        Raises PlatformUnavailable when trying again may help, else PlatformRefused.
        """
        answer = self._answer_message
        if "token" in event.payload:
            answer = self._answer_interaction
        try:
            return await answer(event, message, stream)
        except (discord.DiscordServerError, discord.RateLimited) as failed:
            raise PlatformUnavailable(f"Discord did not take the answer: {failed}") from failed
        except discord.HTTPException as refused:
            raise PlatformRefused(f"Discord refused the answer: {refused}") from refused
        except (aiohttp.ClientError, OSError) as failed:
            raise PlatformUnavailable("Discord could not be reached") from failed

    async def _answer_message(
        self, event: InboxEvent, message: IncomingMessage, stream: ReplyStream
    ) -> str | None:
        existing = await self._earlier.find(event, message)
        if existing is None:
            log.warning("%s may have been answered already: not sent again", event.delivery)
            await _read(stream, None)
            return None
        sink = ChannelSink(self._client, lambda: self._open(message), _nonce(message))
        writer = self._writer(event, message, sink, existing)
        async with self._typing(message):
            reply = await _read(stream, writer)
        if not existing and (reply.silent or _is_for_asker(reply, message)):
            await writer.withdraw()
        if reply.silent:
            return None
        if _is_for_asker(reply, message):
            here = {message.channel, message.thread, message.message_id}
            direct = [ref for ref in existing if ref.partition("/")[0] not in here]
            sent = await self._answer_directly(event, message, reply, direct)
            await self._notify(message, reply)
            return sent
        parts, extras = _composed(event, message, reply)
        try:
            await writer.finish(parts, extras, reply.file)
        except discord.Forbidden as refused:
            await self._explain_refusal(message)
            raise PlatformRefused(f"Discord refused the answer: {refused}") from refused
        return await self._as_post(writer.refs)

    async def _as_post(self, refs: list[str]) -> str | None:
        """The id of an answer, kept for each of its messages when there are several."""
        post = post_id(refs)
        if post is not None and len(refs) > 1:
            for ref in refs:
                await self._keep.put(f"{POST}{ref.rpartition('/')[2]}", post)
        return post

    async def _answer_interaction(
        self, event: InboxEvent, message: IncomingMessage, stream: ReplyStream
    ) -> str | None:
        refs = self._earlier.noted(event)
        if any("/" in ref for ref in refs):  # begun as a DM, because it was late already
            return await self._answer_directly(event, message, await _read(stream, None), refs)
        sink = InteractionSink(
            self._client,
            int(event.payload["application"]),
            event.payload["token"],
            refs[0] if refs else None,
        )
        writer = self._writer(event, message, sink, refs)
        in_time = await self._interactions.was_deferred(event.delivery) is not False
        reply = await _read(stream, writer if in_time else None)
        if reply.silent:
            return None
        await self._notify(message, reply)
        if in_time:
            parts, extras = _composed(event, message, reply)
            direct = reply.file is not None and message.surface is not Surface.DM
            if direct:
                in_time = await self._file_directly(message, reply)
            try:
                await writer.finish(parts, extras, None if direct and in_time else reply.file)
                return post_id(writer.refs)
            except discord.HTTPException as refused:
                if refused.code not in LATE and refused.status != 401:
                    raise
        log.warning("%s was late: answered by a message", event.delivery)
        return await self._answer_directly(event, message, reply, late=True)

    async def _answer_directly(
        self,
        event: InboxEvent,
        message: IncomingMessage,
        reply: Reply,
        existing: list[str] | None = None,
        *,
        late: bool = False,
    ) -> str | None:
        """Send what is for the asker alone as a DM; where they allow none, tell them so."""

        async def opened() -> tuple[int, int | None]:
            return (await self._direct_channel(message)).id, None

        sink = ChannelSink(self._client, opened, _nonce(message, "direct"))
        writer = self._writer(event, message, sink, existing or [])
        parts, extras = _composed(event, message, reply)
        if late:
            command = message.text.partition(" ")[0]
            parts = [say("too_late", message.locale, command=f"memory {command}"), *parts]
        try:
            await writer.finish(parts, extras, reply.file)
        except discord.Forbidden as refused:
            key = "lost" if late else "dm_closed"
            user = message.author.person.name
            await self._say_in_place(message, say(key, message.locale, user=user))
            raise PlatformRefused(f"no direct message to {user}") from refused
        return post_id(writer.refs)

    async def _file_directly(self, message: IncomingMessage, reply: Reply) -> bool:
        """Hand over the file in the asker's DM; False when they allow none."""
        try:
            channel = await self._direct_channel(message)
            sent = Attached(file=reply.file).for_sending()
            await channel.send(nonce=_nonce(message, "file"), **sent)
        except discord.Forbidden:
            return False
        return True

    async def _direct_channel(self, message: IncomingMessage) -> discord.DMChannel:
        return await self._client.create_dm(discord.Object(int(message.author.person.name)))

    async def _notify(self, message: IncomingMessage, reply: Reply) -> None:
        """Tell everybody in the place what a reply that they do not see means for them."""
        if reply.notice and message.surface not in (Surface.DM, Surface.GROUP_DM):
            await self._say_in_place(message, to_discord(reply.notice))

    async def _say_in_place(self, message: IncomingMessage, text: str) -> None:
        sink = ChannelSink(self._client, lambda: self._open(message), _nonce(message, "in"))
        try:
            await sink.create(0, text, Attached())
        except discord.HTTPException as refused:
            log.warning("%s: not told in place (%s)", message.event_id, refused.code)

    async def _explain_refusal(self, message: IncomingMessage) -> None:
        """Tell the asker alone which permission is missing and who can give it."""
        guild = self._client.get_guild(int(message.tenant)) if message.tenant.isdigit() else None
        where = int(message.thread or message.channel)
        channel = guild.get_channel_or_thread(where) if guild else None
        if guild is None or channel is None or isinstance(channel, discord.CategoryChannel):
            return
        needed = discord.Permissions(NEEDED.value)
        if message.thread:
            needed.send_messages_in_threads = True
        missing = [
            name.replace("_", " ").title()
            for name, wanted in needed
            if wanted and not getattr(channel.permissions_for(guild.me), name)
        ]
        text = say(
            "cannot_post",
            message.locale,
            channel=message.channel,
            permissions=", ".join(missing) or "Send Messages",
        )
        with suppress(discord.HTTPException):
            await (await self._direct_channel(message)).send(text)

    async def _open(self, message: IncomingMessage) -> tuple[int, int | None]:
        """Where the answer goes: a new thread under the question, or beside it as a reply."""
        channel_id = int(message.thread or message.channel)
        asked = message.kind in (EventKind.MESSAGE, EventKind.EDIT)
        in_place = channel_id, int(message.message_id) if asked else None
        if not asked or message.conversation != message.message_id or message.thread:
            return in_place
        message_id = int(message.message_id)
        channel = self._client.get_partial_messageable(channel_id, guild_id=int(message.tenant))
        name = " ".join(message.text.split())[:THREAD_NAME_LIMIT] or "Oboete"
        try:
            await channel.get_partial_message(message_id).create_thread(name=name)
        except discord.HTTPException as refused:
            if refused.code != THREAD_EXISTS:
                log.warning("no thread on %s (%s): in place", message_id, refused.code)
                return in_place
        # Discord gives the thread the id of its message.
        await self._recorder.follow(message_id, str(message_id))
        return message_id, None

    def _writer(
        self, event: InboxEvent, message: IncomingMessage, sink: Sink, existing: list[str]
    ) -> Writer:
        async def noted(refs: list[str]) -> None:
            await self._earlier.note(event, refs)

        return Writer(
            sink,
            owner=message.author.person.name,
            keep=self._keep,
            interval=self._interval,
            monotonic=self._monotonic,
            noted=noted,
            existing=existing,
        )

    @asynccontextmanager
    async def _typing(self, message: IncomingMessage) -> AsyncIterator[None]:
        """Show that the bot is at work on an answer."""
        if not message.addressed or message.kind is not EventKind.MESSAGE:
            yield
            return
        task = asyncio.create_task(self._type(int(message.thread or message.channel)))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _type(self, channel_id: int) -> None:
        channel = self._client.get_partial_messageable(channel_id)
        while True:
            try:
                await channel.typing()
            except (discord.HTTPException, aiohttp.ClientError, OSError) as failed:
                log.debug("typing not shown in %s: %s", channel_id, type(failed).__name__)
            await asyncio.sleep(TYPING_SECONDS)


async def _read(stream: ReplyStream, writer: Writer | None) -> Reply:
    """Take the stream to its end, showing what comes; returns the complete answer."""
    text = ""
    reply: Reply | None = None
    async for part in stream:
        if isinstance(part, Reply):
            reply = part
        elif isinstance(part, Delta) and writer is not None:
            text += part.text
            await writer.preview(text)
    if reply is None:
        raise ValueError("a reply stream ended without a reply")
    return reply


def _composed(
    event: InboxEvent, message: IncomingMessage, reply: Reply
) -> tuple[list[str], Extras]:
    by_command = message.kind in (EventKind.COMMAND, EventKind.ACTION)
    command = message.text if by_command else "list"
    return compose(reply, message.locale, command, event.payload.get("page", 0))


def _is_for_asker(reply: Reply, message: IncomingMessage) -> bool:
    """True when others would see what only the asker should, or needs to."""
    alone = reply.private or reply.failed or reply.file is not None
    return alone and message.surface is not Surface.DM


def _nonce(message: IncomingMessage, use: str = "") -> str:
    """Leaves room for the number of the part in Discord's 25 characters; the same whenever the
    event is tried again."""
    return hashlib.sha256(f"{message.event_id}|{use}".encode()).hexdigest()[:20]
