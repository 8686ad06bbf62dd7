"""A local HTTP server that speaks Ollama's wire format, and misbehaves when told to.

In a test:

    async with OllamaDouble(lambda request: "hello") as server:
        OllamaChat(server.url, "qwen3:4b", context_tokens=4096)

As a process of its own: `python -m tests.ollama_double --port 11434 --script echo`. It prints
its address first. It also speaks the part of OpenAI's protocol that Oboete uses, under `/v1`.

The wire format is that of github.com/ollama/ollama, docs/api.md, and of server/routes.go.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from tests.model_script import (
    SCRIPTS,
    Answer,
    ChatRequest,
    EmbedScript,
    Refuse,
    Script,
    chat_request,
    spoken,
    word_vector,
)

__all__ = ["Answer", "ChatRequest", "OllamaDouble", "Refuse", "word_vector"]

DEFAULT_CONTEXT = 4_096
"""What Ollama takes when a request has no `num_ctx`."""

VERSION = "0.13.0"


@dataclass
class OllamaDouble:
    """The server. `requests` and `embedded` grow with every request."""

    script: Script = field(default=lambda request: "ok")
    embed: EmbedScript = word_vector
    models: set[str] = field(default_factory=lambda: {"qwen3:4b", "bge-m3:latest"})
    embed_answers: list[web.Response] = field(default_factory=list)
    """Given in turn in place of embedding, until there are no more."""
    port: int = 0

    requests: list[ChatRequest] = field(default_factory=list)
    embedded: list[dict[str, Any]] = field(default_factory=list)
    disconnected: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client closed its connection before the answer was complete."""
    _runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 2**20)
        app.add_routes([
            web.get("/", _alive),
            web.get("/api/version", _version),
            web.get("/api/tags", self._tags),
            web.post("/api/show", self._show),
            web.post("/api/chat", self._chat),
            web.post("/api/embed", self._embed),
            web.get("/v1/models", self._openai_models),
            web.post("/v1/chat/completions", self._openai_chat),
            web.post("/v1/embeddings", self._openai_embed),
        ])  # fmt: skip
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    # -- what there is ---------------------------------------------------------------------------

    def _has(self, model: str) -> bool:
        return model in self.models or f"{model}:latest" in self.models

    async def _tags(self, _: web.Request) -> web.Response:
        models = [
            {"name": name, "model": name, "modified_at": "2026-01-02T03:04:05Z", "size": 1}
            for name in sorted(self.models)
        ]
        return await _json({"models": models})

    async def _show(self, request: web.Request) -> web.Response:
        model = (await request.json())["model"]
        if not self._has(model):
            return _missing(model)
        capability = "embedding" if "bge" in model or "embed" in model else "completion"
        return await _json({
            "modelfile": "", "details": {"family": "double"},
            "model_info": {"double.context_length": 40_960}, "capabilities": [capability],
        })  # fmt: skip

    # -- chat ------------------------------------------------------------------------------------

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if not self._has(body["model"]):
            return _missing(body["model"])
        options = body.get("options") or {}
        chat = chat_request(
            body,
            schema=body.get("format") or None,
            max_tokens=options.get("num_predict"),
            context_tokens=options.get("num_ctx") or DEFAULT_CONTEXT,
        )
        answer = await self._answer(chat)
        head = {"model": body["model"], "created_at": "2026-01-02T03:04:05Z"}
        evaluated = min(chat.prompt_tokens, chat.context_tokens)

        def line(kind: str, text: str) -> bytes:
            message = {"role": "assistant", "content": "", kind: text}
            return _ndjson({**head, "message": message, "done": False})

        def last(reason: str, count: int) -> bytes:
            return _ndjson({
                **head, "message": {"role": "assistant", "content": ""}, "done": True,
                "done_reason": reason, "prompt_eval_count": evaluated, "eval_count": count,
            })  # fmt: skip

        if answer.status != 200:
            return await _json({"error": answer.error}, answer.status)
        if body.get("stream", True):
            return await self._stream(
                request, chat, answer, "application/x-ndjson",
                line=line, last=last, error=_ndjson({"error": answer.error_in_stream}),
            )  # fmt: skip
        pieces = [piece async for piece in spoken(answer, chat)]
        text = "".join(piece for kind, piece in pieces if kind == "content")
        message = {"role": "assistant", "content": text, "thinking": answer.thinking}
        done = {"done": True, "done_reason": answer.done_reason, "prompt_eval_count": evaluated}
        return await _json({**head, "message": message, **done})

    async def _openai_chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if not self._has(body["model"]):
            return _missing(body["model"])
        wanted = body.get("response_format") or {}
        chat = chat_request(
            body,
            schema=(wanted.get("json_schema") or {}).get("schema"),
            max_tokens=body.get("max_tokens") or body.get("max_completion_tokens"),
            context_tokens=2**31,
        )
        answer = await self._answer(chat)
        if answer.status != 200:
            return await _json({"error": {"message": answer.error}}, answer.status)
        head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}

        def event(delta: dict[str, str], reason: str | None = None) -> bytes:
            return _sse(
                {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
            )

        return await self._stream(
            request, chat, answer, "text/event-stream",
            line=lambda kind, text: event(
                {"content": text} if kind == "content" else {"reasoning_content": text}
            ),
            last=lambda reason, _: event({}, reason) + b"data: [DONE]\n\n",
            error=_sse({"error": {"message": answer.error_in_stream}}),
        )  # fmt: skip

    async def _answer(self, chat: ChatRequest) -> Answer:
        self.requests.append(chat)
        said = self.script(chat)
        if inspect.isawaitable(said):
            said = await said
        return Answer(said) if isinstance(said, str) else said

    async def _stream(
        self,
        request: web.Request,
        chat: ChatRequest,
        answer: Answer,
        content_type: str,
        *,
        line: Callable[[str, str], bytes],
        last: Callable[[str, int], bytes],
        error: bytes,
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": content_type})
        response.enable_chunked_encoding()
        try:
            await response.prepare(request)
            if answer.raw:
                await response.write(answer.raw)
                return response
            await asyncio.sleep(answer.delay)
            count = 0
            async for kind, piece in spoken(answer, chat):
                count += 1
                await response.write(line(kind, piece))
                # give the client a chance to close, and its closing a chance to be seen
                await asyncio.sleep(0)
            if answer.hang:
                await asyncio.Event().wait()
            if answer.reset:
                if request.transport is not None:
                    request.transport.abort()
                return response
            if answer.error_in_stream:
                await response.write(error)
            elif not answer.stop_early:
                capped = chat.max_tokens is not None and count >= chat.max_tokens
                await response.write(last("length" if capped else answer.done_reason, count))
            await response.write_eof()
        except (asyncio.CancelledError, ConnectionResetError):
            self.disconnected.set()
            raise
        return response

    # -- embeddings ------------------------------------------------------------------------------

    async def _embed(self, request: web.Request) -> web.Response:
        body = await request.json()
        if not self._has(body["model"]):
            return _missing(body["model"])
        self.embedded.append(body)
        if self.embed_answers:
            return self.embed_answers.pop(0)
        try:
            rows = [self.embed(text) for text in _texts(body["input"])]
        except Refuse as error:
            return await _json({"error": str(error)}, error.status)
        return await _json({"model": body["model"], "embeddings": rows})

    async def _openai_models(self, _: web.Request) -> web.Response:
        data = [
            {"id": name, "object": "model", "created": 1, "owned_by": "double"}
            for name in sorted(self.models)
        ]
        return await _json({"object": "list", "data": data})

    async def _openai_embed(self, request: web.Request) -> web.Response:
        body = await request.json()
        if not self._has(body["model"]):
            return _missing(body["model"])
        self.embedded.append(body)
        if self.embed_answers:
            return self.embed_answers.pop(0)
        try:
            rows = [self.embed(text) for text in _texts(body["input"])]
        except Refuse as error:
            return await _json({"error": {"message": str(error)}}, error.status)
        data = [
            {"object": "embedding", "index": index, "embedding": row}
            for index, row in enumerate(rows)
        ]
        # backwards, because nothing promises an order but `index`
        answer = {"object": "list", "data": data[::-1], "model": body["model"]}
        return await _json({**answer, "usage": {"prompt_tokens": 1, "total_tokens": 1}})


def _texts(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _ndjson(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _sse(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


async def _json(value: Any, status: int = 200) -> web.Response:
    return web.json_response(value, status=status)


async def _alive(_: web.Request) -> web.Response:
    return web.Response(text="Ollama is running")


async def _version(_: web.Request) -> web.Response:
    return await _json({"version": VERSION})


def _missing(model: str) -> web.Response:
    return web.json_response({"error": f"model '{model}' not found"}, status=404)


async def _serve(port: int, script: Script, models: set[str]) -> None:
    async with OllamaDouble(script=script, port=port) as server:
        server.models |= models
        print(server.url, flush=True)
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="A stand-in for an Ollama server.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--script", choices=sorted(SCRIPTS), default="echo")
    parser.add_argument("--say", help="answer every request with this text")
    parser.add_argument("--model", action="append", default=[], help="a model that it has")
    given = parser.parse_args()
    script = SCRIPTS[given.script] if given.say is None else (lambda _: given.say)
    try:
        asyncio.run(_serve(given.port, script, set(given.model)))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
