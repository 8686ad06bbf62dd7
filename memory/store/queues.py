"""Putting the queues right after the clock was set back.

No retry is planned further ahead than its longest wait. An entry that is can only come from a
clock that ran ahead, and would wait for that time to come again.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import update
from sqlmodel import Session, col

from memory.store import embeddings, extraction
from memory.tables import EmbeddingQueueRow, ExtractionRow


def bring_forward(session: Session, now: datetime) -> int:
    """Make due what waits for a time that no retry could have set. Counts entries."""
    count = 0
    for table, longest in (
        (ExtractionRow, extraction.RETRY_MOST),
        (EmbeddingQueueRow, embeddings.RETRY_MOST),
    ):
        brought = session.execute(
            update(table).where(col(table.due_at) > now + longest).values(due_at=now)
        )
        count += int(brought.rowcount)  # type: ignore[attr-defined]
    return count
