"""What a ranking looks at of a record, read without the rest of it.

A search ranks some thousand records to show a dozen, and making whole records of them all takes
ten times as long as ranking them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import TextualSelect, select, text
from sqlmodel import Session, col

from memory.store import audiences, lineage
from memory.store.statements import numbers
from memory.tables import EvidenceRow, FactRow
from memory.tables.base import UtcDateTime

SESSION_GAP = timedelta(hours=6)
"""Turns further apart than this are not read together: another day, another topic."""


class FactBrief(NamedTuple):
    """Of a fact."""

    audience_id: int
    text: str
    subject: str
    """As stored: see `FactRow.subject`."""
    speaker: str
    said_at: datetime
    valid_from: datetime | None
    valid_until: datetime | None
    sources: tuple[int, ...]
    """Ids of the messages that support it."""


class MessageBrief(NamedTuple):
    """Of a message."""

    audience_id: int
    text: str
    author: str | None
    author_name: str
    sent_at: datetime
    answered: bool
    """Whether Oboete answered it."""
    around: tuple[int | None, ...]
    """Ids of the turns at -2, -1, +1 and +2, None where the conversation ends; empty where not
    asked for. They share the message's place; a reply among them may be closed still."""


def facts(
    session: Session, ids: Collection[int], audience_ids: Collection[int]
) -> dict[int, FactBrief]:
    """Those of the facts that are in one of the audiences, by id."""
    if not ids:
        return {}
    connection = session.connection()
    sources: defaultdict[int, list[int]] = defaultdict(list)
    for fact_id, message_id in connection.execute(_SOURCES, {"ids": list(ids)}).all():
        sources[fact_id].append(message_id)
    rows = connection.execute(_FACTS, {"ids": list(ids), "audiences": list(audience_ids)}).all()
    return {row.id: FactBrief(*row[1:], tuple(sources[row.id])) for row in rows}


def messages(
    session: Session,
    ids: Collection[int],
    audience_ids: Collection[int],
    *,
    with_around: bool = False,
) -> dict[int, MessageBrief]:
    """Those of the messages that are in the audiences with all they were made from, by id."""
    if not ids:
        return {}
    here = {"ids": list(ids), "audiences": list(audience_ids)}
    statement = _MESSAGES_WITH_AROUND if with_around else _MESSAGES
    rows = session.connection().execute(statement, here).all()
    replies = [row.id for row in rows if row.author is None]
    closed = lineage.closed(session, replies, audience_ids)
    briefs = {}
    for id_, audience_id, words, author, name, sent_at, answered, *around in rows:
        if id_ not in closed:
            briefs[id_] = MessageBrief(
                audience_id, words, author, name, sent_at, bool(answered), tuple(around)
            )
    return briefs


# Built once: assembling a statement takes longer than running it.
_FACTS = select(
    col(FactRow.id),
    col(FactRow.audience_id),
    col(FactRow.text),
    col(FactRow.subject),
    col(FactRow.speaker),
    col(FactRow.said_at),
    col(FactRow.valid_from),
    col(FactRow.valid_until),
).where(
    col(FactRow.id).in_(numbers("ids")),
    audiences.of_known_row(FactRow.audience_id).in_(numbers("audiences")),
)
_SOURCES = select(col(EvidenceRow.fact_id), col(EvidenceRow.message_id)).where(
    col(EvidenceRow.fact_id).in_(numbers("ids"))
)

_BEFORE = """(SELECT o.id FROM message o WHERE o.audience_id = m.audience_id
  AND o.conversation = m.conversation AND o.findable AND o.text != ''
  AND (o.sent_at, o.id) < (m.sent_at, m.id)
  ORDER BY o.sent_at DESC, o.id DESC LIMIT 1 OFFSET {})"""
_AFTER = """(SELECT o.id FROM message o WHERE o.audience_id = m.audience_id
  AND o.conversation = m.conversation AND o.findable AND o.text != ''
  AND (o.sent_at, o.id) > (m.sent_at, m.id)
  ORDER BY o.sent_at, o.id LIMIT 1 OFFSET {})"""


def _messages(*around: str) -> TextualSelect:
    """Messages by id, with the turns `around` them."""
    columns = [
        *(
            f"m.{name}"
            for name in ("id", "audience_id", "text", "author", "author_name", "sent_at")
        ),
        "EXISTS (SELECT 1 FROM trace t WHERE t.message_id = m.id) AS answered",
        *around,
    ]
    # the sum: see `audiences.of_known_row`
    where = "m.id IN :ids AND m.audience_id + 0 IN :audiences"
    query = f"SELECT {', '.join(columns)} FROM message m WHERE {where}"  # noqa: S608 - constants
    return (
        text(query).bindparams(numbers("ids"), numbers("audiences")).columns(sent_at=UtcDateTime())
    )


_MESSAGES = _messages()
_MESSAGES_WITH_AROUND = _messages(
    _BEFORE.format(1), _BEFORE.format(0), _AFTER.format(0), _AFTER.format(1)
)
