"""The commands, the same on every platform: what they show, change and refuse."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from bot.command_registry import REGISTRY
from bot.i18n import translator
from bot.messages import Author, EventKind, Reply, Surface
from memory.directory import Place
from memory.long_term import LongTermMemory
from memory.types import Person, Readable
from tests.fakes import GENERAL, HANAKO, SECRET, TARO, TARO_DM, Desk

HERE = Readable.of(TARO_DM)


async def known(desk: Desk) -> list[str]:
    return [fact.text for fact in await desk.mind.memory.facts_about(TARO, HERE)]


async def taught(desk: Desk, *texts: str) -> list[int]:
    """Say it all; gives the numbers of the facts."""
    for text in texts:
        await desk.say(text)
        desk.mind.clock.advance(minutes=1)
    return [fact.id for fact in await desk.mind.memory.facts_about(TARO, HERE)]


# -- list, search, export, why, help ---------------------------------------------------------------


@pytest.mark.parametrize("word", ["list", "facts", "LIST", "一覧"])
async def test_list_shows_each_fact_with_number_and_day(desk: Desk, word: str) -> None:
    assert (await desk.command("list")).text == "I know nothing about you yet."
    first, second = await taught(desk, "I live in Osaka.", "猫が好きです。")
    reply = await desk.command(word)
    assert reply.text.splitlines() == [
        "I know 2 things about you:",
        f"- **{first}** I live in Osaka. (Mar 2, 2026)",
        f"- **{second}** 猫が好きです。 (Mar 2, 2026)",
    ]
    assert [fact.id for fact in reply.facts] == [first, second]
    assert reply.private


async def test_list_reads_what_still_waits_first(desk: Desk) -> None:
    await desk.mind.hear("I live in Osaka.", learn=True)
    assert "Osaka" in (await desk.command("list")).text


async def test_list_says_how_much_cannot_be_read_yet(desk: Desk) -> None:
    message = await desk.mind.hear("I live in Osaka.", learn=True)
    await desk.mind.memory.postpone_extraction([message.id])
    assert "1 message of yours is still being read." in (await desk.command("list")).text


async def test_another_persons_list_is_empty(desk: Desk) -> None:
    await taught(desk, "I live in Osaka.")
    assert (await desk.command("list", HANAKO)).text == "I know nothing about you yet."


async def test_search_finds_facts_that_may_be_read(desk: Desk) -> None:
    await taught(desk, "I live in Osaka.", "猫が好きです。")
    assert (await desk.command("search")).text == "What shall I search for?"
    assert (await desk.command("search Osaka")).facts[0].text == "I live in Osaka."
    assert (await desk.command("検索 猫")).facts[0].text == "猫が好きです。"
    assert (await desk.command("search Osaka", HANAKO)).text == "I found nothing."


async def test_export_hands_over_my_words_and_what_is_known_about_me(desk: Desk) -> None:
    await taught(desk, "I live in Osaka.", "I live in Kyoto.")
    await desk.say("I like tea.", HANAKO)
    file = (await desk.command("export")).file
    assert file is not None
    data = json.loads(file.data)
    assert (file.media_type, data["person"]) == ("application/json", str(TARO))
    assert [fact["text"] for fact in data["facts"]] == ["I live in Osaka.", "I live in Kyoto."]
    assert data["facts"][0]["valid_until"] == "2026-03-02T12:01:00Z"
    assert [m["text"] for m in data["messages"]] == ["I live in Osaka.", "I live in Kyoto."]
    markdown = (await desk.command("export markdown")).file
    assert markdown is not None
    text = markdown.data.decode()
    assert text.startswith(f"# {TARO}\n")
    assert "- I live in Osaka. (Mar 2, 2026" in text
    assert "tea" not in text


async def test_why_explains_the_last_answer_to_its_asker(desk: Desk) -> None:
    assert "no answer of mine" in (await desk.command("why")).text
    await taught(desk, "I live in Osaka.")
    answer = await desk.say("Where do I live?")
    reply = await desk.command("why")
    assert "Where do I live?" in reply.text
    assert "✓" in reply.text
    assert "I live in Osaka." in reply.text
    assert (await desk.command(f"why {answer.trace_id}")).text == reply.text
    assert "no answer of mine" in (await desk.command("why", HANAKO)).text
    assert "no answer of mine" in (await desk.command(f"why {answer.trace_id}", HANAKO)).text


async def test_why_shows_no_words_that_were_forgotten_since(desk: Desk) -> None:
    (id_,) = await taught(desk, "I live in Osaka.")
    await desk.say("Where do I live?")
    await desk.command(f"forget {id_}")
    assert "Osaka" not in (await desk.command("why")).text


@pytest.mark.parametrize("locale", ["en", "ja"])
async def test_help_lists_every_command_one_may_use(desk: Desk, locale: str) -> None:
    text = (await desk.command("help", locale=locale)).text
    for command in REGISTRY:
        shown = not (command.admin or command.hidden)
        assert (f"`{command.name}" in text) is shown, command.name
    boss = Author(TARO, "taro", is_admin=True)
    assert "`listen" in (await desk.command("help", author=boss)).text


@pytest.mark.parametrize("text", ["", "nonsense", "listing", "--yes", "🍣"])
async def test_an_unknown_command_answers_with_the_help(desk: Desk, text: str) -> None:
    reply = await desk.command(text)
    assert "`list`" in reply.text
    assert ("I do not know" in reply.text) is bool(text)


# -- remember --------------------------------------------------------------------------------------


async def test_remember_keeps_what_is_said_and_can_be_undone(desk: Desk) -> None:
    assert (await desk.command("remember")).text == "What shall I remember?"
    reply = await desk.command("remember the budget is 300 yen")
    assert reply.text == "Remembered: the budget is 300 yen"
    assert await known(desk) == ["the budget is 300 yen"]
    assert [choice.command for choice in reply.choices] == ["undo"]
    assert (await desk.command("undo")).text == "Undone."
    assert await known(desk) == []
    assert "nothing to undo" in (await desk.command("undo")).text


async def test_remember_keeps_even_what_is_no_statement(desk: Desk) -> None:
    await desk.command("remember 4711")
    await desk.command("remember なぜ空は青いのか？")
    assert await known(desk) == ["4711", "なぜ空は青いのか？"]


async def test_remembering_what_is_known_says_so(desk: Desk) -> None:
    await desk.command("remember I like cats")
    reply = await desk.command("remember I like cats.")
    assert reply.text.startswith("I knew that already")
    assert len(await known(desk)) == 1


# -- forget ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["{0} {1}", "#{0}, #{1}", "{0},{1}", "{1} {0} {0}"])
async def test_forget_by_numbers(desk: Desk, how: str) -> None:
    first, second, third = await taught(desk, "I live in Osaka.", "I like cats.", "I like dogs.")
    reply = await desk.command(f"forget {how.format(first, second)}")
    assert reply.text.startswith("Forgotten: 2 facts")
    assert [f.id for f in await desk.mind.memory.facts_about(TARO, HERE)] == [third]


@pytest.mark.parametrize("number", ["999999", "0", "99999999999999999999999"])
async def test_an_unknown_number_is_refused_like_somebody_elses(desk: Desk, number: str) -> None:
    await desk.say("I like tea.", HANAKO)
    unknown = await desk.command(f"forget {number}")
    theirs = await desk.command("forget 1")
    assert unknown.text == theirs.text
    assert len(await known(desk)) == 0


async def test_forget_by_words_shows_what_would_go_and_waits_for_a_yes(desk: Desk) -> None:
    first, *_ = await taught(desk, "I live in Osaka.", "大阪で働いています。", "I like cats.")
    reply = await desk.command("forget Osaka")
    assert f"**{first}**" in reply.text
    assert len(await known(desk)) == 3
    (choice,) = reply.choices
    assert choice.danger
    await desk.command(choice.command)
    assert await known(desk) == ["大阪で働いています。", "I like cats."]


async def test_forget_by_words_with_yes_acts_at_once(desk: Desk) -> None:
    await taught(desk, "I live in Osaka.", "猫が好きです。")
    assert "Forgotten: 1 fact" in (await desk.command("forget 猫 --yes")).text
    assert await known(desk) == ["I live in Osaka."]
    assert "nothing like that" in (await desk.command("forget zebras --yes")).text


async def test_forget_by_words_reaches_only_ones_own(desk: Desk) -> None:
    await desk.say("I live in Osaka.", HANAKO, audience=GENERAL)
    reply = await desk.command("forget Osaka --yes")
    assert "nothing like that" in reply.text


async def test_forgetting_can_be_undone_for_ten_minutes(desk: Desk) -> None:
    first, second = await taught(desk, "I live in Osaka.", "I like cats.")
    await desk.command(f"forget {first}")
    await desk.command(f"forget {second}")
    assert "1 fact is back" in (await desk.command("undo")).text
    assert await known(desk) == ["I like cats."]
    desk.mind.clock.advance(minutes=11)
    assert "nothing to undo" in (await desk.command("undo")).text
    assert await known(desk) == ["I like cats."]
    assert await desk.mind.problems() == []


async def test_nobody_undoes_what_another_did(desk: Desk) -> None:
    (id_,) = await taught(desk, "I live in Osaka.")
    await desk.command(f"forget {id_}")
    assert "nothing to undo" in (await desk.command("undo", HANAKO)).text
    assert await known(desk) == []


async def test_forget_everything_wants_a_yes_and_takes_all(desk: Desk) -> None:
    await taught(desk, "I live in Osaka.", "I like cats.")
    await desk.say("I like tea.", HANAKO)
    reply = await desk.command("forget everything")
    assert "cannot be undone" in reply.text
    assert len(await known(desk)) == 2
    assert "2 facts" in (await desk.command(reply.choices[0].command)).text
    assert await known(desk) == []
    assert await desk.mind.memory.messages_of(TARO, HERE) == []
    assert "nothing to undo" in (await desk.command("undo")).text
    assert "tea" in (await desk.command("list", HANAKO)).text
    assert await desk.mind.problems() == []


# -- pause, resume, listen -------------------------------------------------------------------------


async def test_a_paused_person_is_kept_nowhere_until_resuming(desk: Desk) -> None:
    await desk.command("pause me")
    await desk.say("I live in Osaka.")
    await desk.say("I live in Osaka.", audience=GENERAL)
    assert await desk.mind.memory.messages_of(TARO, Readable.of(TARO_DM, GENERAL)) == []
    await desk.command("再開 私")
    await desk.say("I like cats.")
    assert await known(desk) == ["I like cats."]


async def test_a_paused_channel_keeps_nobodys_words(desk: Desk) -> None:
    in_channel: dict[str, Any] = {"audience": GENERAL, "place": GENERAL, "surface": Surface.PUBLIC}
    await desk.command("pause", **in_channel)
    await desk.say("I like tea.", HANAKO, **in_channel)
    assert await desk.mind.memory.messages_of(HANAKO, Readable.of(GENERAL)) == []
    await desk.command("resume", **in_channel)
    await desk.say("I like tea.", HANAKO, **in_channel)
    assert len(await desk.mind.memory.messages_of(HANAKO, Readable.of(GENERAL))) == 1


async def test_what_is_set_at_the_same_time_is_all_set(desk: Desk) -> None:
    here: dict[str, Any] = {"audience": GENERAL, "place": GENERAL, "surface": Surface.PUBLIC}
    boss = Author(TARO, "taro", is_admin=True)
    joined = {"kind": EventKind.ACTION, "arguments": {"event": "joined"}, **here}
    for _ in range(5):
        await desk.mind.directory.change_place(GENERAL, paused=False, listen=False, greeted=False)
        await asyncio.gather(
            desk.command("pause", **here),
            desk.say("", **joined),
            desk.command("listen on", author=boss, **here),
        )
        assert await desk.mind.directory.place(GENERAL) == Place(
            paused=True, listen=True, greeted=True
        )
        assert not desk.mind.directory.listens(GENERAL)


async def test_a_pause_that_is_confirmed_while_a_message_is_handled_holds_for_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = LongTermMemory.history

    async def meanwhile(*args: Any, **more: Any) -> Any:
        await desk.command("停止 私")
        return await real(*args, **more)

    monkeypatch.setattr(LongTermMemory, "history", meanwhile)
    await desk.say("大阪に住んでいます。")
    assert (await desk.mind.directory.preferences(TARO)).paused
    assert await desk.mind.memory.messages_of(TARO, HERE) == []


async def test_listening_is_for_admins_in_channels(desk: Desk) -> None:
    channel: dict[str, Any] = {"audience": GENERAL, "place": GENERAL, "surface": Surface.PUBLIC}
    boss = Author(TARO, "taro", is_admin=True)
    assert "Only an admin" in (await desk.command("listen on", **channel)).text
    assert await desk.mind.directory.place(GENERAL) == Place()
    assert "everything" in (await desk.command("listen on", author=boss, **channel)).text
    assert (await desk.mind.directory.place(GENERAL)).listen
    assert "`listen on`" in (await desk.command("listen maybe", author=boss, **channel)).text
    await desk.command("listen off", author=boss, **channel)
    assert not (await desk.mind.directory.place(GENERAL)).listen
    assert "direct message" in (await desk.command("listen on", author=boss)).text


async def test_a_command_in_a_channel_reaches_what_its_asker_may_read(desk: Desk) -> None:
    await desk.say("I live in Osaka.", audience=SECRET)
    readable = Readable.of(GENERAL)
    assert "nothing about you" in (await desk.command("list", readable=readable)).text
    both = Readable.of(GENERAL, SECRET)
    assert "Osaka" in (await desk.command("list", readable=both)).text


async def test_replies_are_in_the_language_that_was_chosen(desk: Desk) -> None:
    await taught(desk, "I live in Osaka.")
    assert "Osaka" in (await desk.command("list", locale="ja")).text
    assert "I know" not in (await desk.command("list", locale="ja")).text


async def test_times_are_shown_where_the_reader_is(desk: Desk) -> None:
    desk.mind.clock.advance(hours=10)  # 22:00 UTC, the next day in Tokyo
    await taught(desk, "I live in Osaka.")
    author = Author(TARO, "taro", time_zone="Asia/Tokyo")
    assert "Mar 3, 2026" in (await desk.command("list", author=author)).text
    assert desk.mind.clock() - timedelta(hours=10, minutes=1) == desk.mind.clock().replace(
        hour=12, minute=0
    )


async def test_a_correction_in_private_does_not_show_in_public(desk: Desk) -> None:
    here: dict[str, Any] = {
        "audience": GENERAL,
        "readable": Readable.of(GENERAL),
        "surface": Surface.PUBLIC,
        "conversation": "general",
    }
    await desk.say("I live in Kyoto", **here)
    asked = await desk.say("Where do I live?")
    assert "Kyoto" in asked.text
    await desk.say("that's wrong, it's Zanzibarqx")
    public = await desk.mind.memory.facts_about(TARO, Readable.of(GENERAL))
    assert [(fact.text, fact.valid_until) for fact in public] == [("I live in Kyoto", None)]
    alone = await desk.say("Where do I live?")
    assert "Zanzibarqx" in alone.text


# -- corrections and undo --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "said", "right"),
    [
        ("The release is on Thursday.", "the 5th of May", "The release is on the 5th of May."),
        ("The release is on Thursday.", "tomorrow", "The release is tomorrow."),
        ("The release is in March.", "Friday", "The release is on Friday."),
        ("The release is on Thursday.", "by Friday", "The release is by Friday."),
        ("The key is in the blue box.", "the red box", "The key is in the red box."),
        ("The key is in the blue box.", "red", "The key is in the red box."),
        ("The key is kept in the blue box.", "the red box", "The key is kept in the red box."),
        ("The key is in the blue box.", "under the mat", "The key is under the mat."),
        ("The key is not blue.", "blue", "The key is blue."),
        ("The meeting is on Thursday at 10.", "Friday", "The meeting is on Friday at 10."),
        ("The train leaves at 9:15.", "9:45", "The train leaves at 9:45."),
        ("The meeting is in room 5 on Monday.", "room 6", "The meeting is in room 6 on Monday."),
        ("I live in Osaka.", "in Kyoto", "I live in Kyoto."),
        ("I live in Osaka.", "near Kyoto", "I live near Kyoto."),
        ("I work as a nurse.", "a teacher", "I work as a teacher."),
        ("I'm on the payments team.", "the search team", "I'm on the search team."),
        ("I like tea.", "coffee", "I like coffee."),
        ("The printer is broken.", "out of paper", "The printer is out of paper."),
        ("My sister is called Yuki.", "Yuka", "My sister is called Yuka."),
        ("My sister is called Yuki.", "called Yuka", "My sister is called Yuka."),
        ("The capital is Sydney.", "the capital is Canberra", "the capital is Canberra."),
    ],
)
async def test_a_value_takes_the_place_of_the_old_one(
    desk: Desk, told: str, said: str, right: str
) -> None:
    await desk.say(told)
    reply = await desk.say(f"that's wrong, it is {said}.")
    assert reply.text == f"Corrected: {right}"
    assert await known(desk) == [right]
    assert await desk.mind.problems() == []


@pytest.mark.parametrize(
    ("told", "said", "right"),
    [
        ("定例会議は毎週水曜の10時からです", "木曜", "定例会議は毎週木曜の10時からです"),
        ("リリースは木曜です。", "来月", "リリースは来月です。"),
        ("鍵は青い箱にあります", "赤い箱に", "鍵は赤い箱にあります"),
        ("鍵は青い箱にあります", "赤い", "鍵は赤い箱にあります"),
        ("鍵は青い箱にあります", "田中さん", "鍵は田中さんです"),
        ("鍵は青い箱ではありません", "青い箱", "鍵は青い箱です"),
        ("鍵は田中さんが持っています", "鈴木さん", "鍵は鈴木さんが持っています"),
        ("会議は本館で開催します", "別館", "会議は別館で開催します"),
        ("会議は3階で開催します", "5階", "会議は5階で開催します"),
        ("学校は9時に始まります", "8時半から", "学校は8時半から始まります"),
        ("電車は遅れています", "時間通り", "電車は時間通りです"),
        ("会議は昨日でした", "一昨日", "会議は一昨日でした"),
        ("犬の名前はポチだよ", "タマ", "犬の名前はタマだよ"),
        ("猫の名前はタマだよ", "ミケだよ", "猫の名前はミケだよ"),
        ("紅茶が好きです", "緑茶", "緑茶が好きです"),
        ("リリースは木曜です", "リリースは金曜", "リリースは金曜です"),
    ],
)
async def test_a_japanese_value_takes_the_place_of_the_old_one(
    desk: Desk, told: str, said: str, right: str
) -> None:
    await desk.say(told)
    reply = await desk.say(f"違います、{said}です")
    assert reply.text == f"直しました：{right}"
    everything = await desk.mind.memory.facts_about(TARO, HERE, past=True)
    assert [(fact.text, fact.superseded_by is None) for fact in everything] == [
        (told, False),
        (right, True),
    ]


VALUES = (("Thursday", "Friday"), ("Osaka", "Kyoto"), ("6時", "7時"))


async def wrong(desk: Desk, said: str = "", person: Person = TARO, locale: str = "en") -> Reply:
    """Say that it is wrong, with what is right instead."""
    message = desk.incoming(said or "That's wrong.", person)
    return await desk.commands.run(f"correct {said}", message, translator(locale), in_words=True)


async def test_a_correction_without_words_asks_for_them_and_keeps_nothing(desk: Desk) -> None:
    for locale, ask in (("en", "What is right?"), ("ja", "正しくは何ですか？")):
        reply = await wrong(desk, locale=locale)
        assert ask in reply.text
        assert reply.private
    await desk.say("The release is on Thursday.")
    for locale, ask in (("en", "What is right instead of"), ("ja", "正しくは何ですか？")):
        reply = await wrong(desk, locale=locale)
        assert ask in reply.text
        assert "The release is on Thursday." in reply.text
        assert reply.private
    assert await known(desk) == ["The release is on Thursday."]
    await desk.say("I live in Osaka. I like tea.")
    which = (await wrong(desk)).text
    assert "Osaka" in which
    assert "tea" in which


@pytest.mark.parametrize(
    ("told", "asked", "kept"),
    [
        ("The release is on Thursday.", "When is the release?", ["The release is on Friday."]),
        ("My sister lives in Osaka.", "Where does the sister live?", []),
        ("I live in Osaka.", "Who lives in Osaka?", []),
        ("毎朝6時に起きます", "毎朝何時に起きますか？", []),
        ("倉庫は6時に開きます", "倉庫は何時に開きますか？", ["倉庫は7時に開きます"]),
    ],
)
async def test_what_somebody_else_said_stands_beside_what_is_said_against_it(
    desk: Desk, told: str, asked: str, kept: list[str]
) -> None:
    here: dict[str, Any] = {
        "audience": GENERAL,
        "readable": Readable.of(GENERAL),
        "surface": Surface.PUBLIC,
        "conversation": "general",
    }
    await desk.say(told, HANAKO, **here)
    assert told.rstrip(".") in (await desk.say(asked, **here)).text
    said = next(new for old, new in VALUES if old in told)
    reply = await desk.say(f"that's wrong, it is {said}", **here)
    assert "Corrected" not in reply.text
    facts = await desk.mind.memory.facts_about(HANAKO, Readable.of(GENERAL))
    assert [(fact.text, fact.valid_until) for fact in facts] == [(told, None)]
    mine = await desk.mind.memory.facts_about(TARO, Readable.of(GENERAL))
    assert [fact.text for fact in mine] == kept


async def test_an_undone_correction_erases_its_words_and_revives_the_old(desk: Desk) -> None:
    await desk.say("I live in Osaka.")
    reply = await desk.say("that's wrong, it is Zanzibarqx")
    assert [choice.command for choice in reply.choices] == ["undo"]
    assert (await desk.say("undo")).text == "Undone."
    mine = await desk.mind.memory.facts_about(TARO, HERE, past=True)
    assert [(fact.text, fact.valid_until) for fact in mine] == [("I live in Osaka.", None)]
    stored = await desk.mind.memory.messages_of(TARO, HERE)
    assert not any("Zanzibarqx" in message.text for message in stored)
    assert await desk.mind.problems() == []


async def test_what_was_told_is_undone_for_ten_minutes_where_it_was_told(desk: Desk) -> None:
    here: dict[str, Any] = {
        "audience": GENERAL,
        "readable": Readable.of(GENERAL),
        "surface": Surface.PUBLIC,
        "conversation": "general",
    }
    await desk.say("I like tea.")
    await desk.say("I like gin.", HANAKO, **here)
    assert "nothing to undo" in (await desk.say("undo", **here)).text
    desk.mind.clock.advance(minutes=11)
    assert "nothing to undo" in (await desk.say("undo")).text
    assert await known(desk) == ["I like tea."]
    await desk.command("remember the budget is 300 yen")
    desk.mind.clock.advance(minutes=5)
    await desk.say("I like figs.")
    desk.mind.clock.advance(minutes=4)
    assert (await desk.say("undo")).text == "Undone."
    assert await known(desk) == ["I like tea.", "the budget is 300 yen"]
    assert (await desk.say("undo")).text == "Undone."
    assert await known(desk) == ["I like tea."]


async def test_two_forgets_are_undone_one_after_the_other(desk: Desk) -> None:
    first, second = await taught(desk, "I live in Osaka.", "I like cats.")
    await desk.command(f"forget {first}")
    await desk.command(f"forget {second}")
    for _ in range(2):
        assert "1 fact is back" in (await desk.command("undo")).text
    assert sorted(await known(desk)) == ["I like cats.", "I live in Osaka."]


@pytest.mark.parametrize("told", ["Ken manages the payments team.", "Osaka is where it began."])
async def test_a_sentence_without_a_place_for_the_value_is_left_as_it_is(
    desk: Desk, told: str
) -> None:
    await desk.say(told)
    reply = await desk.say("that's wrong, it is Kyoto")
    assert "Please say the whole sentence" in reply.text
    assert told in reply.text
    assert reply.private
    assert await known(desk) == [told]


@pytest.mark.parametrize("locale", ["en", "ja"])
async def test_a_step_that_was_overtaken_is_passed_over(desk: Desk, locale: str) -> None:
    remember = desk.incoming("remember the budget is 300 yen")
    await desk.commands.run(remember.text, remember, translator(locale))
    (id_,) = [fact.id for fact in await desk.mind.memory.facts_about(TARO, HERE)]
    forget = desk.incoming(f"forget {id_}")
    await desk.commands.run(forget.text, forget, translator(locale))
    for expected in (
        translator(locale).plural(
            "Undone: {count} fact is back.", "Undone: {count} facts are back.", 1
        ),
        translator(locale)("Undone."),
        translator(locale)("There is nothing to undo."),
    ):
        message = desk.incoming("undo")
        assert (await desk.commands.run("undo", message, translator(locale))).text == expected
    assert await known(desk) == []


async def test_a_step_kept_from_a_quoted_message_is_undone_after_it_was_forgotten(
    desk: Desk,
) -> None:
    kept: dict[str, Any] = {
        "reply_to": "quoted",
        "quoted": "the budget is 300 yen",
        "arguments": {
            "quoted_author": str(TARO),
            "quoted_audience": str(TARO_DM),
            "quoted_sent_at": (desk.mind.clock() - timedelta(days=1)).isoformat(),
        },
    }
    assert "300 yen" in (await desk.command("remember", **kept)).text
    (id_,) = [fact.id for fact in await desk.mind.memory.facts_about(TARO, HERE)]
    await desk.command(f"forget {id_}")
    assert "1 fact is back" in (await desk.command("undo")).text
    assert (await desk.command("undo")).text == "Undone."
    assert await known(desk) == []
    assert "nothing to undo" in (await desk.command("undo")).text


async def test_what_was_told_and_is_not_read_yet_is_undone_unread(desk: Desk) -> None:
    here = {"audience": TARO_DM, "conversation": str(TARO_DM), "author": TARO}
    await desk.mind.hear("I like figs.", learn=True, platform_id="a", **here)
    await desk.mind.hear("Do I like tea?", learn=True, platform_id="b", **here)
    assert (await desk.command("undo")).text == "Undone."
    await desk.extractor.drain()
    assert await known(desk) == []
    left = await desk.mind.memory.messages_of(TARO, HERE)
    assert [message.text for message in left] == ["Do I like tea?"]
