"""What a person can take back. It is kept in memory only: on disk it would not be forgotten."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.command_registry import Request
from bot.messages import Choice, Reply
from memory.ports import Clock
from memory.types import Person

UNDO_FOR = timedelta(minutes=10)
"""How long a change can be undone."""

UNDO_STEPS = 5
"""Changes of one person that can be undone."""

TakeBack = Callable[[], Awaitable[str]]
"""Undoes a change and says so."""


@dataclass(frozen=True, slots=True)
class _Undo:
    until: datetime
    take_back: TakeBack


class UndoStack:
    """The last changes of each person."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._changes: dict[Person, list[_Undo]] = {}

    def offer(self, reply: Reply, request: Request, take_back: TakeBack) -> Reply:
        """The reply with a button that undoes what it reports."""
        changes = self._changes.setdefault(request.message.author.person, [])
        changes.append(_Undo(self._clock() + UNDO_FOR, take_back))
        del changes[:-UNDO_STEPS]
        undo = Choice(request.say("Undo"), "undo")
        return replace(reply, choices=(*reply.choices, undo))

    def clear(self, person: Person) -> None:
        """Let go of what a person could have taken back."""
        self._changes.pop(person, None)

    def made_at(self, person: Person) -> datetime | None:
        """When the change that `last` would give was made; None without one."""
        changes = self._changes.get(person, [])
        return changes[-1].until - UNDO_FOR if changes else None

    def last(self, person: Person) -> TakeBack | None:
        """Take the person's last change from the stack, unless it was too long ago."""
        changes = self._changes.get(person, [])
        while changes:
            change = changes.pop()
            if self._clock() < change.until:
                return change.take_back
        return None
