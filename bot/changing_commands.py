"""Commands that change what is known: remember, keep, forget, correct, rate, undo."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.command_registry import (
    YES,
    Request,
    Run,
    join_lines,
    line,
    private,
    receipt_text,
    told,
)
from bot.extract import Extractor, facts_stated, verbatim
from bot.messages import Choice, Reply
from bot.reading_commands import SEARCH_RESULTS, finish_reading
from memory import analysis, guards, tokens
from memory.directory import Directory
from memory.errors import NotPermitted
from memory.long_term import LongTermMemory
from memory.ports import Clock
from memory.retrieve import RELEVANT
from memory.types import Evidence, Fact, Kind, NewMessage, Origin, Span

UNDO_FOR = timedelta(minutes=10)
"""How long a change can be undone. What Undo needs is kept in memory only, never on disk."""

UNDO_STEPS = 5
"""Changes of one person that can be undone."""


@dataclass(slots=True)
class _Undo:
    until: datetime
    take_back: Callable[[], Awaitable[str]]


class ChangingCommands:
    """Changes what is known, under the permissions of the request's actor."""

    def __init__(
        self, memory: LongTermMemory, directory: Directory, extractor: Extractor, clock: Clock
    ) -> None:
        self._memory = memory
        self._directory = directory
        self._extractor = extractor
        self._clock = clock
        self._undo: dict[str, list[_Undo]] = {}

    def runs(self) -> dict[str, Run]:
        """What each command runs, by name."""
        return {
            "remember": self._remember,
            "forget": self._forget,
            "correct": self._correct,
            "keep": self._keep,
            "good": self._good,
            "bad": self._bad,
            "undo": self._take_back,
        }

    async def _remember(self, request: Request) -> Reply:
        quoted = request.quoted
        if not request.argument and quoted is None:
            return private(request.say("What shall I remember?"))
        message = request.message
        if quoted is not None and not await self._may_keep(quoted, request):
            return private(request.say("I may not keep that message."))
        heard = await self._memory.hear(quoted or told(message, request.argument), learn=False)
        if heard is None:
            return private(request.say("That message was forgotten; please say it anew."))
        stated = facts_stated(heard.message) or [verbatim(heard.message)]
        outcome = await self._memory.remember(stated)
        fresh = [item.fact.id for item in outcome if not item.known]
        lines = [
            request.say("I knew that already: {text}", text=item.fact.text)
            if item.known
            else request.say("Remembered: {text}", text=item.fact.text)
            for item in outcome
        ]
        reply = Reply(
            "\n".join(lines),
            learned=tuple(item.fact for item in outcome),
            private=not request.in_words,
        )
        if not fresh:
            return reply

        async def take_back() -> str:
            await self._memory.forget(fresh, request.actor, message.readable)
            return request.say("Undone.")

        return self._with_undo(reply, request, take_back)

    async def _may_keep(self, quoted: NewMessage, request: Request) -> bool:
        """True when the asker can read the message and its author lets their words be kept."""
        if quoted.audience not in request.message.readable or quoted.author is None:
            return False
        author = await self._directory.preferences(quoted.author)
        place = await self._directory.place(quoted.audience)
        return not (author.paused or place.paused)

    async def _keep(self, request: Request) -> Reply:
        """Keep the last answer, under its question, marked as a model's; never twice."""
        message, asker = request.message, request.message.author.person
        trace = await self._memory.trace(asker, message.here, None)
        exchange = await self._memory.exchange(trace, message.readable) if trace else None
        if exchange is None:
            return private(request.say("There is no answer of mine to keep here."))
        asked, answered = exchange
        known = await self._kept_already(asked.text, request)
        if known is not None:
            return private(request.say("I knew that already: {text}", text=known.text))
        title = " ".join(asked.text.split())
        new = replace(
            verbatim(asked),
            text=f"{title} — {' '.join(answered.text.split())}",
            origin=Origin.MODEL_ANSWER,
            evidence=(
                *verbatim(asked).evidence,
                Evidence(answered.id, Span(0, len(answered.text))),
            ),
        )
        outcome = await self._memory.remember([new])
        return Reply(
            request.say("Kept, marked as a model's answer: {text}", text=outcome[0].fact.text),
            learned=(outcome[0].fact,),
            private=True,
        )

    async def _kept_already(self, asked: str, request: Request) -> Fact | None:
        """A kept answer to the same question that the asker can read."""
        hits = await self._memory.recall(
            asked, request.message.readable, SEARCH_RESULTS, kinds=(Kind.FACT,)
        )
        for hit in hits:
            if hit.fact is None or hit.fact.origin is not Origin.MODEL_ANSWER:
                continue
            title = hit.fact.text.partition(" — ")[0]
            if title.casefold() == asked.casefold() or guards.same_without_model(
                title, asked, hit.meaning, analysis.language_of(asked)
            ):
                return hit.fact
        return None

    async def _rate(self, request: Request, rating: int) -> Reply:
        asker, number = request.message.author.person, request.argument
        trace = await self._memory.trace(
            asker, request.message.here, int(number) if number.isdecimal() else None
        )
        if trace is None or not await self._memory.rate(trace.id, asker, rating):
            return private(request.say("There is no answer of mine to rate here."))
        return private(request.say("Thank you."))

    async def _good(self, request: Request) -> Reply:
        return await self._rate(request, 1)

    async def _bad(self, request: Request) -> Reply:
        return await self._rate(request, -1)

    async def _forget(self, request: Request) -> Reply:
        quoted = request.quoted
        if quoted is not None and not request.argument:
            return await self._forget_message(quoted, request)
        await finish_reading(self._memory, self._extractor, request)
        if request.argument.lower() in {"everything", "all", "全部", "すべて"}:
            return await self._forget_everything(request)
        numbers = request.argument.replace("#", " ").replace(",", " ").split()
        if numbers and all(number.isdecimal() for number in numbers):
            return await self._forget_ids([int(number) for number in numbers], request)
        if not request.argument:
            return private(request.say("What shall I forget? Give numbers or words."))
        found, literal = await self._matching(request)
        if not found:
            return private(request.say("I know nothing like that."))
        if literal and (request.confirmed or (request.in_words and len(found) == 1)):
            return await self._forget_ids([fact.id for fact in found], request)
        ids = " ".join(str(fact.id) for fact in found)
        heading = request.say.plural(
            "Shall I forget this {count} thing?", "Shall I forget these {count} things?", len(found)
        )
        confirm = Choice(request.say("Forget"), f"forget {ids}", danger=True)
        how = request.say("To confirm: {command}", command=f"/memory {confirm.command}")
        lines = [line(fact, request) for fact in found]
        return replace(
            private(join_lines(heading, *lines, how)), facts=tuple(found), choices=(confirm,)
        )

    async def _forget_message(self, quoted: NewMessage, request: Request) -> Reply:
        """Forget what one message taught."""
        message = await self._memory.find_message(quoted.audience, quoted.platform_id)
        known = (
            await self._memory.facts_from(message.id, request.message.readable) if message else []
        )
        ids = [fact.id for fact in known if request.actor.may_forget(fact)]
        if not ids:
            return private(request.say("I know nothing from that message."))
        return await self._forget_ids(ids, request)

    async def _matching(self, request: Request) -> tuple[list[Fact], bool]:
        """The person's own facts that are meant, and whether they have all of the words.

        Without such facts, those that are near in meaning: to be confirmed before they go.
        """
        exact = tokens.query_terms(request.argument).exact
        wanted = {term for term in exact if not tokens.is_spelling(term)} or set(exact)
        mine = [
            fact
            for fact in await self._memory.facts_about(
                request.message.author.person, request.message.readable, past=True
            )
            if request.actor.may_forget(fact)
        ]
        plain = tokens.normalised(request.argument)
        literal = [
            fact
            for fact in mine
            if plain in tokens.normalised(fact.text)
            or (wanted and wanted <= set(tokens.terms(fact.text)))
        ]
        if literal:
            return literal, True
        hits = await self._memory.recall(
            request.argument, request.message.readable, SEARCH_RESULTS, kinds=(Kind.FACT,)
        )
        near = {hit.ref.id for hit in hits if hit.evidence >= RELEVANT}
        return [fact for fact in mine if fact.id in near], False

    async def _forget_ids(self, ids: Sequence[int], request: Request) -> Reply:
        try:
            receipt = await self._memory.forget(ids, request.actor, request.message.readable)
        except NotPermitted:
            return private(request.say("I know nothing by that number that is yours to forget."))
        reply = replace(private(receipt_text(receipt, request.say)), private=not request.in_words)

        async def take_back() -> str:
            count = await self._memory.restore(receipt)
            return request.say.plural(
                "Undone: {count} fact is back.", "Undone: {count} facts are back.", count
            )

        return self._with_undo(reply, request, take_back)

    async def _forget_everything(self, request: Request) -> Reply:
        if not request.confirmed:
            confirm = Choice(request.say("Forget everything"), f"forget everything {YES}", True)
            text = request.say(
                "This forgets everything you said and everything I know about you, everywhere."
                " It cannot be undone. To confirm: {command}",
                command=f"/memory {confirm.command}",
            )
            return replace(private(text), choices=(confirm,))
        self._undo.pop(str(request.message.author.person), None)
        receipt = await self._memory.forget_person(request.message.author.person)
        return private(receipt_text(receipt, request.say))

    async def _correct(self, request: Request) -> Reply:
        """On "that's wrong, it is …": a new value for the fact that the last answer quoted."""
        message = request.message
        trace = await self._memory.trace(message.author.person, message.here, None)
        used = [
            item["id"]
            for item in (trace.steps.get("hits", []) if trace else [])
            if item["used"] and item["kind"] == "fact"
        ]
        known = await self._memory.facts_by_id(used[:1], message.readable)
        if not known or not request.actor.may_forget(known[0]):
            return await self._remember(request)
        wrong = known[0]
        value = analysis.read(wrong.text).value
        corrected = (
            wrong.text.replace(value, request.argument)
            if value and value in wrong.text
            else request.argument
        )
        heard = await self._memory.hear(told(message, corrected), learn=False)
        if heard is None:
            return private(request.say("That message was forgotten; please say it anew."))
        new = replace(
            verbatim(heard.message),
            subject=wrong.subject,
            attribute=wrong.attribute,
            language=wrong.language,
        )
        outcome = await self._memory.remember([new], replacing=wrong)
        text = request.say("Corrected: {text}", text=outcome[0].fact.text)
        return Reply(text, learned=(outcome[0].fact,))

    # -- undo ------------------------------------------------------------------------------------

    def _with_undo(
        self, reply: Reply, request: Request, take_back: Callable[[], Awaitable[str]]
    ) -> Reply:
        stack = self._undo.setdefault(str(request.message.author.person), [])
        stack.append(_Undo(self._clock() + UNDO_FOR, take_back))
        del stack[:-UNDO_STEPS]
        undo = Choice(request.say("Undo"), "undo")
        return replace(reply, choices=(*reply.choices, undo))

    async def _take_back(self, request: Request) -> Reply:
        stack = self._undo.get(str(request.message.author.person), [])
        while stack:
            last = stack.pop()
            if self._clock() < last.until:
                return private(await last.take_back())
        return private(request.say("There is nothing to undo."))
