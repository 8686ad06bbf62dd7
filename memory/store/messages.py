"""Messages: the verbatim truth that facts are derived from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Integer, Row, Table, and_, bindparam, func, insert, or_, update
from sqlalchemy import select as core_select
from sqlmodel import Session, col, select

from memory.store import audiences, lineage
from memory.store.statements import numbers, read
from memory.store.text_keys import text_key
from memory.tables import AudienceRow, MessageRow
from memory.types import Audience, Message, NewMessage, Person, Readable, Role, Span

BLANK = " "
"""Stands for each forgotten character, so that the other spans of a message keep their place."""


class Change(StrEnum):
    """What storing a message did."""

    NEW = "new"
    EDITED = "edited"
    UNCHANGED = "unchanged"


def put(
    session: Session, message: NewMessage, now: datetime, *, findable: bool = True
) -> tuple[Message, Change]:
    """Store a message or a later revision of it.

    A revision that is not later than the stored one changes nothing: edits win whatever order
    they arrive in. What was said in another time of the place stays there, or comes there when it
    is late.
    """
    asked = audiences.name_range(message.audience) | {"platform_id": message.platform_id}
    times = session.connection().execute(_STORED, asked).all()
    known = next((row for row in times if row.id is not None), None)
    if known is None:
        place = message.audience
        if message.author is not None:  # a reply is said when it is stored
            said_in = [Audience.parse(row.name) for row in times]
            place = audiences.when_said(place, said_in, message.sent_at)
        values = {
            "audience_id": audiences.ensure_id(session, place),
            "platform_id": message.platform_id,
            "conversation": message.conversation,
            "role": message.role.value,
            "author": str(message.author) if message.author else None,
            "author_name": message.author_name,
            "text": message.text,
            "text_key": text_key(message.text),
            "sent_at": message.sent_at,
            "stored_at": now,
            "permalink": message.permalink,
            "revision": message.revision,
            "time_zone": message.time_zone,
            "mentions": _mentions(message),
            "findable": findable,
            "expired": False,
        }
        added = session.connection().execute(_ADD, values).one()
        return to_message(added, place), Change.NEW
    row, place = session.get_one(MessageRow, known.id), Audience.parse(known.name)
    if message.revision <= row.revision:
        return to_message(row, place), Change.UNCHANGED
    if message.text == row.text:
        row.revision = message.revision  # an edit between the two that comes late is older
        session.add(row)
        session.flush()
        return to_message(row, place), Change.UNCHANGED
    row.text, row.text_key = message.text, text_key(message.text)
    row.revision = message.revision
    row.mentions = _mentions(message)
    session.add(row)
    session.flush()
    return to_message(row, place), Change.EDITED


def find(session: Session, audience: Audience, platform_id: str) -> Message | None:
    """The message that the platform knows by this id, in this place, whenever it was said."""
    ids = audiences.at_any_time(session, audience)
    row = session.exec(
        select(MessageRow).where(
            col(MessageRow.audience_id).in_(ids), MessageRow.platform_id == platform_id
        )
    ).first()
    return to_message(row, ids[row.audience_id]) if row else None


def get(session: Session, ids: Iterable[int], readable: Readable) -> dict[int, Message]:
    """Those of the messages that are readable with all they were made from, by id."""
    wanted = set(ids)
    if not wanted:
        return {}
    places = audiences.readable_ids(session, readable)
    rows = read(session, _BY_ID, {"ids": list(wanted), "audiences": list(places)})
    closed = _closed(session, rows, places)
    found = [to_message(row, places[row.audience_id]) for row in rows if row.id not in closed]
    return {message.id: message for message in found}


def recent(session: Session, readable: Readable, conversation: str, limit: int) -> list[Message]:
    """The last `limit` readable messages of a conversation, oldest first, blank ones left out.

    So are replies that were made from something that is not readable here and now.
    """
    places = audiences.readable_ids(session, readable)
    here = {"audiences": list(places), "conversation": conversation, "most": limit}
    rows = read(session, _RECENT, here)
    closed = _closed(session, rows, places)
    return [
        to_message(row, places[row.audience_id]) for row in reversed(rows) if row.id not in closed
    ]


def _closed(session: Session, rows: Iterable[Row[Any]], places: Collection[int]) -> set[int]:
    replies = [row.id for row in rows if row.author is None]
    return lineage.closed(session, replies, places)


def by_author(session: Session, author: Person, readable: Readable) -> list[Message]:
    """A person's readable messages, oldest first."""
    places = audiences.readable_ids(session, readable)
    rows = session.exec(
        select(MessageRow)
        .where(MessageRow.author == str(author), col(MessageRow.audience_id).in_(places))
        .order_by(col(MessageRow.sent_at), col(MessageRow.id))
    )
    return [to_message(row, places[row.audience_id]) for row in rows]


