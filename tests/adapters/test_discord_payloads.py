"""Real event bodies, replayed: one answer per human message to the bot, none to itself."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.discord_fakes import Bench, posts, running, stage
from tests.e2e.discord_double import until
from tests.e2e.discord_world import BOT

PAYLOADS = Path(__file__).parents[2] / "../shared/eval/payloads/discord_events.jsonl"
ROWS: list[dict[str, Any]] = (
    [json.loads(line) for line in PAYLOADS.read_text("utf-8").splitlines()]
    if PAYLOADS.exists()
    else []
)
MESSAGES = [row["payload"] for row in ROWS if row["kind"].startswith("MESSAGE_CREATE")]
PARTIAL = [row["payload"] for row in ROWS if row["kind"].startswith("MESSAGE_UPDATE partial")]
PARTIAL += [row["payload"] for row in ROWS if row["kind"].startswith("MESSAGE_UPDATE ended")]
INTERACTIONS = [
    row["payload"]
    for row in ROWS
    if "token" in row["payload"] and "id" in row["payload"] and "data" in row["payload"]
]

pytestmark = pytest.mark.skipif(not ROWS, reason="no recorded Discord payloads beside the repo")


async def test_a_recorded_message_of_a_bot_is_dropped_and_the_same_by_a_person_answered() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        count = 0
        for number, recorded in enumerate(MESSAGES):
            body = copy.deepcopy(recorded) | {
                "id": str(s.double.world.new_id()),
                "guild_id": str(s.guild.id),
                "channel_id": str(s.general.id),
            }
            for attachment in body["attachments"]:
                attachment.pop("waveform", None)  # not base64, as a real one is
            await s.double.emit("MESSAGE_CREATE", body)
            human = copy.deepcopy(body) | {
                "id": str(s.double.world.new_id()),
                "content": f"<@{BOT}> {number}",
                "author": s.alice.user(),
                "type": 0,
            }
            human.pop("webhook_id", None)
            s.general.messages[int(human["id"])] = human
            await s.double.emit("MESSAGE_CREATE", human)
            count += 1
        await until(lambda: len(bench.sent) == count)
        assert [m.text for m in bench.heard] == [str(number) for number in range(count)]
        assert not any(m.author.is_bot for m in bench.heard)


async def test_recorded_partial_updates_change_nothing_and_end_nothing() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        asked = await s.double.mention(s.alice, s.general, "before")
        await until(lambda: bench.sent)
        for recorded in PARTIAL:
            body = copy.deepcopy(recorded["d"])
            body |= {"id": asked["id"], "channel_id": str(s.general.id)}
            await s.double.emit("MESSAGE_UPDATE", body)
        await s.double.mention(s.alice, s.general, "after")
        await until(lambda: len(bench.sent) == 2)
        assert [m.text for m in bench.heard] == ["before", "after"]
        assert len(s.double.logins) == 1


async def test_recorded_interactions_of_other_commands_are_left_alone() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        for recorded in INTERACTIONS:
            body = copy.deepcopy(recorded)
            body.setdefault("application_id", str(BOT))
            body.setdefault("version", 1)
            body.setdefault("channel_id", str(s.general.id))
            body.setdefault("entitlements", [])
            body["id"] = str(s.double.world.new_id())
            await s.double.emit("INTERACTION_CREATE", body)
        await s.double.mention(s.alice, s.general, "still here?")
        await until(lambda: bench.sent, 30)
        assert [m.text for m in bench.heard] == ["still here?"]
        assert not s.double.calls("POST", "callback")
        assert posts(s.general) == []
