"""Verdicts on which knowledge base an answer was looked for in."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Select, delete, func
from sqlalchemy import select as sql_select
from sqlmodel import Session, col, select

from memory.store import audiences
from memory.tables import KnowledgeBaseRow, RoutingFeedbackRow, TraceRow
from memory.types import Readable, Vector


@dataclass(frozen=True, slots=True)
class Verdict:
    """A question that was looked for in a base, and whether that was right."""

    base_id: int
    rating: int
    """+1 or -1."""
    vector: Vector
    """Of the question."""


@dataclass(frozen=True, slots=True)
class Rated:
    """An answer from a base that somebody has given a verdict on."""

    trace_id: int
    audience_id: int
    base_id: int
    query: str
    rating: int


def unheard(session: Session, model_id: int, limit: int) -> list[Rated]:
    """Verdicts that do not count yet (by that model's vectors)."""
    base_id = col(TraceRow.steps)["base_id"].as_integer()
    known = (
        select(RoutingFeedbackRow.trace_id)
        .where(
            RoutingFeedbackRow.trace_id == TraceRow.id,
            RoutingFeedbackRow.rating == TraceRow.rating,
            RoutingFeedbackRow.model_id == model_id,
        )
        .exists()
    )
    rows = session.execute(
        select(TraceRow, base_id)
        .where(col(TraceRow.rating).in_([-1, 1]), base_id.is_not(None), ~known)
        .where(base_id.in_(select(KnowledgeBaseRow.id)))
        .order_by(col(TraceRow.id))
        .limit(limit)
    )
    return [
        Rated(row.id or 0, row.audience_id, base, str(row.steps.get("query", "")), row.rating or 0)
        for row, base in rows
    ]


def any_withdrawn(session: Session) -> bool:
    """True when a verdict that counts was taken back."""
    row = session.exec(
        select(RoutingFeedbackRow.trace_id)
        .where(col(RoutingFeedbackRow.trace_id).in_(_withdrawn()))
        .limit(1)
    )
    return row.first() is not None


def withdraw(session: Session) -> None:
    """Drop the verdicts that were taken back."""
    session.execute(
        delete(RoutingFeedbackRow).where(col(RoutingFeedbackRow.trace_id).in_(_withdrawn()))
    )


def _withdrawn() -> Select[Any]:
    return (
        sql_select(col(RoutingFeedbackRow.trace_id))
        .join(TraceRow, col(RoutingFeedbackRow.trace_id) == col(TraceRow.id))
        .where(func.coalesce(col(TraceRow.rating), 0) == 0)
    )


def put(session: Session, rated: Rated, model_id: int, vector: Vector) -> None:
    """Let a verdict count, if its answer and base are still there."""
    if session.get(TraceRow, rated.trace_id) is None:
        return
    if session.get(KnowledgeBaseRow, rated.base_id) is None:
        return
    session.merge(
        RoutingFeedbackRow(
            trace_id=rated.trace_id,
            base_id=rated.base_id,
            audience_id=rated.audience_id,
            rating=rated.rating,
            model_id=model_id,
            vector=vector.astype(np.float32).tobytes(),
        )
    )
    session.flush()


def of_bases(
    session: Session, base_ids: Collection[int], readable: Readable, model_id: int
) -> list[Verdict]:
    """Verdicts on these bases that were given in readable places, by that model's vectors."""
    places = audiences.readable_ids(session, readable)
    rows = session.exec(
        select(RoutingFeedbackRow)
        .where(
            col(RoutingFeedbackRow.base_id).in_(base_ids),
            col(RoutingFeedbackRow.audience_id).in_(places),
            RoutingFeedbackRow.model_id == model_id,
        )
        .order_by(col(RoutingFeedbackRow.trace_id))
    )
    return [
        Verdict(row.base_id, row.rating, np.frombuffer(row.vector, dtype=np.float32))
        for row in rows
    ]
