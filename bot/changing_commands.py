"""Commands that change what is known: remember, keep, correct, rate, undo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain

from bot.command_registry import Request, Run, identifier, line, private, told
from bot.correcting import best_fit, corrected, is_anybodys, same_slot, whole_sentence
from bot.extract import facts_stated, verbatim
from bot.messages import Reply
from bot.reading_commands import SEARCH_RESULTS
from bot.undo import UNDO_FOR, TakeBack, UndoStack
from memory import analysis, guards
from memory.directory import Directory
from memory.errors import NotPermitted
from memory.long_term import LongTermMemory
from memory.store.traces import Trace
from memory.types import Evidence, Fact, Kind, Message, NewMessage, Origin, Readable, Ref, Span

_KEPT = {Origin.MODEL_ANSWER, Origin.ACCEPTED}
"""How an answer that was kept came to be known."""

A_MOMENT = timedelta(microseconds=1)
"""What was told at the very time of a change is not later than it."""

TURNS = 40
"""Turns of the conversation in which the person's last words are looked for."""


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
        if quoted is None and self._is_paused(request):
            return private(request.say("Paused: I did not store that."))
        if quoted is not None and not await self._may_keep(quoted, request):
            return private(request.say("I may not keep that message."))
        heard = await self._memory.hear(quoted or told(message, request.argument), learn=False)
        if heard is None:
            return private(request.say("That message was forgotten; please say it anew."))
        if quoted is not None and heard.message.audience not in message.readable:
            # it was said in private: known to those alone who were there
            return private(request.say("I may not keep that message."))
        stated = facts_stated(heard.message) or [verbatim(heard.message)]
        outcome = await self._memory.remember(stated)
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
        if all(item.known for item in outcome):
            return reply
        if quoted is None:
            untelling = self._untelling(request, message.sent_at)
            return self._undo.offer(reply, request, untelling)
        if not all(request.actor.may_forget(item.fact) for item in outcome if not item.known):
            return reply
        words = {item.fact.text for item in outcome if not item.known}
        return self._undo.offer(reply, request, self._unkeeping(heard.message, words, request))

    async def _may_keep(self, quoted: NewMessage, request: Request) -> bool:
        """True when the asker can read the message and its author lets their words be kept."""
        if quoted.audience not in request.message.readable or quoted.author is None:
            return False
        author = await self._directory.preferences(quoted.author)
        place = await self._directory.place(quoted.audience)
        return not (author.paused or place.paused)

    def _is_paused(self, request: Request) -> bool:
        message = request.message
        return self._directory.standing(message.audience, message.author.person).paused

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

    # -- corrections -----------------------------------------------------------------------------

    async def _correct(self, request: Request) -> Reply:
        """On "that's wrong, it is …": a new value for what was just told or quoted."""
        if self._is_paused(request):
            return private(request.say("Paused: I did not store that."))
        learned, used = await self._in_question(request)
        if not request.argument:
            return private(_what_is_right(learned or used[:1], request))
        whole = whole_sentence(request.argument, request.message.text)
        if whole is not None:
            return await self._correct_by(whole, same_slot([*learned, *used], whole), request)
        wrong = best_fit(learned, used, request.argument)
        if wrong is None and len(learned) > 1:
            return private(_which_is_wrong(learned, request))
        if wrong is None:
            return private(
                request.say("I cannot tell what that corrects. Please say the whole sentence.")
            )
        allowed = request.actor.may_forget(wrong) or is_anybodys(wrong)
        right = corrected(wrong.text, request.argument) if allowed else None
        if right is None:
            return private(
                request.say(
                    "I cannot tell where that belongs in “{text}”. Please say the whole sentence.",
                    text=wrong.text,
                )
            )
        return await self._correct_by(right, wrong, request)

    async def _correct_by(self, right: str, wrong: Fact | None, request: Request) -> Reply:
        """Remember what is right, in the place of what is wrong where that is the actor's."""
        heard = await self._memory.hear(told(request.message, right), learn=False)
        if heard is None:
            return private(request.say("That message was forgotten; please say it anew."))
        stated = facts_stated(heard.message)
        new = stated[0] if len(stated) == 1 else verbatim(heard.message)
        mine = wrong if wrong is not None and request.actor.may_forget(wrong) else None
        if mine is not None:
            kept = None if ":" in (mine.attribute or "") else mine.attribute
            new = replace(new, subject=mine.subject, attribute=new.attribute or kept)
        (outcome,) = await self._memory.remember([new], replacing=mine)
        if mine is not None and mine.id != outcome.fact.id:
            text = request.say("Corrected: {text}", text=outcome.fact.text)
        elif outcome.known:
            text = request.say("I knew that already: {text}", text=outcome.fact.text)
        else:
            text = request.say("Remembered: {text}", text=outcome.fact.text)
        reply = Reply(text, learned=(outcome.fact,))
        if outcome.known:
            return reply
        untelling = self._untelling(request, request.message.sent_at)
        return self._undo.offer(reply, request, untelling)

    async def _in_question(self, request: Request) -> tuple[list[Fact], list[Fact]]:
        """What a correction may be about: the facts that the person's last message taught, and
        those that the answer to it, or the last answer if nothing was said since, quoted.
        """
        message = request.message
        person = message.author.person
        trace = await self._memory.trace(person, message.here, None)
        said = await self._said_here(request)
        last = said[-1] if said else None
        learned: list[Fact] = []
        if last is not None:
            facts = await self._memory.facts_from(last.id, message.readable)
            learned = [fact for fact in facts if fact.superseded_by is None]
        if trace is None or (learned and last is not None and _is_later(last, trace)):
            return learned, []
        used = [
            hit["id"]
            for hit in trace.steps.get("hits", [])
            if hit["used"] and hit["kind"] == "fact"
        ]
        found = {f.id: f for f in await self._memory.facts_by_id(used, message.readable)}
        of_answer = [found[id_] for id_ in used if id_ in found]
        return (learned if last is None or not _is_earlier(last, trace) else []), of_answer

    async def _said_here(self, request: Request) -> list[Message]:
        """The person's own last messages of the conversation, oldest first."""
        message = request.message
        turns = await self._memory.history(message.conversation, message.readable, TURNS)
        return [turn for turn in turns if turn.author == message.author.person]

    # -- taking back -----------------------------------------------------------------------------

    async def _take_back(self, request: Request) -> Reply:
        """Undo the last change that is still there to undo."""
        person = request.message.author.person
        steps = iter(lambda: self._undo.last(person), None)
        of_late = self._untelling(request, request.message.sent_at - UNDO_FOR)
        made = self._undo.made_at(person)
        told_since = [self._untelling(request, made + A_MOMENT)] if made is not None else []
        for take_back in chain(told_since, steps, [of_late]):
            try:
                return private(await take_back())
            except NotPermitted:
                continue  # what that changed is gone since, or not theirs any more
        return private(request.say("There is nothing to undo."))

    def _untelling(self, request: Request, since: datetime) -> TakeBack:
        """Takes back the person's last message here, sent at `since` or later, that taught
        something: it goes, as if its author had deleted it, and what it had superseded is current
        again. Raises NotPermitted when there is none.
        """

        async def take_back() -> str:
            waiting = {message.id for _, message in await self._memory.waiting()}
            for said in reversed(await self._said_here(request)):
                if said.sent_at < since:
                    break
                known = await self._memory.facts_from(said.id, request.message.readable)
                if any(_rests_on(fact, said) for fact in known) or (
                    said.id in waiting and facts_stated(said)
                ):
                    await self._memory.source_deleted(said.audience, said.platform_id)
                    return request.say("Undone.")
            raise NotPermitted

        return take_back

    def _unkeeping(self, message: Message, words: set[str], request: Request) -> TakeBack:
        """Forgets what was kept of an older message. By its words: forgotten and brought back in
        between, facts have other ids. Raises NotPermitted when it is not there any more.
        """

        async def take_back() -> str:
            readable = request.message.readable
            known = await self._memory.facts_from(message.id, readable)
            ids = [fact.id for fact in known if fact.text in words]
            if not ids:
                raise NotPermitted
            await self._memory.forget(ids, request.actor, readable)
            return request.say("Undone.")

        return take_back


