"""Ollama's wire: what is sent, and what its errors mean."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import numpy as np
import pytest
import pytest_asyncio
from aiohttp import web

from adapters.chat_stream import Timeouts
from adapters.ollama_models import OllamaChat, OllamaEmbedder, find_chat_model
from bot.errors import ModelMissing, ModelUnavailable
from bot.messages import Turn
from bot.ports import ChatModel
from memory.errors import EmbedderUnavailable, EmbeddingFailed
from memory.ports import Embedder
from tests.contracts.chat_model import (
    PATIENT,
    QUESTION,
    TARO,
    ChatModelContract,
    Person,
    WireContract,
    said_by,
)
from tests.contracts.embedder import EmbedderContract, vectors_of
from tests.model_script import Answer, Refuse, Script, word_vector
from tests.ollama_double import OllamaDouble

CONTEXT = 4_096


def chat(server: OllamaDouble, model: str = "qwen3:4b", timeouts: Timeouts = PATIENT) -> OllamaChat:
    return OllamaChat(server.url, model, context_tokens=CONTEXT, timeouts=timeouts, retry_wait=0.01)


def embedder_of(server: OllamaDouble, model: str = "bge-m3") -> OllamaEmbedder:
    return OllamaEmbedder(server.url, model, retry_wait=0.01)


class TestOllamaChat(ChatModelContract, WireContract):
    @asynccontextmanager
    async def model(self, script: Script, timeouts: Timeouts = PATIENT) -> AsyncIterator[ChatModel]:
        async with self.to_server(script, timeouts=timeouts) as (_, model):
            yield model

    def connect(self, server: OllamaDouble, model: str, timeouts: Timeouts) -> ChatModel:
        return chat(server, model, timeouts)

    async def test_context_window_is_sent_with_every_request(self) -> None:
        async with self.to_server(lambda _: TARO) as (server, model):
            await said_by(model)
            await model.structured(QUESTION, Person, max_tokens=100)
        assert [r.body["options"]["num_ctx"] for r in server.requests] == [CONTEXT, CONTEXT]
        assert [r.context_tokens for r in server.requests] == [CONTEXT, CONTEXT]

    async def test_the_model_is_asked_not_to_think(self) -> None:
        async with self.to_server(lambda _: "x") as (server, model):
            await said_by(model)
        assert server.requests[0].body["think"] is False

    async def test_a_prompt_that_leaves_no_room_is_logged_without_its_text(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with self.to_server(lambda _: "x") as (server, model):
            with caplog.at_level(logging.WARNING):
                await said_by(model, Turn.user("秘密" * 2_500), Turn.user("?"), max_tokens=1_000)
        assert server.requests[0].truncated is False
        assert "do not fit into 4096" in caplog.text
        assert "秘密" not in caplog.text

    async def test_a_missing_model_comes_with_the_line_that_pulls_it(self) -> None:
        async with self.to_server(lambda _: "x", model="gemma9:1b") as (_, model):
            with pytest.raises(ModelMissing) as caught:
                await model.check()
        assert "`ollama pull gemma9:1b`" in caught.value.fix

    async def test_a_server_that_is_not_ollama_is_said_to_be_none(self) -> None:
        other = web.AppRunner(web.Application())
        await other.setup()
        await web.TCPSite(other, "127.0.0.1", 0).start()
        model = OllamaChat(f"127.0.0.1:{other.addresses[0][1]}", "m", context_tokens=CONTEXT)
        try:
            with pytest.raises(ModelUnavailable, match="not Ollama"):
                await model.check()
        finally:
            await model.close()
            await other.cleanup()

    async def test_a_redirect_does_not_carry_the_prompt_elsewhere(self) -> None:
        async def elsewhere(request: web.Request) -> web.Response:
            raise web.HTTPTemporaryRedirect(f"{other.url}/api/chat")

        app = web.Application()
        app.router.add_post("/api/chat", elsewhere)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        async with OllamaDouble(lambda _: "stolen") as other:
            model = OllamaChat(
                f"127.0.0.1:{runner.addresses[0][1]}", "qwen3:4b", context_tokens=CONTEXT
            )
            with pytest.raises(ModelUnavailable):
                await said_by(model)
            assert other.requests == []
            await model.close()
        await runner.cleanup()

    async def test_a_proxy_of_the_environment_is_not_used_for_this_machine(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:1")
        async with self.to_server(lambda _: "direct") as (_, model):
            assert "".join(await said_by(model)) == "direct"


async def test_auto_finds_a_model_that_can_chat() -> None:
    async with OllamaDouble(models={"bge-m3:latest", "qwen3:4b"}) as server:
        assert await find_chat_model(server.url) == "qwen3:4b"
        server.models = {"bge-m3:latest"}
        assert await find_chat_model(server.url) is None
    with pytest.raises(ModelUnavailable):
        await find_chat_model(server.url)


class TestOllamaEmbedder(EmbedderContract):
    @pytest_asyncio.fixture
    async def embedder(self) -> AsyncIterator[Embedder]:
        async with OllamaDouble() as server:
            made = embedder_of(server)
            yield made
            await made.close()

    async def test_asks_in_batches_and_for_the_dimension_once(self) -> None:
        async with OllamaDouble() as server:
            model = embedder_of(server)
            await vectors_of(model, [f"文 {n}" for n in range(70)])
            await vectors_of(model, ["once more"])
            await model.close()
        assert [len(body["input"]) for body in server.embedded] == [1, 32, 32, 6, 1]
        assert await model.dimension() == 64

    async def test_prefixes_go_before_queries_and_documents(self) -> None:
        async with OllamaDouble(models={"nomic-embed-text:latest"}) as server:
            model = embedder_of(server, "nomic-embed-text")
            await vectors_of(model, ["猫"], "query")
            await vectors_of(model, ["猫"], "document")
            await model.close()
        sent = [body["input"][0] for body in server.embedded]
        assert sent[1:] == ["search_query: 猫", "search_document: 猫"]

    @pytest.mark.parametrize(
        "bad",
        [[], [float("nan")] * 64, [0.0] * 64, [1.0] * 63, [1e400] * 64, [None] * 64, None],
        ids=["empty", "NaN", "zero", "wrong size", "infinite", "null numbers", "null"],
    )
    async def test_a_bad_embedding_fails_that_text_alone(self, bad: object) -> None:
        def embed(text: str) -> object:
            return bad if "bad" in text else word_vector(text)

        texts = [f"good {n}" for n in range(5)] + ["bad 文"] + [f"良い {n}" for n in range(5)]
        await self.check_only_sixth_fails(texts, embed)

    @pytest.mark.parametrize("status", [400, 500])
    async def test_a_text_that_fails_its_batch_fails_alone(self, status: int) -> None:
        def embed(text: str) -> object:
            if "bad" in text:
                raise Refuse("failed to encode response: json: unsupported value: NaN", status)
            return word_vector(text)

        texts = [f"good {n}" for n in range(5)] + ["bad 文"] + [f"良い {n}" for n in range(5)]
        await self.check_only_sixth_fails(texts, embed)

    async def check_only_sixth_fails(self, texts: list[str], embed: object) -> None:
        assert callable(embed)
        async with OllamaDouble(embed=embed) as server:
            model = embedder_of(server)
            results = await model.embed(texts, "document")
            await model.close()
        assert [isinstance(result, EmbeddingFailed) for result in results] == [
            place == 5 for place in range(len(texts))
        ]
        for text, result in zip(texts, results, strict=True):
            if not isinstance(result, EmbeddingFailed):
                expected = np.asarray(word_vector(text), dtype=np.float32)
                np.testing.assert_allclose(result, expected / np.linalg.norm(expected), atol=1e-6)
            else:
                assert "文" not in str(result)

    async def test_a_text_too_long_for_the_server_counts_by_its_beginning(self) -> None:
        def embed(text: str) -> list[float]:
            if len(text) > 1_000:
                raise Refuse("the input length exceeds the context length", 400)
            return word_vector(text[:10])

        async with OllamaDouble(embed=embed) as server:
            model = embedder_of(server)
            long, short = await vectors_of(model, ["長い文章" * 5_000, "長い文章" * 3])
            await model.close()
        np.testing.assert_allclose(long, short, atol=1e-6)

    async def test_too_few_vectors_are_never_given_to_the_wrong_texts(self) -> None:
        async with OllamaDouble() as server:
            model = embedder_of(server)
            await model.dimension()
            server.embed_answers = [web.json_response({"embeddings": [word_vector("b")]})]
            vectors = await vectors_of(model, ["aaa", "bbb"])
            again = await vectors_of(model, ["aaa", "bbb"])
            await model.close()
        np.testing.assert_array_equal(vectors, again)

    async def test_a_server_that_refuses_everything_is_unavailable(self) -> None:
        def embed(text: str) -> object:
            raise Refuse("model requires more system memory")

        async with OllamaDouble(embed=embed) as server:
            model = embedder_of(server)
            with pytest.raises(EmbedderUnavailable, match="system memory"):
                await model.embed(["a", "b"], "document")
            await model.close()
        assert len(server.embedded) == 1

    async def test_a_busy_server_is_asked_again(self) -> None:
        async with OllamaDouble() as server:
            server.embed_answers = [web.json_response({"error": "busy"}, status=503)]
            model = embedder_of(server)
            assert (await vectors_of(model, ["猫"])).shape == (1, 64)
            await model.close()

    async def test_what_is_not_json_is_an_error(self) -> None:
        async with OllamaDouble() as server:
            model = embedder_of(server)
            server.embed_answers = [web.Response(text="<html>") for _ in range(2)]
            with pytest.raises(EmbedderUnavailable):
                await model.dimension()
            await model.close()

    async def test_a_missing_model_is_named_with_the_line_that_pulls_it(self) -> None:
        async with OllamaDouble() as server:
            model = embedder_of(server, "embeddinggemma")
            with pytest.raises(EmbedderUnavailable, match="`ollama pull embeddinggemma`"):
                await model.embed(["猫"], "query")
            await model.close()

    async def test_a_server_that_is_down_is_named(self) -> None:
        async with OllamaDouble() as server:
            model = embedder_of(server)
        with pytest.raises(EmbedderUnavailable, match=f"127.0.0.1:{server.port}"):
            await model.dimension()
        await model.close()

    async def test_a_server_that_hangs_is_named(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            model = OllamaEmbedder(f"127.0.0.1:{port}", "bge-m3", timeout=0.2)
            with pytest.raises(EmbedderUnavailable, match=f"127.0.0.1:{port} did not answer"):
                await model.dimension()
            await model.close()

    async def test_the_tag_latest_is_not_part_of_the_name(self) -> None:
        assert OllamaEmbedder("", "bge-m3:latest").name == OllamaEmbedder("", "bge-m3").name


async def test_non_streaming_answers_of_the_double_have_ollamas_form() -> None:
    """Other tools than ours ask without streaming, so the double must answer them too."""
    request = {"model": "qwen3:4b", "stream": False, "messages": [{"role": "user", "content": "x"}]}
    async with (
        OllamaDouble(lambda _: Answer("はい", thinking="hm")) as server,
        aiohttp.ClientSession() as session,
        session.post(f"{server.url}/api/chat", json=request) as response,
    ):
        body = json.loads(await response.text())
    assert body["message"] == {"role": "assistant", "content": "はい", "thinking": "hm"}
    assert body["done"] is True
