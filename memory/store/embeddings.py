"""Vectors, the models they belong to, and the queue of texts that still lack one.

SQL holds the truth; `memory.index` serves copies. Every change of an audience's vectors bumps
that audience's version in the same transaction, which is how a copy knows that it is old.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from sqlalchemy import delete, func, insert, text, update
from sqlalchemy import select as core_select
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlmodel import Session, col, select

from memory.calibration import Calibration
from memory.errors import InvalidVector
from memory.tables import (
    AudienceVersionRow,
    EmbeddingModelRow,
    EmbeddingQueueRow,
    EmbeddingRow,
)
from memory.types import Vector, Vectors

NORM_TOLERANCE = 1e-3
"""How far a stored vector's length may be from 1: float32 rounding, with room."""

RETRY_BASE = timedelta(seconds=30)
RETRY_MOST = timedelta(hours=6)


@dataclass(frozen=True, slots=True)
class Model:
    """An embedding model as the database knows it."""

    id: int
    name: str
    dimension: int
    calibration: Calibration
    serving: bool


@dataclass(frozen=True, slots=True)
class Item:
    """A vector to be stored. `key` is the owner's `Ref.key`."""

    audience_id: int
    key: int
    text: str
    vector: Vector


def text_hash(text: str) -> bytes:
    """Tells whether a vector was made from this text; 16 bytes."""
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()[:16]


def validate(vector: Vector, dimension: int) -> Vector:
    """The vector as float32 of length 1. Raises InvalidVector.

    FAISS checks its input with bare asserts and stores NaN, infinite and zero rows in silence,
    so nothing gets that far.
    """
    array = np.asarray(vector, dtype=np.float32)
    if array.shape != (dimension,):
        raise InvalidVector(f"expected {dimension} numbers, got an array of shape {array.shape}")
    if not np.isfinite(array).all():
        raise InvalidVector("an embedding holds a number that is not finite")
    norm = float(np.linalg.norm(array))
    if norm < NORM_TOLERANCE:
        raise InvalidVector("an embedding has no length")
    return array if abs(norm - 1) <= NORM_TOLERANCE else (array / norm).astype(np.float32)


# -- models --------------------------------------------------------------------------------------


def find_model(session: Session, name: str) -> Model | None:
    row = session.exec(select(EmbeddingModelRow).where(EmbeddingModelRow.name == name)).first()
    return _to_model(row) if row else None


def serving_model(session: Session) -> Model | None:
    """The model whose vectors searches use; None before the first."""
    row = session.exec(select(EmbeddingModelRow).where(col(EmbeddingModelRow.serving))).first()
    return _to_model(row) if row else None


def add_model(
    session: Session, name: str, dimension: int, calibration: Calibration, *, serving: bool
) -> Model:
    row = EmbeddingModelRow(
        name=name,
        dimension=dimension,
        mean=calibration.mean.astype(np.float32).tobytes(),
        background_mean=calibration.background_mean,
        background_std=calibration.background_std,
        serving=serving,
    )
    session.add(row)
    session.flush()
    return _to_model(row)


def serve(session: Session, model_id: int) -> None:
    """From now on searches use this model; the vectors of all others are deleted."""
    session.execute(update(EmbeddingModelRow).values(serving=False))
    session.execute(
        update(EmbeddingModelRow).where(col(EmbeddingModelRow.id) == model_id).values(serving=True)
    )
    for table in (EmbeddingRow, EmbeddingQueueRow, AudienceVersionRow):
        session.execute(delete(table).where(col(table.model_id) != model_id))
    session.execute(delete(EmbeddingModelRow).where(col(EmbeddingModelRow.id) != model_id))


def model_ids(session: Session) -> list[int]:
    """Every model that vectors are kept of."""
    found = session.connection().execute(_MODEL_IDS).scalars()
    return [id_ for id_ in found if id_ is not None]


def _to_model(row: EmbeddingModelRow) -> Model:
    assert row.id is not None
    calibration = Calibration(
        np.frombuffer(row.mean, dtype=np.float32), row.background_mean, row.background_std
    )
    return Model(row.id, row.name, row.dimension, calibration, row.serving)


# -- vectors -------------------------------------------------------------------------------------


def put(session: Session, model: Model, items: Sequence[Item]) -> None:
    """Store vectors in place of what their owners had. Raises InvalidVector before any write."""
    rows = [
        {
            "audience_id": item.audience_id,
            "model_id": model.id,
            "owner": item.key,
            "text_hash": text_hash(item.text),
            "vector": validate(item.vector, model.dimension).tobytes(),
        }
        for item in items
    ]
    if not rows:
        return
    for item in items:
        _delete(session, item.audience_id, model.id, item.key)
    session.execute(insert(EmbeddingRow), rows)
    bump(session, model.id, {item.audience_id for item in items})


def remove(session: Session, audience_id: int, key: int) -> None:
    """Delete an owner's vectors of every model, and its place in the queue."""
    drop(session, audience_id, key)
    session.execute(delete(EmbeddingQueueRow).where(col(EmbeddingQueueRow.owner) == key))


def drop(session: Session, audience_id: int, key: int) -> None:
    """Delete an owner's vectors of every model; it may wait for new ones."""
    models = session.execute(
        delete(EmbeddingRow)
        .where(
            col(EmbeddingRow.audience_id) == audience_id,
            col(EmbeddingRow.model_id).in_(select(EmbeddingModelRow.id)),
            col(EmbeddingRow.owner) == key,
        )
        .returning(col(EmbeddingRow.model_id))
    ).scalars()
    for model_id in models.all():
        bump(session, model_id, {audience_id})


