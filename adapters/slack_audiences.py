"""Who can read what in a Slack workspace, from live membership. See design, "Audiences".

What cannot be found out is left out: every method that fails gives the smaller set.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar, cast

from adapters.slack_calls import SlackCalls, SlackRefused
from adapters.slack_events import PLATFORM, SLACKBOT
from bot.errors import PlatformRefused, PlatformUnavailable
from bot.messages import Surface
from bot.ports import Privacy
from memory.ports import Clock
from memory.types import Audience, Readable

CACHE_FOR = timedelta(minutes=5)
"""The design's limit for anything that decides what is readable."""

PEOPLE = ("U", "W")
"""How the ids of people begin; those of channels do not."""

_PRIVATE = (Surface.PRIVATE, Surface.GROUP_DM)

NOTHING: frozenset[Audience] = frozenset()

Json = dict[str, Any]
Value = TypeVar("Value")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SlackUser:
    """Somebody, as far as Slack tells."""

    id: str
    name: str
    time_zone: str = "UTC"
    locale: str = "en"
    is_bot: bool = False
    is_guest: bool = False
    """Sees only the channels they were invited to."""
    is_external: bool = False
    """Of another organisation, or unknown."""
    is_admin: bool = False
    is_active: bool = True

    @property
    def reads_all_public(self) -> bool:
        """A full member of the workspace, who can open every public channel."""
        return self.is_active and not (self.is_bot or self.is_guest or self.is_external)


@dataclass(frozen=True, slots=True)
class SlackPlace:
    """A conversation."""

    id: str
    surface: Surface
    name: str = ""
    is_shared: bool = True
    """Other organisations or workspaces are in it, or were invited."""
    user: str = ""
    """The person in a DM."""


