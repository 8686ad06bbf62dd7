"""Commands that forget: facts by number, words or topic, the last one, what was said at a time or
in a message, a channel, somebody who left, everything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from bot.command_registry import (
    YES,
    Request,
    Run,
    join_lines,
    line,
    private,
    receipt_text,
)
from bot.extract import Extractor
from bot.forget_request import (
    Everything,
    Leaver,
    Numbers,
    Place,
    Said,
    Source,
    Topic,
    Wanted,
    Window,
    Words,
    wanted,
)
from bot.i18n import shown
from bot.messages import Choice, Reply, Surface
from bot.reading_commands import SEARCH_RESULTS, finish_reading
from bot.retracting import Retractions
from bot.undo import UndoStack
from bot.word_matching import has_attribute, with_words
from memory.errors import NotPermitted
from memory.forgetting import Receipt
from memory.long_term import LongTermMemory
from memory.ports import Clock
from memory.retrieve import RELEVANT
from memory.types import Fact, Kind, Person

BackupsUntil = Callable[[], datetime | None]
"""When the last backup that there is now will be gone; None without any."""

NAMED: Final = 5
"""Most facts that a receipt names."""

LOOKED_BACK: Final = 20
"""Messages of the conversation among which the last fact is looked for."""

_THAT: Final = frozenset(
    {"it", "that", "this", "these", "those", "them", "last"}
    | {"それ", "これ", "あれ", "今の", "さっきの"}
)
"""What points at the last fact; `bot.phrases` gives `that` for all other ways to say so."""

_ME: Final = frozenset({"me", "about me", "my data", "私", "私のこと", "私のデータ", "私について"})


@dataclass(frozen=True, slots=True)
class Last:
    """What was learned from the asker, or quoted to them, last in the conversation."""


class ForgettingCommands:
    """Forgets, under the permissions of the request's actor."""

    def __init__(
        self,
        memory: LongTermMemory,
        extractor: Extractor,
        undo: UndoStack,
        clock: Clock,
        backups_until: BackupsUntil,
        retractions: Retractions,
    ) -> None:
        self._memory = memory
        self._extractor = extractor
        self._undo = undo
        self._clock = clock
        self._backups_until = backups_until
        self._retractions = retractions

    def runs(self) -> dict[str, Run]:
        """What each command runs, by name."""
        return {"forget": self._forget}

    async def _forget(self, request: Request) -> Reply:
        if not request.argument:
            return await self._forget_quoted(request)
        await finish_reading(self._memory, self._extractor, request)
        match _meant(request.argument, self._clock(), request.time_zone):
            case Everything():
                return await self._forget_everything(request)
            case Last():
                return await self._forget_last(request)
            case Numbers(ids):
                return await self._forget_ids(ids, request)
            case Place():
                return await self._forget_place(request)
            case Leaver(who):
                return await self._forget_leaver(who, request)
            case Source(where):
                return await self._forget_source(where, request)
            case Said(window):
                return await self._forget_said(window, request)
            case Topic(words):
                return await self._forget_matching(*await self._on_topic(words, request), request)
            case Words(words):
                return await self._forget_matching(*await self._matching(words, request), request)

    # -- facts -----------------------------------------------------------------------------------

    async def _forget_matching(
        self, found: Sequence[Fact], certain: bool, request: Request
    ) -> Reply:
        """Forget the facts, after asking when there are several or they are only alike."""
        if not found:
            return private(request.say("I know nothing like that."))
        ids = [fact.id for fact in found]
        if certain and (request.confirmed or (request.in_words and len(found) == 1)):
            return await self._forget_ids(ids, request)
        heading = request.say.plural(
            "Shall I forget this {count} thing?", "Shall I forget these {count} things?", len(found)
        )
        command = f"forget {' '.join(map(str, ids))}"
        confirm = Choice(request.say("Forget"), command, danger=True)
        how = request.say("To confirm: {command}", command=f"/memory {confirm.command}")
        lines = [line(fact, request) for fact in found]
        return replace(
            private(join_lines(heading, *lines, how)), facts=tuple(found), choices=(confirm,)
        )

    async def _forget_last(self, request: Request) -> Reply:
        """Forget what was learned from the asker, or quoted to them, last in the conversation.

        What lies further back than their last message may not be what they mean: it asks.
        """
        found, just_now = await self._last(request)
        if not found:
            return private(request.say("There is nothing here that I learned or quoted last."))
        return await self._forget_matching(found, just_now, request)

    async def _last(self, request: Request) -> tuple[list[Fact], bool]:
        """Those facts, if they are the asker's to forget, and whether their last message, or
        the answer to it, is where they come from.
        """
        message, asker = request.message, request.message.author.person
        said = await self._memory.history(message.conversation, message.readable, LOOKED_BACK)
        own = [each for each in reversed(said) if each.author == asker]
        trace = await self._memory.trace(asker, message.here, None)
        answered = trace.message_id if trace is not None else None
        all_stored = trace is None or answered is not None  # what a paused person says is not
        for each in own:
            known = await self._memory.facts_from(each.id, message.readable)
            if trace is not None and each.id == answered and not known:
                used = [hit["id"] for hit in trace.steps.get("hits", []) if _is_quoted(hit)]
                known = await self._memory.facts_by_id(used, message.readable)
            if known:
                mine = [fact for fact in known if request.actor.may_forget(fact)]
                return mine, all_stored and each is own[0]
        return [], False

    async def _forget_quoted(self, request: Request) -> Reply:
        """Forget what the message taught on which a menu was opened."""
        quoted = request.quoted
        if quoted is None:
            return private(request.say("What shall I forget? Give numbers or words."))
        message = await self._memory.find_message(quoted.audience, quoted.platform_id)
        known = (
            await self._memory.facts_from(message.id, request.message.readable) if message else []
        )
        ids = [fact.id for fact in known if request.actor.may_forget(fact)]
        if not ids:
            return private(request.say("I know nothing from that message."))
        return await self._forget_ids(ids, request)

    async def _mine(self, request: Request) -> list[Fact]:
        known = await self._memory.facts_about(
            request.message.author.person, request.message.readable, past=True
        )
        return [fact for fact in known if request.actor.may_forget(fact)]

    async def _matching(self, words: str, request: Request) -> tuple[list[Fact], bool]:
        """The person's own facts that are meant, and whether they have all of the words.

        Without such facts, those that are near in meaning: to be confirmed before they go.
        """
        mine = await self._mine(request)
        literal = with_words(words, mine)
        if literal:
            return literal, True
        near = await self._near(words, request)
        return [fact for fact in mine if fact.id in near], False

    async def _on_topic(self, words: str, request: Request) -> tuple[list[Fact], bool]:
        """The person's own facts on a topic: by words, by attribute and by meaning.

        Certain without the last.
        """
        mine = await self._mine(request)
        found = {fact.id for fact in with_words(words, mine)}
        found |= {fact.id for fact in mine if has_attribute(words, fact)}
        near = await self._near(words, request) - found
        alike = {fact.id for fact in mine} & near
        return [fact for fact in mine if fact.id in found | alike], not alike

    async def _near(self, words: str, request: Request) -> set[int]:
        hits = await self._memory.recall(
            words, request.message.readable, SEARCH_RESULTS, kinds=(Kind.FACT,)
        )
        return {hit.ref.id for hit in hits if hit.evidence >= RELEVANT}

    async def _forget_ids(self, ids: Sequence[int], request: Request) -> Reply:
        try:
            receipt = await self._memory.forget(ids, request.actor, request.message.readable)
        except NotPermitted:
            return private(request.say("I know nothing by that number that is yours to forget."))
        return self._gone(receipt, request)

    # -- messages --------------------------------------------------------------------------------

    async def _forget_source(self, where: str, request: Request) -> Reply:
        try:
            receipt = await self._memory.forget_source(
                where, request.actor, request.message.readable
            )
        except NotPermitted:
            return private(request.say("I know nothing from that message."))
        return self._gone(receipt, request)

    async def _forget_said(self, window: Window, request: Request) -> Reply:
        person, say = request.message.author.person, request.say
        start, end = window
        count = await self._memory.said_between(person, start, end)
        if not count:
            return private(say("You told me nothing in that time."))
        if not request.confirmed and not (request.in_words and count == 1):
            confirm = Choice(
                say("Forget"), f"forget said {start.isoformat()}/{end.isoformat()} {YES}", True
            )
            text = say.plural(
                "This forgets {count} message of yours, from {start} to {end}, and what I learned"
                " from it. To confirm: {command}",
                "This forgets {count} messages of yours, from {start} to {end}, and what I learned"
                " from them. To confirm: {command}",
                count,
                start=say.date(start, request.time_zone),
                end=say.date(end - timedelta(seconds=1), request.time_zone),
                command=f"/memory {confirm.command}",
            )
            return replace(private(text), choices=(confirm,))
        return self._gone(await self._memory.forget_said(person, start, end), request)

    # -- what cannot be undone -------------------------------------------------------------------

    async def _forget_everything(self, request: Request) -> Reply:
        text = request.say(
            "This forgets everything you said and everything I know about you, everywhere."
            " It cannot be undone. To confirm: {command}",
            command=f"/memory forget everything {YES}",
        )
        person = request.message.author.person
        return await self._for_good(
            request,
            text,
            Choice(request.say("Forget everything"), f"forget everything {YES}", True),
            lambda: self._memory.forget_person(person),
        )

    async def _forget_place(self, request: Request) -> Reply:
        text = request.say(
            "This forgets everything that was said in this channel, by everybody, and what I"
            " learned from it; documents stay. It cannot be undone. To confirm: {command}",
            command=f"/memory forget channel {YES}",
        )
        return await self._for_good(
            request,
            text,
            Choice(request.say("Forget everything"), f"forget channel {YES}", True),
            lambda: self._memory.forget_place(request.message.here, request.actor),
        )

    async def _forget_leaver(self, who: str, request: Request) -> Reply:
        person = _addressed(who, request)
        if person is None:
            return private(request.say("Name one person: mention them, or give their address."))
        command = f"/memory forget person {person} {YES}"
        if request.actor.administers(person.platform, person.tenant):
            text = request.say(
                "This forgets everything that {who} said and everything I know about them,"
                " everywhere. It cannot be undone. To confirm: {command}",
                who=who,
                command=command,
            )
        else:
            text = request.say(
                "This forgets everything that {who} said here, in all channels, and everything I"
                " know about them from here. It cannot be undone. To confirm: {command}",
                who=who,
                command=command,
            )
        return await self._for_good(
            request,
            text,
            Choice(request.say("Forget everything"), f"forget person {person} {YES}", True),
            lambda: self._memory.forget_leaver(person, request.actor),
        )

    async def _for_good(
        self, request: Request, ask: str, confirm: Choice, forget: Callable[[], Awaitable[Receipt]]
    ) -> Reply:
        admins_only = not confirm.command.startswith("forget everything")
        if admins_only and not request.actor.is_admin:
            return private(request.say("Only an admin can do that."))
        if not request.confirmed:
            return replace(private(ask), choices=(confirm,))
        self._undo.clear(request.message.author.person)
        try:
            receipt = await forget()
        except NotPermitted:
            return private(request.say("Only an admin can do that."))
        text = receipt_text(receipt, request, self._backups_until())
        return self._retractions.offer(
            replace(private(text), forgot=True), request, receipt.replies
        )

    def _gone(self, receipt: Receipt, request: Request) -> Reply:
        """The receipt, with Undo."""
        text = receipt_text(receipt, request, self._backups_until())
        reply = Reply(text, private=not request.in_words, forgot=True)
        if reply.private or request.message.surface is Surface.DM:
            reply = replace(reply, text=join_lines(text, *_named(receipt, request)))

        async def take_back() -> str:
            count = await self._memory.restore(receipt)
            return request.say.plural(
                "Undone: {count} fact is back.", "Undone: {count} facts are back.", count
            )

        reply = self._undo.offer(reply, request, take_back)
        return self._retractions.offer(reply, request, receipt.replies)