def same_words(session: Session, message: Message) -> list[int]:
    """Ids of the author's other messages in the same place with the same words, newest first."""
    ids = audiences.readable_ids(session, Readable.of(message.audience))
    rows = session.exec(
        select(MessageRow.id)
        .where(
            MessageRow.author == str(message.author),
            col(MessageRow.audience_id).in_(ids),
            MessageRow.text_key == text_key(message.text),
            MessageRow.id != message.id,
        )
        .order_by(col(MessageRow.id).desc())
    )
    return [id_ for id_ in rows if id_ is not None]


def stored_in(session: Session, audience: Audience, limit: int) -> list[tuple[str, str]]:
    """(conversation, platform id) of people's messages in a place at any time, newest first."""
    ids = audiences.open_at_any_time(session, audience)
    rows = session.exec(
        select(MessageRow.conversation, MessageRow.platform_id)
        .where(col(MessageRow.audience_id).in_(ids), MessageRow.role == Role.USER.value)
        .order_by(col(MessageRow.sent_at).desc(), col(MessageRow.id).desc())
        .limit(limit)
    )
    return [(conversation, platform_id) for conversation, platform_id in rows]


def active(session: Session, platform: str, since: datetime) -> dict[str, dict[str, str]]:
    """Conversations of a platform with messages since then: revision by platform id of people's
    messages, by conversation. For the platform's own look at what it missed.
    """
    rows = session.exec(
        select(MessageRow.conversation, MessageRow.platform_id, MessageRow.revision)
        .join(AudienceRow, col(AudienceRow.id) == col(MessageRow.audience_id))
        .where(
            col(AudienceRow.name).startswith(f"{platform}:", autoescape=True),
            MessageRow.role == Role.USER.value,
            MessageRow.sent_at >= since,
        )
    )
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for conversation, platform_id, revision in rows:
        found[conversation][platform_id] = revision
    return dict(found)


def blank(session: Session, message_id: int, spans: Sequence[Span]) -> str:
    """Overwrite the spans; gives what is left, empty when that is only white space."""
    row = session.get_one(MessageRow, message_id)
    characters = list(row.text)
    for span in spans:
        end = min(span.end, len(characters))
        characters[span.start : end] = BLANK * (end - span.start)
    left = "".join(characters)
    row.text = left if left.strip() else ""
    if not row.text:
        row.mentions = {}
    row.text_key = text_key(row.text)
    session.add(row)
    session.flush()
    return row.text


def set_platform_id(session: Session, message_id: int, platform_id: str) -> None:
    """Note the id that the platform gave to a reply when it was sent."""
    session.execute(
        update(MessageRow).where(col(MessageRow.id) == message_id).values(platform_id=platform_id)
    )


def rewrite(
    session: Session,
    message_id: int,
    text: str,
    mentions: Sequence[tuple[str, Person]] = (),
) -> None:
    """Put `text` in place of the message's words, and the people whom it mentions."""
    named = {name: str(person) for name, person in mentions}
    session.execute(
        update(MessageRow)
        .where(col(MessageRow.id) == message_id)
        .values(text=text, text_key=text_key(text), mentions=named)
    )


