"""How answers are written: streamed, split, decorated, complete whatever happens, sent once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.errors import PlatformRefused, PlatformUnavailable
from bot.messages import (
    Attachment,
    Choice,
    Citation,
    Delta,
    FileReply,
    IncomingMessage,
    Reply,
    ReplyPart,
    ReplyStream,
    Status,
)
from memory.types import Audience, Evidence, Fact, Origin, Person, Span
from tests.adapters.discord_fakes import Bench, posts, running, saying, stage, streaming
from tests.e2e.discord_double import Fault, until
from tests.e2e.discord_world import BOT, EVERYDAY, Overwrite

SEND = 1 << 11
LONG = "\n\n".join(
    f"Paragraph {n} with 日本語 words.\n\n```python\n" + f"print({n})  # 説明\n" * 60 + "```"
    for n in range(8)
)


def fact(text: str, confirmed: int = 1) -> Fact:
    now = datetime.now(UTC)
    person = Person("discord", "@me", "1")
    return Fact(
        1, text, person, person, Audience("discord", "1", "2"), "en", Origin.STATED, None, False,
        now, now, None, None, None, confirmed, (Evidence(1, Span(0, 1)),),
    )  # fmt: skip


async def test_an_answer_grows_by_edits_and_identical_text_is_not_sent_twice() -> None:
    parts: list[ReplyPart] = [
        Status("…"),
        Delta("Tea"),
        Delta(""),
        Delta(" is"),
        Delta(" fine."),
        Reply("Tea is fine."),
    ]
    async with stage() as s, running(s.double, Bench(script=saying(*parts))) as bench:
        asked = await s.double.mention(s.alice, s.general, "?")
        await until(lambda: bench.sent)
        assert posts(s.double.world.channels[int(asked["id"])]) == ["Tea is fine."]
        edits = [call.body["content"] for call in s.double.calls("PATCH", "messages")]
        assert edits == ["Tea is", "Tea is fine."]


async def test_edits_keep_their_distance() -> None:
    now = 0.0

    async def script(_: IncomingMessage) -> ReplyStream:
        nonlocal now
        for piece, at in (("a", 0.5), ("b", 1.3), ("c", 1.4), ("d", 2.0), ("e", 2.6)):
            now = at
            yield Delta(piece)
        yield Reply("abcde!")

    async with stage() as s:
        bench = Bench(script=script, monotonic=lambda: now)
        async with running(s.double, bench):
            await s.double.mention(s.alice, s.general, "?")
            await until(lambda: bench.sent)
        first = s.double.calls("POST", r"channels/\d+/messages\Z")[-1].body["content"]
        edits = [call.body["content"] for call in s.double.calls("PATCH", "messages")]
        assert [first, *edits] == ["ab", "abcde", "abcde!"]


async def test_complaint_7_long_answers_are_split_with_fences_closed_and_reopened() -> None:
    async with stage() as s, running(s.double, Bench(script=streaming(LONG))) as bench:
        asked = await s.double.mention(s.alice, s.general, "?")
        await until(lambda: bench.sent, 30)
        parts = posts(s.double.world.channels[int(asked["id"])])
        assert len(parts) > 2
        for part in parts:
            assert len(part) <= 2000
            assert part.count("```") % 2 == 0
            opened = part.split("```")[1::2]
            assert all(block.startswith("python\n") for block in opened)
        said = "".join(parts).replace("```python", "").replace("```", "")
        assert "".join(said.split()) == "".join(
            LONG.replace("```python", "").replace("```", "").split()
        )


@pytest.mark.parametrize("trouble", ["429", "global", "too long", "gone", "5xx"])
async def test_complaint_8_the_final_text_is_complete_whatever_the_edits_meet(trouble: str) -> None:
    async with stage() as s, running(s.double, Bench(script=streaming(LONG, 700))) as bench:
        edits = r"channels/\d+/messages/\d+\Z"
        match trouble:
            case "429":
                s.double.rate_limit("PATCH", edits, times=4)
            case "global":
                s.double.rate_limit("PATCH", edits, is_global=True, times=2)
            case "too long":
                body = {"code": 50035, "message": "Invalid Form Body"}
                s.double.faults.append(Fault("PATCH", edits, 400, body, times=1000))
            case "gone":
                body = {"code": 10008, "message": "Unknown Message"}
                s.double.faults.append(Fault("PATCH", edits, 404, body, times=1000))
            case "5xx":
                s.double.faults.append(Fault("PATCH", edits, 502, {}, times=1))
        asked = await s.double.mention(s.alice, s.general, "?")
        await until(lambda: bench.sent, 30)
        parts = posts(s.double.world.channels[int(asked["id"])])
        said = "".join(parts).replace("```python", "").replace("```", "")
        assert "".join(said.split()) == "".join(
            LONG.replace("```python", "").replace("```", "").split()
        )


async def test_surplus_messages_of_a_preview_are_taken_back() -> None:
    async with stage() as s:
        bench = Bench(script=saying(Delta("word " * 900), Reply("Short.")))
        async with running(s.double, bench):
            asked = await s.double.mention(s.alice, s.general, "?")
            await until(lambda: bench.sent)
        assert posts(s.double.world.channels[int(asked["id"])]) == ["Short."]


async def test_a_lost_answer_to_a_post_is_retried_without_posting_twice() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        s.double.faults.append(Fault("POST", r"messages\Z", 502, {}, after=True))
        asked = await s.double.mention(s.alice, s.general, "hi")
        await until(lambda: bench.sent)
        assert posts(s.double.world.channels[int(asked["id"])]) == ["heard: hi"]
        tries = s.double.calls("POST", r"channels/\d+/messages\Z")
        assert len(tries) == 2
        assert tries[0].body["enforce_nonce"]
        assert tries[0].body["nonce"] == tries[1].body["nonce"]
        assert len(tries[0].body["nonce"]) <= 25


@pytest.mark.parametrize("noted", [True, False])
async def test_after_a_crash_its_own_answer_is_found_and_not_sent_again(noted: bool) -> None:
    async with stage() as s:
        bench = Bench()
        async with running(s.double, bench):
            asked = await s.double.mention(s.alice, s.general, "hi")
            await until(lambda: bench.sent)
        bench.inbox.done.clear()  # the crash came before the event was marked as done
        if not noted:
            bench.inbox.refs.clear()
        bench.script = saying(Reply("heard again"))
        async with running(s.double, bench):
            await until(lambda: len(bench.sent) == 2)
        thread = s.double.world.channels[int(asked["id"])]
        assert posts(thread) == ["heard again"]
        assert posts(s.general) == []


async def test_when_it_cannot_know_whether_it_answered_it_does_not_answer() -> None:
    async with stage() as s:
        bench = Bench()
        async with running(s.double, bench):
            asked = await s.double.mention(s.alice, s.general, "hi")
            await until(lambda: bench.sent)
        bench.inbox.done.remove(bench.inbox.events[-1].id)
        bench.inbox.refs.clear()
        bench.script = saying(Reply("heard again"))
        refused = {"code": 50001, "message": "Missing Access"}
        s.double.faults.append(Fault("GET", rf"{asked['id']}/messages\Z", 403, refused, times=9))
        async with running(s.double, bench):
            await until(lambda: len(bench.sent) == 2)
        assert bench.sent[1] is None
        assert posts(s.double.world.channels[int(asked["id"])]) == ["heard: hi"]


async def test_complaint_11_nothing_the_model_writes_pings_or_unfurls() -> None:
    text = "@everyone <@1> see [bank](https://evil.example/x?a=1) and https://evil.example/y."
    async with stage() as s, running(s.double, Bench(script=saying(Reply(text)))) as bench:
        asked = await s.double.mention(s.alice, s.general, "?")
        await until(lambda: bench.sent)
        call = s.double.calls("POST", r"channels/\d+/messages\Z")[-1]
        assert call.body["allowed_mentions"]["parse"] == []
        assert "users" not in call.body["allowed_mentions"]
        assert posts(s.double.world.channels[int(asked["id"])]) == [
            "@everyone <@1> see bank (<https://evil.example/x?a=1>) and <https://evil.example/y>."
        ]


async def test_edits_do_not_ping_either() -> None:
    script = saying(Delta("@every"), Delta("one"), Reply("@everyone!"))
    async with stage() as s, running(s.double, Bench(script=script)) as bench:
        await s.double.mention(s.alice, s.general, "?")
        await until(lambda: bench.sent)
        for call in s.double.calls("PATCH", r"channels/\d+/messages/\d+\Z"):
            assert call.body["allowed_mentions"]["parse"] == []


async def test_citations_are_an_embed_and_what_was_learned_is_small_print() -> None:
    reply = Reply(
        "お茶です [1]",
        citations=(
            Citation(1, "2026-01-02 alice [x]", "https://discord.com/channels/1/2/3"),
            Citation(2, "handbook, page 3"),
        ),
        learned=(fact("alice likes tea"), fact("alice lives in Oslo", confirmed=2)),
        trace_id=7,
    )
    async with stage() as s:
        s.guild.locale = "ja"
        async with running(s.double, Bench(script=saying(reply))) as bench:
            asked = await s.double.mention(s.alice, s.general, "?")
            await until(lambda: bench.sent)
        (sent,) = s.double.world.channels[int(asked["id"])].messages.values()
        assert sent["content"] == (
            "お茶です [1]\n-# 📝 覚えました: alice likes tea\n"
            "-# 📝 すでに覚えています: alice lives in Oslo"
        )
        (embed,) = sent["embeds"]
        assert embed["title"] == "出典"
        assert embed["description"].splitlines() == [
            "`1` [2026-01-02 alice (x)](https://discord.com/channels/1/2/3)",
            "`2` handbook, page 3",
        ]
        labels = [b["label"] for row in sent["components"] for b in row["components"]]
        assert labels == ["なぜ？", "👍", "👎"]


async def test_a_private_reply_to_a_mention_goes_to_the_askers_dm() -> None:
    script = saying(Delta("I know"), Reply("I know your secret.", private=True))
    async with stage() as s, running(s.double, Bench(script=script)) as bench:
        asked = await s.double.mention(s.alice, s.general, "what do you know about me?")
        await until(lambda: bench.sent)
        thread = s.double.world.channels[int(asked["id"])]
        assert posts(s.double.world.dm(s.alice)) == ["I know your secret."]
        assert posts(thread) == []  # the preview was taken back


async def test_a_private_reply_is_never_posted_where_the_asker_allows_no_dm() -> None:
    script = saying(Reply("I know your secret.", private=True))
    async with stage() as s:
        s.alice.accepts_dms = False
        async with running(s.double, Bench(script=script, retries=1)) as bench:
            asked = await s.double.mention(s.alice, s.general, "?")
            await until(lambda: bench.failures)
            thread = s.double.world.channels[int(asked["id"])]
            await until(lambda: posts(thread))
        assert "secret" not in str(s.double.requests[-1].body)
        assert posts(thread)[0].startswith("My answer is for you alone")
        assert isinstance(bench.failures[0], PlatformRefused)


async def test_an_export_is_delivered_in_the_dm() -> None:
    file = FileReply("export.json", "application/json", b"{}")
    script = saying(Reply("Here it is.", file=file))
    async with stage() as s, running(s.double, Bench(script=script)) as bench:
        await s.double.mention(s.alice, s.general, "export")
        await until(lambda: bench.sent)
        (sent,) = s.double.world.dm(s.alice).messages.values()
        assert (sent["content"], sent["files"]) == ("Here it is.", ["export.json"])


async def test_complaint_14_a_missing_permission_is_named_to_the_asker_alone() -> None:
    async with stage() as s:
        s.guild.roles[s.guild.id] = EVERYDAY & ~SEND & ~(1 << 35)
        async with running(s.double, Bench(retries=1)) as bench:
            await s.double.mention(s.alice, s.general, "hi")
            await until(lambda: bench.failures)
        assert posts(s.general) == []
        (told,) = posts(s.double.world.dm(s.alice))
        assert "Send Messages" in told
        assert f"<#{s.general.id}>" in told
        assert isinstance(bench.failures[0], PlatformRefused)


async def test_discord_being_down_is_told_apart_from_a_refusal() -> None:
    async with stage() as s, running(s.double, Bench(retries=1)) as bench:
        bench.platform.client.http.max_ratelimit_timeout = 30.0
        s.double.rate_limit("POST", r"messages\Z", seconds=3600)
        await s.double.mention(s.alice, s.general, "hi")
        await until(lambda: bench.failures)
        assert isinstance(bench.failures[0], PlatformUnavailable)


async def test_buttons_carry_their_command_and_ask_before_danger() -> None:
    choices = (Choice("Undo", "undo"), Choice("消す", "forget everything --yes", danger=True))
    script = saying(Reply("Done.", choices=choices))
    async with stage() as s, running(s.double, Bench(script=script)) as bench:
        dm = s.double.world.dm(s.alice)
        await s.double.say(s.alice, dm, "忘れて")
        await until(lambda: bench.sent)
        sent = list(dm.messages.values())[-1]
        buttons = [b for row in sent["components"] for b in row["components"]]
        assert [(b["label"], b["style"]) for b in buttons] == [("Undo", 2), ("消す", 4)]


async def test_a_stream_is_read_to_its_end_even_when_nothing_can_be_shown() -> None:
    ended = asyncio.Event()

    async def script(_: IncomingMessage) -> ReplyStream:
        yield Delta("one")
        yield Delta(" two")
        ended.set()
        yield Reply("one two")

    async with stage() as s:
        deny = Overwrite(BOT, True, deny=SEND | 1 << 38)
        s.general.overwrites = [deny]
        async with running(s.double, Bench(script=script, retries=1)) as bench:
            await s.double.mention(s.alice, s.general, "?")
            await until(lambda: bench.failures)
        assert ended.is_set()


async def test_an_answer_is_taken_back_with_all_its_parts() -> None:
    async with stage() as s, running(s.double, Bench(script=streaming(LONG))) as bench:
        asked = await s.double.mention(s.alice, s.general, "?")
        await until(lambda: bench.sent)
        thread = s.double.world.channels[int(asked["id"])]
        count = len(posts(thread))
        assert count > 2
        assert bench.sent[0] is not None
        assert await bench.platform.retract(s.place, bench.sent[0]) == count
        assert posts(thread) == []
        assert await bench.platform.retract(s.place, bench.sent[0]) == 0
        refused = {"code": 50013, "message": "Missing Permissions"}
        s.double.faults.append(Fault("DELETE", "messages", 403, refused))
        with pytest.raises(PlatformRefused):
            await bench.platform.retract(s.place, bench.sent[0])
        with pytest.raises(PlatformRefused):
            await bench.platform.retract(s.place, "123")


async def test_files_are_downloaded_up_to_a_limit() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        s.double.files["資料.txt"] = b"x" * 1000
        address = s.double.api_url.removesuffix("/api/v10") + "/cdn/"
        file = Attachment("1", "資料.txt", "text/plain", 1000, address + "資料.txt")
        assert await bench.platform.download(file, 1000) == b"x" * 1000
        with pytest.raises(PlatformRefused):
            await bench.platform.download(file, 999)
        with pytest.raises(PlatformRefused):
            await bench.platform.download(replace(file, url=address + "gone"), 1000)
        with pytest.raises(PlatformUnavailable):
            await bench.platform.download(replace(file, url="http://127.0.0.1:1/x"), 1000)


@pytest.mark.parametrize("how", ["command", "words"])
async def test_what_concerns_everybody_is_said_to_everybody(how: str) -> None:
    paused = Reply("Paused.", private=how == "words", notice="停止中です。何も覚えません。")
    async with stage() as s, running(s.double, Bench(script=saying(paused))) as bench:
        if how == "command":
            called = await s.double.slash(s.alice, s.general, "list")
            await until(lambda: bench.sent)
            assert called.shown == ["Paused."]
            assert posts(s.general) == ["停止中です。何も覚えません。"]
        else:
            asked = await s.double.mention(s.alice, s.general, "pause")
            await until(lambda: bench.sent)
            thread = s.double.world.channels[int(asked["id"])]
            assert posts(s.double.world.dm(s.alice)) == ["Paused."]
            assert posts(thread) == ["停止中です。何も覚えません。"]
