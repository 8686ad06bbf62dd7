"""What keyword search costs, when storing and when asking."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import numpy as np
from sqlmodel import Session

from memory import lexical
from memory.store import embeddings, facts
from memory.store.embeddings import Item
from memory.types import Kind, NewFact, Origin, Ref
from tests.bench import sentences
from tests.bench.filling import SPEAKER, room
from tests.bench.measure import Figure, by_turns, median
from tests.bench.stores import Shelf, audience_sizes, query_vectors
from tests.fakes import NOON

LIMIT = 100
"""Candidates that the ranking asks for."""


async def scoped(shelf: Shelf, facts_in_all: int, audiences: int) -> list[Figure]:
    """A question in one audience against the same question in all of them.

    Audiences are drawn as facts are: half of them hold more than about 1,000.
    """
    store = shelf.keywords(audience_sizes(facts_in_all, audiences))
    asked = sentences.questions(12)
    everywhere = list(range(1, audiences + 1))
    source = np.random.default_rng(3)
    ends = np.cumsum(store.sizes)
    drawn = np.searchsorted(ends, source.integers(ends[-1], size=len(asked)), side="right") + 1

    def search(audience_ids: Sequence[int], repeat: int) -> asyncio.Future[object]:
        return asyncio.ensure_future(
            store.database.read(
                lambda s: lexical.search(s, audience_ids, asked[repeat % len(asked)], LIMIT)
            )
        )

    some, largest, all_of_them = await by_turns(
        lambda repeat: search([int(drawn[repeat % len(drawn)])], repeat),
        lambda repeat: search([audiences], repeat),
        lambda repeat: search(everywhere, repeat),
        repeats=len(asked),
    )
    title = f"keywords in {{}} / in all {facts_in_all:,}"
    return [
        Figure(
            "keywords",
            title.format("one audience"),
            median(some),
            median(all_of_them),
            0.1,
            f"median audience asked: {np.median(store.sizes[drawn - 1]):,.0f} facts",
        ),
        Figure(
            "keywords",
            title.format(f"the largest ({store.sizes[-1]:,})"),
            median(largest),
            median(all_of_them),
            0.1,
        ),
    ]


async def commit(shelf: Shelf, facts_before: int) -> list[Figure]:
    """One fact with its vector, committed with its keywords and without them."""
    store = shelf.conversation(facts_before)
    texts = sentences.statements(2_000, seed=23)
    vectors = query_vectors(len(texts))

    def store_one(session: Session, number: int, *, with_keywords: bool) -> None:
        text = texts[number]
        fact = facts.insert(session, _new(text, number), NOON)
        key = Ref(Kind.FACT, fact.id).key
        embeddings.put(session, store.model, [Item(1, key, text, vectors[number])])
        if with_keywords:
            lexical.add(session, 1, key, text)

    spent, reference = await by_turns(
        lambda n: store.database.write(lambda s: store_one(s, 2 * n, with_keywords=True)),
        lambda n: store.database.write(lambda s: store_one(s, 2 * n + 1, with_keywords=False)),
        repeats=300,
    )
    return [
        Figure(
            "commit",
            f"commit of a fact with its keywords / without, among {facts_before:,}",
            median(spent),
            median(reference),
            4.0,
        )
    ]


def _new(text: str, number: int) -> NewFact:
    return NewFact(
        text=text,
        subject=f"newcomer {number}",
        speaker=SPEAKER,
        audience=room(1),
        language="en",
        origin=Origin.STATED,
        evidence=(),
        said_at=NOON + timedelta(seconds=number),
    )
