"""Files that people share: into which knowledge base, and with whose consent.

A file that somebody posted in one place and adds to the base of another will be read by other
people than before: the uploader is told by whom, and has to agree.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol, runtime_checkable

from bot.citing import extent
from bot.command_registry import Request, Run, private
from bot.errors import PlatformRefused
from bot.i18n import Translator
from bot.messages import Attachment, Choice, EventKind, IncomingMessage, Reply
from bot.place_names import PlaceNames
from memory.knowledge import Added, Knowledge, KnowledgeBase, NewSource, Outcome
from memory.ports import Clock
from memory.reading import Reason, UnreadableDocument
from memory.types import Person


@runtime_checkable
class Files(Protocol):
    """A platform on which people share files."""

    async def download(self, attachment: Attachment, max_bytes: int) -> bytes:
        """The bytes of an attachment.

        Raises PlatformUnavailable, or PlatformRefused for one that cannot be had.
        """
        ...


OFFERED_FOR: Final = timedelta(hours=1)
"""How long an offer waits for its uploader. It is kept in memory only."""

SOON: Final = 64
"""Passages that get their vectors before a file is said to be added: those of some twenty pages,
in a second or two. Whoever adds a file asks about it next; the rest of a long one follows."""

Embed = Callable[[int], Awaitable[object]]
"""Gives as many waiting texts their vectors; what fails waits on."""


async def _later(_limit: int) -> None:
    """Vectors come in the background."""


_WANTED: Final = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        r"\b(?:add|save|put|upload|import|ingest)\b.{0,40}?\b(?:to|into|in)\s+"
        r"(?:(?:our|the|my|your|this)\s+)?(?P<base>.+?)(?:\s+(?:knowledge\s+)?base)?[\s.!]*$",
        r"^(?:.{0,20}?を)?\s*(?P<base>[^をに]{1,40}?)(?:の?ナレッジ|の?知識ベース)?に"
        r"(?:追加|登録|保存|入れて|いれて|加えて)",
    )
)
_QUOTES: Final = "\"'“”‘’「」『』 "


@dataclass(frozen=True, slots=True)
class _Offer:
    """Files that wait for their uploader's consent."""

    person: Person
    files: tuple[Attachment, ...]
    message: IncomingMessage
    base: KnowledgeBase
    until: datetime


