"""What stands around a message: the turns just before and after it in its conversation."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from sqlalchemy import text
from sqlmodel import Session

from memory.store.statements import numbers

SESSION_GAP = timedelta(hours=6)
"""Turns further apart than this are not read together: another day, another topic."""

_BEFORE = """(SELECT o.id FROM message o WHERE o.audience_id = m.audience_id
  AND o.conversation = m.conversation AND o.findable AND o.text != ''
  AND (o.sent_at, o.id) < (m.sent_at, m.id)
  ORDER BY o.sent_at DESC, o.id DESC LIMIT 1 OFFSET {})"""
_AFTER = """(SELECT o.id FROM message o WHERE o.audience_id = m.audience_id
  AND o.conversation = m.conversation AND o.findable AND o.text != ''
  AND (o.sent_at, o.id) > (m.sent_at, m.id)
  ORDER BY o.sent_at, o.id LIMIT 1 OFFSET {})"""
_STATEMENT = text(
    "SELECT m.id, "  # noqa: S608 - only constants are joined
    + ", ".join([_BEFORE.format(1), _BEFORE.format(0), _AFTER.format(0), _AFTER.format(1)])
    + " FROM message m WHERE m.id IN :ids"
).bindparams(numbers("ids"))


def around(session: Session, message_ids: Collection[int]) -> dict[int, tuple[int | None, ...]]:
    """Ids of the turns at -2, -1, +1 and +2, by message; None where the conversation ends.

    They share the message's place; a reply among them may be closed still (`lineage.closed`).
    """
    if not message_ids:
        return {}
    rows = session.connection().execute(_STATEMENT, {"ids": list(message_ids)}).all()
    return {row[0]: tuple(row[1:]) for row in rows}
