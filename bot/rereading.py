"""Looks again at what was said: finds what was missed, edited or deleted without our being told.

Platforms read what they missed after an outage by themselves. This is for the rest: an event that
got lost while connected, and deletions of messages too old to be read again, which are looked up
one after the other, over and over.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Final, Protocol, runtime_checkable

from bot.errors import PlatformRefused, PlatformUnavailable
from bot.jobs import Every, Job
from bot.messages import Said
from memory.knowledge import Knowledge
from memory.long_term import LongTermMemory

log = logging.getLogger(__name__)

READ_AGAIN: Final = Every(6 * 3600)

RECHECK: Final = Every(600)

RECHECKED: Final = 10
"""Messages, and files, that are looked up at a time: 1,440 of each a day, far below any limit of
a platform. The README tells how long a missed deletion may go unnoticed because of it."""


@runtime_checkable
class Rereadable(Protocol):
    """A platform that keeps what was said on it."""

    @property
    def connected(self) -> bool:
        """False while nothing can be asked."""
        ...

    async def read_again(self) -> None:
        """Commit what was missed in the conversations of late to the inbox."""
        ...

    async def recheck(self, said: Sequence[Said]) -> int:
        """Look messages up, and commit a deletion or an edit for each that is gone or different;
        gives how many. What cannot be looked up now is left alone.
        """
        ...


class Rereading:
    """Has the platforms that are served look again."""

    def __init__(self, memory: LongTermMemory, knowledge: Knowledge) -> None:
        self._memory = memory
        self._knowledge = knowledge
        self._platforms: dict[str, Rereadable] = {}

    def attach(self, platforms: Mapping[str, object]) -> None:
        """From now on these platforms are asked, where they keep what was said."""
        self._platforms = {n: p for n, p in platforms.items() if isinstance(p, Rereadable)}

    def jobs(self) -> list[Job]:
        """What is to be done by the clock."""
        return [
            Job("read again", READ_AGAIN, self.read_again),
            Job("recheck", RECHECK, self.recheck),
        ]

    async def read_again(self) -> dict[str, int]:
        """Read the conversations of late again."""
        for name, platform in self._connected():
            try:
                await platform.read_again()
            except (PlatformUnavailable, PlatformRefused) as error:
                log.warning("%s could not be read again: %s", name, error)
        return {}

    async def recheck(self) -> dict[str, int]:
        """Look up the next messages and files; gives how many were gone or different."""
        found = 0
        for name, platform in self._connected():
            said = [
                *map(Said.of, await self._memory.next_to_recheck(name, RECHECKED)),
                *await self._files(name),
            ]
            try:
                found += await platform.recheck([each for each in said if each.permalink])
            except (PlatformUnavailable, PlatformRefused) as error:
                log.warning("%s could not be asked what is still there: %s", name, error)
        return {"found": found}

    def _connected(self) -> list[tuple[str, Rereadable]]:
        return [(name, p) for name, p in self._platforms.items() if p.connected]

    async def _files(self, platform: str) -> list[Said]:
        """The messages that brought documents."""
        return [
            Said(source.audience, source.message_id, source.permalink, files=(source.platform_id,))
            for source in await self._knowledge.next_to_recheck(platform, RECHECKED)
            if source.message_id is not None
        ]
