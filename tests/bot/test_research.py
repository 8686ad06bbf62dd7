"""Looking again: when it is done, what counts as a gain, and what is kept."""

from __future__ import annotations

import json

from bot.messages import Author, EventKind, IncomingMessage, Surface
from bot.plan import Plan, Route
from bot.research import MOST_SEARCHES, Researcher
from memory.retrieve import RELEVANT
from memory.types import Readable
from tests.fakes import NOON, TARO, TARO_DM, Mind, ScriptedChatModel


def message(text: str) -> IncomingMessage:
    return IncomingMessage(
        platform="console",
        tenant="local",
        event_id="e",
        kind=EventKind.MESSAGE,
        surface=Surface.DM,
        channel="c",
        message_id="m",
        author=Author(TARO, "taro"),
        text=text,
        sent_at=NOON,
        audience=TARO_DM,
        readable=Readable.of(TARO_DM),
        conversation="talk",
    )


def assessment(query: str) -> str:
    return json.dumps({"sufficient": not query, "query": query})


async def filled(mind: Mind) -> None:
    for text in ("the heron stands in the reeds", "bread is baked at dawn", "trains run late"):
        await mind.hear(text)
    await mind.embedding.drain()


async def test_a_doubtful_record_that_other_words_make_sure_is_a_gain(mind: Mind) -> None:
    await filled(mind)
    asked = "which animal waits near water, a heron?"
    model = ScriptedChatModel(shaped=[assessment("heron stands in the reeds"), assessment("")])
    found = await Researcher(mind.memory, model).find(Plan(asked, Route.TEAM), message(asked), 3)
    assert found.searches == 2
    assert found.hits[0].text == "the heron stands in the reeds"
    assert found.hits[0].evidence >= RELEVANT
    assert len({hit.ref for hit in found.hits}) == len(found.hits)
    assert [hit.score for hit in found.hits] == sorted((h.score for h in found.hits), reverse=True)


async def test_a_rewrite_that_brings_nothing_ends_the_search(mind: Mind) -> None:
    await filled(mind)
    model = ScriptedChatModel(shaped=[assessment(f"アポロ計画の第{n}回") for n in range(5)])
    asked = "誰が火星に行った？"
    found = await Researcher(mind.memory, model).find(
        Plan(asked, Route.TEAM), message(asked), 3, plain=False
    )
    assert found.searches == 2 < MOST_SEARCHES


async def test_plain_is_one_search_and_no_call(mind: Mind) -> None:
    await filled(mind)
    model = ScriptedChatModel()
    found = await Researcher(mind.memory, model).find(
        Plan("mars", Route.TEAM), message("mars"), 3, plain=True
    )
    assert (found.searches, found.calls, model.asked_shaped) == (1, 0, [])
