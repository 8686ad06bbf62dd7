"""The bot as a whole: how long it takes to start, and its own work for one message."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

import numpy as np

from bot.app import App, opened
from bot.commands import Commands
from bot.errors import ModelUnavailable
from bot.messages import Author, EventKind, IncomingMessage, Mention, Reply, Surface, Turn
from bot.model_extract import ModelExtractor
from bot.ports import ChatModel, Schema
from bot.responder import Responder
from bot.settings import Settings
from memory.types import Readable
from tests.bench import sentences
from tests.bench.filling import SPEAKER, room
from tests.bench.measure import Figure, Work, by_turns, median
from tests.bench.stores import Shelf, Store
from tests.bench.vectors import K, product
from tests.fakes import NOON

FLAT = 1.25
"""Room for noise around 1: what "does not depend on" means here."""

WARM_UP = 5
"""Messages after which models, dictionaries and indexes are loaded."""

ANSWER = "I remember that [1]."


async def start(shelf: Shelf, facts: Sequence[int]) -> list[Figure]:
    """Opening database, index and embedding service, without loading the embedding model.

    The reference is the same with the fewest facts.
    """

    def opening(settings: Settings) -> Work:
        async def work(_: int) -> None:
            async with opened(settings):
                pass

        return work

    works = [opening(_settings(shelf.conversation(count))) for count in facts]
    few, *more = await by_turns(*works, repeats=24)
    return [
        Figure(
            "start",
            f"start with {count:,} facts / with {facts[0]:,}",
            median(spent),
            median(few),
            FLAT,
        )
        for count, spent in zip(facts[1:], more, strict=True)
    ]


async def message(shelf: Shelf, facts: int, *, repeats: int = 40) -> list[Figure]:
    """Answering a question with a model that takes no time, in one audience full of facts.

    The reference is what no bot can do without: embedding the question, and one product over
    the facts' vectors with its top K.
    """
    store = shelf.conversation(facts)
    rows, asked = store.rows(1), sentences.questions(repeats, seed=facts)
    before: list[float] = []
    whole: list[float] = []
    async with opened(_settings(store)) as app:
        model = InstantModel()
        responder = _responder(app, model)

        async def answer(number: int) -> None:
            started = time.perf_counter()
            parts = [part async for part in responder.handle(_incoming(asked[number], number))]
            whole.append(time.perf_counter() - started)
            before.append(model.asked_at - started)
            assert isinstance(parts[-1], Reply)
            assert parts[-1].text == ANSWER
            await app.memory.embedding.drain()

        async def raw(number: int) -> None:
            (vector,) = await app.embedder.embed([asked[number]], "query")
            assert isinstance(vector, np.ndarray)
            product(rows, store.model.calibration.center(vector[None, :])[0], K)

        _, reference = await by_turns(answer, raw, repeats=repeats)
    what = f"of a message among {facts:,} facts / embedding it and one product"
    return [
        Figure(
            f"message-{facts}",
            f"{title} {what}",
            median(np.array(spent[WARM_UP:])),
            median(reference[WARM_UP:]),
            2.0,
        )
        for title, spent in (("all own work", whole), ("own work before the model", before))
    ]


class InstantModel:
    """A chat model that answers at once: the time that is left is the bot's own."""

    name = "instant"
    is_local = True
    context_tokens = 8_192

    def __init__(self) -> None:
        self.asked_at = 0.0
        """`time.perf_counter` of the latest call."""

    async def stream(self, turns: Sequence[Turn], *, max_tokens: int) -> AsyncIterator[str]:
        self.asked_at = time.perf_counter()
        yield ANSWER

    async def structured(
        self, turns: Sequence[Turn], schema: type[Schema], *, max_tokens: int
    ) -> Schema:
        raise ModelUnavailable

    async def check(self) -> None:
        return

    async def close(self) -> None:
        return


def _settings(store: Store) -> Settings:
    assert store.database.path is not None
    return Settings(
        _env_file=None,
        data_dir=store.database.path.parent,
        database_url="",
        chat_model="none",
        embedder="embedded",
    )


def _responder(app: App, model: ChatModel) -> Responder:
    """As `bot.app` makes it for a model that settings cannot name."""
    extractor = ModelExtractor(app.memory, model, app.clock)
    commands = Commands(app.memory, app.directory, extractor, app.clock)
    return Responder(
        app.memory, app.directory, commands, extractor, model, app.clock, answer_tokens=1_024
    )


def _incoming(text: str, number: int) -> IncomingMessage:
    """A question in the store's only room, of which one search makes the answer."""
    return IncomingMessage(
        platform=SPEAKER.platform,
        tenant=SPEAKER.tenant,
        event_id=f"e{number}",
        kind=EventKind.MESSAGE,
        surface=Surface.DM,
        channel=str(room(1)),
        message_id=f"asked{number}",
        author=Author(SPEAKER, SPEAKER.name),
        text=text,
        sent_at=NOON + timedelta(minutes=number),
        audience=room(1),
        readable=Readable.of(room(1)),
        conversation=str(room(1)),
        mention=Mention.DIRECT,
        plain=True,
    )
