"""The command registry, shared by all platforms: one definition, run and described from here.

A platform hands over what was typed after `/memory` (or a button's command) and shows the reply.
Everything is read under the request's `readable` and changed under its actor's permissions.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot import export
from bot.extract import Extractor, facts_stated
from bot.i18n import Translator
from bot.messages import Choice, FileReply, IncomingMessage, Reply, Surface
from memory import analysis, tokens
from memory.directory import Directory
from memory.errors import NotPermitted
from memory.forgetting import Receipt
from memory.long_term import Actor, LongTermMemory
from memory.ports import Clock
from memory.retrieve import RELEVANT
from memory.types import (
    Evidence,
    Fact,
    Kind,
    Message,
    NewFact,
    NewMessage,
    Origin,
    Role,
    Span,
)

UNDO_FOR = timedelta(minutes=10)
"""How long a change can be undone. What Undo needs is kept in memory only, never on disk."""

SEARCH_RESULTS = 10
YES = "--yes"


@dataclass(frozen=True, slots=True)
class Request:
    """A command as it was given."""

    message: IncomingMessage
    argument: str
    confirmed: bool
    """`--yes` was given, or a button pressed that stands for it."""
    in_words: bool
    """Said in plain words: act at once and offer Undo."""
    say: Translator
    time_zone: str

    @property
    def actor(self) -> Actor:
        return Actor(self.message.author.person, self.message.author.is_admin)


Run = Callable[[Request], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class Command:
    """One entry of the registry."""

    name: str
    japanese: tuple[str, ...]
    """Other words for it."""
    argument: str
    """What may follow, as shown in help; empty for nothing."""
    summary: str
    """One line, English; catalogues translate it."""
    admin: bool = False


REGISTRY = (
    Command("list", ("一覧", "facts"), "", "List what I know about you"),
    Command("search", ("検索", "探す"), "WORDS", "Search what you may read"),
    Command("remember", ("覚えて", "記憶"), "TEXT", "Remember something"),
    Command("forget", ("忘れて", "削除"), "NUMBER… | WORDS | everything", "Forget something"),
    Command(
        "export", ("書き出し", "エクスポート"), "[json|markdown]", "Export what I know about you"
    ),
    Command("why", ("なぜ", "理由"), "[NUMBER]", "Show how the last answer came about"),
    Command("pause", ("停止", "一時停止"), "[me]", "Stop storing here, or stop storing my words"),
    Command("resume", ("再開",), "[me]", "Store again"),
    Command("listen", ("傾聴",), "on | off", "Store everything said in this channel", admin=True),
    Command("undo", ("取り消し", "元に戻す"), "", "Undo the last change"),
    Command("help", ("ヘルプ", "使い方"), "", "Show this help"),
)
_BY_WORD = {word: command for command in REGISTRY for word in (command.name, *command.japanese)}


@dataclass(slots=True)
class _Undo:
    until: datetime
    take_back: Callable[[], Awaitable[str]]


class Commands:
    """Runs commands."""

    def __init__(
        self, memory: LongTermMemory, directory: Directory, extractor: Extractor, clock: Clock
    ) -> None:
        self._memory = memory
        self._directory = directory
        self._extractor = extractor
        self._clock = clock
        self._undo: dict[str, list[_Undo]] = {}
        self._run: dict[str, Run] = {
            "list": self._list,
            "search": self._search,
            "remember": self._remember,
            "forget": self._forget,
            "export": self._export,
            "why": self._why,
            "pause": self._pause,
            "resume": self._resume,
            "listen": self._listen,
            "undo": self._take_back,
            "help": self._help,
            "correct": self._correct,
        }

    async def run(
        self, text: str, message: IncomingMessage, say: Translator, *, in_words: bool = False
    ) -> Reply:
        """Run what was typed after `/memory`; an unknown word answers with the help.

        `in_words` is for commands said in plain words, whose name is `text`'s first word too.
        """
        word, _, rest = text.strip().partition(" ")
        words = rest.split()
        confirmed = YES in words
        argument = rest if in_words else " ".join(w for w in words if w != YES)
        command = _BY_WORD.get(word.lower())
        name = command.name if command else word
        chosen = await self._directory.preferences(message.author.person)
        request = Request(
            message,
            argument.strip(),
            confirmed,
            in_words,
            say,
            chosen.time_zone or message.author.time_zone,
        )
        if command is None and not (in_words and name in self._run):
            unknown = say("I do not know the command “{word}”.", word=word) if word else ""
            shown = await self._help(request)
            return replace(shown, text=f"{unknown}\n\n{shown.text}".strip())
        if command is not None and command.admin and not message.author.is_admin:
            return _private(say("Only an admin can do that."))
        return await self._run[name](request)

    # -- reading ---------------------------------------------------------------------------------

    async def _list(self, request: Request) -> Reply:
        note = await self._finish_reading(request)
        person, readable = request.message.author.person, request.message.readable
        known = await self._memory.facts_about(person, readable)
        if not known:
            return _private(_join(request.say("I know nothing about you yet."), note))
        heading = request.say.plural(
            "I know {count} thing about you:", "I know {count} things about you:", len(known)
        )
        lines = [line(fact, request) for fact in known]
        return replace(_private(_join(heading, *lines, note)), facts=tuple(known))

    async def _search(self, request: Request) -> Reply:
        if not request.argument:
            return _private(request.say("What shall I search for?"))
        note = await self._finish_reading(request)
        hits = await self._memory.recall(
            request.argument, request.message.readable, SEARCH_RESULTS, kinds=(Kind.FACT,)
        )
        found = [hit.fact for hit in hits if hit.fact is not None]
        if not found:
            return _private(_join(request.say("I found nothing."), note))
        lines = [line(fact, request) for fact in found]
        return replace(_private(_join(*lines, note)), facts=tuple(found))

    async def _export(self, request: Request) -> Reply:
        note = await self._finish_reading(request)
        person, readable = request.message.author.person, request.message.readable
        known = await self._memory.facts_about(person, readable, past=True)
        said = await self._memory.messages_of(person, readable)
        if request.argument.lower() in {"markdown", "md"}:
            data = export.to_markdown(person, known, said, request.say, request.time_zone)
            file = FileReply("oboete-export.md", "text/markdown", data.encode())
        else:
            text = json.dumps(export.to_json(person, known, said), ensure_ascii=False, indent=2)
            file = FileReply("oboete-export.json", "application/json", text.encode())
        told = request.say.plural(
            "Here is your export: {count} fact, and your own messages.",
            "Here is your export: {count} facts, and your own messages.",
            len(known),
        )
        return replace(_private(_join(told, note)), file=file)

    async def _why(self, request: Request) -> Reply:
        number = int(request.argument) if request.argument.isdecimal() else None
        asker, audience = request.message.author.person, request.message.here
        trace = await self._memory.trace(asker, audience, number)
        if trace is None:
            return _private(request.say("There is no answer of mine to explain here."))
        hits = trace.steps.get("hits", [])
        ids = [item["id"] for item in hits if item["kind"] == Kind.FACT.name.lower()]
        known = {f.id: f for f in await self._memory.facts_by_id(ids, request.message.readable)}
        lines = [
            request.say("Searched for: {query}", query=trace.steps.get("query") or "–"),
            request.say("Route: {route}", route=trace.steps.get("route", "–")),
            request.say("Model calls: {calls}", calls=trace.steps.get("calls", 0)),
            request.say("Milliseconds: {ms}", ms=trace.steps.get("ms", 0)),
        ]
        for item in hits:
            mark = "✓" if item["used"] else "·"
            fact = known.get(item["id"]) if item["kind"] == "fact" else None
            text = fact.text if fact else f"{item['kind']} {item['id']}"
            lines.append(f"{mark} {item['score']:+.2f} {text}")
        return _private("\n".join(f"- {text}" for text in lines))

    async def _help(self, request: Request) -> Reply:
        lines = [request.say("Commands, after /memory:")]
        for command in REGISTRY:
            if command.admin and not request.message.author.is_admin:
                continue
            usage = f"{command.name} {command.argument}".strip()
            lines.append(f"- `{usage}`: {request.say(command.summary)}")
        lines.append(request.say("In plain words: “remember that …”, “forget …”, “undo”."))
        return _private("\n".join(lines))

    async def _finish_reading(self, request: Request) -> str:
        """Read what the person said so far; a sentence when some of it cannot be read yet."""
        person = request.message.author.person
        await self._extractor.drain(author=person)
        left = await self._memory.unread(person)
        if not left:
            return ""
        return request.say.plural(
            "{count} message of yours is still being read.",
            "{count} messages of yours are still being read.",
            left,
        )

    # -- changing --------------------------------------------------------------------------------

    async def _remember(self, request: Request) -> Reply:
        if not request.argument:
            return _private(request.say("What shall I remember?"))
        message = request.message
        heard = await self._memory.hear(told(message, request.argument), learn=False)
        if heard is None:
            return _private(request.say("That message was forgotten; please say it anew."))
        stated = facts_stated(heard.message) or [_verbatim(heard.message)]
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

    async def _forget(self, request: Request) -> Reply:
        await self._finish_reading(request)
        if request.argument.lower() in {"everything", "all", "全部", "すべて"}:
            return await self._forget_everything(request)
        numbers = request.argument.replace("#", " ").replace(",", " ").split()
        if numbers and all(number.isdecimal() for number in numbers):
            return await self._forget_ids([int(number) for number in numbers], request)
        if not request.argument:
            return _private(request.say("What shall I forget? Give numbers or words."))
        found, literal = await self._matching(request)
        if not found:
            return _private(request.say("I know nothing like that."))
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
            _private(_join(heading, *lines, how)), facts=tuple(found), choices=(confirm,)
        )

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
            return _private(request.say("I know nothing by that number that is yours to forget."))
        reply = replace(_private(receipt_text(receipt, request.say)), private=not request.in_words)

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
            return replace(_private(text), choices=(confirm,))
        self._undo.pop(str(request.message.author.person), None)
        receipt = await self._memory.forget_person(request.message.author.person)
        return _private(receipt_text(receipt, request.say))

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
            return _private(request.say("That message was forgotten; please say it anew."))
        new = replace(
            _verbatim(heard.message),
            subject=wrong.subject,
            attribute=wrong.attribute,
            language=wrong.language,
        )
        outcome = await self._memory.remember([new], replacing=wrong)
        text = request.say("Corrected: {text}", text=outcome[0].fact.text)
        return Reply(text, learned=(outcome[0].fact,))

    async def _pause(self, request: Request) -> Reply:
        if request.argument.lower() in {"me", "私", "自分"}:
            person = request.message.author.person
            chosen = await self._directory.preferences(person)
            await self._directory.set_preferences(person, replace(chosen, paused=True))
            return _private(request.say("I no longer keep your words, anywhere."))
        place = await self._directory.place(request.message.here)
        await self._directory.set_place(request.message.here, replace(place, paused=True))
        return Reply(request.say("Paused: I store nothing that is said here."))

    async def _resume(self, request: Request) -> Reply:
        if request.argument.lower() in {"me", "私", "自分"}:
            person = request.message.author.person
            chosen = await self._directory.preferences(person)
            await self._directory.set_preferences(person, replace(chosen, paused=False))
            return _private(request.say("I keep your words again."))
        place = await self._directory.place(request.message.here)
        await self._directory.set_place(request.message.here, replace(place, paused=False))
        return Reply(request.say("Resumed: I store again what is addressed to me here."))

    async def _listen(self, request: Request) -> Reply:
        if request.message.surface is Surface.DM:
            return _private(request.say("In a direct message I listen anyway."))
        if request.argument.lower() not in {"on", "off"}:
            return _private(request.say("Say `listen on` or `listen off`."))
        on = request.argument.lower() == "on"
        place = await self._directory.place(request.message.here)
        await self._directory.set_place(request.message.here, replace(place, listen=on))
        if on:
            return Reply(
                request.say(
                    "From now on I store and learn from everything people say in this channel."
                    " `/memory pause` stops it, for everybody."
                )
            )
        return Reply(request.say("I store only what is addressed to me again."))

    # -- undo ------------------------------------------------------------------------------------

    def _with_undo(
        self, reply: Reply, request: Request, take_back: Callable[[], Awaitable[str]]
    ) -> Reply:
        stack = self._undo.setdefault(str(request.message.author.person), [])
        stack.append(_Undo(self._clock() + UNDO_FOR, take_back))
        del stack[:-5]
        undo = Choice(request.say("Undo"), "undo")
        return replace(reply, choices=(*reply.choices, undo))

    async def _take_back(self, request: Request) -> Reply:
        stack = self._undo.get(str(request.message.author.person), [])
        while stack:
            last = stack.pop()
            if self._clock() < last.until:
                return _private(await last.take_back())
        return _private(request.say("There is nothing to undo."))


def told(message: IncomingMessage, text: str) -> NewMessage:
    """The message as it is stored, with `text` for its words."""
    said_by = message.author
    return NewMessage(
        platform_id=message.message_id,
        audience=message.audience,
        conversation=message.conversation,
        role=Role.USER,
        author=said_by.person,
        author_name=said_by.display_name,
        text=text,
        sent_at=message.sent_at,
        permalink=message.permalink,
        revision=message.revision,
        time_zone=said_by.time_zone,
        mentions=message.references,
    )


def _verbatim(message: Message) -> NewFact:
    """The whole message as one fact about its speaker."""
    assert message.author is not None
    start = len(message.text) - len(message.text.lstrip())
    text = message.text.strip()
    return NewFact(
        text=text,
        subject=message.author,
        speaker=message.author,
        audience=message.audience,
        language=analysis.language_of(text),
        origin=Origin.STATED,
        evidence=(Evidence(message.id, Span(start, start + len(text))),),
        said_at=message.sent_at,
    )


def line(fact: Fact, request: Request) -> str:
    """One fact as people see it: number, words, when it was said, and until when it held."""
    said = request.say.date(fact.said_at, request.time_zone)
    until = ""
    if fact.valid_until is not None:
        day = request.say.date(fact.valid_until, request.time_zone)
        until = ", " + request.say("until {day}", day=day)
    return f"- **{fact.id}** {fact.text} ({said}{until})"


def receipt_text(receipt: Receipt, say: Translator) -> str:
    """What went, for the person who asked."""
    gone = say.plural("Forgotten: {count} fact", "Forgotten: {count} facts", receipt.facts)
    blanked = say.plural("words in {count} message", "words in {count} messages", receipt.messages)
    replies = say.plural("{count} reply of mine", "{count} replies of mine", len(receipt.replies))
    parts = [gone, blanked, *([replies] if receipt.replies else [])]
    return say(", ").join(parts) + say(".")


def _private(text: str) -> Reply:
    return Reply(text, private=True)


def _join(*lines: str) -> str:
    return "\n".join(text for text in lines if text)
