"""Reads what people write in Slack (rich text blocks, or else mrkdwn) as Markdown.

Format: https://docs.slack.dev/messaging/formatting-message-text and
https://docs.slack.dev/reference/block-kit/blocks/rich-text-block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.messages import Mention

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Names:
    """Display names by Slack id."""

    users: Mapping[str, str] = field(default_factory=dict)
    channels: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ids:
    """Whom and what a message names."""

    users: tuple[str, ...]
    channels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SlackText:
    """A message in Markdown."""

    markdown: str
    mention: Mention
    quoted: str
    """Forwarded messages and link previews, in Markdown."""


UNKNOWN = "…"
"""Stands for a name that cannot be found out: an id would mean nothing to a reader or a model."""

_ENTITY = re.compile(r"<([^<>\n]+)>")
_CODE = re.compile(r"(```.*?```|`[^`\n]+`)", re.DOTALL)
_BOLD = re.compile(r"(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])")
_STRIKE = re.compile(r"(?<![\w~])~(?=\S)([^~\n]+?)(?<=\S)~(?![\w~])")
_STRENGTH = (Mention.NONE, Mention.CODE, Mention.QUOTED, Mention.DIRECT)


def ids_in(message: Json) -> Ids:
    """Ids of the people and channels that are named anywhere in the message."""
    users: dict[str, None] = {}
    channels: dict[str, None] = {}
    for element in _elements(_rich_blocks(message)):
        if element.get("type") == "user":
            users[element["user_id"]] = None
        elif element.get("type") == "channel":
            channels[element["channel_id"]] = None
    texts = [message.get("text") or "", *(_attachment_text(a) for a in _attachments(message))]
    for match in _ENTITY.finditer("\n".join(texts)):
        target = match[1].partition("|")[0]
        if target.startswith("@"):
            users[target[1:]] = None
        elif target.startswith("#"):
            channels[target[1:]] = None
    return Ids(tuple(users), tuple(channels))


def read_text(message: Json, names: Names, bot_user: str) -> SlackText:
    """The message in Markdown, and how it names the bot.

    The mention of the bot that a message begins with is left out: it is an address, not
    something said.
    """
    blocks = _rich_blocks(message)
    if blocks:
        reader = _RichText(names, bot_user)
        markdown = "\n".join(filter(None, (reader.block(block) for block in blocks)))
        mention = reader.mention
    else:
        text = message.get("text") or ""
        markdown, mention = from_mrkdwn(text, names), _mention_in(text, bot_user)
    own = f"@{names.users.get(bot_user, bot_user)}"
    markdown = re.sub(rf"^\s*{re.escape(own)}[\s,:、：]*", "", markdown)
    quoted = "\n\n".join(
        filter(None, (from_mrkdwn(_attachment_text(a), names) for a in _attachments(message)))
    )
    return SlackText(markdown.strip(), mention, quoted)


def from_mrkdwn(text: str, names: Names) -> str:
    """Slack's mrkdwn as Markdown, with ids resolved to names and entities unescaped."""
    pieces = _CODE.split(text)
    return "".join(
        _unescaped(_ENTITY.sub(lambda m: m[1].rpartition("|")[2], piece))
        if at % 2
        else _prose(piece, names)
        for at, piece in enumerate(pieces)
    )


def _prose(text: str, names: Names) -> str:
    text = _BOLD.sub(r"**\1**", text)
    text = _STRIKE.sub(r"~~\1~~", text)
    return _unescaped(_ENTITY.sub(lambda match: _entity(match[1], names), text))


def _entity(inner: str, names: Names) -> str:
    target, _, label = inner.partition("|")
    kind, rest = target[:1], target[1:]
    if kind == "@":
        return f"@{names.users.get(rest) or label or UNKNOWN}"
    if kind == "#":
        return f"#{names.channels.get(rest) or label or UNKNOWN}"
    if kind == "!":
        if rest.startswith("subteam^"):
            group = rest.removeprefix("subteam^")
            return f"@{names.groups.get(group) or label.lstrip('@') or UNKNOWN}"
        return label if rest.startswith("date^") else f"@{rest}"
    return f"[{label}]({target})" if label and label != target else target


