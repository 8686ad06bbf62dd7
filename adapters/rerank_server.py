"""Cross-encoders behind HTTP: the `/rerank` of llama.cpp, vLLM, Infinity, TEI and others.

Most speak the format of Jina and Cohere (`documents`, `relevance_score`); text-embeddings-
inference has names of its own (`texts`, `score`). See github.com/ggml-org/llama.cpp,
tools/server/README.md, and github.com/huggingface/text-embeddings-inference.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import httpx

from adapters.hosts import base_url, is_this_machine
from adapters.wire_text import well_formed
from memory.errors import RerankerUnavailable

PORT = 8080
PATH = "rerank"

MAX_CHARACTERS = 1_000
"""Of one text: servers refuse a pair that is longer than they read at once, 512 tokens for many."""


class RerankServer:
    """A cross-encoder of a server. Implements `memory.ports.Reranker`."""

    def __init__(
        self, url: str, model: str = "", *, timeout: float = 3.0, connect_timeout: float = 1.0
    ) -> None:
        """`timeout`: seconds for all texts of a search; a person waits for them.

        `model` may be left out where a server has one. Raises ValueError when `url` is not an
        address.
        """
        address = base_url(url, PORT)
        self._url = address if address.endswith(f"/{PATH}") else f"{address}/{PATH}"
        self._model = model
        self._is_local = is_this_machine(address)
        self._timeout = timeout
        self._says_texts = False
        # no redirects, and no proxy to this machine: text goes to the address that was set
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(timeout, connect=connect_timeout),
            follow_redirects=False,
            trust_env=not self._is_local,
        )

    @property
    def name(self) -> str:
        return f"rerank:{self._model}" if self._model else "rerank"

    @property
    def is_local(self) -> bool:
        return self._is_local

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """See `memory.ports.Reranker.scores`. A long text counts by its beginning."""
        if not texts:
            return []
        sent = [well_formed(text[:MAX_CHARACTERS]) for text in texts]
        asked = well_formed(query[:MAX_CHARACTERS])
        try:
            # httpx's own limits are for each read: a server that drips would never meet them
            async with asyncio.timeout(self._timeout):
                answer = await self._ask(asked, sent)
        except TimeoutError as error:
            raise RerankerUnavailable(f"{self._url} took too long.") from error
        except httpx.HTTPError as error:
            raise RerankerUnavailable(f"Nothing usable comes from {self._url}.") from error
        try:
            return _in_order(answer.json(), len(sent))
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            raise RerankerUnavailable(f"{self._url} gave no score for each text.") from error

    async def _ask(self, query: str, texts: Sequence[str]) -> httpx.Response:
        """Ask in the common format, or in TEI's once a server has turned out to want that."""
        refused = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
        for says_texts in (False, True) if not self._says_texts else (True,):
            answer = await self._client.post(self._url, json=self._body(query, texts, says_texts))
            if answer.status_code in refused and not says_texts:
                continue
            if answer.status_code != HTTPStatus.OK:
                raise RerankerUnavailable(f"{self._url} refused ({answer.status_code}).")
            self._says_texts = says_texts
            break
        return answer

    def _body(self, query: str, texts: Sequence[str], says_texts: bool) -> dict[str, Any]:
        named = {"model": self._model} if self._model else {}
        return {"query": query, "texts" if says_texts else "documents": list(texts), **named}

    async def close(self) -> None:
        await self._client.aclose()


def _in_order(answer: Any, count: int) -> list[float]:
    """Scores in the order of the texts; raises where one is missing, twice there or no number."""
    results = answer["results"] if isinstance(answer, dict) else answer
    scores: dict[int, float] = {}
    for item in results:
        value = item["relevance_score"] if "relevance_score" in item else item["score"]
        index = item["index"]
        if isinstance(value, (bool, str)) or not isinstance(index, int) or index in scores:
            raise ValueError("not a score of one text")
        scores[index] = float(value)
    if sorted(scores) != list(range(count)) or not all(map(math.isfinite, scores.values())):
        raise ValueError("not a finite score for each text")
    return [scores[index] for index in range(count)]