def said_between(
    session: Session, author: Person, start: datetime, end: datetime, *, blank: bool = False
) -> list[Message]:
    """A person's own messages of that time, in every place, oldest first; without `blank` only
    those with words.

    Not limited by what is readable now: for forgetting and counting, never for showing.
    """
    rows = session.exec(
        select(MessageRow)
        .where(
            MessageRow.author == str(author),
            MessageRow.sent_at >= start,
            MessageRow.sent_at < end,
            blank or (MessageRow.text != ""),
        )
        .order_by(col(MessageRow.sent_at), col(MessageRow.id))
    ).all()
    return _with_places(session, rows)


def at_source(session: Session, where: str) -> list[Message]:
    """Messages with this permalink or platform id, in every place: for forgetting, not showing."""
    rows = session.exec(
        select(MessageRow)
        .where(or_(col(MessageRow.permalink) == where, col(MessageRow.platform_id) == where))
        .order_by(col(MessageRow.id))
    ).all()
    return _with_places(session, rows)


def _with_places(session: Session, rows: Sequence[MessageRow]) -> list[Message]:
    places = audiences.names(session, {row.audience_id for row in rows})
    return [to_message(row, places[row.audience_id]) for row in rows]


def to_recheck(session: Session, platform: str, after: int, limit: int) -> list[Message]:
    """The next of people's messages on a platform by id.

    Blank and expired ones are left out, and those of a locked tenant.
    """
    rows = session.exec(
        select(MessageRow)
        .join(AudienceRow, col(AudienceRow.id) == col(MessageRow.audience_id))
        .where(
            col(AudienceRow.name).startswith(f"{platform}:", autoescape=True),
            MessageRow.role == Role.USER.value,
            col(MessageRow.id) > after,
            MessageRow.text != "",
            ~audiences.locked(col(MessageRow.audience_id)),
        )
        .order_by(col(MessageRow.id))
        .limit(limit)
    ).all()
    return _with_places(session, rows)


def names(session: Session, people: Collection[Person], readable: Readable) -> dict[Person, str]:
    """Display names that people had in their last readable messages."""
    places = audiences.readable_ids(session, readable)
    wanted = {str(person): person for person in people}
    last = (
        select(func.max(MessageRow.id))
        .where(col(MessageRow.author).in_(wanted), col(MessageRow.audience_id).in_(places))
        .group_by(col(MessageRow.author))
    )
    rows = session.exec(
        select(MessageRow.author, MessageRow.author_name).where(col(MessageRow.id).in_(last))
    )
    return {wanted[author]: name for author, name in rows if author is not None}


def to_message(row: MessageRow | Row[Any], audience: Audience) -> Message:
    assert row.id is not None
    return Message(
        id=row.id,
        platform_id=row.platform_id,
        audience=audience,
        conversation=row.conversation,
        role=Role(row.role),
        author=Person.parse(row.author) if row.author else None,
        author_name=row.author_name,
        text=row.text,
        sent_at=row.sent_at,
        permalink=row.permalink,
        revision=row.revision,
        time_zone=row.time_zone,
        mentions=tuple((name, Person.parse(who)) for name, who in row.mentions.items()),
    )


def _mentions(message: NewMessage) -> dict[str, str]:
    return {name: str(person) for name, person in message.mentions}


# Built once: see `memory.store.statements`.
_message: Table = MessageRow.__table__  # type: ignore[attr-defined]
_ADD = insert(_message).returning(_message)
_STORED = (
    core_select(col(AudienceRow.name), col(MessageRow.id))
    .outerjoin(
        MessageRow,
        and_(
            col(MessageRow.audience_id) == col(AudienceRow.id),
            col(MessageRow.platform_id) == bindparam("platform_id"),
        ),
    )
    .where(audiences.is_at_any_time)
)
_BY_ID = core_select(_message).where(
    _message.c.id.in_(numbers("ids")),
    audiences.of_known_row(_message.c.audience_id).in_(numbers("audiences")),
)
_RECENT = (
    core_select(_message)
    .where(
        _message.c.audience_id.in_(numbers("audiences")),
        _message.c.conversation == bindparam("conversation"),
        _message.c.text != "",
    )
    .order_by(_message.c.sent_at.desc(), _message.c.id.desc())
    .limit(bindparam("most", type_=Integer))
)
