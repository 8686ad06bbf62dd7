"""A tenant as JSON Lines: everything that was said and learned there, to take elsewhere.

The format is documented in docs/export-format.md. Importing the same file again changes nothing;
what was forgotten on the importing side stays forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy.exc import SQLAlchemyError
from sqlmodel import Session, col, select

from memory import records
from memory.errors import MemoryFault
from memory.store import (
    audiences,
    facts,
    lineage,
    messages,
    places,
    private_times,
    texts,
    tombstones,
)
from memory.store.messages import Change
from memory.store.tombstones import Ledger
from memory.tables import AudienceRow, FactRow, MessageRow, PersonRow, PlaceRow
from memory.types import (
    Audience,
    Evidence,
    Kind,
    NewFact,
    NewMessage,
    Origin,
    Person,
    Readable,
    Ref,
    Role,
    Span,
)

FORMAT, VERSION = "oboete-tenant", 1
BATCH = 500
Line = dict[str, Any]


_FIELDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "place": {"audience": str, **dict.fromkeys(("public", "paused", "listen", "greeted"), bool)},
    "person": {
        "person": str,
        **dict.fromkeys(("paused", "quiet"), bool),
        **dict.fromkeys(("locale", "time_zone"), str | None),
    },
    "message": {
        "id": int,
        **dict.fromkeys(("platform_id", "audience", "conversation", "role", "author_name"), str),
        **dict.fromkeys(("text", "sent_at", "revision", "time_zone"), str),
        **dict.fromkeys(("author", "permalink"), str | None),
        "mentions": dict,
        **dict.fromkeys(("findable", "expired"), bool),
    },
    "fact": {
        "id": int,
        **dict.fromkeys(("audience", "subject", "speaker", "text", "language", "origin"), str),
        **dict.fromkeys(("said_at", "learned_at"), str),
        **dict.fromkeys(("attribute", "valid_from", "valid_until"), str | None),
        "negated": bool,
        "superseded_by": int | None,
        "confirmed": int,
        "evidence": list,
    },
}
"""What the fields of a line hold, by its type: SQLite itself would take anything."""

_UNREADABLE = (
    *(KeyError, TypeError, ValueError, AttributeError, OverflowError),
    SQLAlchemyError,
)
"""What fields of the right type still cause: a time that is none, a number too large, …"""


class BadExport(MemoryFault):
    """The file is no export of a tenant, or of a newer version."""


@dataclass(slots=True)
class Imported:
    """What an import did."""

    messages: int = 0
    facts: int = 0
    known: int = 0
    """Records that were there already."""
    forgotten: int = 0
    """Messages that were forgotten here and were left out, with the facts that rest on them."""


@dataclass(slots=True)
class _Ids:
    """Ids here, by the ids in the file."""

    messages: dict[int, int] = field(default_factory=dict)
    facts: dict[int, int] = field(default_factory=dict)
    edited: set[int] = field(default_factory=set)
    """In the file, of messages that say something else here: no fact rests on them."""


# -- export --------------------------------------------------------------------------------------


def lines(session: Session, platform: str, tenant: str, now: datetime) -> Iterator[Line]:
    """A header, then places, people, messages and facts, each in the order of their ids."""
    prefix = f"{platform}:{tenant}:"
    private = map(str, private_times.noted(session))
    yield {
        "type": "header",
        "format": FORMAT,
        "version": VERSION,
        "platform": platform,
        "tenant": tenant,
        "exported_at": _instant(now),
        "private": [place for place in private if place.startswith(prefix)],
    }
    yield from _settings(session, prefix)
    here = Readable(
        frozenset(
            Audience.parse(name)
            for name in session.exec(select(AudienceRow.name))
            if name.startswith(prefix)
        )
    )
    ids = list(audiences.readable_ids(session, here))
    for part in _ids(session, MessageRow, ids):
        rows = session.exec(
            select(MessageRow).where(col(MessageRow.id).in_(part)).order_by(col(MessageRow.id))
        ).all()
        names = audiences.names(session, [row.audience_id for row in rows])
        for row in rows:
            yield _message(row, names[row.audience_id]) | _made_from(session, row)
    for part in _ids(session, FactRow, ids):
        known = facts.get(session, part, here)
        yield from (_fact(session, known[id_]) for id_ in sorted(known))


def _settings(session: Session, prefix: str) -> Iterator[Line]:
    for place in session.exec(select(PlaceRow).order_by(col(PlaceRow.audience))):
        if place.audience.startswith(prefix):
            yield {"type": "place", **place.model_dump()}
    for person in session.exec(select(PersonRow).order_by(col(PersonRow.person))):
        if person.person.startswith(prefix):
            yield {"type": "person", **person.model_dump()}


def _ids(
    session: Session, table: type[MessageRow] | type[FactRow], places_: Iterable[int]
) -> Iterator[list[int]]:
    found = session.exec(
        select(table.id).where(col(table.audience_id).in_(list(places_))).order_by(col(table.id))
    ).all()
    ids = [id_ for id_ in found if id_ is not None]
    for start in range(0, len(ids), BATCH):
        yield ids[start : start + BATCH]


def _message(row: MessageRow, audience: Audience) -> Line:
    return {
        "type": "message",
        "id": row.id,
        "platform_id": row.platform_id,
        "audience": str(audience),
        "conversation": row.conversation,
        "role": row.role,
        "author": row.author,
        "author_name": row.author_name,
        "text": row.text,
        "sent_at": _instant(row.sent_at),
        "permalink": row.permalink,
        "revision": row.revision,
        "time_zone": row.time_zone,
        "mentions": row.mentions,
        "findable": row.findable,
        "expired": row.expired,
    }


def _made_from(session: Session, row: MessageRow) -> Line:
    """What a reply was made from: it goes with that, and is read only where that is."""
    if row.role != Role.ASSISTANT.value or row.id is None:
        return {}
    refs = lineage.sources(session, row.id)
    return {"made_from": [{"kind": ref.kind.name.lower(), "id": ref.id} for ref in refs]}


def _fact(session: Session, fact: Any) -> Line:
    row = session.get_one(FactRow, fact.id)
    return {
        "type": "fact",
        "id": fact.id,
        "audience": str(fact.audience),
        "subject": row.subject,
        "speaker": row.speaker,
        "text": row.text,
        "language": row.language,
        "origin": row.origin,
        "attribute": row.attribute,
        "negated": row.negated,
        "said_at": _instant(row.said_at),
        "learned_at": _instant(row.learned_at),
        "valid_from": _instant(row.valid_from),
        "valid_until": _instant(row.valid_until),
        "superseded_by": row.superseded_by,
        "confirmed": row.confirmed,
        "evidence": [
            {"message": item.message_id, "start": item.span.start, "end": item.span.end}
            for item in fact.evidence
        ],
    }


def _instant(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


# -- import --------------------------------------------------------------------------------------


def take_in(session: Session, given: Iterable[Line], ledger: Ledger, now: datetime) -> Imported:
    """Store what the lines hold. All or nothing: call it in one transaction.

    Raises BadExport, naming the line.
    """
    rest = iter(given)
    header = next(rest, None)
    if header is None:
        raise BadExport("The file is empty.")
    _expect_header(header)
    prefix = f"{header['platform']}:{header['tenant']}:"
    moved = _take_private(session, _private(header, prefix), now)
    done, ids = Imported(), _Ids()
    superseded: list[tuple[int, int]] = []
    replies: list[tuple[int, int, Line]] = []
    for number, line in enumerate(rest, start=2):
        try:
            _expect(line, number, prefix)
            if line["type"] == "place":
                _take_place(session, line)
            elif line["type"] == "person":
                _take_person(session, line)
            elif line["type"] == "message":
                line = {**line, "audience": moved.get(line["audience"], line["audience"])}
                if _take_message(session, line, ledger, now, ids, done):
                    replies.append((number, ids.messages[line["id"]], line))
            else:
                _take_fact(session, line, now, ids, done)
                if line["superseded_by"] is not None:
                    superseded.append((line["id"], line["superseded_by"]))
        except _UNREADABLE as error:
            # not the error's own words: some hold words of the line
            raise BadExport(f"Line {number} cannot be read: {type(error).__name__}") from error
    _take_lineages(session, replies, {"message": ids.messages, "fact": ids.facts})
    _take_superseded(session, superseded, ids.facts)
    return done


def _expect(line: Line, number: int, prefix: str) -> None:
    """Raises BadExport for a line that an export of this tenant cannot hold."""
    fields = _FIELDS.get(line.get("type", ""))
    if fields is None:
        raise BadExport(f"Line {number}: unknown type {line.get('type')!r}")
    for name, kind in fields.items():
        _expect_field(line, name, kind, number)
    for item in line.get("evidence", ()):
        for name in ("message", "start", "end"):
            _expect_field(item, name, int, number)
    owner = line["person"] if line["type"] == "person" else line["audience"]
    if not owner.startswith(prefix):
        raise BadExport(f"Line {number} is of another tenant: {owner!r}")


def _expect_field(line: Mapping[str, Any], name: str, kind: Any, number: int) -> None:
    if name not in line or not isinstance(line[name], kind):
        raise BadExport(f"Line {number}: {name!r} is missing or of the wrong type")


def _take_private(session: Session, private: Sequence[Audience], now: datetime) -> dict[str, str]:
    """Note what is private in the file and new here. What was said there in private in a place
    that is known here, and public, is not widened: gives its places by the names to take.
    """
    new = [place for place in private if not audiences.at_any_time(session, place)]
    private_times.note(session, new)
    here = private_times.noted(session)
    moved = {}
    for place in private:
        if place not in here:
            moved[str(place)] = str(place.ended_time(now))
            moved[str(place.open_time)] = str(place)
    return moved


def _private(header: Line, prefix: str) -> list[Audience]:
    """The places that were private when they were exported."""
    named = header.get("private", [])
    try:
        found = [Audience.parse(place.encode().decode()) for place in named]
    except (AttributeError, TypeError, ValueError) as error:
        raise BadExport("Line 1: 'private' is no list of places") from error
    if not all(str(place).startswith(prefix) for place in found):
        raise BadExport("Line 1 names private places of another tenant")
    return found


def _take_place(session: Session, line: Line) -> None:
    here = Audience.parse(line["audience"])
    chosen = {k: v for k, v in line.items() if k not in {"type", "audience"}}
    # who stopped it here meanwhile means it, and so does who closed it
    if session.get(PlaceRow, str(here)) is not None:
        known = places.place(session, here)
        chosen |= {"paused": chosen["paused"] or known.paused, "public": known.public}
    places.set_place(session, here, places.Place(**chosen))


def _take_person(session: Session, line: Line) -> None:
    person = Person.parse(line["person"])
    chosen = {k: v for k, v in line.items() if k not in {"type", "person"}}
    chosen["paused"] |= places.preferences(session, person).paused
    places.set_preferences(session, person, places.Preferences(**chosen))


def _take_superseded(
    session: Session, superseded: Iterable[tuple[int, int]], fact_ids: Mapping[int, int]
) -> None:
    for old, new in superseded:
        if old in fact_ids and new in fact_ids:
            row = session.get_one(FactRow, fact_ids[old])
            row.superseded_by = fact_ids[new]
            session.add(row)
    session.flush()


def _expect_header(line: Mapping[str, Any]) -> None:
    if line.get("format") != FORMAT:
        raise BadExport("The first line is not the header of an export of Oboete.")
    if line.get("version") != VERSION:
        raise BadExport(f"This is version {line.get('version')}; this Oboete reads {VERSION}.")
    for name in ("platform", "tenant"):
        _expect_field(line, name, str, number=1)


def _take_message(
    session: Session,
    line: Mapping[str, Any],
    ledger: Ledger,
    now: datetime,
    ids: _Ids,
    done: Imported,
) -> bool:
    """True for a new reply, whose words may stay only with what it was made from."""
    audience = Audience.parse(line["audience"])
    named = (
        ledger.digest(audience, line["platform_id"], line["revision"]),
        ledger.whole(audience, line["platform_id"]),
    )
    if tombstones.exists(session, *named):
        done.forgotten += 1
        return False
    new = NewMessage(
        platform_id=line["platform_id"],
        audience=audience,
        conversation=line["conversation"],
        role=Role(line["role"]),
        author=Person.parse(line["author"]) if line["author"] else None,
        author_name=line["author_name"],
        text=line["text"],
        sent_at=datetime.fromisoformat(line["sent_at"]),
        permalink=line["permalink"],
        revision=line["revision"],
        time_zone=line["time_zone"],
        mentions=tuple((n, Person.parse(p)) for n, p in line["mentions"].items()),
    )
    stored, change = messages.put(session, new, now, findable=line["findable"])
    ids.messages[line["id"]] = stored.id
    if change is not Change.NEW:
        if stored.revision != line["revision"]:
            ids.edited.add(line["id"])
        done.known += 1
        return False
    if line["expired"]:
        session.get_one(MessageRow, stored.id).expired = True
    audience_id = audiences.ensure_id(session, stored.audience)
    words = texts.of_message(stored, findable=line["findable"])
    if words is not None:
        records.index(session, audience_id, Ref(Kind.MESSAGE, stored.id), words, now)
    done.messages += 1
    return new.role is Role.ASSISTANT


def _take_lineages(
    session: Session,
    replies: Iterable[tuple[int, int, Line]],
    ids: Mapping[str, Mapping[int, int]],
) -> None:
    for number, reply_id, line in replies:
        try:
            _take_lineage(session, reply_id, line, ids)
        except _UNREADABLE as error:
            raise BadExport(f"Line {number} cannot be read: {type(error).__name__}") from error


def _take_lineage(
    session: Session, reply_id: int, line: Mapping[str, Any], ids: Mapping[str, Mapping[int, int]]
) -> None:
    """Note what a reply was made from. One made from something that was forgotten, or that no
    export holds (documents), loses its words: nothing would ever take them out.
    """
    made_from = [
        Ref(Kind[item["kind"].upper()], ids.get(item["kind"], {}).get(item["id"], 0))
        for item in line.get("made_from", [{"kind": "message", "id": 0}])
    ]
    origin = lineage.origin(session, made_from)
    audience_id = audiences.ensure_id(session, Audience.parse(line["audience"]))
    if origin.whole:
        lineage.add(session, reply_id, audience_id, made_from, origin)
        return
    messages.rewrite(session, reply_id, "")
    records.unindex(session, audience_id, Ref(Kind.MESSAGE, reply_id))


def _take_fact(
    session: Session,
    line: Mapping[str, Any],
    now: datetime,
    ids: _Ids,
    done: Imported,
) -> None:
    audience = Audience.parse(line["audience"])
    evidence = tuple(
        Evidence(ids.messages[item["message"]], Span(item["start"], item["end"]))
        for item in line["evidence"]
        if item["message"] in ids.messages and item["message"] not in ids.edited
    )
    if not evidence:
        return
    rows = [session.get_one(MessageRow, item.message_id) for item in evidence]
    # the messages may be here already, in other times of the same place
    said_in = audiences.names(session, [row.audience_id for row in rows])
    if any(place.now != audience.now for place in said_in.values()):
        raise ValueError("a fact may not be read where its evidence may not")
    here = rows[0].audience_id
    audience = said_in[here]
    evidence = tuple(e for e, row in zip(evidence, rows, strict=True) if row.audience_id == here)
    rows = [row for row in rows if row.audience_id == here]
    for item, row in zip(evidence, rows, strict=True):
        if not row.expired and item.span.end > len(row.text):
            raise ValueError("evidence beyond the end of its message")
    subject = line["subject"]
    named = subject.startswith(facts.NAME_MARK)
    new = NewFact(
        text=line["text"],
        subject=subject.removeprefix(facts.NAME_MARK) if named else Person.parse(subject),
        speaker=Person.parse(line["speaker"]),
        audience=audience,
        language=line["language"],
        origin=Origin(line["origin"]),
        evidence=evidence,
        said_at=datetime.fromisoformat(line["said_at"]),
        attribute=line["attribute"],
        negated=line["negated"],
        valid_from=_moment(line["valid_from"]),
        valid_until=_moment(line["valid_until"]),
    )
    known = _same(session, new, line)
    if known is not None:
        ids.facts[line["id"]] = known
        done.known += 1
        return
    learned_at = datetime.fromisoformat(line["learned_at"])
    fact = facts.insert(session, new, learned_at, confirmed=line["confirmed"])
    records.index(session, here, Ref(Kind.FACT, fact.id), fact.text, now)
    ids.facts[line["id"]] = fact.id
    done.facts += 1


def _same(session: Session, new: NewFact, line: Mapping[str, Any]) -> int | None:
    """The fact that an earlier import of this line made, or that was learned here alike."""
    return session.exec(
        select(FactRow.id).where(
            FactRow.audience_id == audiences.ensure_id(session, new.audience),
            FactRow.subject == facts.subject_key(new.subject),
            FactRow.text == line["text"],
            FactRow.said_at == new.said_at,
        )
    ).first()


def _moment(said: str | None) -> datetime | None:
    return None if said is None else datetime.fromisoformat(said)
