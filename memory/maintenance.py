"""Proving that rows, keyword entries and vectors agree, and making them agree again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import numpy as np
from sqlalchemy import delete, select
from sqlmodel import Session, col

from memory import lexical, tokens
from memory.store import database as db
from memory.store import embeddings, texts, tombstones
from memory.store.tombstones import Ledger
from memory.tables import (
    EmbeddingModelRow,
    EmbeddingQueueRow,
    EmbeddingRow,
    EvidenceRow,
    FactRow,
    LexicalEntryRow,
    LexicalStatisticsRow,
    MessageRow,
    PostingRow,
)
from memory.types import Ref

BATCH = 500
MOST_PROBLEMS = 50
"""Problems listed; more are of the same kinds."""


def check(session: Session, ledger: Ledger) -> list[str]:
    """Everything that is wrong, in sentences without anybody's words; empty when all agrees."""
    problems: list[str] = []
    for prove in (_check_file, lexical.check, _check_texts, _check_vectors, _check_evidence):
        problems += prove(session)
    missing = [d for d in ledger.digests() if not tombstones.exists(session, d)]
    if missing:
        problems.append(f"{len(missing)} entries of the ledger are not in the database")
    if len(problems) > MOST_PROBLEMS:
        more = len(problems) - MOST_PROBLEMS
        problems = [*problems[:MOST_PROBLEMS], f"… and {more} more problems"]
    return problems


def _check_file(session: Session) -> list[str]:
    return db.integrity(session)


def _name(key: int) -> str:
    ref = Ref.from_key(key)
    return f"{ref.kind.name.lower()} {ref.id}"


def _check_texts(session: Session) -> list[str]:
    """Keyword entries and vectors belong to records that exist, and are of their present text."""
    problems: list[str] = []
    places = {key: audience for audience, key in texts.every_key(session)}
    entries = {
        owner: (audience, terms)
        for audience, owner, terms in session.execute(
            select(
                col(LexicalEntryRow.audience_id),
                col(LexicalEntryRow.owner),
                col(LexicalEntryRow.terms),
            )
        )
    }
    problems += [f"{_name(k)} has keyword entries but no text" for k in entries.keys() - places]
    keys = sorted(places)
    for start in range(0, len(keys), BATCH):
        batch = keys[start : start + BATCH]
        for key, text in texts.by_key(session, batch).items():
            if key not in entries:
                problems.append(f"{_name(key)} has no keyword entry")
                continue
            audience, terms = entries[key]
            if audience != places[key]:
                problems.append(f"{_name(key)} has keyword entries in another place")
            if set(terms.split("\x1f") if terms else ()) != set(tokens.terms(text)):
                problems.append(f"{_name(key)} has keyword entries of another text")
    return problems


def _check_vectors(session: Session) -> list[str]:
    problems: list[str] = []
    places = {key: audience for audience, key in texts.every_embedded(session)}
    for model_id, name, dimension in session.execute(
        select(
            col(EmbeddingModelRow.id),
            col(EmbeddingModelRow.name),
            col(EmbeddingModelRow.dimension),
        )
    ).all():
        waiting = set(
            session.execute(
                select(col(EmbeddingQueueRow.owner)).where(
                    col(EmbeddingQueueRow.model_id) == model_id
                )
            ).scalars()
        )
        have: set[int] = set()
        rows = session.execute(
            select(
                col(EmbeddingRow.audience_id),
                col(EmbeddingRow.owner),
                col(EmbeddingRow.text_hash),
                col(EmbeddingRow.vector),
            ).where(col(EmbeddingRow.model_id) == model_id)
        )
        for part in rows.partitions(BATCH):
            words = texts.by_key(session, [owner for _, owner, _, _ in part])
            for audience, owner, text_hash, vector in part:
                have.add(owner)
                problems += [
                    f"{_name(owner)}: {problem} ({name})"
                    for problem in _vector_problems(
                        audience == places.get(owner),
                        words.get(owner),
                        text_hash,
                        np.frombuffer(vector, dtype=np.uint8),
                        dimension,
                        owner in waiting,
                    )
                ]
        problems += [
            f"{_name(key)} has no vector and waits for none ({name})"
            for key in sorted(places.keys() - have - waiting)
        ]
    return problems


