"""What a person wants forgotten, read off the words after `forget`. Pure functions."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from bot.command_registry import identifier
from memory import analysis

Window = tuple[datetime, datetime]
"""Half-open interval of time, UTC."""

ALWAYS: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""The beginning of "before …"."""


@dataclass(frozen=True, slots=True)
class Everything:
    """All that the person said, and all that is known about them."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Facts by their numbers."""

    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """All that was said in this channel."""


@dataclass(frozen=True, slots=True)
class Leaver:
    """Everything of somebody else, as they are mentioned or addressed."""

    who: str


@dataclass(frozen=True, slots=True)
class Source:
    """What came from one message, by its link."""

    where: str


@dataclass(frozen=True, slots=True)
class Said:
    """What the person said in an interval of time."""

    window: Window


@dataclass(frozen=True, slots=True)
class Topic:
    """Whatever has to do with something."""

    words: str


@dataclass(frozen=True, slots=True)
class Words:
    """What has these words, or else means something alike. Empty: nothing was named."""

    words: str


Wanted = Everything | Numbers | Place | Leaver | Source | Said | Topic | Words

_EVERYTHING: Final = frozenset({"everything", "all", "全部", "すべて", "全て"})
_PLACE: Final = frozenset(
    {"channel", "this channel", "the channel", "チャンネル", "このチャンネル", "ここ全部"}
)
_LEAVER: Final = re.compile(
    r"^(?:person|member|user)\s+(?P<a>.+)$|^(?:人|メンバー|退職者)[\s:：]+(?P<b>.+)$",
    re.IGNORECASE,
)
_LINK: Final = re.compile(r"^<?(?P<where>https?://[^\s|>]+)(?:\|[^>]*)?>?$")
_MESSAGE: Final = re.compile(r"^(?:message|発言)\s+(?P<where>\S+)$", re.IGNORECASE)
_SAID: Final = re.compile(
    r"^(?:(?:everything|all|anything)\s+)?(?:what\s+)?(?:i\s+)?(?:said|told\s+you|wrote)\s+(?P<a>.+)$"
    r"|^(?P<b>.+?)に?(?:私が|僕が|俺が)?(?:言った|話した|書いた|伝えた)(?:こと|もの|話|内容)?(?:の?(?:全部|すべて))?$",
    re.IGNORECASE,
)
_TOPIC: Final = re.compile(
    r"^(?:(?:everything|anything|all)\s+)?(?:about|topic|regarding)\s+(?P<a>.+)$"
    r"|^(?P<b>.+?)(?:に関する|についての)(?:こと|話|情報|記憶)?$|^(?P<c>.+?)について$",
    re.IGNORECASE,
)

_RANGE: Final = re.compile(
    r"^(?:from|between)\s+(?P<a>.+?)\s+(?:to|until|till|through|and)\s+(?P<b>.+)$"
    r"|^(?P<c>.+?)から(?P<d>.+?)(?:まで)?(?:の間)?$",
    re.IGNORECASE,
)
_SINCE: Final = re.compile(
    r"^(?:since|after|from)\s+(?P<a>.+)$|^(?P<b>.+?)(?:から|以降|以来)$", re.IGNORECASE
)
_BEFORE: Final = re.compile(
    r"^(?:before|until|till)\s+(?P<a>.+)$|^(?P<b>.+?)(?:より前|以前|まで)$", re.IGNORECASE
)
_LATELY: Final = re.compile(
    r"^(?:(?:in|over|during|within)\s+)?the\s+(?:last|past)\s+(?:(?P<n>\d{1,3})\s+)?(?P<unit>minute|hour|day|week)s?$"
    r"|^(?:過去|ここ|この|直近)?(?P<m>[0-9]{1,3})(?P<ja>分|時間|日|週)間?(?:の間)?$",
    re.IGNORECASE,
)
_UNITS: Final = {"分": "minute", "時間": "hour", "日": "day", "週": "week"}


