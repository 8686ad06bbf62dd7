"""What the conversation core needs from outside, as Protocols."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from bot.messages import InboxEvent, IncomingMessage, ReplyStream, Turn
from memory.types import Audience, Readable

Schema = TypeVar("Schema", bound=BaseModel)


class ChatModel(Protocol):
    """A language model. Safe to call from several tasks at once."""

    @property
    def name(self) -> str:
        """As in OBOETE_CHAT_MODEL, such as `ollama:qwen3:4b`."""
        ...

    @property
    def is_local(self) -> bool:
        """False when text leaves this machine."""
        ...

    @property
    def context_tokens(self) -> int:
        """How many tokens prompt and answer may have together."""
        ...

    def stream(self, turns: Sequence[Turn], *, max_tokens: int) -> AsyncIterator[str]:
        """Pieces of the answer as they come, without the model's thinking text.

        Raises ModelUnavailable, ModelMissing or ModelTimeout, also in the middle.
        """
        ...

    async def structured(
        self, turns: Sequence[Turn], schema: type[Schema], *, max_tokens: int
    ) -> Schema:
        """An answer that fits `schema`, asked once more when the first does not.

        Raises BadModelAnswer when the second does not fit either; else as `stream`.
        """
        ...

    async def check(self) -> None:
        """Returns when the model could answer now. Raises ModelUnavailable or ModelMissing."""
        ...

    async def close(self) -> None: ...


class Privacy(Protocol):
    """Told of what is private and what is public, whenever that is looked at, so that a place
    that becomes public does not widen what was said in it before.
    """

    async def opened(self, public: Collection[Audience]) -> None:
        """These places were just seen to be public: what was said in them while they were private
        is not theirs any more. Told before anything of them is read.
        """
        ...

    async def closed(self, private: Collection[Audience]) -> None:
        """These places were just seen to be private. Told before anything said there is stored."""
        ...

    async def of_members(self, private: Collection[Audience]) -> frozenset[Audience]:
        """Private places, with all that was said in them before: those who can read them now may
        read that too.
        """
        ...


class Inbox(Protocol):
    """Events on disk before they are acknowledged. Implemented by the store."""

    async def commit(
        self, platform: str, tenant: str, delivery: str, payload: dict[str, Any]
    ) -> int | None:
        """Store the event durably; None when this delivery is there already.

        Returns its id after the commit has reached the disk. Raises StoreUnavailable.
        """
        ...

    async def note_reply(self, event_id: int, reply_ref: str) -> None:
        """Remember where the answer to the event is being written."""
        ...


class Platform(Protocol):
    """A chat platform: commits events to the inbox, parses them later, delivers replies."""

    @property
    def name(self) -> str:
        """First part of its audiences, such as `console`."""
        ...

    def lane(self, event: InboxEvent) -> str:
        """Key of the conversation that the event belongs to, read off its payload alone.

        Events of one lane are handled one after the other, in the order of their arrival.
        """
        ...

    async def run(self) -> None:
        """Receive events until cancelled. Raises PlatformUnavailable when it cannot start."""
        ...

    async def until_ready(self) -> None:
        """Wait until `incoming` can tell who may read what; returns at once when it never waits.

        Nothing is held or counted meanwhile: what waits here was not tried.
        """
        ...

    async def incoming(self, event: InboxEvent) -> IncomingMessage | None:
        """Normalise an event of the inbox; None when it does not concern Oboete.

        Computes `audience` and `readable` live. Called again after a crash.
        """
        ...

    async def deliver(
        self, event: InboxEvent, message: IncomingMessage, reply: ReplyStream
    ) -> str | None:
        """Show the reply: stream, format, split. Returns the platform's id of what was sent.

        Consumes `reply` to its end. Looks for its own earlier answer when
        `event.reply_ref` is set or `event.attempts` > 1, and does not send it twice.
        """
        ...

    async def still_readable(self, message: IncomingMessage, used: Readable) -> Readable:
        """Those of the places `used` that every reader of the answer can read at this moment.

        Asks anew about private places. What cannot be found out is left out.
        """
        ...


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A table that questions may be answered from."""

    name: str
    columns: tuple[tuple[str, str], ...]
    """Name and type of each, in order."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """What a statement gave."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | float | None, ...], ...]
    is_cut: bool
    """There are more rows than these."""
    statement: str
    """As it was run."""


class SqlDatabase(Protocol):
    """A registered database, read-only. Safe to use from several tasks at once."""

    @property
    def dialect(self) -> str:
        """`SQLite` or `PostgreSQL`: what a model is told to write."""
        ...

    async def schema(self) -> tuple[TableSchema, ...]:
        """Its tables, in order. Raises QueryFailed."""
        ...

    async def query(self, statement: str) -> QueryResult:
        """Run one SELECT within the limits.

        Raises UnsafeQuery for anything else, and QueryFailed.
        """
        ...
