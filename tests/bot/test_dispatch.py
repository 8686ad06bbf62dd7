"""From the inbox to the reply: each event once, in order, whatever fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bot import dispatch
from bot.dispatch import Dispatcher, claim_key
from bot.errors import PlatformRefused
from bot.messages import EventKind, InboxEvent, IncomingMessage, Reply, ReplyStream
from bot.ports import Platform
from memory.errors import StoreUnavailable
from memory.types import Readable
from tests.fakes import HANAKO, TARO, TARO_DM, Desk, Failing


class FakePlatform:
    """Takes texts; keeps what it was told to deliver."""

    name = "console"

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.delivered: list[tuple[str, str]] = []
        self.attempts: list[int] = []
        self.ignored: set[str] = set()
        self.before_reply: Callable[[IncomingMessage], Any] | None = None
        self.fail: list[Exception] = []

    def lane(self, event: InboxEvent) -> str:
        return str(event.payload.get("lane", "one"))

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def until_ready(self) -> None:
        return

    async def incoming(self, event: InboxEvent) -> IncomingMessage | None:
        self.attempts.append(event.attempts)
        if self.fail:
            raise self.fail.pop(0)
        text = event.payload.get("text", "")
        if text in self.ignored:
            return None
        person = HANAKO if event.payload.get("who") == "hanako" else TARO
        message_id = event.payload.get("id", event.delivery)
        kind = EventKind(event.payload.get("kind", "message"))
        chosen: dict[str, Any] = {}
        if chosen_id := event.payload.get("menu of"):
            chosen = {
                "reply_to": chosen_id,
                "quoted": "大阪に住んでいます。",
                "arguments": {
                    "quoted_author": str(person),
                    "quoted_author_name": person.name,
                    "quoted_audience": str(TARO_DM),
                    "quoted_sent_at": self._desk.mind.clock().isoformat(),
                },
            }
        return self._desk.incoming(
            text, person, message_id=message_id, event_id=event.delivery, kind=kind, **chosen
        )

    async def still_readable(self, message: IncomingMessage, places: Any) -> Readable:
        return message.readable

    async def deliver(
        self, event: InboxEvent, message: IncomingMessage, reply: ReplyStream
    ) -> str | None:
        if self.before_reply is not None:
            await self.before_reply(message)
        async for part in reply:
            if isinstance(part, Reply) and not part.silent:
                self.delivered.append((message.text, part.text))
        return f"sent-{event.id}"


@pytest.fixture
def platform(desk: Desk) -> FakePlatform:
    return FakePlatform(desk)


@pytest.fixture
def dispatcher(desk: Desk) -> Dispatcher:
    return Dispatcher(desk.mind.database, desk.responder, desk.mind.clock)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between attempts pass at once."""
    real = asyncio.sleep
    monkeypatch.setattr(asyncio, "sleep", lambda _seconds: real(0))


@asynccontextmanager
async def running(dispatcher: Dispatcher, platform: FakePlatform) -> AsyncIterator[None]:
    fake: Any = platform
    platforms: dict[str, Platform] = {platform.name: fake}
    task = asyncio.create_task(dispatcher.run(platforms))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def commit(dispatcher: Dispatcher, delivery: str, text: str, **more: str) -> int | None:
    return await dispatcher.commit("console", "local", delivery, {"text": text, **more})


async def settled(dispatcher: Dispatcher) -> None:
    """Everything committed has been handled; fails when something got stuck."""
    async with asyncio.timeout(30):
        await dispatcher.idle()


def outcomes(desk: Desk) -> dict[str, str | None]:
    rows = desk.mind.database.inline("SELECT delivery, outcome FROM inbox ORDER BY id")
    return dict(rows)


async def test_an_event_is_answered_and_its_words_leave_the_inbox(
    desk: Desk, dispatcher: Dispatcher, platform: FakePlatform
) -> None:
    async with running(dispatcher, platform):
        await commit(dispatcher, "d1", "I live in Osaka.")
        await settled(dispatcher)
    assert platform.delivered == [("I live in Osaka.", "Remembered: I live in Osaka.")]
    assert outcomes(desk) == {"d1": "answered"}


