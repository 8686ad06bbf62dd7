"""Discord's message markup: is the bot meant, and which names stand behind the ids."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.messages import Mention

_SPECIAL = re.compile(
    r"(?P<code>```.*?(?:```|\Z)|``.+?``|`[^`\n]+`)|(?P<quote>^>>> .*\Z|^> [^\n]*)",
    re.DOTALL | re.MULTILINE,
)
_MARKUP = re.compile(
    r"<(?:@!?(?P<user>\d{1,20})|@&(?P<role>\d{1,20})|#(?P<channel>\d{1,20})"
    r"|a?:(?P<emoji>\w{1,32}):\d{1,20}|t:(?P<time>-?\d{1,13})(?::[tTdDfFR])?"
    r"|/(?P<command>[^:>\n]{1,100}):\d{1,20})>"
)
_BREAKS_MARKDOWN = re.compile(r"[\x00-\x1f`*|<>\[\]]+")


@dataclass(frozen=True, slots=True)
class Resolved:
    """A text whose ids were replaced by names."""

    text: str
    references: tuple[tuple[str, str], ...]
    """(name in the text, user id), each user once, the bot itself left out."""


@dataclass(frozen=True, slots=True)
class Names:
    """What the ids in a message stand for."""

    users: Mapping[str, str]
    roles: Mapping[str, str]
    channel: Callable[[str], str | None]
    """None for a channel whose name must not be told."""
    bot: frozenset[str]
    """Ids of the bot: its user and the role that Discord made for it."""


def mention_of(text: str, bot: frozenset[str]) -> Mention:
    """How a text names the bot: in code or in a quote is not a mention."""
    found = Mention.NONE
    for kind, part in _segments(text):
        for match in _MARKUP.finditer(part):
            if (match["user"] or match["role"]) not in bot:
                continue
            if kind is Mention.DIRECT:
                return kind
            found = kind
    return found


def resolve(text: str, names: Names) -> Resolved:
    """Replace markup by what a person sees; direct mentions of the bot are dropped."""
    references: dict[str, str] = {}

    def replace(match: re.Match[str]) -> str:
        if user := match["user"]:
            name = plain_name(names.users.get(user, "someone"))
            references.setdefault(user, name)
            return f"@{name}"
        if role := match["role"]:
            return f"@{plain_name(names.roles.get(role, 'role'))}"
        if channel := match["channel"]:
            return f"#{plain_name(names.channel(channel) or 'channel')}"
        if match["time"]:
            return _moment(int(match["time"])) or match[0]
        return f":{match['emoji']}:" if match["emoji"] else f"/{match['command']}"

    own = re.compile(rf"<@[!&]?(?:{'|'.join(map(re.escape, names.bot))})> ?")
    parts = [
        part if kind is Mention.CODE else _MARKUP.sub(replace, own.sub("", part))
        for kind, part in _segments(text)
    ]
    return Resolved("".join(parts).strip(), tuple((n, user) for user, n in references.items()))


def plain_name(name: str) -> str:
    """A display name that cannot break the Markdown around it."""
    return _BREAKS_MARKDOWN.sub(" ", name).strip() or "someone"


def without_quotes(text: str) -> tuple[str, str]:
    """(what the author wrote, the lines they quoted, without the marks)."""
    parts = list(_segments(text))
    own = "".join(part for kind, part in parts if kind is not Mention.QUOTED)
    quoted = "\n".join(part for kind, part in parts if kind is Mention.QUOTED)
    return (
        re.sub(r"\n{3,}", "\n\n", own).strip(),
        re.sub(r"^>(?:>>)? ", "", quoted, flags=re.MULTILINE),
    )


def _segments(text: str) -> Iterator[tuple[Mention, str]]:
    """The text cut into code, quotes and the rest, each with what a mention there counts as."""
    position = 0
    for special in _SPECIAL.finditer(text):
        if position < special.start():
            yield Mention.DIRECT, text[position : special.start()]
        yield Mention.CODE if special["code"] else Mention.QUOTED, special[0]
        position = special.end()
    if position < len(text):
        yield Mention.DIRECT, text[position:]


def _moment(seconds: int) -> str | None:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError, OSError):
        return None
