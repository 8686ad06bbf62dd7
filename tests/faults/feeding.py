"""`oboete` with two platforms that feed it from files: `python -m tests.faults.feeding run`.

Each platform commits numbered messages and notes the last acknowledged one; after a restart it
sends on from there, the unacknowledged one again. What it delivers stands in its outbox, with the
event's id, so that it can look there before it sends again: all that Slack and Discord offer.

Environment: FEED_DIR for the files, FEED_COUNT messages per platform (then it stays connected),
FEED_PAUSE seconds between messages, FEED_QUIT=1 to end when everything has been handled.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bot import app_models, app_platforms, cli
from bot.dispatch import Dispatcher
from bot.messages import (
    Author,
    EventKind,
    InboxEvent,
    IncomingMessage,
    Mention,
    Reply,
    ReplyStream,
    Surface,
)
from bot.settings import Settings
from memory.errors import MemoryFault
from memory.ports import Embedder
from memory.types import Audience, Person, Readable
from tests.fakes import FakeEmbedder

NAMES = ("alpha", "beta")
PLACES = 3
"""Conversations of each platform, side by side."""

_ITEMS = "apples pears plums grapes lemons cherries figs dates melons peaches".split()  # noqa: SIM905


def text_of(platform: str, number: int) -> str:
    """What message `number` says: statements in two languages, and questions."""
    item = _ITEMS[number % len(_ITEMS)]
    if number % 5 == 4:
        return f"What is box {platform}{number - 1}?"
    if number % 2:
        return f"Box {platform}{number} is a box of {number + 7} {item}."
    return f"箱{platform}{number}は{item}が{number + 7}個です。"


def is_question(number: int) -> bool:
    return number % 5 == 4


def append(path: Path, line: dict[str, Any]) -> None:
    """Add a line, on the disk when this returns."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Whole lines; one that a kill cut short was never sent."""
    if not path.exists():
        return []
    found = []
    for text in path.read_text("utf-8").split("\n")[:-1]:
        try:
            found.append(json.loads(text))
        except ValueError:
            continue
    return found


_finished: set[str] = set()
"""Platforms that have sent all their messages."""


class FeedPlatform:
    """One platform with its own tenant; nobody of one can read what is said in the other."""

    def __init__(self, name: str, inbox: Dispatcher, folder: Path) -> None:
        self.name = name
        self.connected = True
        self._inbox = inbox
        self.outbox = folder / f"{name}.out"
        self._acknowledged = folder / f"{name}.ack"
        self._person = Person(name, "T", "ken")

    def lane(self, event: InboxEvent) -> str:
        return str(event.payload["place"])

    async def run(self) -> None:
        count, pause = int(os.environ["FEED_COUNT"]), float(os.environ.get("FEED_PAUSE", "0"))
        for number in range(len(read_lines(self._acknowledged)), count):
            payload = {
                "number": number,
                "place": f"c{number // 5 % PLACES}",
                "text": text_of(self.name, number),
                "sent_at": datetime.now(UTC).isoformat(),
            }
            while True:
                try:
                    await self._inbox.commit(self.name, "T", f"{self.name}-{number}", payload)
                    break
                except MemoryFault:
                    await asyncio.sleep(0.2)  # not acknowledged: a platform sends it again
            append(self._acknowledged, {"number": number})
            await asyncio.sleep(pause)
        _finished.add(self.name)
        if os.environ.get("FEED_QUIT") and len(_finished) == len(NAMES):
            # once, by the last: a second signal would end the process at once, as it should
            await self._inbox.idle()
            os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.Event().wait()

    async def incoming(self, event: InboxEvent) -> IncomingMessage:
        place = Audience(self.name, "T", event.payload["place"])
        return IncomingMessage(
            platform=self.name,
            tenant="T",
            event_id=event.delivery,
            kind=EventKind.MESSAGE,
            surface=Surface.PUBLIC,
            channel=str(place),
            message_id=event.delivery,
            author=Author(self._person, "ken"),
            text=event.payload["text"],
            sent_at=datetime.fromisoformat(event.payload["sent_at"]),
            audience=place,
            readable=Readable(frozenset(Audience(self.name, "T", f"c{n}") for n in range(PLACES))),
            conversation=str(place),
            mention=Mention.DIRECT,
        )

    async def until_ready(self) -> None:
        return

    async def still_readable(self, message: IncomingMessage, used: Readable) -> Readable:
        return used

    async def deliver(
        self, event: InboxEvent, message: IncomingMessage, reply: ReplyStream
    ) -> str | None:
        final: Reply | None = None
        async for part in reply:
            if isinstance(part, Reply):
                final = part
        if final is None or final.silent:
            return None
        if event.attempts > 1 and any(
            line["event"] == event.delivery for line in read_lines(self.outbox)
        ):
            return f"sent-{event.delivery}"
        append(self.outbox, {"event": event.delivery, "text": final.text, "failed": final.failed})
        return f"sent-{event.delivery}"


def _platforms(settings: Settings, *given: Any, http: bool) -> Sequence[FeedPlatform]:
    dispatcher = next(part for part in given if isinstance(part, Dispatcher))
    return [FeedPlatform(name, dispatcher, Path(os.environ["FEED_DIR"])) for name in NAMES]


def _embedder(name: str, settings: Settings) -> Embedder:
    return FakeEmbedder()


if __name__ == "__main__":
    app_platforms.make_platforms = _platforms  # type: ignore[assignment]
    app_models.make_embedder = _embedder
    cli.main()