class SlackDirectory:
    """Users, places and readable sets of one workspace. Safe to use from several tasks."""

    def __init__(self, calls: SlackCalls, tenant: str, privacy: Privacy, clock: Clock) -> None:
        self._calls = calls
        self._tenant = tenant
        self._privacy = privacy
        self._cache = _Cache(clock)

    @property
    def tenant(self) -> str:
        return self._tenant

    def audience(self, channel: str) -> Audience:
        return Audience(PLATFORM, self._tenant, channel)

    # --- people and places --------------------------------------------------------------

    async def user(self, user_id: str) -> SlackUser:
        """An unknown person is external."""
        unknown = SlackUser(user_id, user_id, is_external=True)
        return await self._or_less(
            unknown, lambda: self._cache.get(("user", user_id), lambda: self._read_user(user_id))
        )

    async def place(self, channel: str) -> SlackPlace:
        """A place that the bot cannot see has an unknown surface and counts as shared."""
        unknown = SlackPlace(channel, Surface.UNKNOWN)
        return await self._or_less(
            unknown, lambda: self._cache.get(("place", channel), lambda: self._read_place(channel))
        )

    async def dm_with(self, user_id: str) -> str:
        """Id of the DM channel with a person. Raises PlatformRefused or PlatformUnavailable."""
        return await self._cache.get(("dm", user_id), lambda: self._open_dm(user_id))

    async def channel_of(self, place: str) -> str:
        """Id of the channel that a place is, also of a DM that could not be opened when it was
        named. Raises PlatformRefused or PlatformUnavailable.
        """
        return await self.dm_with(place) if place.startswith(PEOPLE) else place

    # --- readable sets ------------------------------------------------------------------

    async def readable_in(self, channel: str) -> Readable:
        """What everybody who can read the channel can read."""
        place = await self.place(channel)
        itself = frozenset({self.audience(channel)})
        if place.surface in _PRIVATE:
            itself = await self._privacy.of_members(itself)
        if place.surface is Surface.UNKNOWN or place.is_shared:
            return Readable(itself)
        if not await self._or_less(False, lambda: self._all_read_public(channel)):
            return Readable(itself)
        return Readable(await self._public() | itself)

    async def readable_for(self, place: str) -> Readable:
        """What everybody who reads the place can read; of a DM, what its person can."""
        if place.startswith(PEOPLE):
            return await self.readable_by(place)
        found = await self.place(place)
        if found.surface is not Surface.DM or not found.user:
            return await self.readable_in(place)
        return await self.readable_by(found.user)

    async def readable_by(self, user_id: str) -> Readable:
        """What one person can read, for a DM with them or a reply that only they see.

        Nothing at all for somebody who was deactivated.
        """
        person = await self.user(user_id)
        if not person.is_active or person.is_bot:
            return Readable(frozenset())
        own = await self._or_less(NOTHING, lambda: self._dm_audience(user_id))
        joined = await self._or_less(NOTHING, lambda: self._joined(user_id))
        public = await self._public() if person.reads_all_public else NOTHING
        return Readable(own | joined | public)

    async def still_readable(
        self, audiences: Readable, *, channel: str, only: str | None
    ) -> Readable:
        """Those of `audiences` that are readable now, by memberships asked anew.

        For the private places an answer is about to use: of the others, events tell. The
        destination is the `channel`, or what only the person `only` sees.
        """
        if audiences.audiences - await self._public() - {self.audience(channel)}:
            self._cache.drop(("place", channel), ("members", channel))
            self._cache.drop(("user", only), ("joined", only))
        now = await (self.readable_by(only) if only else self.readable_in(channel))
        return Readable(audiences.audiences & now.audiences)

    # --- events -------------------------------------------------------------------------

    def note(self, event: Json) -> None:
        """Drop at once what an event may have changed."""
        kind, subtype = event.get("type"), event.get("subtype") or ""
        channel = _id_of(event.get("channel"))
        if kind in ("member_joined_channel", "member_left_channel"):
            self._cache.drop(("members", channel), ("joined", event.get("user")))
            self._cache.drop(("place", channel))
        elif kind in ("user_change", "team_join", "user_profile_changed"):
            user = _id_of(event.get("user"))
            self._cache.drop(("user", user), ("joined", user), ("full",))
        elif str(kind).startswith(("channel_", "group_", "mpim_", "shared_channel_")) or (
            kind == "message" and subtype.startswith(("channel_", "group_"))
        ):
            # A conversion, an archive or a new partner: rare, and about many sets at once.
            self._cache.clear()

    # --- reading ------------------------------------------------------------------------

    async def _or_less(self, less: Value, ask: Callable[[], Awaitable[Value]]) -> Value:
        try:
            return await ask()
        except (PlatformRefused, PlatformUnavailable) as error:
            log.warning("slack: left out what could not be found out: %s", error)
            return less

    async def _read_user(self, user_id: str) -> SlackUser:
        answer = await self._calls.read("users.info", user=user_id, include_locale="true")
        return user_of(answer.get("user") or {"id": user_id, "is_stranger": True}, self._tenant)

    async def _read_place(self, channel: str) -> SlackPlace:
        answer = await self._calls.read("conversations.info", channel=channel)
        place = place_of(answer.get("channel") or {"id": channel})
        # whatever is done with it, its surface is asked for first
        if place.surface is Surface.PUBLIC:
            await self._privacy.opened([self.audience(channel)])
        elif place.surface in _PRIVATE:
            await self._privacy.closed([self.audience(channel)])
        return place

    async def _open_dm(self, user_id: str) -> str:
        answer = await self._calls.write("conversations.open", users=user_id)
        channel = _id_of(answer.get("channel"))
        if not channel:
            raise SlackRefused("channel_not_found", "conversations.open")
        return channel

    async def _dm_audience(self, user_id: str) -> frozenset[Audience]:
        return frozenset({self.audience(await self.dm_with(user_id))})

    async def _public(self) -> frozenset[Audience]:
        return await self._or_less(NOTHING, lambda: self._cache.get(("public",), self._read_public))

    async def _read_public(self) -> frozenset[Audience]:
        pages = self._calls.pages("conversations.list", "channels", types="public_channel")
        public = frozenset(
            [self.audience(channel["id"]) async for channel in pages if not _hidden(channel)]
        )
        await self._privacy.opened(public)
        return public

    async def _joined(self, user_id: str) -> frozenset[Audience]:
        """Channels and group DMs the person is in, among those that the bot can see."""
        return await self._cache.get(("joined", user_id), lambda: self._read_joined(user_id))

    async def _read_joined(self, user_id: str) -> frozenset[Audience]:
        places: defaultdict[Surface, set[Audience]] = defaultdict(set)
        kinds = "public_channel,private_channel,mpim"
        pages = self._calls.pages("users.conversations", "channels", user=user_id, types=kinds)
        async for channel in pages:
            places[place_of(channel).surface].add(self.audience(channel["id"]))
        await self._privacy.opened(places[Surface.PUBLIC])
        private = places[Surface.PRIVATE] | places[Surface.GROUP_DM]
        await self._privacy.closed(private)
        return (await self._privacy.of_members(private)).union(*places.values())

    async def _all_read_public(self, channel: str) -> bool:
        members = await self._cache.get(("members", channel), lambda: self._members(channel))
        return members <= await self._cache.get(("full",), self._read_full)

    async def _members(self, channel: str) -> frozenset[str]:
        pages = self._calls.pages("conversations.members", "members", channel=channel)
        return frozenset([member async for member in pages])

    async def _read_full(self) -> frozenset[str]:
        """Ids of full members, and of those who read nothing: bots and the deactivated."""
        users = [user_of(u, self._tenant) async for u in self._calls.pages("users.list", "members")]
        return frozenset(
            {SLACKBOT} | {u.id for u in users if u.reads_all_public or u.is_bot or not u.is_active}
        )


