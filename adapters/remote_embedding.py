"""What every embedder behind HTTP has in common: batches, bad texts, and the dimension."""

from __future__ import annotations

import asyncio
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from adapters.embedding_prompts import prefixes_of
from adapters.hosts import is_this_machine
from adapters.vectors import BLANK, unit_vector
from adapters.wire_text import well_formed
from memory.errors import EmbedderUnavailable, EmbeddingFailed
from memory.ports import InputType
from memory.types import Vector

log = logging.getLogger(__name__)

BATCH = 32
"""Texts per request."""

MAX_CHARACTERS = 32_000
"""Of one text; more than 8,192 tokens, the longest input of the models in use."""

MIN_CHARACTERS = 200
"""A text is not shortened further than this when a server says that it is too long."""

ATTEMPTS = 3

_PROBE = "dimension"

_TOO_LONG = re.compile(r"context|too (long|large|many)|exceed|maximum", re.IGNORECASE)
"""How servers say that a text is too long, some in spite of `truncate` (ollama/ollama#14186)."""


class EmbedderBusy(EmbedderUnavailable):
    """The server cannot be asked now and may be a moment later; embedding twice is harmless."""


class RemoteEmbedder(ABC):
    """A `memory.ports.Embedder` over HTTP; subclasses say how to ask."""

    def __init__(self, kind: str, model: str, url: str, retry_wait: float) -> None:
        """`retry_wait`: seconds before the second try, doubled for the third."""
        self._name = f"{kind}:{model.removesuffix(':latest')}"
        self._model = model
        self._prefixes = prefixes_of(model)
        self._is_local = is_this_machine(url)
        self._retry_wait = retry_wait
        self._dimension: int | None = None
        self._probing = asyncio.Lock()

    @property
    def name(self) -> str:
        return self._name

    @property
    def is_local(self) -> bool:
        return self._is_local

    @abstractmethod
    async def _request(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Ask once: one row per text, unchecked.

        Raises EmbeddingFailed when the server refused these texts, EmbedderBusy when asking
        again is safe, EmbedderUnavailable otherwise.
        """

    async def dimension(self) -> int:
        """See `memory.ports.Embedder.dimension`. Asks the server once."""
        async with self._probing:
            if self._dimension is None:
                self._dimension = await self._probe()
        return self._dimension

    async def _probe(self) -> int:
        """Embed a harmless word; raises EmbedderUnavailable when even that fails."""
        try:
            row = (await self._rows([self._prefixes.before(_PROBE, "query")]))[0]
            return len(unit_vector(row, len(row)))
        except EmbeddingFailed as error:
            raise EmbedderUnavailable(f"{self.name} gives no embeddings: {error}") from error

    async def embed(
        self, texts: Sequence[str], input_type: InputType
    ) -> list[Vector | EmbeddingFailed]:
        """See `memory.ports.Embedder.embed`. A long text counts by its beginning."""
        results: list[Vector | EmbeddingFailed] = [EmbeddingFailed(BLANK) for _ in texts]
        wanted = [
            (place, self._prefixes.before(well_formed(text[:MAX_CHARACTERS]), input_type))
            for place, text in enumerate(texts)
            if text.strip()
        ]
        if not wanted:
            return results
        dimension = await self.dimension()
        for start in range(0, len(wanted), BATCH):
            batch = wanted[start : start + BATCH]
            vectors = await self._embed_batch([text for _, text in batch], dimension)
            for (place, _), vector in zip(batch, vectors, strict=True):
                results[place] = vector
        return results

    async def _embed_batch(
        self, texts: Sequence[str], dimension: int
    ) -> list[Vector | EmbeddingFailed]:
        try:
            rows = await self._rows(texts)
        except EmbeddingFailed as error:
            # is it these texts, or does the server refuse everything?
            await self._probe()
            log.info("%s refused a batch of %d texts; asking in parts", self.name, len(texts))
            return await self._in_parts(texts, dimension, error)
        return [_checked(row, dimension) for row in rows]

    async def _in_parts(
        self, texts: Sequence[str], dimension: int, refusal: EmbeddingFailed
    ) -> list[Vector | EmbeddingFailed]:
        """Halve a refused batch until the texts that fail stand alone."""
        if len(texts) == 1:
            return [await self._shortened(texts[0], dimension, refusal)]
        middle = len(texts) // 2
        results: list[Vector | EmbeddingFailed] = []
        for part in (texts[:middle], texts[middle:]):
            try:
                rows = await self._rows(part)
            except EmbeddingFailed as error:
                results += await self._in_parts(part, dimension, error)
            else:
                results += [_checked(row, dimension) for row in rows]
        return results

    async def _shortened(
        self, text: str, dimension: int, refusal: EmbeddingFailed
    ) -> Vector | EmbeddingFailed:
        """The vector of as much of a refused text as the server takes, else its refusal."""
        while _TOO_LONG.search(str(refusal)) and len(text) > MIN_CHARACTERS:
            text = text[: len(text) // 2]
            try:
                return _checked((await self._rows([text]))[0], dimension)
            except EmbeddingFailed as error:
                refusal = error
        return refusal

    async def _rows(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """As `_request`, asked again while the server is busy; exactly one row per text."""
        async for attempt in AsyncRetrying(
            retry=retry_if_exception_type(EmbedderBusy),
            stop=stop_after_attempt(ATTEMPTS),
            wait=wait_exponential(self._retry_wait),
            reraise=True,
        ):
            with attempt:
                rows = await self._request(texts)
        if len(rows) != len(texts):
            raise EmbeddingFailed(f"The model gave {len(rows)} vectors for {len(texts)} texts.")
        return rows


def _checked(row: Sequence[float], dimension: int) -> Vector | EmbeddingFailed:
    try:
        return unit_vector(row, dimension)
    except EmbeddingFailed as error:
        return error
