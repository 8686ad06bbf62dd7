"""Shows replies in Slack: streamed, split, found again after a crash, complete in any case."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from adapters.markdown_parts import split_markdown
from adapters.slack_audiences import SlackDirectory
from adapters.slack_calls import NO_THREAD, SlackCalls, SlackRefused, SlackUnavailable
from adapters.slack_format import POST_CHARACTERS, end_blocks, neutralised
from adapters.slack_live import EditedMessage, LiveMessage, StreamedMessage
from adapters.slack_marks import earlier_answer, stamp_for
from adapters.slack_posts import Destination, SlackPosts
from adapters.slack_private import SlackPrivateReplies
from adapters.slack_texts import say
from adapters.slack_threads import SlackThreads
from bot.errors import PlatformRefused
from bot.messages import Delta, InboxEvent, IncomingMessage, Reply, ReplyStream, Status, Surface
from bot.ports import Inbox

NO_STREAMS = frozenset({"unknown_method", "missing_scope", "not_allowed_token_type"})

log = logging.getLogger(__name__)


class SlackReplies:
    """Delivers replies. Safe to use from several tasks, one per conversation."""

    def __init__(
        self,
        calls: SlackCalls,
        posts: SlackPosts,
        directory: SlackDirectory,
        threads: SlackThreads,
        inbox: Inbox,
        *,
        stream_pace: float,
        edit_pace: float,
    ) -> None:
        self._calls = calls
        self._posts = posts
        self._threads = threads
        self._inbox = inbox
        self._stream_pace = stream_pace
        self._edit_pace = edit_pace
        self._can_stream = True
        self._private = SlackPrivateReplies(calls, directory, inbox)

    async def deliver(
        self, event: InboxEvent, message: IncomingMessage, reply: ReplyStream
    ) -> str | None:
        """See `Platform.deliver`. Raises PlatformUnavailable when it should be tried again."""
        to = _destination(message)
        if message.private_reply:
            return await self._private.send(event, message, await _last(reply))
        if event.attempts > 1 or event.reply_ref:
            try:
                found = earlier_answer(message, await self._posts.own_messages(to))
            except PlatformRefused as error:
                log.warning(
                    "slack: event %s may have been answered, so it is not: %s", event.id, error
                )
                await _last(reply)
                return event.reply_ref
            if found.complete:
                await _last(reply)
                return found.complete
            await self._posts.remove(to, found.remains)
        try:
            return await self._answer(event, message, to, reply)
        except SlackRefused as error:
            if error.code in NO_THREAD:
                log.info("slack: event %s: the question is gone", event.id)
                return None
            return await self._tell_asker(event, message, error)

    async def _answer(
        self, event: InboxEvent, message: IncomingMessage, to: Destination, reply: ReplyStream
    ) -> str | None:
        draft = _Draft()
        try:
            final = await self._follow(event, message, to, reply, draft)
        except Exception:
            # Half an answer is worse than none when the other half does not come.
            await self._posts.remove(to, draft.stamps)
            raise
        to_asker = final.private or (final.failed and message.surface is not Surface.DM)
        if final.silent or to_asker:
            await self._posts.remove(to, draft.stamps)
            if draft.has_status:
                await self._posts.show_status(to, "")
            return None if final.silent else await self._private.send(event, message, final)
        if draft.uncertain:
            await self._posts.remove(
                to, earlier_answer(message, await self._posts.own_messages(to)).remains
            )
        return await self._complete(event, message, to, final, draft.live)

    async def _follow(
        self,
        event: InboxEvent,
        message: IncomingMessage,
        to: Destination,
        reply: ReplyStream,
        draft: _Draft,
    ) -> Reply:
        """Show the reply as it comes; gives its end."""
        final: Reply | None = None
        async for part in reply:
            match part:
                case Status():
                    draft.has_status = (
                        await self._posts.show_status(to, part.text) or draft.has_status
                    )
                case Delta():
                    draft.text += part.text
                    if draft.live:
                        await draft.live.show(draft.text)
                    elif draft.text.strip() and not draft.uncertain:
                        draft.live = await self._begin(to, message, draft.text)
                        draft.uncertain = draft.live is None
                        if draft.live:
                            await self._inbox.note_reply(event.id, draft.live.ts)
                case Reply():
                    final = part
        return _ended(final)

    async def _complete(
        self,
        event: InboxEvent,
        message: IncomingMessage,
        to: Destination,
        final: Reply,
        live: LiveMessage | None,
    ) -> str | None:
        text, end = neutralised(final.text), end_blocks(final, message.locale)
        stamp = stamp_for(message)
        rest = await live.finish(text, end, stamp) if live else None
        first = live.ts if live else None
        if rest is None:
            rest = split_markdown(text, POST_CHARACTERS) or (["✓"] if end else [])
            stale, first = first, None
            count, offset = len(rest), 0
        else:
            stale, count, offset = None, len(rest) + 1, 1
        for at, part in enumerate(rest):
            number = at + offset
            blocks = end if number == count - 1 else []
            ts = await self._posts.post(to, part, blocks, stamp(number, count))
            if first is None:
                first = ts
                await self._inbox.note_reply(event.id, ts)
        if stale:
            await self._posts.remove(to, [stale])
        if final.file:
            await self._private.send_file(message, final.file, "")
        if final.notice != final.text:
            await self._private.announce(message, final)
        if to.thread:
            self._threads.joined(to.channel, to.thread)
        return first

    async def _begin(
        self, to: Destination, message: IncomingMessage, text: str
    ) -> LiveMessage | None:
        """None when the answer has to wait until it is whole."""
        if self._can_stream and to.thread:
            try:
                return await StreamedMessage.start(self._calls, to, text, self._stream_pace)
            except SlackRefused as error:
                log.info("slack: no stream here: %s", error)
                self._can_stream = error.code not in NO_STREAMS
            except SlackUnavailable as error:
                log.info("slack: a stream could not be started: %s", error)
                return None
        try:
            ts = await self._posts.post_once(to, "…", [], stamp_for(message)(0, 0))
        except SlackUnavailable as error:
            log.info("slack: an answer could not be begun: %s", error)
            return None
        return EditedMessage(self._calls, to, ts, self._edit_pace)

    async def _tell_asker(
        self, event: InboxEvent, message: IncomingMessage, error: SlackRefused
    ) -> str | None:
        log.warning("slack: event %s: %s", event.id, error)
        reason = f"{error} {error.fix}".strip()
        text = say("failed_here", message.locale, reason=reason)
        return await self._private.send_dm(message, Reply(text, failed=True))


@dataclass(slots=True)
class _Draft:
    """An answer while it is written."""

    text: str = ""
    live: LiveMessage | None = None
    uncertain: bool = False
    """It could not be begun, or it is not known whether it was: it waits for its end."""
    has_status: bool = False

    @property
    def stamps(self) -> tuple[str, ...]:
        return (self.live.ts,) if self.live else ()


def _destination(message: IncomingMessage) -> Destination:
    in_thread = message.arguments.get("event") != "joined"
    return Destination(
        channel=message.channel,
        thread=(message.thread or message.message_id) if in_thread else None,
        since=f"{message.sent_at.timestamp():.6f}",
        recipient=message.author.person.name,
        tenant=message.tenant,
    )


async def _last(reply: ReplyStream) -> Reply:
    final: Reply | None = None
    async for part in reply:
        if isinstance(part, Reply):
            final = part
    return _ended(final)


def _ended(final: Reply | None) -> Reply:
    if final is None:
        raise ValueError("the stream of a reply ended without the reply")
    return final
