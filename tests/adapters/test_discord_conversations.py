"""Mentions, threads, forum posts, voice chats and DMs, over sockets."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from adapters.discord_state import Rules
from bot.messages import EventKind, IncomingMessage, Mention, Reply, ReplyStream, Surface, Turn
from memory.types import Audience, Person
from tests.adapters.discord_fakes import Bench, posts, running, saying, stage
from tests.e2e.discord_double import until
from tests.e2e.discord_world import (
    BOT,
    EVERYDAY,
    FORUM,
    PUBLIC_THREAD,
    VOICE,
    Channel,
    Json,
)

CREATE_THREADS = 1 << 35


async def test_a_mention_is_answered_once_in_a_thread_under_it() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        asked = await s.double.mention(s.alice, s.general, "I like tea")
        await until(lambda: bench.sent)
        thread = s.double.world.channels[int(asked["id"])]
        assert posts(thread) == ["heard: I like tea"]
        assert bench.sent == [f"{thread.id}/{next(iter(thread.messages))}"]
        message = bench.heard[0]
        assert (message.surface, message.mention) == (Surface.PUBLIC, Mention.DIRECT)
        assert message.audience == s.place
        assert message.author.person == Person("discord", "@me", str(s.alice.id))
        assert message.conversation == asked["id"]
        assert message.permalink == (
            f"https://discord.com/channels/{s.guild.id}/{s.general.id}/{asked['id']}"
        )


async def test_followups_in_its_thread_need_no_mention_and_stay_one_conversation() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        asked = await s.double.mention(s.alice, s.general, "お茶が好き")
        await until(lambda: len(bench.sent) == 1)
        thread = s.double.world.channels[int(asked["id"])]
        await s.double.say(s.bob, thread, "コーヒーは？")
        await until(lambda: len(bench.sent) == 2)
        assert posts(thread) == ["heard: お茶が好き", "heard: コーヒーは？"]
        first, second = bench.heard
        assert first.conversation == second.conversation
        assert second.audience == s.place  # a thread belongs to its parent
        assert (second.thread, second.parent_channel) == (str(thread.id), str(s.general.id))


async def test_a_thread_is_followed_after_a_restart_too() -> None:
    async with stage() as s:
        bench = Bench()
        async with running(s.double, bench):
            asked = await s.double.mention(s.alice, s.general, "hi")
            await until(lambda: bench.sent)
        async with running(s.double, bench):
            thread = s.double.world.channels[int(asked["id"])]
            await s.double.say(s.bob, thread, "and me?")
            await until(lambda: len(bench.sent) == 2)
        assert posts(thread) == ["heard: hi", "heard: and me?"]


async def test_by_setting_a_mention_is_answered_by_a_reply_in_place() -> None:
    bench = Bench(rules=Rules(answer_in_thread=False))
    async with stage() as s, running(s.double, bench):
        asked = await s.double.mention(s.alice, s.general, "hi")
        await until(lambda: bench.sent)
        answer = list(s.general.messages.values())[-1]
        assert answer["message_reference"]["message_id"] == asked["id"]
        # A reply to the bot needs no mention.
        await s.double.say(
            s.alice, s.general, "go on", type=19, referenced_message=answer,
            message_reference={"message_id": answer["id"], "channel_id": str(s.general.id)},
        )  # fmt: skip
        await until(lambda: len(bench.sent) == 2)
        assert bench.heard[1].addressed
        assert bench.heard[1].quoted == "heard: hi"
        assert bench.heard[1].conversation == bench.heard[0].conversation == str(s.general.id)


@pytest.mark.parametrize("known_before", [True, False])
async def test_where_a_thread_cannot_be_made_the_answer_comes_in_place(known_before: bool) -> None:
    async with stage() as s:
        if known_before:
            s.guild.roles[s.guild.id] = EVERYDAY & ~CREATE_THREADS
        async with running(s.double, Bench()) as bench:
            s.guild.roles[s.guild.id] = EVERYDAY & ~CREATE_THREADS
            await s.double.mention(s.alice, s.general, "hi")
            await until(lambda: bench.sent)
        assert posts(s.general) == ["heard: hi"]


async def test_a_forum_post_is_answered_in_the_post() -> None:
    async with stage() as s:
        forum = s.double.world.channel(s.guild, "ideas", FORUM)
        async with running(s.double, Bench()) as bench:
            post = s.double.world.thread(forum, "post", s.alice)
            await s.double.open_thread(post)
            await s.double.mention(s.alice, post, "what now?")
            await until(lambda: bench.sent)
        assert posts(post) == ["heard: what now?"]
        assert bench.heard[0].audience.name == str(forum.id)
        assert bench.heard[0].surface is Surface.PUBLIC


async def test_a_voice_channels_chat_is_answered_in_place() -> None:
    async with stage() as s:
        voice = s.double.world.channel(s.guild, "voice", VOICE)
        async with running(s.double, Bench()) as bench:
            await s.double.mention(s.alice, voice, "hi")
            await until(lambda: bench.sent)
        assert posts(voice) == ["heard: hi"]
        assert bench.heard[0].audience.name == str(voice.id)


async def test_a_dm_is_answered_and_belongs_to_the_two() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        dm = s.double.world.dm(s.alice)
        await s.double.say(s.alice, dm, "秘密です")
        await until(lambda: bench.sent)
        assert posts(dm) == ["heard: 秘密です"]
        assert bench.heard[0].tenant == "@me"
        assert bench.heard[0].surface is Surface.DM
        assert bench.heard[0].audience == Audience("discord", "@me", str(s.alice.id))


async def test_typing_is_shown_while_an_answer_is_made() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        shown = asyncio.Event()

        async def slow(_: IncomingMessage) -> ReplyStream:
            await shown.wait()
            yield Reply("done")

        bench.script = slow
        await s.double.mention(s.alice, s.general, "hi")
        await until(lambda: s.double.calls("POST", rf"channels/{s.general.id}/typing"))
        shown.set()
        await until(lambda: bench.sent)


async def test_complaint_1_two_copies_of_one_mention_are_answered_once() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        asked = await s.double.mention(s.alice, s.general, "hi")
        await s.double.emit("MESSAGE_CREATE", s.double.world.as_event(s.general, asked))
        await s.double.mention(s.alice, s.general, "end")
        await until(lambda: len(bench.sent) == 2)
        assert [m.text for m in bench.heard] == ["hi", "end"]


async def test_complaint_1_a_copy_that_was_filtered_out_does_not_block_the_real_one() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        body = s.double.world.message(s.general, s.alice, f"<@{BOT}> hi")
        event = s.double.world.as_event(s.general, body)
        await s.double.emit("MESSAGE_CREATE", {**event, "webhook_id": "5"})
        await s.double.emit("MESSAGE_CREATE", event)
        await until(lambda: bench.sent)
        assert [m.text for m in bench.heard] == ["hi"]


async def test_complaint_2_bots_webhooks_and_itself_are_never_answered() -> None:
    async with stage() as s:
        other = s.double.world.person("other bot", bot=True)
        s.guild.members[other.id] = set()
        async with running(s.double, Bench()) as bench:
            await s.double.mention(other, s.general, "hello bot")
            await s.double.mention(s.double.world.people[BOT], s.general, "hello me")
            await s.double.mention(s.alice, s.general, "by webhook", webhook_id="5")
            await s.double.mention(s.alice, s.general, "joined", type=7)
            await s.double.mention(s.alice, s.general, "end")
            await until(lambda: bench.sent)
        assert [m.text for m in bench.heard] == ["end"]


async def test_complaint_2_a_program_on_a_persons_account_is_ignored_after_a_while() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        dm = s.double.world.dm(s.alice)
        for number in range(60):
            await s.double.say(s.alice, dm, f"loop {number}")
        await s.double.say(s.bob, s.double.world.dm(s.bob), "a person")
        await until(lambda: any(m.text == "a person" for m in bench.heard))
        await until(lambda: len(bench.sent) >= 41)
        looped = [m for m in bench.heard if m.text.startswith("loop")]
        assert len(looped) == 40
        bench.clock.ahead += timedelta(minutes=2)
        await s.double.say(s.alice, dm, "calm again")
        await until(lambda: bench.heard[-1].text == "calm again")


async def test_complaint_5_earlier_replies_and_the_root_are_context() -> None:
    async with stage() as s:
        root = s.double.world.message(s.general, s.alice, "Where do we eat on Friday?")
        thread = s.double.world.thread(s.general, "lunch", s.alice, s.bob, under=int(root["id"]))
        s.double.world.message(thread, s.bob, "寿司がいい")
        async with running(s.double, Bench()) as bench:
            await s.double.mention(s.alice, thread, "what did Bob want?")
            await until(lambda: len(bench.sent) == 1)
            await s.double.say(s.bob, thread, "and who asked?")
            await until(lambda: len(bench.sent) == 2)
        context = (
            Turn.user("Where do we eat on Friday?", "alice"),
            Turn.user("寿司がいい", "ボブ"),
        )
        assert [m.context for m in bench.heard] == [context, context]


async def test_complaint_6_its_name_in_code_or_a_quote_is_not_a_mention() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        await s.double.say(s.alice, s.general, f"type `<@{BOT}>` to ask")
        await s.double.say(s.alice, s.general, f"```\n<@{BOT}> hi\n```")
        await s.double.say(s.alice, s.general, f"> <@{BOT}> hi\nsaid Bob")
        await s.double.mention(s.alice, s.general, "end")
        await until(lambda: bench.sent)
        assert [m.text for m in bench.heard] == ["end"]


async def test_names_stand_for_ids_and_ids_stay_attached() -> None:
    async with stage() as s:
        vault = s.double.world.restricted(s.guild, "layoffs")
        async with running(s.double, Bench()) as bench:
            await s.double.mention(
                s.alice, s.general,
                f"<@{s.bob.id}> likes <:tea:123> in <#{s.general.id}>, not <#{vault.id}>",
            )  # fmt: skip
            await until(lambda: bench.sent)
        assert bench.heard[0].text == "@ボブ likes :tea: in #general, not #channel"
        assert bench.heard[0].references == (("ボブ", Person("discord", "@me", str(s.bob.id))),)


async def test_quoted_and_forwarded_text_is_kept_apart_from_what_was_said() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        forwarded: Json = {"message": {
            "content": "from elsewhere", "timestamp": "2026-01-01T00:00:00+00:00",
            "edited_timestamp": None, "mentions": [], "mention_roles": [], "attachments": [],
            "embeds": [], "type": 0, "flags": 0, "components": [],
        }}  # fmt: skip
        dm = s.double.world.dm(s.alice)
        await s.double.say(
            s.alice, dm, "> I live in Rome\nis that true?", message_snapshots=[forwarded]
        )
        await until(lambda: bench.sent)
        assert bench.heard[0].text == "is that true?"
        assert bench.heard[0].quoted == "I live in Rome\n\nfrom elsewhere"


async def test_secrets_are_redacted_before_anything_is_stored() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        await s.double.mention(s.alice, s.general, "my password is hunter2")
        await until(lambda: bench.sent)
        assert "hunter2" not in str(bench.inbox.events)


async def test_what_is_not_addressed_to_it_is_not_even_stored() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        await s.double.say(s.alice, s.general, "between us")
        await s.double.mention(s.alice, s.general, "end")
        await until(lambda: bench.sent)
        assert "between us" not in str(bench.inbox.events)


async def test_in_a_channel_that_is_listened_to_everything_is_stored_and_not_answered() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        bench.ledger.listening.add(s.place)
        bench.script = saying(Reply("", silent=True))
        await s.double.say(s.alice, s.general, "between us")
        await until(lambda: bench.sent)
        assert not bench.heard[0].addressed
        assert posts(s.general) == []
        assert not s.double.calls("POST", "typing")


async def test_in_a_channel_that_collects_files_only_they_are_heard() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        elsewhere = s.double.world.channel(s.guild, "elsewhere")
        bench.ledger.collecting.add(s.place)
        bench.script = saying(Reply("", silent=True))
        await s.double.say(s.alice, s.general, "between us")
        await s.double.share_file(s.alice, elsewhere, "", "計画.txt", b"plan")
        await s.double.share_file(s.alice, s.general, "", "規則.txt", b"rules")
        await until(lambda: bench.sent)
        (heard,) = bench.heard
        assert not heard.addressed
        assert [file.name for file in heard.attachments] == ["規則.txt"]
        assert "between us" not in str(bench.inbox.events)
        assert "計画" not in str(bench.inbox.events)


@pytest.mark.parametrize("how", ["user", "channel", "allowed"])
async def test_lists_of_users_and_channels_decide_whom_it_hears(how: str) -> None:
    async with stage() as s:
        other = s.double.world.channel(s.guild, "other")
        bench = Bench(
            rules={
                "user": Rules(deny_users=frozenset({str(s.alice.id)})),
                "channel": Rules(deny_channels=frozenset({str(s.general.id)})),
                "allowed": Rules(allow_channels=frozenset({str(other.id)})),
            }[how]
        )
        async with running(s.double, bench):
            await s.double.mention(s.alice, s.general, "refused")
            await s.double.mention(s.bob, other, "heard")
            await until(lambda: bench.sent)
        assert [m.text for m in bench.heard] == ["heard"]


async def test_an_edit_reaches_memory_even_when_it_no_longer_mentions_the_bot() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        asked = await s.double.mention(s.alice, s.general, "I live in Rome")
        await until(lambda: bench.sent)
        bench.script = saying(Reply("", silent=True))
        await s.double.edit(s.general, asked, "I live in Oslo")
        await until(lambda: len(bench.heard) == 2)
        edit = bench.heard[1]
        assert (edit.kind, edit.message_id, edit.text) == (
            EventKind.EDIT, asked["id"], "I live in Oslo",
        )  # fmt: skip
        assert edit.revision > bench.heard[0].revision
        assert edit.audience == bench.heard[0].audience
        thread = s.double.world.channels[int(asked["id"])]
        assert posts(thread) == ["heard: I live in Rome"]  # a silent reply takes nothing back


async def test_complaint_15_an_edited_question_is_answered_in_the_answer_it_had() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        asked = await s.double.mention(s.alice, s.general, "hwat is tea?")
        await until(lambda: bench.sent)
        await s.double.edit(s.general, asked, f"<@{BOT}> what is tea?")
        await until(lambda: len(bench.sent) == 2)
        thread = s.double.world.channels[int(asked["id"])]
        assert posts(thread) == ["heard: what is tea?"]
        assert bench.heard[1].mention is Mention.DIRECT


async def test_deletes_and_bulk_deletes_reach_memory() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        first = await s.double.mention(s.alice, s.general, "one")
        second = await s.double.mention(s.alice, s.general, "two")
        third = await s.double.mention(s.alice, s.general, "three")
        await until(lambda: len(bench.sent) == 3)
        bench.script = saying(Reply("", silent=True))
        await s.double.delete(s.general, first)
        await s.double.delete(s.general, second, third)
        await until(lambda: len(bench.heard) == 6)
        gone = bench.heard[3:]
        assert {m.message_id for m in gone} == {first["id"], second["id"], third["id"]}
        assert {m.kind for m in gone} == {EventKind.DELETE}
        assert {m.audience for m in gone} == {s.place}


async def test_a_delete_in_a_dm_is_known_by_its_channel_alone() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        dm = s.double.world.dm(s.alice)
        said = await s.double.say(s.alice, dm, "秘密")
        await until(lambda: bench.sent)
        bench.script = saying(Reply("", silent=True))
        await s.double.delete(dm, said)
        await until(lambda: len(bench.heard) == 2)
        assert bench.heard[1].kind is EventKind.DELETE
        assert bench.heard[1].audience == bench.heard[0].audience


async def test_deletes_of_what_was_never_stored_leave_no_trace() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        said = await s.double.say(s.alice, s.general, "between us")
        await s.double.delete(s.general, said)
        await s.double.mention(s.alice, s.general, "end")
        await until(lambda: bench.sent)
        assert said["id"] not in str(bench.inbox.events)


@pytest.mark.parametrize("what", ["channel", "thread"])
async def test_removing_a_channel_or_thread_deletes_what_was_said_there(what: str) -> None:
    async with stage() as s:
        thread = s.double.world.thread(s.general, "t", s.alice)
        async with running(s.double, Bench()) as bench:
            spot: Channel = s.general if what == "channel" else thread
            said = await s.double.mention(s.alice, spot, "here")
            elsewhere = await s.double.mention(
                s.alice, thread if what == "channel" else s.general, "there"
            )
            await until(lambda: len(bench.sent) == 2)
            bench.script = saying(Reply("", silent=True))
            await s.double.remove_channel(spot)
            wanted = {said["id"], elsewhere["id"]} if what == "channel" else {said["id"]}
            await until(lambda: len(bench.heard) == 2 + len(wanted))
        assert {m.message_id for m in bench.heard[2:]} == wanted
        assert {m.kind for m in bench.heard[2:]} == {EventKind.DELETE}


async def test_updates_by_unfurling_and_partial_ones_erase_nothing() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        asked = await s.double.mention(s.alice, s.general, "see https://example.com")
        await until(lambda: bench.sent)
        where = {"id": asked["id"], "channel_id": str(s.general.id), "guild_id": str(s.guild.id)}
        embed = {"type": "link", "url": "https://example.com/", "title": "Example"}
        await s.double.emit("MESSAGE_UPDATE", {**where, "embeds": [embed]})
        await s.double.emit("MESSAGE_UPDATE", {**where, "flags": 4})
        whole = s.double.world.as_event(s.general, {**asked, "embeds": [embed]})
        await s.double.emit("MESSAGE_UPDATE", whole)
        await s.double.mention(s.bob, s.general, "end")
        await until(lambda: len(bench.sent) == 2)
        assert [m.kind for m in bench.heard] == [EventKind.MESSAGE, EventKind.MESSAGE]
        assert len(s.double.logins) == 1  # and the connection held


async def test_an_unfurl_after_an_edit_is_not_a_second_edit() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        asked = await s.double.mention(s.alice, s.general, "one")
        await until(lambda: bench.sent)
        await s.double.edit(s.general, asked, f"<@{BOT}> two")
        await s.double.emit("MESSAGE_UPDATE", s.double.world.as_event(s.general, asked))
        await s.double.mention(s.bob, s.general, "end")
        await until(lambda: len(bench.sent) == 3)
        assert [m.text for m in bench.heard] == ["one", "two", "end"]


async def test_on_joining_a_guild_it_speaks_once_and_notices_when_it_is_removed() -> None:
    async def greeting(message: IncomingMessage) -> ReplyStream:
        joined = message.arguments["event"] == "joined"
        yield Reply("I store what is addressed to me." if joined else "", silent=not joined)

    async with stage() as s:
        bench = Bench(greeting=greeting)
        async with running(s.double, bench):
            await until(lambda: bench.inbox.done)
        async with running(s.double, bench):
            await s.double.mention(s.alice, s.general, "end")
            await until(lambda: bench.sent)
            assert posts(s.general) == ["I store what is addressed to me."]
            await s.double.expel(s.guild)
            await until(lambda: len(bench.happened) == 2)
        assert [m.arguments["event"] for m in bench.happened] == ["joined", "uninstalled"]
        assert bench.happened[1].tenant == str(s.guild.id)
        assert len(bench.happened[1].readable) == 1


async def test_attachments_are_described() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        file = {
            "id": "9", "filename": "資料.pdf", "size": 12, "url": "https://cdn.example/9",
            "proxy_url": "https://cdn.example/9", "content_type": "application/pdf",
        }  # fmt: skip
        await s.double.say(s.alice, s.double.world.dm(s.alice), "", attachments=[file])
        await until(lambda: bench.sent)
        (attachment,) = bench.heard[0].attachments
        assert (attachment.name, attachment.media_type, attachment.size) == (
            "資料.pdf", "application/pdf", 12,
        )  # fmt: skip


async def test_a_thread_is_a_public_thread_of_its_channel() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        asked = await s.double.mention(s.alice, s.general, "what about lunch on Friday?")
        await until(lambda: bench.sent)
        thread = s.double.world.channels[int(asked["id"])]
        assert (thread.type, thread.parent) == (PUBLIC_THREAD, s.general.id)
        assert thread.name == "what about lunch on Friday?"
