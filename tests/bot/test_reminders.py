"""Reminders and digests: asked for in plain words, posted once, only what may be read there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from bot.commands import Commands
from bot.errors import PlatformRefused, PlatformUnavailable
from bot.i18n import translator
from bot.messages import EventKind, Reply, Surface
from bot.reminders import Reminders, wish
from memory.store import reminders as store
from memory.types import Audience, Person, Readable
from tests.fakes import GENERAL, HANAKO, NOON, SECRET, TARO, TARO_DM, Desk, Mind


@dataclass
class Board:
    """A platform that can post; keeps what it was given."""

    posts: list[tuple[Audience, str]] = field(default_factory=list)
    error: Exception | None = None
    readable: Readable = field(default_factory=lambda: Readable.of(GENERAL, TARO_DM))

    async def post(self, audience: Audience, text: str, *, conversation: str) -> str | None:
        if self.error is not None:
            raise self.error
        self.posts.append((audience, text))
        return "1"

    async def readable_for(self, audience: Audience) -> Readable:
        return self.readable


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
def reminders(mind: Mind, board: Board) -> Reminders:
    made = Reminders(mind.database, mind.directory, mind.memory, mind.clock)
    made.attach({"console": board})
    return made


async def ask(
    reminders: Reminders, desk: Desk, text: str, person: Person = TARO, **changed: Any
) -> Reply | None:
    message = desk.incoming(text, person, **changed)
    return await reminders.take(message, translator(message.locale))


IN_GENERAL: dict[str, Any] = {"audience": GENERAL, "surface": Surface.PUBLIC, "conversation": "g"}


@pytest.mark.parametrize(
    ("asked", "content"),
    [
        ("Remind me tomorrow at 9 to call Ken", "call Ken"),
        ("please remind me in 21 hours about the oven", "the oven"),
        ("明日の9時にケンに電話するのをリマインドして", "ケンに電話する"),
        ("明日9時に家賃を払うことを思い出させてください", "家賃を払う"),
    ],
)
async def test_a_reminder_is_confirmed_and_posted_once_where_it_was_asked_for(
    mind: Mind, desk: Desk, reminders: Reminders, board: Board, asked: str, content: str
) -> None:
    reply = await ask(reminders, desk, asked)
    assert reply is not None
    assert content in reply.text
    assert "Mar 3, 2026 09:00" in reply.text
    mind.clock.advance(hours=20)
    await reminders.post_due()
    assert board.posts == []
    mind.clock.advance(hours=1)
    assert await reminders.post_due() == {"posted": 1}
    await reminders.post_due()
    ((audience, text),) = board.posts
    assert audience == TARO_DM
    assert content in text


async def test_the_person_s_own_time_zone_counts(
    mind: Mind, desk: Desk, reminders: Reminders, board: Board
) -> None:
    chosen = await mind.directory.preferences(TARO)
    await mind.directory.set_preferences(TARO, replace(chosen, time_zone="Asia/Tokyo"))
    await ask(reminders, desk, "remind me tomorrow at 9 to call Ken")
    mind.clock.advance(hours=12)  # 2026-03-03 00:00 UTC, nine in Tokyo
    await reminders.post_due()
    assert len(board.posts) == 1


@pytest.mark.parametrize(
    "text",
    [
        "remind me what I said yesterday",
        "Do you remember my name?",
        "The meeting is tomorrow at 9",
        "明日の9時に会議です",
        "What did we decide?",
        "何を決めましたか？",
        "I remind people every day",
    ],
)
def test_ordinary_talk_asks_for_nothing(text: str) -> None:
    assert wish(text, NOON, "UTC") is None


@pytest.mark.parametrize(
    ("text", "said"), [("remind me to buy milk", "When"), ("remind me tomorrow", "What")]
)
async def test_what_is_missing_is_asked_for(
    desk: Desk, reminders: Reminders, text: str, said: str
) -> None:
    reply = await ask(reminders, desk, text)
    assert reply is not None
    assert said in reply.text


async def test_a_repeating_reminder_that_was_missed_for_weeks_is_posted_once(
    mind: Mind, desk: Desk, reminders: Reminders, board: Board
) -> None:
    await ask(reminders, desk, "remind me every day at 9 to stretch")
    mind.clock.advance(days=20)
    await reminders.post_due()
    await reminders.post_due()
    assert len(board.posts) == 1
    mind.clock.advance(days=1)
    await reminders.post_due()
    assert len(board.posts) == 2


async def test_listing_and_cancelling_one_s_own(
    mind: Mind, desk: Desk, reminders: Reminders, board: Board
) -> None:
    await ask(reminders, desk, "remind me tomorrow at 9 to call Ken")
    listed = await ask(reminders, desk, "my reminders")
    assert listed is not None
    assert "call Ken" in listed.text
    others = await ask(reminders, desk, "cancel reminder 1", HANAKO)
    assert others is not None
    assert "no such reminder" in others.text
    gone = await ask(reminders, desk, "リマインダー1を取り消して", locale="ja")
    assert gone is not None
    mind.clock.advance(days=2)
    await reminders.post_due()
    assert board.posts == []


async def test_the_command_says_the_same(desk: Desk, reminders: Reminders) -> None:
    desk.commands = commands(desk, reminders)
    for text in ("remind tomorrow at 9 to call Ken", "リマインド 明日の9時にケンに電話する"):
        given = await desk.command(text)
        assert "Mar 3, 2026 09:00" in given.text
    assert "ケンに電話する" in given.text
    listed = await desk.command("remind list")
    assert listed.text.count("- **") == 2
    assert listed == await desk.command("リマインド 一覧")
    assert (await desk.command("remind cancel 1")).text == "Cancelled."
    assert (await desk.command("リマインド キャンセル #2")).text == "Cancelled."
    assert "no reminders" in (await desk.command("remind list")).text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("remind", "When"),
        ("remind to buy milk", "When"),
        ("remind tomorrow", "What"),
        ("remind cancel", "Which"),
        ("remind cancel 99", "no such reminder"),
        ("リマインド 牛乳を買う", "When"),
    ],
)
async def test_the_command_asks_for_what_is_missing(
    desk: Desk, reminders: Reminders, text: str, said: str
) -> None:
    desk.commands = commands(desk, reminders)
    assert said in (await desk.command(text)).text


async def test_the_command_takes_digests_where_everything_is_heard(
    mind: Mind, desk: Desk, reminders: Reminders
) -> None:
    desk.commands = commands(desk, reminders)
    await mind.directory.change_place(GENERAL, listen=True)
    given = await desk.command(
        "remind every Monday at 9, what did we decide?",
        audience=TARO_DM,
        place=GENERAL,
        surface=Surface.PUBLIC,
    )
    assert "digest" in given.text


def commands(desk: Desk, reminders: Reminders) -> Commands:
    return Commands(
        desk.mind.memory,
        desk.mind.directory,
        desk.extractor,
        desk.mind.clock,
        {"remind": reminders.run},
    )


# -- trouble -------------------------------------------------------------------------------------


async def test_a_platform_that_is_away_gets_it_later(
    mind: Mind, desk: Desk, reminders: Reminders, board: Board
) -> None:
    await ask(reminders, desk, "remind me in 10 minutes to breathe")
    mind.clock.advance(minutes=10)
    board.error = PlatformUnavailable("away")
    await reminders.post_due()
    board.error = None
    await reminders.post_due()
    assert board.posts == []
    mind.clock.advance(minutes=2)
    await reminders.post_due()
    assert len(board.posts) == 1


async def test_a_platform_that_refuses_for_good_is_not_asked_again(
    mind: Mind, desk: Desk, reminders: Reminders, board: Board
) -> None:
    await ask(reminders, desk, "remind me every day at 9 to stretch")
    board.error = PlatformRefused("gone")
    mind.clock.advance(days=1)
    await reminders.post_due()
    assert await mind.database.read(store.count) == 0


async def test_a_post_that_a_crash_cut_short_is_not_repeated(
    mind: Mind, desk: Desk, reminders: Reminders, board: Board
) -> None:
    await ask(reminders, desk, "remind me in 10 minutes to breathe")
    mind.clock.advance(minutes=10)
    await mind.database.write(lambda s: store.begin_posting(s, 1, mind.clock()))
    await reminders.post_due()
    assert board.posts == []
    assert await mind.database.read(store.count) == 0


async def test_a_reminder_waits_while_its_platform_does_not_run(
    mind: Mind, desk: Desk, reminders: Reminders, board: Board
) -> None:
    await ask(reminders, desk, "remind me in 10 minutes to breathe")
    mind.clock.advance(hours=1)
    reminders.attach({})
    await reminders.post_due()
    reminders.attach({"console": board})
    await reminders.post_due()
    assert len(board.posts) == 1


# -- forgetting ----------------------------------------------------------------------------------


async def test_reminders_go_with_their_person(mind: Mind, desk: Desk, reminders: Reminders) -> None:
    await ask(reminders, desk, "remind me tomorrow at 9 to call Ken")
    await mind.memory.forget_person(TARO)
    assert await mind.database.read(store.count) == 0


@pytest.mark.parametrize(
    ("early", "late", "command"),
    [
        ("remind me in 3 days to call Ken", "remind me in 2 days to pay", "forget said today"),
        (
            "3日後に鍵を返すのをリマインドして",
            "2日後に家賃を払うのをリマインドして",
            "忘れて said 今日",
        ),
    ],
)
async def test_what_was_said_in_a_time_goes_with_its_reminders(
    desk: Desk, reminders: Reminders, early: str, late: str, command: str
) -> None:
    mind = desk.mind
    await ask(reminders, desk, early)
    mind.clock.advance(days=1)
    await ask(reminders, desk, late)
    await ask(reminders, desk, late, HANAKO)
    (asked,) = (await desk.command(command)).choices
    receipt = await desk.command(asked.command)
    assert "1" in receipt.text
    left = await mind.database.read(lambda s: store.due(s, NOON + timedelta(days=9)))
    assert {(item.person, item.next_at > NOON + timedelta(days=2.5)) for item in left} == {
        (TARO, True),
        (HANAKO, True),
    }
    assert "nothing" in (await desk.command("forget said today")).text


async def test_a_reminder_goes_with_the_message_that_asked_for_it(
    mind: Mind, desk: Desk, reminders: Reminders
) -> None:
    await ask(reminders, desk, "remind me tomorrow at 9 to call Ken", message_id="m1")
    await mind.memory.source_deleted(TARO_DM, "m1")
    assert await mind.database.read(store.count) == 0


async def test_an_edit_changes_the_reminder(
    mind: Mind, desk: Desk, reminders: Reminders, board: Board
) -> None:
    await ask(reminders, desk, "remind me tomorrow at 9 to call Ken", message_id="m1")
    edit: dict[str, Any] = {"message_id": "m1", "kind": EventKind.EDIT, "revision": "2"}
    await ask(reminders, desk, "remind me tomorrow at 9 to call Mary", **edit)
    mind.clock.advance(days=1)
    await reminders.post_due()
    assert [("Mary" in text, "Ken" in text) for _, text in board.posts] == [(True, False)]


# -- digests -------------------------------------------------------------------------------------

WISH = "every Monday at 9, what did we decide?"


async def listen(mind: Mind, audience: Audience = GENERAL, *, on: bool = True) -> None:
    await mind.directory.change_place(audience, listen=on)


async def test_a_digest_needs_a_channel_that_listens(
    mind: Mind, desk: Desk, reminders: Reminders
) -> None:
    everywhere: tuple[dict[str, Any], ...] = (IN_GENERAL, {})
    for where in everywhere:
        reply = await ask(reminders, desk, WISH, **where)
        assert reply is not None
        assert "listen on" in reply.text
    assert await mind.database.read(store.count) == 0


@pytest.mark.parametrize("asked", [WISH, "毎週月曜9時に、何を決めたか教えて"])
async def test_a_digest_tells_what_was_learned_here_since_the_last_one(
    mind: Mind, desk: Desk, reminders: Reminders, board: Board, asked: str
) -> None:
    await mind.state("Old news", said={"audience": GENERAL})
    await listen(mind)
    mind.clock.advance(minutes=1)
    await ask(reminders, desk, asked, **IN_GENERAL)
    mind.clock.advance(minutes=1)
    await mind.state("We decided to ship on Friday", said={"audience": GENERAL})
    await mind.state("A secret of another place", said={"audience": SECRET})
    mind.clock.advance(days=7)
    await reminders.post_due()
    ((audience, text),) = board.posts
    assert audience == GENERAL
    assert "ship on Friday" in text
    assert "Old news" not in text
    assert "secret" not in text
    mind.clock.advance(days=7)
    await reminders.post_due()
    assert len(board.posts) == 2
    assert "ship on Friday" not in board.posts[1][1]


@pytest.mark.parametrize("change", ["listen off", "not readable"])
async def test_what_holds_when_it_is_sent_decides(
    mind: Mind, desk: Desk, reminders: Reminders, board: Board, change: str
) -> None:
    await listen(mind)
    await ask(reminders, desk, WISH, **IN_GENERAL)
    await mind.state("We decided to ship", said={"audience": GENERAL})
    if change == "listen off":
        await listen(mind, on=False)
    else:
        board.readable = Readable.of(TARO_DM)
    mind.clock.advance(days=7)
    await reminders.post_due()
    assert board.posts == []
    assert await mind.database.read(store.count) == 1


async def test_nothing_is_posted_for_somebody_who_was_deactivated(
    mind: Mind, desk: Desk, reminders: Reminders, board: Board
) -> None:
    await ask(reminders, desk, "remind me every day at 9 to stretch")
    await ask(reminders, desk, "remind me every day at 9 to breathe", HANAKO)
    await desk.say("", kind=EventKind.ACTION, arguments={"event": "deactivated"})
    mind.clock.advance(days=2)
    await reminders.post_due()
    assert ["breathe" in str(post) for post in board.posts] == [True]
