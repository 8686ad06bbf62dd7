"""Posts, finds and deletes the bot's own messages."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from adapters.markdown_parts import split_markdown
from adapters.slack_calls import (
    NO_THREAD,
    RETRY_DELAYS,
    SlackBusy,
    SlackCalls,
    SlackRefused,
    SlackUnavailable,
)
from adapters.slack_events import SlackIdentity
from adapters.slack_format import (
    POST_CHARACTERS,
    body_blocks,
    fallback,
    neutralised,
    to_mrkdwn,
)
from adapters.slack_marks import is_same_answer, stamp_of
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

    async def unasked(self, to: Destination, text: str) -> str | None:
        """Post Markdown that answers nothing, in parts if need be; gives the first part's id.

        Raises PlatformUnavailable when nothing was shown and it may be tried again,
        PlatformRefused when it never will be. None: it may have been shown.
        """
        try:
            # Slack answers now: what fails from here on may have been shown
            await self.own_messages(to)
        except SlackRefused as error:
            if error.code not in NO_THREAD or to.thread is None:
                raise
            return await self.unasked(replace(to, thread=None), text)
        parts = split_markdown(neutralised(text), POST_CHARACTERS)
        stamp = stamp_of(f"post:{secrets.token_hex(8)}")
        first: str | None = None
        for at, part in enumerate(parts):
            try:
                ts = await self.post(to, part, [], stamp(at, len(parts)))
            except (SlackBusy, SlackRefused) as error:
                if first is None:
                    raise
                log.warning("slack: half a post stays in %s: %s", to.channel, error)
                break
            except SlackUnavailable as error:
                log.warning("slack: a post may be missing in %s: %s", to.channel, error)
                break
            first = first or ts
        return first

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
