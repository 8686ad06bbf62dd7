"""Stand-ins for what is slow, remote or not repeatable: the clock, the models, a person typing."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

from bot.commands import Commands
from bot.errors import BadModelAnswer, BotFault
from bot.extract import StatementExtractor
from bot.i18n import translator
from bot.messages import (
    Author,
    Delta,
    EventKind,
    IncomingMessage,
    Mention,
    Reply,
    ReplyPart,
    Surface,
    Turn,
)
from bot.ports import ChatModel, Schema
from bot.responder import Responder
from memory.directory import Directory
from memory.embedding import EmbeddingService, MakeEmbedder
from memory.errors import EmbedderUnavailable, EmbeddingFailed
from memory.index import DEFAULT_BUDGET, VectorIndex
from memory.long_term import Heard, LongTermMemory
from memory.maintenance import check
from memory.ports import Embedder, InputType
from memory.store.database import Database
from memory.store.tombstones import Ledger
from memory.types import (
    Audience,
    Evidence,
    Message,
    NewFact,
    NewMessage,
    Origin,
    Person,
    Readable,
    Ref,
    Role,
    Span,
    Vector,
)

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
"""When every test begins, a Monday."""

TARO = Person("console", "local", "taro")
HANAKO = Person("console", "local", "hanako")
TARO_DM = Audience("console", "local", "@taro")
HANAKO_DM = Audience("console", "local", "@hanako")
GENERAL = Audience("console", "local", "general")
SECRET = Audience("console", "local", "secret")


class SettableClock:
    """A clock that stands still until a test moves it."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **amount: float) -> datetime:
        """Move on, by the arguments of `timedelta`; gives the new time."""
        self.now += timedelta(**amount)
        return self.now


_CJK = r"\u3040-\u30ff\u3400-\u9fff"
_TERM = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")


def bag_of_terms(text: str) -> list[str]:
    """Words, and pairs of characters where there are no spaces between words."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    terms: list[str] = []
    for run in _TERM.findall(folded):
        if re.match(f"[{_CJK}]", run):
            terms += [run[i : i + 2] for i in range(max(len(run) - 1, 1))]
        else:
            terms.append(run)
    return terms


@cache
def _direction(term: str, dimension: int) -> npt.NDArray[np.float64]:
    seed = zlib.crc32(term.encode("utf-8", "replace"))
    return np.random.default_rng(seed).standard_normal(dimension)


class FakeEmbedder:
    """Vectors from the terms of a text: texts are alike as far as they share terms.

    Each term has its own random direction, the same in every process.
    """

    is_local = True

    def __init__(self, name: str = "fake:bag-of-terms", dimension: int = 64) -> None:
        self.name = name
        self.size = dimension
        self.away = False
        """True while the model cannot be asked at all."""
        self.refused: set[str] = set()
        """Texts that fail by themselves."""
        self.answers: dict[str, Vector] = {}
        """Texts with a vector of the test's own choice, valid or not."""
        self.asked: list[tuple[InputType, str]] = []

    async def dimension(self) -> int:
        self._answering()
        return self.size

    async def embed(
        self, texts: Sequence[str], input_type: InputType
    ) -> list[Vector | EmbeddingFailed]:
        self._answering()
        self.asked += [(input_type, text) for text in texts]
        return [self._embed(text) for text in texts]

    async def close(self) -> None:
        return

    def _answering(self) -> None:
        if self.away:
            raise EmbedderUnavailable(f"{self.name} is away")

    def _embed(self, text: str) -> Vector | EmbeddingFailed:
        if text in self.answers:
            return self.answers[text]
        if text in self.refused or not text.strip():
            return EmbeddingFailed("refused")
        return self.vector(text)

    def vector(self, text: str) -> Vector:
        """float32 (d,), of length 1."""
        total = np.zeros(self.size)
        for term in bag_of_terms(text) or [text]:
            total += _direction(f"{self.name}\x1f{term}", self.size)
        return (total / np.linalg.norm(total)).astype(np.float32)


