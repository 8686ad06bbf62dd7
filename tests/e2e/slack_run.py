"""`oboete run` itself, as a process, with the wire double of Slack in Slack's place."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from tests.e2e.program import Program
from tests.e2e.slack_double import SIGNING_SECRET, TOKEN, SlackDouble
from tests.e2e.slack_workspace import BOT_USER, Json, shown_text

SECONDS = 60
"""Nothing takes longer, however busy the machine."""
ME = f"<@{BOT_USER}>"
HTTP_PATH = "/slack/events"
POLL_SECONDS = 0.02


class SlackRun:
    """The program and the workspace that it serves, with verbs for what a test looks at."""

    def __init__(self, slack: SlackDouble, program: Program, log: Path, *, http: bool) -> None:
        self.slack = slack
        self.program = program
        self.log = log
        self._http = http
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def database(self) -> Path:
        return self.program.folder / "oboete.db"

    # --- the process --------------------------------------------------------------------

    async def start(self) -> None:
        """Start the program and wait until it receives."""
        before = self.slack.connections
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "bot", "run", *(["--http"] if self._http else [])],
                env=self.program.environment,
                cwd=self.program.folder.parent,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        if not self._http:
            await self.until(lambda: self.slack.connections > before)
            return
        self.slack.http_url = f"http://127.0.0.1:{self.program.settings['OBOETE_SLACK_HTTP_PORT']}"
        self.slack.http_url += HTTP_PATH
        await self.until(self._listens)

    def _listens(self) -> bool:
        port = int(self.program.settings["OBOETE_SLACK_HTTP_PORT"])
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        return False

    async def kill(self) -> None:
        """As `kill -9` does, or a power cut."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """As an operator does."""
        await self._end(signal.SIGINT)

    async def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        await asyncio.to_thread(self._process.wait, SECONDS)
        self._process = None

    async def until(self, holds: Callable[[], object], *, seconds: float = SECONDS) -> None:
        """Wait until `holds()` is true; fails when the program ends before."""

        def happened() -> bool:
            if self._process is not None and self._process.poll() is not None:
                raise AssertionError(f"the program ended:\n{self.log.read_text()[-3000:]}")
            return bool(holds())

        deadline = time.monotonic() + seconds
        while not happened():
            assert time.monotonic() < deadline, f"did not happen:\n{self.log_text()[-3000:]}"
            await asyncio.sleep(POLL_SECONDS)

    # --- what it has stored -------------------------------------------------------------

    def query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Rows of its database, read beside it."""
        with contextlib.closing(
            sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=10)
        ) as connection:
            return connection.execute(sql, values).fetchall()

    def open_events(self) -> int:
        """Events that are on disk and not handled to their end."""
        return int(self.query("SELECT count(*) FROM inbox WHERE done_at IS NULL")[0][0])

    async def settled(self) -> None:
        """Wait until everything that was sent has been acknowledged and handled."""
        await self.until(lambda: not self.slack.unacknowledged)
        await self.until(lambda: self.open_events() == 0)

    def bytes_on_disk(self) -> bytes:
        """Every byte of its data folder."""
        files = [path for path in self.program.folder.rglob("*") if path.is_file()]
        return b"\0".join(path.read_bytes() for path in files)

    # --- what people do and see ---------------------------------------------------------

    async def say(self, user: str, channel: str, text: str, **fields: Any) -> str:
        """Say something and wait until all that follows has happened. Returns its ts."""
        ts = await self.slack.say(user, channel, text, **fields)
        await self.settled()
        return ts

    async def dm(self, user: str, text: str) -> str:
        """Say something in a direct message; gives what is answered to it."""
        channel = self.dm_of(user)
        before = len(self.slack.workspace.answers(channel))
        await self.say(user, channel, text)
        return "\n".join(map(everything, self.slack.workspace.answers(channel)[before:]))

    async def mention(self, user: str, channel: str, text: str, **fields: Any) -> str:
        """Mention the bot in a channel; gives what is answered in the thread."""
        ts = await self.say(user, channel, f"{ME} {text}", **fields)
        return self.thread(channel, fields.get("thread_ts", ts))

    async def command(self, user: str, channel: str, text: str) -> str:
        """`/memory TEXT`; gives what only this person is shown."""
        before = len(self.slack.responses)
        await self.slack.command(user, channel, text)
        await self.settled()
        return "\n".join(map(everything, self.slack.responses[before:]))

    async def press(self, user: str, channel: str, message: Json, label: str) -> str:
        """Press a button of a message; gives what only this person is shown."""
        before = len(self.slack.responses)
        await self.slack.click(user, button(message, label), channel=channel, message=message)
        await self.settled()
        return "\n".join(map(everything, self.slack.responses[before:]))

    async def confirm(self, user: str) -> None:
        """Submit the modal that is opened last."""
        await self.until(lambda: self.slack.workspace.modals)
        await self.slack.submit(user, self.slack.workspace.modals.pop())
        await self.settled()

    async def home(self, user: str) -> str:
        """Open the Home tab; gives what it shows."""
        self.slack.workspace.homes.pop(user, None)
        await self.slack.open_home(user)
        await self.until(lambda: user in self.slack.workspace.homes)
        await self.settled()
        return everything(self.slack.workspace.homes[user])

    def dm_of(self, user: str) -> str:
        return self.slack.workspace.open_dm(user).id

    def thread(self, channel: str, root: str) -> str:
        """What the bot has posted in a thread."""
        return "\n".join(map(everything, self.slack.workspace.answers(channel, root)))

    def log_text(self) -> str:
        return self.log.read_text()


def everything(shown: Json) -> str:
    """All that a reader can see of a message or view: text, sources, buttons."""
    parts = [shown_text(shown)]
    for block in shown.get("blocks") or []:
        text = block.get("text")
        if isinstance(text, dict):
            parts.append(text["text"])
        for element in [*(block.get("elements") or []), block.get("accessory") or {}]:
            label = element.get("text", "")
            parts.append(label["text"] if isinstance(label, dict) else label)
    return "\n".join(part for part in parts if part)


def buttons(shown: Json) -> list[Json]:
    """The buttons of a message or view."""
    found: list[Json] = []
    for block in shown.get("blocks") or []:
        found += [*(block.get("elements") or []), block.get("accessory") or {}]
    return [element for element in found if element.get("type") == "button"]


def button(shown: Json, label: str) -> Json:
    """The button of this label."""
    return next(b for b in buttons(shown) if b["text"]["text"] == label)


@contextlib.asynccontextmanager
async def oboete_run(
    slack: SlackDouble, folder: Path, *, http: bool = False, **settings: str
) -> AsyncIterator[SlackRun]:
    """The program serving the double, stopped at the end. `folder` is its data folder."""
    given = {
        "SLACK_BOT_TOKEN": TOKEN,
        "SLACK_APP_TOKEN": "xapp-1",
        "OBOETE_SLACK_API_URL": slack.api_url,
        "OBOETE_LOG_LEVEL": "info",
        **settings,
    }
    if http:
        given |= {
            "SLACK_SIGNING_SECRET": SIGNING_SECRET,
            "OBOETE_SLACK_HTTP_PORT": str(free_port()),
        }
    folder.mkdir(parents=True, exist_ok=True)
    run = SlackRun(slack, Program(folder, given), folder.parent / "oboete.log", http=http)
    await run.start()
    try:
        yield run
    finally:
        await run.stop()


def copied(prepared: Path, folder: Path) -> Path:
    """A data folder of one's own in which the bundled model has been measured already."""
    return Path(shutil.copytree(prepared, folder))


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
