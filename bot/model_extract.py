"""Reading facts with a language model: in batches, checked word for word, never half stored.

The model proposes; what it says is believed only where the message bears it out: the quote must
stand in the message, the fact must be in the message's script, an alias must be one that was
given. A proposal that fails is dropped by itself.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from bot import extraction_prompts as prompts
from bot.borne_out import borne_out
from bot.errors import BadModelAnswer, ModelTimeout, ModelUnavailable
from bot.extract import subject_of
from bot.extraction_prompts import ExtractedFact, Extraction, Judgements
from bot.ports import ChatModel
from memory import analysis
from memory.long_term import LongTermMemory
from memory.ports import Clock, Pair
from memory.remembering import Remembered
from memory.store.extraction import Pending
from memory.types import (
    Audience,
    Evidence,
    Message,
    NewFact,
    Origin,
    Person,
    Readable,
    Role,
    Span,
    Verdict,
)

log = logging.getLogger(__name__)

BATCH = 5
"""Messages of a conversation that are read together."""

QUIET = timedelta(minutes=2)
"""A smaller batch is read once its conversation has been quiet for this long."""

LARGEST = 20
"""Most messages in one call, when conversations of one audience are read together."""

CONTEXT = 6
"""Earlier turns shown with a batch."""

PASSING_DAYS = 7
"""How long a fact that is not lasting counts as current, when nobody said until when."""

ANSWER_TOKENS = 1500

ABSENCE = timedelta(seconds=30)
MOST_ABSENCE = timedelta(minutes=5)
"""Pauses between attempts to reach a model that is away: the first, and the longest."""

IN_A_ROW = 2
"""Batches that fail one after the other before the model is blamed, not what stands in them."""


class ModelJudge:
    """Implements `memory.ports.Judge` with a chat model: one call for a batch.

    One speaker's words do not stand beside another's: what is known of one cannot be ended by
    orders that another gives.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def judge(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """Raises ModelUnavailable. An answer that fits no schema judges nothing."""
        verdicts = [Verdict.DIFFERENT] * len(pairs)
        by_speakers: defaultdict[tuple[Person, Person], list[int]] = defaultdict(list)
        for at, pair in enumerate(pairs):
            by_speakers[pair.new.speaker, pair.known.speaker].append(at)
        for places in by_speakers.values():
            judged = await self._of_one([pairs[at] for at in places])
            for number, verdict in judged.items():
                verdicts[places[number - 1]] = verdict
        return verdicts

    async def _of_one(self, pairs: Sequence[Pair]) -> dict[int, Verdict]:
        """Verdicts by the number of the pair, from 1, where there is one to be used."""
        try:
            answer = await self._model.structured(
                prompts.judging(pairs), Judgements, max_tokens=ANSWER_TOKENS
            )
        except BadModelAnswer as error:
            log.warning("%d pairs were kept apart: %s", len(pairs), error)
            return {}
        verdicts: dict[int, Verdict] = {}
        for item in answer.judgements:
            if not 1 <= item.pair <= len(pairs) or item.pair in verdicts:
                log.info("a judgement named pair %d of %d", item.pair, len(pairs))
                continue
            verdicts[item.pair] = Verdict(item.relation.lower())
        return verdicts


class ModelExtractor:
    """Reads what waits in the queue with a model. Implements `bot.extract.Extractor`."""

    immediate = False

    def __init__(self, memory: LongTermMemory, model: ChatModel, clock: Clock) -> None:
        self._memory = memory
        self._model = model
        self._judge = ModelJudge(model)
        self._clock = clock
        self._lock = asyncio.Lock()
        self._absence = timedelta()
        self._away_until: datetime | None = None

    async def drain(
        self, *, author: Person | None = None, everything: bool = True
    ) -> dict[int, list[Remembered]]:
        """See `Extractor.drain`. Without `everything`, only conversations that have a whole
        batch or have been quiet.

        While the model is away it is tried again after twice as long each time, at most
        `MOST_ABSENCE`; nothing in the queue is blamed for that.
        """
        done: dict[int, list[Remembered]] = {}
        async with self._lock:
            if self._away_until is not None and self._clock() < self._away_until:
                return done
            waiting = await self._memory.waiting()
            if author is not None:
                waiting = [item for item in waiting if item[0].author == author]
            elif not everything:
                waiting = ready(waiting, self._clock())
            in_a_row = 0
            for batch in batches(waiting):
                ids = [message.id for message in batch]
                try:
                    done |= await self._read(batch)
                except (BadModelAnswer, ModelTimeout) as error:
                    # perhaps because of what stands in them: others get their turn first
                    log.warning("%d messages stay unread for now: %s", len(ids), error)
                    await self._memory.postpone_extraction(ids)
                    in_a_row += 1
                except ModelUnavailable as error:
                    log.warning("%d messages stay unread for now: %s", len(ids), error)
                    in_a_row = IN_A_ROW
                else:
                    in_a_row, self._absence, self._away_until = 0, timedelta(), None
                if in_a_row >= IN_A_ROW:
                    self._absence = min(max(2 * self._absence, ABSENCE), MOST_ABSENCE)
                    self._away_until = self._clock() + self._absence
                    break
        return done

    async def _read(self, batch: Sequence[Message]) -> dict[int, list[Remembered]]:
        """Read one batch and store what it holds; raises when the model cannot be asked."""
        known: list[NewFact] = []
        unread: list[Message] = []
        for message in batch:
            repeated = await self._memory.facts_of_same_words(message)
            if repeated is not None:
                known += repeated
            elif not analysis.question(message.text).is_talk:
                unread.append(message)
        read = [message for message in batch if message not in unread]
        remembered = await self._memory.remember(known, extracted_from=read) if read else []
        done = by_message(read, remembered)
        if not unread:
            return done
        context = await self._context(unread)
        aliases = _aliases(unread)
        answer = await self._model.structured(
            prompts.extraction(unread, context, aliases), Extraction, max_tokens=ANSWER_TOKENS
        )
        found = list(checked(answer, unread, context, aliases))
        proposals = [message for message in context if message.role is Role.ASSISTANT]
        remembered = await self._memory.remember(
            found, extracted_from=[*unread, *proposals], judge=self._judge
        )
        return done | by_message(unread, remembered)

    async def _context(self, batch: Sequence[Message]) -> list[Message]:
        """The turns just before the batch, in its conversations, oldest first."""
        own = {message.id for message in batch}
        found: list[Message] = []
        for conversation in dict.fromkeys(message.conversation for message in batch):
            place = Readable.of(batch[0].audience)
            recent = await self._memory.history(conversation, place, CONTEXT + len(batch))
            last = max(m.sent_at for m in batch if m.conversation == conversation)
            found += [m for m in recent if m.id not in own and m.sent_at <= last][-CONTEXT:]
        return found


def by_message(
    said: Sequence[Message], remembered: Sequence[Remembered]
) -> dict[int, list[Remembered]]:
    """What was remembered, by the id of each message that was read."""
    found: dict[int, list[Remembered]] = {message.id: [] for message in said}
    for outcome in remembered:
        if outcome.said_in in found:
            found[outcome.said_in].append(outcome)
    return found


def ready(
    waiting: Sequence[tuple[Pending, Message]], now: datetime
) -> list[tuple[Pending, Message]]:
    """Those whose conversation has a whole batch waiting, or has been quiet for a while."""
    count: defaultdict[tuple[Audience, str], int] = defaultdict(int)
    latest: dict[tuple[Audience, str], datetime] = {}
    for item, _ in waiting:
        key = (item.audience, item.conversation)
        count[key] += 1
        latest[key] = max(latest.get(key, item.queued_at), item.queued_at)
    return [
        (item, message)
        for item, message in waiting
        if count[item.audience, item.conversation] >= BATCH
        or latest[item.audience, item.conversation] + QUIET <= now
    ]


def batches(waiting: Sequence[tuple[Pending, Message]]) -> list[list[Message]]:
    """Messages to be read together: of one audience only, conversations whole, in order.

    Conversations with a few messages share a call; one that failed before is read alone, so
    that it cannot hold back others.
    """
    together: defaultdict[tuple[Audience, str], list[Message]] = defaultdict(list)
    result: list[list[Message]] = []
    for item, message in waiting:
        if item.attempts > 1:
            result.append([message])
        else:
            together[item.audience, item.conversation].append(message)
    open_batches: dict[Audience, list[Message]] = {}
    for (audience, _), messages in together.items():
        for start in range(0, len(messages), LARGEST):
            part = messages[start : start + LARGEST]
            batch = open_batches.get(audience)
            if batch is None or len(batch) + len(part) > LARGEST:
                batch = open_batches[audience] = []
                result.append(batch)
            batch += part
    return sorted(result, key=lambda batch: batch[0].id)


def _aliases(messages: Iterable[Message]) -> dict[Person, str]:
    people: dict[Person, None] = {}
    for message in messages:
        if message.author is not None:
            people[message.author] = None
        people.update(dict.fromkeys(person for _, person in message.mentions))
    return {person: f"S{number}" for number, person in enumerate(people, start=1)}


def checked(
    answer: Extraction,
    messages: Sequence[Message],
    context: Sequence[Message],
    aliases: Mapping[Person, str],
) -> Iterable[NewFact]:
    """The proposals that the messages bear out, as facts."""
    for proposal in answer.facts:
        fact = _checked(proposal, messages, context, aliases)
        if fact is None:
            log.info("a proposed fact was not borne out by its message")
        else:
            yield fact


def _checked(
    proposal: ExtractedFact,
    messages: Sequence[Message],
    context: Sequence[Message],
    aliases: Mapping[Person, str],
) -> NewFact | None:
    if not 1 <= proposal.message <= len(messages):
        return None
    message = messages[proposal.message - 1]
    author = message.author
    span = find_quote(proposal.quote, message.text)
    if author is None or span is None or not _own_words(message, span):
        return None
    proposed = _accepted(proposal.accepts, len(messages), context)
    earlier = [m for m in (*context, *messages) if m.author == author and m.id < message.id]
    offered = proposed.text if proposed is not None else ""
    said = borne_out(proposal, message, span, earlier, offered)
    if said is None:
        return None
    subject: Person | str | None
    named = {alias: person for person, alias in aliases.items()}
    if said.subject is None and re.fullmatch(r"S\d+", proposal.subject):
        subject = named.get(proposal.subject)
        if subject is None:
            return None
    else:
        about = said.subject or proposal.subject
        subject = subject_of(about, author, dict(message.mentions))
    if isinstance(subject, Person) and subject not in {author, *dict(message.mentions).values()}:
        subject = subject.name
    evidence = [Evidence(message.id, span)]
    origin = Origin.EXTRACTED
    if said.is_agreement and proposed is not None:
        origin = Origin.ACCEPTED
        evidence.append(Evidence(proposed.id, Span(0, len(proposed.text))))
    valid_from = _moment(proposal.valid_from, message.time_zone) if said.is_dated else None
    valid_until = _moment(proposal.valid_until, message.time_zone) if said.is_dated else None
    if valid_until is None and not proposal.lasting:
        valid_until = message.sent_at + timedelta(days=PASSING_DAYS)
    return NewFact(
        text=said.text,
        subject=subject,
        speaker=author,
        audience=message.audience,
        language=analysis.language_of(said.text),
        origin=origin,
        evidence=tuple(evidence),
        said_at=message.sent_at,
        attribute=said.attribute,
        negated=said.negated,
        valid_from=valid_from,
        valid_until=valid_until,
    )


def _accepted(number: int | None, known: int, context: Sequence[Message]) -> Message | None:
    """The message of the bot that was agreed to, if the number names one."""
    if number is None or not known < number <= known + len(context):
        return None
    message = context[number - known - 1]
    return message if message.role is Role.ASSISTANT and message.text else None


def find_quote(quote: str, text: str) -> Span | None:
    """Where the quote stands in the text, whatever its white space; None when it does not."""
    words = [re.escape(word) for word in quote.strip().strip('"“”「」').split()]
    if not words:
        return None
    found = re.search(r"\s+".join(words), text, re.IGNORECASE)
    return Span(found.start(), found.end()) if found else None


def _own_words(message: Message, span: Span) -> bool:
    """True when the span is in a sentence of the author's: not in code, a quotation or a log."""
    return any(
        sentence.span.start < span.end and span.start < sentence.span.end
        for sentence in analysis.split(message.text)
    )


def _moment(said: str | None, time_zone: str) -> datetime | None:
    """An ISO date or time, in the author's time zone, as UTC; None for anything else."""
    if not said:
        return None
    try:
        moment = datetime.fromisoformat(said)
    except ValueError:
        try:
            moment = datetime.combine(date.fromisoformat(said[:10]), time())
        except ValueError:
            return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=ZoneInfo(time_zone))
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # year 1 or 9999, east or west of the ends of time
        return None