def _meant(argument: str, now: datetime, time_zone: str) -> Wanted | Last:
    """Read what stands after `forget`; what only points at something is no word to look for."""
    said = argument.casefold().rstrip(" .!。！")
    if said in _THAT:
        return Last()
    return Everything() if said in _ME else wanted(argument, now, time_zone)


def _named(receipt: Receipt, request: Request) -> list[str]:
    """What went, a line for each fact: for the asker's eyes alone, and stored nowhere.

    Whoever forgets by a link, as an admin may, need not be able to read what stood there.
    """
    readable = request.message.readable
    gone = [fact for fact in receipt.undo_facts if fact.audience in readable]
    lines = [f"- {shown(fact.text)}" for fact in gone[:NAMED]]
    more = len(gone) - NAMED
    if more > 0:
        lines.append(request.say.plural("and {count} more", "and {count} more", more))
    return lines


def _is_quoted(hit: Mapping[str, Any]) -> bool:
    """True for a fact that the answer used, among the hits of a trace."""
    return bool(hit["used"]) and hit["kind"] == Kind.FACT.name.lower()


def _addressed(who: str, request: Request) -> Person | None:
    """The person who is mentioned by that name, or addressed as `platform:tenant:user`."""
    named = dict(request.message.references)
    person = named.get(who) or named.get(who.removeprefix("@"))
    if person is not None:
        return person
    try:
        return Person.parse(who)
    except ValueError:
        return None
