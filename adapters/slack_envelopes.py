"""The parts that every message from Slack has: who, where, and who may read it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adapters.slack_audiences import SlackDirectory, SlackPlace
from adapters.slack_events import (
    PLATFORM,
    Redact,
    SlackIdentity,
    channel_of,
    event_of,
    moment,
    user_of_payload,
)
from adapters.slack_text import UNKNOWN, Names, ids_in
from bot.errors import PlatformRefused
from bot.messages import Author, EventKind, InboxEvent, IncomingMessage, Surface
from memory.types import Audience, Person, Readable

Json = dict[str, Any]


class SlackEnvelopes:
    """Fills in what is the same for messages, commands and buttons."""

    def __init__(
        self,
        me: SlackIdentity,
        directory: SlackDirectory,
        *,
        admins: frozenset[Person],
        redact: Redact,
    ) -> None:
        self._me = me
        self._directory = directory
        self._admins = admins
        self._redact = redact

    def bare(self, inbox: InboxEvent, kind: EventKind, **fields: Any) -> IncomingMessage:
        # Slack's own clock, when there is one: it is compared with that of messages.
        stamp = event_of(inbox.payload).get("event_ts")
        given: Json = {
            "platform": PLATFORM,
            "tenant": self._directory.tenant,
            "event_id": inbox.delivery,
            "kind": kind,
            "text": "",
            "sent_at": moment(stamp) if stamp else inbox.received_at,
            "readable": Readable(frozenset()),
        }
        return IncomingMessage(**(given | fields))

    async def place(self, channel: str, event: Json) -> SlackPlace:
        place = await self._directory.place(channel)
        if place.surface is Surface.UNKNOWN and event.get("channel_type") == "im":
            return replace(place, surface=Surface.DM)
        return place

    async def readable(self, place: SlackPlace, user: str) -> Readable:
        if place.surface is Surface.DM:
            by_person = await self._directory.readable_by(user)
            return Readable(by_person.audiences | {self._directory.audience(place.id)})
        return await self._directory.readable_in(place.id)

    async def _only_seen_by(self, user: str) -> Audience:
        try:
            return self._directory.audience(await self._directory.dm_with(user))
        except PlatformRefused:
            # Nobody else can be in a place that is named after one person.
            return self._directory.audience(user)

    async def author(self, user: str) -> Author | None:
        """None for bots and for people who were deactivated."""
        found = await self._directory.user(user)
        author = await self.known_author(user)
        return author if found.is_active and not (author.is_bot or author.is_self) else None

    async def known_author(self, user: str) -> Author:
        found = await self._directory.user(user)
        person = self.person(user)
        return Author(
            person=person,
            display_name=found.name,
            time_zone=found.time_zone,
            is_bot=found.is_bot,
            is_self=user == self._me.user,
            is_external=found.is_guest or found.is_external,
            is_admin=(found.is_admin and not found.is_external) or person in self._admins,
        )

    def person(self, user: str) -> Person:
        return Person(PLATFORM, self._directory.tenant, user)

    async def references(self, message: Json, names: Names) -> tuple[tuple[str, Person], ...]:
        return tuple(
            (names.users.get(user) or UNKNOWN, self.person(user))
            for user in ids_in(message).users
            if user != self._me.user
        )

    async def private(
        self, inbox: InboxEvent, kind: EventKind, text: str
    ) -> IncomingMessage | None:
        """An exchange that only the person sees, wherever it began."""
        payload, user = inbox.payload, user_of_payload(inbox.payload)
        author = await self.author(user)
        if author is None:
            return None
        dm = await self._only_seen_by(user)
        channel = channel_of(payload) or dm.name
        here = self._directory.audience(channel)
        place = await self.place(channel, event_of(payload))
        in_home = (payload.get("view") or {}).get("type") == "home"
        return self.bare(
            inbox,
            kind,
            surface=Surface.DM if here == dm else place.surface,
            channel=channel,
            message_id=inbox.delivery,
            author=author,
            audience=dm,
            conversation=channel if here == dm else f"user:{user}",
            text=self._redact(text),
            readable=await self._directory.readable_by(user),
            place=None if here == dm else here,
            private_reply=True,
            locale=(await self._directory.user(user)).locale,
            arguments={"view": "home"} if in_home or kind is EventKind.HOME else {},
        )
