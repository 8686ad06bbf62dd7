"""The adapter inside simcord, an independent model of Discord: breadth, without sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import discord
import simcord

from adapters.discord_audiences import direct_place, place
from bot.messages import Choice, Citation, EventKind, FileReply, Reply, Surface
from tests.adapters.discord_fakes import Bench, saying, streaming
from tests.adapters.test_discord_answers import LONG


@dataclass(slots=True)
class Town:
    env: simcord.Env
    guild: simcord.GuildHandle
    general: simcord.ChannelHandle
    alice: simcord.MemberActor
    bob: simcord.MemberActor

    @property
    def bot(self) -> str:
        assert self.env.bot.user is not None
        return self.env.bot.user.mention


@asynccontextmanager
async def town(bench: Bench) -> AsyncIterator[Town]:
    """The platform's client inside simcord; what it commits is handled as part of its work."""
    platform = bench.build()
    tasks: set[asyncio.Task[None]] = set()

    def handle() -> None:
        task = asyncio.create_task(bench.handle_all())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    bench.inbox.on_commit = handle
    async with simcord.run(platform.client) as env:
        guild = env.create_guild()
        general = guild.create_text_channel("general")
        alice = guild.add_member(env.create_user("alice"))
        bob = guild.add_member(env.create_user("ボブ"))
        await env.settle()
        yield Town(env, guild, general, alice, bob)


def written(channel: simcord.ChannelHandle, env: simcord.Env) -> list[str]:
    return [message.content for message in channel.history() if message.author == env.bot.user]


async def test_a_mention_is_answered_in_a_thread_and_followups_need_no_mention() -> None:
    bench = Bench()
    async with town(bench) as t:
        await t.alice.send(t.general, f"{t.bot} お茶が好き")
        (thread,) = t.general.threads
        assert written(thread, t.env) == ["heard: お茶が好き"]
        await t.bob.send(thread, "コーヒーも")
        assert written(thread, t.env) == ["heard: お茶が好き", "heard: コーヒーも"]
        assert {m.audience for m in bench.heard} == {place(t.guild.id, t.general.id)}


async def test_voice_news_and_restricted_channels() -> None:
    bench = Bench()
    async with town(bench) as t:
        me = t.env.bot.user
        assert me is not None
        voice = t.guild.create_voice_channel("voice")
        news = t.guild.create_news_channel("news")
        crew = t.guild.create_role("crew")
        hidden = discord.PermissionOverwrite(view_channel=False)
        shown = discord.PermissionOverwrite(
            view_channel=True, read_message_history=True, send_messages=True
        )
        vault = t.guild.create_text_channel(
            "vault",
            overwrites={t.guild.default_role: hidden, crew: shown, me: shown},
        )
        carol = t.guild.add_member(t.env.create_user("carol"), roles=[crew])
        for channel in (voice, news, vault):
            await carol.send(channel, f"{t.bot} hi")
        by_place = {m.audience.name: m for m in bench.heard}
        public = {place(t.guild.id, c.id) for c in (t.general, voice, news)}
        assert set(by_place[str(vault.id)].readable) == public | {place(t.guild.id, vault.id)}
        assert by_place[str(vault.id)].surface is Surface.PRIVATE
        assert set(by_place[str(news.id)].readable) == public


async def test_a_dm_reads_the_mutual_guilds_of_its_user() -> None:
    bench = Bench()
    async with town(bench) as t:
        await t.alice.send_dm("秘密")
        assert written(t.alice.user.dm_channel, t.env) == ["heard: 秘密"]
        assert set(bench.heard[0].readable) == {
            direct_place(t.alice.id),
            place(t.guild.id, t.general.id),
        }


async def test_every_command_is_ephemeral_also_in_a_dm() -> None:
    bench = Bench()
    async with town(bench) as t:
        result = await t.alice.slash(t.general, "memory list")
        assert result.acknowledged
        assert result.ephemeral
        assert result.response is not None
        assert result.response.content == "heard: list"
        direct = await t.alice.user.slash("memory forget", fact="12")
        assert direct.response is not None
        assert direct.response.content == "heard: forget 12"


