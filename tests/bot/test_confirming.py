"""Who can say yes to what, where, and until when."""

from __future__ import annotations

from typing import Any

import pytest

from bot.messages import EventKind
from memory.types import Readable
from tests.fakes import GENERAL, HANAKO, TARO, TARO_DM, Desk


async def known(desk: Desk) -> list[str]:
    readable = Readable.of(TARO_DM, GENERAL)
    return [f.text for f in await desk.mind.memory.facts_about(TARO, readable, past=True)]


@pytest.mark.parametrize(("minutes", "left"), [(4, 0), (6, 1)])
async def test_yes_counts_for_minutes(desk: Desk, minutes: int, left: int) -> None:
    await desk.say("I live in Osaka")
    await desk.say("forget everything")
    desk.mind.clock.advance(minutes=minutes)
    await desk.say("yes")
    assert len(await known(desk)) == left


async def test_yes_is_the_askers_in_their_conversation(desk: Desk) -> None:
    here: dict[str, Any] = {"audience": GENERAL, "conversation": "g"}
    await desk.say("I live in Osaka", **here)
    await desk.say("forget everything", **here)
    await desk.say("yes", HANAKO, **here)
    assert await known(desk) == ["I live in Osaka"]
    await desk.say("yes", audience=GENERAL, conversation="another")
    await desk.say("yes", **here)
    assert await known(desk) == ["I live in Osaka"], "it was answered elsewhere meanwhile"


async def test_a_yes_among_others_words_is_not_heard(desk: Desk) -> None:
    await desk.say("I live in Osaka")
    await desk.say("forget everything")
    await desk.say("yes", addressed=False)
    assert await known(desk) == ["I live in Osaka"]


@pytest.mark.parametrize("kind", [EventKind.EDIT])
async def test_an_edit_to_yes_confirms_nothing(desk: Desk, kind: EventKind) -> None:
    await desk.say("I live in Osaka")
    await desk.say("forget everything")
    await desk.say("yes", kind=kind)
    assert await known(desk) == ["I live in Osaka"]


async def test_yes_to_nothing_is_talk(desk: Desk) -> None:
    await desk.say("I live in Osaka")
    await desk.say("forget that")
    assert "Forgotten" not in (await desk.say("yes")).text