async def test_what_ends_while_it_is_counted_is_not_waited_for(
    desk: Desk, dispatcher: Dispatcher, platform: FakePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = dispatcher.depth

    async def slow_to_tell() -> int:
        found = await real()
        while await real():
            await asyncio.sleep(0)
        return found

    monkeypatch.setattr(dispatcher, "depth", slow_to_tell)
    async with running(dispatcher, platform):
        await commit(dispatcher, "d1", "I live in Osaka.")
        await settled(dispatcher)
    assert outcomes(desk) == {"d1": "answered"}
    assert desk.mind.database.inline("SELECT payload FROM inbox") in ([(None,)], [("null",)])
    found = await desk.mind.memory.find_message(TARO_DM, "sent-1")
    assert found is not None


async def test_a_redelivery_and_a_twin_are_answered_once(
    desk: Desk, dispatcher: Dispatcher, platform: FakePlatform
) -> None:
    async with running(dispatcher, platform):
        assert await commit(dispatcher, "d1", "I live in Osaka.", id="m1")
        assert await commit(dispatcher, "d1", "I live in Osaka.", id="m1") is None
        assert await commit(dispatcher, "d2", "I live in Osaka.", id="m1")
        await settled(dispatcher)
    assert len(platform.delivered) == 1
    assert outcomes(desk) == {"d1": "answered", "d2": "duplicate"}


@pytest.mark.parametrize("kind", ["message", "edit"])
async def test_a_message_that_comes_after_its_deletion_is_not_kept(
    desk: Desk, dispatcher: Dispatcher, platform: FakePlatform, kind: str
) -> None:
    async with running(dispatcher, platform):
        await commit(dispatcher, "gone", "", id="m1", kind="delete", lane="two")
        await settled(dispatcher)
        await commit(dispatcher, "late", "I like Zanzibarqx", id="m1", kind=kind)
        await commit(dispatcher, "other", "I like tea", id="m11")
        await settled(dispatcher)
    assert await desk.mind.memory.find_message(TARO_DM, "m1") is None
    assert await desk.mind.memory.find_message(TARO_DM, "m11") is not None
    assert [text for text, _ in platform.delivered] == ["I like tea"]


@pytest.mark.parametrize(("chosen", "kept"), [("m1", 0), ("m11", 1)])
async def test_the_menu_of_a_message_whose_deletion_was_handled_keeps_nothing(
    desk: Desk, dispatcher: Dispatcher, platform: FakePlatform, chosen: str, kept: int
) -> None:
    remember = {"kind": "command", "lane": "two", "menu of": chosen}
    async with running(dispatcher, platform):
        await commit(dispatcher, "gone", "", id="m1", kind="delete")
        await settled(dispatcher)
        await commit(dispatcher, "late", "remember", **remember)
        await settled(dispatcher)
    assert len(await desk.mind.memory.messages_of(TARO, Readable.of(TARO_DM))) == kept
    assert len(platform.delivered) == kept


async def test_messages_of_a_conversation_are_answered_in_order(
    dispatcher: Dispatcher, platform: FakePlatform
) -> None:
    texts = [f"I like fruit number {n}." for n in range(12)]
    async with running(dispatcher, platform):
        for n, text in enumerate(texts):
            await commit(dispatcher, f"d{n}", text)
        await settled(dispatcher)
    assert [said for said, _ in platform.delivered] == texts


async def test_conversations_do_not_wait_for_each_other(
    dispatcher: Dispatcher, platform: FakePlatform
) -> None:
    go_on, answered = asyncio.Event(), asyncio.Event()

    async def hold(message: IncomingMessage) -> None:
        if message.text == "I am slow.":
            await go_on.wait()
        else:
            answered.set()

    platform.before_reply = hold
    async with running(dispatcher, platform):
        await commit(dispatcher, "d1", "I am slow.", lane="one")
        await commit(dispatcher, "d2", "I am quick.", lane="two")
        async with asyncio.timeout(30):
            await answered.wait()
        assert not any(said == "I am slow." for said, _ in platform.delivered)
        go_on.set()
        await settled(dispatcher)
    assert len(platform.delivered) == 2


async def test_what_a_crash_left_open_is_taken_up_first_and_once(
    desk: Desk, dispatcher: Dispatcher, platform: FakePlatform
) -> None:
    await commit(dispatcher, "d1", "I live in Osaka.")
    after = Dispatcher(desk.mind.database, desk.responder, desk.mind.clock)
    async with running(after, platform):
        await commit(after, "d2", "I like cats.")
        await settled(after)
    assert [said for said, _ in platform.delivered] == ["I live in Osaka.", "I like cats."]


async def test_what_does_not_concern_it_leaves_nothing(
    desk: Desk, dispatcher: Dispatcher, platform: FakePlatform
) -> None:
    platform.ignored = {"chatter"}
    async with running(dispatcher, platform):
        await commit(dispatcher, "d1", "chatter")
        await settled(dispatcher)
    assert platform.delivered == []
    assert outcomes(desk) == {}


async def test_too_many_in_one_conversation_are_noted_and_not_answered(
    desk: Desk, dispatcher: Dispatcher, platform: FakePlatform
) -> None:
    count = dispatch.LANE_LIMIT + 6
    for n in range(count):
        await commit(dispatcher, f"d{n}", f"I like fruit number {n}.")
    async with running(dispatcher, platform):
        await settled(dispatcher)
    busy = [text for _, text in platform.delivered if "busy" in text]
    assert len(busy) == 1, "that is said once"
    assert len(platform.delivered) == dispatch.LANE_LIMIT + 1
    await desk.extractor.drain()
    known = await desk.mind.memory.facts_about(TARO, Readable.of(TARO_DM))
    assert len(known) == count, "all were learned from"


@pytest.mark.parametrize("failures", [1, 2])
async def test_a_failure_that_passes_is_tried_again(
    desk: Desk, dispatcher: Dispatcher, platform: FakePlatform, failures: int
) -> None:
    platform.fail = [StoreUnavailable()] * failures
    async with running(dispatcher, platform):
        await commit(dispatcher, "d1", "I live in Osaka.")
        await settled(dispatcher)
    assert platform.attempts == list(range(1, failures + 2))
    assert len(platform.delivered) == 1
    assert outcomes(desk) == {"d1": "answered"}


@pytest.mark.parametrize(
    ("error", "attempts"),
    [(StoreUnavailable(), dispatch.ATTEMPTS), (PlatformRefused(), 1), (KeyError("x"), 1)],
)
async def test_what_keeps_failing_is_given_up_and_the_next_is_answered(
    desk: Desk,
    dispatcher: Dispatcher,
    platform: FakePlatform,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    attempts: int,
) -> None:
    platform.fail = [error] * attempts
    async with running(dispatcher, platform):
        await commit(dispatcher, "d1", "my secret words")
        await commit(dispatcher, "d2", "I like cats.")
        await settled(dispatcher)
    assert platform.attempts == [*range(1, attempts + 1), 1]
    assert outcomes(desk) == {"d1": "failed", "d2": "answered"}
    assert "secret" not in caplog.text


@pytest.mark.parametrize("at", [1, 2, 3])
async def test_a_conversation_goes_on_after_its_bookkeeping_failed(
    desk: Desk,
    dispatcher: Dispatcher,
    platform: FakePlatform,
    monkeypatch: pytest.MonkeyPatch,
    at: int,
) -> None:
    full = StoreUnavailable("The disk that holds the database is full.")
    monkeypatch.setattr(dispatch, "_done", Failing(dispatch._done, full, at))
    async with running(dispatcher, platform):
        for n in range(3):
            await commit(dispatcher, f"d{n}", f"I like fruit number {n}.")
        await settled(dispatcher)
    assert [said for said, _ in platform.delivered] == [
        f"I like fruit number {n}." for n in range(3)
    ]
    assert None not in outcomes(desk).values()


async def test_who_waits_hears_of_a_database_that_goes_on_refusing(
    desk: Desk,
    dispatcher: Dispatcher,
    platform: FakePlatform,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise StoreUnavailable("The disk that holds the database is full.")

    monkeypatch.setattr(dispatch, "LONGEST_PAUSE", 0.01)
    monkeypatch.setattr(dispatch, "_done", refuse)
    async with running(dispatcher, platform):
        await commit(dispatcher, "d0", "I like kelp.")
        trouble = await asyncio.wait_for(dispatcher.stuck(), 30)
        assert "full" in str(trouble)
        monkeypatch.undo()
        await settled(dispatcher)
    assert None not in outcomes(desk).values()


async def test_stopping_leaves_what_was_not_begun_for_the_next_start(
    desk: Desk, dispatcher: Dispatcher, platform: FakePlatform
) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def hold(_: IncomingMessage) -> None:
        begun.set()
        await go_on.wait()

    platform.before_reply = hold
    async with running(dispatcher, platform):
        await commit(dispatcher, "d1", "I live in Osaka.")
        await commit(dispatcher, "d2", "I like cats.")
        async with asyncio.timeout(30):
            await begun.wait()
        stopping = asyncio.create_task(dispatcher.finish(60))
        await asyncio.sleep(0)
        go_on.set()
        await stopping
    assert outcomes(desk) == {"d1": "answered", "d2": None}
    platform.before_reply = None
    after = Dispatcher(desk.mind.database, desk.responder, desk.mind.clock)
    async with running(after, platform):
        await settled(after)
    assert [said for said, _ in platform.delivered] == ["I live in Osaka.", "I like cats."]


def test_twins_have_one_key_and_edits_another(desk: Desk) -> None:
    first = desk.incoming("hello", message_id="m1")
    twin = desk.incoming("hello", message_id="m1", event_id="other")
    edit = desk.incoming("hello", message_id="m1", revision="2")
    assert claim_key(first) == claim_key(twin)
    assert len({claim_key(first), claim_key(edit)}) == 2
