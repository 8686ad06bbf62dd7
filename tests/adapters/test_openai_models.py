"""OpenAI's protocol: what is sent, and what its errors mean."""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
import pytest_asyncio
from aiohttp import web

from adapters.chat_stream import Timeouts
from adapters.openai_models import OpenAIChat, OpenAIEmbedder
from bot.errors import BadSettings, ModelMissing, ModelUnavailable
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
from tests.contracts.embedder import EmbedderContract
from tests.model_script import Answer, ChatRequest, Refuse, Script, word_vector
from tests.ollama_double import OllamaDouble


def embedder_of(server: OllamaDouble, model: str = "bge-m3") -> OpenAIEmbedder:
    return OpenAIEmbedder(server.openai_url, model, retry_wait=0.01)


class TestOpenAIChat(ChatModelContract, WireContract):
    @asynccontextmanager
    async def model(self, script: Script, timeouts: Timeouts = PATIENT) -> AsyncIterator[ChatModel]:
        async with self.to_server(script, timeouts=timeouts) as (_, model):
            yield model

    def connect(self, server: OllamaDouble, model: str, timeouts: Timeouts) -> ChatModel:
        return OpenAIChat(
            server.openai_url, model, context_tokens=4_096, timeouts=timeouts, retry_wait=0.01
        )

    async def test_a_server_without_schemas_is_told_the_schema_in_words(self) -> None:
        def script(request: ChatRequest) -> Answer:
            if "response_format" in request.body:
                return Answer(status=400, error="response_format is not supported")
            return Answer(TARO if '"age"' in request.messages[-1]["content"] else "no schema")

        async with self.to_server(script) as (server, model):
            for _ in range(2):
                person = await model.structured(QUESTION, Person, max_tokens=100)
                assert person.name == "太郎"
        tried = ["response_format" in request.body for request in server.requests]
        assert tried == [True, False, False]

    async def test_a_failing_server_keeps_being_asked_with_the_schema(self) -> None:
        async with self.to_server(lambda _: Answer(status=500, error="oops")) as (server, model):
            for _ in range(2):
                with pytest.raises(ModelUnavailable):
                    await model.structured(QUESTION, Person, max_tokens=100)
        assert all("response_format" in request.body for request in server.requests)

    async def test_the_only_model_of_a_server_has_any_name(self) -> None:
        async with self.to_server(lambda _: "x", model="whatever") as (server, model):
            server.models = {"/models/tiny.gguf"}
            await model.check()
            server.models = set()
            with pytest.raises(ModelMissing, match="whatever"):
                await model.check()

    async def test_a_refused_key_is_said_to_be_refused(self) -> None:
        async with self.to_server(lambda _: Answer(status=401, error="bad key")) as (_, model):
            with pytest.raises(ModelUnavailable, match="401") as caught:
                await said_by(model)
        assert "key" in caught.value.fix


@pytest.mark.parametrize("kind", [OpenAIChat, OpenAIEmbedder])
def test_without_the_extra_its_name_is_given(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    really_import = builtins.__import__

    def without_openai(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "openai":
            raise ImportError(name)
        return really_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_openai)
    more = {"context_tokens": 4_096} if kind is OpenAIChat else {}
    with pytest.raises(BadSettings, match="`openai`") as caught:
        kind("http://127.0.0.1:1/v1", "m", **more)
    assert "oboete[openai]" in caught.value.fix


class TestOpenAIEmbedder(EmbedderContract):
    @pytest_asyncio.fixture
    async def embedder(self) -> AsyncIterator[Embedder]:
        async with OllamaDouble() as server:
            made = embedder_of(server)
            yield made
            await made.close()

    @pytest.mark.parametrize("bad", [[], [float("nan")] * 64, [1.0] * 63, None, "refuse"])
    async def test_a_bad_text_fails_alone(self, bad: object) -> None:
        def embed(text: str) -> object:
            if bad == "refuse" and "bad" in text:
                raise Refuse("NaN")
            return bad if "bad" in text else word_vector(text)

        async with OllamaDouble(embed=embed) as server:
            model = embedder_of(server)
            first, failed, last = await model.embed(["猫", "bad", "dog"], "document")
            await model.close()
        assert isinstance(failed, EmbeddingFailed)
        for text, result in (("猫", first), ("dog", last)):
            assert not isinstance(result, EmbeddingFailed)
            expected = np.asarray(word_vector(text))
            np.testing.assert_allclose(result, expected / np.linalg.norm(expected), atol=1e-6)

    async def test_what_is_not_json_is_an_error(self) -> None:
        async with OllamaDouble() as server:
            model = embedder_of(server)
            server.embed_answers = [web.Response(text="<html>") for _ in range(2)]
            with pytest.raises(EmbedderUnavailable):
                await model.dimension()
            await model.close()

    async def test_a_server_that_is_down_is_named(self) -> None:
        async with OllamaDouble() as server:
            model = embedder_of(server)
        with pytest.raises(EmbedderUnavailable, match=f"127.0.0.1:{server.port}"):
            await model.dimension()
        await model.close()
