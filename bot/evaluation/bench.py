"""What an evaluation works with: a memory in a temporary folder, and somebody who asks it."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import migrations
from bot.extract import Extractor, StatementExtractor
from bot.messages import Author, EventKind, IncomingMessage, Surface
from bot.model_extract import ModelExtractor
from bot.plan import Plan, plan
from bot.ports import ChatModel
from bot.prompts import count_tokens
from bot.research import Researcher
from memory.embedding import EmbeddingService
from memory.index import VectorIndex
from memory.knowledge import Knowledge, NewSource
from memory.long_term import LongTermMemory
from memory.ports import Embedder, Reranker
from memory.reading import Document, MediaType, Page, ReadingLimits
from memory.store.database import Database
from memory.store.tombstones import Ledger
from memory.types import Audience, Hit, Message, NewMessage, Person, Readable, Role

PLATFORM, TENANT = "eval", "local"
START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
"""When everything happens that has no date of its own."""

PAUSE = timedelta(seconds=30)
"""Between two turns that have no times of their own."""

EMBED_STEP = 256
"""Texts that are embedded between two reports of progress."""

Progress = Callable[[str, int, int], None]
"""Told what is being done, how many are done, and of how many."""


def place(name: str) -> Audience:
    """A place that nothing else is said in."""
    return Audience(PLATFORM, TENANT, name)


def person(name: str) -> Person:
    return Person(PLATFORM, TENANT, name)


class EvaluationClock:
    """The time of the conversation that is being measured."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@dataclass(frozen=True, slots=True)
class Bench:
    """What is measured, and on which data."""

    folder: Path
    embedder: Embedder
    model: ChatModel | None
    progress: Progress
    reranker: Reranker | None = None
    hyde: bool = False

    @contextlib.asynccontextmanager
    async def memory(self) -> AsyncIterator[Stage]:
        """An empty memory; gone at the end."""
        with tempfile.TemporaryDirectory(prefix="oboete-eval-") as name:
            folder = Path(name)
            database = Database(f"sqlite:///{folder / 'oboete.db'}")
            try:
                database.prepare()
                migrations.upgrade(database.engine)
                yield Stage(self, database, Ledger(folder))
            finally:
                database.close()


class Stage:
    """A memory, and what can be said to it and asked of it."""

    def __init__(self, bench: Bench, database: Database, ledger: Ledger) -> None:
        self.bench = bench
        self.clock = EvaluationClock()
        index = VectorIndex(database)
        embedding = EmbeddingService(database, index, bench.embedder, self.clock)
        self.memory = LongTermMemory(
            database, index, embedding, ledger, self.clock, reranker=bench.reranker
        )
        self.knowledge = Knowledge(
            database,
            embedding,
            ledger,
            self.clock,
            getattr(bench.embedder, "count_tokens", count_tokens),
            read=_as_it_is,
        )
        self.extractor: Extractor = (
            StatementExtractor(self.memory)
            if bench.model is None
            else ModelExtractor(self.memory, bench.model, self.clock)
        )

    async def hear(
        self,
        audience: Audience,
        said: Iterable[Said],
        *,
        learn: bool = False,
    ) -> list[Message]:
        """Store the turns of a conversation, in order; moves the clock to the last."""
        stored = []
        for turn in said:
            self.clock.now = turn.sent_at
            heard = await self.memory.hear(
                NewMessage(
                    platform_id=turn.name,
                    audience=audience,
                    conversation=str(audience),
                    role=Role.ASSISTANT if turn.speaker is None else Role.USER,
                    author=None if turn.speaker is None else person(turn.speaker),
                    author_name=turn.speaker or "",
                    text=turn.text,
                    sent_at=turn.sent_at,
                ),
                learn=learn and turn.speaker is not None,
            )
            assert heard is not None
            stored.append(heard.message)
        return stored

    async def take_in(self, base: str, documents: Sequence[tuple[str, str, str]]) -> Audience:
        """A knowledge base of (id, title, text); gives the place that can read it."""
        audience = place(base)
        made = await self.knowledge.ensure_base(base, audience, person("librarian"))
        for done, (id_, title, text) in enumerate(documents):
            self.bench.progress(f"{base}: documents", done, len(documents))
            data = f"{title}\n{text}".encode()
            await self.knowledge.add(made, NewSource(id_, id_, person("librarian")), data)
        return audience

    async def embed(self, what: str) -> None:
        """Give every text its vector."""
        await self.memory.embedding.serving()
        total = await self.memory.embedding.waiting()
        done = 0
        while got := await self.memory.embedding.drain(EMBED_STEP):
            done += got
            self.bench.progress(f"{what}: vectors", done, total)

    async def plan(
        self,
        question: str,
        audience: Audience,
        *,
        asker: str = "asker",
        history: Sequence[Message] = (),
        with_model: bool = True,
    ) -> Plan:
        """How the bot would look for what is asked now, in that place."""
        message = self._incoming(question, audience, asker)
        model = self.bench.model if with_model else None
        return await plan(message, history, model, self.clock())

    async def find(
        self, planned: Plan, audience: Audience, k: int, *, asker: str = "asker"
    ) -> list[Hit]:
        """The k best records for a plan, best first: without a model one search."""
        message = self._incoming(planned.query, audience, asker)
        researcher = Researcher(self.memory, self.bench.model, hyde=self.bench.hyde)
        found = await researcher.find(planned, message, k)
        return found.hits[:k]

    async def ask(
        self, question: str, audience: Audience, k: int, *, asker: str = "asker"
    ) -> list[Hit]:
        """The k best records for a question that is asked now without anything before it."""
        planned = await self.plan(question, audience, asker=asker)
        return await self.find(planned, audience, k, asker=asker)

    def _incoming(self, text: str, audience: Audience, asker: str) -> IncomingMessage:
        return IncomingMessage(
            platform=PLATFORM,
            tenant=TENANT,
            event_id="question",
            kind=EventKind.MESSAGE,
            surface=Surface.DM,
            channel=str(audience),
            message_id="question",
            author=Author(person(asker), asker),
            text=text,
            sent_at=self.clock(),
            audience=audience,
            readable=Readable.of(audience),
            conversation=str(audience),
        )


@dataclass(frozen=True, slots=True)
class Said:
    """One turn of a conversation."""

    name: str
    """The id by which the data set knows it."""
    speaker: str | None
    """None for the bot."""
    text: str
    sent_at: datetime


def turns(
    prefix: str, history: Sequence[dict[str, str]], user: str = "asker", start: datetime = START
) -> list[Said]:
    """A history of `role` and `text` as turns between the user and the bot."""
    return [
        Said(
            f"{prefix}-{number}",
            user if turn["role"] == Role.USER.value else None,
            turn["text"],
            start + number * PAUSE,
        )
        for number, turn in enumerate(history)
    ]


async def _as_it_is(data: bytes, name: str, limits: ReadingLimits) -> Document:
    """The title on the first line and the text: nothing to be read out of a file format."""
    title, _, text = data.decode().partition("\n")
    return Document(title, MediaType.TEXT, (Page(None, (), text),))
