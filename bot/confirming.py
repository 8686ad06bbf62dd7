"""A yes to what Oboete asked just before. What was asked is kept in memory only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from bot.messages import EventKind, IncomingMessage, Reply
from memory.ports import Clock
from memory.types import Audience, Person

CONFIRM_WITHIN: Final = timedelta(minutes=5)
"""How long a yes is taken for an answer."""

_YES: Final = re.compile(
    r"(?:yes|yep|yeah|sure|confirm|do it|go ahead)(?:,?\s+(?:please|do it|go ahead))?"
    r"|(?:はい|ええ|うん)(?:[、,\s]?(?:お願い(?:します)?|忘れて(?:ください)?))?|お願いします",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Question:
    place: Audience
    conversation: str
    command: str
    until: datetime


class Confirmations:
    """What each person was asked to confirm: by their next message there and nothing later."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[Person, _Question] = {}

    def asked(self, message: IncomingMessage, reply: Reply) -> None:
        """Note a reply that only asks: its one button does what cannot be taken back lightly."""
        if reply.forgot or len(reply.choices) != 1 or not reply.choices[0].danger:
            return
        self._open[message.author.person] = _Question(
            message.audience,
            message.conversation,
            reply.choices[0].command,
            self._clock() + CONFIRM_WITHIN,
        )

    def confirmed(self, message: IncomingMessage) -> str | None:
        """The command that the message says yes to. Whatever it says, nothing is asked any more."""
        if message.author.is_bot:
            return None
        question = self._open.pop(message.author.person, None)
        if question is None or message.kind is not EventKind.MESSAGE or not message.addressed:
            return None
        here = (question.place, question.conversation) == (message.audience, message.conversation)
        said = message.text.strip().rstrip(".!。！ ")
        in_time = self._clock() < question.until
        return question.command if here and in_time and _YES.fullmatch(said) else None
