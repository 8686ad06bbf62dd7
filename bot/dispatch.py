"""From the inbox to the responder and back: each event once, in order within a conversation.

An event is on disk before its platform acknowledges it. Lanes (conversations) run side by side;
within a lane events are handled one after the other. What a crash left open is taken up again on
the next start.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from sqlmodel import Session

from bot.errors import BotFault, PlatformRefused, PlatformUnavailable
from bot.i18n import translator
from bot.logging_setup import following
from bot.messages import (
    EventKind,
    InboxEvent,
    IncomingMessage,
    Reply,
    ReplyPart,
    ReplyStream,
)
from bot.pacing import Pacing, Verdict
from bot.ports import Platform
from bot.responder import Responder
from memory.errors import MemoryFault, StoreUnavailable
from memory.ports import Clock
from memory.store import inbox
from memory.store.database import Database

log = logging.getLogger(__name__)
T = TypeVar("T")

LANE_LIMIT = 50
"""Messages that may wait in one conversation; more are stored, learned from, not answered."""

PARALLEL = 16
"""Conversations that are answered at the same time."""

ATTEMPTS = 3
"""How often an event that fails here is tried before it is given up, with an error in the log."""

STUCK_AFTER = 5
"""Failed tries to write down where an event stands, after which `Dispatcher.stuck` tells."""

PATIENCE = timedelta(days=1)
"""How long an answer waits for a platform that cannot be reached."""

LONGEST_PAUSE = 60.0
"""Seconds between two attempts at most."""

FORGOTTEN = "forgotten"
IGNORED = "ignored"

KEEP_HANDLED = timedelta(days=3)
"""How long a handled event's id is kept to know a redelivery by."""


@dataclass(slots=True)
class _Lane:
    waiting: asyncio.Queue[InboxEvent] = field(default_factory=asyncio.Queue)
    task: asyncio.Task[None] | None = None
    told: bool = False
    """Somebody was told that it is too much."""


@dataclass(frozen=True, slots=True)
class _Arrival:
    """An event on its way to the disk."""

    platform: str
    tenant: str
    delivery: str
    payload: dict[str, Any]


