"""Facts and messages as data: the promised shape, times in UTC."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

from bot import export
from bot.i18n import translator
from memory.types import Readable
from tests.fakes import NOON, TARO, TARO_DM, Mind

KEYS = [
    "id",
    "text",
    "subject",
    "attribute",
    "audience",
    "language",
    "learned_at",
    "valid_from",
    "valid_until",
    "origin",
    "evidence",
]


def test_an_instant_is_rfc_3339_in_utc() -> None:
    tokyo = timezone(timedelta(hours=9))
    assert export.instant(datetime(2026, 1, 1, 9, tzinfo=tokyo)) == "2026-01-01T00:00:00Z"
    assert export.instant(datetime(2026, 1, 1, 0, 0, 0, 5, tzinfo=UTC)) == (
        "2026-01-01T00:00:00.000005Z"
    )
    assert export.instant(None) is None


async def test_a_fact_has_the_promised_shape(mind: Mind) -> None:
    fact = await mind.state(
        "猫が好き",
        said={"permalink": "https://c.example/1"},
        attribute="likes:猫",
        language="ja",
        valid_until=NOON + timedelta(days=1),
    )
    known = await mind.memory.facts_by_id([fact.id], Readable.of(TARO_DM))
    data = json.loads(json.dumps(export.facts(known)))
    assert list(data) == ["facts"]
    (item,) = data["facts"]
    assert list(item) == KEYS
    assert item == {
        "id": fact.id,
        "text": "猫が好き",
        "subject": "console:local:taro",
        "attribute": "likes:猫",
        "audience": "console:local:@taro",
        "language": "ja",
        "learned_at": "2026-03-02T12:00:00Z",
        "valid_from": None,
        "valid_until": "2026-03-03T12:00:00Z",
        "origin": "stated",
        "evidence": [
            {"message_id": fact.evidence[0].message_id, "permalink": "https://c.example/1"}
        ],
    }


async def test_an_export_holds_messages_that_have_words_left(mind: Mind) -> None:
    await mind.hear("my words")
    gone = await mind.hear("gone words", platform_id="m")
    await mind.database.write(
        lambda s: s.connection().exec_driver_sql(
            "UPDATE message SET text = '' WHERE id = ?", (gone.id,)
        )
    )
    said = await mind.memory.messages_of(TARO, Readable.of(TARO_DM))
    data = export.to_json(TARO, [], said)
    assert [item["text"] for item in data["messages"]] == ["my words"]
    assert data["person"] == str(TARO)


async def test_markdown_is_for_reading(mind: Mind) -> None:
    fact = await mind.state("I like\ncats", valid_until=NOON + timedelta(days=1))
    said = await mind.memory.messages_of(TARO, Readable.of(TARO_DM))
    text = export.to_markdown(TARO, [fact], said, translator("en"), "Asia/Tokyo")
    assert "## Facts" in text
    assert "– Mar 3, 2026" in text
    assert "- Mar 2, 2026: I like cats" in text
    japanese = export.to_markdown(TARO, [fact], said, translator("ja"), "Asia/Tokyo")
    assert "## Facts" not in japanese
