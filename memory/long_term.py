"""The façade: hear, remember, recall, forget. All that `bot` calls of the memory.

Every method that reads takes the `Readable` it may see. Writes commit before they return, and
what a write makes findable is findable by then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

import numpy as np
from sqlmodel import Session

from memory import forgetting, reconcile, records, retrieve
from memory.embedding import EmbeddingService
from memory.errors import NotPermitted
from memory.forgetting import Receipt
from memory.index import VectorIndex
from memory.pool import Asked
from memory.ports import Clock, Judge, Pair
from memory.reconcile import Candidate
from memory.redaction import redact
from memory.retrieve import Retriever
from memory.store import (
    audiences,
    embeddings,
    extraction,
    facts,
    messages,
    tombstones,
    traces,
)
from memory.store.database import Database
from memory.store.embeddings import Model
from memory.store.extraction import Pending
from memory.store.messages import Change
from memory.store.tombstones import Ledger
from memory.store.traces import Trace
from memory.types import (
    Audience,
    Fact,
    Hit,
    Kind,
    Message,
    NewFact,
    NewMessage,
    Person,
    Readable,
    Ref,
    Vector,
    Verdict,
)

log = logging.getLogger(__name__)

_Added = tuple[Model, int, int, int, Vector]
"""Model, audience id, version, key and vector of a fact that was stored."""

R = TypeVar("R", bound=Receipt | None)


@dataclass(frozen=True, slots=True)
class Heard:
    """A message after it was stored."""

    message: Message
    change: Change


@dataclass(frozen=True, slots=True)
class Remembered:
    """A fact after it was reconciled with what is known."""

    fact: Fact
    known: bool
    """It was known already and is now confirmed once more."""
    replaced: Fact | None = None
    """The fact whose place it took."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who asks for a change."""

    person: Person
    is_admin: bool = False

    def may_forget(self, fact: Fact) -> bool:
        """Speaker, subject or admin."""
        return self.is_admin or self.person in (fact.speaker, fact.subject)


