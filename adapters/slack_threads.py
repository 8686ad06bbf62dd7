"""Threads in channels: is the bot part of one, and what was said before it was mentioned?"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from adapters.slack_audiences import SlackDirectory
from adapters.slack_calls import SlackCalls
from adapters.slack_events import SPOKEN, Redact, SlackIdentity, event_of, names_bot
from adapters.slack_text import UNKNOWN, Names, ids_in, read_text
from bot.errors import PlatformRefused
from bot.messages import Mention, Surface, Turn

Json = dict[str, Any]
log = logging.getLogger(__name__)

CONTEXT_TURNS = 30
"""Of what was said before the mention: the root and the newest others."""
REMEMBERED_THREADS = 1000


@dataclass(frozen=True, slots=True)
class ThreadBefore:
    """A thread up to one of its messages."""

    followed: bool
    """The bot was mentioned in it, or wrote in it."""
    context: tuple[Turn, ...]
    """What was said before that, oldest first: it is not stored."""


@dataclass(frozen=True, slots=True)
class _Thread:
    earlier: tuple[Json, ...]
    """The messages before `since`."""
    since: float | None
    """Timestamp of the first message that concerns the bot."""


async def names_in(messages: list[Json], directory: SlackDirectory, me: SlackIdentity) -> Names:
    """Names of everybody and every channel that the messages mention or are from."""
    users: dict[str, str] = {me.user: me.name}
    channels: dict[str, str] = {}
    for message in messages:
        found = ids_in(message)
        for user in (*found.users, str(message.get("user") or "")):
            if user and user not in users:
                name = (await directory.user(user)).name
                users[user] = name if name != user else ""
        for channel in found.channels:
            if channel not in channels:
                place = await directory.place(channel)
                # Slack shows the name of a private one to its members only
                channels[channel] = place.name if place.surface is Surface.PUBLIC else UNKNOWN
    return Names(users, channels)


class SlackThreads:
    """Remembers the threads seen lately; events keep what it knows right."""

    def __init__(
        self, calls: SlackCalls, directory: SlackDirectory, me: SlackIdentity, redact: Redact
    ) -> None:
        self._calls = calls
        self._directory = directory
        self._me = me
        self._redact = redact
        self._known: OrderedDict[tuple[str, str], _Thread] = OrderedDict()

    async def before(self, channel: str, thread: str, ts: str) -> ThreadBefore:
        """The thread up to, and without, its message `ts`; nothing of one that may not be read.

        Raises PlatformUnavailable.
        """
        try:
            found = self._known.get((channel, thread)) or await self._read(channel, thread)
        except PlatformRefused as error:
            log.warning("slack: a thread in %s cannot be read: %s", channel, error)
            return ThreadBefore(followed=False, context=())
        followed = found.since is not None and found.since < float(ts)
        limit = min(float(ts), found.since or float(ts))
        earlier = [m for m in found.earlier if float(m["ts"]) < limit]
        return ThreadBefore(followed, await self._turns(earlier))

    def note(self, payload: Json) -> None:
        """Forget a thread whose messages changed or in which the bot is mentioned just now."""
        event = event_of(payload)
        for message in (event, event.get("message"), event.get("previous_message")):
            if not isinstance(message, dict):
                continue
            changed = str(event.get("subtype")).startswith("message_")
            if changed or names_bot(message, self._me):
                root = message.get("thread_ts") or message.get("ts")
                self._known.pop((str(event.get("channel")), str(root)), None)

    def joined(self, channel: str, thread: str) -> None:
        """The bot wrote in a thread: look at it anew next time, unless that is known."""
        known = self._known.get((channel, thread))
        if known and known.since is None:
            del self._known[channel, thread]

    async def _read(self, channel: str, thread: str) -> _Thread:
        earlier: list[Json] = []
        since: float | None = None
        async for message in self._calls.pages(
            "conversations.replies", "messages", channel=channel, ts=thread
        ):
            if self._concerns_bot(message):
                since = float(message["ts"])
                break
            earlier.append(message)
            del earlier[1:-CONTEXT_TURNS]
        read = self._known[channel, thread] = _Thread(tuple(earlier), since)
        self._known.move_to_end((channel, thread))
        if len(self._known) > REMEMBERED_THREADS:
            self._known.popitem(last=False)
        return read

    def _concerns_bot(self, message: Json) -> bool:
        if self._me.wrote(message):
            return True
        if message.get("subtype") not in SPOKEN or not names_bot(message, self._me):
            return False
        return read_text(message, Names(), self._me.user).mention is Mention.DIRECT

    async def _turns(self, messages: list[Json]) -> tuple[Turn, ...]:
        names = await names_in(messages, self._directory, self._me)
        turns = []
        for message in messages:
            text = read_text(message, names, self._me.user)
            said = self._redact("\n".join(filter(None, (text.markdown, text.quoted))))
            name = names.users.get(str(message.get("user") or ""), "")
            if said:
                turns.append(Turn.user(said, name or str(message.get("username") or "")))
        return tuple(turns)
