"""Ollama: chat models and embedding models, through the `ollama` package."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from typing import Any, cast

import httpx
import ollama

from adapters.chat_stream import DEFAULT_TIMEOUTS, Piece, StreamingChat, Timeouts, TryAgain, within
from adapters.hosts import base_url, is_this_machine
from adapters.remote_embedding import EmbedderBusy, RemoteEmbedder
from adapters.wire_text import wire_messages
from bot.errors import ModelMissing, ModelUnavailable
from bot.messages import Turn
from memory.errors import EmbedderUnavailable, EmbeddingFailed

log = logging.getLogger(__name__)

DEFAULT_HOST = "127.0.0.1:11434"
PORT = 11434

_NOT_OLLAMA = (ValueError, TypeError, AttributeError)
"""What the `ollama` package raises when a server's 200 is not what Ollama says: it parses and
indexes lines of JSON unchecked, and pydantic's ValidationError is a ValueError."""


class OllamaChat(StreamingChat):
    """A chat model of an Ollama server. Implements `bot.ports.ChatModel`."""

    def __init__(
        self,
        host: str,
        model: str,
        *,
        context_tokens: int,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        think: bool | None = False,
        retry_wait: float = 0.25,
    ) -> None:
        """`host` as in OLLAMA_HOST; `context_tokens` is what the server is told to hold.

        `think`: False asks a model that can think not to, None leaves it to the model; its
        thinking is removed either way, but counts against the token cap.
        `retry_wait`: seconds before the second try, doubled for the third.
        Raises ValueError when `host` is not an address.
        """
        url = base_url(host or DEFAULT_HOST, PORT)
        super().__init__(f"ollama:{model}", url, context_tokens, timeouts, retry_wait)
        self._model = model
        self._think = think
        self._client = _client(url, timeouts.connect, local=self.is_local)

    async def _ask(
        self, turns: Sequence[Turn], max_tokens: int, schema: dict[str, Any] | None
    ) -> AsyncGenerator[Piece, None]:
        options: dict[str, Any] = {"num_ctx": self.context_tokens, "num_predict": max_tokens}
        if schema is not None:
            options["temperature"] = 0.0
        with _chat_errors(self._url, self._model):
            answer = await self._client.chat(
                self._model,
                wire_messages(turns),
                stream=True,
                think=self._think,
                format=schema,
                options=options,
            )
            async with aclosing(cast("AsyncGenerator[ollama.ChatResponse, None]", answer)) as parts:
                async for part in parts:
                    yield Piece(part.message.content or "", part.done_reason == "length")
                    if part.done:
                        self._warn_when_full(part.prompt_eval_count or 0, max_tokens)
                        return
        raise ModelUnavailable(f"{self.name} stopped in the middle of its answer.")

    def _warn_when_full(self, prompt_tokens: int, max_tokens: int) -> None:
        if prompt_tokens + max_tokens > self.context_tokens:
            log.warning(
                "%s: a prompt of %d tokens and an answer of %d do not fit into %d",
                self.name, prompt_tokens, max_tokens, self.context_tokens,
            )  # fmt: skip

    async def check(self) -> None:
        """See `bot.ports.ChatModel.check`. Does not load the model."""
        with _chat_errors(self._url, self._model):
            await within(self._timeouts.connect * 2, self._url, self._client.show(self._model))

    async def close(self) -> None:
        await _close(self._client)


async def find_chat_model(host: str, *, patience: float = 5.0) -> str | None:
    """Of the models that `host` has, the one changed last that can chat; None without any.

    For OBOETE_CHAT_MODEL=auto. `patience` in seconds per request. Raises ModelUnavailable.
    """
    url = base_url(host or DEFAULT_HOST, PORT)
    client = _client(url, patience, local=is_this_machine(url))
    try:
        with _chat_errors(url, ""):
            listed = (await within(patience, url, client.list())).models
            newest = sorted(listed, key=lambda m: str(m.modified_at or ""), reverse=True)
            for name in (model.model for model in newest if model.model):
                shown = await within(patience, url, client.show(name))
                # servers before 0.6.4 do not tell what a model can do
                if shown.capabilities is None or "completion" in shown.capabilities:
                    return name
        return None
    finally:
        await _close(client)


