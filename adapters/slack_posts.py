"""Posts, finds and deletes the bot's own messages."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from adapters.slack_calls import (
    RETRY_DELAYS,
    SlackBusy,
    SlackCalls,
    SlackRefused,
    SlackUnavailable,
)
from adapters.slack_events import SlackIdentity
from adapters.slack_format import body_blocks, fallback, to_mrkdwn
from adapters.slack_marks import is_same_answer
from bot.errors import PlatformRefused, PlatformUnavailable

Json = dict[str, Any]

NO_BLOCKS = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"})

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Destination:
    """Where an answer goes."""

    channel: str
    thread: str | None
    since: str
    """Timestamp of what is answered: the answer is later."""
    recipient: str = ""
    """The asker; Slack wants it for streams in channels."""
    tenant: str = ""


class SlackPosts:
    """Safe to use from several tasks at once."""

    def __init__(self, calls: SlackCalls, me: SlackIdentity) -> None:
        self._calls = calls
        self._me = me

    async def post(self, to: Destination, text: str, end: list[Json], metadata: Json) -> str:
        """Post one part, once, although a failed call may have posted it."""
        for delay in RETRY_DELAYS:
            try:
                return await self.post_once(to, text, end, metadata)
            except SlackBusy:
                continue  # the call has waited already
            except SlackUnavailable:
                await self._calls.sleep(delay)
                for posted in await self.own_messages(to):
                    if posted.get("metadata") == metadata:
                        return str(posted["ts"])
        return await self.post_once(to, text, end, metadata)

    async def post_once(self, to: Destination, text: str, end: list[Json], metadata: Json) -> str:
        common: Json = {
            "channel": to.channel,
            "thread_ts": to.thread,
            "metadata": metadata,
            "parse": "none",
            "link_names": False,
            "unfurl_links": False,
            "unfurl_media": False,
        }
        try:
            answer = await self._calls.write(
                "chat.postMessage", text=fallback(text), blocks=[*body_blocks(text), *end], **common
            )
        except SlackRefused as error:
            if error.code not in NO_BLOCKS:
                raise
            log.warning("slack: blocks were refused, sending text: %s", error.code)
            answer = await self._calls.write("chat.postMessage", text=to_mrkdwn(text), **common)
        return str(answer["ts"])

    async def remove(self, to: Destination, stamps: Iterable[str]) -> None:
        for ts in stamps:
            try:
                await self._calls.write("chat.delete", channel=to.channel, ts=ts)
            except (PlatformRefused, PlatformUnavailable) as error:
                log.warning("slack: half an answer stays in %s: %s", to.channel, error)

    async def show_status(self, to: Destination, text: str) -> bool:
        if not to.thread:
            return False
        try:
            await self._calls.write_now(
                "assistant.threads.setStatus",
                channel_id=to.channel,
                thread_ts=to.thread,
                status=text,
            )
        except (PlatformRefused, PlatformUnavailable) as error:
            log.debug("slack: no status: %s", error)
            return False
        return True

    async def own_messages(self, to: Destination) -> list[Json]:
        """The bot's messages there since the question, with metadata, oldest first.

        Raises PlatformUnavailable when Slack cannot tell now, PlatformRefused when never.
        """
        method = "conversations.replies" if to.thread else "conversations.history"
        arguments: Json = {"channel": to.channel, "oldest": to.since, "inclusive": "true"}
        if to.thread:
            arguments["ts"] = to.thread
        pages = self._calls.pages(method, "messages", include_all_metadata="true", **arguments)
        found = [message async for message in pages if self._me.wrote(message)]
        return sorted(found, key=lambda message: float(message["ts"]))

    async def retract(self, channel: str, ts: str) -> int:
        """Delete an answer whose first part is `ts`; gives how many messages went.

        Raises PlatformUnavailable, or PlatformRefused when it is not the bot's or is gone.
        """
        shown = await self._calls.read(
            "conversations.replies", channel=channel, ts=ts, include_all_metadata="true"
        )
        answer: Json = next((m for m in shown.get("messages") or [] if m.get("ts") == ts), {})
        if not self._me.wrote(answer):
            raise SlackRefused("message_not_found", "chat.delete")
        own = await self.own_messages(Destination(channel, answer.get("thread_ts"), since=ts))
        parts = [m["ts"] for m in own if m["ts"] == ts or is_same_answer(m, answer)]
        for part in parts:
            await self._calls.write("chat.delete", channel=channel, ts=part)
        return len(parts)
