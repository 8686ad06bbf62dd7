"""What the Discord adapter's tests stand on: in-memory ports and a core that follows a script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from adapters.discord_commands import ArgumentSpec, CommandSpec
from adapters.discord_platform import Connection, DiscordPlatform
from adapters.discord_state import Hooks, Rules
from bot.errors import BotFault
from bot.messages import Delta, InboxEvent, IncomingMessage, Reply, ReplyPart, ReplyStream
from memory.errors import StoreUnavailable
from memory.types import Audience, Person, Readable
from tests.contracts.platform import MemoryPrivacy
from tests.e2e.discord_double import DiscordDouble, until
from tests.e2e.discord_world import BOT, Channel, Guild
from tests.e2e.discord_world import Person as Someone

COMMANDS = (
    CommandSpec(
        "list", {"en": "List what I know", "ja": "覚えていることの一覧"}, names={"ja": "一覧"}
    ),
    CommandSpec(
        "forget",
        {"en": "Forget something", "ja": "忘れる"},
        (ArgumentSpec("fact", {"en": "Which", "ja": "どれ"}, required=True, suggested=True),),
    ),
    CommandSpec(
        "remember",
        {"en": "Remember something", "ja": "覚える"},
        (ArgumentSpec("text", {"en": "What", "ja": "内容"}, required=True, long=True),),
    ),
    CommandSpec(
        "listen",
        {"en": "Listen", "ja": "傾聴"},
        (ArgumentSpec("state", {"en": "on or off", "ja": "オン・オフ"}, choices=("on", "off")),),
    ),
)


class Time:
    """A clock that tests move. It starts at the real time, as Discord's ids tell theirs."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


class MemoryInbox:
    """`bot.ports.Inbox` in memory. `broken` makes so many commits fail."""

    def __init__(self) -> None:
        self.events: list[InboxEvent] = []
        self.refs: dict[int, str] = {}
        self.done: set[int] = set()
        self.taken: set[int] = set()
        self.attempts: dict[int, int] = {}
        self.broken = 0
        self.on_commit: Callable[[], None] = lambda: None
        self.changed = asyncio.Event()

    async def commit(
        self, platform: str, tenant: str, delivery: str, payload: dict[str, Any]
    ) -> int | None:
        if self.broken:
            self.broken -= 1
            raise StoreUnavailable
        if any(e.delivery == delivery and e.tenant == tenant for e in self.events):
            return None
        id_ = len(self.events) + 1
        now = datetime.now(UTC)
        self.events.append(InboxEvent(id_, platform, tenant, delivery, payload, now, 0))
        self.changed.set()
        self.on_commit()
        return id_

    async def note_reply(self, event_id: int, reply_ref: str) -> None:
        self.refs[event_id] = reply_ref

    def deliveries(self) -> list[str]:
        return [event.delivery for event in self.events]


