"""Reminders and digests, asked for in plain words and posted when their time comes.

A reminder is posted where it was asked for. A digest lists what was learned in its channel, and
only while the channel's `listen` is on. What may be read is found out when it is sent. A post
that a crash cut short is not repeated: whether it arrived cannot be known.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, runtime_checkable
from zoneinfo import ZoneInfo

from bot import schedules
from bot.command_registry import Request, acting, identifier, private
from bot.errors import BotFault, PlatformRefused, PlatformUnavailable
from bot.i18n import Translator, translator
from bot.messages import EventKind, IncomingMessage, Reply, Surface
from bot.schedules import Schedule
from memory.directory import Directory
from memory.long_term import LongTermMemory
from memory.ports import Clock
from memory.retrieve import RELEVANT
from memory.store import facts, reminders
from memory.store.database import Database
from memory.store.reminders import Kind, NewReminder, Reminder
from memory.types import Audience, Fact, Readable
from memory.types import Kind as RecordKind

log = logging.getLogger(__name__)

LISTED = 15
"""Most facts in one digest."""

RETRY = timedelta(minutes=2)
"""How long to wait when a platform cannot be reached."""


@runtime_checkable
class Poster(Protocol):
    """A platform that can post without being asked."""

    async def post(self, audience: Audience, text: str, *, conversation: str) -> str | None:
        """Post Markdown in a place, in the thread that `conversation` names if it is one.

        Gives the platform's id. Raises PlatformUnavailable when nothing was shown and it may be
        tried again, PlatformRefused when it never will be (left the channel, person gone).
        """
        ...

    async def readable_for(self, audience: Audience) -> Readable:
        """What everybody who reads that place can read now, found out live; fails closed."""
        ...


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody asked for in plain words."""

    kind: Kind
    schedule: Schedule | None
    """None when no time could be read."""
    text: str


_REMIND = re.compile(
    r"^\s*(?:please,?\s+|could you\s+|can you\s+)?remind\s+(?:me|us)\b"
    r"(?!\s*(?:what|who|whom|where|how|when|why|which|of\b))",
    re.IGNORECASE,
)
_JA_REMIND = re.compile(
    r"(?:(?:よう|と|って|の|こと)?(?:を|に|も)?)?(?:リマインド|思い出させて|知らせて|通知して)"
    r"(?:して)?(?:ください|下さい|くれ|ほしい|ね|よ|お願い(?:します)?)*[\s。.!！]*$"
)
_DIGEST = re.compile(
    r"\b(?:what (?:did|have|has) (?:we|was|were|been)|what was (?:decided|said))\b"
    r"|\b(?:digest|summar(?:y|ise|ize))\b"
    r"|何(?:を|が)?(?:決(?:め|ま)|話し)|まとめ|ダイジェスト|要約|決まったこと|決めたこと",
    re.IGNORECASE,
)
_LIST = re.compile(
    r"^\s*(?:(?:list|show)\s+)?(?:my\s+)?reminders(?:\s+list)?[\s.?!]*$"
    r"|^\s*リマインダー(?:の)?(?:一覧|を見せて)?[\s。？?]*$",
    re.IGNORECASE,
)
_CANCEL = re.compile(
    r"^\s*(?:(?:cancel|delete|remove|stop)\s+reminder\s+#?(?P<id>\d+)"
    r"|リマインダー\s*#?(?P<ja_id>\d+)\s*(?:番)?(?:を|は)?(?:取り?消|キャンセル|削除|止め)\S*)[\s.。!！]*$",
    re.IGNORECASE,
)
_CANCELS = frozenset(
    {"cancel", "キャンセル", "取り消し", "取消し", "取消", "取り消す", "取り消して"}
)
"""What cancels a reminder, after `/memory remind`."""
_JA_TIDY = re.compile(
    r"^[\s、,。のにはを]+|(?<![\s、,。])[\s、,。]+$|(?:ということ|こと|の)?(?:を|も)?$"
)
_MOST_JOINTS = 8
"""More of them in a row are no joints."""
_EN_TIDY = re.compile(r"^[\s,:;]*(?:(?:to|that|about)\b)?[\s,:;]*", re.IGNORECASE)


def wish(text: str, now: datetime, time_zone: str) -> Wish | None:
    """What `text` asks to be posted later; None for ordinary talk and questions."""
    english, japanese = _REMIND.match(text), _JA_REMIND.search(text)
    if english is None and japanese is None:
        return _digest(text, now, time_zone)
    trigger = english or japanese
    assert trigger is not None
    rest = f"{text[: trigger.start()]} {text[trigger.end() :]}"
    found = schedules.read(rest, now, time_zone)
    if found is None:
        return Wish(Kind.REMINDER, None, _tidy(rest))
    return Wish(Kind.REMINDER, found.schedule, _tidy(found.rest))


def _may_wish(text: str) -> bool:
    """False for what is no `wish` at any time."""
    return bool(_REMIND.match(text) or _JA_REMIND.search(text) or _DIGEST.search(text))


