"""Each place may have a manner and a language of its own."""

from __future__ import annotations

from typing import Any

import pytest

from bot import prompts, settings
from bot.errors import BadSettings
from bot.messages import Surface
from bot.persona import Persona, language_name
from bot.responder import Responder
from memory.types import Audience
from tests.fakes import GENERAL, NOON, Desk

PLACE: dict[str, Any] = {
    "surface": Surface.PUBLIC,
    "audience": GENERAL,
    "conversation": str(GENERAL),
}


def spoken_to(desk: Desk, persona: Persona) -> None:
    mind = desk.mind
    desk.responder = Responder(
        mind.memory, mind.directory, desk.commands, desk.extractor, None, mind.clock,
        answer_tokens=256, personas={GENERAL: persona},
    )  # fmt: skip


async def test_a_place_keeps_its_language_whatever_the_question_s_is(desk: Desk) -> None:
    spoken_to(desk, Persona(language="ja"))
    assert (await desk.say("I live in Osaka.", **PLACE)).text == "覚えました：I live in Osaka."
    assert (await desk.say("I live in Osaka.")).text == "Remembered: I live in Osaka."


async def test_what_only_one_person_sees_is_in_their_language(desk: Desk) -> None:
    spoken_to(desk, Persona(language="ja"))
    reply = await desk.say("I live in Osaka.", private_reply=True, **PLACE)
    assert reply.text == "Remembered: I live in Osaka."


def test_a_model_is_told_the_manner_and_the_language(desk: Desk) -> None:
    def system(persona: Persona | None) -> str:
        message = desk.incoming("Where is the key?", **PLACE)
        turns = prompts.answer(
            message, [], [], language="en", now=NOON, budget=2_000, persona=persona
        )
        return turns[0].content

    chosen = system(Persona("Speak like a pirate.", "ja"))
    assert "Speak like a pirate." in chosen
    assert "Answer in Japanese" in chosen
    assert "Answer in English" in system(None)


def test_the_environment_tells_how_to_speak_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBOETE_PERSONAS", '{"slack:T1:C1": {"style": "dry", "language": "ja"}}')
    chosen = settings.load().personas
    assert chosen == {"slack:T1:C1": Persona("dry", "ja")}
    assert Audience.parse(*chosen) == Audience("slack", "T1", "C1")


@pytest.mark.parametrize(
    "value",
    ["dry", "[]", '{"C1": {"style": "dry"}}', '{"slack:T1:C1": {"language": "qqq-nonsense"}}'],
)
def test_a_wrong_choice_is_named(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("OBOETE_PERSONAS", value)
    with pytest.raises(BadSettings, match="OBOETE_PERSONAS"):
        settings.load()


@pytest.mark.parametrize(("code", "name"), [("ja", "Japanese"), ("pt-BR", "Portuguese")])
def test_languages_have_names(code: str, name: str) -> None:
    assert language_name(code) == name


@pytest.mark.parametrize("code", ["und", "", "no such language"])
def test_what_is_no_language_has_none(code: str) -> None:
    assert language_name(code) is None
