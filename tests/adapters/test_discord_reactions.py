"""👍 and 👎 on an answer are what people think of it; other emoji and messages are nobody's
business.
"""

from __future__ import annotations

import pytest

from adapters.discord_state import Rules
from bot.messages import EventKind, Reply, Surface
from memory.types import Person
from tests.adapters.discord_fakes import Bench, running, saying, stage
from tests.e2e.discord_double import until
from tests.e2e.discord_world import BOT

LONG = "これは長い回答です。" * 500


@pytest.mark.parametrize("text", ["short", LONG], ids=["one message", "several messages"])
async def test_a_verdict_names_the_answer_whichever_part_of_it_was_marked(text: str) -> None:
    async with stage() as s, running(s.double, Bench(script=saying(Reply(text)))) as bench:
        asked = await s.double.mention(s.alice, s.general, "質問")
        await until(lambda: bench.sent)
        thread = s.double.world.channels[int(asked["id"])]
        parts = [m for m in thread.messages.values() if m["author"]["id"] == str(BOT)]
        assert (len(parts) > 1) is (text == LONG)
        assert bench.sent[0] is not None
        bench.ledger.messages.setdefault(s.place, []).append((str(thread.id), bench.sent[0]))
        bench.heard.clear()
        for part in parts:
            await s.double.react(s.bob, thread, part, "👍🏽")
        await s.double.react(s.bob, thread, parts[0], "👎")
        await s.double.react(s.bob, thread, parts[0], "👎", added=False)
        await until(lambda: len(bench.heard) == len(parts) + 2)
        assert {m.reply_to for m in bench.heard} == {bench.sent[0]}
        assert {m.author.person for m in bench.heard} == {Person("discord", "@me", str(s.bob.id))}
        assert {(m.kind, m.here, m.addressed) for m in bench.heard} == {
            (EventKind.REACTION, s.place, False)
        }
        verdicts = [(m.text, m.arguments) for m in bench.heard]
        assert verdicts == [("👍", {})] * len(parts) + [("👎", {}), ("👎", {"removed": "yes"})]
        assert len({m.message_id for m in bench.heard}) == len(bench.heard)


async def test_a_verdict_in_a_dm_belongs_to_the_dm() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        dm = s.double.world.dm(s.alice)
        await s.double.say(s.alice, dm, "質問")
        await until(lambda: bench.sent)
        (asked,) = bench.heard
        assert bench.sent[0] is not None
        bench.ledger.messages.setdefault(asked.audience, []).append(("", bench.sent[0]))
        (answer,) = [m for m in dm.messages.values() if m["author"]["id"] == str(BOT)]
        await s.double.react(s.alice, dm, answer, "👎")
        await until(lambda: len(bench.heard) == 2)
        given = bench.heard[1]
        assert (given.here, given.reply_to) == (asked.audience, bench.sent[0])
        assert given.surface is Surface.DM


async def test_what_is_no_verdict_on_an_answer_is_never_put_on_disk() -> None:
    rules = Rules(deny_users=frozenset({"7"}))
    async with stage() as s, running(s.double, Bench(rules=rules)) as bench:
        asked = await s.double.mention(s.alice, s.general, "hi")
        await until(lambda: bench.sent)
        thread = s.double.world.channels[int(asked["id"])]
        (answer,) = [m for m in thread.messages.values() if m["author"]["id"] == str(BOT)]
        assert bench.sent[0] is not None
        bench.ledger.messages.setdefault(s.place, []).append((str(thread.id), bench.sent[0]))
        count = len(bench.inbox.events)
        robot = s.double.world.person("robot", bot=True)
        for who in (s.double.world.people[BOT], robot):
            s.guild.members[who.id] = set()
            await s.double.react(who, thread, answer, "👍")
        await s.double.react(s.alice, thread, answer, "🎉")
        await s.double.react(s.alice, s.general, asked, "👍")  # a person's own message
        s.bob.id = 7
        s.double.world.people[7] = s.bob
        s.guild.members[7] = set()
        await s.double.react(s.bob, thread, answer, "👍")  # somebody who may not talk to it
        await s.double.react(s.alice, thread, answer, "👎")
        await until(lambda: len(bench.inbox.events) > count)
        assert [e.payload["text"] for e in bench.inbox.events[count:]] == ["👎"]
