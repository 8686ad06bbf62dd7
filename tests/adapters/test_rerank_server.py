"""A cross-encoder over HTTP, against a local server that behaves and misbehaves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from adapters.rerank_server import MAX_CHARACTERS, RerankServer
from memory.errors import RerankerUnavailable

TEXTS = ["パンを焼く", "the heron stands in the reeds", "trains run late"]
Answer = Callable[[dict[str, Any]], web.Response]


class Double:
    """Speaks `/rerank`; `answer` makes of a request what is sent back."""

    def __init__(self, answer: Answer, delay: float = 0.0) -> None:
        self.answer = answer
        self.delay = delay
        self.requests: list[dict[str, Any]] = []
        self.url = ""

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.requests.append(body)
        await asyncio.sleep(self.delay)
        return self.answer(body)


@asynccontextmanager
async def serving(answer: Answer, delay: float = 0.0) -> AsyncIterator[Double]:
    double = Double(answer, delay)
    app = web.Application()
    app.add_routes([web.post("/rerank", double.handle), web.post("/v1/rerank", double.handle)])
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    double.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield double
    finally:
        await runner.cleanup()


def by_length(body: dict[str, Any]) -> web.Response:
    """Jina's and Cohere's format, best first: the longest."""
    results = [
        {"index": n, "relevance_score": len(text)} for n, text in enumerate(body["documents"])
    ]
    results.sort(key=lambda item: -item["relevance_score"])
    return web.json_response({"model": body.get("model"), "results": results})


def tei(body: dict[str, Any]) -> web.Response:
    """text-embeddings-inference: other names, a bare list."""
    if "texts" not in body:
        return web.json_response({"error": "missing field `texts`"}, status=422)
    return web.json_response([{"index": n, "score": len(t)} for n, t in enumerate(body["texts"])])


async def asked(double: Double, texts: list[str], **options: Any) -> list[float]:
    server = RerankServer(double.url, "bge-reranker-v2-m3", **options)
    try:
        return await server.scores("どの鳥？", texts)
    finally:
        await server.close()


@pytest.mark.parametrize("speaks", [by_length, tei])
async def test_scores_come_in_the_order_of_the_texts(speaks: Answer) -> None:
    async with serving(speaks) as double:
        assert await asked(double, TEXTS) == [float(len(text)) for text in TEXTS]
        assert double.requests[0]["query"] == "どの鳥？"
        assert double.requests[0]["model"] == "bge-reranker-v2-m3"


async def test_the_other_format_is_found_out_once() -> None:
    async with serving(tei) as double:
        server = RerankServer(double.url)
        for _ in range(3):
            await server.scores("q", TEXTS)
        await server.close()
        assert ["texts" in body for body in double.requests] == [False, True, True, True]
        assert not any("model" in body for body in double.requests)


async def test_a_path_may_be_part_of_the_address() -> None:
    async with serving(by_length) as double:
        for url in (f"{double.url}/v1", f"{double.url}/v1/rerank"):
            server = RerankServer(url)
            assert len(await server.scores("q", TEXTS)) == len(TEXTS)
            await server.close()


async def test_long_texts_and_broken_characters_are_sent_so_that_they_fit() -> None:
    async with serving(by_length) as double:
        assert len(await asked(double, ["長" * 5_000, "\ud83d alone"])) == 2
        first, second = double.requests[0]["documents"]
        assert len(first) == MAX_CHARACTERS
        assert second == "� alone"


async def test_nothing_to_read_asks_nothing() -> None:
    async with serving(by_length) as double:
        assert await asked(double, []) == []
        assert double.requests == []


def results(*items: object) -> Answer:
    return lambda _: web.Response(text=json.dumps({"results": items}))


def item(index: object, score: object) -> dict[str, object]:
    return {"index": index, "relevance_score": score}


GOOD = (item(0, 1), item(1, 2))


@pytest.mark.parametrize(
    "answer",
    [
        results(*GOOD),
        results(*GOOD, item(3, 1)),
        results(*GOOD, item(1, 1)),
        results(*GOOD, item(-1, 1)),
        results(*GOOD, item(2, float("nan"))),
        results(*GOOD, item(2, float("inf"))),
        results(*GOOD, item(2, None)),
        results(*GOOD, item(2, "1.0")),
        results(*GOOD, item(2, True)),
        results(*GOOD, item("2", 1)),
        results(*GOOD, {"index": 2}),
        results(*GOOD, item(2, 1), item(3, 1)),
        results(*GOOD, 7),
        lambda _: web.json_response({"error": "no model"}),
        lambda _: web.json_response(7),
        lambda _: web.Response(text="<html>"),
        lambda _: web.Response(body=b"\xff\xfe{"),
        lambda _: web.Response(text='{"results": [' + "[" * 5_000),
        lambda _: web.Response(status=500, text="out of memory"),
        lambda _: web.Response(status=422, text="no"),
        lambda _: web.Response(status=302, headers={"Location": "http://127.0.0.1:9/rerank"}),
    ],
)
async def test_an_unusable_answer_is_an_error_of_ours(answer: Answer) -> None:
    async with serving(answer) as double:
        with pytest.raises(RerankerUnavailable):
            await asked(double, TEXTS)


async def test_a_slow_server_is_waited_for_as_long_as_was_said() -> None:
    async with serving(by_length, delay=5.0) as double:
        with pytest.raises(RerankerUnavailable, match="too long"):
            await asked(double, TEXTS, timeout=0.1)


async def test_nobody_there_is_an_error_of_ours() -> None:
    async with serving(by_length) as double:
        pass
    with pytest.raises(RerankerUnavailable):
        await asked(double, TEXTS)


@pytest.mark.parametrize(
    ("url", "local"),
    [("http://127.0.0.1:8080", True), ("localhost:8080", True), ("https://8.8.8.8/v1", False)],
)
async def test_an_address_elsewhere_is_not_local(url: str, local: bool) -> None:
    server = RerankServer(url)
    assert server.is_local is local
    await server.close()


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(ValueError, match="not an http address"):
        RerankServer("ftp://example")
