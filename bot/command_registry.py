"""What commands there are: one registry for all platforms, and what a command is given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from bot.admin_places import ADMINS
from bot.i18n import Translator, shown
from bot.messages import IncomingMessage, Reply
from memory.forgetting import Receipt
from memory.long_term import Actor
from memory.types import Audience, Fact, NewMessage, Person, Role

YES = "--yes"

MOST_DIGITS = 18
"""Of the number of a record: no more fit into what SQL keeps."""


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
    def quoted(self) -> NewMessage | None:
        """The message that a menu was opened on ("Remember this"), as it would be stored."""
        given, message = self.message.arguments, self.message
        if message.reply_to is None or "quoted_author" not in given:
            return None
        return NewMessage(
            platform_id=message.reply_to,
            audience=Audience.parse(given["quoted_audience"]),
            conversation=message.conversation,
            role=Role.USER,
            author=Person.parse(given["quoted_author"]),
            author_name=given.get("quoted_author_name", ""),
            text=message.quoted,
            sent_at=datetime.fromisoformat(given["quoted_sent_at"]),
            permalink=given.get("quoted_permalink"),
        )

    @property
    def actor(self) -> Actor:
        return acting(self.message)


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
    hidden: bool = False
    """Behind a button: help and menus leave it out."""


REGISTRY = (
    Command("list", ("一覧", "facts"), "", "List what I know about you"),
    Command("search", ("検索", "探す"), "WORDS", "Search what you may read"),
    Command("remember", ("覚えて", "記憶"), "TEXT", "Remember something"),
    Command(
        "forget",
        ("忘れて", "削除"),
        "NUMBER… | WORDS | about TOPIC | said WHEN | LINK | everything",
        "Forget something",
    ),
    Command(
        "export", ("書き出し", "エクスポート"), "[json|markdown]", "Export what I know about you"
    ),
    Command(
        "why",
        ("なぜ", "理由"),
        "[NUMBER | fact NUMBER]",
        "Show how the last answer came about, or what a fact rests on",
    ),
    Command("pause", ("停止", "一時停止"), "[me]", "Stop storing here, or stop storing my words"),
    Command("resume", ("再開",), "[me]", "Store again"),
    Command("listen", ("傾聴",), "on | off", "Store everything said in this channel", admin=True),
    Command(
        "bases",
        ("ナレッジ", "知識ベース"),
        "[new NAME | collect NAME on|off]",
        "List knowledge bases, or make one",
    ),
    Command("sources", ("文書", "資料"), "[BASE] | remove NUMBER…", "List or remove documents"),
    Command(
        "remind",
        ("リマインド", "通知"),
        "WHEN TEXT | list | cancel NUMBER",
        "Remind you, or post a digest here",
    ),
    Command("admin", ("管理",), "stats", "Show counts", admin=True),
    Command("add", ("追加",), "", "Agree to add a file", hidden=True),
    Command("keep", ("残す",), "", "Keep the last answer as knowledge"),
    Command("retract", (), "", "Delete my posts about what was forgotten", hidden=True),
    Command("good", (), "[NUMBER]", "The last answer helped", hidden=True),
    Command("bad", (), "[NUMBER]", "The last answer did not help", hidden=True),
    Command("undo", ("取り消し", "元に戻す"), "", "Undo the last change"),
    Command("help", ("ヘルプ", "使い方"), "", "Show this help"),
)
BY_WORD = {word: command for command in REGISTRY for word in (command.name, *command.japanese)}


def acting(message: IncomingMessage) -> Actor:
    """Who asks for a change, with what they administer: the workspace in which they ask, or the
    whole installation where nobody else reads along.
    """
    return Actor(
        message.author.person,
        message.author.is_admin,
        (message.platform, message.tenant),
        everywhere=ADMINS in message.readable,
    )


def identifier(digits: str) -> int:
    """The number that somebody typed for a record; one too long for any is that of none."""
    return int(digits) if len(digits) <= MOST_DIGITS else 0


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


def line(fact: Fact, request: Request, names: Mapping[Person, str] | None = None) -> str:
    """One fact as people see it: number, words, who said it if not the reader, when, and until
    when it held. `names` are what people are called.
    """
    said = request.say.date(fact.said_at, request.time_zone)
    if fact.speaker != request.message.author.person:
        said = f"{called(fact.speaker, request, names)}, {said}"
    until = ""
    if fact.held_until is not None:
        day = request.say.date(fact.held_until, request.time_zone)
        until = ", " + request.say("until {day}", day=day)
    return f"- **{fact.id}** {shown(fact.text)} ({shown(said)}{until})"


def called(person: Person, request: Request, names: Mapping[Person, str] | None = None) -> str:
    """What a person is called, as far as that is known here."""
    mentioned = {who: name for name, who in request.message.references}
    return mentioned.get(person) or (names or {}).get(person) or person.name


def receipt_text(receipt: Receipt, request: Request, backups_until: datetime | None = None) -> str:
    """What went, for the person who asked, and until when a backup may still hold it."""
    say = request.say
    gone = say.plural("Forgotten: {count} fact", "Forgotten: {count} facts", receipt.facts)
    blanked = say.plural("words in {count} message", "words in {count} messages", receipt.messages)
    replies = say.plural("{count} reply of mine", "{count} replies of mine", len(receipt.replies))
    parts = [gone, blanked, *([replies] if receipt.replies else [])]
    text = say(", ").join(parts) + say(".")
    if backups_until is None:
        return text
    day = say.date(backups_until, request.time_zone)
    return f"{text} {say('The last backup that holds it is gone on {day}.', day=day)}"


def private(text: str) -> Reply:
    return Reply(text, private=True)


def join_lines(*lines: str) -> str:
    return "\n".join(text for text in lines if text)
