"""Without a model the sentences that state something are the facts, and each is read once."""

from __future__ import annotations

import asyncio

import pytest

from bot.extract import MOST_STATEMENTS, facts_stated, subject_of
from memory.long_term import Actor
from memory.types import Message, Origin, Person, Readable, Role
from tests.fakes import GENERAL, HANAKO, NOON, TARO, TARO_DM, Desk


def said(text: str, **changed: object) -> Message:
    given: dict[str, object] = {
        "id": 7,
        "platform_id": "m",
        "audience": TARO_DM,
        "conversation": "talk",
        "role": Role.USER,
        "author": TARO,
        "author_name": "taro",
        "text": text,
        "sent_at": NOON,
        "permalink": None,
        "revision": "",
        "time_zone": "Asia/Tokyo",
    }
    return Message(**{**given, **changed})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "attributes"),
    [
        ("I live in Osaka. Where is the office? I like cats.", ["home", "likes:cats"]),
        ("大阪に住んでいます。会社はどこですか？猫が好きです。", ["home", "likes:猫"]),
    ],
)
def test_each_stated_sentence_is_a_fact_in_its_own_words(text: str, attributes: list[str]) -> None:
    facts = facts_stated(said(text))
    assert [fact.attribute for fact in facts] == attributes
    for fact in facts:
        (evidence,) = fact.evidence
        assert evidence.message_id == 7
        assert text[evidence.span.start : evidence.span.end] == fact.text
        assert (fact.subject, fact.speaker, fact.origin) == (TARO, TARO, Origin.STATED)
        assert (fact.said_at, fact.audience) == (NOON, TARO_DM)


@pytest.mark.parametrize(
    "text",
    [
        "Do I like cats?",
        "猫は好きですか？",
        "Hello!",
        "ありがとう",
        "```\nI live in Osaka\n```",
        "> I live in Osaka",
        "If I moved to Berlin, I would learn German.",
        "NO_REPLY",
        "",
    ],
)
def test_what_states_nothing_gives_no_fact(text: str) -> None:
    assert facts_stated(said(text)) == []


def test_the_bots_own_words_are_never_facts() -> None:
    assert facts_stated(said("I live in Osaka.", author=None, role=Role.ASSISTANT)) == []


def test_a_past_value_is_no_value_that_holds_now() -> None:
    (fact,) = facts_stated(said("I used to live in Kyoto."))
    assert fact.attribute is None


def test_a_relative_time_is_read_against_the_time_of_the_message_where_its_author_is() -> None:
    (fact,) = facts_stated(said("I went to Paris yesterday."))
    assert fact.valid_from is not None
    assert fact.valid_from.isoformat().startswith("2026-02-28T15:00") or (
        fact.valid_from.isoformat().startswith("2026-03-01")
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (None, TARO),
        ("self", TARO),
        ("Hanako", HANAKO),
        ("@Hanako", HANAKO),
        ("John", "John"),
        ("花子", "花子"),
    ],
)
def test_a_person_is_bound_only_when_speaking_of_themself_or_mentioned(
    name: str | None, expected: Person | str
) -> None:
    assert subject_of(name, TARO, {"Hanako": HANAKO}) == expected


async def test_draining_reads_each_message_once(desk: Desk) -> None:
    first = await desk.mind.hear("I live in Osaka. I like cats.", learn=True)
    await desk.mind.hear("私は医者です。", author=HANAKO, audience=GENERAL, learn=True)
    mine = await desk.extractor.drain(author=TARO)
    assert {id_: len(found) for id_, found in mine.items()} == {first.id: 2}
    assert await desk.mind.memory.unread() == 1
    results = await asyncio.gather(*(desk.extractor.drain() for _ in range(3)))
    assert sum(len(result) for result in results) == 1
    assert await desk.mind.memory.unread() == 0
    facts = await desk.mind.memory.facts_about(TARO, Readable.of(TARO_DM))
    assert [fact.confirmed for fact in facts] == [1, 1]


async def test_a_message_without_facts_leaves_the_queue_too(desk: Desk) -> None:
    await desk.mind.hear("Hello!", learn=True)
    await desk.extractor.drain()
    assert await desk.mind.memory.unread() == 0


@pytest.mark.parametrize(("text", "other"), [("I like cats.", "Hi."), ("猫が好きです。", "はい。")])
def test_a_sentence_that_is_repeated_is_one_fact_with_every_span(text: str, other: str) -> None:
    whole = " ".join([text, other, text, text])
    (fact,) = facts_stated(said(whole))
    spans = [item.span for item in fact.evidence]
    assert len(spans) == 3
    assert {whole[span.start : span.end] for span in spans} == {fact.text}


def test_of_a_very_long_message_the_first_statements_are_read() -> None:
    sentences = [f"My locker number {n} is full." for n in range(2 * MOST_STATEMENTS)]
    facts = facts_stated(said(" ".join([*sentences, sentences[0]])))
    assert [fact.text for fact in facts] == sentences[:MOST_STATEMENTS]
    assert len(facts[0].evidence) == 2


@pytest.mark.parametrize("text", ["I like cats.", "猫が好きです。"])
async def test_forgetting_a_repeated_sentence_blanks_every_time_it_was_said(
    desk: Desk, text: str
) -> None:
    heard = await desk.mind.hear(f"{text} {text} {text}", learn=True)
    ((learned,),) = (await desk.extractor.drain()).values()
    await desk.mind.memory.forget([learned.fact.id], Actor(TARO), Readable.of(TARO_DM))
    left = await desk.mind.memory.find_message(TARO_DM, heard.platform_id)
    assert left is None or not left.text.strip()
