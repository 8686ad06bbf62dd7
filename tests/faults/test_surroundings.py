"""The disk fills up, somebody locks the database, the clock jumps, the model server misbehaves."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event

from adapters.chat_stream import Timeouts
from adapters.ollama_models import OllamaChat
from bot.errors import ModelUnavailable
from bot.jobs import Jobs
from bot.model_extract import ModelExtractor
from memory.errors import StoreUnavailable
from memory.store import inbox, queues
from memory.types import Readable
from tests.fakes import GENERAL, TARO, TARO_DM, Desk, Mind
from tests.ollama_double import Answer, ChatRequest, OllamaDouble

pytestmark = pytest.mark.slow

HERE = Readable.of(TARO_DM, GENERAL)


@contextmanager
def no_room(mind: Mind) -> Iterator[None]:
    """No page can be added to the database: what SQLite calls a full disk."""

    def limit(connection: Any, *_: object) -> None:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")

    def lift(connection: Any, *_: object) -> None:
        connection.execute("PRAGMA max_page_count = 1073741823")

    event.listen(mind.database.engine, "checkout", limit)
    try:
        yield
    finally:
        event.remove(mind.database.engine, "checkout", limit)
        event.listen(mind.database.engine, "checkout", lift)


LONG = "x" * 40_000
"""More than fits on the free space of the pages there are."""


async def test_on_a_full_disk_nothing_is_acknowledged_or_half_written(mind: Mind) -> None:
    await mind.state("I live in Osaka")
    with no_room(mind):
        for _ in range(3):
            with pytest.raises(StoreUnavailable, match="full"):
                await mind.database.write(
                    lambda s: inbox.commit(s, "slack", "T", "d", {"text": LONG}, mind.clock())
                )
            with pytest.raises(StoreUnavailable, match="full"):
                await mind.state(f"大阪に住んでいます {LONG}")
        found = await mind.memory.recall("Where do I live?", HERE, 3)
        assert "Osaka" in found[0].text
    assert await mind.database.read(inbox.depth) == 0
    assert await mind.problems() == []
    await mind.state(f"大阪に住んでいます {LONG}")
    assert await mind.problems() == []


async def test_a_person_is_told_that_the_disk_is_full(mind: Mind, desk: Desk) -> None:
    with no_room(mind):
        reply = await desk.say(f"Remember that I like {LONG}")
    assert "full" in reply.text
    assert reply.failed
    assert await mind.problems() == []
    assert not (await desk.say("Remember that I like tea")).failed


@contextmanager
def locked(mind: Mind) -> Iterator[None]:
    """Another program writes for a long time."""
    other = sqlite3.connect(str(mind.database.path), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.rollback()
        other.close()


async def test_a_lock_that_ends_in_time_is_waited_for(mind: Mind) -> None:
    with locked(mind):
        written = asyncio.create_task(mind.state("I live in Osaka"))
        await asyncio.sleep(0.1)
        assert not written.done()
        assert await mind.memory.facts_about(TARO, HERE) == []  # reading goes on
    await written
    assert len(await mind.memory.facts_about(TARO, HERE)) == 1


async def test_a_lock_that_stays_is_told_and_loses_nothing_that_was_acknowledged(
    mind: Mind, desk: Desk
) -> None:
    def impatient(connection: Any, *_: object) -> None:
        connection.execute("PRAGMA busy_timeout = 50")

    event.listen(mind.database.engine, "checkout", impatient)
    await mind.state("I live in Osaka")
    with locked(mind):
        with pytest.raises(StoreUnavailable, match="locked"):
            await mind.hear("I like cats")
        reply = await desk.say("猫が好きです")
        assert reply.failed
        assert "locked" in reply.text
        (hit, *_) = await mind.memory.recall("Where do I live?", HERE, 3)
        assert "Osaka" in hit.text
    assert not (await desk.say("猫が好きです")).failed
    assert await mind.problems() == []


# -- the clock -----------------------------------------------------------------------------------


async def test_what_waits_is_done_although_the_clock_was_set_back(mind: Mind) -> None:
    await mind.hear("I live in Osaka", learn=True)
    mind.clock.advance(days=-30)
    assert await mind.memory.waiting() == []
    await mind.database.write(lambda s: queues.bring_forward(s, mind.clock()))
    assert len(await mind.memory.waiting()) == 1
    assert await mind.embedding.drain() >= 1


async def test_a_retry_that_was_planned_is_not_brought_forward(mind: Mind) -> None:
    message = await mind.hear("I live in Osaka", learn=True)
    for _ in range(9):
        await mind.memory.postpone_extraction([message.id])
    assert await mind.database.write(lambda s: queues.bring_forward(s, mind.clock())) == 0
    assert await mind.memory.waiting() == []


async def test_starting_puts_the_queues_right(mind: Mind) -> None:
    await mind.hear("I live in Osaka", learn=True)
    mind.clock.advance(days=-30)
    jobs = asyncio.create_task(Jobs([], mind.database, mind.clock, "UTC").run())
    await asyncio.sleep(0.2)
    jobs.cancel()
    await asyncio.gather(jobs, return_exceptions=True)
    assert len(await mind.memory.waiting()) == 1


@pytest.mark.parametrize("days", [-400, 400])
async def test_facts_and_answers_survive_a_clock_that_jumps(
    mind: Mind, desk: Desk, days: int
) -> None:
    await desk.say("I live in Osaka")
    mind.clock.advance(days=days)
    assert "Osaka" in (await desk.say("Where do I live?")).text
    await desk.say("猫が好きです")
    mind.clock.advance(days=-days)
    assert "Osaka" in (await desk.say("Where do I live?")).text
    assert await mind.problems() == []


# -- the model server ----------------------------------------------------------------------------

FACTS = (
    '{"facts": [{"message": 1, "quote": "I live in Osaka", "text": "I live in Osaka",'
    ' "subject": "S1", "attribute": "home"}]}'
)


def well(request: ChatRequest) -> Answer | str:
    """Reads the fact, and answers anything else."""
    return FACTS if request.schema is not None else "Noted."


TROUBLE = {
    "hangs": lambda _: Answer("One mo", hang=True),
    "resets": lambda _: Answer('{"facts": [', reset=True),
    "stops early": lambda _: Answer('{"facts": [', stop_early=True),
    "fails": lambda _: Answer(status=500, error="out of memory"),
    "says nothing": lambda _: Answer(),
    "talks nonsense": lambda _: Answer("Sure! The facts are: none of your business."),
    "fills with white space": lambda _: Answer("{", forever=" \n"),
}


@pytest.fixture
async def server() -> AsyncIterator[OllamaDouble]:
    async with OllamaDouble(well) as double:
        yield double


def chat(server: OllamaDouble, seconds: float = 60.0) -> OllamaChat:
    timeouts = Timeouts(total=seconds)
    return OllamaChat(server.url, "qwen3:4b", context_tokens=4096, timeouts=timeouts)


@pytest.mark.parametrize("trouble", TROUBLE)
async def test_whatever_the_model_server_does_the_message_is_answered_and_read_later_once(
    mind: Mind, server: OllamaDouble, trouble: str
) -> None:
    model = chat(server, seconds=0.6)
    desk = Desk.over(mind, model)
    server.script = TROUBLE[trouble]
    reply = await desk.say("I live in Osaka")
    assert reply.text.strip()
    message = await mind.hear("I live in Osaka", learn=True, audience=GENERAL)
    await ModelExtractor(mind.memory, model, mind.clock).drain()
    await model.close()
    place = Readable.of(GENERAL)
    assert await mind.memory.facts_about(TARO, place) == []
    assert await mind.memory.unread() >= 1
    server.script = well
    mind.clock.advance(hours=2)
    model = chat(server)  # it is well again, however slow this machine is
    await ModelExtractor(mind.memory, model, mind.clock).drain()
    (fact,) = await mind.memory.facts_about(TARO, place)
    assert [item.message_id for item in fact.evidence] == [message.id]
    assert await mind.memory.unread() == 0
    assert await mind.problems() == []
    await model.close()


async def test_a_model_server_that_is_gone_is_a_clear_error(server: OllamaDouble) -> None:
    model = chat(server)
    await server.__aexit__()
    with pytest.raises(ModelUnavailable, match=r"127\.0\.0\.1"):
        await model.check()
    await model.close()