class Uploads:
    """Adds what people share to knowledge bases."""

    def __init__(
        self,
        knowledge: Knowledge,
        clock: Clock,
        *,
        max_bytes: int,
        names: PlaceNames | None = None,
        embed: Embed = _later,
    ) -> None:
        self._knowledge = knowledge
        self._names = names or PlaceNames()
        self._embed = embed
        self._clock = clock
        self._max_bytes = max_bytes
        self._platforms: dict[str, Files] = {}
        self._offers: dict[str, _Offer] = {}

    def attach(self, platforms: Mapping[str, object]) -> None:
        """From now on the files of these platforms are taken in, where they have files."""
        self._platforms = {
            name: platform for name, platform in platforms.items() if isinstance(platform, Files)
        }

    def runs(self) -> dict[str, Run]:
        """What each command runs, by name."""
        return {"add": self._add}

    async def handle(
        self, message: IncomingMessage, say: Translator, *, paused: bool = False
    ) -> Reply | None:
        """Deal with a message's files; None when nothing is to be done about them.

        Where the place or the person is `paused`, nothing is collected: only what somebody asks
        for is added.
        """
        if message.kind is EventKind.DELETE:
            await self._knowledge.source_deleted(message.audience, message.message_id)
            return None
        if message.kind is EventKind.EDIT:
            left = {file.id for file in message.attachments}
            await self._knowledge.files_left(message.audience, message.message_id, left)
        connected = message.platform in self._platforms
        if message.kind is not EventKind.MESSAGE or not message.attachments or not connected:
            return None
        wanted = base_named(message.text) if message.addressed else None
        if wanted is None:
            return None if paused else await self._collect(message, say)
        return await self._offer(message, wanted, say)

    async def _collect(self, message: IncomingMessage, say: Translator) -> Reply | None:
        """Add what was posted in a place whose base collects; only trouble is answered."""
        bases = await self._knowledge.bases(message.readable)
        for base in bases:
            if base.collects and base.audience == message.audience:
                reply = await self._take_in(message.attachments, message, base, say, again=False)
                return reply if message.addressed else Reply("", silent=True)
        return None

    async def _offer(self, message: IncomingMessage, name: str, say: Translator) -> Reply:
        bases = await self._knowledge.bases(message.readable, name=name)
        # not one of another time of this place: who reads that changes when the place does
        bases = [base for base in bases if not base.audience.time]
        here = [base for base in bases if base.audience == message.audience]
        if not bases:
            return private(
                say("There is no knowledge base “{name}” that you can read here.", name=name)
            )
        if len(bases) > 1 and not here:
            return private(
                say("Several knowledge bases are called “{name}”; ask in its place.", name=name)
            )
        base = (here or bases)[0]
        if base.audience == message.audience:
            return await self._take_in(message.attachments, message, base, say, again=True)
        token = secrets.token_hex(4)
        now = self._clock()
        self._offers = {key: offer for key, offer in self._offers.items() if now < offer.until}
        self._offers[token] = _Offer(
            message.author.person, message.attachments, message, base, now + OFFERED_FOR
        )
        text = say(
            "“{file}” was shared in another place. In the knowledge base “{base}”, {readers} will"
            " be able to read it. Do you agree?",
            file=", ".join(file.name for file in message.attachments),
            base=base.name,
            readers=await self._names.readers(base.audience, say),
        )
        return Reply(text, choices=(Choice(say("Add it"), f"add {token}"),), private=True)

    async def _add(self, request: Request) -> Reply:
        """The uploader's consent, by a button."""
        say = request.say
        offer = self._offers.get(request.argument)
        now = self._clock()
        if offer is None or now >= offer.until or offer.person != request.message.author.person:
            return private(say("Send the file again, with the words “add this to” and the base."))
        bases = await self._knowledge.bases(request.message.readable, name=offer.base.name)
        if offer.base.id not in {base.id for base in bases}:
            return private(
                say(
                    "There is no knowledge base “{name}” that you can read here.",
                    name=offer.base.name,
                )
            )
        del self._offers[request.argument]
        return await self._take_in(offer.files, offer.message, offer.base, say, again=True)

    async def _take_in(
        self,
        files: Sequence[Attachment],
        message: IncomingMessage,
        base: KnowledgeBase,
        say: Translator,
        *,
        again: bool,
    ) -> Reply:
        lines = []
        failed = False
        for file in files:
            new = NewSource(
                file.id, file.name, message.author.person, message.permalink, message.message_id
            )
            try:
                if file.size > self._max_bytes:
                    raise UnreadableDocument(Reason.TOO_BIG)  # noqa: TRY301 - as reading it would
                data = await self._platforms[message.platform].download(file, self._max_bytes)
                added = await self._knowledge.add(base, new, data, again=again)
            except UnreadableDocument as error:
                failed = True
                lines.append(f"{file.name}: {say(str(error))}")
            except PlatformRefused as error:  # of this one; the others may be there
                failed = True
                lines.append(f"{file.name}: {error}")
            else:
                lines.append(f"{file.name}: {_said(added, base, say)}")
        await self._embed(SOON)
        return Reply("\n".join(lines), private=failed)


def base_named(text: str) -> str | None:
    """The base that a message with files names: "add this to our handbook"; None for none."""
    for pattern in _WANTED:
        match = pattern.search(text.strip())
        if match:
            return match.group("base").strip(_QUOTES) or None
    return None


def _said(added: Added, base: KnowledgeBase, say: Translator) -> str:
    source = added.source
    if source is None:
        return say("it was removed from the knowledge base before, so I left it out.")
    if added.outcome is Outcome.UNCHANGED:
        return say("the knowledge base “{base}” has it already.", base=base.name)
    pages = extent(source, say)
    if added.outcome is Outcome.REPLACED:
        return say("its new state is in “{base}” ({pages}).", base=base.name, pages=pages)
    return say("added to “{base}” ({pages}).", base=base.name, pages=pages)
