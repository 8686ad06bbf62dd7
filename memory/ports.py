"""What the memory needs from outside, as Protocols."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from memory.errors import EmbeddingFailed
from memory.types import Fact, NewFact, Vector, Verdict

InputType = Literal["query", "document"]
"""Which side of a search a text is on: some models want a different prefix for each."""


class Clock(Protocol):
    """Tells the time. A clock that tests can set takes the place of the system's."""

    def __call__(self) -> datetime:
        """The current time, UTC-aware."""
        ...


@dataclass(frozen=True, slots=True)
class Pair:
    """A new fact and a known one of the same subject and place."""

    new: NewFact
    known: Fact


class Judge(Protocol):
    """Says how pairs of facts relate. `memory` overrules what its guards forbid."""

    async def judge(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """One verdict per pair, in order; DIFFERENT where the judge gave no usable one.

        Asked once for a whole batch. May raise when it cannot be asked: nothing is stored then.
        """
        ...


class Embedder(Protocol):
    """Turns text into vectors of one model. Safe to call from several tasks at once."""

    @property
    def name(self) -> str:
        """Identifies the model and its weights, such as `ollama:bge-m3`; vectors of two
        embedders are comparable exactly when their names are equal."""
        ...

    @property
    def is_local(self) -> bool:
        """False when text leaves this machine."""
        ...

    async def dimension(self) -> int:
        """Length d of its vectors. Raises EmbedderUnavailable."""
        ...

    async def embed(
        self, texts: Sequence[str], input_type: InputType
    ) -> list[Vector | EmbeddingFailed]:
        """One entry per text, in order: float32 (d,), L2-normalised, or why that text failed.

        Raises EmbedderUnavailable when the model could not be asked at all.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


class Reranker(Protocol):
    """A cross-encoder: reads a query and a text together. Safe to call from several tasks."""

    @property
    def name(self) -> str:
        """For people, such as `rerank:bge-reranker-v2-m3`."""
        ...

    @property
    def is_local(self) -> bool:
        """False when text leaves this machine."""
        ...

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the query, in order: finite, higher is better, of no scale.

        Raises RerankerUnavailable.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
