"""What every chat model that streams over HTTP has in common.

Time-outs, a second try while nothing has been answered, thinking text, and answers by schema.
An adapter adds how its server is asked and what its errors mean.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from adapters.hosts import is_this_machine
from adapters.schema_answers import RawAnswer, ask_until_fit
from adapters.thinking import ThinkingFilter
from bot.errors import ModelTimeout, ModelUnavailable
from bot.messages import Turn
from bot.ports import Schema

Answer = TypeVar("Answer")

log = logging.getLogger(__name__)

ATTEMPTS = 3
"""Tries while a server is busy or resets the connection before it has said anything."""

BLANK_RUN = 400
"""White-space characters in a row after which a schema answer is stopped: the model loops."""

CHARACTERS_PER_TOKEN = 16
"""More than any tokenizer makes of a token on average: beyond it, a server ignores the cap."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait for a model, in seconds."""

    connect: float = 5.0
    first: float = 300.0
    """For the first piece: a server loads a model of many gigabytes before it answers."""
    between: float = 60.0
    """Between two pieces."""
    total: float = 900.0
    """Of waiting for pieces, over a whole answer."""


DEFAULT_TIMEOUTS = Timeouts()


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an answer. Thinking that a server sends apart is a piece without text."""

    text: str
    cut: bool = False
    """The last piece, and the token cap ended the answer."""


class TryAgain(ModelUnavailable):
    """The server refused before it answered anything, and may not a moment later."""


async def within(seconds: float, url: str, answer: Awaitable[Answer]) -> Answer:
    """`answer` of the server at `url`, or ModelTimeout after `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            return await answer
    except TimeoutError as error:
        raise ModelTimeout(
            f"{url} did not answer within {seconds:.0f} seconds.",
            fix=f"Check the load of {url}, or choose a smaller model.",
        ) from error


class StreamingChat(ABC):
    """A `bot.ports.ChatModel` over HTTP; subclasses say how to ask."""

    def __init__(
        self, name: str, url: str, context_tokens: int, timeouts: Timeouts, retry_wait: float
    ) -> None:
        self._name = name
        self._url = url
        self._is_local = is_this_machine(url)
        self._context_tokens = context_tokens
        self._timeouts = timeouts
        self._retry_wait = retry_wait

    @property
    def name(self) -> str:
        return self._name

    @property
    def is_local(self) -> bool:
        return self._is_local

    @property
    def context_tokens(self) -> int:
        return self._context_tokens

    @abstractmethod
    def _ask(
        self, turns: Sequence[Turn], max_tokens: int, schema: dict[str, Any] | None
    ) -> AsyncGenerator[Piece, None]:
        """Ask once and pass on what comes. Closing the generator closes the connection.

        Raises ModelUnavailable or one of its kinds; TryAgain when asking again is safe.
        """

    async def stream(self, turns: Sequence[Turn], *, max_tokens: int) -> AsyncGenerator[str, None]:
        """See `bot.ports.ChatModel.stream`. An answer without text is ModelUnavailable."""
        thinking = ThinkingFilter()
        answered = False
        async with aclosing(self._pieces(turns, max_tokens, None)) as pieces:
            async for piece in pieces:
                if text := thinking.feed(piece.text):
                    answered = True
                    yield text
        if text := thinking.finish():
            answered = True
            yield text
        if not answered:
            raise ModelUnavailable(
                f"{self.name} answered with nothing.",
                fix="Ask again, allow longer answers, or choose another model.",
            )

    async def structured(
        self, turns: Sequence[Turn], schema: type[Schema], *, max_tokens: int
    ) -> Schema:
        """See `bot.ports.ChatModel.structured`."""
        shape = schema.model_json_schema()

        async def ask(turns: Sequence[Turn]) -> RawAnswer:
            return await self._whole(turns, max_tokens, shape)

        return await ask_until_fit(ask, turns, schema)

    async def _whole(
        self, turns: Sequence[Turn], max_tokens: int, shape: dict[str, Any]
    ) -> RawAnswer:
        text, cut = "", False
        async with aclosing(self._pieces(turns, max_tokens, shape)) as pieces:
            async for piece in pieces:
                text += piece.text
                cut = piece.cut
                if len(text) - len(text.rstrip()) > BLANK_RUN:
                    cut = True
                    break
        return RawAnswer(text, cut)

    async def _pieces(
        self, turns: Sequence[Turn], max_tokens: int, schema: dict[str, Any] | None
    ) -> AsyncGenerator[Piece, None]:
        """An answer within the time-outs and the token cap, asked again only before it began."""
        async for attempt in AsyncRetrying(
            retry=retry_if_exception_type(TryAgain),
            stop=stop_after_attempt(ATTEMPTS),
            wait=wait_exponential(self._retry_wait),
            reraise=True,
        ):
            with attempt:
                answer = self._in_time(self._ask(turns, max_tokens, schema))
                first = await anext(answer, None)
        async with aclosing(answer):
            if first is None:
                return
            yield first
            length = len(first.text)
            async for piece in answer:
                length += len(piece.text)
                if length > max_tokens * CHARACTERS_PER_TOKEN:
                    log.warning("%s went on after %d tokens; stopped it", self.name, max_tokens)
                    yield Piece("", cut=True)
                    return
                yield piece

    async def _in_time(self, answer: AsyncGenerator[Piece, None]) -> AsyncGenerator[Piece, None]:
        """`answer`, or ModelTimeout. Only waiting for the model counts, not the reader's time."""
        clock = asyncio.get_running_loop().time
        limit, left = self._timeouts.first, self._timeouts.total
        async with aclosing(answer):
            while True:
                begun = clock()
                try:
                    async with asyncio.timeout(min(limit, left)):
                        piece = await anext(answer)
                except StopAsyncIteration:
                    return
                except TimeoutError as error:
                    raise ModelTimeout(
                        f"{self.name} did not go on within {limit:g} seconds."
                        if limit < left
                        else f"{self.name} did not end within {self._timeouts.total:g} seconds.",
                        fix=f"Check the load of {self._url}, or choose a smaller model.",
                    ) from error
                left -= clock() - begun
                limit = self._timeouts.between
                yield piece
