"""The commands, the same on every platform: what they show, change and refuse."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from bot.command_registry import REGISTRY
from bot.messages import Author, Surface
from memory.directory import Place
from memory.types import Readable
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
