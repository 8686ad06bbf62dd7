"""From messages to facts, in the background, once per message revision.

Without a language model the sentences that state something are the facts, read by
`memory.analysis`. The queue is in SQL: a crash repeats a message or completes it, never half.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

from memory import analysis
from memory.analysis import SELF, Statement, Tense
from memory.long_term import LongTermMemory
from memory.remembering import Remembered
from memory.store.text_keys import text_key
from memory.types import Evidence, Message, NewFact, Origin, Person, Span

log = logging.getLogger(__name__)

MOST_STATEMENTS = 50
"""Different statements read off one message. Of a longer text, which is no talk, the rest is
found as what it is: a message."""


class Extractor(Protocol):
    """Reads facts off the messages that wait in the queue."""

    @property
    def immediate(self) -> bool:
        """True when reading is so cheap that it is done before the answer."""
        ...

    async def drain(
        self, *, author: Person | None = None, everything: bool = True
    ) -> dict[int, list[Remembered]]:
        """Read what waits (of one author); what was remembered, by message id.

        Messages that cannot be read now stay in the queue. Without `everything`, so do those
        that are better read together with more of their conversation.
        """
        ...


class StatementExtractor:
    """Remembers sentence by sentence what people state; needs no model."""

    immediate = True

    def __init__(self, memory: LongTermMemory) -> None:
        self._memory = memory
        self._lock = asyncio.Lock()

    async def drain(
        self, *, author: Person | None = None, everything: bool = True
    ) -> dict[int, list[Remembered]]:
        """See `Extractor.drain`; here every message is read by itself."""
        done: dict[int, list[Remembered]] = {}
        async with self._lock:  # two drains at once would read one message twice
            for pending, message in await self._memory.waiting():
                if author is not None and pending.author != author:
                    continue
                found = await asyncio.to_thread(facts_stated, message)
                done[message.id] = await self._memory.remember(found, extracted_from=[message])
        return done


def facts_stated(message: Message) -> list[NewFact]:
    """The facts that a person's message states, in its order; none for the bot's own.

    A sentence that it repeats is one fact with a span for each time, at most `MOST_STATEMENTS` in
    all.
    """
    if message.author is None:
        return []
    stated = analysis.statements(message.text, speaker_name=message.author_name)
    times: dict[tuple[object, ...], list[Statement]] = {}
    for statement in stated:
        said = (text_key(statement.text), statement.subject, statement.attribute, statement.negated)
        if said in times or len(times) < MOST_STATEMENTS:
            times.setdefault(said, []).append(statement)
    return [_to_fact(message, message.author, *each) for each in times.values()]


def _to_fact(message: Message, author: Person, statement: Statement, *again: Statement) -> NewFact:
    attribute = statement.attribute
    held = analysis.resolve_time(
        statement.text, message.sent_at, message.time_zone, statement.language
    )
    past = statement.tense is Tense.PAST
    if past and attribute is not None and held is None:
        attribute = None  # "used to live in Kyoto": true, but not a value that holds now
    return NewFact(
        text=statement.text,
        subject=subject_of(statement.subject, author, dict(message.mentions)),
        speaker=author,
        audience=message.audience,
        language=statement.language,
        origin=Origin.STATED,
        evidence=tuple(Evidence(message.id, each.span) for each in (statement, *again)),
        said_at=message.sent_at,
        attribute=attribute,
        negated=statement.negated,
        valid_from=held[0] if held else None,
        valid_until=held[1] if held and past else None,
    )


def subject_of(name: str | None, author: Person, mentions: dict[str, Person]) -> Person | str:
    """Whom a fact is about: the speaker, somebody they mentioned, or a name as text.

    A sentence whose subject cannot be told belongs to its speaker: they can find and forget it.
    """
    if name is None or name == SELF:
        return author
    return mentions.get(name) or mentions.get(name.removeprefix("@")) or name


def verbatim(message: Message) -> NewFact:
    """The whole message as one fact about its speaker."""
    assert message.author is not None
    start = len(message.text) - len(message.text.lstrip())
    text = message.text.strip()
    return NewFact(
        text=text,
        subject=message.author,
        speaker=message.author,
        audience=message.audience,
        language=analysis.language_of(text),
        origin=Origin.STATED,
        evidence=(Evidence(message.id, Span(start, start + len(text))),),
        said_at=message.sent_at,
    )
