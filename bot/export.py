"""Facts and messages as data: the shape of `facts list --json` and of exports."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from bot.i18n import Translator
from memory.types import Fact, Message, Person


def instant(moment: datetime | None) -> str | None:
    """RFC 3339 in UTC, such as `2026-11-30T06:39:48Z`."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def fact(known: Fact) -> dict[str, Any]:
    """One fact, in the shape that docs/architecture.md fixes."""
    return {
        "id": known.id,
        "text": known.text,
        "subject": str(known.subject),
        "attribute": known.attribute,
        "audience": str(known.audience),
        "language": known.language,
        "learned_at": instant(known.learned_at),
        "valid_from": instant(known.valid_from),
        "valid_until": instant(known.valid_until),
        "origin": known.origin.value,
        "evidence": [
            {"message_id": item.message_id, "permalink": item.permalink} for item in known.evidence
        ],
    }


def facts(known: Sequence[Fact]) -> dict[str, Any]:
    """A list of facts."""
    return {"facts": [fact(item) for item in known]}


def to_json(person: Person, known: Sequence[Fact], said: Sequence[Message]) -> dict[str, Any]:
    """Everything a person may take with them."""
    return {
        "person": str(person),
        **facts(known),
        "messages": [
            {
                "id": message.id,
                "audience": str(message.audience),
                "conversation": message.conversation,
                "sent_at": instant(message.sent_at),
                "permalink": message.permalink,
                "text": message.text.strip(),
            }
            for message in said
            if message.text.strip()
        ],
    }


def to_markdown(
    person: Person,
    known: Sequence[Fact],
    said: Sequence[Message],
    say: Translator,
    time_zone: str,
) -> str:
    """The same for reading."""
    facts_heading, messages_heading = say("Facts"), say("Messages")
    lines = [f"# {person}", "", f"## {facts_heading}", ""]
    for item in known:
        until = f" – {say.date(item.held_until, time_zone)}" if item.held_until else ""
        lines.append(f"- {item.text} ({say.date(item.said_at, time_zone)}{until})")
    lines += ["", f"## {messages_heading}", ""]
    for message in said:
        if message.text.strip():
            text = " ".join(message.text.split())
            lines.append(f"- {say.date(message.sent_at, time_zone)}: {text}")
    return "\n".join(lines) + "\n"
