"""Posts that quoted what was forgotten can be deleted by whoever forgot it, once."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from bot.commands import Commands
from bot.errors import BotFault, PlatformRefused, PlatformUnavailable
from bot.messages import Choice, Reply
from bot.retracting import Retractions
from memory.types import Audience
from tests.fakes import HANAKO, TARO, TARO_DM, Desk


@dataclass
class Board:
    """A platform whose posts can be deleted; each has two parts."""

    deleted: list[tuple[Audience, str]] = field(default_factory=list)
    error: BotFault | None = None

    async def retract(self, place: Audience, post: str) -> int:
        if self.error:
            raise self.error
        self.deleted.append((place, post))
        return 2


@pytest.fixture
def board(desk: Desk) -> Board:
    made, mind = Board(), desk.mind
    retractions = Retractions(mind.clock)
    retractions.attach({"console": made, "other": object()})
    desk.commands = Commands(
        mind.memory, mind.directory, desk.extractor, mind.clock, retractions=retractions
    )
    return made


async def forgotten(desk: Desk, command: str = "forget tea --yes") -> Reply:
    """The receipt for something that an answer, shown as post `P1`, was made from."""
    await desk.say("I like tea")
    answer = await desk.say("What do I like?")
    assert "tea" in answer.text
    await desk.responder.sent(answer, "P1")
    return await desk.command(command)


def offer(reply: Reply) -> list[Choice]:
    return [choice for choice in reply.choices if choice.command.startswith("retract ")]


@pytest.mark.parametrize("command", ["forget tea --yes", "forget everything --yes"])
async def test_a_post_about_what_was_forgotten_is_deleted_once(
    desk: Desk, board: Board, command: str
) -> None:
    receipt = await forgotten(desk, command)
    (choice,) = offer(receipt)
    assert "1 post" in choice.label  # the receipt of "I like tea" was shown to nobody
    assert board.deleted == []
    done = await desk.command(choice.command)
    assert done.text == "Deleted: 2 posts."
    assert done.private
    assert board.deleted == [(TARO_DM, "P1")]
    assert "nothing" in (await desk.command(choice.command)).text
    assert len(board.deleted) == 1


async def test_nothing_is_offered_where_nothing_was_shown_or_can_be_deleted(
    desk: Desk, board: Board
) -> None:
    await desk.say("I like tea")
    assert offer(await desk.command("forget tea --yes")) == []
    desk.commands = Desk.over(desk.mind).commands
    assert offer(await forgotten(desk)) == []


async def test_only_who_forgot_it_can_delete_it_and_for_an_hour(desk: Desk, board: Board) -> None:
    (choice,) = offer(await forgotten(desk))
    assert "nothing" in (await desk.command(choice.command, HANAKO)).text
    desk.mind.clock.advance(minutes=61)
    assert "nothing" in (await desk.command(choice.command, TARO)).text
    assert board.deleted == []


async def test_what_cannot_be_deleted_now_can_be_tried_again(desk: Desk, board: Board) -> None:
    (choice,) = offer(await forgotten(desk))
    board.error = PlatformUnavailable("away")
    (again,) = offer(await desk.command(choice.command))
    board.error = None
    assert (await desk.command(again.command)).text == "Deleted: 2 posts."


async def test_what_can_never_be_deleted_is_not_tried_again(desk: Desk, board: Board) -> None:
    (choice,) = offer(await forgotten(desk))
    board.error = PlatformRefused("too old")
    told = await desk.command(choice.command, locale="ja")
    assert told.text == "投稿を0件削除しました。"
    assert told.choices == ()
