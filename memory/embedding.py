"""Which embedding model serves, and getting every text its vector.

A text is embedded once however many records hold it in a short time. When the configured model
is not the one whose vectors are stored, the old one serves until every record has a vector of
the new one. While a model cannot be reached its texts wait in a queue in SQL.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from memory import calibration
from memory.errors import EmbedderUnavailable, EmbeddingFailed, InvalidVector
from memory.index import VectorIndex
from memory.ports import Clock, Embedder, InputType
from memory.store import embeddings, texts
from memory.store.database import Database
from memory.store.embeddings import Item, Model
from memory.types import Vector

log = logging.getLogger(__name__)

BATCH = 32
"""Texts per call while draining: small, so that a question asked meanwhile waits little."""

REMEMBERED = 512
"""Vectors kept by text, so that a message and the fact read off it are embedded once."""

MakeEmbedder = Callable[[str], Embedder | None]
"""Gives the embedder of a name, to serve with while another is built up; None if it cannot."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A model in the database and the embedder that speaks it."""

    model: Model
    embedder: Embedder


class EmbeddingService:
    """Embeds queries and records with the models that the database has."""

    def __init__(
        self,
        database: Database,
        index: VectorIndex,
        embedder: Embedder,
        clock: Clock,
        *,
        make_embedder: MakeEmbedder = lambda _: None,
    ) -> None:
        self._database = database
        self._index = index
        self._embedder = embedder
        self._clock = clock
        self._make_embedder = make_embedder
        self._serving: Ready | None = None
        self._target: Ready | None = None
        self._recent: OrderedDict[tuple[str, InputType, str], Vector] = OrderedDict()
        self._asked: dict[str, asyncio.Task[tuple[Model, Vector] | None]] = {}
        """Questions that are being embedded now."""

    @property
    def configured(self) -> Embedder:
        return self._embedder

    async def close(self) -> None:
        """Close the embedders."""
        for task in list(self._asked.values()):
            task.cancel()
        ready = [each.embedder for each in (self._serving, self._target) if each is not None]
        for embedder in {id(each): each for each in (self._embedder, *ready)}.values():
            await embedder.close()

    async def serving(self) -> Ready | None:
        """The model that searches use; None while there is none that can be asked."""
        if self._serving is None:
            await self.open()
        return self._serving

    async def open(self) -> None:
        """Find or make the models' rows. While the embedder is away, leaves things as they are."""
        name = self._embedder.name
        serving = await self._database.read(embeddings.serving_model)
        known = await self._database.read(lambda s: embeddings.find_model(s, name))
        if known is None:
            try:
                known = await self._introduce(first=serving is None)
            except EmbedderUnavailable as error:
                log.warning("the embedding model %s is not available: %s", name, error)
                return
        target = Ready(known, self._embedder)
        if serving is None or serving.id == known.id:
            self._serving, self._target = target, target
            return
        old = self._make_embedder(serving.name)
        self._serving = Ready(serving, old) if old is not None else None
        self._target = target
        if old is None:
            log.warning("%s cannot be asked; keywords alone until %s is ready", serving.name, name)
        await self._switch_when_done()

    async def _introduce(self, *, first: bool) -> Model:
        """Measure the configured model and add it; a second one gets everything queued."""
        dimension = await self._embedder.dimension()
        measured = await calibration.calibrate(self._embedder)
        now = self._clock()

        def add(session: Session) -> Model:
            model = embeddings.add_model(
                session, self._embedder.name, dimension, measured, serving=first
            )
            embeddings.enqueue_many(session, model.id, texts.every_embedded(session), now)
            return model

        return await self._database.write(add)

    def foresee(self, text: str) -> None:
        """Begin to embed a question that will soon be searched for: that takes longest of all."""
        if text not in self._asked:
            task = asyncio.create_task(self._query(text))
            self._asked[text] = task
            task.add_done_callback(lambda done: self._answered(text, done))

    async def query(self, text: str) -> tuple[Model, Vector] | None:
        """A question's vector by the serving model; None while no model can be asked."""
        self.foresee(text)
        return await asyncio.shield(self._asked[text])

    def _answered(self, text: str, task: asyncio.Task[tuple[Model, Vector] | None]) -> None:
        del self._asked[text]
        if not task.cancelled():
            task.exception()  # it is raised where somebody waits, and of no use where nobody does

    async def _query(self, text: str) -> tuple[Model, Vector] | None:
        ready = await self.serving()
        if ready is None:
            return None
        try:
            result = (await self._embed(ready, [text], "query"))[0]
        except EmbedderUnavailable as error:
            log.warning("searching by keywords alone: %s", error)
            return None
        return None if isinstance(result, EmbeddingFailed) else (ready.model, result)

    async def documents(self, batch: Sequence[str]) -> list[tuple[Model, Vector] | None]:
        """Records' vectors by the serving model, in order; None where there is none (yet)."""
        ready = await self.serving()
        if ready is None:
            return [None] * len(batch)
        try:
            results = await self._embed(ready, batch, "document")
        except EmbedderUnavailable as error:
            log.warning("left %d texts for later: %s", len(batch), error)
            return [None] * len(batch)
        return [None if isinstance(r, EmbeddingFailed) else (ready.model, r) for r in results]

    async def _embed(
        self, ready: Ready, batch: Sequence[str], input_type: InputType
    ) -> list[Vector | EmbeddingFailed]:
        """As `Embedder.embed`, each new text asked for once, every vector validated."""
        name = ready.model.name
        wanted = [t for t in dict.fromkeys(batch) if (name, input_type, t) not in self._recent]
        failed: dict[str, EmbeddingFailed] = {}
        for text, result in zip(
            wanted, await ready.embedder.embed(wanted, input_type) if wanted else [], strict=True
        ):
            if isinstance(result, EmbeddingFailed):
                failed[text] = result
                continue
            try:
                vector = embeddings.validate(result, ready.model.dimension)
            except InvalidVector as error:
                failed[text] = EmbeddingFailed(str(error))
                continue
            self._recent[(name, input_type, text)] = vector
        found = [failed.get(t) or self._recent[(name, input_type, t)] for t in batch]
        while len(self._recent) > REMEMBERED:
            self._recent.popitem(last=False)
        return found

    def forget_recent(self) -> None:
        """Drop the vectors kept by text, so that nothing forgotten stays in memory."""
        self._recent.clear()

    # -- the queue -------------------------------------------------------------------------------

    async def drain(self, limit: int | None = None) -> int:
        """Give queued texts their vectors; gives how many got one.

        Stops after `limit` texts, when nothing is due, or when the model cannot be asked: what
        is left waits in SQL.
        """
        await self.serving()
        done = 0
        for ready in {r.model.id: r for r in (self._serving, self._target) if r}.values():
            while limit is None or done < limit:
                got = await self._drain_batch(ready)
                if not got:
                    break
                done += got
        await self._switch_when_done()
        return done

    async def _drain_batch(self, ready: Ready) -> int:
        now = self._clock()
        due, words = await self._database.read(
            lambda session: _due_texts(session, ready.model, now)
        )
        if not due:
            return 0
        batch = [words[key] for _, key in due if key in words]
        try:
            results = await self._embed(ready, batch, "document") if batch else []
        except EmbedderUnavailable as error:
            log.warning("left %d texts for later: %s", len(batch), error)
            return 0
        outcome = dict(zip((key for _, key in due if key in words), results, strict=True))

        def store(session: Session) -> list[tuple[int, int, list[tuple[int, Vector]]]]:
            # a record may have changed or gone while its old text was being embedded
            current = texts.by_key(session, [key for _, key in due])
            fresh = [(a, k) for a, k in due if k in words and current.get(k) == words[k]]
            good = [(a, k, v) for a, k in fresh if not isinstance(v := outcome[k], EmbeddingFailed)]
            embeddings.put(session, ready.model, [Item(a, k, words[k], v) for a, k, v in good])
            for _, key in fresh:
                if isinstance(outcome[key], EmbeddingFailed):
                    embeddings.postpone(session, ready.model.id, key, now)
            vanished = [k for _, k in due if k not in current]
            embeddings.dequeue(session, ready.model.id, [k for _, k, _ in good] + vanished)
            return [
                (
                    audience_id,
                    embeddings.version(session, audience_id, ready.model.id),
                    [(k, v) for a, k, v in good if a == audience_id],
                )
                for audience_id in sorted({a for a, _, _ in good})
            ]

        for audience_id, version, added in await self._database.write(store):
            self._index.apply(ready.model, audience_id, version, added=added)
        return len(due)

    async def waiting(self) -> int:
        """How many texts lack a vector of the configured model."""
        target = self._target
        if target is None:
            return 0
        return await self._database.read(lambda s: embeddings.queued(s, target.model.id))

    async def _switch_when_done(self) -> None:
        target, serving = self._target, self._serving
        if target is None or (serving is not None and serving.model.id == target.model.id):
            return
        if await self.waiting() == 0:
            await self._database.write(lambda s: embeddings.serve(s, target.model.id))
            self._serving = target
            log.info("searches now use %s", target.model.name)


def _due_texts(
    session: Session, model: Model, now: datetime
) -> tuple[list[tuple[int, int]], dict[int, str]]:
    due = embeddings.due(session, model.id, now, BATCH)
    return due, texts.by_key(session, [key for _, key in due])