class MemoryKeep:
    """`KeyValue` in memory."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    async def get(self, key: str) -> str | None:
        return self.values.get(key)

    async def put(self, key: str, value: str) -> None:
        self.values[key] = value

    async def keys(self, prefix: str) -> Sequence[str]:
        return [key for key in self.values if key.startswith(prefix)]


class MemoryLedger:
    """`Ledger` over what the scripted core was given."""

    def __init__(self) -> None:
        self.messages: dict[Audience, list[tuple[str, str]]] = {}
        self.listening: set[Audience] = set()
        self.collecting: set[Audience] = set()

    async def knows(self, audience: Audience, message_id: str) -> bool:
        return any(known == message_id for _, known in self.messages.get(audience, ()))

    async def stored(self, audience: Audience, limit: int) -> Sequence[tuple[str, str]]:
        return list(reversed(self.messages.get(audience, ())))[:limit]

    async def listens(self, audience: Audience) -> bool:
        return audience in self.listening

    async def collects(self, audience: Audience) -> bool:
        return audience in self.collecting


Script = Callable[[IncomingMessage], ReplyStream]


async def echo(message: IncomingMessage) -> ReplyStream:
    """Answer with what was said."""
    parts: list[ReplyPart] = [Reply(f"heard: {message.text}")]
    for part in parts:
        yield part


def saying(*parts: ReplyPart) -> Script:
    """A core that answers everything with these parts."""

    async def script(_: IncomingMessage) -> ReplyStream:
        for part in parts:
            await asyncio.sleep(0)
            yield part

    return script


def streaming(text: str, size: int = 200, **reply: Any) -> Script:
    """A core that streams a text in pieces and ends with the whole."""
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    return saying(*map(Delta, pieces), Reply(text, **reply))


@dataclass(slots=True)
class Bench:
    """A platform, what it stands on, and a core that handles every event once."""

    inbox: MemoryInbox = field(default_factory=MemoryInbox)
    keep: MemoryKeep = field(default_factory=MemoryKeep)
    privacy: MemoryPrivacy = field(default_factory=MemoryPrivacy)
    ledger: MemoryLedger = field(default_factory=MemoryLedger)
    clock: Time = field(default_factory=Time)
    rules: Rules = field(default_factory=Rules)
    script: Script = echo
    greeting: Script = field(default_factory=lambda: saying(Reply("", silent=True)))
    happened: list[IncomingMessage] = field(default_factory=list)
    """The bot joined a guild or was removed from it."""
    suggestions: list[tuple[str, str]] = field(default_factory=list)
    suggested_for: list[tuple[Person, Readable, str]] = field(default_factory=list)
    monotonic: Callable[[], float] | None = None
    """None: every delta is shown."""
    heard: list[IncomingMessage] = field(default_factory=list)
    sent: list[str | None] = field(default_factory=list)
    failures: list[BaseException] = field(default_factory=list)
    platform: DiscordPlatform = field(init=False)
    retries: int = 3

    def build(self, connection: Connection | None = None, token: str = "x.y.z") -> DiscordPlatform:
        ticks = iter(range(10**9))
        self.platform = DiscordPlatform(
            token,
            inbox=self.inbox,
            keep=self.keep,
            privacy=self.privacy,
            ledger=self.ledger,
            rules=self.rules,
            commands=COMMANDS,
            hooks=Hooks(redact=lambda text: text.replace("hunter2", "▇"), suggest=self._suggest),
            clock=self.clock,
            connection=connection,
            monotonic=self.monotonic or (lambda: float(next(ticks) * 10)),
        )
        return self.platform

    async def handle_all(self) -> None:
        """Handle what is in the inbox, each conversation in order, until there is no more."""
        while True:
            handled = self.inbox.done | self.inbox.taken
            waiting = [event for event in self.inbox.events if event.id not in handled]
            if not waiting:
                return
            self.inbox.taken |= {event.id for event in waiting}
            lanes: dict[str, list[InboxEvent]] = {}
            for event in waiting:
                lanes.setdefault(self.platform.lane(event), []).append(event)
            await asyncio.gather(*(self._lane(events) for events in lanes.values()))

    async def pump(self) -> None:
        """Handle events for ever."""
        while True:
            self.inbox.changed.clear()
            await self.handle_all()
            await self.inbox.changed.wait()

    async def _lane(self, events: list[InboxEvent]) -> None:
        try:
            for event in events:
                await self._handle(event)
                self.inbox.done.add(event.id)
        finally:
            self.inbox.taken -= {event.id for event in events}

    async def _handle(self, event: InboxEvent) -> None:
        for attempt in range(1, self.retries + 1):
            await self.platform.until_ready()
            attempts = self.inbox.attempts[event.id] = self.inbox.attempts.get(event.id, 0) + 1
            tried = replace(event, attempts=attempts, reply_ref=self.inbox.refs.get(event.id))
            try:
                message = await self.platform.incoming(tried)
                assert message is not None
                if "event" in message.arguments:
                    self.happened.append(message)
                    await self.platform.deliver(tried, message, self.greeting(message))
                    return
                if attempt == 1:
                    self.heard.append(message)
                    if message.text:
                        known = self.ledger.messages.setdefault(message.audience, [])
                        known.append((message.conversation, message.message_id))
                sent = await self.platform.deliver(tried, message, self.script(message))
                self.sent.append(sent)
            except BotFault as fault:
                self.failures.append(fault)
            else:
                return

    async def _suggest(
        self, who: Person, readable: Readable, typed: str
    ) -> Sequence[tuple[str, str]]:
        self.suggested_for.append((who, readable, typed))
        return [pair for pair in self.suggestions if typed in pair[0]]


@asynccontextmanager
async def running(double: DiscordDouble, bench: Bench, **connection: Any) -> AsyncIterator[Bench]:
    """The platform connected to the double, with the core at work."""
    connection.setdefault("guild_timeout", 0.05)
    where = Connection(double.api_url, double.gateway_url, **connection)
    platform = bench.build(where, double.token)
    tasks = [asyncio.create_task(platform.run()), asyncio.create_task(bench.pump())]
    try:
        await until(lambda: platform.connected or tasks[0].done())
        if tasks[0].done():
            await tasks[0]
        yield bench
        await until(lambda: not bench.inbox.taken)
    finally:
        for task in reversed(tasks):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@dataclass(slots=True)
class Stage:
    """A double with one guild, one public channel and two members."""

    double: DiscordDouble
    alice: Someone
    bob: Someone
    guild: Guild
    general: Channel

    @property
    def place(self) -> Audience:
        """The public channel's."""
        return Audience("discord", str(self.guild.id), str(self.general.id))


@asynccontextmanager
async def stage() -> AsyncIterator[Stage]:
    async with DiscordDouble().serve() as double:
        alice, bob = double.world.person("alice"), double.world.person("ボブ")
        guild = double.world.guild("g", alice, bob)
        yield Stage(double, alice, bob, guild, double.world.channel(guild, "general"))


def posts(channel: Channel) -> list[str]:
    """What the bot wrote in a channel."""
    return [
        message["content"]
        for message in channel.messages.values()
        if message["author"]["id"] == str(BOT)
    ]
