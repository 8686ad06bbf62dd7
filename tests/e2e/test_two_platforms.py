"""One process serves Slack and Discord at once: apart in what they know, and in their outages."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.e2e.discord_double import DiscordDouble
from tests.e2e.discord_run import DiscordRun, addresses
from tests.e2e.discord_world import BOT, Channel, Json
from tests.e2e.served import CHAT, Served, served
from tests.e2e.slack_double import TOKEN, SlackDouble
from tests.e2e.slack_run import ME, everything
from tests.e2e.slack_workspace import Workspace
from tests.model_script import Answer, ChatRequest
from tests.ollama_double import OllamaDouble

pytestmark = pytest.mark.slow

MORE_THAN_SLOTS = 24
"""More conversations than are answered at the same time."""


@dataclass
class Gate:
    """A model that answers no question with `held` in it until it is opened."""

    open: asyncio.Event = field(default_factory=asyncio.Event)
    held: str = "\0"
    waiting: int = 0

    async def __call__(self, request: ChatRequest) -> Answer:
        if request.schema is not None:
            return Answer("{}")
        if self.held in request.messages[-1]["content"] and not self.open.is_set():
            self.waiting += 1
            await self.open.wait()
        return Answer("It is so.")


@dataclass
class Both:
    """The program, and the two platforms that it serves."""

    program: Served
    slack: SlackDouble
    discord: DiscordRun
    gate: Gate

    async def on_slack(self, text: str, *, user: str = "U1", channel: str = "C1") -> str:
        """Mention the bot in a channel on Slack; its answer there."""
        ts = await self.slack.say(user, channel, f"{ME} {text}")
        await self.program.until(lambda: self.slack_answer(channel, ts))
        return self.slack_answer(channel, ts)

    def slack_answer(self, channel: str, ts: str) -> str:
        open_streams = self.slack.workspace.streaming
        shown = self.slack.workspace.answers(channel, ts)
        return "\n".join(everything(m) for m in shown if m["ts"] not in open_streams)

    def waiting_of(self, platform: str) -> int:
        sql = "SELECT count(*) FROM inbox WHERE platform = ? AND done_at IS NULL"
        return int(self.program.rows(sql, platform)[0][0])


@contextlib.asynccontextmanager
async def both(folder: Path, **settings: str) -> AsyncIterator[Both]:
    workspace = Workspace()
    workspace.add_user("U1", "hanako")
    for n in range(1, MORE_THAN_SLOTS + 1):
        workspace.add_channel(f"C{n}", "public", "U1")
    gate = Gate()
    discord = DiscordDouble()
    async with (
        OllamaDouble(script=gate) as ollama,
        SlackDouble(workspace) as slack,
        discord.serve(),
        served(
            folder,
            ollama,
            SLACK_BOT_TOKEN=TOKEN,
            SLACK_APP_TOKEN="xapp-1",
            OBOETE_SLACK_API_URL=slack.api_url,
            **addresses(discord),
            **settings,
        ) as program,
    ):
        await program.start(ready=lambda: slack.connections and discord.is_connected)
        yield Both(program, slack, DiscordRun(discord, program), gate)


async def test_both_are_answered_and_neither_hears_what_was_said_on_the_other(
    tmp_path: Path,
) -> None:
    async with both(tmp_path) as run:
        alice = run.discord.person("alice")
        guild = await run.discord.guild("g", alice)
        general = run.discord.channel(guild, "general")
        told, _ = await asyncio.gather(
            run.discord.mention(alice, general, "The code of the door is amberfish."),
            run.on_slack("The code of the door is basaltowl."),
        )
        assert "amberfish" in told
        ask = "What is the code of the door?"
        here, there, dm = await asyncio.gather(
            run.discord.mention(alice, general, ask),
            run.on_slack(ask),
            run.discord.mention(alice, run.discord.world.dm(alice), ask),
        )
        assert "amberfish" in here
        assert "amberfish" in dm
        assert "basaltowl" in there
        assert "basaltowl" not in here + dm
        assert "amberfish" not in there


async def test_slack_is_answered_while_discord_is_away_and_discord_afterwards(
    tmp_path: Path,
) -> None:
    async with both(tmp_path, OBOETE_CHAT_MODEL=CHAT, OBOETE_DISCORD_THREADS="false") as run:
        double, world = run.discord.discord, run.discord.world
        alice = run.discord.person("alice")
        guild = await run.discord.guild("g", alice)
        channels = [world.channel(guild, f"c{n}") for n in range(MORE_THAN_SLOTS)]
        for channel in channels:
            await run.discord.open_channel(channel)
        run.gate.held = "lighthouse"
        asked: list[tuple[Channel, Json]] = [
            (c, await double.say(alice, c, f"<@{BOT}> What is the lighthouse like?"))
            for c in channels
        ]
        await run.program.until(lambda: run.gate.waiting >= MORE_THAN_SLOTS // 2)
        double.is_frozen = True
        await double.drop()
        run.gate.open.set()
        answer = await run.on_slack("What is the weather like?")
        assert "It is so." in answer
        assert run.waiting_of("discord") > 0

        double.is_frozen = False
        await run.program.until(lambda: run.waiting_of("discord") == 0)
        for channel, said in asked:
            assert len(run.discord.answers(channel, said)) == 1


async def test_discord_is_answered_while_slack_is_away(tmp_path: Path) -> None:
    async with both(tmp_path, OBOETE_CHAT_MODEL=CHAT) as run:
        alice = run.discord.person("alice")
        guild = await run.discord.guild("g", alice)
        run.gate.held = "lighthouse"
        for n in range(1, MORE_THAN_SLOTS + 1):
            await run.slack.say("U1", f"C{n}", f"{ME} What is the lighthouse like?")
        await run.program.until(lambda: run.gate.waiting >= MORE_THAN_SLOTS // 2)
        await run.slack.stop()
        run.gate.open.set()
        general = run.discord.channel(guild, "general")
        assert "It is so." in await run.discord.mention(alice, general, "What is the sea like?")
        assert run.waiting_of("slack") > 0
