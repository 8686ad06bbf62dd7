"""Numbers for Prometheus: what comes in, what waits, how long models take. Nobody's words."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from bot.jobs import Jobs
from bot.messages import Turn
from bot.ports import ChatModel, Schema
from memory import statistics
from memory.ports import Clock
from memory.statistics import Statistics
from memory.store.database import Database

BUCKETS = (0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 40, 80, 160)
"""Seconds of a model call: from a small model on a graphics card to a large one without."""


class MeasuredModel:
    """A chat model whose calls are timed and counted. Implements `bot.ports.ChatModel`."""

    def __init__(self, model: ChatModel, seconds: Histogram, calls: Counter) -> None:
        self._model = model
        self._seconds = seconds
        self._calls = calls

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def is_local(self) -> bool:
        return self._model.is_local

    @property
    def context_tokens(self) -> int:
        return self._model.context_tokens

    async def stream(self, turns: Sequence[Turn], *, max_tokens: int) -> AsyncIterator[str]:
        """See `ChatModel.stream`. An answer that its reader gave up counts as `left`."""
        began, outcome = time.perf_counter(), "left"
        try:
            async for piece in self._model.stream(turns, max_tokens=max_tokens):
                yield piece
            outcome = "done"
        except Exception:
            outcome = "failed"
            raise
        finally:
            self._note("answer", outcome, began)

    async def structured(
        self, turns: Sequence[Turn], schema: type[Schema], *, max_tokens: int
    ) -> Schema:
        """See `ChatModel.structured`."""
        began, outcome = time.perf_counter(), "failed"
        try:
            answer = await self._model.structured(turns, schema, max_tokens=max_tokens)
            outcome = "done"
            return answer
        finally:
            self._note("structured", outcome, began)

    def _note(self, kind: str, outcome: str, began: float) -> None:
        self._calls.labels(kind, outcome).inc()
        self._seconds.labels(kind).observe(time.perf_counter() - began)

    async def check(self) -> None:
        await self._model.check()

    async def close(self) -> None:
        await self._model.close()


class Metrics:
    """All metrics of one process, in a registry of their own."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self.registry = registry = CollectorRegistry()
        self._seconds = Histogram(
            "oboete_model_seconds", "Seconds of a model call", ["kind"],
            buckets=BUCKETS, registry=registry,
        )  # fmt: skip
        self._calls = Counter(
            "oboete_model_calls", "Model calls", ["kind", "outcome"], registry=registry
        )
        self._gauges = {
            name: Gauge(f"oboete_{name}", told, labels, registry=registry)
            for name, told, labels in _GAUGES
        }

    def measured(self, model: ChatModel) -> ChatModel:
        """The same model, with its calls counted here."""
        return MeasuredModel(model, self._seconds, self._calls)

    async def scrape(self, jobs: Jobs, connected: Mapping[str, bool]) -> bytes:
        """The metrics as Prometheus reads them. Raises StoreUnavailable."""
        now = self._clock()
        counted, inbound, queued = await self._database.read(
            lambda s: (statistics.gather(s, now), statistics.last_inbound(s), statistics.queued(s))
        )
        self._count(counted)
        self._gauges["embedding_queue"].set(queued)
        for platform, moment in inbound.items():
            self._gauges["last_inbound_timestamp_seconds"].labels(platform).set(moment)
        for platform, is_connected in connected.items():
            self._gauges["platform_connected"].labels(platform).set(is_connected)
        lags = await jobs.lags()
        for job, state in jobs.states.items():
            self._gauges["job_lag_seconds"].labels(job).set(lags[job])
            self._gauges["job_failures"].labels(job).set(state.failures)
        return generate_latest(self.registry)

    def _count(self, counted: Statistics) -> None:
        self._gauges["inbox_depth"].set(counted.waiting)
        self._gauges["unread_messages"].set(counted.unread)
        self._gauges["facts"].set(counted.facts)
        self._gauges["people"].set(counted.people)
        self._gauges["messages"].set(counted.messages)
        self._gauges["model_calls_per_message"].set(counted.calls_per_message or 0)
        self._gauges["answer_milliseconds"].set(counted.milliseconds or 0)


_GAUGES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("last_inbound_timestamp_seconds", "When a platform last sent an event", ("platform",)),
    ("platform_connected", "1 while a platform's connection stands", ("platform",)),
    ("inbox_depth", "Events that are not handled to their end", ()),
    ("unread_messages", "Messages that facts have not been read off yet", ()),
    ("embedding_queue", "Texts that lack a vector", ()),
    ("job_lag_seconds", "How late a job is", ("job",)),
    ("job_failures", "Failed runs of a job since the start", ("job",)),
    ("facts", "Facts", ()),
    ("people", "People who have said something that is kept", ()),
    ("messages", "Messages", ()),
    ("model_calls_per_message", "Blocking model calls of an answer, mean of a week", ()),
    ("answer_milliseconds", "Milliseconds of an answer, mean of a week", ()),
)