class LongTermMemory:
    """What is remembered, for everybody, behind audiences."""

    def __init__(
        self,
        database: Database,
        index: VectorIndex,
        embedding: EmbeddingService,
        ledger: Ledger,
        clock: Clock,
    ) -> None:
        self._database = database
        self._index = index
        self._ledger = ledger
        self._clock = clock
        self._retriever = Retriever(database, index, embedding)
        self.embedding = embedding

    # -- hear ------------------------------------------------------------------------------------

    async def hear(
        self, message: NewMessage, *, learn: bool, findable: bool = True
    ) -> Heard | None:
        """Store a message, or a later revision of it; None when that revision was forgotten.

        With `learn` it is queued for extraction. Without `findable` it is history only: a reply
        that merely quotes what is known would be found in place of it. An edit takes back what
        the earlier revision taught, and what that had superseded is current again.
        """

        # platforms redact before the inbox; words that come another way are redacted here
        message = replace(message, text=redact(message.text).text)

        def store(session: Session) -> Heard | None:
            place, id_ = message.audience, message.platform_id
            digests = (
                self._ledger.digest(place, id_, message.revision),
                self._ledger.whole(place, id_),
            )
            if any(tombstones.exists(session, digest) for digest in digests):
                return None
            now = self._clock()
            before = messages.find(session, message.audience, message.platform_id)
            stored, change = messages.put(session, message, now, findable=findable)
            if change is Change.UNCHANGED:
                return Heard(stored, change)
            if before is not None:
                forgetting.withdraw(session, before, now, Receipt(), gone=False)
            audience_id = audiences.ensure_id(session, stored.audience)
            ref = Ref(Kind.MESSAGE, stored.id)
            records.reindex(session, audience_id, ref, now)
            if learn:
                extraction.enqueue(session, stored, now)
            return Heard(stored, change)

        return await self._database.write(store)

    async def history(self, conversation: str, readable: Readable, limit: int) -> list[Message]:
        """The last messages of a conversation, oldest first."""
        return await self._database.read(
            lambda s: messages.recent(s, readable, conversation, limit)
        )

    async def waiting(self, limit: int = 1000) -> list[tuple[Pending, Message]]:
        """Messages that are due for extraction, oldest first, each with its words now."""

        def find(session: Session) -> list[tuple[Pending, Message]]:
            pending = extraction.waiting(session, self._clock(), limit)
            places = Readable(frozenset(item.audience for item in pending))
            said = messages.get(session, [item.message_id for item in pending], places)
            return [(item, said[item.message_id]) for item in pending]

        return await self._database.read(find)

    async def postpone_extraction(self, message_ids: Collection[int]) -> None:
        """Try these messages again later."""
        await self._database.write(lambda s: extraction.postpone(s, message_ids, self._clock()))

    async def facts_of_same_words(self, message: Message) -> list[NewFact] | None:
        """What the author's earlier message in the same words taught, as taught by this one.

        None when there is no such message that has been read: then this one must be.
        """

        def find(session: Session) -> list[NewFact] | None:
            place = Readable.of(message.audience)
            for earlier in messages.same_words(session, message):
                if extraction.is_waiting(session, earlier):
                    continue
                known = facts.supported_by(session, earlier, place)
                return [
                    replace(
                        facts.as_new(fact),
                        evidence=tuple(
                            replace(item, message_id=message.id)
                            for item in fact.evidence
                            if item.message_id == earlier
                        ),
                        said_at=message.sent_at,
                    )
                    for fact in known
                    if fact.speaker == message.author
                ]
            return None

        return await self._database.read(find)

    async def unread(self, author: Person | None = None) -> int:
        """How many messages (of one person) are still to be read."""
        return await self._database.read(lambda s: extraction.count(s, author))

    async def sent_as(self, message_id: int, platform_id: str) -> None:
        """Note the id that the platform gave to a stored reply."""
        await self._database.write(lambda s: messages.set_platform_id(s, message_id, platform_id))

    async def find_message(self, audience: Audience, platform_id: str) -> Message | None:
        """The message that a platform knows by this id, for the platform's own events."""
        return await self._database.read(lambda s: messages.find(s, audience, platform_id))

    # -- remember --------------------------------------------------------------------------------

    async def remember(
        self,
        new: Sequence[NewFact],
        *,
        extracted_from: Collection[int] = (),
        replacing: Fact | None = None,
        judge: Judge | None = None,
    ) -> list[Remembered]:
        """Reconcile facts with what is known and store what is new, in the order given.

        `extracted_from` are the messages whose pending extraction this completes, in the same
        transaction: a crash repeats the extraction or none of it. `replacing` is a known fact
        that its owner says is wrong: the first takes its place. `judge` is asked once about all
        pairs that words and guards leave open; without it, what is not certain stays apart.
        """
        vectors = await self.embedding.documents([fact.text for fact in new]) if new else []
        verdicts = await self._ask(judge, new, vectors) if judge is not None else None

        def store(session: Session) -> tuple[list[Remembered], list[_Added]]:
            added: list[_Added] = []
            outcome = [
                self._remember_one(session, fact, vector, verdicts, added)
                for fact, vector in zip(new, vectors, strict=True)
            ]
            if replacing is not None and outcome and outcome[0].fact.id != replacing.id:
                facts.supersede(session, replacing, outcome[0].fact)
            extraction.finish(session, extracted_from)
            return outcome, added

        outcome, added = await self._database.write(store)
        for model, audience_id, version, key, vector in added:
            self._index.apply(model, audience_id, version, added=[(key, vector)])
        return outcome

    async def _ask(
        self,
        judge: Judge,
        new: Sequence[NewFact],
        vectors: Sequence[tuple[Model, Vector] | None],
    ) -> dict[tuple[str, int], Verdict]:
        """One call about every pair that needs one; verdicts by (new text, known id)."""

        def find(session: Session) -> list[Pair]:
            pairs = []
            for fact, vector in zip(new, vectors, strict=True):
                exact = facts.exact(session, fact)
                if exact is not None and exact.superseded_by is None:
                    continue
                for known, similarity in self._near(session, fact, vector):
                    sure = reconcile.without_judge(fact, known, similarity) is Verdict.SAME
                    if not sure and not reconcile.rival(fact, known):
                        pairs.append(Pair(fact, known))
            return pairs

        pairs = await self._database.read(find)
        if not pairs:
            return {}
        verdicts = await judge.judge(pairs)
        return {
            (pair.new.text, pair.known.id): verdict
            for pair, verdict in zip(pairs, verdicts, strict=True)
        }

    @staticmethod
    def _near(
        session: Session, new: NewFact, vector: tuple[Model, Vector] | None
    ) -> list[tuple[Fact, float]]:
        """Open facts of the same subject and place that are near in meaning, nearest first."""
        if vector is None:
            return []
        model, embedded = vector
        audience_id = audiences.ensure_id(session, new.audience)
        known = {
            Ref(Kind.FACT, fact.id).key: fact
            for fact in facts.of_subject(session, new.subject, new.audience)
        }
        stored = embeddings.of_owners(session, audience_id, model, known)
        if not stored:
            return []
        keys = list(stored)
        centred = model.calibration.center(np.stack([stored[key] for key in keys]))
        cosines = centred @ model.calibration.center(embedded[None, :])[0]
        scores = model.calibration.standardize(cosines)
        ranked = sorted(zip(keys, scores.tolist(), strict=True), key=lambda item: -item[1])
        return [
            (known[key], score)
            for key, score in ranked[: reconcile.MOST_CANDIDATES]
            if score >= reconcile.NEAR
        ]

    def _remember_one(
        self,
        session: Session,
        new: NewFact,
        vector: tuple[Model, Vector] | None,
        verdicts: dict[tuple[str, int], Verdict] | None,
        added: list[_Added],
    ) -> Remembered:
        exact = facts.exact(session, new)
        rivals = (
            facts.of_subject(
                session, new.subject, new.audience, reconcile.rival_attributes(new.attribute)
            )
            if new.attribute
            else []
        )
        candidates = []
        if exact is None or exact.superseded_by is not None:
            for known, similarity in self._near(session, new, vector):
                verdict = (verdicts or {}).get((new.text, known.id)) or reconcile.without_judge(
                    new, known, similarity
                )
                candidates.append(Candidate(known, similarity, verdict))
        decision = reconcile.decide(new, exact, rivals, candidates)
        if decision.verdict is Verdict.SAME and decision.known is not None:
            return Remembered(facts.confirm(session, decision.known, new), known=True)
        now = self._clock()
        fact = facts.insert(session, new, now)
        audience_id = audiences.ensure_id(session, fact.audience)
        ref = Ref(Kind.FACT, fact.id)
        version = records.index(session, audience_id, ref, fact.text, now, vector=vector)
        if vector is not None and version is not None:
            added.append((vector[0], audience_id, version, ref.key, vector[1]))
        if decision.closed_by is not None:
            facts.supersede(session, fact, decision.closed_by)
        if decision.verdict is Verdict.SUPERSEDES and decision.known is not None:
            facts.supersede(session, decision.known, fact)
            return Remembered(fact, known=False, replaced=decision.known)
        return Remembered(fact, known=False)

    # -- recall ----------------------------------------------------------------------------------

    async def recall(
        self,
        query: str,
        readable: Readable,
        k: int,
        *,
        kinds: Collection[Kind] = tuple(Kind),
        asker: Person | None = None,
        earlier: str = "",
        window: tuple[datetime, datetime] | None = None,
    ) -> list[Hit]:
        """The k best records for a query, best first; see `Retriever.search`.

        `window` is the time that the query asks about; records of it come first.

        Facts whose value a newer readable fact replaces come back marked as past.
        """
        hits = await self._retriever.search(
            Asked(query, asker, window), readable, k, kinds=kinds, earlier=earlier
        )
        found = [hit.fact for hit in hits if hit.fact is not None]
        settled = {fact.id: fact for fact in await self._settle(found, readable)}
        return [
            replace(hit, fact=settled[hit.fact.id]) if hit.fact is not None else hit for hit in hits
        ]

    async def _settle(self, known: Sequence[Fact], readable: Readable) -> list[Fact]:
        """The facts, with newer values from other readable places taken into account."""
        slots = {
            (fact.subject, fact.attribute)
            for fact in known
            if reconcile.single_valued(fact.attribute)
        }
        if not slots:
            return list(known)

        def rivals(session: Session) -> list[Fact]:
            return [
                rival
                for subject, attribute in slots
                for place in audiences.readable_ids(session, readable).values()
                for rival in facts.of_subject(session, subject, place, [str(attribute)])
            ]

        everything = {fact.id: fact for fact in await self._database.read(rivals)}
        everything |= {fact.id: fact for fact in known}
        settled = {fact.id: fact for fact in retrieve.newest_readable(list(everything.values()))}
        return [settled[fact.id] for fact in known]

    async def facts_about(
        self, person: Person, readable: Readable, *, past: bool = False
    ) -> list[Fact]:
        """Facts about or stated by a person, oldest first; with `past` also what held once."""
        known = await self._database.read(lambda s: facts.concerning(s, person, readable))
        now = self._clock()
        return [fact for fact in retrieve.newest_readable(known) if past or fact.is_current(now)]

    async def facts_by_id(self, ids: Collection[int], readable: Readable) -> list[Fact]:
        """Those of the facts that are readable, in the order of their ids."""
        found = await self._database.read(lambda s: facts.get(s, ids, readable))
        return [found[id_] for id_ in sorted(found)]

    async def facts_from(self, message_id: int, readable: Readable) -> list[Fact]:
        """Readable facts that a message supports."""
        return await self._database.read(lambda s: facts.supported_by(s, message_id, readable))

    async def messages_of(self, person: Person, readable: Readable) -> list[Message]:
        """A person's own readable messages, oldest first."""
        return await self._database.read(lambda s: messages.by_author(s, person, readable))

    # -- forget ----------------------------------------------------------------------------------

    async def forget(self, ids: Collection[int], actor: Actor, readable: Readable) -> Receipt:
        """Forget facts with the words they came from.

        Raises NotPermitted when any is not readable or not the actor's to forget; nothing is
        forgotten then, and the two cases look the same.
        """

        def work(session: Session) -> Receipt:
            known = facts.get(session, ids, readable)
            if len(known) != len(set(ids)) or not all(map(actor.may_forget, known.values())):
                raise NotPermitted
            return forgetting.forget_facts(
                session, [known[id_] for id_ in sorted(known)], self._ledger, self._clock()
            )

        return await self._forget(work)

    async def forget_person(self, person: Person) -> Receipt:
        """Forget everything a person said, everywhere, and everything known about them."""
        return await self._forget(
            lambda s: forgetting.forget_person(s, person, self._ledger, self._clock())
        )

    async def source_deleted(self, audience: Audience, platform_id: str) -> Receipt | None:
        """The platform says that a message is gone; None when it was not stored."""

        def work(session: Session) -> Receipt | None:
            message = messages.find(session, audience, platform_id)
            if message is None:
                return None
            return forgetting.delete_message(session, message, self._ledger, self._clock())

        return await self._forget(work)

    async def restore(self, receipt: Receipt) -> int:
        """Take back a forget that was a mistake, from the receipt kept in memory; counts facts."""

        def work(session: Session) -> int:
            now = self._clock()
            for message in receipt.undo:
                messages.rewrite(session, message.id, message.text)
                audience_id = audiences.ensure_id(session, message.audience)
                ref = Ref(Kind.MESSAGE, message.id)
                records.reindex(session, audience_id, ref, now)
            for fact in receipt.undo_facts:
                again = facts.insert(session, facts.as_new(fact), now, confirmed=fact.confirmed)
                audience_id = audiences.ensure_id(session, fact.audience)
                records.index(session, audience_id, Ref(Kind.FACT, again.id), fact.text, now)
            tombstones.lift(session, receipt.digests)
            self._ledger.retract(receipt.digests)
            return len(receipt.undo_facts)

        count = await self._database.write(work)
        await self.embedding.drain()
        return count

    async def _forget(self, work: Callable[[Session], R]) -> R:
        """Run it, write the ledger, and leave no byte in log or memory."""

        def recorded(session: Session) -> R:
            receipt = work(session)
            if isinstance(receipt, Receipt):
                # before the commit: a ledger that names too much is safe, one too little is not
                self._ledger.append(receipt.digests)
            return receipt

        receipt = await self._database.write(recorded)
        self.embedding.forget_recent()
        await self._database.checkpoint()
        return receipt

    # -- traces ----------------------------------------------------------------------------------

    async def add_trace(
        self,
        audience: Audience,
        asker: Person,
        message_id: int | None,
        reply_id: int | None,
        steps: Mapping[str, Any],
        sources: Collection[Ref],
    ) -> int:
        """Store how an answer came about; gives the trace's id."""
        return await self._database.write(
            lambda s: traces.add(
                s, audience, asker, message_id, reply_id, steps, sources, self._clock()
            )
        )

    async def trace(self, asker: Person, audience: Audience, trace_id: int | None) -> Trace | None:
        """The asker's own trace by id, or of their last answer in this place."""
        if trace_id is not None:
            return await self._database.read(lambda s: traces.get(s, trace_id, asker))
        return await self._database.read(lambda s: traces.latest(s, asker, audience))

    async def rate(self, trace_id: int, asker: Person, rating: int) -> bool:
        """Store the asker's verdict on an answer, +1 or -1; False for somebody else's trace."""
        return await self._database.write(lambda s: traces.rate(s, trace_id, asker, rating))
