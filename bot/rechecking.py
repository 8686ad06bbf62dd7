"""Asking a platform anew which places an answer may draw on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from bot.messages import IncomingMessage
from memory.types import Readable

Recheck = Callable[[IncomingMessage, Readable], Awaitable[Readable]]
"""As `bot.ports.Platform.still_readable`."""


async def as_of_now(message: IncomingMessage, recheck: Recheck | None) -> IncomingMessage:
    """The message with those of its readable places that the platform still confirms."""
    asked = frozenset(a for a in message.readable if a.platform == message.platform)
    if recheck is None or not asked:
        return message
    confirmed = await recheck(message, Readable(asked))
    left = message.readable.audiences - asked | confirmed.audiences
    return replace(message, readable=Readable(left))
