"""How near searches by meaning come to what the bytes allow."""

from __future__ import annotations

import sqlite3

import numpy as np
import numpy.typing as npt

from memory.index import VectorIndex
from memory.types import Vector, Vectors
from tests.bench.measure import Figure, by_turns, median, p95
from tests.bench.stores import Shelf, Sizes, audience_sizes, query_vectors

K = 10
AUDIENCES = (1_000, 10_000)
"""Facts in the audiences of the small store."""

SESSIONS = 20
"""Conversations that go on at the same time."""

SESSION_TURNS = 30
"""Questions in one conversation, on average."""

_BYTES = "SELECT owner, vector FROM embedding WHERE audience_id = ? AND model_id = ?"


def product(rows: Vectors, query: Vector, k: int) -> npt.NDArray[np.int64]:
    """The raw search that others are held against: a product and the top k, best first."""
    scores = rows @ query
    if len(rows) <= k:
        return np.argsort(-scores)
    best = np.argpartition(scores, -k)[-k:]
    return best[np.argsort(-scores[best])]


async def warm_search(shelf: Shelf, facts: int, *, aim: float) -> list[Figure]:
    """A search whose index is in memory, against the product over the same rows."""
    store = shelf.vectors(AUDIENCES)
    audience_id = AUDIENCES.index(facts) + 1
    index = VectorIndex(store.database)
    rows, queries = store.rows(audience_id), query_vectors(200)
    centred = store.model.calibration.center(queries)

    async def search(repeat: int) -> object:
        return await index.search(store.model, queries[repeat % len(queries)], [audience_id], K)

    async def raw(repeat: int) -> object:
        return product(rows, centred[repeat % len(centred)], K)

    spent, reference = await by_turns(search, raw, repeats=600)
    return [
        Figure(
            f"search-{facts}",
            f"warm search in {facts:,} facts / product and top {K}",
            median(spent),
            median(reference),
            aim,
        )
    ]


async def conversations(
    shelf: Shelf, facts: int, audiences: int, *, turns: int = 3_000
) -> list[Figure]:
    """A large store under conversation-like traffic, from a cold start, with the usual budget."""
    store = shelf.vectors(audience_sizes(facts, audiences))
    index = VectorIndex(store.database)
    places = traffic(store.sizes, turns)
    queries = query_vectors(200)
    centred = store.model.calibration.center(queries)

    async def search(repeat: int) -> object:
        query = queries[repeat % len(queries)]
        return await index.search(store.model, query, [int(places[repeat])], K)

    async def raw(repeat: int) -> object:
        return product(store.rows(int(places[repeat])), centred[repeat % len(centred)], K)

    spent, reference = await by_turns(search, raw, repeats=turns)
    described = _described(store.sizes)
    shelf.let_go(store)
    return [
        Figure(
            "conversations",
            f"p95 in {facts:,} facts of {audiences:,} audiences / the same of the product",
            p95(spent),
            p95(reference),
            1.5,
            f"audiences: {described}; {len(set(places.tolist())):,} visited",
        )
    ]


def traffic(sizes: Sizes, turns: int) -> npt.NDArray[np.int64]:
    """Audience ids of successive questions: SESSIONS conversations at a time, mixed.

    A conversation ends after SESSION_TURNS questions on average; the next one is where a fact
    drawn at random lies, for much is known where much is said.
    """
    source = np.random.default_rng(9)
    ends = np.cumsum(sizes)

    def somewhere() -> int:
        return int(np.searchsorted(ends, source.integers(ends[-1]), side="right")) + 1

    live = [somewhere() for _ in range(SESSIONS)]
    asked = []
    for _ in range(turns):
        session = source.integers(SESSIONS)
        asked.append(live[session])
        if source.random() < 1 / SESSION_TURNS:
            live[session] = somewhere()
    return np.array(asked, dtype=np.int64)


def _described(sizes: Sizes) -> str:
    p50, p99 = np.percentile(sizes, [50, 99])
    return f"median {p50:.0f}, p99 {p99:.0f}, largest {sizes.max():,}"


async def building(shelf: Shelf, facts: int) -> list[Figure]:
    """The first search in an audience, which builds its index, against reading its bytes."""
    store = shelf.vectors(AUDIENCES)
    audience_id = AUDIENCES.index(facts) + 1
    index = VectorIndex(store.database)
    (query,) = query_vectors(1)
    connection = sqlite3.connect(str(store.database.path))

    async def first_search(_: int) -> object:
        index.evict((audience_id, store.model.id))
        return await index.search(store.model, query, [audience_id], K)

    async def read(_: int) -> object:
        return connection.execute(_BYTES, (audience_id, store.model.id)).fetchall()

    spent, reference = await by_turns(first_search, read, repeats=40)
    connection.close()
    return [
        Figure(
            "build",
            f"first search in an audience of {facts:,} / reading its bytes",
            median(spent),
            median(reference),
            4.5,
        )
    ]
