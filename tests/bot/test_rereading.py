"""What is looked at again by the clock: everything has its turn, and nobody stops the others."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bot import rereading
from bot.errors import BotFault, PlatformRefused, PlatformUnavailable
from bot.jobs import Every
from bot.messages import Said
from bot.rereading import Rereading
from memory.knowledge import Knowledge, NewSource
from tests.fakes import GENERAL, TARO, TARO_DM, Mind
from tests.memory.test_knowledge import made, pages

LINK = "https://chat.example/1"


class Wall:
    """A platform on which nothing is gone."""

    def __init__(self, *, connected: bool = True, error: BotFault | None = None) -> None:
        self.connected = connected
        self.error = error
        self.asked: list[Said] = []
        self.read = 0

    async def read_again(self) -> None:
        self.read += 1
        if self.error:
            raise self.error

    async def recheck(self, said: Sequence[Said]) -> int:
        self.asked += said
        if self.error:
            raise self.error
        return len(said)


@pytest.fixture
def knowledge(mind: Mind) -> Knowledge:
    return made(mind)


def over(mind: Mind, knowledge: Knowledge, wall: Wall, **others: object) -> Rereading:
    looking = Rereading(mind.memory, knowledge)
    looking.attach({**others, "console": wall, "other": object()})
    return looking


async def test_every_message_has_its_turn_again_and_again(
    mind: Mind, knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rereading, "RECHECKED", 2)
    for number in range(3):
        text = f"I like 猫 number {number}"
        await mind.hear(text, platform_id=f"m{number}", permalink=LINK, revision="1")
    wall = Wall()
    looking = over(mind, knowledge, wall)
    counts = [await looking.recheck() for _ in range(4)]
    assert [said.message_id for said in wall.asked] == ["m0", "m1", "m2", "m0", "m1", "m2"]
    assert counts == [{"found": 2}, {"found": 1}] * 2
    assert {(said.audience, said.permalink, said.revision) for said in wall.asked} == {
        (TARO_DM, LINK, "1")
    }


async def test_what_stands_nowhere_is_not_asked_about(mind: Mind, knowledge: Knowledge) -> None:
    await mind.hear("remembered by a command", permalink=None)
    wall = Wall()
    assert await over(mind, knowledge, wall).recheck() == {"found": 0}
    assert wall.asked == []


async def test_files_have_their_turns_too_until_they_are_gone(
    mind: Mind, knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rereading, "RECHECKED", 1)
    base = await knowledge.ensure_base("handbook", GENERAL, TARO)
    for number, message_id in enumerate(("m1", "m2", None)):  # the last one came from a folder
        new = NewSource(f"F{number}", f"{number}.pdf", TARO, LINK, message_id)
        await knowledge.add(base, new, pages(f"page {number}"))
    wall = Wall()
    looking = over(mind, knowledge, wall)
    for _ in range(3):
        await looking.recheck()
    assert [(said.message_id, said.files) for said in wall.asked] == [
        ("m1", ("F0",)),
        ("m2", ("F1",)),
        ("m1", ("F0",)),
    ]
    await knowledge.source_deleted(GENERAL, "m1")
    await knowledge.source_deleted(GENERAL, "F1")
    wall.asked.clear()
    await looking.recheck()
    assert wall.asked == []


async def test_nobody_is_asked_while_away(mind: Mind, knowledge: Knowledge) -> None:
    await mind.hear("猫が好きです", permalink=LINK)
    wall = Wall(connected=False)
    looking = over(mind, knowledge, wall)
    await looking.recheck()
    await looking.read_again()
    assert (wall.asked, wall.read) == ([], 0)
    wall.connected = True
    await looking.recheck()
    assert len(wall.asked) == 1  # its turn was not lost


@pytest.mark.parametrize("error", [PlatformUnavailable("away"), PlatformRefused("no")])
async def test_a_platform_that_fails_does_not_stop_the_next(
    mind: Mind, knowledge: Knowledge, error: BotFault
) -> None:
    await mind.hear("猫が好きです", permalink=LINK)
    wall = Wall()
    looking = over(mind, knowledge, wall, first=Wall(error=error))
    await looking.read_again()
    await looking.recheck()
    assert (len(wall.asked), wall.read) == (1, 1)


def test_it_goes_by_the_clock(mind: Mind, knowledge: Knowledge) -> None:
    jobs = {job.name: job.when for job in over(mind, knowledge, Wall()).jobs()}
    assert jobs == {"read again": Every(6 * 3600), "recheck": Every(600)}
