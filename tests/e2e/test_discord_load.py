"""Five hundred mentions through the real process, while Discord fails and reconnects."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.discord_double import DiscordDouble, Fault
from tests.e2e.discord_run import discord_run
from tests.e2e.discord_world import BOT, Channel, Json
from tests.ollama_double import OllamaDouble

CHANNELS, EACH = 50, 10
FAILURE_RATE = 0.05
BY_CHANCE: list[Json] = [
    # the request takes effect, and only its answer is lost
    {"status": 502, "after": True},
    {"status": 503},
    {"status": 429, "body": {"message": "slow down", "retry_after": 0.05, "global": False},
     "headers": {"Retry-After": "0.05", "Via": "1.1 double"}},
]  # fmt: skip


class FailingDouble(DiscordDouble):
    """Fails a share of the requests that post or edit, the same ones in every run."""

    def __init__(self) -> None:
        super().__init__()
        self.failed = 0
        self._random = random.Random(11)

    async def _http(self, request: Any) -> Any:
        path = request.match_info["path"]
        if "/messages" in path and request.method != "GET" and self.is_out_of_luck():
            self.failed += 1
            how = self._random.choice(BY_CHANCE)
            self.faults.append(Fault(request.method, f"^{path}$", **how))
        return await super()._http(request)

    def is_out_of_luck(self) -> bool:
        return self._random.random() < FAILURE_RATE


@pytest.mark.slow
async def test_500_mentions_with_two_reconnects_and_failures_are_answered_once_each(
    tmp_path: Path,
) -> None:
    async with (
        OllamaDouble() as ollama,
        discord_run(
            tmp_path, ollama, discord=FailingDouble(), OBOETE_DISCORD_THREADS="false"
        ) as run,
    ):
        double = run.discord
        assert isinstance(double, FailingDouble)
        people = [run.person(f"person{n}") for n in range(CHANNELS)]
        guild = run.world.guild("busy", *people)
        channels = [run.world.channel(guild, f"channel{n}") for n in range(CHANNELS)]
        await double.join(guild)
        await run.program.until(lambda: any(map(run.shown_in, channels)))
        asked: list[tuple[Channel, Json]] = []
        for round_ in range(EACH):
            for person, channel in zip(people, channels, strict=True):
                text = f"<@{BOT}> The code of {channel.name} is {round_}."
                asked.append((channel, await double.say(person, channel, text)))
            if round_ == 3:
                await double.ask_to_reconnect()
            if round_ == 6:
                await double.drop()
                await double.forget_session()  # so it cannot resume: what it misses is a gap
            await asyncio.sleep(0.2)
        sql = "SELECT count(*) FROM inbox WHERE delivery LIKE 'message:%' AND done_at NOTNULL"
        await run.program.until(lambda: run.program.rows(sql) == [(CHANNELS * EACH,)], seconds=300)

        assert double.failed > CHANNELS * EACH * FAILURE_RATE / 2
        assert len(double.logins) >= 3
        for channel in channels:
            mine = [message for where, message in asked if where is channel]
            answers = Counter(
                message["message_reference"]["message_id"]
                for message in channel.messages.values()
                if message["author"]["id"] == str(BOT) and "message_reference" in message
            )
            assert answers == Counter(message["id"] for message in mine)
