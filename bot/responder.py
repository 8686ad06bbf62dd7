"""One message in, one reply out: the ten steps of docs/architecture.md."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType

from bot import prompts
from bot.admin_places import seen_alone
from bot.analysis_questions import AnalysisQuestions
from bot.command_registry import told
from bot.commands import Commands
from bot.confirming import Confirmations
from bot.documents import Documents
from bot.errors import BotFault, ModelUnavailable
from bot.exchange import Exchange
from bot.extract import Extractor
from bot.happenings import SILENT, UNINSTALLED, Happenings
from bot.hush import Hush
from bot.i18n import Translator, translator
from bot.look_up import RECALLED, LookUp
from bot.messages import (
    Delta,
    EventKind,
    IncomingMessage,
    Mention,
    Reply,
    ReplyPart,
    Status,
    Surface,
)
from bot.persona import Persona
from bot.phrases import phrase
from bot.plan import Route, topic
from bot.ports import ChatModel
from bot.quoting import citations, without_model
from bot.rechecking import Recheck, as_of_now
from bot.uploads import Uploads
from memory.analysis import Question, asks, question
from memory.directory import Directory
from memory.errors import MemoryFault
from memory.long_term import LongTermMemory
from memory.ports import Clock
from memory.remembering import Remembered
from memory.retrieve import RELEVANT
from memory.store.places import Standing
from memory.types import Audience, Message, NewMessage, Role

log = logging.getLogger(__name__)

HISTORY = 40
"""Turns of the conversation considered for the prompt; the token budget cuts further."""

DOUBT = 1.5
"""How far below relevant a record may be and still be shown to a model, which judges itself."""


ASK_AGAIN = timedelta(minutes=2)
"""How long after it was sent an edited question is answered once more."""

Take = Callable[[IncomingMessage, Translator], Awaitable[Reply | None]]
"""Replies to what it knows how to do; None leaves the message to others."""


Welcome = Callable[[str, str, datetime], Awaitable[None]]
"""Is told that something happened on a platform, in a tenant, at a time (UTC)."""


class Responder:
    """Answers messages. Knows no platform: it is handed a message and hands back a stream."""

    def __init__(
        self,
        memory: LongTermMemory,
        directory: Directory,
        commands: Commands,
        extractor: Extractor,
        model: ChatModel | None,
        clock: Clock,
        *,
        answer_tokens: int,
        documents: Documents | None = None,
        uploads: Uploads | None = None,
        figures: AnalysisQuestions | None = None,
        admins: Collection[str] = (),
        take: Take | None = None,
        welcome: Welcome | None = None,
        personas: Mapping[Audience, Persona] = MappingProxyType({}),
        hyde: bool = False,
    ) -> None:
        """`take` sees what is addressed to Oboete before the rest: what it replies to is done.
        `welcome` sees first that a tenant uses Oboete.
        """
        self._memory = memory
        self._directory = directory
        self._commands = commands
        self._extractor = extractor
        self._model = model
        self._clock = clock
        self._uploads = uploads
        self._figures = figures
        self._admins = admins
        self._take = take
        self._welcome = welcome
        self._personas = personas
        self._answer_tokens = answer_tokens
        self._look_up = LookUp(memory, model, clock, documents, hyde=hyde)
        self._happenings = Happenings(memory, directory)
        self._hush = Hush(directory)
        self._confirmations = Confirmations(clock)

    async def handle(
        self, message: IncomingMessage, recheck: Recheck | None = None
    ) -> AsyncIterator[ReplyPart]:
        """Parts of the reply, ending with the whole `Reply`. Never raises for what a person
        can cause; a failure becomes a short reply with an id that the log names too.

        `recheck` asks the platform anew about places that the answer is about to draw on.
        """
        standing = self._standing(message)
        say = translator(self._locale(message, standing))
        try:
            async for part in self._handle(message, standing, say, recheck):
                yield part
        except (BotFault, MemoryFault) as error:
            log.warning("message %s was not answered: %s", message.event_id, error)
            yield Reply(_told(error, say), private=True, failed=True)
        except Exception:
            log.exception("message %s was not answered", message.event_id)
            text = say("Something went wrong; the log tells more under {id}.", id=message.event_id)
            yield Reply(text, private=True, failed=True)

    async def ask(self, message: IncomingMessage) -> Reply:
        """Answer a question without storing anything: neither it, nor the reply, nor a trace.

        Raises BotFault or MemoryFault.
        """
        self._foresee(message.text)
        standing = self._standing(message)
        say = translator(self._locale(message, standing))
        reply = Reply("")
        async for part in self._converse(message, standing, say, keep=False):
            if isinstance(part, Reply):
                reply = part
        return reply

    async def hear_only(self, message: IncomingMessage) -> None:
        """Store a message without answering: refused as busy, or read again after downtime."""
        await self._welcomed(message)
        await self._hear(message)

    async def sent(self, reply: Reply, platform_id: str) -> None:
        """Note the platform's id of a reply, for when its words are to be forgotten."""
        if reply.stored_id is not None:
            await self._memory.sent_as(reply.stored_id, platform_id)

    async def _handle(
        self,
        message: IncomingMessage,
        standing: Standing,
        say: Translator,
        recheck: Recheck | None,
    ) -> AsyncIterator[ReplyPart]:
        await self._welcomed(message)
        message = seen_alone(message, self._admins)
        shared = await self._shared(message, standing, say)
        if shared is not None:
            yield shared
            return
        if self._happenings.concerns(message):
            yield await self._happenings.handle(message, say)
            return
        stopped = await self._hush.stop(message, say)
        if stopped is not None:
            yield stopped
            return
        message = await self._hush.heeded(message)
        if message.kind is EventKind.MESSAGE and message.addressed and message.answer:
            self._foresee(message.text)
        if message.kind is EventKind.HOME:
            message = await as_of_now(message, recheck)
            yield await self._commands.run("list", message, say)
            return
        agreed = self._confirmations.confirmed(message)
        taken = await self._take(message, say) if self._take is not None else None
        if taken is not None:
            yield taken
            return
        if message.kind in {EventKind.COMMAND, EventKind.ACTION}:
            yield await self._run(message.text, message, say, recheck)
            return
        edited = message.kind is EventKind.EDIT and not self._asks_again(message)
        if not message.addressed or edited or not message.answer:
            await self._hear(message)
            yield SILENT
            return
        wanted = _in_words(message.text, agreed)
        if wanted is not None:
            command, in_words = wanted
            speak = self._spoken(message, question(message.text), say)
            yield await self._run(command, message, speak, recheck, in_words=in_words)
            return
        if not message.text.strip():
            yield Reply(say("Tell me something, or ask me about what you told me."))
            return
        async for part in self._converse(message, standing, say, recheck=recheck):
            yield part

    async def _shared(
        self, message: IncomingMessage, standing: Standing, say: Translator
    ) -> Reply | None:
        """What there is to say about a message's files; None when nothing is to be done."""
        if self._uploads is None:
            return None
        return await self._uploads.handle(message, say, paused=standing.paused)

    async def _run(
        self,
        command: str,
        message: IncomingMessage,
        say: Translator,
        recheck: Recheck | None,
        *,
        in_words: bool = False,
    ) -> Reply:
        """Run a command under what may be read now; a yes to what it asks is heard."""
        message = await as_of_now(message, recheck)
        reply = await self._commands.run(command, message, say, in_words=in_words)
        self._confirmations.asked(message, reply)
        return reply

    async def _welcomed(self, message: IncomingMessage) -> None:
        if self._welcome is not None and message.arguments.get("event") != UNINSTALLED:
            await self._welcome(message.platform, message.tenant, message.sent_at)

    def _asks_again(self, message: IncomingMessage) -> bool:
        """True for a question to Oboete that was edited right after it was sent."""
        to_me = message.mention is Mention.DIRECT or message.surface is Surface.DM
        soon = self._clock() - message.sent_at <= ASK_AGAIN
        return to_me and soon and asks(message.text)

    def _foresee(self, text: str) -> None:
        """Begin what takes longest for a question, before anything else is read."""
        if asks(text) and phrase(text) is None:
            self._memory.embedding.foresee(topic(text) or text)

    def _locale(self, message: IncomingMessage, standing: Standing) -> str:
        return self._persona(message).language or standing.person.locale or message.locale

    def _persona(self, message: IncomingMessage) -> Persona:
        """How to speak in the place; what only one person sees is theirs, not the place's."""
        chosen = None if message.private_reply else self._personas.get(message.here)
        return chosen or Persona()

    def _spoken(self, message: IncomingMessage, asked: Question, say: Translator) -> Translator:
        """Answers come in the language of the words, if there is a catalogue for it and the
        place's persona speaks no other.
        """
        if self._persona(message).language:
            return say
        other = translator(asked.language)
        return other if other.language == asked.language else say

    def _standing(self, message: IncomingMessage) -> Standing:
        return self._directory.standing(message.audience, message.author.person)

    # -- hearing ---------------------------------------------------------------------------------

    async def _hear(self, message: IncomingMessage) -> Message | None:
        """Store it, unless this place or person is paused; None when it was not stored.

        An edit of a stored message counts whomever it is addressed to: what it said before is
        said no more.
        """
        if message.author.is_bot:
            return None
        # anew: whoever paused meanwhile was told that nothing is stored any more
        standing = self._standing(message)
        wanted = message.addressed or standing.place.listen
        known = None
        if message.kind is EventKind.EDIT:
            known = await self._memory.find_message(message.audience, message.message_id)
        if standing.paused or not message.text.strip():
            if known is not None and known.revision < message.revision:
                await self._memory.source_deleted(message.audience, message.message_id)
            return None
        if not wanted and known is None:
            return None
        heard = await self._memory.hear(told(message, message.text), learn=True)
        return heard.message if heard is not None else None

    async def _learn(self, heard: Message | None) -> list[Remembered]:
        """Read the facts off a message now, where that is cheap; else it waits in the queue."""
        if heard is None or not self._extractor.immediate:
            return []
        done = await self._extractor.drain(author=heard.author)
        return done.get(heard.id, [])

    # -- answering -------------------------------------------------------------------------------

    async def _converse(
        self,
        message: IncomingMessage,
        standing: Standing,
        say: Translator,
        *,
        keep: bool = True,
        recheck: Recheck | None = None,
    ) -> AsyncIterator[ReplyPart]:
        asked = question(message.text)
        work = Exchange(message, self._spoken(message, asked, say), asked, keep, recheck)
        work.history = await self._memory.history(message.conversation, message.readable, HISTORY)
        work.quiet = standing.person.quiet
        while await self._look_up.lost(work, work.history):
            readable = work.message.readable
            work.history = await self._memory.history(message.conversation, readable, HISTORY)
        if keep:
            work.heard = await self._hear(message)
            work.learned = await self._learn(work.heard)
        if self._figures is not None and not (work.asked.is_talk or work.learned):
            figures = await self._figures.answer(message.text, work.message.readable, work.say)
            if figures is not None:
                work.route, work.calls = Route.ANALYSIS.value, work.calls + figures.calls
                yield replace(await self._finish(work, Reply(figures.text)), base=figures.base)
                return
        if self._model is None:
            if work.asked.is_question or not (work.learned or work.asked.is_talk):
                await self._look_up.find(work)
                work.used = work.quotable()
            reply = without_model(work.learned, work.used, work.asked, work.reader, message.text)
            paused = standing.paused
            if paused and not (work.used or work.asked.is_question or work.asked.is_talk):
                reply = Reply(work.say("Paused: I did not store that."))
            yield await self._finish(work, reply)
            return
        yield Status(work.say("Thinking…"))
        await self._look_up.find(work)
        async for part in self._answer(work, self._model):
            yield part

    async def _answer(self, work: Exchange, model: ChatModel) -> AsyncIterator[ReplyPart]:
        """Stream the model's answer from what was found."""
        relevant = [hit for hit in work.hits if hit.evidence >= RELEVANT - DOUBT]
        work.hits = relevant[:RECALLED]
        turns = prompts.answer(
            work.message,
            work.hits,
            work.history,
            language=work.asked.language,
            now=self._clock(),
            budget=model.context_tokens - self._answer_tokens,
            persona=self._persona(work.message),
        )
        pieces: list[str] = []
        work.calls += 1
        trouble = ""
        try:
            async for piece in model.stream(turns, max_tokens=self._answer_tokens):
                pieces.append(piece)
                yield Delta(piece)
        except ModelUnavailable as error:
            log.warning("message %s: the model failed: %s", work.message.event_id, error)
            trouble = f"{error} {error.fix}".strip()
        text = "".join(pieces).strip()
        if not text:
            yield await self._quote_instead(work, trouble)
            return
        if trouble:
            text = f"{text}\n\n({trouble})"
        work.by_model = True
        work.used = [work.hits[n - 1] for n in prompts.cited(text) if 0 < n <= len(work.hits)]
        yield await self._finish(work, Reply(text))

    async def _quote_instead(self, work: Exchange, trouble: str) -> Reply:
        """The answer when the model gave none: say so, and quote what was found."""
        work.used = work.quotable()
        reply = without_model(work.learned, work.used, work.asked, work.reader, work.message.text)
        why = trouble or work.say("The model gave no answer.")
        return await self._finish(work, replace(reply, text=f"{reply.text}\n\n({why})"))

    async def _finish(self, work: Exchange, reply: Reply) -> Reply:
        """Store the reply with its lineage and trace; add citations and what was learned."""
        read = work.consulted if any(hit.chunk is not None for hit in work.used) else None
        work.route = Route.DOCUMENTS.value if read is not None else work.route
        trace_id, stored_id = None, None
        if work.keep:
            trace_id, stored_id = await self._memory.add_trace(
                work.message.here,
                work.message.author.person,
                work.heard.id if work.heard else None,
                self._as_message(work.message, reply) if work.heard else None,
                work.steps(self._model.name if self._model else "none"),
                work.made_from(),
                findable=work.by_model,
            )
        log.info(
            "answered %s: route=%s hits=%d used=%d learned=%d calls=%d ms=%d",
            work.message.event_id,
            work.route,
            len(work.hits),
            len(work.used),
            len(work.learned),
            work.calls,
            work.milliseconds,
        )
        learned = () if work.quiet else tuple(item.fact for item in work.learned)
        return replace(
            reply,
            citations=citations(work.used, work.numbers(), work.reader),
            learned=learned,
            route=work.route,
            base=read.base if read is not None else "",
            confidence=read.confidence if read is not None else None,
            trace_id=trace_id,
            stored_id=stored_id,
            private=reply.private or work.message.private_reply,
        )

    def _as_message(self, message: IncomingMessage, reply: Reply) -> NewMessage:
        return NewMessage(
            platform_id=f"reply:{message.message_id}:{message.revision}",
            audience=message.audience,
            conversation=message.conversation,
            role=Role.ASSISTANT,
            author=None,
            author_name="Oboete",
            text=reply.text,
            sent_at=self._clock(),
        )


def _in_words(text: str, agreed: str | None) -> tuple[str, bool] | None:
    """The command that a message is, and whether its words are an argument in plain words."""
    if agreed is not None:
        return agreed, False
    spoken = phrase(text)
    return None if spoken is None else (f"{spoken.command} {spoken.argument}".strip(), True)


def _told(error: BotFault | MemoryFault, say: Translator) -> str:
    """The error and what helps, in the reader's language where the catalogue has the sentence."""
    fix = error.fix if isinstance(error, BotFault) else ""
    stated = [text for text in (str(error), fix) if text]
    # a sentence with a name in it is in no catalogue, and braces in it are no fields
    return " ".join(text if "{" in text or "}" in text else say(text) for text in stated)
