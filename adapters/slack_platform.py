"""Slack: mentions, DMs, commands, buttons and the Home tab, over Socket Mode or HTTP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from adapters.slack_app import bolt_app
from adapters.slack_audiences import SlackDirectory
from adapters.slack_calls import SlackCalls, web_client
from adapters.slack_events import (
    PLATFORM,
    Redact,
    SlackIdentity,
    SlackRules,
    delivery_of,
    event_of,
    is_wanted,
    lane_of,
    stripped,
)
from adapters.slack_files import SlackFiles
from adapters.slack_gap import Followed, changed, missed
from adapters.slack_http import HttpEndpoint, SlackHttp
from adapters.slack_incoming import SlackIncoming
from adapters.slack_posts import Destination, SlackPosts
from adapters.slack_replies import SlackReplies
from adapters.slack_socket import SlackSocket
from adapters.slack_texts import say
from adapters.slack_threads import SlackThreads
from bot.errors import PlatformUnavailable
from bot.messages import Attachment, InboxEvent, IncomingMessage, ReplyStream, Said, Surface
from bot.ports import Inbox, Privacy
from memory.ports import Clock
from memory.types import Audience, Person, Readable

Json = dict[str, Any]

DEFAULT_API_URL = "https://slack.com/api/"

CLOCKS_APART = timedelta(minutes=5)
"""By how much Slack's clock and ours may differ."""

log = logging.getLogger(__name__)


async def _nothing_followed() -> Sequence[Followed]:
    return ()


