"""The Slack adapter running against the wire double, and people to act in the workspace."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from adapters.slack_events import SlackRules
from adapters.slack_gap import Followed
from adapters.slack_http import HttpEndpoint
from adapters.slack_platform import SlackPlatform, SlackSettings
from bot.messages import InboxEvent, IncomingMessage
from memory.types import Audience
from tests.contracts.platform import MemoryInbox, MemoryPrivacy
from tests.e2e.slack_double import SIGNING_SECRET, Fault, SlackDouble
from tests.e2e.slack_workspace import BOT_USER, Json, Workspace, shown_text

ALICE, BOB = "UALICE", "UBOB"
GENERAL = "CGENERAL"
SECRET = re.compile(r"sk-test-\w+")


def redact(text: str) -> str:
    return SECRET.sub("[redacted]", text)


class SettableClock:
    """The real time, moved forward on demand."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


def workspace() -> Workspace:
    """Alice and Bob, and #general with both."""
    made = Workspace()
    made.add_user(ALICE, "Alice", locale="ja-JP")
    made.add_user(BOB, "Bob")
    made.add_channel(GENERAL, "public", ALICE, BOB)
    return made


class SlackStage:
    """Implements `tests.contracts.platform.Stage`."""

    limit = 12_000

    def __init__(
        self,
        slack: SlackDouble,
        platform: SlackPlatform,
        inbox: MemoryInbox,
        privacy: MemoryPrivacy,
    ) -> None:
        self.slack = slack
        self.platform = platform
        self.inbox = inbox
        self.privacy = privacy

    async def settled(self) -> None:
        await self.slack.until(lambda: not self.slack.unacknowledged)

    async def event(self, after: int) -> InboxEvent:
        await self.slack.until(lambda: len(self.inbox.events) > after)
        return self.inbox.events[after]

    async def mention(self, text: str, *, user: str = "alice") -> IncomingMessage:
        said = f"<@{BOT_USER}> {text}"
        return await self.say(said, user=f"U{user.upper()}", channel=GENERAL)

    async def mention_in(self, thread: str, text: str) -> IncomingMessage:
        return await self.say(f"<@{BOT_USER}> {text}", thread_ts=thread)

    async def say(
        self, text: str, *, user: str = ALICE, channel: str = GENERAL, **fields: Any
    ) -> IncomingMessage:
        """Say something that concerns the bot; gives what comes out of the inbox."""
        await self.settled()
        count = len(self.inbox.events)
        await self.slack.say(user, channel, text, **fields)
        await self.settled()
        message = await self.platform.incoming(await self.event(count))
        assert message is not None
        return message

    async def edit(self, message: IncomingMessage, text: str) -> None:
        await self.slack.edit(message.channel, message.message_id, f"<@{BOT_USER}> {text}")
        await self.settled()

    async def delete(self, message: IncomingMessage) -> None:
        await self.slack.delete(message.channel, message.message_id)
        await self.settled()

    def edit_unseen(self, message: IncomingMessage, text: str) -> None:
        stamp = {"user": message.author.person.name, "ts": self.slack.workspace.next_ts()}
        posted = self.slack.workspace.messages[message.channel][message.message_id]
        posted |= {"text": f"<@{BOT_USER}> {text}", "edited": stamp}

    def delete_unseen(self, message: IncomingMessage) -> None:
        del self.slack.workspace.messages[message.channel][message.message_id]

    async def press(self, label: str, *, user: str = "alice") -> None:
        message, button = next(
            (m, b) for m in reversed(self._messages()) for b in _buttons(m) if _label(b) == label
        )
        person, before = f"U{user.upper()}", len(self.slack.workspace.modals)
        await self.slack.click(person, button, channel=GENERAL, message=message)
        await self.settled()
        if button.get("style") == "danger":
            await self.slack.until(lambda: len(self.slack.workspace.modals) > before)
            await self.slack.submit(person, self.slack.workspace.modals[-1])
            await self.settled()

    async def redeliver(self) -> None:
        await self.slack.redeliver(everything=True)
        await self.settled()

    def _messages(self) -> list[Json]:
        return self.slack.workspace.answers(GENERAL)

    def shown(self) -> list[str]:
        return [shown_text(message) for message in self._messages()]

    def shown_to(self, user: str) -> list[str]:
        person = f"U{user.upper()}"
        hidden = [shown_text(m) for m in self.slack.workspace.ephemeral if m["user"] == person]
        dm = self.slack.workspace.answers(self.slack.workspace.open_dm(person).id)
        return [*hidden, *(shown_text(message) for message in dm)]

    def buttons(self) -> list[str]:
        return [_label(button) for message in self._messages() for button in _buttons(message)]

    def pings(self) -> list[str]:
        ping = re.compile(r"<[!@#]|(?<![A-Za-z0-9.])@(?:channel|here|everyone)")
        fields = [f for m in self._messages() for f in (shown_text(m), str(m["text"]))]
        return [field for field in fields if ping.search(field)]

    def fail_sending(self, times: int) -> None:
        for method in ("chat.startStream", "chat.postMessage", "chat.update"):
            self.slack.fail(method, *[Fault("internal_error")] * times)

    def fail_edits(self) -> None:
        for method in ("chat.appendStream", "chat.stopStream", "chat.update"):
            self.slack.fail(method, *[Fault("cant_update_message")] * 100)


def _buttons(message: Json) -> list[Json]:
    return [
        element
        for block in message.get("blocks") or []
        if block["type"] == "actions"
        for element in block["elements"]
    ]


def _label(button: Json) -> str:
    return str(button["text"]["text"])


async def nothing_followed() -> Sequence[Followed]:
    return ()


@asynccontextmanager
async def slack_stage(
    made: Workspace | None = None,
    *,
    http: bool = False,
    rules: SlackRules | None = None,
    listens: Callable[[Audience], bool] = lambda _: False,
    collects: Callable[[Audience], bool] = lambda _: False,
    followed: Callable[[], Any] = nothing_followed,
    clock: SettableClock | None = None,
    inbox: MemoryInbox | None = None,
    settings: SlackSettings | None = None,
) -> AsyncIterator[SlackStage]:
    """A running adapter, connected."""
    async with SlackDouble(made or workspace()) as slack:
        inbox, privacy = inbox or MemoryInbox(), MemoryPrivacy()
        given = replace(
            settings or SlackSettings(bot_token="xoxb-1", app_token="xapp-1"),
            api_url=slack.api_url,
            http=HttpEndpoint(SIGNING_SECRET, port=0) if http else None,
            rules=rules or SlackRules(),
            ping_seconds=0.2,
            stream_pace=0,
            edit_pace=0,
        )
        platform = SlackPlatform(
            given,
            inbox,
            clock or SettableClock(),
            redact,
            privacy=privacy,
            listens=listens,
            collects=collects,
            followed=followed,
        )
        running = asyncio.create_task(platform.run())
        try:
            await slack.until(lambda: platform.connected or running.done())
            if running.done():
                await running
            slack.http_url = platform.address
            yield SlackStage(slack, platform, inbox, privacy)
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
