"""Forgetting: what goes with a fact, a message or a person, and the receipt for it.

Synchronous steps over a session; `long_term` runs them in one transaction. Nothing that was
made from forgotten words stays: the words in every supporting message, other facts read off the
same words, replies that used any of it, traces, vectors, keyword entries, pending work.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import delete, or_
from sqlmodel import Session, col, select

from memory import records
from memory.store import (
    audiences,
    extraction,
    facts,
    messages,
    reminders,
    tombstones,
    traces,
)
from memory.store.changes import Change
from memory.store.tombstones import Ledger
from memory.tables import (
    EvidenceRow,
    FactRow,
    MessageRow,
    TraceRow,
)
from memory.types import Audience, Evidence, Fact, Kind, Message, Person, Readable, Ref, Span


@dataclass(slots=True, eq=False, weakref_slot=True)
class Receipt:
    """What went. `digests` go to the ledger outside the database once this is committed. What is
    needed to take it back (see `memory.undoing`) is kept in memory only.
    """

    facts: int = 0
    messages: int = 0
    """Messages in which words were blanked, or that went whole."""
    replies: list[Message] = field(default_factory=list)
    """The bot's own posts that were made from what went; their stored text is gone."""
    digests: list[bytes] = field(default_factory=list)
    undo: list[Message] = field(default_factory=list)
    """The messages as they were."""
    undo_facts: list[Fact] = field(default_factory=list)
    """The facts as they were."""
    undo_evidence: list[tuple[int, Evidence]] = field(default_factory=list)
    """Support that facts lost which rest on something else too, by fact id."""
    unread: set[int] = field(default_factory=set)
    """Ids of those messages that had not been read yet."""
    blanked: dict[int, list[Span]] = field(default_factory=dict)
    """Spans that were taken out, by message id."""
    lifts: dict[int, bytes] = field(default_factory=dict)
    """Digests to be lifted when it is taken back, by message id."""
    gone: set[int] = field(default_factory=set)
    """Ids of messages of which nothing that went before may come back: they were deleted, edited
    or forgotten whole."""
    people: set[Person] = field(default_factory=set)
    """Who was forgotten: nothing about them may come back that went before."""

    def add(self, other: Receipt) -> None:
        """Count what went in another step; that step cannot be undone."""
        self.facts += other.facts
        self.messages += other.messages
        self.replies += other.replies
        self.digests += other.digests


def forget_facts(session: Session, known: Sequence[Fact], ledger: Ledger, now: datetime) -> Receipt:
    """Forget these facts and the words that supported them."""
    receipt = Receipt()
    for fact in known:
        _forget_fact(session, fact, ledger, now, receipt)
    tombstones.add(session, receipt.digests, now)
    return receipt


def _forget_fact(
    session: Session, fact: Fact, ledger: Ledger, now: datetime, receipt: Receipt
) -> None:
    if session.get(FactRow, fact.id) is None:  # went with an earlier one of the list
        return
    place = Readable.of(fact.audience).for_upkeep()
    sources = messages.get(session, [item.message_id for item in fact.evidence], place)
    receipt.undo_facts.append(fact)
    for message in sources.values():
        spans = [item.span for item in fact.evidence if item.message_id == message.id]
        _blank(session, message, spans, ledger, now, receipt)
    _remove_fact(session, fact, now, receipt)
    for message in sources.values():
        spans = [item.span for item in fact.evidence if item.message_id == message.id]
        for other in facts.supported_by(session, message.id, place):
            touched = any(
                item.message_id == message.id and _overlap(item.span, spans)
                for item in other.evidence
            )
            if touched:
                _let_go(session, other, {message.id}, now, receipt)
    erase_derived(
        session,
        [Ref(Kind.FACT, fact.id), *(Ref(Kind.MESSAGE, id_) for id_ in sources)],
        receipt,
    )


def _blank(
    session: Session,
    message: Message,
    spans: Sequence[Span],
    ledger: Ledger,
    now: datetime,
    receipt: Receipt,
) -> None:
    if message.id not in {seen.id for seen in receipt.undo}:
        receipt.messages += 1
        receipt.undo.append(message)
    digest = ledger.digest(message.audience, message.platform_id, message.revision)
    if not tombstones.exists(session, digest) and digest not in receipt.digests:
        receipt.lifts[message.id] = digest
    receipt.digests.append(digest)
    receipt.blanked.setdefault(message.id, []).extend(spans)
    if extraction.is_waiting(session, message.id):
        receipt.unread.add(message.id)
    messages.blank(session, message.id, spans)
    audience_id = audiences.ensure_id(session, message.audience)
    records.reindex(session, audience_id, Ref(Kind.MESSAGE, message.id), now)
    extraction.finish(session, [message.id])


