"""Looking up what bears on a message, in places that its readers can read right now."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from bot.documents import Documents, quoted_once
from bot.exchange import Exchange
from bot.plan import Route
from bot.plan import plan as make_plan
from bot.ports import ChatModel
from bot.rechecking import as_of_now
from bot.research import Researcher
from memory.analysis import SELF, asks
from memory.long_term import LongTermMemory
from memory.ports import Clock
from memory.retrieve import RELEVANT
from memory.types import Fact, Hit, Kind, Message, Readable, Ref

RECALLED = 12
"""Records that a model gets to see."""


class LookUp:
    """Finds the records that an answer can draw on."""

    def __init__(
        self,
        memory: LongTermMemory,
        model: ChatModel | None,
        clock: Clock,
        documents: Documents | None,
        *,
        hyde: bool = False,
    ) -> None:
        self._memory = memory
        self._model = model
        self._clock = clock
        self._documents = documents
        self._researcher = Researcher(memory, model, hyde=hyde)

    async def find(self, work: Exchange) -> None:
        """Look up what bears on the message, in places that its readers can read right now."""
        await self._look_up(work)
        # what comes up instead may be of yet another place; each turn leaves fewer of them
        while await self.lost(work, work.hits):
            await self._look_up(work)

    async def lost(self, work: Exchange, used: Collection[Hit | Message]) -> bool:
        """True when the records draw on a place that can be read no more.

        `work.message` can read that place no more then.
        """
        message = work.message
        places = {record.audience for record in used}
        # what is no reply is of one place alone
        replies = [said.id for record in used if (said := _said(record)) and said.author is None]
        if replies:
            behind = await self._memory.places_behind([Ref(Kind.MESSAGE, id_) for id_ in replies])
            places |= behind.audiences
        asked = Readable(frozenset(places - {message.audience}))
        if not asked.audiences:
            return False
        now = await as_of_now(replace(message, readable=asked), work.recheck)
        lost = asked.audiences - now.readable.audiences
        left = Readable(message.readable.audiences - lost)
        work.message = replace(message, readable=left)
        return left != message.readable

    async def _look_up(self, work: Exchange) -> None:
        """Plan and search, leaving out what this very message has just taught, and questions."""
        message = work.message
        plan = await make_plan(message, work.history, self._model, self._clock())
        work.calls += plan.calls
        work.route = plan.route.value
        work.window = plan.window
        if plan.route is Route.TALK:
            return
        own = {item.fact.id for item in work.learned if not item.known}
        heard = {work.heard.id} if work.heard else set()
        found = await self._researcher.find(
            plan,
            message,
            2 * RECALLED + len(work.learned),
            plain=message.plain,
            answers=lambda hit: not (_is_new(hit, own, heard) or _asks(hit)),
        )
        work.calls += found.calls
        work.query, work.rounds = plan.query, found.steps
        found.hits = await self._with_attribute(work, found.hits)
        seen = {item.id for item in work.history} | heard
        seen |= {item.message_id for hit in found.hits if hit.fact for item in hit.fact.evidence}
        hits = [hit for hit in found.hits if not _is_new(hit, own, seen)]
        work.hits = quoted_once(hits, message.here)[:RECALLED]
        if self._documents is not None:
            consulted = await self._documents.consult(plan.query, message.readable, work.hits)
            if consulted is not None:
                work.consulted, work.hits = consulted, consulted.hits
                work.calls += consulted.calls

    async def _with_attribute(self, work: Exchange, hits: list[Hit]) -> list[Hit]:
        """The hits, with the asker's facts of the very attribute that they ask for.

        "Where did I live before?" asks for values of `home`: having one is evidence enough,
        however different the words are.
        """
        asked = work.asked
        named = asked.about is None and ":" in (asked.attribute or "")  # "the audit's deadline"
        if asked.attribute is None or not (named or asked.about == SELF):
            return hits
        asker, readable = work.message.author.person, work.message.readable
        mine = await self._memory.facts_about(asker, readable, past=True)
        fitting = {
            fact.id: fact
            for fact in mine
            if fact.subject == asker and fact.attribute and asked.fits(fact.attribute)
        }
        known = {hit.fact.id for hit in hits if hit.fact is not None}
        floor = min((hit.score for hit in hits), default=0.0)
        missing = [fact_hit(fact, floor) for id_, fact in fitting.items() if id_ not in known]
        settled = [
            sure(hit) if hit.fact is not None and hit.fact.id in fitting else hit
            for hit in [*hits, *reversed(missing)]
        ]
        return sorted(settled, key=lambda hit: -hit.score)


def _said(record: Hit | Message) -> Message | None:
    return record.message if isinstance(record, Hit) else record


def _is_new(hit: Hit, own: Collection[int], seen: Collection[int]) -> bool:
    """True for what was said just now, which tells nothing that is not known already."""
    if hit.fact is not None:
        return hit.fact.id in own
    return hit.message is not None and hit.message.id in seen


def _asks(hit: Hit) -> bool:
    """True for a question, which tells nothing at all."""
    return hit.fact is None and hit.message is not None and asks(hit.message.text)


def fact_hit(fact: Fact, score: float) -> Hit:
    """A fact that was looked up, not searched for, as a hit."""
    ref = Ref(Kind.FACT, fact.id)
    return Hit(ref, score, 0.0, fact.text, fact.audience, fact.said_at, fact)


def sure(hit: Hit) -> Hit:
    """The hit as one that answers for certain: it is of the attribute that was asked for."""
    gained = max(0.0, RELEVANT - hit.evidence)
    return replace(
        hit,
        score=hit.score + gained,
        evidence=max(hit.evidence, RELEVANT),  # adding what was gained may round to less
        signals=(*hit.signals, ("attribute", gained)),
    )
