"""Export and import of a tenant: the same facts elsewhere, twice is once, other tenants stay."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memory import transfer
from memory.long_term import Actor
from memory.store import tombstones
from memory.store.database import Database
from memory.transfer import BadExport, Imported
from memory.types import Audience, Kind, Person, Readable, Ref
from tests.fakes import GENERAL, NOON, TARO, TARO_DM, FakeEmbedder, Mind, bytes_of

HERE = Readable.of(TARO_DM, GENERAL)


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
        ([{"type": "fact"}], "header"),
        ([{"format": "oboete-tenant", "version": 99}], "version 99"),
        ([{"format": "oboete-tenant", "version": 1}, {"type": "what"}], "Line 2"),
        ([{"format": "oboete-tenant", "version": 1}, {"type": "message"}], "Line 2"),
        ([{"format": "oboete-tenant", "version": 1}, {}], "Line 2"),
    ],
)
async def test_a_bad_file_is_refused_by_line_and_stores_nothing(
    mind: Mind, lines: list[dict[str, Any]], said: str
) -> None:
    with pytest.raises(BadExport, match=said):
        await imported(mind, lines)
    assert await mind.memory.facts_about(TARO, HERE) == []
