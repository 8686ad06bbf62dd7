"""`oboete run` under load, with everything that goes wrong on the way: nothing lost or doubled."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.slack_double import SlackDouble
from tests.e2e.slack_run import ME, SlackRun, oboete_run
from tests.e2e.slack_workspace import Workspace
from tests.model_script import Answer, Script
from tests.ollama_double import OllamaDouble

pytestmark = pytest.mark.slow

CHANNEL = "CGENERAL"
PEOPLE = tuple(f"U{number}" for number in range(10))


def workspace() -> Workspace:
    made = Workspace()
    for person in PEOPLE:
        made.add_user(person, f"Person {person[1:]}")
    made.add_channel(CHANNEL, "public", *PEOPLE)
    return made


@asynccontextmanager
async def under_load(
    folder: Path, script: Script | None = None
) -> AsyncIterator[tuple[SlackRun, SlackDouble]]:
    """The program with a quick embedding model, and with a chat model when there is a script."""
    async with AsyncExitStack() as stack:
        models = await stack.enter_async_context(OllamaDouble(script or (lambda _: "")))
        slack = await stack.enter_async_context(SlackDouble(workspace()))
        settings: dict[str, Any] = {
            "OLLAMA_HOST": models.url,
            "OBOETE_EMBEDDER": "ollama:bge-m3",
            "OBOETE_CHAT_MODEL": "ollama:qwen3:4b" if script else "none",
            "OBOETE_LOG_LEVEL": "warning",
        }
        run = await stack.enter_async_context(oboete_run(slack, folder, **settings))
        yield run, slack


class Crowd:
    """People who mention the bot in many threads."""

    def __init__(self, slack: SlackDouble) -> None:
        self.slack = slack
        self.asked: dict[str, list[str]] = {}
        """Timestamps of the mentions of each thread, in order."""

    async def mention(self, threads: int, rounds: int) -> None:
        """In each round one mention in each thread, in both orders of the twin events."""
        for number in range(rounds):
            if not self.asked:
                for thread in range(threads):
                    await self._say(None, thread)
                continue
            for thread, root in enumerate(list(self.asked)):
                await self._say(root, thread + number)

    async def _say(self, root: str | None, number: int) -> None:
        ts = await self.slack.say(
            PEOPLE[number % len(PEOPLE)],
            CHANNEL,
            f"{ME} Hello, this is number {number}",
            twins="mention first" if number % 2 else "message first",
            thread_ts=root,
        )
        self.asked.setdefault(root or ts, []).append(ts)

    @property
    def count(self) -> int:
        return sum(map(len, self.asked.values()))

    def answered(self) -> dict[str, list[str]]:
        """For each thread, which mentions its answers belong to, in the order of the answers."""
        found: dict[str, list[str]] = {root: [] for root in self.asked}
        for message in self.slack.workspace.answers(CHANNEL):
            key = message["metadata"]["event_payload"]["answers"]
            found[message["thread_ts"]].append(key.split(":")[1])
        return found


async def test_each_of_500_mentions_is_answered_once_and_in_order(tmp_path: Path) -> None:
    async with under_load(tmp_path / "data") as (run, slack):
        slack.failure_rate = 0.05
        crowd = Crowd(slack)
        await crowd.mention(50, 2)
        await slack.redeliver(everything=True)
        connections = slack.connections
        await slack.request_disconnect()
        await crowd.mention(50, 4)
        await slack.connected(beyond=connections)
        await slack.redeliver()
        connections = slack.connections
        await slack.drop_sockets()
        await crowd.mention(50, 3)
        await slack.connected(beyond=connections)
        await slack.redeliver(everything=True)
        await crowd.mention(50, 1)
        assert crowd.count == 500
        await run.until(lambda: not slack.unacknowledged and run.open_events() == 0, seconds=400)
        assert crowd.answered() == crowd.asked


async def test_kill_9_in_the_middle_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    async with under_load(tmp_path / "data") as (run, slack):
        crowd = Crowd(slack)
        await crowd.mention(10, 5)
        await run.until(lambda: len(slack.workspace.answers(CHANNEL)) >= 15)
        await run.kill()
        at_death = len(slack.workspace.answers(CHANNEL))
        await crowd.mention(10, 1)  # nobody is there to hear it
        await run.start()
        await slack.redeliver()
        await run.until(lambda: not slack.unacknowledged and run.open_events() == 0, seconds=120)
        assert at_death < crowd.count == 60
        assert crowd.answered() == crowd.asked


async def test_acknowledgements_do_not_wait_for_a_model_that_takes_ten_seconds(
    tmp_path: Path,
) -> None:
    async def slow(_: object) -> Answer:
        return Answer("Good morning.", delay=10)

    async with under_load(tmp_path / "data", slow) as (run, slack):
        crowd = Crowd(slack)
        started = time.monotonic()
        await crowd.mention(5, 1)
        for _ in range(19):
            await asyncio.sleep(0.2)
            await crowd.mention(5, 1)
        await run.until(lambda: not slack.unacknowledged)
        envelopes = slack.envelopes.values()
        waits = sorted(e.acknowledged - e.sent for e in envelopes if e.acknowledged)
        await run.until(lambda: slack.workspace.answers(CHANNEL))
        assert time.monotonic() - started > 10  # the model was that slow
        assert len(waits) == 2 * crowd.count == 200
        assert waits[int(0.99 * len(waits))] < 1
        await run.kill()