class ScriptedChatModel:
    """Says the given answers in turn, piece by piece; an exception among them is raised there.

    `shaped` are its answers to schema-constrained calls, as JSON; without any they are bad ones.
    """

    name = "scripted:model"
    is_local = True

    def __init__(
        self,
        *answers: Sequence[str | Exception],
        shaped: Sequence[str | Exception] = (),
        context_tokens: int = 4096,
    ) -> None:
        self._answers = list(answers)
        self._shaped = list(shaped)
        self.context_tokens = context_tokens
        self.asked: list[list[Turn]] = []
        """The turns of each streaming call."""
        self.asked_shaped: list[tuple[type[BaseModel], list[Turn]]] = []
        """The schema and the turns of each schema-constrained call."""
        self.closed = False

    async def stream(self, turns: Sequence[Turn], *, max_tokens: int) -> AsyncIterator[str]:
        self.asked.append(list(turns))
        for piece in self._answers.pop(0):
            if isinstance(piece, Exception):
                raise piece
            yield piece

    async def structured(
        self, turns: Sequence[Turn], schema: type[Schema], *, max_tokens: int
    ) -> Schema:
        self.asked_shaped.append((schema, list(turns)))
        answer = self._shaped.pop(0) if self._shaped else BadModelAnswer()
        if isinstance(answer, Exception):
            raise answer
        return schema.model_validate_json(answer)

    async def check(self) -> None:
        return

    async def close(self) -> None:
        self.closed = True


_numbers = count(1)


def new_message(text: str, **changed: Any) -> NewMessage:
    """A message of Taro's in his DM, sent at noon, unless `changed` says otherwise."""
    given: dict[str, Any] = {
        "platform_id": f"m{next(_numbers)}",
        "audience": TARO_DM,
        "conversation": "talk",
        "role": Role.USER,
        "author": TARO,
        "author_name": "taro",
        "text": text,
        "sent_at": NOON,
    }
    return NewMessage(**given | changed)


def new_fact(message: Message, text: str | None = None, **changed: Any) -> NewFact:
    """A fact about its speaker in words of `message`, all of them unless `text` names some."""
    words = message.text if text is None else text
    start = message.text.index(words)
    given: dict[str, Any] = {
        "text": words,
        "subject": message.author,
        "speaker": message.author,
        "audience": message.audience,
        "language": "en",
        "origin": Origin.STATED,
        "evidence": (Evidence(message.id, Span(start, start + len(words))),),
        "said_at": message.sent_at,
    }
    return NewFact(**given | changed)


@dataclass(slots=True)
class Mind:
    """A memory over a real database in a temporary folder, with fakes for what is outside."""

    database: Database
    ledger: Ledger
    clock: SettableClock
    embedder: FakeEmbedder
    index: VectorIndex
    embedding: EmbeddingService
    memory: LongTermMemory
    directory: Directory

    @classmethod
    def over(
        cls,
        database: Database,
        clock: SettableClock,
        embedder: FakeEmbedder | None = None,
        *,
        budget: int = DEFAULT_BUDGET,
        make_embedder: MakeEmbedder = lambda _: None,
    ) -> Mind:
        """The parts put together, as `bot.app` does it."""
        assert database.path is not None
        ledger = Ledger(database.path.parent)
        index = VectorIndex(database, budget=budget)
        asked: Embedder = embedder or FakeEmbedder()
        embedding = EmbeddingService(database, index, asked, clock, make_embedder=make_embedder)
        memory = LongTermMemory(database, index, embedding, ledger, clock)
        assert isinstance(asked, FakeEmbedder)
        return cls(
            database, ledger, clock, asked, index, embedding, memory, Directory(database, clock)
        )

    async def hear(self, text: str, *, learn: bool = False, **changed: Any) -> Message:
        """Store a message and give it as stored."""
        heard = await self.memory.hear(
            new_message(text, **{"sent_at": self.clock(), **changed}), learn=learn
        )
        assert isinstance(heard, Heard)
        return heard.message

    async def reply(
        self,
        text: str,
        sources: Sequence[Ref],
        *,
        asker: Person = TARO,
        asked: Message | None = None,
        **changed: Any,
    ) -> Message:
        """Store a reply that was made from the sources, with its trace, and give it as stored."""
        told = new_message(
            text,
            **{"sent_at": self.clock(), "author": None, "role": Role.ASSISTANT, **changed},
        )
        _, id_ = await self.memory.add_trace(
            told.audience,
            asker,
            None if asked is None else asked.id,
            told,
            {"query": text},
            sources,
        )
        assert id_ is not None
        stored = await self.memory.find_message(told.audience, told.platform_id)
        assert stored is not None
        return stored

    async def state(self, text: str, *, said: dict[str, Any] | None = None, **changed: Any) -> Any:
        """Store a message and remember all of it as one fact; gives the `Fact`."""
        message = await self.hear(text, **said or {})
        (outcome,) = await self.memory.remember([new_fact(message, **changed)])
        return outcome.fact

    async def problems(self) -> list[str]:
        """What `oboete check` would list."""
        return await self.database.read(lambda s: check(s, self.ledger))


