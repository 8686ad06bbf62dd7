"""Commands that change what is known: remember, keep, correct, rate, undo."""

from __future__ import annotations

from dataclasses import replace

from bot.command_registry import Request, Run, identifier, private, told
from bot.extract import facts_stated, verbatim
from bot.messages import Reply
from bot.reading_commands import SEARCH_RESULTS
from bot.undo import UndoStack
from memory import analysis, guards
from memory.directory import Directory
from memory.long_term import LongTermMemory
from memory.store.traces import Trace
from memory.types import Evidence, Fact, Kind, NewMessage, Origin, Readable, Ref, Span

_KEPT = {Origin.MODEL_ANSWER, Origin.ACCEPTED}
"""How an answer that was kept came to be known."""


class ChangingCommands:
    """Changes what is known, under the permissions of the request's actor."""

    def __init__(self, memory: LongTermMemory, directory: Directory, undo: UndoStack) -> None:
        self._memory = memory
        self._directory = directory
        self._undo = undo

    def runs(self) -> dict[str, Run]:
        """What each command runs, by name."""
        return {
            "remember": self._remember,
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

        return self._undo.offer(reply, request, take_back)

    async def _may_keep(self, quoted: NewMessage, request: Request) -> bool:
        """True when the asker can read the message and its author lets their words be kept."""
        if quoted.audience not in request.message.readable or quoted.author is None:
            return False
        author = await self._directory.preferences(quoted.author)
        place = await self._directory.place(quoted.audience)
        return not (author.paused or place.paused)

    async def _keep(self, request: Request) -> Reply:
        """Keep the last answer, under its question, never twice; a model's is marked as one.

        What it was made from has to be from here: a fact is readable wherever its place is,
        also when that other place is closed one day.
        """
        message, asker = request.message, request.message.author.person
        trace = await self._memory.trace(asker, message.here, None)
        exchange = await self._memory.exchange(trace, message.readable) if trace else None
        if trace is None or exchange is None or not _says_something(trace):
            return private(request.say("There is no answer of mine to keep here."))
        asked, answered = exchange
        if await self._memory.places_behind([Ref(Kind.MESSAGE, answered.id)]) != Readable.of(
            asked.audience
        ):
            return private(
                request.say("That answer draws on other places; please say it here in your words.")
            )
        known = await self._kept_already(asked.text, request)
        if known is not None:
            return private(request.say("I knew that already: {text}", text=known.text))
        by_model = _is_by_model(trace)
        title = " ".join(asked.text.split())
        new = replace(
            verbatim(asked),
            text=f"{title} — {' '.join(answered.text.split())}",
            origin=Origin.MODEL_ANSWER if by_model else Origin.ACCEPTED,
            evidence=(
                *verbatim(asked).evidence,
                Evidence(answered.id, Span(0, len(answered.text))),
            ),
        )
        outcome = await self._memory.remember([new])
        kept = outcome[0].fact
        if outcome[0].known:
            text = request.say("I knew that already: {text}", text=kept.text)
        elif by_model:
            text = request.say("Kept, marked as a model's answer: {text}", text=kept.text)
        else:
            text = request.say("Kept: {text}", text=kept.text)
        return Reply(text, learned=(kept,), private=True)

    async def _kept_already(self, asked: str, request: Request) -> Fact | None:
        """A kept answer to the same question that the asker can read."""
        hits = await self._memory.recall(
            asked, request.message.readable, SEARCH_RESULTS, kinds=(Kind.FACT,)
        )
        for hit in hits:
            if hit.fact is None or hit.fact.origin not in _KEPT:
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
            asker, request.message.here, identifier(number) if number.isdecimal() else None
        )
        if trace is None or not await self._memory.rate(trace.id, asker, rating):
            return private(request.say("There is no answer of mine to rate here."))
        return private(request.say("Thank you."))

    async def _good(self, request: Request) -> Reply:
        return await self._rate(request, 1)

    async def _bad(self, request: Request) -> Reply:
        return await self._rate(request, -1)

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
        corrected = _corrected(wrong, request.argument)
        heard = await self._memory.hear(told(message, corrected), learn=False)
        if heard is None:
            return private(request.say("That message was forgotten; please say it anew."))
        new = replace(verbatim(heard.message), subject=wrong.subject, attribute=wrong.attribute)
        outcome = await self._memory.remember([new], replacing=wrong)
        text = request.say("Corrected: {text}", text=outcome[0].fact.text)
        return Reply(text, learned=(outcome[0].fact,))

    async def _take_back(self, request: Request) -> Reply:
        take_back = self._undo.last(request.message.author.person)
        if take_back is None:
            return private(request.say("There is nothing to undo."))
        return private(await take_back())


def _corrected(wrong: Fact, said: str) -> str:
    """The words that are right: a sentence of its own as it is, else in the place of the value."""
    value = analysis.read(wrong.text).value
    whole = analysis.read(said).attribute is not None
    return said if whole or not value else wrong.text.replace(value, said)


def _is_by_model(trace: Trace) -> bool:
    """True when the words are a model's, not quotations; older traces only tell of its calls."""
    return bool(trace.steps.get("by_model", trace.steps.get("calls")))


def _says_something(trace: Trace) -> bool:
    """False for "I know nothing about that": no model answered, and nothing was quoted."""
    return bool(trace.steps.get("calls")) or any(hit["used"] for hit in trace.steps["hits"])
