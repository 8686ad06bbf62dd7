"""How much is answered: nobody keeps Oboete busy for all, and no two bots talk for ever."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from bot.messages import IncomingMessage, Surface
from memory.ports import Clock

WINDOW = timedelta(minutes=10)

MOST_KEYS = 10_000
"""People and conversations that are counted before those of earlier are dropped."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Answers within WINDOW. Far above what people do, far below what programs can."""

    pair: int = 120
    """To one author in one conversation that others read too: another bot that answers back."""
    person: int = 600
    everybody: int = 6_000


class Verdict(Enum):
    """What to do with a message."""

    ANSWER = "answer"
    BUSY = "busy"
    """Say once that it is too much."""
    SILENT = "silent"


@dataclass(slots=True)
class _Count:
    answered: deque[datetime]
    told: bool = False


class Pacing:
    """Counts answers. What is over a limit is stored and learned from, but not answered."""

    def __init__(self, clock: Clock, limits: Limits | None = None) -> None:
        self._clock = clock
        self._limits = limits or Limits()
        self._counts: dict[str, _Count] = {}

    def admit(self, message: IncomingMessage) -> Verdict:
        """Whether one more message is answered; counts it if so."""
        since = self._clock() - WINDOW
        counts = []
        for key, limit in self._keys(message):
            count = self._counts.setdefault(key, _Count(deque()))
            while count.answered and count.answered[0] < since:
                count.answered.popleft()
            if len(count.answered) >= limit:
                told, count.told = count.told, True
                return Verdict.SILENT if told else Verdict.BUSY
            counts.append(count)
        for count in counts:
            count.told = False
            count.answered.append(self._clock())
        if len(self._counts) > MOST_KEYS:
            self._drop(since)
        return Verdict.ANSWER

    def _keys(self, message: IncomingMessage) -> list[tuple[str, int]]:
        person = str(message.author.person)
        keys = [(person, self._limits.person), ("", self._limits.everybody)]
        if message.surface is not Surface.DM:
            keys.append((f"{person} {message.conversation}", self._limits.pair))
        return keys

    def _drop(self, since: datetime) -> None:
        self._counts = {
            key: count
            for key, count in self._counts.items()
            if count.answered and count.answered[-1] >= since
        }