@dataclass(slots=True)
class Desk:
    """The conversation core over a `Mind`: say something as somebody, get the reply."""

    mind: Mind
    commands: Commands
    extractor: StatementExtractor
    responder: Responder

    @classmethod
    def over(cls, mind: Mind, model: ChatModel | None = None) -> Desk:
        extractor = StatementExtractor(mind.memory)
        commands = Commands(mind.memory, mind.directory, extractor, mind.clock)
        responder = Responder(
            mind.memory,
            mind.directory,
            commands,
            extractor,
            model,
            mind.clock,
            answer_tokens=256,
        )
        return cls(mind, commands, extractor, responder)

    def incoming(self, text: str, person: Person = TARO, **changed: Any) -> IncomingMessage:
        """What a person says to Oboete in their DM, unless `changed` says otherwise."""
        dm = Audience(person.platform, person.tenant, f"@{person.name}")
        number = str(next(_numbers))
        given: dict[str, Any] = {
            "platform": person.platform,
            "tenant": person.tenant,
            "event_id": f"e{number}",
            "kind": EventKind.MESSAGE,
            "surface": Surface.DM,
            "channel": str(dm),
            "message_id": f"m{number}",
            "author": Author(person, person.name),
            "text": text,
            "sent_at": self.mind.clock(),
            "audience": dm,
            "readable": Readable.of(dm, GENERAL),
            "conversation": str(dm),
            "mention": Mention.DIRECT,
        }
        return IncomingMessage(**given | changed)

    async def say(self, text: str, person: Person = TARO, **changed: Any) -> Reply:
        """Say it and wait for the whole reply."""
        reply = (await self.parts(text, person, **changed))[-1]
        assert isinstance(reply, Reply)
        return reply

    async def parts(self, text: str, person: Person = TARO, **changed: Any) -> list[ReplyPart]:
        """Say it and collect every part of the reply."""
        message = self.incoming(text, person, **changed)
        return [part async for part in self.responder.handle(message)]

    async def command(self, text: str, person: Person = TARO, **changed: Any) -> Reply:
        """Run what would be typed after `/memory`."""
        message = self.incoming(text, person, **{"kind": EventKind.COMMAND, **changed})
        return await self.commands.run(text, message, translator(message.locale))


def streamed(parts: Sequence[ReplyPart]) -> str:
    """What was shown while the answer came."""
    return "".join(part.text for part in parts if isinstance(part, Delta))


def bytes_of(folder: Path) -> bytes:
    """All bytes of all files below a folder."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def encodings(words: Sequence[str]) -> dict[str, bytes]:
    """Each word as it would stand in a file: as UTF-8, and as JSON escapes it."""
    found: dict[str, bytes] = {}
    for word in words:
        found[word] = word.encode()
        if not word.isascii():
            found[f"{word} escaped"] = word.encode("unicode-escape")
    return found


class Failing:
    """A function that raises `error` at its n-th call (from 1) and otherwise does `real`."""

    def __init__(self, real: Callable[..., Any], error: BotFault | Exception, at: int = 1) -> None:
        self._real, self._error, self._at = real, error, at
        self.calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        if self.calls == self._at:
            raise self._error
        return self._real(*args, **kwargs)
