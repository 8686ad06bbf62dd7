"""Discord keeps the contract that every chat platform keeps."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import pytest

from adapters.discord_platform import Connection, DiscordPlatform
from adapters.discord_setup import GREETED
from adapters.discord_state import Hooks, Rules
from bot.messages import InboxEvent, IncomingMessage
from tests.adapters.discord_fakes import COMMANDS, MemoryKeep, MemoryLedger, Time
from tests.adapters.discord_fakes import Stage as Town
from tests.adapters.discord_fakes import stage as town
from tests.contracts.platform import MemoryInbox, MemoryPrivacy, PlatformContract
from tests.contracts.platform import Stage as StageProtocol
from tests.e2e.discord_double import Fault, until
from tests.e2e.discord_world import BOT, Channel, Json, iso

SENT = r"channels/\d+/messages(/\d+)?\Z"


class DiscordStage:
    """See `tests.contracts.platform.Stage`."""

    limit = 2000

    def __init__(self, town: Town, inbox: MemoryInbox, ledger: MemoryLedger) -> None:
        self.inbox = inbox
        self.town = town
        self.ledger = ledger
        self.platform: DiscordPlatform
        self._heard: dict[str, Json] = {}

    async def mention(self, text: str, *, user: str = "alice") -> IncomingMessage:
        count = len(self.inbox.events)
        t = self.town
        who = t.alice if user == "alice" else t.bob
        said = await t.double.mention(who, t.general, text)
        event = await self.event(count)
        message = await self.platform.incoming(event)
        assert message is not None
        self._heard[message.message_id] = said
        known = self.ledger.messages.setdefault(message.audience, [])
        known.append((message.conversation, message.message_id))
        return message

    async def event(self, after: int) -> InboxEvent:
        await until(lambda: len(self.inbox.events) > after)
        return self.inbox.events[after]

    async def edit(self, message: IncomingMessage, text: str) -> None:
        said = self._heard[message.message_id]
        await self.town.double.edit(self.town.general, said, f"<@{BOT}> {text}")

    async def delete(self, message: IncomingMessage) -> None:
        await self.town.double.delete(self.town.general, self._heard[message.message_id])

    def edit_unseen(self, message: IncomingMessage, text: str) -> None:
        said = self._heard[message.message_id]
        said |= {"content": f"<@{BOT}> {text}", "edited_timestamp": iso(time.time())}

    def delete_unseen(self, message: IncomingMessage) -> None:
        del self.town.general.messages[int(message.message_id)]

    async def press(self, label: str, *, user: str = "alice") -> None:
        t = self.town
        who = t.alice if user == "alice" else t.bob
        channel, message = next(
            (channel, message)
            for channel, message in reversed(list(self._posts()))
            if label in _labels(message)
        )
        pressed = await t.double.press(who, channel, message, label)
        await until(lambda: pressed.response)
        assert pressed.response is not None
        if pressed.response["type"] == 9:
            await t.double.submit(pressed, "yes")

    async def redeliver(self) -> None:
        double = self.town.double
        for channel in list(double.world.channels.values()):
            for message in list(channel.messages.values()):
                await double.emit("MESSAGE_CREATE", double.world.as_event(channel, message))

    def shown(self) -> list[str]:
        return [m["content"] for channel, m in self._posts() if channel.guild is not None]

    def shown_to(self, user: str) -> list[str]:
        who = self.town.alice if user == "alice" else self.town.bob
        direct = [m["content"] for channel, m in self._posts() if channel.recipient == who.id]
        whispered = [
            text
            for interaction in self.town.double.interactions.values()
            if interaction.user is who
            for text in interaction.shown
        ]
        return direct + whispered

    def buttons(self) -> list[str]:
        return [label for _, message in self._posts() for label in _labels(message)]

    def pings(self) -> list[str]:
        calls = [
            call
            for method in ("POST", "PATCH")
            for call in self.town.double.calls(method, rf"{SENT}|webhooks")
        ]
        return [
            str(call.body["content"])
            for call in calls
            if call.body.get("allowed_mentions", {}).get("parse") != []
        ]

    def fail_sending(self, times: int) -> None:
        for method in ("POST", "PATCH"):
            self.town.double.faults.append(Fault(method, SENT, 502, {}, times=times - 1 or 1))

    def fail_edits(self) -> None:
        refused = {"code": 50013, "message": "Missing Permissions"}
        self.town.double.faults.append(Fault("PATCH", SENT, 403, refused, times=10_000))

    def _posts(self) -> Iterator[tuple[Channel, Json]]:
        found = [
            (channel, message)
            for channel in self.town.double.world.channels.values()
            for message in channel.messages.values()
            if message["author"]["id"] == str(BOT)
        ]
        return iter(sorted(found, key=lambda pair: int(pair[1]["id"])))


def _labels(message: Json) -> list[str]:
    return [b["label"] for row in message["components"] for b in row["components"]]


async def nothing(*_: Any) -> list[tuple[str, str]]:
    return []


class TestDiscord(PlatformContract):
    @pytest.fixture
    async def stage(self) -> AsyncIterator[StageProtocol]:
        async with town() as made:
            keep, inbox, ledger = MemoryKeep(), MemoryInbox(), MemoryLedger()
            keep.values[f"{GREETED}{made.guild.id}"] = "yes"
            ticks = iter(range(10**9))
            platform = DiscordPlatform(
                made.double.token,
                inbox=inbox,
                keep=keep,
                privacy=MemoryPrivacy(),
                ledger=ledger,
                rules=Rules(),
                commands=COMMANDS,
                hooks=Hooks(redact=lambda text: text, suggest=nothing),
                clock=Time(),
                connection=Connection(
                    made.double.api_url, made.double.gateway_url, guild_timeout=0.05
                ),
                monotonic=lambda: float(next(ticks) * 10),
            )
            running = asyncio.create_task(platform.run())
            await until(lambda: platform.connected)
            stage = DiscordStage(made, inbox, ledger)
            stage.platform = platform
            try:
                yield stage
            finally:
                running.cancel()
                with suppress(asyncio.CancelledError):
                    await running
