"""Replies that only one person sees: ephemeral messages, DMs, files, the Home tab."""

from __future__ import annotations

import logging
from typing import Any

import aiohttp
from slack_sdk.webhook.async_client import AsyncWebhookClient

from adapters.markdown_parts import split_markdown
from adapters.slack_audiences import SlackDirectory
from adapters.slack_calls import SlackCalls, sdk_logger
from adapters.slack_files import SlackFiles
from adapters.slack_format import (
    POST_CHARACTERS,
    body_blocks,
    end_blocks,
    fallback,
    neutralised,
)
from adapters.slack_home import home_view
from adapters.slack_marks import stamp_for
from bot.errors import PlatformRefused
from bot.messages import FileReply, InboxEvent, IncomingMessage, Reply, Surface
from bot.ports import Inbox

Json = dict[str, Any]

HIDDEN = "ephemeral"
"""Reply reference of what cannot be found again: it is not sent a second time."""
RESPONSES = 5
"""Uses of a response URL."""

log = logging.getLogger(__name__)


class SlackPrivateReplies:
    """Sends to one person."""

    def __init__(self, calls: SlackCalls, directory: SlackDirectory, inbox: Inbox) -> None:
        self._calls = calls
        self._directory = directory
        self._inbox = inbox
        self._files = SlackFiles(calls)

    async def send(self, event: InboxEvent, message: IncomingMessage, reply: Reply) -> str | None:
        """Send where the person is looking. Raises PlatformUnavailable or PlatformRefused.

        What only one person sees cannot be looked up again. So that it was sent is noted
        first, and after a crash in between it is not sent at all.
        """
        if reply.silent:
            return None
        if message.arguments.get("view") == "home":
            await self._publish_home(message, reply)
            return None
        if event.reply_ref == HIDDEN:
            log.warning("slack: event %s may have been answered already, so it is not", event.id)
            return None
        await self._inbox.note_reply(event.id, HIDDEN)
        if reply.file:
            await self.send_file(message, reply.file, reply.text)
            if message.surface is Surface.DM:
                return None
        if message.surface is Surface.DM:
            return await self._post(message.channel, message.thread, message, reply)
        noticed = await self.announce(message, reply)
        if noticed and reply.notice == reply.text:
            return noticed  # the person sees it where everybody does
        return await self._send_hidden(event, message, reply)

    async def announce(self, message: IncomingMessage, reply: Reply) -> str | None:
        """Post the notice of a reply for everybody in the channel; None without any.

        Where the bot may not post, only the reply itself is left to be shown.
        """
        if not reply.notice or message.surface is Surface.DM:
            return None
        try:
            return await self._post(message.channel, None, message, Reply(reply.notice))
        except PlatformRefused as error:
            log.warning("slack: no notice in %s: %s", message.channel, error)
            return None

    async def send_dm(self, message: IncomingMessage, reply: Reply) -> str | None:
        """Post in the DM with the author."""
        channel = await self._directory.dm_with(message.author.person.name)
        return await self._post(channel, None, message, reply)

    async def send_file(self, message: IncomingMessage, file: FileReply, text: str) -> None:
        """Hand over a file in the DM with the author."""
        channel = await self._directory.dm_with(message.author.person.name)
        await self._files.upload(channel, file, fallback(text) if text else None)

    async def _publish_home(self, message: IncomingMessage, reply: Reply) -> None:
        is_result = message.kind.value != "home"
        view = home_view(reply, message.locale, own=message.audience, is_result=is_result)
        await self._calls.write("views.publish", user_id=message.author.person.name, view=view)

    async def _send_hidden(
        self, event: InboxEvent, message: IncomingMessage, reply: Reply
    ) -> str | None:
        bodies = _bodies(message, reply)
        url = str(event.payload.get("response_url") or "")
        if url and len(bodies) <= RESPONSES and await self._respond(url, bodies):
            return None
        try:
            for body in bodies:
                await self._calls.write(
                    "chat.postEphemeral",
                    channel=message.channel,
                    user=message.author.person.name,
                    thread_ts=message.thread,
                    **body,
                )
        except PlatformRefused as error:
            log.info("slack: answering in the DM instead: %s", error)
            return await self.send_dm(message, reply)
        return None

    async def _respond(self, url: str, bodies: list[Json]) -> bool:
        """False when the response URL is used up or was never good."""
        client = AsyncWebhookClient(url, logger=sdk_logger(), retry_handlers=[])
        try:
            for body in bodies:
                answer = await client.send_dict(
                    body | {"response_type": "ephemeral", "replace_original": False}
                )
                if answer.status_code != 200:
                    log.info("slack: a response URL answered %s", answer.status_code)
                    return False
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            log.info("slack: a response URL failed: %s", type(error).__name__)
            return False
        return True

    async def _post(
        self, channel: str, thread: str | None, message: IncomingMessage, reply: Reply
    ) -> str | None:
        first: str | None = None
        bodies, stamp = _bodies(message, reply), stamp_for(message)
        for at, body in enumerate(bodies):
            answer = await self._calls.write(
                "chat.postMessage",
                channel=channel,
                thread_ts=thread,
                metadata=stamp(at, len(bodies)),
                unfurl_links=False,
                unfurl_media=False,
                **body,
            )
            first = first or str(answer["ts"])
        return first


def _bodies(message: IncomingMessage, reply: Reply) -> list[Json]:
    parts = split_markdown(neutralised(reply.text), POST_CHARACTERS)
    end = end_blocks(reply, message.locale)
    return [
        {
            "text": fallback(part),
            "blocks": [*body_blocks(part), *(end if at == len(parts) - 1 else [])],
        }
        for at, part in enumerate(parts)
    ]
