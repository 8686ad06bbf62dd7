"""A second opinion on the order of what was found, by a cross-encoder. Off unless one is set.

It reads the query and each record together, which tells near equals apart better than vectors
made beforehand, and takes longer. It only orders: whether anything relevant was found stays with
the calibrated evidence, which no cross-encoder's scale has to be trusted for.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from memory.errors import RerankerUnavailable
from memory.ports import Reranker
from memory.types import Hit

log = logging.getLogger(__name__)

DEPTH = 20
"""Best records that are read again: on hard JSQuAD the right one is among the first ten for 79 %
(docs/retrieval.md), and the time a cross-encoder takes grows with each."""

PAUSE = 30.0
"""Seconds for which one that failed is not asked: no answer waits for the same failure twice."""


class Reranking:
    """Orders hits by a cross-encoder, or leaves them as they are."""

    def __init__(
        self, reranker: Reranker | None, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._reranker = reranker
        self._seconds = seconds
        self._away_until = float("-inf")

    def depth(self, k: int) -> int:
        """How many records to search for, so that k of them come back."""
        return k if self._reranker is None else max(k, DEPTH)

    async def order(self, query: str, hits: Sequence[Hit], k: int) -> list[Hit]:
        """The k best, best first, by the cross-encoder's order of the first `DEPTH`.

        The scores that were given out stay the same, one place lower or higher: each hit says
        what it gained or lost by it under the signal `rerank`.
        """
        if self._reranker is None or len(hits) < 2 or self._seconds() < self._away_until:
            return list(hits[:k])
        read = hits[:DEPTH]
        try:
            scores = await self._reranker.scores(query, [hit.text for hit in read])
        except RerankerUnavailable as error:
            log.warning("left in the order in which it was found: %s", error)
            self._away_until = self._seconds() + PAUSE
            return list(hits[:k])
        order = sorted(range(len(read)), key=lambda at: -scores[at])
        placed = [_placed(read[at], read[place].score) for place, at in enumerate(order)]
        return [*placed, *hits[DEPTH:]][:k]


def _placed(hit: Hit, score: float) -> Hit:
    """The hit with another's score; its signals still add up to it."""
    return replace(hit, score=score, signals=(*hit.signals, ("rerank", score - hit.score)))
