"""What is private now, as platforms see it, and what becomes of what was said when that changes.

The rows are `memory.store.private_times`; why it is so, docs/adr/0013-private-times.md.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection
from datetime import datetime

from sqlmodel import Session

from memory.ports import Clock
from memory.store import private_times
from memory.store.database import Database
from memory.types import Audience


class PrivateTimes:
    """Implements `bot.ports.Privacy`. Safe to use from several tasks and beside other processes."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._looking = asyncio.Lock()
        self._state = ""
        self._private: set[Audience] = set()
        self._times: defaultdict[Audience, set[Audience]] = defaultdict(set)
        # as seen by this process: what is public, and when a place was private last
        self._public: set[Audience] = set()
        self._seen: dict[Audience, datetime] = {}

    async def opened(self, public: Collection[Audience]) -> None:
        """See `bot.ports.Privacy.opened`."""
        async with self._looking:
            await self._refresh()
            now = self._clock()
            # not seen private since the start: until now, which is never wider
            until = {place: self._seen.get(place, now) for place in self._private & set(public)}
            if until:
                await self._database.write(lambda s: private_times.end(s, until))
                await self._refresh()
            self._public.update(public)

    async def closed(self, private: Collection[Audience]) -> None:
        """See `bot.ports.Privacy.closed`."""
        async with self._looking:
            await self._refresh()
            if new := sorted(set(private) - self._private):
                await self._database.write(lambda s: private_times.note(s, new, self._public))
                await self._refresh()
            self._public.difference_update(private)
            self._seen.update(dict.fromkeys(private, self._clock()))

    async def of_members(self, private: Collection[Audience]) -> frozenset[Audience]:
        """See `bot.ports.Privacy.of_members`. Places that are not private stand for themselves."""
        async with self._looking:
            await self._refresh()
        earlier = [self._times[place] for place in self._private & set(private)]
        return frozenset(private).union(*earlier)

    async def _refresh(self) -> None:
        """Look what is private, if that has changed, in this process or another."""
        found = self._database.inline(_STATE, (private_times.STATE,))
        state = found[0][0] if found else ""
        if state == self._state:
            return

        def read(session: Session) -> tuple[list[Audience], list[Audience]]:
            return private_times.noted(session), private_times.times(session)

        noted, times = await self._database.read(read)
        self._private = set(noted)
        self._times.clear()
        for each in times:
            self._times[each.now].add(each)
        self._state = state


_STATE = "SELECT value FROM key_value WHERE key = ?"
