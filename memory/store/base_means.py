"""The mean vector of each knowledge base, made again when its chunks have changed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from sqlalchemy import case, delete, func
from sqlalchemy import select as sql_select
from sqlmodel import Session, col, select

from memory import passages
from memory.store import embeddings, texts
from memory.store.embeddings import Model
from memory.tables import (
    ChunkRow,
    EmbeddingQueueRow,
    KnowledgeBaseMeanRow,
    KnowledgeBaseRow,
    SourceRow,
)
from memory.types import Vector

MOST_MISSING = 0.01
"""Share of a base's chunks that may lack a vector when its mean is made again: while a large
document is being embedded, the mean of before serves."""

_SLICE = 100
_KEYS = passages.MOST * 4
"""Keys that the passages of one chunk can have: see `passages.keys_of`."""


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean vector of a base."""

    vector: Vector
    """As the model gives it: not centred, not normalised."""
    vectors: int
    """How many it is the mean of."""


def load(session: Session, base_ids: Collection[int], model_id: int) -> dict[int, Mean]:
    """The means of those bases that have one, by base."""
    rows = session.exec(
        select(KnowledgeBaseMeanRow).where(
            col(KnowledgeBaseMeanRow.base_id).in_(base_ids),
            KnowledgeBaseMeanRow.model_id == model_id,
        )
    )
    return {row.base_id: Mean(np.frombuffer(row.mean, np.float32), row.vectors) for row in rows}


def drop(session: Session, base_id: int) -> None:
    """Forget a base's mean: something that it was made from has gone."""
    session.execute(
        delete(KnowledgeBaseMeanRow).where(col(KnowledgeBaseMeanRow.base_id) == base_id)
    )


def stale(session: Session, model: Model) -> dict[int, str]:
    """Bases whose mean is to be made again, with the state that it will be made from."""
    known = {
        row.base_id: row.made_from
        for row in session.exec(
            select(KnowledgeBaseMeanRow).where(KnowledgeBaseMeanRow.model_id == model.id)
        )
    }
    states = {}
    for base_id, chunks, newest, missing in _states(session, model):
        state = f"{chunks}:{newest}:{missing}"
        soon = base_id not in known or missing <= MOST_MISSING * chunks
        if known.get(base_id) != state and soon:
            states[base_id] = state
    return states


def _states(session: Session, model: Model) -> list[tuple[int, int, int, int]]:
    """Base, chunks, newest chunk, and how many chunks have passages that lack a vector."""
    low, high = col(ChunkRow.id) * _KEYS, col(ChunkRow.id) * _KEYS + _KEYS - 1
    waits = (
        select(EmbeddingQueueRow.owner)
        .where(
            EmbeddingQueueRow.model_id == model.id, col(EmbeddingQueueRow.owner).between(low, high)
        )
        .exists()
    )
    newest = func.max(col(ChunkRow.id))
    rows = session.execute(
        sql_select(
            col(SourceRow.base_id), func.count(), newest, func.sum(case((waits, 1), else_=0))
        )
        .join(ChunkRow, col(ChunkRow.source_id) == col(SourceRow.id))
        .where(col(ChunkRow.findable), col(SourceRow.removed).is_(False))
        .group_by(col(SourceRow.base_id))
    )
    return [(base_id, chunks, last or 0, missing) for base_id, chunks, last, missing in rows]


def make(session: Session, base_id: int, model: Model) -> Mean | None:
    """The mean of the vectors of the base's passages now; None when it has none yet."""
    audience_id = session.get_one(KnowledgeBaseRow, base_id).audience_id
    ids = session.exec(
        select(ChunkRow.id)
        .join(SourceRow, col(SourceRow.id) == col(ChunkRow.source_id))
        .where(SourceRow.base_id == base_id, col(SourceRow.removed).is_(False))
    ).all()
    total = np.zeros(model.dimension, dtype=np.float64)
    count = 0
    for start in range(0, len(ids), _SLICE):
        chunk_ids = [id_ for id_ in ids[start : start + _SLICE] if id_ is not None]
        keys = [ref.key for _, ref in texts.passages_of(session, chunk_ids)]
        wanted = [(audience_id, key) for key in keys]
        found, vectors = embeddings.of_records(session, model, wanted)
        total += np.sum(vectors, axis=0, dtype=np.float64)
        count += len(found)
    return Mean((total / count).astype(np.float32), count) if count else None


def put(session: Session, base_id: int, model: Model, state: str, mean: Mean) -> None:
    """Store a base's mean, unless the base has gone meanwhile."""
    if session.get(KnowledgeBaseRow, base_id) is None:
        return
    session.merge(
        KnowledgeBaseMeanRow(
            base_id=base_id,
            model_id=model.id,
            made_from=state,
            vectors=mean.vectors,
            mean=mean.vector.tobytes(),
        )
    )
    session.flush()
