"""What the bot posts on Discord without being asked: reminders and digests."""

from __future__ import annotations

import pytest

from adapters.discord_audiences import direct_place, place
from bot.errors import PlatformRefused, PlatformUnavailable
from memory.types import Audience
from tests.adapters.discord_fakes import Bench, posts, running, stage
from tests.e2e.discord_double import Fault, until


async def test_a_post_goes_to_the_thread_that_the_conversation_names_else_to_its_place() -> None:
    async with stage() as s:
        thread = s.double.world.thread(s.general, "topic", s.alice)
        elsewhere = s.double.world.channel(s.guild, "elsewhere")
        async with running(s.double, Bench()) as bench:
            await until(lambda: bench.inbox.done)
            for conversation in (thread.id, 1234, elsewhere.id, s.general.id):
                await bench.platform.post(
                    s.place, "起きて @everyone", conversation=f"{conversation}"
                )
            direct = direct_place(s.alice.id)
            sent = await bench.platform.post(direct, "wake up", conversation="dm")
        assert posts(thread) == ["起きて @everyone"]
        assert posts(s.general) == ["起きて @everyone"] * 3
        assert posts(elsewhere) == []
        dm = s.double.world.dm(s.alice)
        assert posts(dm) == ["wake up"]
        assert sent == f"{dm.id}/{next(iter(dm.messages))}"
        sending = s.double.calls("POST", rf"channels/{thread.id}/messages")
        assert sending[0].body["allowed_mentions"] == {"parse": []}


async def test_a_post_that_was_not_shown_may_be_tried_again_unless_it_never_will_be() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        await until(lambda: bench.inbox.done)
        s.double.faults.append(Fault("POST", rf"channels/{s.general.id}/messages", 501, times=9))
        with pytest.raises(PlatformUnavailable):
            await bench.platform.post(s.place, "wake up", conversation="")
        s.double.faults.clear()
        s.alice.accepts_dms = False
        with pytest.raises(PlatformRefused):
            await bench.platform.post(direct_place(s.alice.id), "wake up", conversation="")
        with pytest.raises(PlatformRefused):
            await bench.platform.post(place(s.guild.id, 1234), "wake up", conversation="")


async def test_what_a_post_may_draw_on_is_what_its_readers_can_read() -> None:
    async with stage() as s:
        board = s.double.world.restricted(s.guild, "board")
        async with running(s.double, Bench()) as bench:
            await until(lambda: bench.inbox.done)
            restricted = place(s.guild.id, board.id)
            unknown = Audience("discord", "99", "98")
            readable = bench.platform.readable_for
            assert set(await readable(s.place)) == {s.place}
            assert set(await readable(restricted)) == {s.place, restricted}
            alone = direct_place(s.alice.id)
            assert set(await readable(alone)) == {alone, s.place}
            assert set(await readable(unknown)) == {unknown}
            bench.platform.is_live(False)
            assert set(await readable(restricted)) == {restricted}