def _overlap(span: Span, spans: Iterable[Span]) -> bool:
    return any(span.start < other.end and other.start < span.end for other in spans)


def _remove_fact(
    session: Session,
    fact: Fact,
    now: datetime,
    receipt: Receipt,
    why: Change = Change.FORGOTTEN,
) -> None:
    """Delete a fact. An explicit forget leaves what it superseded in the past."""
    if why is Change.WITHDRAWN:
        facts.revive(session, fact.id, now)
    else:
        facts.close_for_good(session, fact.id, now)
    records.unindex(session, audiences.ensure_id(session, fact.audience), Ref(Kind.FACT, fact.id))
    facts.remove(session, fact.id, why, now)
    receipt.facts += 1


def _let_go(
    session: Session, fact: Fact, gone: Collection[int], now: datetime, receipt: Receipt
) -> bool:
    """Take messages from a fact's support, and the fact when it rests on nothing else.

    True when the fact went. Else it is left to whoever else said it.
    """
    if all(item.message_id in gone for item in fact.evidence):
        receipt.undo_facts.append(fact)
        _remove_fact(session, fact, now, receipt)
        return True
    lost = [item for item in fact.evidence if item.message_id in gone]
    receipt.undo_evidence += [(fact.id, item) for item in lost]
    facts.leave_to_others(session, fact, gone)
    return False


def _let_go_of(
    session: Session, message: Message, gone: Collection[int], now: datetime, receipt: Receipt
) -> list[Ref]:
    """The facts that went because they rest on the messages in `gone` alone."""
    known = facts.supported_by(session, message.id, Readable.of(message.audience).for_upkeep())
    return [Ref(Kind.FACT, fact.id) for fact in known if _let_go(session, fact, gone, now, receipt)]


def forget_messages(
    session: Session, said: Sequence[Message], ledger: Ledger, now: datetime
) -> Receipt:
    """Forget messages whole: their words, and what rests on them alone."""
    gone = {message.id for message in said}
    receipt = Receipt(gone=gone)
    for message in said:
        sources = [Ref(Kind.MESSAGE, message.id), *_let_go_of(session, message, gone, now, receipt)]
        reminders.remove_for_message(session, message.audience, message.platform_id)
        if message.text:
            _blank(session, message, [Span(0, len(message.text))], ledger, now, receipt)
        erase_derived(session, sources, receipt)
    tombstones.add(session, receipt.digests, now)
    return receipt


def forget_part_of_place(
    session: Session, audience: Audience, ledger: Ledger, now: datetime, limit: int
) -> Receipt | None:
    """Take out the first messages of a place, of whatever time, with all that rests on them; None
    when none is left.

    A place can hold more than one transaction should touch: called until it gives None.
    """
    receipt = Receipt()
    times = audiences.at_any_time(session, audience)
    rows = session.exec(
        select(MessageRow)
        .where(col(MessageRow.audience_id).in_(times))
        .order_by(col(MessageRow.id))
        .limit(limit)
    ).all()
    if not rows:
        for audience_id in times:
            reminders.remove_in(session, audience_id)
        return None
    said = [messages.to_message(row, times[row.audience_id]) for row in rows]
    gone = {message.id for message in said}
    for message in said:
        sources = [Ref(Kind.MESSAGE, message.id), *_let_go_of(session, message, gone, now, receipt)]
        reminders.remove_for_message(session, message.audience, message.platform_id)
        receipt.digests.append(ledger.whole(audience, message.platform_id))
        erase_derived(session, sources, receipt)
    extraction.finish(session, gone)
    receipt.replies = [reply for reply in receipt.replies if reply.audience not in times.values()]
    for message in said:
        _remove_message(session, message, receipt)
    session.execute(delete(TraceRow).where(col(TraceRow.audience_id).in_(times)))
    tombstones.add(session, receipt.digests, now)
    receipt.undo_facts, receipt.undo_evidence = [], []
    return receipt


def erase_derived(session: Session, sources: Iterable[Ref], receipt: Receipt) -> None:
    """Erase the replies made from the sources, from those replies, and so on; and their traces."""
    erase_replies(session, traces.derived_from(session, sources), receipt)


def erase_replies(session: Session, ids: Iterable[int], receipt: Receipt) -> None:
    """The same for these replies, by id, and what was made from them."""
    seen = set(ids)
    todo = [Ref(Kind.MESSAGE, id_) for id_ in sorted(seen)]
    while todo:
        derived = [id_ for id_ in traces.derived_from(session, todo) if id_ not in seen]
        seen.update(derived)
        todo = [Ref(Kind.MESSAGE, id_) for id_ in derived]
    for id_ in sorted(seen):
        row = session.get(MessageRow, id_)
        if row is None or not row.text:
            continue
        place = audiences.names(session, [row.audience_id])[row.audience_id]
        receipt.replies.append(messages.to_message(row, place))
        messages.rewrite(session, id_, "")
        records.unindex(session, row.audience_id, Ref(Kind.MESSAGE, id_))
    traces.remove_for(session, seen)


