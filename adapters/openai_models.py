"""Any server that speaks OpenAI's protocol: chat and embedding models.

Needs the extra `openai`. The package is imported when a model is made, not before, because
most installations do without it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from adapters.chat_stream import DEFAULT_TIMEOUTS, Piece, StreamingChat, Timeouts, TryAgain, within
from adapters.hosts import base_url
from adapters.remote_embedding import EmbedderBusy, RemoteEmbedder
from adapters.wire_text import wire_messages
from bot.errors import BadSettings, ModelMissing, ModelUnavailable
from bot.messages import Turn
from memory.errors import EmbedderUnavailable, EmbeddingFailed

if TYPE_CHECKING:
    import openai

log = logging.getLogger(__name__)

DEFAULT_URL = "https://api.openai.com/v1"

NO_KEY = "none"
"""Sent when there is no key: local servers want none, and the package insists on one."""


class OpenAIChat(StreamingChat):
    """A chat model of an OpenAI-compatible server. Implements `bot.ports.ChatModel`."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str = "",
        context_tokens: int,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        retry_wait: float = 0.25,
    ) -> None:
        """`url` ends in `/v1` with most servers; empty is OpenAI's own.

        `retry_wait`: seconds before the second try, doubled for the third.
        Raises BadSettings without the extra, ValueError when `url` is not an address.
        """
        address = base_url(url or DEFAULT_URL, 80)
        super().__init__(f"openai:{model}", address, context_tokens, timeouts, retry_wait)
        self._model = model
        self._client = _client(address, api_key, timeouts.connect, local=self.is_local)
        # OpenAI's newer models refuse `max_tokens`; most other servers know nothing else
        ours = urlsplit(address).hostname == urlsplit(DEFAULT_URL).hostname
        self._cap = "max_completion_tokens" if ours else "max_tokens"
        self._takes_schema = True

    async def _ask(
        self, turns: Sequence[Turn], max_tokens: int, schema: dict[str, Any] | None
    ) -> AsyncGenerator[Piece, None]:
        answer = await self._begin_by_schema(turns, max_tokens, schema)
        finished = False
        with _errors(self._url, self._model):
            async with answer as parts:
                async for part in parts:
                    for choice in part.choices[:1]:
                        finished = finished or choice.finish_reason is not None
                        yield Piece(choice.delta.content or "", choice.finish_reason == "length")
        if not finished:
            raise ModelUnavailable(f"{self.name} stopped in the middle of its answer.")

    async def _begin_by_schema(
        self, turns: Sequence[Turn], max_tokens: int, schema: dict[str, Any] | None
    ) -> openai.AsyncStream[Any]:
        """Ask with the schema as a constraint, or in words when the server knows no such thing."""
        if schema is None or not self._takes_schema:
            return await self._begin(turns, max_tokens, schema, constrain=False)
        try:
            return await self._begin(turns, max_tokens, schema, constrain=True)
        except _BadRequest:
            answer = await self._begin(turns, max_tokens, schema, constrain=False)
        log.info("%s does not take a schema; asking in words from now on", self.name)
        self._takes_schema = False
        return answer

    async def _begin(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        schema: dict[str, Any] | None,
        *,
        constrain: bool,
    ) -> openai.AsyncStream[Any]:
        request: dict[str, Any] = {self._cap: max_tokens}
        if schema is not None and constrain:
            # not `strict`: OpenAI then refuses schemas with defaults; the answer is validated
            request["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": schema.get("title", "answer"), "schema": schema},
            }
        elif schema is not None:
            shape = json.dumps(schema, ensure_ascii=False)
            turns = [*turns, Turn.user(f"Answer with JSON that fits this JSON Schema: {shape}")]
        # the package types every field of a request; `request` is plain data on purpose
        create: Any = self._client.chat.completions.create
        with _errors(self._url, self._model):
            stream: openai.AsyncStream[Any] = await create(
                model=self._model, messages=wire_messages(turns), stream=True, **request
            )
        return stream

    async def check(self) -> None:
        """See `bot.ports.ChatModel.check`. Asks for the list, which more servers have."""
        with _errors(self._url, self._model):
            page = await within(self._timeouts.connect * 2, self._url, self._client.models.list())
            there = {model.id.removesuffix(":latest") for model in page.data}
        # a server with one model, such as llama.cpp's, serves it under any name
        if len(there) != 1 and self._model.removesuffix(":latest") not in there:
            raise _missing(self._url, self._model)

    async def close(self) -> None:
        await self._client.close()


