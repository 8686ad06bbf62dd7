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

from sqlmodel import Session

from memory import forgetting, reconcile, records, retrieve
from memory.embedding import EmbeddingService
from memory.errors import NotPermitted
from memory.forgetting import Receipt
from memory.index import VectorIndex
from memory.pool import Asked
from memory.ports import Clock, Judge, Reranker
from memory.redaction import redact
from memory.remembering import Remembered, Remembering
from memory.reranking import Reranking
from memory.retrieve import Retriever
from memory.store import (
    audiences,
    changes,
    extraction,
    facts,
    inbox,
    lineage,
    messages,
    places,
    reminders,
    sources,
    summaries,
    texts,
    tombstones,
    traces,
)
from memory.store.changes import Entry
from memory.store.database import Database
from memory.store.extraction import Pending
from memory.store.messages import Change
from memory.store.tombstones import Ledger
from memory.store.traces import Trace
from memory.types import (
    Audience,
    Evidence,
    Fact,
    Hit,
    Kind,
    Message,
    NewFact,
    NewMessage,
    Person,
    Readable,
    Ref,
    SourceChunk,
    Span,
)
from memory.undoing import Undoing

log = logging.getLogger(__name__)

R = TypeVar("R", bound=Receipt | None)

PLACE_BATCH = 200
"""Messages of a place that are taken out per transaction, so that nobody waits long."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A message after it was stored."""

    message: Message
    change: Change