def withdraw(
    session: Session, message: Message, now: datetime, receipt: Receipt, *, gone: bool
) -> None:
    """Undo what a message taught, because its author edited or deleted it.

    Facts that rest on it alone go, and what those had superseded is current again: the source
    itself says so. With `gone` the message's row goes too.
    """
    place = Readable.of(message.audience).for_upkeep()
    receipt.gone.add(message.id)
    for fact in facts.supported_by(session, message.id, place):
        if not facts.drop_evidence(session, fact.id, message.id):
            _remove_fact(session, fact, now, receipt, Change.WITHDRAWN)
            erase_derived(session, [Ref(Kind.FACT, fact.id)], receipt)
    ref = Ref(Kind.MESSAGE, message.id)
    erase_derived(session, [ref], receipt)
    extraction.finish(session, [message.id])
    if gone:
        _remove_message(session, message, receipt)


def delete_message(session: Session, message: Message, ledger: Ledger, now: datetime) -> Receipt:
    """The author deleted it: it goes with all that it taught and is not learned again."""
    receipt = Receipt()
    withdraw(session, message, now, receipt, gone=True)
    receipt.digests.append(ledger.whole(message.audience, message.platform_id))
    tombstones.add(session, receipt.digests, now)
    return receipt


def _remove_message(session: Session, message: Message, receipt: Receipt) -> None:
    audience_id = audiences.ensure_id(session, message.audience)
    records.unindex(session, audience_id, Ref(Kind.MESSAGE, message.id))
    traces.remove_for(session, [message.id])
    session.execute(delete(EvidenceRow).where(col(EvidenceRow.message_id) == message.id))
    session.execute(delete(MessageRow).where(col(MessageRow.id) == message.id))
    receipt.messages += 1
    receipt.gone.add(message.id)


def forget_person(
    session: Session,
    person: Person,
    ledger: Ledger,
    now: datetime,
    *,
    workspace: tuple[str, str] | None = None,
) -> Receipt:
    """Forget all that a person said, everywhere, and all that is known about them.

    Not limited by what is readable now: the words are theirs also in a place they have left.
    A fact about something else that somebody confirmed in their own message stays as theirs.
    With `workspace` (platform, tenant) only of its places; their reminders there go too.
    """
    receipt = Receipt(people={person})
    everywhere = _places_of(session, person, workspace)
    mine = messages.by_author(session, person, everywhere)
    mine_ids = {message.id for message in mine}
    for fact in facts.concerning(session, person, everywhere):
        others = [item for item in fact.evidence if item.message_id not in mine_ids]
        if fact.subject != person and others:
            facts.leave_to_others(session, fact, mine_ids)
            continue
        _forget_fact(session, fact, ledger, now, receipt)
    for message in mine:
        for fact in facts.supported_by(
            session, message.id, Readable.of(message.audience).for_upkeep()
        ):
            if not facts.drop_evidence(session, fact.id, message.id):
                _remove_fact(session, fact, now, receipt)
        receipt.digests.append(ledger.whole(message.audience, message.platform_id))
        erase_derived(session, [Ref(Kind.MESSAGE, message.id)], receipt)
        extraction.finish(session, [message.id])
    receipt.messages = len(mine_ids | {m.id for m in receipt.undo})
    counted = receipt.messages
    for message in mine:
        _remove_message(session, message, receipt)
    receipt.messages = counted
    asked = delete(TraceRow).where(col(TraceRow.asker) == str(person))
    inside = None if workspace is None else audiences.of_workspace(session, *workspace)
    if inside is not None:
        asked = asked.where(col(TraceRow.audience_id).in_(inside))
    session.execute(asked)
    reminders.remove_for_person(session, person, inside)
    tombstones.add(session, receipt.digests, now)
    return receipt


def _places_of(
    session: Session, person: Person, workspace: tuple[str, str] | None = None
) -> Readable:
    """Every place (of a workspace) that holds words by or facts about the person."""
    ids: set[int] = set(
        session.exec(
            select(MessageRow.audience_id).where(MessageRow.author == str(person)).distinct()
        )
    )
    mine = or_(col(FactRow.subject) == str(person), col(FactRow.speaker) == str(person))
    ids |= set(session.exec(select(FactRow.audience_id).where(mine).distinct()))
    found = audiences.names(session, ids).values()
    return Readable(
        frozenset(p for p in found if workspace is None or (p.platform, p.tenant) == workspace)
    ).for_upkeep()
