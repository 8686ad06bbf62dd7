"""HyDE: one call more, in the question's language, only where it was turned on."""

from __future__ import annotations

import json

import pytest

from bot.errors import BadModelAnswer, ModelUnavailable
from bot.hypothetical import MAX_CHARACTERS, Passage, hypothetical_passage
from bot.plan import Plan, Route
from bot.research import Researcher
from tests.bot.test_research import assessment, filled, message
from tests.fakes import Mind, ScriptedChatModel


def passage(text: str) -> str:
    return json.dumps({"passage": text})


@pytest.mark.parametrize(
    ("question", "said", "kept"),
    [
        ("Where is the heron?", "The heron is in the reeds.", "The heron is in the reeds."),
        ("鷺はどこですか？", "鷺は葦の中に\nいます。", "鷺は葦の中に います。"),
        ("鷺はどこですか？", "The heron is in the reeds.", ""),
        ("Where is the heron?", "鷺は葦の中にいます。", ""),
        ("Where is the heron?", "   ", ""),
    ],
)
async def test_the_passage_is_in_the_language_of_the_question_or_left_out(
    question: str, said: str, kept: str
) -> None:
    model = ScriptedChatModel(shaped=[passage(said)])
    assert await hypothetical_passage(model, question) == kept
    (schema, turns) = model.asked_shaped[0]
    assert schema is Passage
    assert question in turns[0].content


async def test_a_long_passage_is_cut() -> None:
    model = ScriptedChatModel(shaped=[passage("the heron stands " * 500)])
    assert len(await hypothetical_passage(model, "Where is it?")) == MAX_CHARACTERS


@pytest.mark.parametrize("error", [ModelUnavailable("away"), BadModelAnswer()])
async def test_a_model_that_fails_leaves_the_plain_search(mind: Mind, error: Exception) -> None:
    await filled(mind)
    model = ScriptedChatModel(shaped=[error, assessment("")])
    asked = "heron stands in the reeds"
    plan = Plan(asked, Route.TEAM)
    found = await Researcher(mind.memory, model, hyde=True).find(plan, message(asked), 3)
    plain = await Researcher(mind.memory, None).find(plan, message(asked), 3)
    assert found.hits == plain.hits
    assert found.calls == 1
    assert "hypothetical" not in found.steps[0]


async def test_the_trace_shows_the_passage_by_its_length_and_the_call(mind: Mind) -> None:
    await filled(mind)
    text = "A heron stands in the reeds near the water."
    model = ScriptedChatModel(shaped=[passage(text), assessment("")])
    asked = "which animal is near the water?"
    plan = Plan(asked, Route.TEAM)
    found = await Researcher(mind.memory, model, hyde=True).find(plan, message(asked), 3)
    assert found.hits[0].text == "the heron stands in the reeds"
    assert found.steps[0]["hypothetical"] == len(text)
    assert found.calls == 2


@pytest.mark.parametrize("plain", [True, False])
async def test_it_is_off_unless_turned_on_and_never_for_the_plain_path(
    mind: Mind, plain: bool
) -> None:
    await filled(mind)
    model = ScriptedChatModel(shaped=[assessment("")])
    researcher = Researcher(mind.memory, model, hyde=plain)
    await researcher.find(Plan("mars", Route.TEAM), message("mars"), 3, plain=plain)
    assert [schema for schema, _ in model.asked_shaped if schema is Passage] == []
