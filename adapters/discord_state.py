"""What the Discord adapter is given from outside: small ports, and its rules as values."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from memory.types import Audience, Person, Readable

Redact = Callable[[str], str]
"""Replaces secrets in a text before it is stored."""

Suggest = Callable[[Person, Readable, str], Awaitable[Sequence[tuple[str, str]]]]
"""(who, what they can read, what they typed) → (label, value) pairs, best first."""


class KeyValue(Protocol):
    """A few small settings that outlive a restart."""

    async def get(self, key: str) -> str | None: ...

    async def put(self, key: str, value: str) -> None: ...

    async def keys(self, prefix: str) -> Sequence[str]:
        """Every key that begins with `prefix`, in any order."""
        ...


class Ledger(Protocol):
    """What the store knows of messages, their files, and places."""

    async def knows(self, audience: Audience, message_id: str) -> bool:
        """True when the message or a file of it is stored, or it waits in the inbox."""
        ...

    async def stored(self, audience: Audience, limit: int) -> Sequence[tuple[str, str]]:
        """(conversation, message id) of people's messages stored in the place, newest first."""
        ...

    async def listens(self, audience: Audience) -> bool:
        """True when an admin switched listening on there: unaddressed messages are wanted."""
        ...

    async def collects(self, audience: Audience) -> bool:
        """True when every file that is posted there is wanted."""
        ...


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the adapter asks the rest of the program."""

    redact: Redact
    suggest: Suggest


@dataclass(frozen=True, slots=True)
class Rules:
    """Who may talk to the bot where, and where it answers. Ids are Discord's, as text."""

    allow_channels: frozenset[str] = frozenset()
    """Empty: every channel. A thread counts as its parent, too. DMs are not channels here."""
    deny_channels: frozenset[str] = frozenset()
    allow_users: frozenset[str] = frozenset()
    """Empty: everybody."""
    deny_users: frozenset[str] = frozenset()
    admins: frozenset[Person] = frozenset()
    answer_in_thread: bool = True
    """A mention in a channel is answered in a thread of its own, else as a reply in place."""

    def permit(self, user: str, channels: Sequence[str]) -> bool:
        """True when `user` may talk to the bot in a channel known by these ids (none: a DM)."""
        if user in self.deny_users or (self.allow_users and user not in self.allow_users):
            return False
        if self.deny_channels.intersection(channels):
            return False
        return (
            not channels
            or not self.allow_channels
            or bool(self.allow_channels.intersection(channels))
        )