def _delete(session: Session, audience_id: int, model_id: int, key: int) -> None:
    session.execute(
        delete(EmbeddingRow).where(
            col(EmbeddingRow.audience_id) == audience_id,
            col(EmbeddingRow.model_id) == model_id,
            col(EmbeddingRow.owner) == key,
        )
    )


def bump(session: Session, model_id: int, audience_ids: Iterable[int]) -> None:
    """Count one change of each audience's vectors."""
    for audience_id in sorted(audience_ids):
        session.execute(
            upsert(AudienceVersionRow)
            .values(audience_id=audience_id, model_id=model_id, version=1)
            .on_conflict_do_update(
                index_elements=["audience_id", "model_id"],
                set_={"version": AudienceVersionRow.version + 1},
            )
        )


def version(session: Session, audience_id: int, model_id: int) -> int:
    """How often the audience's vectors changed; 0 for none yet."""
    found = session.exec(
        select(AudienceVersionRow.version).where(
            AudienceVersionRow.audience_id == audience_id, AudienceVersionRow.model_id == model_id
        )
    ).first()
    return found or 0


def load(session: Session, audience_id: int, model: Model) -> tuple[np.ndarray, Vectors]:
    """All of an audience's vectors: keys int64 (n,), ascending, and float32 (n, d)."""
    # on the connection: the session would look at each row for objects to keep track of
    rows = session.connection().execute(
        select(col(EmbeddingRow.owner), col(EmbeddingRow.vector))
        .where(col(EmbeddingRow.audience_id) == audience_id, col(EmbeddingRow.model_id) == model.id)
        .order_by(col(EmbeddingRow.owner))
    )
    size = 4 * model.dimension
    kept: dict[int, bytes] = {  # damaged ones are for `check` to name
        owner: vector for owner, vector in rows if len(vector) == size
    }
    keys = np.fromiter(kept, dtype=np.int64, count=len(kept))
    joined = np.frombuffer(b"".join(kept.values()), dtype=np.float32)
    return keys, joined.reshape(len(kept), model.dimension)


def of_records(
    session: Session, model: Model, records: Iterable[tuple[int, int]]
) -> tuple[list[int], Vectors]:
    """The keys of those of the records, given as (audience id, key), that have a vector, and the
    vectors, float32 (n, d), read-only.
    """
    asked = {"records": json.dumps(list(records)), "model": model.id, "bytes": 4 * model.dimension}
    rows = session.connection().execute(_OF_RECORDS, asked).all()
    vectors = np.frombuffer(b"".join(vector for _, vector in rows), dtype=np.float32)
    return [owner for owner, _ in rows], vectors.reshape(len(rows), model.dimension)


# One look-up per record, in as many places as they are: SQLite scans for `(a, b) IN (...)`.
_OF_RECORDS = text(
    "SELECT e.owner, e.vector FROM json_each(:records) AS r CROSS JOIN embedding AS e"
    " ON e.audience_id = json_extract(r.value, '$[0]') AND e.model_id = :model"
    " AND e.owner = json_extract(r.value, '$[1]') AND length(e.vector) = :bytes"
)


# -- queue ---------------------------------------------------------------------------------------


def enqueue(session: Session, model_id: int, audience_id: int, key: int, now: datetime) -> None:
    """Note that the owner's text wants a (new) vector of the model."""
    row = {"model_id": model_id, "owner": key, "audience_id": audience_id}
    session.connection().execute(_ENQUEUE, {**row, "attempts": 0, "due_at": now})


_MODEL_IDS = core_select(col(EmbeddingModelRow.id))
_NEW = upsert(EmbeddingQueueRow)
_ENQUEUE = _NEW.on_conflict_do_update(
    index_elements=["model_id", "owner"],
    set_={name: _NEW.excluded[name] for name in ("audience_id", "attempts", "due_at")},
)


def enqueue_many(
    session: Session, model_id: int, records: Iterable[tuple[int, int]], now: datetime
) -> None:
    """Queue many records, given as (audience id, key), for a model that has none of them."""
    same = {"model_id": model_id, "attempts": 0, "due_at": now}
    rows = [{**same, "owner": key, "audience_id": audience_id} for audience_id, key in records]
    if rows:
        session.execute(insert(EmbeddingQueueRow), rows)


def due(session: Session, model_id: int, now: datetime, limit: int) -> list[tuple[int, int]]:
    """Owners that want a vector now, as (audience id, key), longest waiting first."""
    rows = session.exec(
        select(EmbeddingQueueRow.audience_id, EmbeddingQueueRow.owner)
        .where(EmbeddingQueueRow.model_id == model_id, EmbeddingQueueRow.due_at <= now)
        .order_by(col(EmbeddingQueueRow.due_at), col(EmbeddingQueueRow.owner))
        .limit(limit)
    )
    return [(audience_id, owner) for audience_id, owner in rows]


def dequeue(session: Session, model_id: int, keys: Iterable[int]) -> None:
    session.execute(
        delete(EmbeddingQueueRow).where(
            col(EmbeddingQueueRow.model_id) == model_id, col(EmbeddingQueueRow.owner).in_(set(keys))
        )
    )


def postpone(session: Session, model_id: int, key: int, now: datetime) -> None:
    """Try again later, each time after twice as long."""
    row = session.get(EmbeddingQueueRow, (model_id, key))
    if row is None:
        return
    row.attempts += 1
    row.due_at = now + min(RETRY_BASE * 2 ** min(row.attempts, 20), RETRY_MOST)
    session.add(row)
    session.flush()


def queued(session: Session, model_id: int) -> int:
    """How many texts still lack a vector of the model."""
    return session.exec(
        select(func.count())
        .select_from(EmbeddingQueueRow)
        .where(EmbeddingQueueRow.model_id == model_id)
    ).one()
