"""The database, and the rows that no other test looks at closely."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, text
from sqlmodel import Session

from memory.errors import SchemaMismatch, StoreUnavailable
from memory.store import audiences, briefs, facts, messages, places, sources, tombstones, traces
from memory.store.database import PAGE_SIZE, Database, integrity
from memory.store.messages import Change
from memory.store.places import Place, Preferences
from memory.store.text_keys import text_key
from memory.store.tombstones import Ledger
from memory.types import Audience, Kind, Person, Readable, Ref, Span
from tests.fakes import GENERAL, HANAKO, NOON, SECRET, TARO, TARO_DM, Mind, new_fact, new_message


def pragma(session: Session, name: str) -> Any:
    return session.execute(text(f"PRAGMA {name}")).scalar_one()


# -- the database ----------------------------------------------------------------------------------


async def test_a_connection_is_durable_erases_what_it_deletes_and_checks_references(
    tmp_path: Path,
) -> None:
    database = Database(f"sqlite:///{tmp_path / 'oboete.db'}")

    def settings(session: Session) -> dict[str, Any]:
        names = ("journal_mode", "synchronous", "secure_delete", "foreign_keys", "page_size")
        return {name: pragma(session, name) for name in names}

    expected = {
        "journal_mode": "wal",
        "synchronous": 2,
        "secure_delete": 1,
        "foreign_keys": 1,
        "page_size": PAGE_SIZE,
    }
    try:
        assert await database.write(settings) == expected
        assert await database.read(settings) == expected
    finally:
        database.close()


async def test_a_write_that_raises_leaves_nothing_behind(database: Database) -> None:
    def half(session: Session) -> None:
        audiences.ensure_id(session, GENERAL)
        raise ValueError("in the middle")

    with pytest.raises(ValueError, match="in the middle"):
        await database.write(half)
    assert await database.read(lambda s: audiences.readable_ids(s, Readable.of(GENERAL))) == {}


async def test_writes_asked_for_at_once_happen_one_after_the_other(database: Database) -> None:
    def count_up(session: Session) -> int:
        seen = int(places.get_value(session, "count") or 0)
        places.set_value(session, "count", str(seen + 1))
        return seen

    seen = await asyncio.gather(*(database.write(count_up) for _ in range(50)))
    assert sorted(seen) == list(range(50))


async def test_two_databases_on_one_file_never_get_locked_out(database: Database) -> None:
    def count_up(session: Session) -> None:
        seen = int(places.get_value(session, "count") or 0)
        places.set_value(session, "count", str(seen + 1))

    other = Database(str(database.url))
    try:
        await asyncio.gather(
            *(each.write(count_up) for _ in range(40) for each in (database, other))
        )
    finally:
        other.close()
    assert await database.read(lambda s: places.get_value(s, "count")) == "80"


async def test_a_read_sees_one_snapshot_while_others_write(database: Database) -> None:
    await database.write(lambda s: places.set_value(s, "a", "1"))
    loop = asyncio.get_running_loop()

    def twice(session: Session) -> tuple[str | None, str | None]:
        first = places.get_value(session, "a")
        session.expire_all()
        asyncio.run_coroutine_threadsafe(
            database.write(lambda s: places.set_value(s, "a", "2")), loop
        ).result()
        return first, places.get_value(session, "a")

    assert await database.read(twice) == ("1", "1")
    assert await database.read(lambda s: places.get_value(s, "a")) == "2"


async def test_a_write_goes_on_to_its_end_when_its_caller_is_cancelled(database: Database) -> None:
    loop = asyncio.get_running_loop()
    begun = asyncio.Event()

    def slow(session: Session) -> None:
        places.set_value(session, "a", "half")
        loop.call_soon_threadsafe(begun.set)
        places.set_value(session, "b", "whole")

    task = asyncio.create_task(database.write(slow))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    stored = await database.write(lambda s: (places.get_value(s, "a"), places.get_value(s, "b")))
    assert stored in {("half", "whole"), (None, None)}


@pytest.mark.parametrize(
    "content", [b"not a database at all " * 100, b"SQLite format 3\0" + b"\xff" * 4096]
)
async def test_a_file_that_is_no_database_is_named_as_such(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "oboete.db"
    path.write_bytes(content)
    database = Database(f"sqlite:///{path}")
    try:
        with pytest.raises(StoreUnavailable, match=r"not a SQLite database|damaged|cannot be used"):
            database.prepare()
    finally:
        database.close()
    assert path.read_bytes() == content


async def test_a_folder_in_place_of_the_file_cannot_be_opened(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}")
    try:
        with pytest.raises(StoreUnavailable, match="cannot be opened"):
            database.prepare()
    finally:
        database.close()


async def test_a_read_only_database_says_so(database: Database) -> None:
    assert database.path is not None
    database.close()
    address = f"sqlite:///file:{database.path}?mode=ro&uri=true"
    only = Database(address)
    try:
        with pytest.raises(StoreUnavailable, match="read-only"):
            await only.write(lambda s: places.set_value(s, "a", "1"))
    finally:
        only.close()


@pytest.mark.parametrize("address", ["", "nonsense", "nosuch://x/y", "sqlite"])
def test_an_address_that_is_none_is_refused_in_words(address: str) -> None:
    with pytest.raises(StoreUnavailable, match="database"):
        Database(address)


async def test_a_database_without_tables_asks_to_be_migrated(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'empty.db'}")
    try:
        with pytest.raises(SchemaMismatch, match="oboete migrate"):
            await database.read(lambda s: places.get_value(s, "a"))
    finally:
        database.close()


async def test_an_error_carries_nobodys_words(database: Database) -> None:
    def twice(session: Session) -> None:
        for _ in range(2):
            session.execute(
                text("INSERT INTO key_value (key, value) VALUES (:k, :v)"),
                {"k": "himitsu-no-kotoba", "v": "himitsu"},
            )

    with pytest.raises(StoreUnavailable) as caught:
        await database.write(twice)
    assert "himitsu" not in str(caught.value)
    assert "himitsu" not in str(caught.value.__cause__)


async def test_a_small_read_on_the_loop_sees_what_was_committed(database: Database) -> None:
    await database.write(lambda s: places.set_value(s, "猫", "たま"))
    assert database.inline("SELECT value FROM key_value WHERE key = ?", ("猫",)) == [("たま",)]
    await database.write(lambda s: places.set_value(s, "猫", "みけ"))
    assert database.inline("SELECT value FROM key_value WHERE key = ?", ("猫",)) == [("みけ",)]


async def test_a_checkpoint_empties_the_log(database: Database) -> None:
    await database.write(lambda s: places.set_value(s, "a", "1"))
    log = Path(f"{database.path}-wal")
    assert log.stat().st_size > 0
    await database.checkpoint()
    assert log.stat().st_size == 0


async def test_a_broken_reference_is_found(database: Database) -> None:
    assert await database.read(integrity) == []
    with sqlite3.connect(str(database.path)) as raw:
        raw.execute("INSERT INTO evidence VALUES (77, 78, 0, 1)")
    raw.close()
    problems = await database.read(integrity)
    assert problems
    assert "evidence" in problems[0]


# -- times and ids ---------------------------------------------------------------------------------


async def test_times_come_back_as_the_same_instant_in_utc(mind: Mind) -> None:
    tokyo = datetime(2026, 3, 2, 9, 30, 15, 250_000, tzinfo=timezone(timedelta(hours=9)))
    message = await mind.hear("おはよう", sent_at=tokyo)
    found = await mind.memory.find_message(TARO_DM, message.platform_id)
    assert found is not None
    assert found.sent_at == tokyo
    assert found.sent_at.tzinfo is UTC


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="without a time zone"):
        new_message("hello", sent_at=datetime(2026, 3, 2))  # noqa: DTZ001


async def test_ids_are_never_used_again(mind: Mind) -> None:
    first = await mind.state("I live in Osaka")
    await mind.memory.source_deleted(TARO_DM, (await _message_of(mind, first)).platform_id)
    second = await mind.state("I live in Kyoto")
    assert second.id > first.id
    assert second.evidence[0].message_id > first.evidence[0].message_id


async def _message_of(mind: Mind, fact: Any) -> Any:
    wanted = fact.evidence[0].message_id
    readable = Readable.of(fact.audience)
    return (await mind.database.read(lambda s: messages.get(s, [wanted], readable)))[wanted]


# -- messages --------------------------------------------------------------------------------------


async def test_a_message_keeps_all_that_was_said_about_it(mind: Mind) -> None:
    said = new_message(
        "花子 likes 猫 \N{CAT FACE} \u202eRTL\u202c zero\u200bwidth",
        audience=GENERAL,
        permalink="https://chat.example/1",
        time_zone="Asia/Tokyo",
        mentions=(("花子", HANAKO),),
    )
    await mind.memory.hear(said, learn=False)
    found = await mind.memory.find_message(GENERAL, said.platform_id)
    assert found is not None
    for name in ("text", "author", "author_name", "permalink", "time_zone", "mentions", "role"):
        assert getattr(found, name) == getattr(said, name)


async def test_a_redelivery_changes_nothing(database: Database) -> None:
    said = new_message("hello")
    first = await database.write(lambda s: messages.put(s, said, NOON))
    again = await database.write(lambda s: messages.put(s, said, NOON))
    assert (first[1], again[1]) == (Change.NEW, Change.UNCHANGED)
    assert first[0] == again[0]


@pytest.mark.parametrize("order", [("1", "2"), ("2", "1")])
async def test_the_later_edit_wins_in_whatever_order_they_arrive(
    database: Database, order: tuple[str, str]
) -> None:
    for revision in ("", *order):
        said = new_message(f"text {revision}", platform_id="m", revision=revision)
        await database.write(lambda s, said=said: messages.put(s, said, NOON))  # type: ignore[misc]
    found = await database.read(lambda s: messages.find(s, TARO_DM, "m"))
    assert found is not None
    assert (found.text, found.revision) == ("text 2", "2")


async def test_one_platform_id_in_two_places_is_two_messages(mind: Mind) -> None:
    first = await mind.hear("one", platform_id="same", audience=GENERAL)
    second = await mind.hear("two", platform_id="same", audience=SECRET)
    assert first.id != second.id


async def test_history_is_what_is_readable_of_one_conversation_oldest_first(mind: Mind) -> None:
    for number in range(5):
        mind.clock.advance(minutes=1)
        await mind.hear(f"public {number}", audience=GENERAL)
        await mind.hear(f"secret {number}", audience=SECRET)
        await mind.hear(f"elsewhere {number}", audience=GENERAL, conversation="other")
    found = await mind.memory.history("talk", Readable.of(GENERAL), 3)
    assert [message.text for message in found] == ["public 2", "public 3", "public 4"]
    assert await mind.memory.history("talk", Readable.of(), 3) == []


async def test_blanking_keeps_every_other_span_in_its_place(mind: Mind) -> None:
    text = "私は大阪に住んでいます。猫が好きです。"
    message = await mind.hear(text)
    cut = text.index("猫")
    left = await mind.database.write(lambda s: messages.blank(s, message.id, [Span(0, cut)]))
    assert left == " " * cut + "猫が好きです。"
    left = await mind.database.write(lambda s: messages.blank(s, message.id, [Span(cut, 999)]))
    assert left == ""


# -- facts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("I live in Osaka", "i  live in OSAKA.", True),
        ("ＶＰＮを使う", "VPNを使う。", True),
        ("ﾈｺが好き", "ネコが好き", True),
        ("I live in Osaka", "I live in Kyoto", False),
        ("猫が好き", "猫が好きではない", False),
        ("meeting at 3 pm", "meeting at 4 pm", False),
    ],
)
def test_texts_are_the_same_but_for_width_case_spacing_and_full_stop(
    one: str, other: str, same: bool
) -> None:
    assert (text_key(one) == text_key(other)) is same


async def test_a_fact_comes_back_with_everything(mind: Mind) -> None:
    message = await mind.hear("花子は猫が好き", audience=GENERAL, permalink="https://c.example/9")
    new = new_fact(
        message,
        subject="花子",
        language="ja",
        attribute="likes:猫",
        negated=True,
        valid_from=NOON,
        valid_until=NOON + timedelta(days=1),
    )
    ((fact, *_),) = [(o.fact,) for o in await mind.memory.remember([new])]
    (found,) = await mind.memory.facts_by_id([fact.id], Readable.of(GENERAL))
    for name in [
        "text",
        "subject",
        "speaker",
        "audience",
        "language",
        "origin",
        "attribute",
        "negated",
        "said_at",
        "valid_from",
        "valid_until",
    ]:
        assert getattr(found, name) == getattr(new, name), name
    assert found.evidence[0].permalink == "https://c.example/9"
    assert (found.confirmed, found.superseded_by, found.learned_at) == (1, None, NOON)


async def test_facts_of_other_places_are_not_given_out(mind: Mind) -> None:
    fact = await mind.state("I live in Osaka", said={"audience": SECRET})
    assert await mind.memory.facts_by_id([fact.id], Readable.of(GENERAL, TARO_DM)) == []
    assert await mind.memory.facts_about(TARO, Readable.of(GENERAL)) == []
    assert await mind.memory.facts_about(TARO, Readable.of()) == []
    assert [f.id for f in await mind.memory.facts_about(TARO, Readable.of(SECRET))] == [fact.id]


async def test_a_name_as_text_is_never_a_person(mind: Mind) -> None:
    await mind.state("it is him", subject=str(TARO), speaker=HANAKO)
    assert await mind.memory.facts_about(TARO, Readable.of(TARO_DM)) == []


# -- places, people, traces, tombstones ------------------------------------------------------------


async def test_choices_of_places_and_people_are_kept(mind: Mind) -> None:
    assert await mind.directory.place(GENERAL) == Place()
    assert await mind.directory.preferences(TARO) == Preferences()
    place = Place(public=True, paused=True, listen=True, greeted=True)
    chosen = Preferences(paused=True, quiet=True, locale="ja", time_zone="Asia/Tokyo")
    await mind.directory.change_place(GENERAL, public=True, paused=True, listen=True, greeted=True)
    await mind.directory.set_preferences(TARO, chosen)
    assert await mind.directory.place(GENERAL) == place
    assert await mind.directory.preferences(TARO) == chosen


async def test_a_dm_reads_itself_public_places_and_the_private_ones_joined(mind: Mind) -> None:
    other_tenant = Audience("console", "elsewhere", "general")
    for place in (GENERAL, other_tenant):
        await mind.directory.change_place(place, public=True)
    await mind.directory.change_place(SECRET, public=False)
    assert await mind.directory.readable_in_dm(TARO, TARO_DM) == Readable.of(TARO_DM, GENERAL)
    await mind.directory.join(SECRET, TARO)
    expected = Readable.of(TARO_DM, GENERAL, SECRET)
    assert await mind.directory.readable_in_dm(TARO, TARO_DM) == expected
    assert await mind.directory.readable_in(SECRET) == Readable.of(SECRET, GENERAL)
    assert await mind.directory.readable_in(GENERAL) == Readable.of(GENERAL)


async def test_a_trace_is_shown_to_its_asker_only(mind: Mind) -> None:
    first, _ = await mind.memory.add_trace(TARO_DM, TARO, None, None, {"route": "talk"}, [])
    second, _ = await mind.memory.add_trace(TARO_DM, TARO, None, None, {"route": "memory"}, [])
    latest = await mind.memory.trace(TARO, TARO_DM, None)
    assert latest is not None
    assert (latest.id, latest.steps) == (second, {"route": "memory"})
    assert (await mind.memory.trace(TARO, TARO_DM, first)) is not None
    assert await mind.memory.trace(HANAKO, TARO_DM, first) is None
    assert await mind.memory.trace(HANAKO, TARO_DM, None) is None
    assert await mind.memory.trace(TARO, GENERAL, None) is None
    assert await mind.memory.rate(first, TARO, 1)
    assert not await mind.memory.rate(first, HANAKO, -1)
    rated = await mind.memory.trace(TARO, TARO_DM, first)
    assert rated is not None
    assert rated.rating == 1


async def test_lineage_names_what_was_made_from_a_record(mind: Mind) -> None:
    fact = await mind.state("I live in Osaka")
    ref = Ref(Kind.FACT, fact.id)
    asked = await mind.hear("Where do I live?")
    reply = await mind.reply("you live in Osaka", [ref, Ref(Kind.MESSAGE, asked.id)])
    assert await mind.database.read(lambda s: traces.derived_from(s, [ref])) == [reply.id]


def test_a_tombstone_depends_on_the_key_the_place_and_the_revision(tmp_path: Path) -> None:
    ledger, other = Ledger(tmp_path / "one"), Ledger(tmp_path / "other")
    digests = {
        ledger.digest(TARO_DM, "m", ""),
        ledger.digest(TARO_DM, "m", "2"),
        ledger.digest(TARO_DM, "n", ""),
        ledger.digest(GENERAL, "m", ""),
        other.digest(TARO_DM, "m", ""),
    }
    assert len(digests) == 5
    assert Ledger(tmp_path / "one").digest(TARO_DM, "m", "") in digests


def test_the_ledger_outlives_its_process_and_takes_back_mistakes(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    assert ledger.digests() == set()
    ledger.append([b"a" * 16, b"b" * 16])
    ledger.retract([b"a" * 16])
    assert Ledger(tmp_path).digests() == {b"b" * 16}
    ledger.append([b"a" * 16])
    assert Ledger(tmp_path).digests() == {b"a" * 16, b"b" * 16}


def test_a_ledger_that_cannot_be_read_or_made_says_so(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    with pytest.raises(StoreUnavailable, match="data folder"):
        Ledger(blocked)
    ledger = Ledger(tmp_path / "data")
    (tmp_path / "data" / "forgotten.ledger").write_text("not hexadecimal\n")
    with pytest.raises(StoreUnavailable, match="ledger"):
        ledger.digests()


async def test_a_lifted_tombstone_is_gone(database: Database, tmp_path: Path) -> None:
    digest = Ledger(tmp_path).digest(TARO_DM, "m", "")
    await database.write(lambda s: tombstones.add(s, [digest, digest]))
    assert await database.read(lambda s: tombstones.exists(s, digest))
    await database.write(lambda s: tombstones.lift(s, [digest]))
    assert not await database.read(lambda s: tombstones.exists(s, digest))


def test_addresses_keep_their_parts() -> None:
    assert str(Person.parse("slack:T1:U:1")) == "slack:T1:U:1"
    for wrong in ("", "slack", "slack:T1", "slack:T1:", ":T1:U1", "slack::U1"):
        with pytest.raises(ValueError, match="must not"):
            Audience.parse(wrong)


async def test_rows_that_are_asked_for_by_id_are_found_by_id(mind: Mind) -> None:
    """And not by an index of places: that would go through all that is known of the place."""
    fact = await mind.state("I live in Osaka")
    message_id = fact.evidence[0].message_id
    here = Readable.of(TARO_DM)
    asked: list[tuple[str, Any]] = []

    def note(_: Any, __: Any, sql: str, parameters: Any, *___: Any) -> None:
        asked.append((sql, parameters))

    def read(session: Session) -> None:
        ids = list(audiences.readable_ids(session, here))
        facts.get(session, [fact.id], here)
        messages.get(session, [message_id], here)
        briefs.facts(session, [fact.id], ids)
        briefs.messages(session, [message_id], ids)
        sources.chunks(session, [1], here)

    event.listen(mind.database.engine, "before_cursor_execute", note)
    await mind.database.read(read)
    event.remove(mind.database.engine, "before_cursor_execute", note)

    def plans(session: Session) -> list[str]:
        connection = session.connection()
        return [
            row[3]
            for sql, parameters in asked
            if sql.startswith("SELECT")
            for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", parameters)
        ]

    steps = await mind.database.read(plans)
    for table in ("fact", "message", "chunk"):
        steps_of_it = [step for step in steps if f" {table} " in step]
        assert steps_of_it
        assert all("USING INTEGER PRIMARY KEY" in step for step in steps_of_it)