class OpenAIEmbedder(RemoteEmbedder):
    """An embedding model of an OpenAI-compatible server. Implements `memory.ports.Embedder`."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str = "",
        timeout: float = 120.0,
        connect_timeout: float = 5.0,
        retry_wait: float = 0.25,
    ) -> None:
        """`timeout` in seconds per batch; the rest as in `OpenAIChat`."""
        self._url = base_url(url or DEFAULT_URL, 80)
        super().__init__("openai", model, self._url, retry_wait)
        self._timeout = timeout
        self._client = _client(self._url, api_key, connect_timeout, local=self.is_local)

    async def _request(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        try:
            with _errors(self._url, self._model):
                # the package's default, base64, is not known to every server
                answer = await within(
                    self._timeout,
                    self._url,
                    self._client.embeddings.create(
                        model=self._model, input=list(texts), encoding_format="float"
                    ),
                )
                rows = [item.embedding for item in sorted(answer.data, key=lambda i: i.index)]
        except _Refused as error:
            raise EmbeddingFailed(str(error)) from error
        except TryAgain as error:
            raise EmbedderBusy(f"{error} {error.fix}".strip()) from error
        except ModelUnavailable as error:
            raise EmbedderUnavailable(f"{error} {error.fix}".strip()) from error
        return rows

    async def close(self) -> None:
        await self._client.close()


class _Refused(ModelUnavailable):
    """The server is there and has the model, and refused or garbled this request."""


class _BadRequest(_Refused):
    """It said that the request is wrong: perhaps one of its fields is not known there."""


def _client(url: str, api_key: str, connect_timeout: float, *, local: bool) -> openai.AsyncOpenAI:
    """A client that talks to `url` alone: no redirects, and no proxy to this machine."""
    try:
        import openai  # an extra
    except ImportError as error:
        raise BadSettings(
            "OpenAI-compatible models need the extra `openai`.",
            fix="Install it: pip install 'oboete[openai]'",
        ) from error
    timeout = openai.Timeout(None, connect=connect_timeout)
    return openai.AsyncOpenAI(
        base_url=url,
        api_key=api_key or NO_KEY,
        timeout=timeout,
        max_retries=0,
        http_client=openai.DefaultAsyncHttpxClient(
            timeout=timeout, follow_redirects=False, trust_env=not local
        ),
    )


@contextmanager
def _errors(url: str, model: str) -> Iterator[None]:
    """The one place where errors of the `openai` package get their meaning."""
    import openai  # there, or no client would have been made

    unreachable = f"Start the server, or change its address; it is {url} now."
    try:
        yield
    except openai.APIStatusError as error:
        raise _meaning(error.status_code, error.message[:200], url, model) from error
    except openai.APITimeoutError as error:
        raise ModelUnavailable(f"Nothing answers at {url}.", fix=unreachable) from error
    except openai.APIConnectionError as error:
        raise TryAgain(f"The model server at {url} is not reached.", fix=unreachable) from error
    except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
        # the package indexes and parses what a server sends unchecked
        raise _Refused(f"The model server at {url} failed.", fix=unreachable) from error


def _meaning(code: int, said: str, url: str, model: str) -> ModelUnavailable:
    if code in (401, 403):
        return ModelUnavailable(f"{url} refused the key ({code}).", fix="Check the API key.")
    if code == 404:
        return _missing(url, model)
    if code in (429, 502, 503):
        return TryAgain(f"The model server at {url} is busy ({code}).", fix="Try again later.")
    kind = _BadRequest if code in (400, 422) else _Refused
    return kind(f"The model server at {url} refused ({code}): {said}")


def _missing(url: str, model: str) -> ModelMissing:
    return ModelMissing(
        f"The model server at {url} does not have {model}.",
        fix=f"Check the model's name and the address; it is {url} now.",
    )
