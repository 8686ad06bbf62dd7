"""Finds out which of the readable knowledge bases a question is for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlmodel import Session

from memory import bm25, passages, ranking, routing
from memory.embedding import EmbeddingService
from memory.index import VectorIndex
from memory.ranking import Floats
from memory.routing import Choice, Evidence
from memory.store import audiences, base_means, embeddings, routing_feedback, sources
from memory.store import bases as stored_bases
from memory.store.bases import KnowledgeBase
from memory.store.database import Database
from memory.store.embeddings import Model
from memory.tokens import query_terms
from memory.types import Audience, Kind, Readable, Ref, Vectors

CANDIDATES = 200
"""Passages of each signal that speak for their bases."""


VERDICTS = 100
"""Verdicts that are learned from at once."""


@dataclass(frozen=True, slots=True)
class Routed:
    """Where to look for the answer to a question."""

    choices: tuple[tuple[KnowledgeBase, Choice], ...]
    """All readable bases that hold anything, best first."""

    @property
    def bases(self) -> tuple[KnowledgeBase, ...]:
        """The best base, and those that are nearly as likely: to be searched together."""
        near = {choice.base_id for choice in routing.close([c for _, c in self.choices])}
        return tuple(base for base, _ in self.choices if base.id in near)

    @property
    def confidence(self) -> float:
        """That the best base is the right one, in percent."""
        return self.choices[0][1].confidence if self.choices else 0.0

    @property
    def out_of_scope(self) -> bool:
        """True when the question is more likely for none of them."""
        return routing.out_of_scope([choice for _, choice in self.choices])

    @property
    def unsure(self) -> bool:
        """True when it is worth asking a model."""
        return len(self.choices) > 1 and self.confidence < routing.UNSURE

    def preferring(self, base_id: int) -> Routed:
        """The same with that base first."""
        return Routed(tuple(sorted(self.choices, key=lambda pair: pair[0].id != base_id)))


class BaseRouter:
    """Routes questions between knowledge bases, by readable ones only."""

    def __init__(self, database: Database, index: VectorIndex, embedding: EmbeddingService) -> None:
        self._database = database
        self._index = index
        self._embedding = embedding

    async def route(self, query: str, readable: Readable) -> Routed:
        """All readable bases, the likeliest first."""
        bases = await self._database.read(lambda s: stored_bases.bases(s, readable))
        bases = [base for base in bases if base.chunks]
        if not bases or not query.strip():
            return Routed(())
        places = Readable(frozenset(base.audience for base in bases))
        embedded = await self._embedding.query(query)
        ids = await self._database.read(lambda s: audiences.readable_ids(s, places))
        nearest: list[int] = []
        if embedded is not None:
            keys, _ = await self._index.search(*embedded, list(ids), CANDIDATES, [Kind.PASSAGE])
            nearest = keys.tolist()

        def choose(session: Session) -> list[Choice]:
            model = embedded[0] if embedded is not None else None
            words = _words(session, query, list(ids))
            keys = list(dict.fromkeys([*nearest, *words]))
            evidence = _evidence(session, bases, places, keys, words, model)
            if embedded is None:
                return routing.route(None, evidence, None)
            verdicts = routing_feedback.of_bases(
                session, [base.id for base in bases], readable, embedded[0].id
            )
            mean = embedded[0].calibration.mean
            return routing.route(embedded[1], evidence, mean, verdicts)

        by_id = {base.id: base for base in bases}
        choices = await self._database.read(choose)
        return Routed(tuple((by_id[choice.base_id], choice) for choice in choices))

    async def learn(self) -> int:
        """Let new verdicts on answers move the routing of questions like theirs; gives how many."""
        ready = await self._embedding.serving()
        if ready is None:
            return 0
        model_id = ready.model.id
        rated = await self._database.read(lambda s: routing_feedback.unheard(s, model_id, VERDICTS))
        learned = 0
        for each in rated:
            embedded = await self._embedding.query(each.query) if each.query else None
            if embedded is None:
                continue
            vector = embedded[1]
            await self._database.write(
                lambda s: routing_feedback.put(s, each, model_id, vector)  # noqa: B023
            )
            learned += 1
        if await self._database.read(routing_feedback.any_withdrawn):
            await self._database.write(routing_feedback.withdraw)
        return learned


def _words(session: Session, query: str, audience_ids: Sequence[int]) -> dict[int, float]:
    """Share of the question's information that the best passages have, by key."""
    found = bm25.evidence(
        session, audience_ids, query_terms(query), CANDIDATES, kinds=[Kind.PASSAGE]
    )
    if not len(found.keys):
        return {}
    pool = _only_words(found)
    none = np.full_like(pool.context, -1)
    shares = ranking.coverage(ranking.Question(found.weights, None), pool, none)
    return dict(zip(found.keys.tolist(), shares.tolist(), strict=True))


def _only_words(found: bm25.Evidence) -> ranking.Pool:
    """The passages as a pool in which only their words are known."""
    count = len(found.keys)
    return ranking.Pool(
        candidate=np.ones(count, dtype=bool),
        groups=np.arange(count),
        kinds=np.full(count, int(Kind.PASSAGE)),
        frequencies=found.frequencies,
        lengths=found.lengths,
        vectors=np.zeros((count, 1), dtype=np.float32),
        context=np.full((count, len(ranking.OFFSETS) + 1), -1),
        speaker=np.zeros(count, dtype=bool),
        asks=np.zeros(count, dtype=bool),
        in_time=np.zeros(count, dtype=bool),
    )


def _evidence(
    session: Session,
    bases: Sequence[KnowledgeBase],
    places: Readable,
    keys: Sequence[int],
    words: Mapping[int, float],
    model: Model | None,
) -> dict[int, Evidence]:
    """What speaks for each base: its passages among `keys`, and its mean."""
    chunk_of = {key: passages.place_of(Ref.from_key(key).id)[0] for key in keys}
    chunks = sources.chunks(session, set(chunk_of.values()), places)
    of_base: defaultdict[int, list[int]] = defaultdict(list)
    for key, chunk_id in chunk_of.items():
        if chunk_id in chunks:
            of_base[chunks[chunk_id].base_id].append(key)
    means = base_means.load(session, [base.id for base in bases], model.id) if model else {}
    evidence = {}
    for base in bases:
        own = of_base[base.id]
        vectors, shares = _vectors(session, base.audience, own, words, model)
        mean = means.get(base.id)
        evidence[base.id] = Evidence(
            vectors, shares, mean.vector if mean else None, mean.vectors if mean else 0
        )
    return evidence


def _vectors(
    session: Session,
    audience: Audience,
    keys: Sequence[int],
    words: Mapping[int, float],
    model: Model | None,
) -> tuple[Vectors, Floats]:
    """Vectors and words of those passages that have a vector; of all of them without a model."""
    vectors: Vectors = np.zeros((len(keys), 0), dtype=np.float32)
    if model is not None:
        audience_id = audiences.ensure_id(session, audience)
        wanted = [(audience_id, key) for key in keys]
        keys, vectors = embeddings.of_records(session, model, wanted)
    return vectors, np.array([words.get(key, 0.0) for key in keys], dtype=np.float64)