class Dispatcher:
    """Implements `bot.ports.Inbox`, and handles what is committed to it."""

    def __init__(self, database: Database, responder: Responder, clock: Clock) -> None:
        self._database = database
        self._responder = responder
        self._clock = clock
        self._platforms: Mapping[str, Platform] = {}
        self._pacing: Pacing | None = None
        self._arriving: list[tuple[_Arrival, asyncio.Future[int | None]]] = []
        self._committing: asyncio.Task[None] | None = None
        self._lanes: dict[str, _Lane] = {}
        self._wake = asyncio.Event()
        self._slots = asyncio.Semaphore(PARALLEL)
        self._last = 0
        self._idle = asyncio.Event()
        self._stuck = asyncio.Event()
        self._trouble: StoreUnavailable | None = None
        self._stopping = False

    # -- the inbox -------------------------------------------------------------------------------

    async def commit(
        self, platform: str, tenant: str, delivery: str, payload: dict[str, Any]
    ) -> int | None:
        """See `bot.ports.Inbox.commit`. What arrives together is written together: one wait
        for the disk, so that a burst is acknowledged in time."""
        done: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._arriving.append((_Arrival(platform, tenant, delivery, payload), done))
        if self._committing is None or self._committing.done():
            self._committing = asyncio.create_task(self._commit_arrivals())
        event_id = await done
        if event_id is not None:
            self._wake.set()
        return event_id

    async def _commit_arrivals(self) -> None:
        while self._arriving:
            batch, self._arriving = self._arriving, []
            try:
                await self._commit_together(batch)
            except Exception:  # noqa: BLE001 - one of them is to blame: each by itself tells which
                for item in batch:
                    try:
                        await self._commit_together([item])
                    except Exception as error:  # noqa: BLE001 - raised where it is waited for
                        if not item[1].done():
                            item[1].set_exception(error)

    async def _commit_together(
        self, batch: Sequence[tuple[_Arrival, asyncio.Future[int | None]]]
    ) -> None:
        now = self._clock()
        ids = await self._database.write(
            lambda s: [
                inbox.commit(s, new.platform, new.tenant, new.delivery, new.payload, now)
                for new, _ in batch
            ]
        )
        for (_, done), event_id in zip(batch, ids, strict=True):
            if not done.done():  # whoever waited may have been cancelled
                done.set_result(event_id)

    async def note_reply(self, event_id: int, reply_ref: str) -> None:
        """See `bot.ports.Inbox.note_reply`."""
        await self._database.write(lambda s: inbox.note_reply(s, event_id, reply_ref))

    async def depth(self) -> int:
        """How many events are not handled to their end."""
        return await self._database.read(inbox.depth)

    # -- handling --------------------------------------------------------------------------------

    async def run(self, platforms: Mapping[str, Platform], pacing: Pacing | None = None) -> None:
        """Handle events until cancelled, those that a crash left open first."""
        self._platforms, self._pacing = platforms, pacing
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

    async def finish(self, seconds: float) -> None:
        """Begin nothing new; wait for what is being answered, and park what takes longer.

        What is parked, and what comes in now, stays in the inbox for the next start.
        """
        self._stopping = True
        tasks = [lane.task for lane in self._lanes.values() if lane.task]
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=seconds)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def idle(self) -> None:
        """Wait until every event committed so far has been handled."""
        self._idle.clear()  # before it is counted: what ends meanwhile must not be missed
        while await self.depth():
            await self._idle.wait()
            self._idle.clear()

    async def _take_new(self) -> None:
        while not self._stopping:
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
        try:
            while not lane.waiting.empty() and not self._stopping:
                event = lane.waiting.get_nowait()
                delay: float | None = 0.0
                while delay is not None:
                    await asyncio.sleep(delay)  # without a slot: other conversations go on
                    await self._platforms[event.platform].until_ready()
                    async with self._slots:
                        with following(f"{event.platform}:{event.id}"):
                            delay = await self._handle(event, lane)
        finally:
            del self._lanes[key]
            self._idle.set()

    async def _handle(self, event: InboxEvent, lane: _Lane) -> float | None:
        """Try an event once; gives the seconds after which to try again, None when it is done.

        What others are to blame for waits for them; what keeps failing is given up and logged.
        """
        attempts = await self._note(lambda s: inbox.begin(s, event.id))
        try:
            outcome = await self._once(event, attempts, lane)
        except PlatformUnavailable as error:
            if self._clock() - event.received_at < PATIENCE:
                log.warning("event %d waits (attempt %d): %s", event.id, attempts, error)
                return min(LONGEST_PAUSE, 2.0**attempts / 4)
            outcome = "failed"
        except PlatformRefused as error:
            log.warning("event %d was given up: %s", event.id, error)
            outcome = "failed"
        except Exception as error:
            log.exception("event %d failed (attempt %d)", event.id, attempts)
            if attempts < ATTEMPTS and isinstance(error, BotFault | MemoryFault | OSError):
                return 2.0**attempts / 4
            outcome = "failed"
        await self._note(lambda s: _done(s, event.id, outcome, self._clock()))
        if outcome == FORGOTTEN:
            await self._database.checkpoint()
        self._idle.set()
        return None

    async def _note(self, work: Callable[[Session], T]) -> T:
        """Write down where an event stands, for as long as it takes.

        Going on without would answer twice after a restart; giving up would stop the
        conversation for good.
        """
        pause, tries = 0.25, 0
        while True:
            try:
                done = await self._database.write(work)
            except StoreUnavailable as error:
                log.warning("could not note where an event stands: %s", error)
                self._trouble, tries = error, tries + 1
                if tries >= STUCK_AFTER:
                    self._stuck.set()
            else:
                self._stuck.clear()
                return done
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def stuck(self) -> StoreUnavailable:
        """Waits until the database has refused for seconds to note where an event stands; why.

        A server goes on trying. Somebody at a terminal is told.
        """
        await self._stuck.wait()
        assert self._trouble is not None
        return self._trouble

    async def _once(self, event: InboxEvent, attempts: int, lane: _Lane) -> str:
        platform = self._platforms[event.platform]
        event = replace(event, attempts=attempts)
        message = await platform.incoming(event)
        if message is None:
            return IGNORED
        keys = [claim_key(message)]
        gone = _deletion_key(message)

        def claim(session: Session) -> bool:
            if gone and inbox.was_deleted(session, gone):
                return False  # it comes late: its author has taken it back meanwhile
            return inbox.claim(session, keys, event.id, self._clock())

        if not await self._database.write(claim):
            return "duplicate"
        verdict = self._admit(message, lane)
        if verdict is not Verdict.ANSWER:
            await self._responder.hear_only(message)
            if verdict is Verdict.BUSY:
                await platform.deliver(event, message, _busy(message))
            return "busy"
        final: list[Reply] = []
        stream = _watch(self._responder.handle(message, platform.still_readable), final)
        sent = await platform.deliver(event, message, stream)
        if final and sent:
            await self._responder.sent(final[0], sent)
        if final and final[0].forgot:
            return FORGOTTEN
        if final and final[0].silent:
            return "stored"
        return "failed" if final and final[0].failed else "answered"

    def _admit(self, message: IncomingMessage, lane: _Lane) -> Verdict:
        """Whether a message is answered; where too much comes, that is said once."""
        if message.kind is not EventKind.MESSAGE or not (message.addressed and message.answer):
            return Verdict.ANSWER
        if lane.waiting.qsize() >= LANE_LIMIT:
            told, lane.told = lane.told, True
            return Verdict.SILENT if told else Verdict.BUSY
        return self._pacing.admit(message) if self._pacing is not None else Verdict.ANSWER


def _done(session: Session, event_id: int, outcome: str, now: datetime) -> None:
    """What did not concern Oboete leaves no row at all."""
    if outcome == IGNORED:
        inbox.erase(session, event_id)
    else:
        inbox.finish(session, event_id, outcome, now)


def claim_key(message: IncomingMessage) -> str:
    """Equal for the twins of one message (`app_mention` and `message`), whatever delivers them."""
    return _message_key(message, message.kind) + message.revision


def _deletion_key(message: IncomingMessage) -> str | None:
    """What the claims begin with that delete the words that this brings: its own, or those of
    the message whose menu was used.
    """
    if message.kind in {EventKind.MESSAGE, EventKind.EDIT}:
        return _message_key(message, EventKind.DELETE)
    if message.quoted and message.reply_to:
        return _message_key(replace(message, message_id=message.reply_to), EventKind.DELETE)
    return None


def _message_key(message: IncomingMessage, kind: EventKind) -> str:
    """What the claims of all revisions begin with."""
    parts = (message.platform, message.tenant, message.channel, message.message_id, kind.value)
    return "\x1f".join((*parts, ""))


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