@dataclass(frozen=True, slots=True)
class Actor:
    """Who asks for a change."""

    person: Person
    is_admin: bool = False
    workspace: tuple[str, str] | None = None
    """Platform and tenant whose admin they are: where they ask. A person's own tenant, unless
    given, does not tell: all of Discord is one, and who manages one server manages no other."""
    everywhere: bool = False
    """An admin of the whole installation."""

    def administers(self, platform: str, tenant: str) -> bool:
        """True for an admin of that workspace."""
        here = self.workspace or (self.person.platform, self.person.tenant)
        return self.is_admin and (self.everywhere or here == (platform, tenant))

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
        *,
        reranker: Reranker | None = None,
    ) -> None:
        """`reranker` looks over the order of what is found; see `memory.reranking`."""
        self._database = database
        self._index = index
        self._ledger = ledger
        self._clock = clock
        self._remembering = Remembering(database, index, embedding, clock)
        self._retriever = Retriever(database, index, embedding)
        self._undoing = Undoing(ledger)
        self._reranking = Reranking(reranker)
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
            heard = self._store(session, message, findable=findable)
            if heard is not None and heard.change is not Change.UNCHANGED and learn:
                extraction.enqueue(session, heard.message, self._clock())
            return heard

        heard = await self._database.write(store)
        if heard is not None and heard.change is Change.EDITED:
            self.embedding.forget_recent()  # no byte of what the words were stays anywhere
            await self._database.checkpoint()
        return heard

    def _store(self, session: Session, message: NewMessage, *, findable: bool) -> Heard | None:
        where, id_ = message.audience, message.platform_id
        revision = self._ledger.digest(where, id_, message.revision)
        if tombstones.exists(session, revision, self._ledger.whole(where, id_)):
            return None
        now = self._clock()
        stored, change = messages.put(session, message, now, findable=findable)
        if change is Change.UNCHANGED:
            return Heard(stored, change)
        audience_id = audiences.ensure_id(session, stored.audience)
        ref = Ref(Kind.MESSAGE, stored.id)
        if change is Change.NEW:
            words = texts.of_message(stored, findable=findable)
            if words is not None:
                records.index(session, audience_id, ref, words, now)
            return Heard(stored, change)
        withdrawn = Receipt()
        forgetting.withdraw(session, stored, now, withdrawn, gone=False)
        self._undoing.follow(withdrawn)
        summaries.drop_stale(session)
        records.reindex(session, audience_id, ref, now)
        return Heard(stored, change)

    async def history(self, conversation: str, readable: Readable, limit: int) -> list[Message]:
        """The last messages of a conversation, oldest first."""
        return await self._database.read(
            lambda s: messages.recent(s, readable, conversation, limit)
        )

    async def waiting(self, limit: int = 1000) -> list[tuple[Pending, Message]]:
        """Messages that are due for extraction, oldest first, each with its words now."""

        def find(session: Session) -> list[tuple[Pending, Message]]:
            pending = extraction.waiting(session, self._clock(), limit)
            here = Readable(frozenset(item.audience for item in pending))
            said = messages.get(session, [item.message_id for item in pending], here)
            return [(item, said[item.message_id]) for item in pending]

        return await self._database.read(find)

    async def postpone_extraction(self, message_ids: Collection[int]) -> None:
        """Try these messages again later."""
        await self._database.write(lambda s: extraction.postpone(s, message_ids, self._clock()))

    async def facts_of_same_words(self, message: Message) -> list[NewFact] | None:
        """What the author's earlier message in the same words taught, as taught by this one.

        None when there is no such message that has been read, or when what it taught depends on
        its own time ("last week"): then this one must be read.
        """

        def find(session: Session) -> list[NewFact] | None:
            place = Readable.of(message.audience)
            for earlier in messages.same_words(session, message):
                if extraction.is_waiting(session, earlier):
                    continue
                said = messages.get(session, [earlier], place)[earlier]
                known = [
                    fact
                    for fact in facts.supported_by(session, earlier, place)
                    if fact.speaker == message.author
                ]
                if any(_is_dated(fact) for fact in known):
                    return None
                return [_said_again(fact, said, message) for fact in known]
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
        extracted_from: Collection[Message] = (),
        replacing: Fact | None = None,
        judge: Judge | None = None,
    ) -> list[Remembered]:
        """Reconcile facts with what is known; see `Remembering.remember`."""
        return await self._remembering.remember(
            new, extracted_from=extracted_from, replacing=replacing, judge=judge
        )

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
        passage: str = "",
    ) -> list[Hit]:
        """The k best records for a query, best first; see `Retriever.search`.

        `window` is the time that the query asks about; records of it come first. `passage` is a
        made-up answer to search near; see `Asked`.

        Facts whose value a newer readable fact replaces come back marked as past.
        """
        asked, wide = Asked(query, asker, window, passage), self._reranking.depth(k)
        hits = await self._retriever.search(asked, readable, wide, kinds=kinds, earlier=earlier)
        hits = await self._reranking.order(query, hits, k)
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

    async def chunks_by_id(
        self, ids: Collection[int], readable: Readable
    ) -> dict[int, SourceChunk]:
        """Those of the pieces of documents that are readable, by id."""
        return await self._database.read(lambda s: sources.chunks(s, ids, readable))

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
            known = facts.get(session, ids, readable.for_upkeep())
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

    async def forget_leaver(self, person: Person, actor: Actor) -> Receipt:
        """As `forget_person`, for somebody who left. Raises NotPermitted: an admin's to do, in
        their own workspace. Where that is not the person's (a server of Discord's), what they
        said elsewhere is not the admin's to forget, and stays.
        """
        if actor.administers(person.platform, person.tenant):
            return await self.forget_person(person)
        here = actor.workspace
        if here is None or here[0] != person.platform or not actor.administers(*here):
            raise NotPermitted

        def work(session: Session) -> Receipt:
            return forgetting.forget_person(
                session, person, self._ledger, self._clock(), workspace=here
            )

        return await self._forget(work)

    async def said_between(self, person: Person, start: datetime, end: datetime) -> int:
        """How many messages a person sent from `start` until before `end`, everywhere; those that
        asked for a reminder included.
        """

        def counted(session: Session) -> int:
            said = messages.said_between(session, person, start, end)
            return len(said) + reminders.count_made_between(session, person, start, end)

        return await self._database.read(counted)

    async def forget_said(self, person: Person, start: datetime, end: datetime) -> Receipt:
        """Forget all that a person said from `start` until before `end`, everywhere, with the
        reminders that they asked for then.
        """

        def work(session: Session) -> Receipt:
            wishes = reminders.remove_made_between(session, person, start, end)
            said = messages.said_between(session, person, start, end, blank=True)
            receipt = forgetting.forget_messages(session, said, self._ledger, self._clock())
            receipt.messages += wishes
            return receipt

        return await self._forget(work)

    async def forget_source(self, where: str, actor: Actor, readable: Readable) -> Receipt:
        """Forget what came from one message, named by its permalink or its platform's id.

        Its author and an admin take it out whole; whom a fact from it is about, that fact.
        Raises NotPermitted, also when there is no such message.
        """

        def work(session: Session) -> Receipt:
            now = self._clock()
            found = messages.at_source(session, where)
            own = [m for m in found if m.author == actor.person or _administers(actor, m)]
            if own:
                return forgetting.forget_messages(session, own, self._ledger, now)
            known = [
                fact
                for message in found
                for fact in facts.supported_by(session, message.id, readable.for_upkeep())
                if actor.may_forget(fact)
            ]
            if not known:
                raise NotPermitted
            return forgetting.forget_facts(session, known, self._ledger, now)

        return await self._forget(work)

    async def forget_place(self, audience: Audience, actor: Actor) -> Receipt:
        """Forget all that was said in a place, by everybody. Documents stay: they have their own
        command. Raises NotPermitted: an admin's to do.
        """
        if not actor.administers(audience.platform, audience.tenant):
            raise NotPermitted
        total = Receipt()
        while part := await self._forget(
            lambda s: forgetting.forget_part_of_place(
                s, audience, self._ledger, self._clock(), PLACE_BATCH
            )
        ):
            total.add(part)
        return total

    async def source_deleted(self, audience: Audience, platform_id: str) -> Receipt | None:
        """The platform says that a message is gone; None when it was not stored."""

        def work(session: Session) -> Receipt | None:
            reminders.remove_for_message(session, audience, platform_id)
            message = messages.find(session, audience, platform_id)
            if message is None:
                return None
            return forgetting.delete_message(session, message, self._ledger, self._clock())

        return await self._forget(work)

    async def restore(self, receipt: Receipt) -> int:
        """Take back a forget that was a mistake, from the receipt kept in memory; counts facts.

        What was forgotten, edited or deleted since stays gone.
        """

        count = await self._database.write(
            lambda s: self._undoing.restore(s, receipt, self._clock())
        )
        await self.embedding.drain()
        return count

    async def _forget(self, work: Callable[[Session], R]) -> R:
        """Run it, write the ledger, and leave no byte in log or memory."""

        def recorded(session: Session) -> R:
            receipt = work(session)
            summaries.drop_stale(session)
            if isinstance(receipt, Receipt):
                # before the commit: a ledger that names too much is safe, one too little is not
                self._ledger.append(receipt.digests)
                self._undoing.follow(receipt)
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
        reply: NewMessage | None,
        steps: Mapping[str, Any],
        sources: Collection[Ref],
        *,
        findable: bool = True,
    ) -> tuple[int, int | None]:
        """Store an answer and how it came about; gives the ids of the trace and of the reply.

        `reply` is stored as by `hear`, and `sources` are what it was made from. Without one,
        only the trace is kept, and without words when any source went while it was written.
        """

        def store(session: Session) -> tuple[int, int | None]:
            kept, told, asked = reply, steps, message_id
            origin = lineage.origin(session, sources)
            if not origin.whole:
                kept, told = None, {k: v for k, v in steps.items() if k not in traces.WORDS}
                question = [] if asked is None else [Ref(Kind.MESSAGE, asked)]
                asked = asked if lineage.origin(session, question).whole else None
            heard = self._store(session, kept, findable=findable) if kept else None
            reply_id = heard.message.id if heard is not None else None
            trace_id = traces.add(session, audience, asker, asked, reply_id, told, self._clock())
            if heard is not None:
                here = audiences.ensure_id(session, heard.message.audience)
                lineage.add(session, heard.message.id, here, sources, origin)
            return trace_id, reply_id

        if reply is not None:
            reply = replace(reply, text=redact(reply.text).text)
        return await self._database.write(store)

    async def trace(self, asker: Person, audience: Audience, trace_id: int | None) -> Trace | None:
        """The asker's own trace by id, or of their last answer in this place."""
        if trace_id is not None:
            return await self._database.read(lambda s: traces.get(s, trace_id, asker))
        return await self._database.read(lambda s: traces.latest(s, asker, audience))

    async def rate(self, trace_id: int, asker: Person, rating: int) -> bool:
        """Store the asker's verdict on an answer, +1 or -1; False for somebody else's trace."""
        return await self._database.write(lambda s: traces.rate(s, trace_id, asker, rating))

    async def rate_reply(
        self, audience: Audience, platform_id: str, asker: Person, rating: int
    ) -> bool:
        """Store the asker's verdict on a reply of the bot's, by the platform's id of the reply."""

        def work(session: Session) -> bool:
            reply = messages.find(session, audience, platform_id)
            return reply is not None and traces.rate_reply(session, reply.id, asker, rating)

        return await self._database.write(work)

    async def exchange(self, trace: Trace, readable: Readable) -> tuple[Message, Message] | None:
        """The question and the reply of a trace, where both are readable and not forgotten."""
        if trace.message_id is None or trace.reply_id is None:
            return None
        ids = (trace.message_id, trace.reply_id)
        found = await self._database.read(lambda s: messages.get(s, ids, readable))
        if len(found) < len(ids) or not all(message.text.strip() for message in found.values()):
            return None
        return found[ids[0]], found[ids[1]]

    async def places_behind(self, refs: Collection[Ref]) -> Readable:
        """Every place in which these records were said, or in which what made them was said."""
        return await self._database.read(lambda s: lineage.places(s, refs))

    # -- what platforms ask when they look for what they missed ----------------------------------

    async def last_received(self, platform: str) -> datetime | None:
        """When the platform's last event came; None before the first."""
        return await self._database.read(lambda s: inbox.last_received(s, platform))

    async def active_conversations(
        self, platform: str, since: datetime
    ) -> dict[str, dict[str, str]]:
        """Conversations with messages since then: revision by the platform's message id."""
        return await self._database.read(lambda s: messages.active(s, platform, since))

    async def stored_in(self, audience: Audience, limit: int) -> list[tuple[str, str]]:
        """(conversation, platform id) of people's messages in a place, newest first."""
        return await self._database.read(lambda s: messages.stored_in(s, audience, limit))

    async def next_to_recheck(self, platform: str, limit: int) -> list[Message]:
        """The messages whose turn it is to be looked up on their platform, oldest turn first.

        For deletions that were missed: each call goes on where the last one ended, and begins
        again after the newest. A platform that finds one gone calls `source_deleted`.
        """

        def turn(session: Session) -> list[Message]:
            return places.take_turn(
                session,
                f"rechecked.{platform}",
                lambda after: messages.to_recheck(session, platform, after, limit),
            )

        return await self._database.write(turn)

    async def names(self, people: Collection[Person], readable: Readable) -> dict[Person, str]:
        """What people are called, where they said something readable."""
        return await self._database.read(lambda s: messages.names(s, people, readable))

    async def changes(self, fact_id: int, readable: Readable) -> list[Entry]:
        """What changed a fact of a readable place, oldest first; also how it went."""
        return await self._database.read(lambda s: changes.of_fact(s, fact_id, readable))

    async def knows(self, audience: Audience, platform_id: str) -> bool:
        """True when the message is stored, or waits in the inbox."""

        def find(session: Session) -> bool:
            if messages.find(session, audience, platform_id) is not None:
                return True
            return inbox.mentions(session, audience.platform, audience.tenant, platform_id)

        return await self._database.read(find)


def _administers(actor: Actor, message: Message) -> bool:
    return actor.administers(message.audience.platform, message.audience.tenant)


def _is_dated(fact: Fact) -> bool:
    """True when its interval came from words about time, not from a later value."""
    ended_by_itself = fact.valid_until is not None and fact.superseded_by is None
    return fact.valid_from is not None or ended_by_itself


def _said_again(fact: Fact, earlier: Message, message: Message) -> NewFact:
    """A fact that the earlier message taught, as taught by the later one in the same words."""
    whole = (Evidence(message.id, Span(0, len(message.text))),)
    own = tuple(
        replace(item, message_id=message.id)
        for item in fact.evidence
        if item.message_id == earlier.id
    )
    return replace(
        facts.as_new(fact),
        # the same words may be spaced differently
        evidence=own if earlier.text == message.text else whole,
        said_at=message.sent_at,
        valid_until=None,
    )