async def test_suggestions() -> None:
    bench = Bench(suggestions=[("お茶が好き", "12"), ("Rome", "13")])
    async with town(bench) as t:
        found = await t.alice.autocomplete(t.general, "memory forget", "fact", "お茶")
        assert [(each["name"], each["value"]) for each in found] == [("お茶が好き", "12")]


async def test_menus_of_messages_and_users() -> None:
    bench = Bench()
    async with town(bench) as t:
        said = await t.bob.send(t.general, "締め切りは金曜日")
        await t.alice.context_menu(t.general, "Remember this", said)
        await t.alice.context_menu(t.general, "Forget this", said)
        await t.alice.context_menu(t.general, "What do you know about me", t.bob)
        assert [m.text for m in bench.heard] == ["remember", "forget", "list"]
        assert bench.heard[0].quoted == "締め切りは金曜日"
        assert {m.author.person.name for m in bench.heard} == {str(t.alice.id)}


async def test_buttons_and_forms() -> None:
    choices = (Choice("元に戻す", "undo"), Choice("消す", "forget 12", danger=True))
    bench = Bench(script=saying(Reply("Done.", choices=choices)))
    async with town(bench) as t:
        await t.alice.send(t.general, f"{t.bot} do it")
        (thread,) = t.general.threads
        answer = thread.last_message
        assert answer is not None
        pressed = await t.alice.click(answer, label="元に戻す")
        assert pressed.ephemeral
        refused = await t.bob.click(answer, label="元に戻す")
        assert refused.response is not None
        assert "Only the person" in refused.response.content
        asked = await t.alice.click(answer, label="消す")
        assert asked.modal is not None
        await t.alice.submit_modal(asked, {"answer": "yes"})
        assert [(m.kind, m.text) for m in bench.heard[1:]] == [
            (EventKind.ACTION, "undo"),
            (EventKind.ACTION, "forget 12"),
        ]


async def test_a_form_for_what_was_left_out() -> None:
    bench = Bench()
    async with town(bench) as t:
        asked = await t.alice.slash(t.general, "memory remember")
        done = await t.alice.submit_modal(asked, {"answer": "鍵は引き出し"})
        assert done.response is not None
        assert done.response.content == "heard: remember 鍵は引き出し"


async def test_edits_and_deletes() -> None:
    bench = Bench()
    async with town(bench) as t:
        said = await t.alice.send(t.general, f"{t.bot} I live in Rome")
        bench.script = saying(Reply("", silent=True))
        await t.alice.edit(said, f"{t.bot} I live in Oslo")
        await t.alice.delete(said)
        assert [(m.kind, m.message_id) for m in bench.heard] == [
            (EventKind.MESSAGE, str(said.id)),
            (EventKind.EDIT, str(said.id)),
            (EventKind.DELETE, str(said.id)),
        ]
        assert bench.heard[1].text == "I live in Oslo"


async def test_long_answers_sources_and_files_are_within_discords_limits() -> None:
    bench = Bench(script=streaming(LONG, citations=(Citation(1, "出典", "https://a.example"),)))
    async with town(bench) as t:
        await t.alice.send(t.general, f"{t.bot} tell me all")
        (thread,) = t.general.threads
        assert len(written(thread, t.env)) > 2
        assert thread.last_message is not None
        assert thread.last_message.embeds[0].title == "Sources"
        file = FileReply("export.json", "application/json", b"{}")
        bench.script = saying(Reply("Here.", file=file))
        await t.alice.send(t.general, f"{t.bot} export")
        sent = t.alice.user.dm_channel.last_message
        assert sent is not None
        assert [each.filename for each in sent.attachments] == ["export.json"]


async def test_a_reply_to_a_message_brings_it_along() -> None:
    bench = Bench()
    async with town(bench) as t:
        said = await t.bob.send(t.general, "金曜日はどう？")
        await t.alice.send(t.general, f"{t.bot} what does Bob want?", reply_to=said)
        assert bench.heard[0].quoted == "金曜日はどう？"
        assert bench.heard[0].reply_to == str(said.id)
