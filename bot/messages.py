"""What goes in and what comes out: platform-neutral messages, turns and replies."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from memory.types import Audience, Fact, InboxEvent, Message, Person, Readable, Role

__all__ = [
    "Attachment",
    "Author",
    "Choice",
    "Citation",
    "Delta",
    "EventKind",
    "FileReply",
    "InboxEvent",
    "IncomingMessage",
    "Mention",
    "Reply",
    "ReplyPart",
    "ReplyStream",
    "Said",
    "Status",
    "Surface",
    "Turn",
]


class EventKind(StrEnum):
    """What happened."""

    MESSAGE = "message"
    EDIT = "edit"
    DELETE = "delete"
    COMMAND = "command"
    ACTION = "action"
    """A button, a menu choice or a submitted form."""
    REACTION = "reaction"
    HOME = "home"


class Surface(StrEnum):
    """Where it happened. UNKNOWN is treated like a place shared with strangers."""

    DM = "dm"
    GROUP_DM = "group_dm"
    PRIVATE = "private"
    PUBLIC = "public"
    UNKNOWN = "unknown"


class Mention(StrEnum):
    """How the message names the bot."""

    DIRECT = "direct"
    QUOTED = "quoted"
    CODE = "code"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Author:
    """Who sent it."""

    person: Person
    display_name: str
    time_zone: str = "UTC"
    """IANA name."""
    is_bot: bool = False
    is_self: bool = False
    is_external: bool = False
    """A guest or a member of another organisation."""
    is_admin: bool = False


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message; its bytes stay on the platform until they are wanted."""

    id: str
    name: str
    media_type: str
    size: int
    """Bytes."""
    url: str


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """One event of a chat platform, normalised. See docs/architecture.md, "One message"."""

    platform: str
    tenant: str
    event_id: str
    kind: EventKind
    surface: Surface
    channel: str
    message_id: str
    author: Author
    text: str
    """Markdown, references resolved to names, secrets redacted."""
    sent_at: datetime
    audience: Audience
    """Where it was said: what it teaches belongs there."""
    readable: Readable
    """What the answer may draw on, computed live for everybody who will read the answer."""
    conversation: str
    """Key of the conversation: thread if there is one, else channel."""
    parent_channel: str | None = None
    thread: str | None = None
    revision: str = ""
    mention: Mention = Mention.NONE
    addressed: bool = True
    """A DM, a mention, a command, or a reply in a thread where the bot was mentioned."""
    place: Audience | None = None
    """The channel's own audience, when `audience` is narrower because only the author will see
    the exchange (a slash command in a channel)."""
    answer: bool = True
    """False for what is only to be stored: read again after downtime, too old to answer."""
    references: tuple[tuple[str, Person], ...] = ()
    """Display name in the text, and the person whom it mentions."""
    attachments: tuple[Attachment, ...] = ()
    reply_to: str | None = None
    locale: str = "en"
    """BCP 47 language tag of the author's user interface."""
    permalink: str | None = None
    context: tuple[Turn, ...] = ()
    """Earlier turns of the thread that are not stored (root and replies before the mention)."""
    quoted: str = ""
    """Forwarded or quoted text: serves this answer, is never learned."""
    plain: bool = False
    """One search and no model call before the answer."""
    private_reply: bool = False
    """Only the author will see the answer (ephemeral); `readable` was computed for that."""
    arguments: dict[str, str] = field(default_factory=dict)
    """Command or action arguments as the platform delivers them, by name."""

    @property
    def here(self) -> Audience:
        """The place in which it was sent, whoever will see the exchange."""
        return self.place or self.audience


@dataclass(frozen=True, slots=True)
class Said:
    """A message that was stored, or that brought a document, to be looked up on its platform."""

    audience: Audience
    """Of the message, or of its document's base."""
    message_id: str
    permalink: str | None
    """Tells its platform where it is; without one it cannot be looked up."""
    revision: str = ""
    files: tuple[str, ...] = ()
    """Ids of files that it should still have."""

    @classmethod
    def of(cls, message: Message) -> Said:
        return cls(message.audience, message.platform_id, message.permalink, message.revision)


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn for a chat model. `role` is `system`, `user` or `assistant`."""

    role: str
    content: str
    name: str = ""

    @classmethod
    def system(cls, content: str) -> Turn:
        return cls("system", content)

    @classmethod
    def user(cls, content: str, name: str = "") -> Turn:
        return cls(Role.USER.value, content, name)

    @classmethod
    def assistant(cls, content: str) -> Turn:
        return cls(Role.ASSISTANT.value, content)


@dataclass(frozen=True, slots=True)
class Citation:
    """A source of an answer, numbered as in its text."""

    number: int
    label: str
    """What a person sees: a date and a speaker, or a document with its page."""
    permalink: str | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """A button: `command` is what pressing it runs, as if typed after `/memory`."""

    label: str
    command: str
    danger: bool = False


@dataclass(frozen=True, slots=True)
class FileReply:
    """A file to hand to the asker alone."""

    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete answer. `text` is Markdown and always whole, whatever was streamed before."""

    text: str
    citations: tuple[Citation, ...] = ()
    facts: tuple[Fact, ...] = ()
    """For lists: the facts shown, in the order of the text."""
    learned: tuple[Fact, ...] = ()
    """What was remembered, or known already, because of this message."""
    choices: tuple[Choice, ...] = ()
    file: FileReply | None = None
    route: str = ""
    """Where the answer came from, as in `bot.plan.Route`."""
    base: str = ""
    """The knowledge base that answered."""
    confidence: float | None = None
    """In that base, percent."""
    trace_id: int | None = None
    stored_id: int | None = None
    """Id of the stored reply."""
    private: bool = False
    """Show it to the asker only."""
    forgot: bool = False
    """Something was forgotten: the words of the request must not outlive it either."""
    notice: str = ""
    """To be posted visibly in the place, apart from the reply; holds nothing remembered."""
    silent: bool = False
    """Nothing is to be sent."""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Status:
    """What Oboete is doing right now, in the asker's language."""

    text: str


@dataclass(frozen=True, slots=True)
class Delta:
    """More text of the answer."""

    text: str


ReplyPart = Status | Delta | Reply
"""A stream of parts ends with exactly one `Reply`."""

ReplyStream = AsyncIterator[ReplyPart]
