"""Reads conversations again after downtime: what is missing, was edited or was deleted.

Slack keeps no list of deletions, so only those of messages that are known are found.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from adapters.slack_calls import SlackCalls
from adapters.slack_events import GAP, SPOKEN, SlackIdentity, is_from_bot, moment, names_bot
from bot.errors import PlatformRefused

Json = dict[str, Any]

ANSWER_WITHIN = timedelta(minutes=10)
"""Older DMs and mentions are stored and not answered."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Followed:
    """A conversation to read again."""

    conversation: str
    """A channel, with its threads, or `channel/thread`: as in `IncomingMessage.conversation`."""
    since: datetime
    """Everything older was received (UTC)."""
    known: Mapping[str, str] = field(default_factory=dict)
    """Revision by message id, for the messages to check for edits and deletions."""


async def missed(
    calls: SlackCalls, me: SlackIdentity, followed: Followed, now: datetime
) -> AsyncIterator[Json]:
    """Bodies of events for what was missed, oldest first.

    Raises PlatformUnavailable. A conversation that may not be read any more gives nothing.
    """
    channel, _, thread = followed.conversation.partition("/")
    oldest = min([followed.since, *(moment(ts) for ts in followed.known)])
    try:
        messages = await _messages(calls, channel, thread, oldest)
    except PlatformRefused as error:
        log.warning("slack: %s cannot be read again: %s", channel, error)
        return
    there = {str(message["ts"]): message for message in messages}
    for ts in sorted(there):
        message = there[ts]
        edited = str((message.get("edited") or {}).get("ts") or "")
        event = _event_in(channel)
        if ts in followed.known:
            if edited and edited != followed.known[ts]:
                change = {"type": "message", "subtype": "message_changed", "message": message}
                yield _body(event | change | {"event_ts": edited}, f"{ts}:{edited}", answer=False)
            continue
        said = message.get("subtype") in SPOKEN and not is_from_bot(message, me)
        if said and moment(ts) > followed.since:
            to_bot = channel.startswith("D") or names_bot(message, me)
            answer = to_bot and now - moment(ts) < ANSWER_WITHIN
            yield _body(message | event | {"type": "message"}, ts, answer=answer)
    for ts in sorted(followed.known.keys() - there.keys()):
        gone = {"type": "message", "subtype": "message_deleted", "deleted_ts": ts}
        previous = {"ts": ts, **({"thread_ts": thread} if thread else {})}
        yield _body(
            _event_in(channel) | gone | {"previous_message": previous}, f"{ts}:gone", answer=False
        )


def _event_in(channel: str) -> Json:
    return {"channel": channel, "channel_type": "im" if channel.startswith("D") else None}


def _body(event: Json, stamp: str, *, answer: bool) -> Json:
    return {
        "type": "event_callback",
        "event_id": f"gap:{event['channel']}:{stamp}",
        "event": event,
        GAP: answer,
    }


async def _messages(calls: SlackCalls, channel: str, thread: str, oldest: datetime) -> list[Json]:
    stamp = f"{oldest.timestamp():.6f}"
    if thread:
        return await _replies(calls, channel, thread, stamp)
    found: list[Json] = []
    async for message in calls.pages(
        "conversations.history", "messages", channel=channel, oldest=stamp, inclusive="true"
    ):
        found.append(message)
        if float(message.get("latest_reply") or 0) >= float(stamp):
            found += (await _replies(calls, channel, str(message["ts"]), stamp))[1:]
    return found


async def _replies(calls: SlackCalls, channel: str, thread: str, oldest: str) -> list[Json]:
    """The root, and the replies since `oldest`."""
    pages = calls.pages(
        "conversations.replies",
        "messages",
        channel=channel,
        ts=thread,
        oldest=oldest,
        inclusive="true",
    )
    return [message async for message in pages]
