"""A crowd at the terminal platform: many people and channels, one process, a scripted model."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from adapters.console_platform import NAME, dm
from bot import app as application
from bot import app_models
from bot.app import App
from bot.messages import (
    Author,
    EventKind,
    InboxEvent,
    IncomingMessage,
    Mention,
    Reply,
    ReplyStream,
    Surface,
    Turn,
)
from bot.ports import ChatModel, Schema
from bot.settings import Settings
from memory.ports import Embedder
from memory.types import Audience, Person, Readable
from tests.fakes import FakeEmbedder
from tests.model_script import smallest

_THINGS = "cats tea chess sushi jazz novels trains cheese maps bikes".split()  # noqa: SIM905
_PLACES = ["Osaka", "Kyoto", "Sapporo", "大阪", "京都", "札幌"]


class ScriptedModel:
    """Answers at once, so that what is measured is our own work."""

    name = "scripted:crowd"
    is_local = True
    context_tokens = 4096

    async def stream(self, turns: Sequence[Turn], *, max_tokens: int) -> AsyncIterator[str]:
        for piece in ("You told ", "me that ", "[1]."):
            yield piece

    async def structured(
        self, turns: Sequence[Turn], schema: type[Schema], *, max_tokens: int
    ) -> Schema:
        shape = schema.model_json_schema()
        answer = smallest(shape, shape)
        if "sufficient" in schema.model_fields:
            answer["sufficient"] = True
        return schema.model_validate(answer)

    async def check(self) -> None:
        return

    async def close(self) -> None:
        return


def said(chance: random.Random) -> str:
    """A statement or a question, in English or Japanese."""
    thing, place = chance.choice(_THINGS), chance.choice(_PLACES)
    number = chance.randrange(10_000)
    return chance.choice(
        [
            f"I like {thing} from {place}, number {number}.",
            f"The {thing} meeting {number} is in {place}.",
            f"{place}の{thing}は{number}円です。",
            f"What about the {thing} in {place}?",
            f"{place}の{thing}はいくらですか？",
        ]
    )


@dataclass
class Crowd:
    """Implements `bot.ports.Platform` for everybody at once; measures each event."""

    app: App
    people: int
    channels: int
    seconds: list[float] = field(default_factory=list)
    """From when an event was due to the end of its reply."""
    failed: int = 0
    name: str = NAME
    _due: dict[str, float] = field(default_factory=dict)

    def lane(self, event: InboxEvent) -> str:
        return str(event.payload["channel"])

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def prepare(self) -> None:
        """Make the channels, public all of them."""
        for number in range(self.channels):
            place = Audience(NAME, "local", f"c{number}")
            await self.app.directory.change_place(place, public=True)

    async def feed(self, per_second: float, seconds: float, seed: int = 1) -> int:
        """Send events at a steady rate, whatever commits and answers do; gives how many.

        An event's time runs from when it was due, so that a program that falls behind cannot
        slow down what is asked of it.
        """
        chance = random.Random(seed)
        began, count = time.perf_counter(), int(per_second * seconds)
        sent: set[asyncio.Task[None]] = set()
        for number in range(count):
            due = began + number / per_second
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            task = asyncio.create_task(self._commit(number, due, chance))
            sent.add(task)
            task.add_done_callback(sent.discard)
        await asyncio.gather(*sent)
        return count

    async def _commit(self, number: int, due: float, chance: random.Random) -> None:
        person = Person(NAME, "local", f"u{chance.randrange(self.people)}")
        in_dm = chance.random() < 0.3
        channel = (
            dm(person) if in_dm else Audience(NAME, "local", f"c{chance.randrange(self.channels)}")
        )
        payload: dict[str, Any] = {
            "text": said(chance),
            "person": str(person),
            "channel": str(channel),
            "sent_at": datetime.now(UTC).isoformat(),
        }
        self._due[f"e{number}"] = due
        await self.app.dispatcher.commit(NAME, "local", f"e{number}", payload)

    async def incoming(self, event: InboxEvent) -> IncomingMessage:
        person = Person.parse(event.payload["person"])
        place = Audience.parse(event.payload["channel"])
        in_dm = place == dm(person)
        readable = (
            await self.app.readable(person, None) if in_dm else await self.app.readable(None, place)
        )
        return IncomingMessage(
            platform=NAME,
            tenant="local",
            event_id=event.delivery,
            kind=EventKind.MESSAGE,
            surface=Surface.DM if in_dm else Surface.PUBLIC,
            channel=str(place),
            message_id=event.delivery,
            author=Author(person, person.name),
            text=event.payload["text"],
            sent_at=datetime.fromisoformat(event.payload["sent_at"]),
            audience=place,
            readable=readable,
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
        async for part in reply:
            if isinstance(part, Reply):
                self.seconds.append(time.perf_counter() - self._due.pop(event.delivery))
                self.failed += part.failed
        return None


@contextlib.asynccontextmanager
async def gathered(
    folder: Path, people: int, channels: int, *, real_embedder: bool = False
) -> AsyncIterator[Crowd]:
    """The whole program over a new database, with a crowd in front of it."""
    settings = Settings(data_dir=folder, _env_file=None)
    make_model, make_embedder = app_models.make_chat_model, app_models.make_embedder

    async def model(settings: Settings) -> ChatModel | None:
        return ScriptedModel()

    def embedder(name: str, settings: Settings) -> Embedder:
        return FakeEmbedder()

    app_models.make_chat_model = model
    if not real_embedder:
        app_models.make_embedder = embedder
    try:
        async with application.opened(settings) as app:
            crowd = Crowd(app, people, channels)
            await crowd.prepare()
            async with application.serving(app, [crowd], scheduled=True):
                yield crowd
    finally:
        app_models.make_chat_model, app_models.make_embedder = make_model, make_embedder