def _is_later(said: Message, trace: Trace) -> bool:
    """True for what was said after the message that the trace answers."""
    if trace.message_id is None:
        return said.sent_at > trace.created_at
    return said.id > trace.message_id


def _is_earlier(said: Message, trace: Trace) -> bool:
    return said.id != trace.message_id and not _is_later(said, trace)


def _rests_on(fact: Fact, message: Message) -> bool:
    """True for a fact that nothing but the message says."""
    return all(item.message_id == message.id for item in fact.evidence)


def _what_is_right(known: Sequence[Fact], request: Request) -> str:
    """Asks for what is right, naming what is in question."""
    if not known:
        return request.say("What is right? Please say the whole sentence.")
    if len(known) > 1:
        return _which_is_wrong(known, request)
    return request.say(
        "What is right instead of “{text}”? Say “that's wrong, it is …”.", text=known[0].text
    )


def _which_is_wrong(known: Sequence[Fact], request: Request) -> str:
    ask = request.say("Which of these is wrong? Please say the whole sentence that is right:")
    return "\n".join((ask, *(line(fact, request) for fact in known)))


def _is_by_model(trace: Trace) -> bool:
    """True when the words are a model's, not quotations; older traces only tell of its calls."""
    return bool(trace.steps.get("by_model", trace.steps.get("calls")))


def _says_something(trace: Trace) -> bool:
    """False for "I know nothing about that": no model answered, and nothing was quoted."""
    return bool(trace.steps.get("calls")) or any(hit["used"] for hit in trace.steps["hits"])
