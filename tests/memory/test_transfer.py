"""Export and import of a tenant: the same facts elsewhere, twice is once, other tenants stay."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memory import transfer
from memory.directory import Place
from memory.long_term import Actor
from memory.retention import expire_messages
from memory.store import tombstones
from memory.store.database import Database
from memory.store.places import Preferences
from memory.transfer import BadExport, Imported
from memory.types import Audience, Kind, Person, Readable, Ref
from tests.fakes import GENERAL, NOON, SECRET, TARO, TARO_DM, FakeEmbedder, Mind, bytes_of

HERE = Readable.of(TARO_DM, GENERAL)
HEADER = {"format": "oboete-tenant", "version": 1, "platform": "console", "tenant": "local"}


async def exported(mind: Mind) -> list[dict[str, Any]]:
    lines = await mind.database.read(
        lambda s: list(transfer.lines(s, "console", "local", mind.clock()))
    )
    return [json.loads(json.dumps(line, ensure_ascii=False)) for line in lines]


async def imported(mind: Mind, lines: list[dict[str, Any]]) -> Imported:
    return await mind.database.write(
        lambda s: transfer.take_in(s, lines, mind.ledger, mind.clock())
    )


@pytest.fixture
async def other(schema_file: Path, tmp_path: Path, mind: Mind) -> Any:
    path = tmp_path / "other" / "oboete.db"
    path.parent.mkdir()
    shutil.copy(schema_file, path)
    database = Database(f"sqlite:///{path}")
    second = Mind.over(database, mind.clock, FakeEmbedder())
    await second.embedding.open()
    yield second
    database.close()


async def fill(mind: Mind) -> None:
    await mind.state("I live in Osaka", attribute="home")
    mind.clock.advance(days=1)
    await mind.state("I live in Kyoto", attribute="home")
    await mind.state("猫が好きです", said={"audience": GENERAL}, language="ja")
    await mind.state("passing", valid_until=NOON + timedelta(days=9))


def without_ids(mind: Mind, facts: list[Any]) -> list[Any]:
    by_id = {fact.id: fact.text for fact in facts}
    return [
        (f.text, f.attribute, f.said_at, f.valid_until, f.confirmed, by_id.get(f.superseded_by))
        for f in facts
    ]


async def test_everything_arrives_and_agrees(mind: Mind, other: Mind) -> None:
    await fill(mind)
    done = await imported(other, await exported(mind))
    assert (done.messages, done.facts, done.known) == (4, 4, 0)
    await other.embedding.drain()
    assert await other.problems() == []
    ours = await mind.memory.facts_about(TARO, HERE, past=True)
    theirs = await other.memory.facts_about(TARO, HERE, past=True)
    assert without_ids(other, theirs) == without_ids(mind, ours)
    asked = "where do I live?"
    found = [hit.text for hit in await other.memory.recall(asked, HERE, 5)]
    assert found == [hit.text for hit in await mind.memory.recall(asked, HERE, 5)]
    assert "I live in Kyoto" in found


async def test_a_private_place_stays_private_after_it_moved(mind: Mind, other: Mind) -> None:
    for text, public in (("one", False), ("two", True), ("three", False)):
        await mind.directory.change_place(SECRET, public=public)
        await mind.state(f"The box of number {text}", said={"audience": SECRET})
    await imported(other, await exported(mind))
    await other.directory.load()
    everything = {f"The box of number {text}" for text in ("one", "two", "three")}
    members = await other.directory.readable_in(SECRET)
    assert {f.text for f in await other.memory.facts_about(TARO, members)} == everything
    await other.directory.change_place(SECRET, public=True)
    everybody = await other.directory.readable_in(SECRET)
    shown = await other.memory.facts_about(TARO, everybody)
    assert [fact.text for fact in shown] == ["The box of number two"]


async def test_what_was_private_there_is_not_widened_where_the_place_is_public(
    mind: Mind, other: Mind
) -> None:
    for text, public in (("one", True), ("two", False)):
        await mind.directory.change_place(SECRET, public=public)
        await mind.state(f"The box of number {text}", said={"audience": SECRET})
    await other.directory.change_place(SECRET, public=True)
    await other.state("The box of number three", said={"audience": SECRET})
    lines = await exported(mind)
    for _ in range(2):
        await imported(other, lines)
        await other.embedding.drain()
        assert await other.problems() == []
        everybody = await other.directory.readable_in(SECRET)
        shown = {fact.text for fact in await other.memory.facts_about(TARO, everybody)}
        assert shown == {"The box of number one", "The box of number three"}
        hits = await other.memory.recall("box number two", everybody, 9)
        assert not any("two" in hit.text for hit in hits)
    await other.directory.change_place(SECRET, public=False)
    members = await other.directory.readable_in(SECRET)
    assert len(await other.memory.facts_about(TARO, members)) == 3


async def test_importing_twice_changes_nothing(mind: Mind, other: Mind) -> None:
    await fill(mind)
    lines = await exported(mind)
    await imported(other, lines)
    again = await imported(other, lines)
    assert (again.messages, again.facts, again.known) == (0, 0, 8)
    assert len(await other.memory.facts_about(TARO, HERE, past=True)) == 4


async def test_other_tenants_are_not_exported(mind: Mind) -> None:
    elsewhere = Audience("slack", "T1", "C1")
    await mind.hear(
        "secret of another tenant", audience=elsewhere, author=Person("slack", "T1", "U")
    )
    assert "secret" not in json.dumps(await exported(mind))


async def test_a_reply_goes_with_what_it_was_made_from_after_it_moved_too(
    mind: Mind, other: Mind
) -> None:
    told = await mind.state("I like Zanzibarqx")
    reply = await mind.reply("You like Zanzibarqx.", [Ref(Kind.FACT, told.id)], audience=TARO_DM)
    await mind.reply("So you do: Zanzibarqx.", [Ref(Kind.MESSAGE, reply.id)], audience=TARO_DM)
    await imported(other, await exported(mind))
    (fact,) = await other.memory.facts_about(TARO, HERE)
    receipt = await other.memory.forget([fact.id], Actor(TARO), HERE)
    assert len(receipt.replies) == 2
    assert other.database.path is not None
    assert b"Zanzibarqx" not in bytes_of(other.database.path.parent)


async def test_a_reply_made_from_what_was_forgotten_here_loses_its_words(
    mind: Mind, other: Mind
) -> None:
    told = await mind.state("I like Zanzibarqx")
    await mind.reply("You like Zanzibarqx.", [Ref(Kind.FACT, told.id)], audience=TARO_DM)
    lines = await exported(mind)
    said = next(line for line in lines if line["type"] == "message")
    digest = other.ledger.digest(TARO_DM, said["platform_id"], said["revision"])
    await other.database.write(lambda s: tombstones.add(s, [digest]))
    await imported(other, lines)
    await imported(other, [{k: v for k, v in line.items() if k != "made_from"} for line in lines])
    found = await other.memory.recall("Zanzibarqx", HERE, 9)
    assert [hit.text for hit in found if "Zanzibarqx" in hit.text] == []
    assert await other.problems() == []


async def test_what_was_forgotten_here_is_not_taken_in(mind: Mind, other: Mind) -> None:
    await fill(mind)
    lines = await exported(mind)
    await imported(other, lines)
    (fact, *_) = await other.memory.facts_about(TARO, HERE)
    await other.memory.forget([fact.id], Actor(TARO), HERE)
    done = await imported(other, lines)
    assert done.forgotten == 1
    left = [f.text for f in await other.memory.facts_about(TARO, HERE, past=True)]
    assert fact.text not in left
    assert await other.problems() == []


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "empty"),
        ([{"type": "fact"}], "header"),
        ([{**HEADER, "version": 99}], "version 99"),
        ([{**HEADER, "tenant": None}], "Line 1: 'tenant'"),
        *[
            ([{**HEADER, "private": private}], "Line 1")
            for private in (5, [5], ["C1"], ["console:elsewhere:c"])
        ],
        ([HEADER, {"type": "what"}], "Line 2"),
        ([HEADER, {"type": []}], "Line 2"),
        ([HEADER, {"type": "message"}], "Line 2: 'id'"),
        ([HEADER, {}], "Line 2"),
    ],
)
async def test_a_bad_file_is_refused_by_line_and_stores_nothing(
    mind: Mind, lines: list[dict[str, Any]], said: str
) -> None:
    with pytest.raises(BadExport, match=said):
        await imported(mind, lines)
    assert await mind.memory.facts_about(TARO, HERE) == []


FAR = 10**30
"""More than a column of SQLite holds."""


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        *[("message", {name: None}) for name in ("id", "audience", "conversation", "text")],
        *[("message", {name: 7}) for name in ("platform_id", "revision", "author", "mentions")],
        ("message", {"id": [1]}),
        ("message", {"text": "\ud800"}),
        ("message", {"sent_at": "2026-01-01T00:00:00"}),
        ("message", {"sent_at": "昨日"}),
        ("message", {"role": "king"}),
        ("message", {"author": "太郎"}),
        ("message", {"mentions": {"花子": 5}}),
        ("message", {"findable": "x"}),
        ("fact", {"subject": 5}),
        ("fact", {"confirmed": FAR}),
        ("fact", {"confirmed": "many"}),
        ("fact", {"text": None}),
        ("fact", {"evidence": 5}),
        ("fact", {"evidence": [5]}),
        ("fact", {"evidence": [{"message": 1, "start": 0}]}),
        ("fact", {"said_at": "2026-01-01T00:00:00"}),
        ("fact", {"valid_until": 5}),
        ("fact", {"superseded_by": [3]}),
        ("place", {"paused": "x"}),
        ("place", {"color": "red"}),
        ("person", {"locale": 5}),
    ],
    ids=str,
)
async def test_a_line_with_a_field_of_the_wrong_kind_is_refused_by_its_number(
    mind: Mind, other: Mind, kind: str, changed: dict[str, Any]
) -> None:
    await fill(mind)
    await mind.directory.set_preferences(TARO, Preferences(locale="ja"))
    await mind.directory.change_place(GENERAL, greeted=True)
    lines = await exported(mind)
    at = next(n for n, line in enumerate(lines) if line["type"] == kind)
    lines[at] |= changed
    with pytest.raises(BadExport, match=f"Line {at + 1}\\b"):
        await imported(other, lines)
    assert await other.memory.messages_of(TARO, HERE) == []


async def test_what_a_reply_was_made_from_is_refused_by_its_line(mind: Mind, other: Mind) -> None:
    told = await mind.state("I like tea")
    await mind.reply("お茶ですね。", [Ref(Kind.FACT, told.id)])
    lines = await exported(mind)
    (at,) = (n for n, line in enumerate(lines) if line.get("role") == "assistant")
    lines[at]["made_from"] = [{"kind": "wish", "id": 1}]
    with pytest.raises(BadExport, match=f"Line {at + 1}\\b"):
        await imported(other, lines)


async def test_an_error_tells_no_words_of_the_file(mind: Mind, other: Mind) -> None:
    await mind.state("Zanzibarqx")
    lines = await exported(mind)
    lines[-1]["said_at"] = "2026-01-01T00:00:00"
    with pytest.raises(BadExport) as caught:
        await imported(other, lines)
    assert "Zanzibarqx" not in str(caught.value)


@pytest.mark.parametrize(
    ("start", "end"),
    [(0, 16), (15, 16), (0, FAR), (-5, 3), (5, 2), (3, 3), (0.5, 3), ("0", 3), (None, 3)],
)
async def test_evidence_lies_within_its_message(
    mind: Mind, other: Mind, start: Any, end: int
) -> None:
    said = await mind.state("I live in Osaka")
    lines = await exported(mind)
    assert lines[-1]["evidence"] == [{"message": said.id, "start": 0, "end": 15}]
    lines[-1]["evidence"][0] |= {"start": start, "end": end}
    with pytest.raises(BadExport, match=f"Line {len(lines)}\\b"):
        await imported(other, lines)


async def test_a_fact_is_readable_no_wider_than_its_evidence(mind: Mind, other: Mind) -> None:
    await mind.state("大阪に住んでいます", said={"audience": SECRET}, audience=SECRET)
    lines = await exported(mind)
    lines[-1]["audience"] = str(GENERAL)
    with pytest.raises(BadExport, match=f"Line {len(lines)}\\b"):
        await imported(other, lines)
    assert await other.memory.facts_about(TARO, Readable.of(GENERAL)) == []


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        ("message", {"audience": "slack:T1:C1"}),
        ("message", {"audience": "console:local2:general"}),
        ("place", {"audience": "slack:T1:C1"}),
        ("person", {"person": "slack:T1:U1"}),
    ],
)
async def test_lines_of_another_tenant_are_refused(
    mind: Mind, other: Mind, kind: str, changed: dict[str, Any]
) -> None:
    await mind.hear("猫が好きです")
    await mind.directory.set_preferences(TARO, Preferences(locale="ja"))
    await mind.directory.change_place(GENERAL, greeted=True)
    lines = [{**line, **changed} if line["type"] == kind else line for line in await exported(mind)]
    with pytest.raises(BadExport, match="another tenant"):
        await imported(other, lines)


async def test_a_pause_made_after_the_export_stays(mind: Mind) -> None:
    await mind.directory.set_preferences(TARO, Preferences(locale="ja"))
    await mind.directory.change_place(GENERAL, greeted=True)
    lines = await exported(mind)
    await mind.directory.change_preferences(TARO, paused=True)
    await mind.directory.change_place(GENERAL, paused=True)
    await imported(mind, lines)
    assert await mind.directory.preferences(TARO) == Preferences(paused=True, locale="ja")
    assert await mind.directory.place(GENERAL) == Place(paused=True, greeted=True)


async def test_facts_whose_messages_have_expired_arrive(mind: Mind, other: Mind) -> None:
    told = await mind.state("大阪に住んでいます", language="ja")
    (item,) = told.evidence
    await mind.database.write(lambda s: expire_messages(s, [item.message_id]))
    lines = await exported(mind)
    for _ in range(2):
        await imported(other, lines)
    (fact,) = await other.memory.facts_about(TARO, HERE)
    assert fact.text == "大阪に住んでいます"
    assert await other.problems() == []


async def test_an_edit_made_here_outlives_the_import_of_what_was_said_before(
    mind: Mind, other: Mind
) -> None:
    await mind.state("I live in Osaka near the castle", said={"platform_id": "m1"})
    lines = await exported(mind)
    await imported(other, lines)
    await other.hear("I moved", platform_id="m1", revision="2")
    await imported(other, lines)
    assert [m.text for m in await other.memory.messages_of(TARO, HERE)] == ["I moved"]
    assert await other.memory.facts_about(TARO, HERE) == []
    assert await other.problems() == []
