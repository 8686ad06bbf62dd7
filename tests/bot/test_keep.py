"""What is said of an answer that is kept: a model's is called one, a quotation is not."""

from __future__ import annotations

import pytest

from bot.i18n import translator
from bot.messages import EventKind
from memory.types import Fact, Origin, Readable
from tests.fakes import TARO, TARO_DM, Desk, Mind, ScriptedChatModel

HERE = Readable.of(TARO_DM)
ASKED = {
    "en": ("The vault is opened at nine.", "When is the vault opened?"),
    "ja": ("金庫は九時に開けます。", "金庫は何時に開けますか？"),
}
MODELS = {"en": "marked as a model's answer", "ja": "モデルの答えとして"}
KEPT = {"en": "Kept", "ja": "残しました"}


async def keep(desk: Desk, locale: str) -> str:
    command = desk.incoming("keep", kind=EventKind.COMMAND, readable=HERE)
    return (await desk.commands.run("keep", command, translator(locale))).text


async def kept(mind: Mind, origin: Origin) -> list[Fact]:
    return [f for f in await mind.memory.facts_about(TARO, HERE) if f.origin is origin]


@pytest.mark.parametrize("locale", ASKED)
async def test_a_quotation_is_kept_as_what_it_is_and_never_twice(mind: Mind, locale: str) -> None:
    desk = Desk.over(mind)
    told, question = ASKED[locale]
    await desk.say(told, readable=HERE)
    assert told.strip(".。") in (await desk.say(question, readable=HERE)).text
    said = await keep(desk, locale)
    assert KEPT[locale] in said
    assert MODELS[locale] not in said
    assert len(await kept(mind, Origin.ACCEPTED)) == 1
    assert await kept(mind, Origin.MODEL_ANSWER) == []
    assert KEPT[locale] not in await keep(desk, locale)
    assert len(await kept(mind, Origin.ACCEPTED)) == 1


@pytest.mark.parametrize("locale", ASKED)
async def test_a_models_answer_is_marked_as_one(mind: Mind, locale: str) -> None:
    told, question = ASKED[locale]
    answer = {"en": "Early, say the guards on duty.", "ja": "守衛によれば朝早くです。"}[locale]
    desk = Desk.over(mind, ScriptedChatModel([answer]))
    await mind.state(told)
    await desk.say(question, readable=HERE)
    assert MODELS[locale] in await keep(desk, locale)
    assert len(await kept(mind, Origin.MODEL_ANSWER)) == 1


async def test_what_is_known_already_is_not_said_to_be_kept(mind: Mind) -> None:
    told, question = ASKED["en"]
    desk = Desk.over(mind, ScriptedChatModel([told]))
    await mind.state(told)
    await desk.say(question, readable=HERE)
    assert await keep(desk, "en") == f"I knew that already: {told}"
    assert await kept(mind, Origin.MODEL_ANSWER) == []


async def test_what_is_quoted_because_the_model_fails_is_no_models_answer(mind: Mind) -> None:
    told, question = ASKED["en"]
    desk = Desk.over(mind, ScriptedChatModel([""]))
    await mind.state(told)
    assert told.strip(".") in (await desk.say(question, readable=HERE)).text
    assert MODELS["en"] not in await keep(desk, "en")
    assert len(await kept(mind, Origin.ACCEPTED)) == 1
