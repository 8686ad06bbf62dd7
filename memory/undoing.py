"""Taking a forget back. What was forgotten, edited or deleted after it stays gone.

What can be taken back is kept in memory only, in the receipt. A later forget takes its words out of
the earlier receipts as well: whoever undoes a mistake of theirs brings back nobody else's words.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from sqlmodel import Session

from memory import records
from memory.forgetting import Receipt
from memory.store import audiences, extraction, facts, messages, tombstones
from memory.store.messages import BLANK
from memory.store.tombstones import Ledger
from memory.types import Evidence, Fact, Kind, Message, NewFact, Readable, Ref, Span


class Undoing:
    """Knows the receipts that somebody may still take back."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._receipts: list[weakref.ref[Receipt]] = []

    def follow(self, receipt: Receipt) -> None:
        """A receipt of what just went: what it says is gone for all earlier ones too."""
        earlier = self._followed()
        for one in earlier:
            _give_up(one, receipt)
        kept = [*earlier, receipt] if receipt.undo or receipt.undo_facts else earlier
        self._receipts = [weakref.ref(one) for one in kept]

    def _followed(self) -> list[Receipt]:
        return [one for ref in self._receipts if (one := ref()) is not None]

    def restore(self, session: Session, receipt: Receipt, now: datetime) -> int:
        """Bring back what a receipt holds, as far as it may; counts facts.

        They get other ids, which is what the other receipts then know them by.
        """
        back: set[int] = set()
        for message in receipt.undo:
            if _refill(session, message, receipt.blanked.get(message.id, ())):
                back.add(message.id)
                audience_id = audiences.ensure_id(session, message.audience)
                records.reindex(session, audience_id, Ref(Kind.MESSAGE, message.id), now)
                if message.id in receipt.unread:
                    extraction.enqueue(session, message, now)
        for fact_id, item in receipt.undo_evidence:
            if item.message_id in back:
                facts.add_evidence(session, fact_id, item)
        ids: dict[int, int] = {}
        for fact in receipt.undo_facts:
            new = _supported(session, fact)
            if new is None:
                continue
            again = facts.insert(session, new, now, confirmed=fact.confirmed)
            audience_id = audiences.ensure_id(session, fact.audience)
            records.index(session, audience_id, Ref(Kind.FACT, again.id), fact.text, now)
            ids[fact.id] = again.id
        for other in self._followed():
            other.undo_evidence = [(ids.get(id_, id_), item) for id_, item in other.undo_evidence]
        lifted = [digest for id_, digest in receipt.lifts.items() if id_ in back]
        tombstones.lift(session, lifted)
        self._ledger.retract(lifted)
        return len(ids)


def _give_up(earlier: Receipt, later: Receipt) -> None:
    """Take out of the earlier receipt what the later one says is gone."""
    theirs = [
        fact
        for fact in earlier.undo_facts
        if fact.speaker in later.people or fact.subject in later.people
    ]
    lost = {id_: list(spans) for id_, spans in later.blanked.items()}
    for fact in theirs:
        for item in fact.evidence:
            lost.setdefault(item.message_id, []).append(item.span)
    earlier.undo = [
        replace(message, text=_blanked(message.text, lost.get(message.id, ())))
        for message in earlier.undo
        if message.id not in later.gone
    ]
    earlier.undo_facts = [
        replace(fact, evidence=left)
        for fact in earlier.undo_facts
        if fact not in theirs
        and ((left := _untouched(fact.evidence, lost, later.gone)) or not fact.evidence)
    ]
    earlier.undo_evidence = [
        (id_, item) for id_, item in earlier.undo_evidence if _untouched((item,), lost, later.gone)
    ]
    for id_ in {*lost, *later.gone}:
        earlier.lifts.pop(id_, None)  # that revision stays forgotten, if only in part


def _blanked(text: str, spans: Collection[Span]) -> str:
    characters = list(text)
    for span in spans:
        end = min(span.end, len(characters))
        characters[span.start : end] = BLANK * max(0, end - span.start)
    return "".join(characters)


def _untouched(
    evidence: tuple[Evidence, ...], lost: dict[int, list[Span]], gone: Collection[int]
) -> tuple[Evidence, ...]:
    return tuple(
        item
        for item in evidence
        if item.message_id not in gone
        and not any(
            item.span.start < span.end and span.start < item.span.end
            for span in lost.get(item.message_id, ())
        )
    )


def _refill(session: Session, message: Message, spans: Collection[Span]) -> bool:
    """Put words back into the spans that were blanked; False when the message is another now."""
    found = messages.get(session, [message.id], Readable.of(message.audience).for_upkeep()).get(
        message.id
    )
    if found is None or found.revision != message.revision:
        return False
    now = found.text or BLANK * len(message.text)
    if len(now) != len(message.text):
        return False
    characters = list(now)
    for span in spans:
        characters[span.start : span.end] = message.text[span.start : span.end]
    text = "".join(characters)
    messages.rewrite(session, message.id, text if text.strip() else "", message.mentions)
    return True


def _supported(session: Session, fact: Fact) -> NewFact | None:
    """The fact as one to be stored again; None when nothing is left that it rested on."""
    place = Readable.of(fact.audience).for_upkeep()
    known = messages.get(session, [item.message_id for item in fact.evidence], place)
    left = tuple(item for item in fact.evidence if item.message_id in known)
    if fact.evidence and not left:
        return None
    return replace(facts.as_new(fact), evidence=left)
