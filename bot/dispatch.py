"""From the inbox to the responder and back: each event once, in order within a conversation.

An event is on disk before its platform acknowledges it. Lanes (conversations) run side by side;
within a lane events are handled one after the other. What a crash left open is taken up again on
the next start.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from bot.errors import BotFault
from bot.i18n import translator
from bot.messages import (
    EventKind,
    InboxEvent,
    IncomingMessage,
    Reply,
    ReplyPart,
    ReplyStream,
)
from bot.ports import Platform
from bot.responder import Responder
from memory.errors import MemoryFault
from memory.ports import Clock
from memory.store import inbox
from memory.store.database import Database

log = logging.getLogger(__name__)

LANE_LIMIT = 20
"""Messages that may wait in one conversation; more are stored, learned from, not answered."""

PARALLEL = 16
"""Conversations that are answered at the same time."""

ATTEMPTS = 3
"""How often an event is tried before it is given up, with an error in the log."""

KEEP_HANDLED = timedelta(days=3)
"""How long a handled event's id is kept to know a redelivery by."""


@dataclass(slots=True)
class _Lane:
    waiting: asyncio.Queue[InboxEvent] = field(default_factory=asyncio.Queue)
    task: asyncio.Task[None] | None = None


class Dispatcher:
    """Implements `bot.ports.Inbox`, and handles what is committed to it."""

    def __init__(self, database: Database, responder: Responder, clock: Clock) -> None:
        self._database = database
        self._responder = responder
        self._clock = clock
        self._platforms: Mapping[str, Platform] = {}
        self._lanes: dict[str, _Lane] = {}
        self._wake = asyncio.Event()
        self._slots = asyncio.Semaphore(PARALLEL)
        self._last = 0
        self._idle = asyncio.Event()

    # -- the inbox -------------------------------------------------------------------------------

    async def commit(
        self, platform: str, tenant: str, delivery: str, payload: dict[str, Any]
    ) -> int | None:
        """See `bot.ports.Inbox.commit`."""
        event_id = await self._database.write(
            lambda s: inbox.commit(s, platform, tenant, delivery, payload, self._clock())
        )
        if event_id is not None:
            self._idle.clear()
            self._wake.set()
        return event_id

    async def note_reply(self, event_id: int, reply_ref: str) -> None:
        """See `bot.ports.Inbox.note_reply`."""
        await self._database.write(lambda s: inbox.note_reply(s, event_id, reply_ref))

    async def depth(self) -> int:
        """How many events are not handled to their end."""
        return await self._database.read(inbox.depth)

    # -- handling --------------------------------------------------------------------------------

    async def run(self, platforms: Mapping[str, Platform]) -> None:
        """Handle events until cancelled, those that a crash left open first."""
        self._platforms = platforms
        await self._database.write(lambda s: inbox.forget_before(s, self._clock() - KEEP_HANDLED))
        try:
            while True:
                self._wake.clear()
                await self._take_new()
                await self._wake.wait()
        finally:
            tasks = [lane.task for lane in self._lanes.values() if lane.task]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def idle(self) -> None:
        """Wait until every event committed so far has been handled."""
        while await self.depth():
            self._idle.clear()
            await self._idle.wait()

    async def _take_new(self) -> None:
        while True:
            events = await self._database.read(lambda s: inbox.open_events(s, self._last, 500))
            if not events:
                return
            for event in events:
                self._last = event.id
                if event.platform in self._platforms:
                    self._put(event)

    def _put(self, event: InboxEvent) -> None:
        key = f"{event.platform}:{event.tenant}:{self._platforms[event.platform].lane(event)}"
        lane = self._lanes.setdefault(key, _Lane())
        lane.waiting.put_nowait(event)
        if lane.task is None:
            lane.task = asyncio.create_task(self._drain(key, lane))

    async def _drain(self, key: str, lane: _Lane) -> None:
        while not lane.waiting.empty():
            event = lane.waiting.get_nowait()
            async with self._slots:
                await self._handle(event, busy=lane.waiting.qsize() >= LANE_LIMIT)
        del self._lanes[key]
        self._idle.set()

    async def _handle(self, event: InboxEvent, *, busy: bool) -> None:
        """Try an event until it is done; what keeps failing is given up and logged."""
        while True:
            attempts = await self._database.write(lambda s: inbox.begin(s, event.id))
            try:
                outcome = await self._once(event, attempts, busy=busy)
            except Exception as error:
                log.exception("event %d failed (attempt %d)", event.id, attempts)
                if attempts < ATTEMPTS and isinstance(error, BotFault | MemoryFault | OSError):
                    await asyncio.sleep(2.0**attempts / 4)
                    continue
                outcome = "failed"
            await self._database.write(
                lambda s: inbox.finish(s, event.id, outcome, self._clock())  # noqa: B023
            )
            self._idle.set()
            return

    async def _once(self, event: InboxEvent, attempts: int, *, busy: bool) -> str:
        platform = self._platforms[event.platform]
        event = replace(event, attempts=attempts)
        message = await platform.incoming(event)
        if message is None:
            return "ignored"
        keys = [claim_key(message)]
        fresh = await self._database.write(lambda s: inbox.claim(s, keys, event.id, self._clock()))
        if not fresh:
            return "duplicate"
        if busy and message.kind is EventKind.MESSAGE and message.addressed and message.answer:
            await self._responder.hear_only(message)
            await platform.deliver(event, message, _busy(message))
            return "busy"
        final: list[Reply] = []
        stream = _watch(self._responder.handle(message), final)
        sent = await platform.deliver(event, message, stream)
        if final and sent:
            await self._responder.sent(final[0], sent)
        if final and final[0].silent:
            return "stored"
        return "failed" if final and final[0].failed else "answered"


def claim_key(message: IncomingMessage) -> str:
    """Equal for the twins of one message (`app_mention` and `message`), whatever delivers them."""
    parts = (
        message.platform,
        message.tenant,
        message.channel,
        message.message_id,
        message.kind.value,
        message.revision,
    )
    return "\x1f".join(parts)


async def _watch(stream: ReplyStream, final: list[Reply]) -> ReplyStream:
    """The same stream, with its last part noted."""
    async for part in stream:
        if isinstance(part, Reply):
            final.append(part)
        yield part


async def _busy(message: IncomingMessage) -> ReplyStream:
    say = translator(message.locale)
    parts: list[ReplyPart] = [Reply(say("I am busy right now; I have noted what you said."))]
    for part in parts:
        yield part
