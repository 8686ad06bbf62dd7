"""Metadata by which the bot recognises its own messages after a crash.

See https://docs.slack.dev/messaging/message-metadata.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bot.messages import IncomingMessage

Json = dict[str, Any]

EVENT_TYPE = "oboete_reply"

Stamp = Callable[[int, int], Json]
"""Gives the metadata of a part, from its number and how many parts there are."""


def reply_key(message: IncomingMessage) -> str:
    """Names what an answer answers: the same for twins and redeliveries of one message."""
    return f"{message.channel}:{message.message_id}:{message.kind}:{message.revision}"


def stamp_for(message: IncomingMessage) -> Stamp:
    """Metadata for the parts of the answer to a message; 0 parts mean "not finished"."""
    return stamp_of(reply_key(message))


def stamp_of(key: str) -> Stamp:
    """Metadata for the parts of what has this key."""

    def stamp(part: int, parts: int) -> Json:
        payload = {"answers": key, "part": part, "parts": parts}
        return {"event_type": EVENT_TYPE, "event_payload": payload}

    return stamp


def is_same_answer(first: Json, second: Json) -> bool:
    """True for two parts of one answer."""
    keys = [
        (m.get("metadata") or {}).get("event_payload", {}).get("answers") for m in (first, second)
    ]
    return keys[0] is not None and keys[0] == keys[1]


@dataclass(frozen=True, slots=True)
class Earlier:
    """What is there already of an answer."""

    complete: str | None
    """Id of its first message, when all parts are there."""
    remains: tuple[str, ...]
    """Else the ids of the messages that are there."""


def earlier_answer(message: IncomingMessage, own: list[Json]) -> Earlier:
    """Look for the answer to `message` among the bot's own messages in its thread.

    Answers in one conversation are written one after the other, so a message of the bot
    after the question without any metadata is a stream that was cut off.
    """
    key = reply_key(message)
    parts: dict[int, tuple[int, str]] = {}
    remains: list[str] = []
    for posted in own:
        metadata, ts = posted.get("metadata") or {}, str(posted["ts"])
        payload = metadata.get("event_payload") or {}
        if payload.get("answers") == key:
            remains.append(ts)
            parts[int(payload["part"])] = (int(payload["parts"]), ts)
        elif not metadata and float(ts) > message.sent_at.timestamp():
            remains.append(ts)
    count, first = parts.get(0, (0, ""))
    if count and parts.keys() >= set(range(count)):
        return Earlier(first, ())
    return Earlier(None, tuple(remains))