def user_of(shown: Json, tenant: str) -> SlackUser:
    """A person as users.info shows them; what is missing makes them external."""
    profile = shown.get("profile") or {}
    user_id = str(shown.get("id") or "")
    names = (profile.get("display_name"), shown.get("real_name"), profile.get("real_name"))
    guest = shown.get("is_restricted") or shown.get("is_ultra_restricted")
    known = "is_restricted" in shown or shown.get("is_bot") or shown.get("deleted")
    home = shown.get("team_id") == tenant or tenant in (
        (shown.get("enterprise_user") or {}).get("teams") or ()
    )
    return SlackUser(
        id=user_id,
        name=next((name for name in names if name), None) or shown.get("name") or user_id,
        time_zone=shown.get("tz") or "UTC",
        locale=shown.get("locale") or "en",
        is_bot=bool(shown.get("is_bot")) or user_id == SLACKBOT,
        is_guest=bool(guest),
        is_external=bool(shown.get("is_stranger")) or not known or not home,
        is_admin=bool(shown.get("is_admin") or shown.get("is_owner")),
        is_active=not shown.get("deleted"),
    )


def place_of(shown: Json) -> SlackPlace:
    """A conversation as conversations.info shows it; what is missing makes it unknown."""
    if shown.get("is_im"):
        surface = Surface.DM
    elif shown.get("is_mpim"):
        surface = Surface.GROUP_DM
    elif "is_private" not in shown:
        surface = Surface.UNKNOWN
    else:
        surface = Surface.PRIVATE if shown["is_private"] else Surface.PUBLIC
    names = ("is_ext_shared", "is_org_shared", "is_shared", "is_pending_ext_shared")
    shared = any(shown.get(name) for name in names) or bool(shown.get("pending_shared"))
    unknown = surface is Surface.UNKNOWN
    return SlackPlace(
        str(shown.get("id")),
        surface,
        shown.get("name") or "",
        shared or unknown,
        str(shown.get("user") or ""),
    )


def _hidden(channel: Json) -> bool:
    return bool(channel.get("is_private")) or not channel.get("id")


def _id_of(value: object) -> str:
    return str(value.get("id") or "") if isinstance(value, dict) else str(value or "")


class _Cache:
    """Values that are good until they are dropped, and for CACHE_FOR at most."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[Hashable, tuple[datetime, object]] = {}
        self._locks: defaultdict[Hashable, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._generation = 0

    async def get(self, key: Hashable, read: Callable[[], Awaitable[Value]]) -> Value:
        async with self._locks[key]:
            found = self._entries.get(key)
            if found and self._clock() < found[0]:
                return cast("Value", found[1])
            asked, generation = self._clock(), self._generation
            value = await read()
            # An event that came while Slack was answering may have made the answer stale.
            if generation == self._generation:
                self._entries[key] = (asked + CACHE_FOR, value)
            return value

    def drop(self, *keys: Hashable) -> None:
        self._generation += 1
        for key in keys:
            self._entries.pop(key, None)

    def clear(self) -> None:
        self._generation += 1
        self._entries.clear()