def _digest(text: str, now: datetime, time_zone: str) -> Wish | None:
    if _DIGEST.search(text) is None:
        return None
    found = schedules.read(text, now, time_zone)
    if found is None or not found.schedule.repeats:
        return None
    return Wish(Kind.DIGEST, found.schedule, _tidy(found.rest))


def _tidy(text: str) -> str:
    """The content without the joints that held the time words."""
    plain = " ".join(text.split())
    for _ in range(_MOST_JOINTS):
        previous = plain
        plain = _JA_TIDY.sub("", _EN_TIDY.sub("", plain)).strip()
        if plain == previous:
            break
    return plain


class Reminders:
    """Takes wishes, and posts what is due."""

    def __init__(
        self, database: Database, directory: Directory, memory: LongTermMemory, clock: Clock
    ) -> None:
        self._database = database
        self._directory = directory
        self._memory = memory
        self._clock = clock
        self._posters: dict[str, Poster] = {}

    def attach(self, platforms: Mapping[str, object]) -> None:
        """Post through these platforms, as far as they can post."""
        self._posters = {n: p for n, p in platforms.items() if isinstance(p, Poster)}

    # -- taking wishes ---------------------------------------------------------------------------

    async def take(self, message: IncomingMessage, say: Translator) -> Reply | None:
        """The reply when the message asks for something to be posted later; else None."""
        if message.kind not in {EventKind.MESSAGE, EventKind.EDIT}:
            return None
        if not message.addressed or not message.answer:
            return None
        if message.kind is EventKind.EDIT and not await self._withdraw(message):
            return None
        if _LIST.match(message.text):
            return await self._list(message, say)
        cancelled = _CANCEL.match(message.text)
        if cancelled is not None:
            number = identifier(cancelled["id"] or cancelled["ja_id"])
            return await self._cancel(number, message, say)
        if not _may_wish(message.text):
            return None  # the time zone is read for wishes only
        zone = await self._time_zone(message)
        wanted = wish(message.text, self._clock(), zone)
        return None if wanted is None else await self._store(wanted, message, zone, say)

    async def run(self, request: Request) -> Reply:
        """`/memory remind WHEN TEXT`, `list`, `cancel NUMBER`."""
        message, say = request.message, request.say
        word, _, rest = request.argument.partition(" ")
        if word.lower() in {"list", "一覧"}:
            return await self._list(message, say)
        if word.lower() in _CANCELS:
            number = rest.strip().removeprefix("#").removesuffix("番")
            if not number.isdecimal():
                return private(say("Which one? Give its number."))
            return await self._cancel(identifier(number), message, say)
        zone, now = await self._time_zone(message), self._clock()
        wanted = wish(request.argument, now, zone)
        wanted = wanted or wish(f"remind me {request.argument}", now, zone)
        nothing = Wish(Kind.REMINDER, None, request.argument)
        return await self._store(wanted or nothing, message, zone, say)

    async def _withdraw(self, message: IncomingMessage) -> bool:
        """Take back what the message asked for before it was edited; False when it had not."""
        places = {message.audience, message.here}
        gone = await self._database.write(
            lambda s: [reminders.remove_for_message(s, p, message.message_id) for p in places]
        )
        return any(gone)

    async def _time_zone(self, message: IncomingMessage) -> str:
        chosen = await self._directory.preferences(message.author.person)
        return chosen.time_zone or message.author.time_zone

    async def _store(
        self, wanted: Wish, message: IncomingMessage, zone: str, say: Translator
    ) -> Reply:
        if wanted.schedule is None:
            return Reply(say("When shall I remind you? Say a day or a time."), private=True)
        if not wanted.text:
            return Reply(say("What shall I remind you of?"), private=True)
        if wanted.kind is Kind.DIGEST and not await self._listens(message):
            return Reply(
                say(
                    "A digest needs `/memory listen on` in a channel:"
                    " I can only sum up what I hear."
                ),
                private=True,
            )
        now = self._clock()
        next_at = wanted.schedule.next_after(now, ZoneInfo(zone))
        assert next_at is not None
        audience = message.here if wanted.kind is Kind.DIGEST else message.audience
        new = NewReminder(
            person=message.author.person,
            author_name=message.author.display_name,
            audience=audience,
            conversation=message.conversation,
            message_key=message.message_id,
            kind=wanted.kind,
            text=wanted.text,
            schedule=wanted.schedule.as_data(),
            time_zone=zone,
            locale=say.language,
            next_at=next_at,
        )
        stored = await self._database.write(lambda s: reminders.add(s, new, now))
        log.info("reminder %d for %s", stored.id, stored.next_at.isoformat())
        return Reply(_told(stored, say), private=message.private_reply)

    async def _listens(self, message: IncomingMessage) -> bool:
        if message.surface is Surface.DM:
            return False
        return (await self._directory.place(message.here)).listen

    async def _list(self, message: IncomingMessage, say: Translator) -> Reply:
        person = message.author.person
        known = await self._database.read(
            lambda s: [
                item
                for place in sorted({message.audience, message.here})
                for item in reminders.of_person(s, person, place)
            ]
        )
        if not known:
            return Reply(say("There are no reminders of yours here."), private=True)
        lines = [f"- **{item.id}** {when(item, say)}: {item.text}" for item in known]
        return Reply("\n".join(lines), private=True)

    async def _cancel(self, number: int, message: IncomingMessage, say: Translator) -> Reply:
        actor = acting(message)
        gone = await self._database.write(
            lambda s: reminders.cancel(s, number, actor.person, actor.administers)
        )
        text = say("Cancelled.") if gone else say("There is no such reminder of yours.")
        return Reply(text, private=True)

    # -- posting ---------------------------------------------------------------------------------

    async def post_due(self) -> dict[str, int]:
        """Post everything whose time has come; what was missed is posted once."""
        counts = {"posted": 0}
        for item in await self._database.read(lambda s: reminders.due(s, self._clock())):
            poster = self._posters.get(item.audience.platform)
            if poster is None:
                continue  # its platform does not run now; it waits
            if item.posting_since is not None:
                log.warning("reminder %d may have been posted before a crash; left out", item.id)
                await self._posted(item)
                continue
            counts["posted"] += await self._post(item, poster)
        return counts

    async def _post(self, item: Reminder, poster: Poster) -> bool:
        try:
            # looked at first: a place that has become public has no reminders of its private time
            readable = await poster.readable_for(item.audience)
            text = await self._text(item, readable)
            if text is None:
                await self._posted(item)
                return False
            now = self._clock()
            if not await self._database.write(lambda s: reminders.begin_posting(s, item.id, now)):
                return False
            await poster.post(item.audience, text, conversation=item.conversation)
        except PlatformUnavailable as error:
            log.warning("reminder %d waits: %s", item.id, error)
            until = self._clock() + RETRY
            await self._database.write(lambda s: reminders.postpone(s, item.id, until))
            return False
        except PlatformRefused as error:
            log.warning("reminder %d was refused and goes: %s", item.id, error)
            await self._database.write(lambda s: reminders.posted(s, item.id, None, self._clock()))
            return False
        except BotFault as error:
            log.warning("reminder %d could not be posted: %s", item.id, error)
        await self._posted(item)
        return True

    async def _posted(self, item: Reminder) -> None:
        now = self._clock()
        schedule = Schedule.from_data(item.schedule)
        next_at = schedule.next_after(now, ZoneInfo(item.time_zone)) if schedule.repeats else None
        await self._database.write(lambda s: reminders.posted(s, item.id, next_at, now))

    async def _text(self, item: Reminder, readable: Readable) -> str | None:
        say = translator(item.locale)
        if item.kind is Kind.REMINDER:
            return say(
                "{name}, you asked me to remind you: {text}", name=item.author_name, text=item.text
            )
        place = await self._directory.place(item.audience)
        if not place.listen or place.paused or item.audience not in readable:
            log.info("digest %d is left out: nobody listens there now", item.id)
            return None
        here = Readable.of(item.audience)
        since = item.last_at or item.created_at
        known = await self._digested(item.text, here, since)
        heading = say("{text} – since {day}:", text=item.text, day=say.date(since, item.time_zone))
        if not known:
            return heading + "\n" + say("Nothing new was said here.")
        lines = [f"- {f.text} ({say.date(f.said_at, item.time_zone)})" for f in known]
        return "\n".join([heading, *lines])

    async def _digested(self, question: str, here: Readable, since: datetime) -> list[Fact]:
        """What was learned here since: what bears on the question, or else all; oldest first."""
        fresh = await self._database.read(lambda s: facts.learned_since(s, here, since))
        if not fresh:
            return []
        hits = await self._memory.recall(question, here, 4 * LISTED, kinds=(RecordKind.FACT,))
        near = {hit.ref.id for hit in hits if hit.evidence >= RELEVANT}
        chosen: Sequence[Fact] = [fact for fact in fresh if fact.id in near] or fresh
        return list(chosen[-LISTED:])


def when(item: Reminder, say: Translator) -> str:
    """The next time, in the person's zone and language."""
    local = item.next_at.astimezone(ZoneInfo(item.time_zone))
    return f"{say.date(item.next_at, item.time_zone)} {local:%H:%M}"


def _told(item: Reminder, say: Translator) -> str:
    moment = when(item, say)
    if item.kind is Kind.DIGEST:
        return say(
            "I will post this digest here, next on {when}: {text}", when=moment, text=item.text
        )
    if Schedule.from_data(item.schedule).repeats:
        return say(
            "I will remind you again and again, next on {when}: {text}", when=moment, text=item.text
        )
    return say("I will remind you on {when}: {text}", when=moment, text=item.text)
