"""Reading with a model that comes and goes, and at length: every fact once, in order, few calls."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta

import pytest
from sqlalchemy import func, insert
from sqlmodel import Session, select

from bot.extract import Extractor
from bot.extraction_prompts import ExtractedFact
from bot.model_extract import ModelExtractor
from memory.long_term import Actor
from memory.store import audiences
from memory.store.text_keys import text_key
from memory.tables import ExtractionRow, MessageRow
from memory.types import Audience, Person, Readable
from tests.fakes import GENERAL, TARO, TARO_DM, Mind
from tests.reading_model import ReadingModel

HERE = Readable.of(TARO_DM, GENERAL)


async def work(mind: Mind, extractor: Extractor, **amount: float) -> None:
    """Let simulated time pass, with the background job every half minute."""
    end = mind.clock() + timedelta(**amount)
    while mind.clock() < end:
        mind.clock.advance(seconds=30)
        await extractor.drain(everything=False)


@pytest.mark.parametrize(
    "sentence", ["I own {} blue umbrellas", "青い傘を{}本持っています"], ids=["en", "ja"]
)
async def test_whatever_the_model_goes_through_all_facts_arrive_once_and_in_order(
    mind: Mind, sentence: str
) -> None:
    model = ReadingModel(state="away")
    extractor = ModelExtractor(mind.memory, model, mind.clock)
    expected: list[str] = []
    for state, minutes in (("away", 60), ("slow", 20), ("nonsense", 20), ("works", 5)):
        model.state = state
        for _ in range(5):
            text = sentence.format(100 + len(expected))
            expected.append(text)
            await mind.hear(text, learn=True)
            await work(mind, extractor, minutes=minutes / 5)
        if state != "works":
            assert await mind.memory.unread() == len(expected)
            assert await mind.memory.facts_about(TARO, HERE) == []
    await work(mind, extractor, hours=3)
    facts = await mind.memory.facts_about(TARO, HERE)
    assert [fact.text for fact in facts] == expected
    assert [fact.said_at for fact in facts] == sorted(fact.said_at for fact in facts)
    assert {fact.confirmed for fact in facts} == {1}
    assert await mind.memory.unread() == 0
    assert model.failures < 100, "it is not asked without end while it cannot answer"


async def test_a_model_that_is_away_for_an_hour_costs_no_message_its_turn(mind: Mind) -> None:
    model = ReadingModel(state="away")
    extractor = ModelExtractor(mind.memory, model, mind.clock)
    for number in range(5):
        await mind.hear(f"I own {number + 10} hats", learn=True)
    await work(mind, extractor, hours=1)
    model.state = "works"
    await work(mind, extractor, minutes=6)
    assert await mind.memory.unread() == 0
    assert model.extractions == 1, "they are still read together"


async def test_one_message_that_no_model_can_read_does_not_hold_up_others(mind: Mind) -> None:
    class Choking(ReadingModel):
        async def structured(self, turns, schema, *, max_tokens):  # type: ignore[no-untyped-def]
            self.state = "nonsense" if "unreadable" in turns[0].content else "works"
            return await ReadingModel.structured(self, turns, schema, max_tokens=max_tokens)

    extractor = ModelExtractor(mind.memory, Choking(), mind.clock)
    await mind.hear("I own something unreadable", learn=True, conversation="one")
    await mind.hear("I own a hat", learn=True, conversation="two")
    await work(mind, extractor, hours=2)
    assert [f.text for f in await mind.memory.facts_about(TARO, HERE)] == ["I own a hat"]
    assert await mind.memory.unread() == 1, "it is kept, and tried now and then"


# -- what changes while it is being read -----------------------------------------------------------


@pytest.mark.parametrize("text", ["I live in Zanzibar", "竜宮城に住んでいます"])
@pytest.mark.parametrize("what", ["edited", "deleted", "forgotten"])
async def test_what_changes_while_the_model_reads_is_not_learned_as_it_was(
    mind: Mind, what: str, text: str
) -> None:
    class Interrupted(ReadingModel):
        async def structured(self, turns, schema, *, max_tokens):  # type: ignore[no-untyped-def]
            answer = await ReadingModel.structured(self, turns, schema, max_tokens=max_tokens)
            if self.extractions == 1:
                await interrupt()
            return answer

    async def interrupt() -> None:
        if what == "edited":
            await mind.hear("I like tea", learn=True, platform_id="m", revision="2")
        elif what == "deleted":
            await mind.memory.source_deleted(TARO_DM, "m")
        else:
            now = mind.clock()
            await mind.memory.forget_said(TARO, now, now + timedelta(seconds=1))

    await mind.hear(text, learn=True, platform_id="m")
    extractor = ModelExtractor(mind.memory, Interrupted(), mind.clock)
    await extractor.drain()
    assert await mind.memory.facts_about(TARO, HERE) == []
    await extractor.drain()
    left = [fact.text for fact in await mind.memory.facts_about(TARO, HERE)]
    assert left == (["I like tea"] if what == "edited" else [])
    assert await mind.memory.unread() == 0
    assert await mind.problems() == []


# -- repeats ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("osaka", "kyoto"),
    [("I live in Osaka", "I live in Kyoto"), ("大阪に住んでいます", "京都に住んでいます")],
)
async def test_words_said_again_cost_no_call_and_count_as_said_now(
    mind: Mind, osaka: str, kyoto: str
) -> None:
    model = ReadingModel()
    extractor = ModelExtractor(mind.memory, model, mind.clock)
    for text in (osaka, kyoto):
        await mind.hear(text, learn=True)
        await extractor.drain()
        mind.clock.advance(hours=1)
    calls = model.calls
    await mind.hear(osaka, learn=True)
    await extractor.drain()
    assert model.calls == calls
    assert [fact.text for fact in await mind.memory.facts_about(TARO, HERE)] == [osaka]


async def test_words_about_a_relative_time_are_read_again(mind: Mind) -> None:
    model = ReadingModel(
        read=lambda number, alias, text: [
            fact.model_copy(update={"valid_from": f"{mind.clock():%Y-%m-%d}"})
            for fact in ReadingModel().read(number, alias, text)
        ]
    )
    extractor = ModelExtractor(mind.memory, model, mind.clock)
    for _ in range(2):
        await mind.hear("I joined the search team today", learn=True)
        await extractor.drain()
        mind.clock.advance(days=30)
    assert model.extractions == 2


async def test_words_spaced_differently_are_blanked_whole_when_forgotten(mind: Mind) -> None:
    extractor = ModelExtractor(mind.memory, ReadingModel(), mind.clock)
    await mind.hear("I live in Zanzibar", learn=True)
    await extractor.drain()
    again = await mind.hear("  I   live   in   Zanzibar", learn=True)
    await extractor.drain()
    (fact,) = await mind.memory.facts_about(TARO, HERE)
    assert fact.confirmed == 2
    await mind.memory.forget([fact.id], Actor(TARO), HERE)
    left = await mind.memory.find_message(TARO_DM, again.platform_id)
    assert left is not None
    assert left.text.strip() == ""


# -- ten thousand messages -------------------------------------------------------------------------

MESSAGES = 10_000
SPEAKERS = 50
ROOMS = [Audience("console", "local", f"room{number}") for number in range(5)]
PEOPLE = [Person("console", "local", f"p{number}") for number in range(SPEAKERS)]
THINGS = [f"{colour} {noun}" for colour in ("red", "old", "new") for noun in ("car", "cup")]


def sentence(chance: random.Random, number: int) -> str:
    """Mostly what the speaker says often, now and then something new."""
    if chance.random() < 0.15:
        return f"I own {number + 100} books" if number % 2 else f"本を{number + 100}冊読んだ"
    thing = chance.choice(THINGS)
    return f"I own a {thing}" if number % 2 else f"{thing}を持っています"


async def overhear(mind: Mind, texts: Sequence[str]) -> set[tuple[int, str]]:
    """Ten messages per conversation, stored at once and queued; who said what, each once."""
    chance = random.Random(5)

    def store(session: Session) -> set[tuple[int, str]]:
        said: set[tuple[int, str]] = set()
        rows, waiting = [], []
        first = session.exec(select(func.max(MessageRow.id))).one() or 0
        for number, text in enumerate(texts):
            talk = number // 10
            who = chance.randrange(SPEAKERS // len(ROOMS)) * len(ROOMS) + talk % len(ROOMS)
            common = {
                "audience_id": audiences.ensure_id(session, ROOMS[talk % len(ROOMS)]),
                "conversation": f"talk {talk}",
                "author": str(PEOPLE[who]),
            }
            now = mind.clock.advance(seconds=1)
            id_ = first + number + 1
            rows.append(
                {
                    "id": id_,
                    "platform_id": f"m{id_}",
                    "role": "user",
                    "author_name": PEOPLE[who].name,
                    "text": text,
                    "text_key": text_key(text),
                    "sent_at": now,
                    "stored_at": now,
                    **common,
                }
            )
            waiting.append({"message_id": id_, "queued_at": now, "due_at": now, **common})
            said.add((who, text))
        session.execute(insert(MessageRow), rows)
        session.execute(insert(ExtractionRow), waiting)
        return said

    return await mind.database.write(store)


@pytest.mark.slow
async def test_ten_thousand_messages_cost_few_calls_and_grow_with_distinct_facts(
    mind: Mind,
) -> None:
    chance = random.Random(3)
    model = ReadingModel(
        read=lambda number, alias, text: [
            ExtractedFact(message=number, quote=text, text=text, subject=alias)
        ]
    )
    extractor = ModelExtractor(mind.memory, model, mind.clock)
    texts = [sentence(chance, number) for number in range(MESSAGES)]
    distinct: set[tuple[int, str]] = set()
    for start in range(0, MESSAGES, 500):
        distinct |= await overhear(mind, texts[start : start + 500])
        await extractor.drain(everything=False)
    assert await mind.memory.unread() == 0
    assert 0 < model.calls <= 0.5 * MESSAGES
    readable = Readable(frozenset(ROOMS))
    known = [f for person in PEOPLE for f in await mind.memory.facts_about(person, readable)]
    assert len(known) == len(distinct)
    assert sum(fact.confirmed for fact in known) == MESSAGES
    said = model.calls
    again = await overhear(mind, texts[-500:])
    mind.clock.advance(minutes=3)
    await extractor.drain(everything=False)
    assert again <= distinct
    assert model.calls == said, "exact repeats cost none"
