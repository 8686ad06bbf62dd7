"""Reads conversations again after downtime: what is missing, was edited or was deleted.

Slack keeps no list of deletions, so only those of messages that are known are found.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from adapters.slack_calls import NO_THREAD, SlackCalls, SlackRefused
from adapters.slack_events import (
    GAP,
    REMOVED,
    SPOKEN,
    SlackIdentity,
    is_from_bot,
    moment,
    names_bot,
)
from bot.errors import PlatformRefused
from bot.messages import Said

Json = dict[str, Any]

ANSWER_WITHIN = timedelta(minutes=10)
"""Older DMs and mentions are stored and not answered."""

_AT = re.compile(r"/archives/(?P<channel>\w+)/p\d+(?:\?thread_ts=(?P<thread>[\d.]+))?")
"""Where a permalink of `SlackIdentity.permalink` leads."""

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
        if ts in followed.known:
            if edited and edited != followed.known[ts]:
                yield _changed(channel, message)
            continue
        said = message.get("subtype") in SPOKEN and not is_from_bot(message, me)
        if said and moment(ts) > followed.since:
            to_bot = channel.startswith("D") or names_bot(message, me)
            answer = to_bot and now - moment(ts) < ANSWER_WITHIN
            yield _body(
                message | _event_in(channel) | {"type": "message"},
                f"gap:{channel}:{ts}",
                answer=answer,
            )
    for ts in sorted(followed.known.keys() - there.keys()):
        yield _gone(channel, ts, thread)


async def changed(calls: SlackCalls, said: Said) -> list[Json]:
    """Bodies of events for what became of one message: deleted, edited, or rid of its files.

    Empty for a message that is as it was, or that may not be read. Raises PlatformUnavailable.
    """
    at = _AT.search(said.permalink or "")
    if at is None:
        return []
    channel, ts = at["channel"], said.message_id
    thread = at["thread"] or ts
    try:
        answer = await calls.read(
            "conversations.replies",
            channel=channel,
            ts=thread,
            oldest=ts,
            latest=ts,
            inclusive="true",
        )
    except SlackRefused as error:
        if error.code in NO_THREAD:
            return [_gone(channel, ts, thread)]
        log.warning("slack: %s cannot be looked up: %s", channel, error)
        return []
    message = next((m for m in answer.get("messages") or [] if m.get("ts") == ts), None)
    if message is None or message.get("subtype") == REMOVED:
        return [_gone(channel, ts, thread)]
    edited = str((message.get("edited") or {}).get("ts") or "")
    found = [] if said.files or edited in ("", said.revision) else [_changed(channel, message)]
    left = {file.get("id") for file in message.get("files") or [] if file.get("mode") != REMOVED}
    for file in said.files:
        if file not in left:
            event = {"type": "file_deleted", "file_id": file}
            found.append(_body(event, f"gap:{file}:gone", answer=False))
    return found


def _changed(channel: str, message: Json) -> Json:
    ts, edited = message["ts"], message["edited"]["ts"]
    event = {"type": "message", "subtype": "message_changed", "message": message}
    event |= _event_in(channel) | {"event_ts": edited}
    return _body(event, f"gap:{channel}:{ts}:{edited}", answer=False)


def _gone(channel: str, ts: str, thread: str) -> Json:
    event = {"type": "message", "subtype": "message_deleted", "deleted_ts": ts}
    previous = {"ts": ts, **({"thread_ts": thread} if thread else {})}
    event |= _event_in(channel) | {"previous_message": previous}
    return _body(event, f"gap:{channel}:{ts}:gone", answer=False)


def _event_in(channel: str) -> Json:
    return {"channel": channel, "channel_type": "im" if channel.startswith("D") else None}


def _body(event: Json, event_id: str, *, answer: bool) -> Json:
    return {"type": "event_callback", "event_id": event_id, "event": event, GAP: answer}


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