def _unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _mention_in(text: str, bot_user: str) -> Mention:
    named = re.compile(rf"<@{re.escape(bot_user)}(?:\|[^>]*)?>")
    found = Mention.NONE
    for at, piece in enumerate(_CODE.split(text)):
        for line in piece.split("\n"):
            if not named.search(line):
                continue
            if at % 2:
                found = _stronger(found, Mention.CODE)
            elif line.startswith(("&gt;", ">")):
                found = _stronger(found, Mention.QUOTED)
            else:
                found = Mention.DIRECT
    return found


def _stronger(first: Mention, second: Mention) -> Mention:
    return max(first, second, key=_STRENGTH.index)


def _rich_blocks(message: Json) -> list[Json]:
    return [b for b in message.get("blocks") or [] if b.get("type") == "rich_text"]


def _elements(elements: list[Json]) -> Iterator[Json]:
    for element in elements:
        yield element
        yield from _elements(element.get("elements") or [])


def _attachments(message: Json) -> list[Json]:
    return [a for a in message.get("attachments") or [] if isinstance(a, dict)]


def _attachment_text(attachment: Json) -> str:
    parts = [attachment.get(name) for name in ("pretext", "title", "text")]
    text = "\n".join(str(part) for part in parts if part)
    return text or str(attachment.get("fallback") or "")


class _RichText:
    """Writes rich text elements as Markdown and notes how they mention the bot."""

    def __init__(self, names: Names, bot_user: str) -> None:
        self._names = names
        self._bot_user = bot_user
        self.mention = Mention.NONE

    def block(self, block: Json) -> str:
        parts = [self._section(element) for element in block.get("elements") or []]
        return "\n".join(part for part in parts if part.strip())

    def _section(self, element: Json, quoted: bool = False) -> str:
        inner = element.get("elements") or []
        match element.get("type"):
            case "rich_text_preformatted":
                code = "".join(self._raw(item) for item in inner)
                fence = "````" if "```" in code else "```"
                return f"{fence}{element.get('language') or ''}\n{code}\n{fence}"
            case "rich_text_quote":
                text = "".join(self._inline(item, quoted=True) for item in inner)
                return "\n".join(f"> {line}" for line in text.split("\n"))
            case "rich_text_list":
                indent = "  " * int(element.get("indent") or 0)
                ordered = element.get("style") == "ordered"
                start = int(element.get("offset") or 0) + 1
                return "\n".join(
                    f"{indent}{f'{start + at}.' if ordered else '-'} {self._section(item)}"
                    for at, item in enumerate(inner)
                )
            case _:
                return "".join(self._inline(item, quoted=quoted) for item in inner)

    def _raw(self, item: Json) -> str:
        if item.get("type") == "user":
            self._note(item["user_id"], Mention.CODE)
        return str(item.get("text") or item.get("url") or self._plain(item))

    def _inline(self, item: Json, *, quoted: bool) -> str:
        style = item.get("style") or {}
        if item.get("type") == "user":
            code = Mention.CODE if style.get("code") else None
            where = code or (Mention.QUOTED if quoted else Mention.DIRECT)
            self._note(item["user_id"], where)
        text = self._plain(item)
        if not text.strip():
            return text
        if style.get("code"):
            return f"`{text}`"
        # Marks must touch the words, or Markdown shows the asterisks.
        left = text[: len(text) - len(text.lstrip())]
        right = text[len(text.rstrip()) :]
        words = text.strip()
        for name, mark in (("strike", "~~"), ("italic", "*"), ("bold", "**")):
            if style.get(name):
                words = f"{mark}{words}{mark}"
        return f"{left}{words}{right}"

    def _plain(self, item: Json) -> str:
        match item.get("type"):
            case "text":
                return str(item.get("text") or "")
            case "link":
                url, label = str(item.get("url") or ""), item.get("text")
                return f"[{label}]({url})" if label and label != url else url
            case "user":
                return f"@{self._names.users.get(item['user_id']) or UNKNOWN}"
            case "channel":
                return f"#{self._names.channels.get(item['channel_id']) or UNKNOWN}"
            case "usergroup":
                group = str(item.get("usergroup_id") or "")
                return f"@{self._names.groups.get(group) or UNKNOWN}"
            case "broadcast":
                return f"@{item.get('range')}"
            case "emoji":
                codes = str(item.get("unicode") or "")
                if codes:
                    return "".join(chr(int(code, 16)) for code in codes.split("-"))
                return f":{item.get('name')}:"
            case _:
                return str(item.get("fallback") or item.get("text") or item.get("value") or "")

    def _note(self, user: str, where: Mention) -> None:
        if user == self._bot_user:
            self.mention = _stronger(self.mention, where)
