"""Shows Markdown in Slack: blocks, their limits, and nothing that pings or breaks out.

Limits: https://docs.slack.dev/reference/block-kit/blocks and
https://docs.slack.dev/reference/methods/chat.update.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from adapters.markdown_parts import split_markdown
from adapters.slack_events import ASK, PRESS
from adapters.slack_texts import say
from bot.messages import Choice, Reply

Json = dict[str, Any]

POST_CHARACTERS = 11_000
"""Text of one posted message; Slack takes 12,000 in Markdown blocks."""
UPDATE_BYTES = 3_900
"""Text of one edited message in UTF-8; Slack takes about 4,000."""
SECTION_CHARACTERS = 2_900
"""Text of one section or context element; Slack takes 3,000."""
FALLBACK_CHARACTERS = 900
"""What notifications and screen readers get of a message that has blocks."""
BUTTON_CHARACTERS = 75
MODAL_TITLE_CHARACTERS = 24
MAX_BUTTONS = 25
MAX_CONTEXT_ELEMENTS = 10

ZERO_WIDTH_SPACE = "\u200b"
_FENCE = re.compile(r"(?ms)^[ \t>]*(`{3,}|~{3,}).*?(?:^[ \t>]*\1[`~]*[ \t]*$|\Z)")
_PING = re.compile(r"(<)(?=[!@#])|(?<![A-Za-z0-9._@/-])(@)(?=[A-Za-z])|(!)(?=\[)")


def neutralised(markdown: str) -> str:
    """The text with everything that would ping people or load an image taken apart.

    A zero-width space does it. Fenced code stays as it is: Slack resolves nothing there. A
    text that goes on keeps its beginning, so that it can be streamed.
    """
    return "".join(
        piece if is_code else _PING.sub(lambda match: match[0] + ZERO_WIDTH_SPACE, piece)
        for piece, is_code in _pieces(markdown)
    )


def _pieces(markdown: str) -> Iterator[tuple[str, bool]]:
    at = 0
    for match in _FENCE.finditer(markdown):
        yield markdown[at : match.start()], False
        yield match[0], True
        at = match.end()
    yield markdown[at:], False


def escaped(text: str) -> str:
    """Plain text for a mrkdwn field."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def to_mrkdwn(markdown: str) -> str:
    """Markdown in Slack's older markup, for places that have no Markdown block."""
    return "".join(
        _plain_fence(piece) if is_code else _prose(piece) for piece, is_code in _pieces(markdown)
    )


def _plain_fence(code: str) -> str:
    return escaped(re.sub(r"(?m)^([ \t>]*)(`{3,}|~{3,})[^\n]*", r"\1```", code))


def _prose(text: str) -> str:
    text = escaped(text)
    text = re.sub(r"(?m)^(\s*)&gt; ?", r"\1>", text)
    text = re.sub(r"!?\[([^\]\n]+)\]\((https?://[^)\s|]+)\)", r"<\2|\1>", text)
    text = re.sub(r"(?m)^#{1,6} +(.+?) *#*$", r"**\1**", text)
    # Slack wants a boundary around its asterisks, which Japanese has not: make one.
    text = re.sub(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", _bold, text)
    text = re.sub(r"~~(?=\S)(.+?)(?<=\S)~~", r"~\1~", text)
    return re.sub(r"(?m)^(\s*)[-*+] +", r"\1• ", text)


def _bold(match: re.Match[str]) -> str:
    before = match.string[: match.start()][-1:]
    after = match.string[match.end() :][:1]
    left = ZERO_WIDTH_SPACE if before and not before.isspace() else ""
    right = ZERO_WIDTH_SPACE if after and not after.isspace() else ""
    return f"{left}*{match[1]}*{right}"


def fallback(markdown: str) -> str:
    """The beginning of a message as plain text."""
    text = re.sub(r"[*_`~#]+", "", markdown)
    short = text[:FALLBACK_CHARACTERS].rstrip()
    return escaped(f"{short}…" if len(text) > FALLBACK_CHARACTERS else short) or "…"


def body_blocks(part: str) -> list[Json]:
    """One part of an answer."""
    return [{"type": "markdown", "text": part}]


def end_blocks(reply: Reply, locale: str) -> list[Json]:
    """What follows the text: what was learned, sources, buttons."""
    lines = [
        escaped(say("known" if fact.confirmed > 1 else "remembered", locale, text=fact.text))
        for fact in reply.learned
        if fact.text not in reply.text
    ]
    lines += [
        f"[{c.number}] {f'<{c.permalink}|{_label(c.label)}>' if c.permalink else _label(c.label)}"
        for c in reply.citations
    ]
    return [*_context(lines), *button_rows(_buttons(reply, locale))]


def _label(text: str) -> str:
    return escaped(text).replace("|", "/").replace("\n", " ")


def _context(lines: Sequence[str]) -> list[Json]:
    shown = [line[:SECTION_CHARACTERS] for line in lines]
    return [
        {
            "type": "context",
            "elements": [
                {"type": "mrkdwn", "text": line} for line in shown[at : at + MAX_CONTEXT_ELEMENTS]
            ],
        }
        for at in range(0, min(len(shown), 4 * MAX_CONTEXT_ELEMENTS), MAX_CONTEXT_ELEMENTS)
    ]


def _buttons(reply: Reply, locale: str) -> list[Json]:
    buttons = [button(choice, at) for at, choice in enumerate(reply.choices)]
    if reply.trace_id is not None:
        for name, label in (("why", ""), ("good", "👍"), ("bad", "👎")):
            choice = Choice(label or say(name, locale), f"{name} {reply.trace_id}")
            buttons.append(
                button(choice, len(buttons)) | {"accessibility_label": say(name, locale)}
            )
    return buttons[:MAX_BUTTONS]


def button(choice: Choice, number: int) -> Json:
    """A button; `number` keeps it apart from others in its block."""
    shown: Json = {
        "type": "button",
        "text": {"type": "plain_text", "text": choice.label[:BUTTON_CHARACTERS], "emoji": True},
        "action_id": f"{ASK if choice.danger else PRESS}:{number}",
        "value": choice.command,
    }
    return shown | {"style": "danger"} if choice.danger else shown


def button_rows(buttons: Sequence[Json]) -> list[Json]:
    return [{"type": "actions", "elements": list(buttons)}] if buttons else []


def sections(markdown: str) -> list[Json]:
    """Text in a view, where there is no Markdown block."""
    return [
        {"type": "section", "text": {"type": "mrkdwn", "text": to_mrkdwn(part)}}
        for part in split_markdown(
            markdown, SECTION_CHARACTERS, measure=lambda t: max(len(t), len(to_mrkdwn(t)))
        )
    ]


def confirm_modal(question: str, submit: str, metadata: str, callback: str, locale: str) -> Json:
    """Asks before something that cannot be undone."""
    return {
        "type": "modal",
        "callback_id": callback,
        "private_metadata": metadata,
        "title": _plain(say("confirm", locale)),
        "submit": _plain(submit),
        "close": _plain(say("cancel", locale)),
        "blocks": sections(question),
    }


def _plain(text: str) -> Json:
    return {"type": "plain_text", "text": text[:MODAL_TITLE_CHARACTERS]}