def _nowhere(_: Audience) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class SlackSettings:
    """Values that the platform runs with."""

    bot_token: str
    app_token: str = ""
    """For Socket Mode."""
    http: HttpEndpoint | None = None
    """For HTTP instead of Socket Mode."""
    api_url: str = DEFAULT_API_URL
    admins: frozenset[Person] = frozenset()
    rules: SlackRules = field(default_factory=SlackRules)
    ping_seconds: float = 10.0
    stream_pace: float = 1.0
    """Seconds between two pieces of a stream (chat.appendStream allows about 100 a minute)."""
    edit_pace: float = 1.2
    """Seconds between two edits of one message."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """What exists once Slack has told who the bot is."""

    me: SlackIdentity
    directory: SlackDirectory
    threads: SlackThreads
    incoming: SlackIncoming
    posts: SlackPosts
    replies: SlackReplies


class SlackPlatform:
    """One workspace. Implements `bot.ports.Platform`."""

    def __init__(
        self,
        settings: SlackSettings,
        inbox: Inbox,
        clock: Clock,
        redact: Redact,
        *,
        privacy: Privacy,
        listens: Callable[[Audience], bool] = _nowhere,
        collects: Callable[[Audience], bool] = _nowhere,
        followed: Callable[[], Awaitable[Sequence[Followed]]] = _nothing_followed,
    ) -> None:
        """`listens` tells whether everything said in a place is wanted, `collects` whether every
        file is, and both must be quick; `followed` gives the conversations to read again after
        downtime.
        """
        self._settings = settings
        self._inbox = inbox
        self._clock = clock
        self._redact = redact
        self._privacy = privacy
        self._listens = listens
        self._collects = collects
        self._followed = followed
        self._calls = SlackCalls(web_client(settings.bot_token, settings.api_url))
        self._parts: _Parts | None = None
        self._starting = asyncio.Lock()
        self._receiver: SlackSocket | SlackHttp | None = None
        self._last_inbound: datetime | None = None

    @property
    def name(self) -> str:
        return PLATFORM

    @property
    def connected(self) -> bool:
        """False while nothing can be received, as far as is known."""
        return self._receiver is not None and self._receiver.is_connected

    @property
    def last_inbound(self) -> datetime | None:
        """When Slack sent anything last."""
        return self._last_inbound

    @property
    def address(self) -> str | None:
        """Where HTTP events are received, once `run` has started."""
        return self._receiver.address if isinstance(self._receiver, SlackHttp) else None

    def lane(self, event: InboxEvent) -> str:
        return lane_of(event.payload)

    async def incoming(self, event: InboxEvent) -> IncomingMessage | None:
        return await (await self._ready()).incoming.parse(event)

    async def deliver(
        self, event: InboxEvent, message: IncomingMessage, reply: ReplyStream
    ) -> str | None:
        return await (await self._ready()).replies.deliver(event, message, reply)

    async def post(self, audience: Audience, text: str, *, conversation: str) -> str | None:
        """Post Markdown unasked: in a DM, in the thread that `conversation` names, or else in the
        place itself. See `SlackPosts.unasked`.
        """
        parts = await self._ready()
        channel, _, root = conversation.partition("/")
        to = Destination(
            await parts.directory.channel_of(audience.name),
            thread=root if root and channel == audience.name else None,
            since=f"{(self._clock() - CLOCKS_APART).timestamp():.6f}",
        )
        return await parts.posts.unasked(to, text)

    async def retract(self, place: Audience, message_id: str) -> int:
        """Delete an answer by what `deliver` gave; tells how many messages went.

        Raises PlatformUnavailable, or PlatformRefused when it is not the bot's or is gone.
        """
        return await (await self._ready()).posts.retract(place.name, message_id)

    async def download(self, attachment: Attachment, max_bytes: int) -> bytes:
        """See `SlackFiles.download`."""
        return await SlackFiles(self._calls).download(attachment, max_bytes)

    async def until_ready(self) -> None:
        """See `bot.ports.Platform`. Who may read what is asked over the Web API: nothing waits."""

    async def readable_by(self, person: Person) -> Readable:
        """What one person can read now, for their tokens and reminders."""
        return await (await self._ready()).directory.readable_by(person.name)

    async def readable_for(self, audience: Audience) -> Readable:
        """What everybody who reads the place can read now; the place alone while that is not
        known.
        """
        return await (await self._ready()).directory.readable_for(audience.name)

    async def place_name(self, place: Audience, locale: str) -> str:
        """See `bot.place_names.Naming`."""
        found = await (await self._ready()).directory.place(place.name)
        if found.surface is Surface.DM:
            return say("alone", locale)
        return f"#{found.name}" if found.name else ""

    async def still_readable(self, message: IncomingMessage, used: Readable) -> Readable:
        """Those of the places `used` that the readers of the answer can read at this moment."""
        parts = await self._ready()
        alone = message.private_reply or message.surface is Surface.DM
        only = message.author.person.name if alone else None
        return await parts.directory.still_readable(used, channel=message.channel, only=only)

    async def run(self) -> None:
        parts = await self._ready()
        http = self._settings.http
        app = bolt_app(
            self._calls,
            parts.me,
            parts.directory,
            signing_secret=http.signing_secret if http else "",
            receive=lambda body: self._receive(parts, body),
        )
        if http:
            await self.read_again()
            self._receiver = SlackHttp(app, http)
        else:
            self._receiver = SlackSocket(
                app,
                self._settings.app_token,
                self._settings.api_url,
                ping_seconds=self._settings.ping_seconds,
                on_outage_over=self.read_again,
            )
        await self._receiver.run()

    async def read_again(self) -> None:
        """Put what was missed in the followed conversations into the inbox."""
        parts, count = await self._ready(), 0
        for followed in await self._followed():
            try:
                async for body in missed(self._calls, parts.me, followed, self._clock()):
                    count += await self._commit(parts, body)
            except PlatformUnavailable as error:
                log.warning("slack: a conversation could not be read again: %s", error)
        log.info("slack: %s events were missed", count)

    async def recheck(self, said: Sequence[Said]) -> int:
        """See `bot.rereading.Rereadable`."""
        parts, count = await self._ready(), 0
        for each in said:
            for body in await changed(self._calls, each):
                count += await self._commit(parts, body)
        return count

    # --- starting -----------------------------------------------------------------------

    async def _ready(self) -> _Parts:
        """Raises PlatformUnavailable, or PlatformRefused when the token is not good."""
        async with self._starting:
            if self._parts is None:
                self._parts = self._build(await self._who_am_i())
            return self._parts

    async def _who_am_i(self) -> SlackIdentity:
        answer = await self._calls.read("auth.test")
        user = str(answer["user_id"])
        shown = await self._calls.read("users.info", user=user)
        profile = (shown.get("user") or {}).get("profile") or {}
        return SlackIdentity(
            tenant=str(answer["team_id"]),
            user=user,
            bot=str(answer.get("bot_id") or ""),
            name=profile.get("display_name") or profile.get("real_name") or str(answer.get("user")),
            url=str(answer.get("url") or "https://slack.com/"),
        )

    def _build(self, me: SlackIdentity) -> _Parts:
        directory = SlackDirectory(self._calls, me.tenant, self._privacy, self._clock)
        threads = SlackThreads(self._calls, directory, me, self._redact)
        incoming = SlackIncoming(
            me,
            directory,
            threads,
            SlackFiles(self._calls),
            admins=self._settings.admins,
            wants=lambda message, channel: self._wants(directory, message, channel),
            redact=self._redact,
        )
        posts = SlackPosts(self._calls, me)
        replies = SlackReplies(
            self._calls,
            posts,
            directory,
            threads,
            self._inbox,
            stream_pace=self._settings.stream_pace,
            edit_pace=self._settings.edit_pace,
        )
        return _Parts(me, directory, threads, incoming, posts, replies)

    async def _commit(self, parts: _Parts, body: Json) -> bool:
        """True when the event is new and wanted; then it is on disk. Raises StoreUnavailable."""
        directory = parts.directory
        if not is_wanted(
            body,
            parts.me,
            self._settings.rules,
            lambda message, channel: self._wants(directory, message, channel),
        ):
            return False
        delivery, kept = delivery_of(body), stripped(body, self._redact)
        event_id = await self._inbox.commit(PLATFORM, parts.me.tenant, delivery, kept)
        if event_id is None:
            log.debug("slack: %s was delivered before", delivery)
        return event_id is not None

    def _wants(self, directory: SlackDirectory, message: Json, channel: str) -> bool:
        """True for a message of a place that is wanted although it is not addressed to the bot."""
        place = directory.audience(channel)
        return self._listens(place) or (bool(message.get("files")) and self._collects(place))

    async def _receive(self, parts: _Parts, body: Json) -> None:
        self._last_inbound = self._clock()
        parts.directory.note(event_of(body))
        parts.threads.note(body)
        await self._commit(parts, body)