class OllamaEmbedder(RemoteEmbedder):
    """An embedding model of an Ollama server. Implements `memory.ports.Embedder`."""

    def __init__(
        self,
        host: str,
        model: str,
        *,
        timeout: float = 120.0,
        connect_timeout: float = 5.0,
        retry_wait: float = 0.25,
    ) -> None:
        """`host` as in OLLAMA_HOST; `timeout` in seconds per batch, loading included.

        Raises ValueError when `host` is not an address.
        """
        self._url = base_url(host or DEFAULT_HOST, PORT)
        super().__init__("ollama", model, self._url, retry_wait)
        self._timeout = timeout
        self._client = _client(self._url, connect_timeout, local=self.is_local)

    async def _request(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        try:
            with _chat_errors(self._url, self._model):
                answer = await within(
                    self._timeout,
                    self._url,
                    self._client.embed(self._model, list(texts), truncate=True),
                )
        except _Refused as error:
            raise EmbeddingFailed(str(error)) from error
        except TryAgain as error:
            raise EmbedderBusy(f"{error} {error.fix}") from error
        except ModelUnavailable as error:
            raise EmbedderUnavailable(f"{error} {error.fix}".strip()) from error
        return answer.embeddings

    async def close(self) -> None:
        await _close(self._client)


class _Refused(ModelUnavailable):
    """The server is there and has the model, and refused or garbled this request."""


def _client(url: str, connect_timeout: float, *, local: bool) -> ollama.AsyncClient:
    """A client that talks to `url` alone.

    A redirect could carry text to another machine, and so could a proxy of the environment
    that is not meant for a server on this one.
    """
    return ollama.AsyncClient(
        url,
        timeout=httpx.Timeout(None, connect=connect_timeout),
        follow_redirects=False,
        trust_env=not local,
    )


async def _close(client: ollama.AsyncClient) -> None:
    # `close` of the package has no annotations
    await cast("Any", client).close()


@contextmanager
def _chat_errors(url: str, model: str) -> Iterator[None]:
    """The one place where errors of the `ollama` package get their meaning."""
    unreachable = f"Start Ollama there (`ollama serve`), or set OLLAMA_HOST; it is {url} now."
    try:
        yield
    except ollama.ResponseError as error:
        raise _meaning(error, url, model) from error
    except httpx.ConnectTimeout as error:
        raise ModelUnavailable(f"Ollama does not answer at {url}.", fix=unreachable) from error
    except (ConnectionError, httpx.ConnectError) as error:
        raise TryAgain(f"Ollama is not running at {url}.", fix=unreachable) from error
    except httpx.HTTPError as error:
        raise TryAgain(f"The connection to Ollama at {url} broke.", fix=unreachable) from error
    except _NOT_OLLAMA as error:
        raise _Refused(f"What answers at {url} is not Ollama.", fix=unreachable) from error


def _meaning(error: ollama.ResponseError, url: str, model: str) -> ModelUnavailable:
    code, said = error.status_code, str(error.error)[:200]
    if code == 404 and said.startswith(("404", "<")):
        # a web server's own page; Ollama's 404 is JSON and names the model
        return ModelUnavailable(
            f"What answers at {url} is not Ollama.", fix=f"Check OLLAMA_HOST; it is {url} now."
        )
    if code == 404:
        return ModelMissing(
            f"Ollama at {url} does not have the model {model}.", fix=f"Run `ollama pull {model}`."
        )
    if code in (429, 502, 503):
        return TryAgain(f"Ollama at {url} is busy ({code}).", fix="Try again in a while.")
    if code > 0:
        return _Refused(f"Ollama at {url} refused ({code}): {said}")
    return ModelUnavailable(f"Ollama at {url} failed: {said}")
