"""Reconnects, resumes, limits, intents, and the gap after downtime."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from adapters.discord_platform import Connection
from bot.errors import PlatformUnavailable
from bot.messages import EventKind, IncomingMessage, Reply, ReplyStream
from tests.adapters.discord_fakes import Bench, posts, running, saying, stage
from tests.e2e.discord_double import IDENTIFY, RESUME, DiscordDouble, Fault, until
from tests.e2e.discord_world import BOT, iso


async def test_asked_to_reconnect_it_resumes_and_misses_nothing() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        await s.double.ask_to_reconnect()
        await s.double.mention(s.alice, s.general, "while away")
        await until(lambda: bench.sent)
        await until(lambda: bench.platform.connected)
        assert [login["op"] for login in s.double.logins] == [IDENTIFY, RESUME]
        assert [m.text for m in bench.heard] == ["while away"]


async def test_a_lost_connection_is_resumed_and_misses_nothing() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        await s.double.drop()
        await s.double.mention(s.alice, s.general, "while away")
        await until(lambda: bench.sent, 30)
        assert s.double.logins[-1]["op"] == RESUME
        assert [m.text for m in bench.heard] == ["while away"]


async def test_what_an_invalid_session_lost_is_read_again() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        dm = s.double.world.dm(s.alice)
        await s.double.say(s.alice, dm, "before")
        await s.double.mention(s.alice, s.general, "before")
        await until(lambda: len(bench.sent) == 2)
        await s.double.invalidate()
        # Nobody dispatches these.
        s.double.world.message(dm, s.alice, "in the gap")
        s.double.world.message(s.general, s.bob, f"<@{BOT}> me too")
        s.double.world.message(s.general, s.bob, "not to you")
        await until(lambda: len(bench.sent) == 4, 30)
        assert s.double.logins[-1]["op"] == IDENTIFY
        assert sorted(m.text for m in bench.heard[2:]) == ["in the gap", "me too"]
        assert all(m.answer for m in bench.heard)


async def test_complaint_12_after_downtime_old_messages_are_stored_and_not_answered() -> None:
    async with stage() as s:
        bench = Bench()
        dm = s.double.world.dm(s.alice)
        async with running(s.double, bench):
            await s.double.say(s.alice, dm, "before")
            await until(lambda: len(bench.sent) == 1)
        s.double.world.message(dm, s.alice, "昔の質問")
        bench.clock.ahead = timedelta(minutes=11)
        bench.script = saying(Reply("", silent=True))
        async with running(s.double, bench):
            await until(lambda: len(bench.heard) == 2)
        assert bench.heard[1].text == "昔の質問"
        assert not bench.heard[1].answer
        assert bench.heard[1].addressed
        assert posts(dm) == ["heard: before"]


async def test_complaint_12_a_restart_hears_nothing_twice() -> None:
    async with stage() as s:
        bench = Bench()
        dm = s.double.world.dm(s.alice)
        async with running(s.double, bench):
            await s.double.say(s.alice, dm, "before")
            await until(lambda: bench.inbox.done and bench.sent)
        async with running(s.double, bench):
            await bench.platform.read_again()
            await s.double.say(s.alice, dm, "after")
            await until(lambda: len(bench.sent) == 2)
        assert [m.text for m in bench.heard] == ["before", "after"]


async def test_edits_and_deletions_in_the_gap_are_seen() -> None:
    async with stage() as s:
        bench = Bench()
        dm = s.double.world.dm(s.alice)
        async with running(s.double, bench):
            kept = await s.double.say(s.alice, dm, "kept")
            edited = await s.double.mention(s.alice, s.general, "I live in Rome")
            gone = await s.double.say(s.alice, dm, "gone")
            await until(lambda: len(bench.sent) == 3)
            await until(lambda: len(bench.inbox.done) == len(bench.inbox.events))
        edited |= {"content": f"<@{BOT}> I live in Oslo"}
        edited |= {"edited_timestamp": iso(datetime.now(UTC).timestamp())}
        del dm.messages[int(gone["id"])]
        bench.script = saying(Reply("", silent=True))
        async with running(s.double, bench):
            await until(lambda: len(bench.heard) == 5)
        found = {m.kind: m for m in bench.heard[3:]}
        assert found[EventKind.EDIT].text == "I live in Oslo"
        assert found[EventKind.DELETE].message_id == gone["id"]
        assert kept["id"] not in {m.message_id for m in found.values()}


async def test_a_gap_that_cannot_be_read_in_one_place_is_read_in_the_others() -> None:
    async with stage() as s:
        bench = Bench()
        dm, other = s.double.world.dm(s.alice), s.double.world.dm(s.bob)
        async with running(s.double, bench):
            await s.double.say(s.alice, dm, "one")
            await s.double.say(s.bob, other, "two")
            await until(lambda: len(bench.sent) == 2)
        s.double.world.message(dm, s.alice, "missed")
        refused = {"code": 50001, "message": "Missing Access"}
        s.double.faults.append(Fault("GET", rf"channels/{other.id}/messages", 403, refused))
        async with running(s.double, bench):
            await until(lambda: len(bench.sent) == 3)
        assert bench.heard[-1].text == "missed"


async def test_complaint_10_a_half_open_socket_is_noticed_and_health_says_so() -> None:
    async with stage() as s:
        s.double.heartbeat_interval = 0.05
        async with running(s.double, Bench(), heartbeat_timeout=0.4) as bench:
            s.double.is_frozen = True
            await s.double.mention(s.alice, s.general, "anybody there?")
            await until(lambda: not bench.platform.connected)
            s.double.is_frozen = False
            await until(lambda: bench.platform.connected)
            await until(lambda: bench.sent)
        assert [m.text for m in bench.heard] == ["anybody there?"]
        assert s.double.logins[-1]["op"] == RESUME


async def test_while_disconnected_events_wait_instead_of_being_answered_with_less() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        bench.platform.is_live(False)
        await s.double.mention(s.alice, s.general, "hi")
        await until(lambda: len(bench.inbox.events) == 2)
        assert not bench.heard
        bench.platform.is_live(True)
        await until(lambda: bench.sent)
        assert s.place in bench.heard[0].readable


async def test_limits_are_waited_for_and_answers_still_come_once() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        s.double.rate_limit("POST", "messages", times=2)
        s.double.rate_limit("POST", "threads", is_global=True)
        asked = await s.double.mention(s.alice, s.general, "hi")
        await until(lambda: bench.sent)
        assert posts(s.double.world.channels[int(asked["id"])]) == ["heard: hi"]


async def test_a_refused_token_is_said_in_one_sentence_with_a_fix() -> None:
    async with DiscordDouble().serve() as double:
        double.faults.append(Fault("GET", "users/@me", 401, {"message": "401: Unauthorized"}))
        bench = Bench()
        with pytest.raises(PlatformUnavailable) as refused:
            async with running(double, bench):
                raise AssertionError("it must not start")
        assert "DISCORD_TOKEN" in refused.value.fix
        assert bench.platform.connected is False


async def test_intents_that_are_off_are_explained_and_not_asked_for() -> None:
    async with stage() as s:
        s.double.flags = 0
        async with running(s.double, Bench()) as bench:
            asked = s.double.logins[0]["intents"]
            assert not asked & (1 << 15 | 1 << 1)
            explained = bench.platform.explain()
            assert "Message Content Intent" in explained
            assert "Server Members Intent" in explained
            assert "https://discord.com/developers/applications" in explained
            await s.double.mention(s.alice, s.general, "still answers")
            await until(lambda: bench.sent)


async def test_intents_taken_away_while_running_end_with_an_explanation() -> None:
    async with stage() as s:
        platform = Bench().build(Connection(s.double.api_url, s.double.gateway_url))
        task = asyncio.create_task(platform.run())
        await until(lambda: platform.connected)
        s.double.flags = 0
        await s.double.invalidate()
        with pytest.raises(PlatformUnavailable) as refused:
            await asyncio.wait_for(task, 30)
        assert "Server Members Intent" in refused.value.fix


async def test_an_event_of_an_unknown_shape_does_not_stop_it() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        await s.double.emit("CHANNEL_UPDATE", {"id": "nonsense"})
        await until(lambda: len(s.double.logins) == 2, 30)
        await until(lambda: bench.platform.connected, 30)
        await s.double.mention(s.alice, s.general, "still here?")
        await until(lambda: bench.sent)


async def test_health_names_the_last_event() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        await s.double.mention(s.alice, s.general, "hi")
        await until(lambda: bench.sent)
        last = bench.platform.last_inbound
        assert last is not None
        assert datetime.now(UTC) - last < timedelta(seconds=30)


@pytest.mark.slow
async def test_500_mentions_in_50_channels_with_reconnects_and_failures_are_answered_once() -> None:
    async with stage() as s:
        channels = [s.double.world.channel(s.guild, f"c{n}") for n in range(50)]
        bench = Bench(script=slow_echo)
        async with running(s.double, bench):
            asked = []
            for number in range(500):
                if number % 20 == 7:
                    failed = Fault("POST", r"messages\Z", 502, {}, after=number % 40 == 7)
                    s.double.faults.append(failed)
                if number == 150:
                    await s.double.ask_to_reconnect()
                if number == 350:
                    await s.double.drop()
                channel = channels[number % 50]
                asked.append(await s.double.mention(s.alice, channel, f"n{number}"))
            await until(lambda: len(bench.sent) >= 500, 240)
            await asyncio.sleep(0)
        answers = [posts(s.double.world.channels[int(each["id"])]) for each in asked]
        assert answers == [[f"heard: n{number}"] for number in range(500)]
        assert len(bench.heard) == 500


async def slow_echo(message: IncomingMessage) -> ReplyStream:
    await asyncio.sleep(0.01)
    yield Reply(f"heard: {message.text}")


async def test_after_its_end_events_are_refused_and_not_kept_waiting() -> None:
    async with stage() as s:
        bench = Bench()
        async with running(s.double, bench):
            await s.double.mention(s.alice, s.general, "hi")
            await until(lambda: bench.sent)
        assert bench.platform.client.is_closed()
        with pytest.raises(PlatformUnavailable):
            await bench.platform.incoming(bench.inbox.events[-1])


async def test_what_was_said_by_a_command_is_not_taken_for_a_deleted_message() -> None:
    async with stage() as s:
        bench = Bench()
        dm = s.double.world.dm(s.alice)
        async with running(s.double, bench):
            await s.double.say(s.alice, dm, "a message")
            await s.double.slash(s.alice, dm, "remember", text="お茶が好き")
            await s.double.slash(s.alice, s.general, "remember", text="I live in Rome")
            await until(lambda: len(bench.sent) == 3)
            await until(lambda: len(bench.inbox.done) == len(bench.inbox.events))
        async with running(s.double, bench):
            await bench.platform.read_again()
            await s.double.say(s.alice, dm, "after")
            await until(lambda: len(bench.sent) == 4)
        assert EventKind.DELETE not in {m.kind for m in bench.heard}


async def test_a_deletion_in_an_archived_thread_reaches_the_place_of_the_thread() -> None:
    async with stage() as s:
        bench = Bench()
        async with running(s.double, bench):
            asked = await s.double.mention(s.alice, s.general, "hi")
            await until(lambda: bench.sent)
            thread = s.double.world.channels[int(asked["id"])]
            said = await s.double.say(s.bob, thread, "in the thread")
            await until(lambda: len(bench.sent) == 2)
        bench.script = saying(Reply("", silent=True))
        kept = s.double.world.channels.pop(thread.id)  # archived: not in GUILD_CREATE
        async with running(s.double, bench):
            s.double.world.channels[thread.id] = kept
            await s.double.delete(thread, said)
            await until(lambda: len(bench.heard) == 3)
        assert bench.heard[2].kind is EventKind.DELETE
        assert bench.heard[2].audience == s.place
