"""The smallest conversation core: handles the inbox in order, each message once, by echoing."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable

from bot.errors import PlatformUnavailable
from bot.messages import EventKind, InboxEvent, IncomingMessage, Reply, ReplyPart
from bot.ports import Platform
from tests.contracts.platform import MemoryInbox, deltas

Answer = Callable[[IncomingMessage], AsyncIterator[ReplyPart]]


async def echo(message: IncomingMessage) -> AsyncIterator[ReplyPart]:
    """Says back what was said, in pieces."""
    for part in deltas(f"echo: {message.text}"):
        yield part
    yield Reply(f"echo: {message.text}")


class EchoCore:
    """Run it with `async with`; it works until it is left."""

    def __init__(self, platform: Platform, inbox: MemoryInbox, answer: Answer = echo) -> None:
        self.platform = platform
        self.inbox = inbox
        self.answer = answer
        self.handled: list[IncomingMessage] = []
        self.done = 0
        self._claimed: set[tuple[str, str, EventKind, str]] = set()
        self._lanes: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def __aenter__(self) -> EchoCore:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            started = 0
            while True:
                for event in self.inbox.events[started:]:
                    group.create_task(self._handle(event))
                    started += 1
                await asyncio.sleep(0.002)

    async def _handle(self, event: InboxEvent) -> None:
        async with self._lanes[self.platform.lane(event)]:
            while True:
                try:
                    await self._handle_once(event)
                    break
                except PlatformUnavailable:
                    event = self.inbox.again(event)
            self.done += 1

    async def _handle_once(self, event: InboxEvent) -> None:
        message = await self.platform.incoming(event)
        if message is None:
            return
        key = (message.channel, message.message_id, message.kind, message.revision)
        if event.attempts == 1:
            if key in self._claimed:
                return
            self._claimed.add(key)
            self.handled.append(message)
        said = message.kind in (EventKind.MESSAGE, EventKind.COMMAND)
        if said and message.addressed and message.answer:
            await self.platform.deliver(event, message, self.answer(message))

    @property
    def is_idle(self) -> bool:
        if self._task.done():
            self._task.result()
        return self.done == len(self.inbox.events)
