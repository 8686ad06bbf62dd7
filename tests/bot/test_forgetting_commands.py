"""What a person can have forgotten by a command or in plain words, and what it rests on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from bot.commands import Commands
from bot.forget_request import (
    Everything,
    Leaver,
    Numbers,
    Place,
    Said,
    Source,
    Topic,
    Words,
    wanted,
)
from bot.i18n import translator
from bot.messages import Author, Surface
from bot.phrases import phrase
from memory.errors import NotPermitted
from memory.long_term import Actor
from memory.types import Person, Readable, Role
from tests.fakes import GENERAL, HANAKO, SECRET, TARO, TARO_DM, Desk

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
HERE = Readable.of(TARO_DM, GENERAL)
BOSS = Person("console", "local", "boss")
ADMIN = Author(BOSS, "boss", is_admin=True)


async def known(desk: Desk, person: Person = TARO) -> list[str]:
    return [f.text for f in await desk.mind.memory.facts_about(person, HERE, past=True)]


# -- reading the request ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("everything", Everything()),
        ("全部", Everything()),
        ("12, #13", Numbers((12, 13))),
        ("channel", Place()),
        ("このチャンネル", Place()),
        ("person slack:T:U1", Leaver("slack:T:U1")),
        ("退職者 @花子", Leaver("@花子")),
        ("<https://x.example/archives/C1/p1|here>", Source("https://x.example/archives/C1/p1")),
        ("発言 123.45", Source("123.45")),
        ("about where I live", Topic("where I live")),
        ("住所に関すること", Topic("住所")),
        ("cats", Words("cats")),
        ("what I said yesterday about lunch", Words("yesterday about lunch")),
        ("昨日のランチについて言ったこと", Words("昨日のランチについて")),
        ("大阪に住んでいると言ったこと", Words("大阪に住んでいる")),
    ],
)
def test_the_words_after_forget_say_what_goes(argument: str, expected: object) -> None:
    assert wanted(argument, NOW, "UTC") == expected


@pytest.mark.parametrize(
    ("argument", "start", "end"),
    [
        ("what I said last week", (2026, 2, 23), (2026, 3, 2)),
        ("先週言ったこと", (2026, 2, 23), (2026, 3, 2)),
        ("everything I told you yesterday", (2026, 3, 3), (2026, 3, 4)),
        ("昨日話したこと", (2026, 3, 3), (2026, 3, 4)),
        ("said from March 1 to March 3", (2026, 3, 1), (2026, 3, 4)),
        ("3月1日から3月3日までに言ったこと", (2026, 3, 1), (2026, 3, 4)),
        ("said before March 2", (1970, 1, 1), (2026, 3, 2)),
    ],
)
def test_a_time_is_read_as_an_interval(
    argument: str, start: tuple[int, int, int], end: tuple[int, int, int]
) -> None:
    expected = Said((datetime(*start, tzinfo=UTC), datetime(*end, tzinfo=UTC)))
    assert wanted(argument, NOW, "UTC") == expected


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ("Please forget what I said last week", "what I said last week"),
        ("先週言ったことを忘れて", "先週言ったこと"),
        ("forget everything about my home", "everything about my home"),
        ("住所に関することは全部忘れてください", "住所に関すること"),
        ("forget what I said about cats", "cats"),
    ],
)
def test_plain_words_reach_the_same_command(text: str, argument: str) -> None:
    spoken = phrase(text)
    assert spoken is not None
    assert (spoken.command, spoken.argument) == ("forget", argument)


# -- words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "words", "meant"),
    [
        ("My planner is red.", "Ann", False),
        ("Ann's planner is red.", "Ann", True),
        ("I like steak.", "tea", False),
        ("I drank two teas.", "tea", True),
        ("We meet on floor 21.", "floor 2", False),
        ("We meet on floor 2.", "Floor 2", True),
        ("My e-mail is broken.", "mail", True),
        ("I wear naïve hats.", "hat", True),
        ("猫背がひどいです。", "猫", False),
        ("猫が好きです。", "猫", True),
        ("三毛猫が好きです。", "猫", True),
        ("ネコジャラシを買いました。", "ネコ", False),
        ("ネコを飼いました。", "ネコ", True),
        ("東京都に住んでいます。", "京都", False),
        ("会議は13時です。", "3時", False),
        ("会議は3時です。", "3時", True),
        ("いかがわしい店です。", "いか", False),
        ("弟はたろうといいます。", "たろう", True),
        ("iPhone15を買いました。", "iPhone15", True),
        ("고양이가 좋아요.", "고양이", True),
    ],
)
async def test_words_are_whole_words(desk: Desk, said: str, words: str, meant: bool) -> None:
    await desk.command(f"remember {said}")
    before = await known(desk)
    assert len(before) == 1
    await desk.command(f"forget {words} --yes")
    assert await known(desk) == ([] if meant else before)


async def test_words_that_cannot_be_seen_mean_nothing(desk: Desk) -> None:
    await desk.say("I live in Osaka")
    assert "nothing like that" in (await desk.command("forget \u200b --yes")).text
    assert await known(desk) == ["I live in Osaka"]


# -- the last one ----------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["forget that", "それを忘れて"])
async def test_that_takes_all_of_one_message_after_asking(desk: Desk, words: str) -> None:
    await desk.say("I like figs")
    await desk.say("I like tea. I live in Osaka.")
    asked = await desk.say(words)
    assert len(await known(desk)) == 3
    await desk.command(asked.choices[0].command)
    assert await known(desk) == ["I like figs"]
    await desk.command("undo")
    assert len(await known(desk)) == 3


@pytest.mark.parametrize("argument", ["that", "IT", "This.", "それ", "last"])
async def test_that_is_typed_and_asks_like_any_typed_words(desk: Desk, argument: str) -> None:
    await desk.say("I live in Osaka")
    asked = await desk.command(f"forget {argument}")
    assert "I live in Osaka" in asked.text
    assert await known(desk) == ["I live in Osaka"]


async def test_that_is_of_this_conversation(desk: Desk) -> None:
    await desk.say("I live in Osaka", conversation="one")
    reply = await desk.say("forget that", conversation="another")
    assert reply.choices == ()
    assert await known(desk) == ["I live in Osaka"]


async def test_what_a_paused_person_hears_and_says_is_not_passed_over(desk: Desk) -> None:
    await desk.say("I live in Osaka")
    await desk.say("I like figs")
    await desk.command("pause me")
    assert "Osaka" in (await desk.say("Where do I live?")).text
    await desk.say("forget that")
    assert await known(desk) == ["I live in Osaka", "I like figs"], "it asks first"


async def test_what_anybody_may_forget_about_me_is_everything(desk: Desk) -> None:
    await desk.say("I like tea with me")
    for argument in ("me", "about me", "私", "私のこと"):
        reply = await desk.command(f"forget {argument}")
        assert reply.choices[0].command == "forget everything --yes"


# -- topic -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "other", "topic"),
    [
        ("I live in Osaka", "I like tea", "about where I live"),
        ("I live in Osaka", "I like tea", "about home"),
        ("大阪に住んでいます", "お茶が好きです", "どこに住んでいるかについて"),
        ("大阪に住んでいます", "お茶が好きです", "大阪に関すること"),
    ],
)
async def test_a_topic_takes_its_attribute_and_its_words(
    desk: Desk, said: str, other: str, topic: str
) -> None:
    await desk.say(said)
    await desk.say(other)
    shown = await desk.command(f"forget {topic}")
    assert said in shown.text
    await desk.command(shown.choices[0].command)
    assert said not in await known(desk)
    assert await desk.mind.problems() == []


# -- time ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (("I like tea", "My cat is Zanzibar"), "I like figs", "forget what I said last week"),
        (("お茶が好きです", "竜宮城に行きました"), "柿が好きです", "先週言ったことを忘れて"),
    ],
)
async def test_what_was_said_in_a_time_goes_whole_and_can_come_back(
    desk: Desk, old: tuple[str, str], new: str, words: str
) -> None:
    for text in old:
        await desk.say(text)
    desk.mind.clock.advance(days=7)
    await desk.say(new)
    asked = await desk.say(words)
    assert len(await known(desk)) >= 3, "several messages: it asks first"
    receipt = await desk.command(asked.choices[0].command)
    assert await known(desk) == [new]
    left = [m.text for m in await desk.mind.memory.messages_of(TARO, HERE)]
    assert [text for text in left if text] == [new]
    assert await desk.mind.problems() == []
    assert [choice.command for choice in receipt.choices] == ["undo"]
    await desk.command("undo")
    assert set(old) <= set(await known(desk))
    assert await desk.mind.problems() == []


async def test_a_time_takes_only_the_askers_own_words(desk: Desk) -> None:
    for person in (TARO, HANAKO):
        await desk.say("The party is on Friday", person, audience=GENERAL, conversation="g")
    await desk.command("forget said today --yes")
    assert await known(desk, HANAKO) == ["The party is on Friday"]
    assert "nothing" in (await desk.command("forget said today --yes")).text


# -- source ----------------------------------------------------------------------------------------

LINK = "https://chat.example/archives/C1/p1"


@pytest.mark.parametrize("text", ["I like tea. I live in Osaka.", "お茶が好きです。大阪在住です。"])
async def test_a_message_goes_by_its_link_for_its_author_and_an_admin(
    desk: Desk, text: str
) -> None:
    for author in (None, ADMIN):
        message = f"m-{author is None}"
        await desk.say(text, permalink=LINK, message_id=message)
        assert len(await known(desk)) == 2
        extra: dict[str, Any] = {"author": author} if author else {}
        reply = await desk.command(f"forget {LINK}", **extra)
        assert "2" in reply.text
        assert await known(desk) == []
        assert await desk.mind.problems() == []


async def test_a_stranger_learns_nothing_about_a_link(desk: Desk) -> None:
    await desk.say("I like tea", permalink=LINK)
    refused = await desk.command(f"forget {LINK}", HANAKO)
    unknown = await desk.command(f"forget {LINK}9", HANAKO)
    assert refused.text == unknown.text
    assert await known(desk) == ["I like tea"]


# -- an admin's ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "command"),
    [("I keep Zanzibarqx", "forget channel"), ("竜宮城に行きました", "forget このチャンネル")],
)
async def test_a_channel_is_forgotten_by_an_admin_alone(
    desk: Desk, text: str, command: str
) -> None:
    here: dict[str, Any] = {
        "audience": GENERAL,
        "surface": Surface.PUBLIC,
        "conversation": "g",
    }
    for person in (TARO, HANAKO):
        await desk.say(text, person, **here)
    await desk.say("I like figs")
    assert "admin" in (await desk.command(f"{command} --yes", **here)).text
    with pytest.raises(NotPermitted):
        await desk.mind.memory.forget_place(GENERAL, Actor(TARO))
    elsewhere = Actor(Person("slack", "T1", "U1"), is_admin=True)
    with pytest.raises(NotPermitted):
        await desk.mind.memory.forget_place(GENERAL, elsewhere)
    asked = await desk.command(command, author=ADMIN, **here)
    assert text in await known(desk), "it asks first"
    receipt = await desk.command(asked.choices[0].command, author=ADMIN, **here)
    assert "2 facts" in receipt.text
    assert await known(desk) == ["I like figs"]
    assert await known(desk, HANAKO) == []
    path = desk.mind.database.path
    assert path is not None
    left = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert not any(mark in left for mark in (b"Zanzibarqx", "竜宮城".encode()))
    assert await desk.mind.problems() == []


@pytest.mark.parametrize("text", ["I keep Zanzibarqx", "竜宮城に行きました"])
async def test_a_leaver_is_forgotten_by_an_admin_alone(desk: Desk, text: str) -> None:
    await desk.say(text, HANAKO)
    await desk.say("I like figs")
    refused = await desk.command(f"forget person {HANAKO} --yes")
    assert "admin" in refused.text
    with pytest.raises(NotPermitted):
        await desk.mind.memory.forget_leaver(HANAKO, Actor(TARO))
    asked = await desk.command(
        "forget person @Hanako", author=ADMIN, references=(("Hanako", HANAKO),)
    )
    await desk.command(asked.choices[0].command, author=ADMIN)
    hers = Readable.of(desk.incoming("", HANAKO).audience)
    assert await desk.mind.memory.facts_about(HANAKO, hers, past=True) == []
    assert await known(desk) == ["I like figs"]
    assert await desk.mind.problems() == []


# -- receipts and trails ---------------------------------------------------------------------------


@pytest.mark.parametrize(("locale", "day"), [("en", "Apr 1, 2026"), ("ja", "2026/04/01")])
async def test_a_receipt_names_the_day_the_last_backup_goes(
    desk: Desk, locale: str, day: str
) -> None:
    until = datetime(2026, 4, 1, tzinfo=UTC)
    mind = desk.mind
    commands = Commands(
        mind.memory, mind.directory, desk.extractor, mind.clock, backups_until=lambda: until
    )
    await desk.say("I like tea")
    request = desk.incoming("forget tea --yes", locale=locale)
    reply = await commands.run("forget tea --yes", request, translator(locale))
    assert day in reply.text


@pytest.mark.parametrize("locale", ["en", "ja"])
async def test_a_receipt_names_a_handful_of_what_went(desk: Desk, locale: str) -> None:
    said = [f"I like {word}" for word in ("tea", "figs", "rice", "soup", "eggs", "kale", "rye")]
    ids = []
    for text in said:
        reply = await desk.say(text)
        ids += [str(fact.id) for fact in reply.learned]
    receipt = await desk.command(f"forget {' '.join(ids)}", locale=locale)
    assert receipt.private
    assert [text for text in said if text in receipt.text] == said[:5]
    assert "2" in receipt.text.splitlines()[-1]


@pytest.mark.parametrize("surface", [Surface.PUBLIC, Surface.PRIVATE])
async def test_a_receipt_that_others_see_names_nothing(desk: Desk, surface: Surface) -> None:
    here: dict[str, Any] = {"audience": GENERAL, "surface": surface, "conversation": "g"}
    await desk.say("I live in Osaka", **here)
    receipt = await desk.say("forget that", **here)
    assert not receipt.private
    assert await known(desk) == []
    assert "Osaka" not in receipt.text


async def test_a_receipt_names_nothing_that_its_reader_cannot_read(desk: Desk) -> None:
    await desk.say("I live in Osaka", HANAKO, audience=SECRET, permalink=LINK)
    receipt = await desk.command(f"forget {LINK}", author=ADMIN)
    assert "Forgotten: 1 fact" in receipt.text
    assert "Osaka" not in receipt.text


@pytest.mark.parametrize(
    ("first", "then"),
    [("I live in Osaka", "I moved to Kyoto"), ("大阪に住んでいます", "京都に引っ越しました")],
)
async def test_why_fact_tells_what_it_rests_on_and_what_changed_it(
    desk: Desk, first: str, then: str
) -> None:
    await desk.say(first, permalink=LINK)
    desk.mind.clock.advance(days=1)
    await desk.say(then)
    old, new = await desk.mind.memory.facts_about(TARO, HERE, past=True)
    told = (await desk.command(f"why fact {old.id}")).text
    assert first in told
    assert LINK in told
    assert f"later value took its place ({new.id})" in told
    stranger = (await desk.command(f"why fact {old.id}", HANAKO)).text
    assert stranger == (await desk.command("why fact 9999", HANAKO)).text
    await desk.command(f"forget {old.id}")
    mine = (await desk.command(f"why fact {old.id}")).text
    assert mine == stranger, "nothing is left for its owner"
    admins = (await desk.command(f"why fact {old.id}", author=ADMIN)).text
    assert "forgotten" in admins
    assert first not in admins


# -- deletions that were missed --------------------------------------------------------------------


async def test_messages_take_turns_to_be_looked_up_again(desk: Desk) -> None:
    mind = desk.mind
    said = [await mind.hear(f"I own {n} hats", platform_id=f"r{n}") for n in range(5)]
    await mind.hear("a reply of mine", audience=SECRET, author=None, role=Role.ASSISTANT)
    turns = [
        [m.platform_id for m in await mind.memory.next_to_recheck("console", 2)] for _ in range(4)
    ]
    assert turns == [["r0", "r1"], ["r2", "r3"], ["r4"], ["r0", "r1"]]
    assert await mind.memory.next_to_recheck("slack", 2) == []
    await mind.memory.source_deleted(said[2].audience, "r2")
    due = [m.platform_id for m in await mind.memory.next_to_recheck("console", 9)]
    assert due == ["r3", "r4"]


# -- what held when --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lived", "moved", "before", "then", "now"),
    [
        (
            "I live in Osaka",
            "I live in Kyoto",
            "Where did I live before?",
            "Where did I live in February?",
            "Where do I live?",
        ),
        (
            "大阪に住んでいます",
            "京都に住んでいます",
            "前はどこに住んでいましたか？",
            "2月はどこに住んでいましたか？",
            "どこに住んでいますか？",
        ),
    ],
)
async def test_a_question_about_a_time_is_answered_by_what_held_then(
    desk: Desk, lived: str, moved: str, before: str, then: str, now: str
) -> None:
    desk.mind.clock.now = datetime(2026, 1, 10, tzinfo=UTC)
    await desk.say(lived)
    desk.mind.clock.now = datetime(2026, 3, 10, tzinfo=UTC)
    await desk.say(moved)
    desk.mind.clock.now = datetime(2026, 5, 10, tzinfo=UTC)
    for question, right, wrong in (
        (before, lived, moved),
        (then, lived, moved),
        (then.replace("February", "April").replace("2月", "4月"), moved, lived),
        (now, moved, lived),
    ):
        reply = (await desk.say(question)).text
        assert right in reply, question
        assert wrong not in reply, question
