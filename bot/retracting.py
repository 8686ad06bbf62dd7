"""Takes back what Oboete posted: it stays on the platform after its words were forgotten here.

Whoever forgets is offered it. It does not happen unasked, because it cannot be undone and others
may have answered.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Protocol, runtime_checkable

from bot.command_registry import Request, Run, private
from bot.errors import PlatformRefused, PlatformUnavailable
from bot.messages import Choice, Reply
from memory.ports import Clock
from memory.types import Audience, Message, Person

log = logging.getLogger(__name__)

OFFERED_FOR: Final = timedelta(hours=1)
"""How long it is offered. Which posts they were is kept in memory only."""

UNSENT: Final = "reply:"
"""How the ids of replies begin that no platform has shown, or only to one person."""


@runtime_checkable
class Retracting(Protocol):
    """A platform on which posts can be deleted."""

    async def retract(self, place: Audience, post: str, /) -> int:
        """Delete a post by what `deliver` gave; tells how many messages went.

        Raises PlatformUnavailable, or PlatformRefused when it cannot be deleted or is gone.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Offer:
    person: Person
    posts: tuple[tuple[Audience, str], ...]
    until: datetime


class Retractions:
    """Offers to delete posts, and deletes them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._platforms: dict[str, Retracting] = {}
        self._offers: dict[str, _Offer] = {}

    def attach(self, platforms: Mapping[str, object]) -> None:
        """From now on posts on these platforms can be deleted, where they let it be done."""
        self._platforms = {n: p for n, p in platforms.items() if isinstance(p, Retracting)}

    def runs(self) -> dict[str, Run]:
        """What each command runs, by name."""
        return {"retract": self._retract}

    def offer(self, reply: Reply, request: Request, said: Sequence[Message]) -> Reply:
        """The reply with a button that deletes the posts which were these replies."""
        posts = tuple(
            (message.audience, message.platform_id)
            for message in said
            if message.audience.platform in self._platforms
            and not message.platform_id.startswith(UNSENT)
        )
        if not posts:
            return reply
        now = self._clock()
        self._offers = {key: offer for key, offer in self._offers.items() if now < offer.until}
        token = secrets.token_hex(4)
        person = request.message.author.person
        self._offers[token] = _Offer(person, posts, now + OFFERED_FOR)
        label = request.say.plural(
            "Delete my {count} post about it", "Delete my {count} posts about it", len(posts)
        )
        return replace(reply, choices=(*reply.choices, Choice(label, f"retract {token}")))

    async def _retract(self, request: Request) -> Reply:
        say, now = request.say, self._clock()
        offer = self._offers.get(request.argument)
        mine = offer is not None and offer.person == request.message.author.person
        if offer is None or not mine or now >= offer.until:
            return private(say("There is nothing to delete any more."))
        del self._offers[request.argument]
        deleted = 0
        left: list[tuple[Audience, str]] = []
        for place, post in offer.posts:
            try:
                deleted += await self._platforms[place.platform].retract(place, post)
            except PlatformRefused as error:
                log.info("a post stays in %s: %s", place, error)
            except PlatformUnavailable as error:
                log.warning("a post in %s could not be deleted now: %s", place, error)
                left.append((place, post))
        told = say.plural("Deleted: {count} post.", "Deleted: {count} posts.", deleted)
        if not left:
            return private(told)
        self._offers[request.argument] = replace(offer, posts=tuple(left))
        again = Choice(say("Try again"), f"retract {request.argument}")
        return replace(private(told), choices=(again,))
