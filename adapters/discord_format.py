"""How an answer looks on Discord: Markdown that pings and unfurls nothing, embeds, buttons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import discord

from adapters.discord_texts import say
from adapters.markdown_parts import split_markdown
from bot.messages import Choice, Citation, Reply
from memory.types import Fact

CONTENT_LIMIT: Final = 2000
DESCRIPTION_LIMIT: Final = 4096
CUSTOM_ID_LIMIT: Final = 100
BUTTON_LIMIT: Final = 25
"""Five rows of five."""
LABEL_LIMIT: Final = 80
PAGE_NUMBER_LIMIT: Final = 20
FACT_LIMIT: Final = 120
"""Characters of a fact in the line that says what was remembered."""

_CODE = re.compile(r"(```.*?(?:```|\Z)|``.+?``|`[^`\n]+`)", re.DOTALL)
_BARE = re.compile(r"<?(?P<bare>https?://[^\s<>]+)>?")
_LINK = re.compile(
    r"!?\[(?P<label>[^\[\]\n]*)\]\(<?(?P<target>[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)>?"
    r"(?:\s+\"[^\"\n]*\")?\)|" + _BARE.pattern
)
_DEEP_HEADING = re.compile(r"^#{4,6} +(.+?) *#*$", re.MULTILINE)
_TABLE = re.compile(r"(?:^\|.*\|[ \t]*$\n?){2,}", re.MULTILINE)
_DIVIDER = re.compile(r"^\|[\s:|-]+\|[ \t]*$\n?", re.MULTILINE)
_TRAILING = ".,;:!?、。，．！？）」』】)"


def to_discord(text: str) -> str:
    """Markdown as Discord can show it. Code is left as it is.

    Tables become code blocks, deep headings bold. Links show where they lead and are not
    unfurled: Discord would fetch an address that a model was talked into writing.
    """
    parts = _CODE.split(text)
    return "".join(part if index % 2 else _prose(part) for index, part in enumerate(parts))


def to_parts(text: str) -> list[str]:
    """`text` (Markdown) as messages of at most 2,000 characters, each whole on its own."""
    return split_markdown(to_discord(text), CONTENT_LIMIT)


@dataclass(frozen=True, slots=True)
class Pages:
    """A long list of which one page is shown."""

    command: str
    """Run again to turn the page."""
    shown: int
    """Counts from 0."""
    count: int


@dataclass(frozen=True, slots=True)
class Extras:
    """What comes with the last message of an answer."""

    embed: discord.Embed | None = None
    choices: tuple[Choice, ...] = ()
    pages: Pages | None = None


def compose(reply: Reply, locale: str, command: str, page: int) -> tuple[list[str], Extras]:
    """The messages of a complete answer, and what the last one carries.

    A list of facts that does not fit one message is shown by pages, from 0; `command` is what
    shows it again.
    """
    # What the answer says itself needs no small print.
    learned = [fact for fact in reply.learned if fact.text not in reply.text]
    text = "\n".join(filter(None, (reply.text, learned_line(learned, locale))))
    choices = (*reply.choices, *_about_the_answer(reply, locale))[:BUTTON_LIMIT]
    embed = citations_embed(reply.citations, locale)
    parts = to_parts(text)
    if not reply.facts or len(parts) < 2:
        return parts, Extras(embed, choices)
    parts = split_markdown(to_discord(text), CONTENT_LIMIT - PAGE_NUMBER_LIMIT)
    shown = max(0, min(page, len(parts) - 1))
    pages = Pages(command, shown, len(parts))
    choices = choices[: BUTTON_LIMIT - 2]
    return [f"{parts[shown]}\n-# {shown + 1}/{len(parts)}"], Extras(embed, choices, pages)


def _about_the_answer(reply: Reply, locale: str) -> tuple[Choice, ...]:
    if reply.trace_id is None:
        return ()
    number = reply.trace_id
    return (
        Choice(say("why", locale), f"why {number}"),
        Choice("👍", f"good {number}"),
        Choice("👎", f"bad {number}"),
    )


def learned_line(facts: Sequence[Fact], locale: str) -> str:
    """Small print that tells the speaker what was remembered, or was known."""
    lines = []
    for key, some in (
        ("learned", [fact for fact in facts if fact.confirmed <= 1]),
        ("known", [fact for fact in facts if fact.confirmed > 1]),
    ):
        if some:
            lines.append("-# " + say(key, locale, facts="; ".join(_shorten(f.text) for f in some)))
    return "\n".join(lines)


def citations_embed(citations: Iterable[Citation], locale: str) -> discord.Embed | None:
    """The sources, numbered as in the text; as many as fit."""
    lines: list[str] = []
    for citation in citations:
        label = discord.utils.escape_markdown(_escape_brackets(citation.label))
        link = citation.permalink
        line = f"`{citation.number}` " + (f"[{label}]({link})" if link else label)
        if sum(map(len, lines)) + len(lines) + len(line) > DESCRIPTION_LIMIT:
            break
        lines.append(line)
    if not lines:
        return None
    return discord.Embed(title=say("sources", locale), description="\n".join(lines))


def _prose(text: str) -> str:
    text = _TABLE.sub(_table, text)
    fenced = _CODE.split(text)
    return "".join(
        part if index % 2 else _DEEP_HEADING.sub(r"**\1**", _LINK.sub(_link, part))
        for index, part in enumerate(fenced)
    )


def _table(match: re.Match[str]) -> str:
    if not _DIVIDER.search(match[0]):
        return match[0]
    return f"```\n{_DIVIDER.sub('', match[0]).rstrip()}\n```\n"


def _link(match: re.Match[str]) -> str:
    if match["bare"]:
        return _BARE.sub(_bare, match[0])
    label, target = _BARE.sub(_bare, match["label"].strip()), match["target"]
    if not target.startswith(("https://", "http://")):
        return label or target
    return f"{label} (<{target}>)" if label not in ("", f"<{target}>") else f"<{target}>"


def _bare(match: re.Match[str]) -> str:
    address = match["bare"].rstrip(_TRAILING)
    return f"<{address}>{match['bare'][len(address) :]}"


def _escape_brackets(label: str) -> str:
    return label.replace("[", "(").replace("]", ")").replace("\n", " ")


def _shorten(text: str) -> str:
    flat = discord.utils.escape_markdown(" ".join(text.split()))
    return flat if len(flat) <= FACT_LIMIT else flat[: FACT_LIMIT - 1] + "…"