def wanted(argument: str, now: datetime, time_zone: str) -> Wanted:
    """Read what stands after `forget`; time words are those of `time_zone`, seen from `now`."""
    plain = " ".join(argument.split())
    lowered = plain.lower()
    if lowered in _EVERYTHING:
        return Everything()
    if lowered in _PLACE:
        return Place()
    numbers = plain.replace("#", " ").replace(",", " ").split()
    if numbers and all(number.isdecimal() for number in numbers):
        return Numbers(tuple(map(identifier, numbers)))
    if found := _LINK.match(plain) or _MESSAGE.match(plain):
        return Source(found["where"])
    if found := _LEAVER.match(plain):
        return Leaver(_group(found))
    if found := _SAID.match(plain):
        when = _group(found)
        window = window_of(when, now, time_zone)
        return Said(window) if window is not None else Words(_what(when))
    if found := _TOPIC.match(plain):
        return Topic(_group(found))
    return Words(plain)


def _group(found: re.Match[str]) -> str:
    return next(text for text in found.groups() if text).strip()


def _what(words: str) -> str:
    """What was said: "about tea" → "tea", 猫が好きだと → 猫が好きだ."""
    return re.sub(r"^(?:about|that)\s+|(?:だ?と|って)$", "", words, flags=re.IGNORECASE)


def window_of(words: str, now: datetime, time_zone: str) -> Window | None:
    """The interval that words such as "last week", "since Monday" or 5月1日から5月3日 name."""
    start, _, end = words.partition("/")
    try:
        return _utc(datetime.fromisoformat(start)), _utc(datetime.fromisoformat(end))
    except (ValueError, OverflowError):  # year 1 in the east is year 0 in UTC
        pass
    words = words.strip("、, に")
    if found := _LATELY.match(words):
        unit = (found["unit"] or _UNITS[found["ja"]]).lower()
        amount = int(found["n"] or found["m"] or 1)
        return now - timedelta(**{f"{unit}s": amount}), now + timedelta(seconds=1)
    if found := _RANGE.match(words):
        first, last = [text for text in found.groups() if text][:2]
        one, other = _resolved(first, now, time_zone), _resolved(last, now, time_zone)
        return (one[0], other[1]) if one and other and one[0] < other[1] else None
    if found := _SINCE.match(words):
        since = _resolved(_group(found), now, time_zone)
        return (since[0], now + timedelta(seconds=1)) if since else None
    if found := _BEFORE.match(words):
        until = _resolved(_group(found), now, time_zone)
        return (ALWAYS, until[0]) if until else None
    return _resolved(words, now, time_zone)


def _utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("a time without a time zone")
    return moment.astimezone(UTC)


_TIME_ONLY: Final = re.compile(
    r"(?:(?:the|on|in|at|of|during|last|this|past|early|late|day|before|after|yesterday|today|tonight"
    r"|morning|afternoon|evening|night|ago|a|an|one|two|three|four|five|six|seven|eight|nine|ten"
    r"|couple|few|\d{1,4}(?:st|nd|rd|th)?|\d{4}-\d\d-\d\d|(?:minute|hour|day|week|weekend|month|year)s?"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:jan|febr)uary|march|april|may|june|july|august"
    r"|(?:septem|octo|novem|decem)ber|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b[\s,.]*)+"
    r"|[0-9一二三四五六七八九十数今昨先々去本日週月年火水木金土曜朝夜晩前のに頃]+|きのう|おととい",
    re.IGNORECASE,
)
"""A time and nothing else: "yesterday's lunch" is no interval of which all can go."""


def _resolved(words: str, now: datetime, time_zone: str) -> Window | None:
    plain = unicodedata.normalize("NFKC", words).strip()
    if not _TIME_ONLY.fullmatch(plain):
        return None
    if not plain.isascii():
        return analysis.resolve_time(plain, now, time_zone, "ja")
    return analysis.resolve_time(plain, now, time_zone, "en") or analysis.resolve_time(
        f"in {plain.title()}", now, time_zone, "en"
    )
