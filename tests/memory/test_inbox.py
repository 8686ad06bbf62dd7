"""Events are on disk before they are acknowledged, and handled once."""

from __future__ import annotations

from datetime import timedelta

from memory.store import inbox
from memory.store.database import Database
from memory.types import InboxEvent
from tests.fakes import NOON, bytes_of

PAYLOAD = {"text": "猫 and 🍣", "nested": {"list": [1, None, True]}}


async def commit(database: Database, delivery: str, tenant: str = "T1") -> int | None:
    return await database.write(lambda s: inbox.commit(s, "slack", tenant, delivery, PAYLOAD, NOON))


async def open_events(database: Database, after: int = 0, limit: int = 99) -> list[InboxEvent]:
    return await database.read(lambda s: inbox.open_events(s, after, limit))


async def test_an_event_comes_back_as_it_was_committed(database: Database) -> None:
    id_ = await commit(database, "d1")
    (event,) = await open_events(database)
    assert event == InboxEvent(id_ or 0, "slack", "T1", "d1", PAYLOAD, NOON, 0, None)


async def test_a_redelivery_is_dropped_before_and_after_it_was_handled(database: Database) -> None:
    id_ = await commit(database, "d1")
    assert id_ is not None
    assert await commit(database, "d1") is None
    await database.write(lambda s: inbox.finish(s, id_, "answered", NOON))
    assert await commit(database, "d1") is None
    assert await open_events(database) == []


async def test_one_delivery_id_of_two_tenants_is_two_events(database: Database) -> None:
    assert await commit(database, "d1", "T1") != await commit(database, "d1", "T2")
    assert len(await open_events(database)) == 2


async def test_open_events_come_oldest_first_from_after_a_given_one(database: Database) -> None:
    ids = [await commit(database, f"d{n}") for n in range(5)]
    assert [e.id for e in await open_events(database, ids[1] or 0, 2)] == ids[2:4]


async def test_attempts_are_counted_and_the_begun_reply_is_noted(database: Database) -> None:
    id_ = await commit(database, "d1") or 0
    assert await database.write(lambda s: inbox.begin(s, id_)) == 1
    assert await database.write(lambda s: inbox.begin(s, id_)) == 2
    await database.write(lambda s: inbox.note_reply(s, id_, "ts:1"))
    (event,) = await open_events(database)
    assert (event.attempts, event.reply_ref) == (2, "ts:1")


async def test_a_handled_event_leaves_no_words_behind(database: Database) -> None:
    id_ = await commit(database, "d1") or 0
    assert await database.read(inbox.depth) == 1
    await database.write(lambda s: inbox.finish(s, id_, "answered", NOON))
    await database.checkpoint()
    assert await database.read(inbox.depth) == 0
    assert database.path is not None
    assert "🍣".encode("unicode-escape") not in bytes_of(database.path.parent)
    assert b"ud83c" not in bytes_of(database.path.parent)


async def test_a_message_is_claimed_by_one_event_only(database: Database) -> None:
    first, twin = await commit(database, "d1") or 0, await commit(database, "d2") or 0

    async def claim(keys: list[str], event_id: int) -> bool:
        return await database.write(lambda s: inbox.claim(s, keys, event_id, NOON))

    assert await claim(["m1"], first)
    assert await claim(["m1"], first), "again after a crash"
    assert not await claim(["m1"], twin)
    assert not await claim(["m2", "m1"], twin)
    assert await claim(["m3"], twin)


async def test_what_was_handled_long_ago_is_dropped_and_what_is_open_never(
    database: Database,
) -> None:
    old, new, waiting = [await commit(database, f"d{n}") or 0 for n in range(3)]
    later = NOON + timedelta(days=4)
    await database.write(lambda s: inbox.claim(s, ["m1"], old, NOON))
    await database.write(lambda s: inbox.finish(s, old, "answered", NOON))
    await database.write(lambda s: inbox.finish(s, new, "answered", later))
    gone = await database.write(lambda s: inbox.forget_before(s, NOON + timedelta(days=1)))
    assert gone == 1
    assert [e.id for e in await open_events(database)] == [waiting]
    assert await commit(database, "d0") is not None
    assert await commit(database, "d1") is None
    assert await database.write(lambda s: inbox.claim(s, ["m1"], waiting, later))
