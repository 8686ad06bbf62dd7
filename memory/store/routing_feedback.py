"""Verdicts on which knowledge base an answer was looked for in."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from sqlalchemy import delete
from sqlmodel import Session, col, select

from memory.store import audiences
from memory.tables import KnowledgeBaseRow, RoutingFeedbackRow
from memory.types import Audience, Readable, Vector


@dataclass(frozen=True, slots=True)
class Verdict:
    """A question that was looked for in a base, and whether that was right."""

    base_id: int
    rating: int
    """+1 or -1."""
    vector: Vector
    """Of the question."""


def put(
    session: Session, trace_id: int, audience: Audience, model_id: int, verdict: Verdict
) -> None:
    """Store the verdict on one answer, in place of an earlier one; rating 0 takes it back."""
    session.execute(delete(RoutingFeedbackRow).where(col(RoutingFeedbackRow.trace_id) == trace_id))
    if not verdict.rating or session.get(KnowledgeBaseRow, verdict.base_id) is None:
        return
    session.add(
        RoutingFeedbackRow(
            trace_id=trace_id,
            base_id=verdict.base_id,
            audience_id=audiences.ensure_id(session, audience),
            rating=verdict.rating,
            model_id=model_id,
            vector=verdict.vector.astype(np.float32).tobytes(),
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
