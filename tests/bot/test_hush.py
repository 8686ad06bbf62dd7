"""A person's "stop" wins over everything but the next mention."""

from __future__ import annotations

from typing import Any

import pytest

from bot.messages import Mention, Reply, Surface
from tests.fakes import GENERAL, HANAKO, Desk

THREAD: dict[str, Any] = {
    "surface": Surface.PUBLIC,
    "audience": GENERAL,
    "conversation": "general/1",
}
FOLLOWED = THREAD | {"mention": Mention.NONE}


@pytest.mark.parametrize(
    "word", ["stop", "Please stop it.", "Be quiet!", "やめて", "もう静かにしてください。"]
)
async def test_after_stop_nothing_is_said_or_kept_until_somebody_mentions_it(
    desk: Desk, word: str
) -> None:
    assert "until somebody mentions me" in (await desk.say(word, HANAKO, **FOLLOWED)).text
    assert (await desk.say("I live in Osaka.", **FOLLOWED)).silent
    assert (await desk.command("list")).facts == ()
    elsewhere = FOLLOWED | {"conversation": "general/2"}
    assert not (await desk.say("I like cats.", **elsewhere)).silent
    assert "Remembered" in (await desk.say("I live in Kyoto.", **THREAD)).text
    assert not (await desk.say("Where do I live?", **FOLLOWED)).silent


@pytest.mark.parametrize("text", ["Where is the bus stop?", "stop by the shop", "やめてよかった"])
async def test_other_words_stop_nothing(desk: Desk, text: str) -> None:
    await desk.say(text, **FOLLOWED)
    assert not (await desk.say("I live in Osaka.", **FOLLOWED)).silent


async def test_a_direct_message_is_always_answered(desk: Desk) -> None:
    first = await desk.say("stop", mention=Mention.NONE)
    assert isinstance(first, Reply)
    assert not (await desk.say("I live in Osaka.", mention=Mention.NONE)).silent