def _vector_problems(
    same_place: bool,
    text: str | None,
    text_hash: bytes,
    stored: np.ndarray,
    dimension: int,
    waits: bool,
) -> list[str]:
    if text is None:
        return ["a vector without a record"]
    problems = []
    if not same_place:
        problems.append("the vector is in another place")
    if text_hash != embeddings.text_hash(text) and not waits:
        problems.append("the vector is of another text")
    if len(stored) != 4 * dimension or not np.isfinite(stored.view(np.float32)).all():
        problems.append("the vector is damaged")
    elif abs(float(np.linalg.norm(stored.view(np.float32))) - 1) > 2 * embeddings.NORM_TOLERANCE:
        problems.append("the vector is not normalised")
    return problems


def _check_evidence(session: Session) -> list[str]:
    """Every fact rests on words that are still there."""
    problems = []
    supported: set[int] = set()
    rows = session.execute(
        select(
            col(EvidenceRow.fact_id),
            col(EvidenceRow.start),
            col(EvidenceRow.end),
            col(MessageRow.text),
            col(MessageRow.expired),
        ).join(MessageRow, col(MessageRow.id) == col(EvidenceRow.message_id))
    )
    for fact_id, start, end, text, expired in rows:
        supported.add(fact_id)
        if not expired and not text[start:end].strip():
            problems.append(f"fact {fact_id} rests on words that were forgotten")
    everyone = session.execute(select(col(FactRow.id))).scalars()
    problems += [f"fact {id_} rests on nothing" for id_ in everyone if id_ not in supported]
    return problems


def reindex(
    session: Session, now: datetime, progress: Callable[[int], None] = lambda _: None
) -> int:
    """Build all keyword entries anew and queue every vector that is not of its record's text.

    Gives how many records there are. Vectors of the present text are kept: they are the truth
    and cost most to make.
    """
    for table in (PostingRow, LexicalEntryRow, LexicalStatisticsRow):
        session.execute(delete(table))
    records = list(texts.every_key(session))
    places = {key: audience for audience, key in records}
    keys = sorted(places)
    models = session.execute(
        select(col(EmbeddingModelRow.id), col(EmbeddingModelRow.dimension))
    ).all()
    stale: set[tuple[int, int]] = set()
    for start in range(0, len(keys), BATCH):
        words = texts.by_key(session, keys[start : start + BATCH])
        lexical.add_many(
            session, [lexical.NewEntry(places[key], key, text) for key, text in words.items()]
        )
        progress(min(start + BATCH, len(keys)))
    for model_id, dimension in models:
        good: set[int] = set()
        rows = session.execute(
            select(
                col(EmbeddingRow.audience_id),
                col(EmbeddingRow.owner),
                col(EmbeddingRow.text_hash),
                col(EmbeddingRow.vector),
            ).where(col(EmbeddingRow.model_id) == model_id)
        )
        for part in rows.partitions(BATCH):
            words = texts.by_key(session, [owner for _, owner, _, _ in part])
            for audience, owner, text_hash, vector in part:
                wrong = _vector_problems(
                    audience == places.get(owner),
                    words.get(owner),
                    text_hash,
                    np.frombuffer(vector, dtype=np.uint8),
                    dimension,
                    False,
                )
                if wrong:
                    stale.add((audience, owner))
                else:
                    good.add(owner)
        for key in keys:
            if key not in good and Ref.from_key(key).kind.is_embedded:
                embeddings.enqueue(session, model_id, places[key], key, now)
    for audience, owner in stale:
        embeddings.drop(session, audience, owner)
    for model_id, _ in models:
        embeddings.bump(session, model_id, set(places.values()))
    return len(keys)
