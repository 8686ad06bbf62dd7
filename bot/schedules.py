"""When something is to be posted, read from plain words in English and Japanese.

Pure functions. A time without am/pm is on the 24-hour clock; a day without a time means nine in
the morning. What was understood is always said back to the person.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

MORNING = time(9)
"""Of a day that was named without a time."""

_EN_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_JA_DAYS = "月火水木金土日"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_EN_DAY = r"(?P<{0}>mon|tue(?:s)?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?s?"
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "half an": 0.5}


@dataclass(frozen=True, slots=True)
class Schedule:
    """Once at a moment, or again and again at a local time."""

    at: time
    day: date | None = None
    """The one day, for what happens once."""
    weekdays: tuple[int, ...] = ()
    """0 is Monday; all seven for daily."""
    monthday: int | None = None
    """Day of each month; the last day where a month is shorter."""

    @property
    def repeats(self) -> bool:
        return self.day is None

    def next_after(self, moment: datetime, zone: ZoneInfo) -> datetime | None:
        """The first time after `moment`, in UTC; None when it is over.

        A local time that a spring night leaves out is taken as late as the night leaves it out;
        one that comes twice is taken the first time.
        """
        if self.day is not None:
            once = self._on(self.day, zone)
            return once if once > moment else None
        today = moment.astimezone(zone).date()
        for offset in range(63):
            day = today + timedelta(days=offset)
            if self._includes(day) and self._on(day, zone) > moment:
                return self._on(day, zone)
        return None

    def _includes(self, day: date) -> bool:
        if self.monthday is not None:
            last = ((day.replace(day=1) + timedelta(days=32)).replace(day=1) - timedelta(1)).day
            return day.day == min(self.monthday, last)
        return day.weekday() in self.weekdays

    def _on(self, day: date, zone: ZoneInfo) -> datetime:
        return datetime.combine(day, self.at, zone).astimezone(UTC)

    def as_data(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return {
            "at": self.at.isoformat(),
            "day": self.day.isoformat() if self.day else None,
            "weekdays": list(self.weekdays),
            "monthday": self.monthday,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Schedule:
        """The reverse of `as_data`."""
        return cls(
            time.fromisoformat(data["at"]),
            date.fromisoformat(data["day"]) if data["day"] else None,
            tuple(data["weekdays"]),
            data["monthday"],
        )


@dataclass(frozen=True, slots=True)
class Found:
    """A schedule that was read, and what is left of the text without its words."""

    schedule: Schedule
    rest: str


_REPEAT = re.compile(
    rf"""\b(?:every|each)\s+(?:
        (?P<daily>day|morning|evening|night) | (?P<workday>weekday|workday)
      | month\s+on\s+the\s+(?P<monthday>\d{{1,2}})(?:st|nd|rd|th)?
      | (?:week\s+on\s+)?{_EN_DAY.format("weekday")}
      )\b
    | \b(?P<daily2>daily)\b
    | 毎(?:日|朝|晩) | 平日(?:は|の)? | 毎月(?P<ja_monthday>\d{{1,2}})日
    | 毎週(?:の)?(?P<ja_weekday>[月火水木金土日])(?:曜日?)?
    """,
    re.IGNORECASE | re.VERBOSE,
)
_IN = re.compile(
    r"""\bin\s+(?P<count>\d{1,4}|an?|one|two|three|half\s+an)\s+(?P<unit>minute|min|hour|day|week)s?\b
    | (?P<ja_count>\d{1,4})(?P<ja_unit>分|時間|日|週間)後""",
    re.IGNORECASE | re.VERBOSE,
)
_DAY = re.compile(
    rf"""\b(?P<word>today|tonight|tomorrow|the\s+day\s+after\s+tomorrow)\b
    | \b(?:on\s+|next\s+|this\s+)?{_EN_DAY.format("weekday")}\b
    | \b(?:on\s+)?(?P<iso>\d{{4}}-\d\d-\d\d)\b
    | \b(?:on\s+)?(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?
      \s+(?P<dom>\d{{1,2}})(?:st|nd|rd|th)?\b
    | (?P<ja_word>今日|今晩|今夜|明日|あした|明後日|あさって)
    | (?P<ja_month>\d{{1,2}})月(?P<ja_dom>\d{{1,2}})日
    | (?P<ja_next>来週の?|今週の?|次の)?(?P<ja_weekday>[月火水木金土日])曜日?
    """,
    re.IGNORECASE | re.VERBOSE,
)
_TIME = re.compile(
    r"""\b(?:at\s+)?(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s*(?P<half>[ap])\.?m\b\.?
    | \bat\s+(?P<hour2>\d{1,2})(?::(?P<minute2>\d\d))?(?:\s*o'?clock)?\b
    | \b(?P<hour3>\d{1,2}):(?P<minute3>\d\d)\b
    | \b(?:at\s+)?(?P<noon>noon|midnight)\b
    | (?P<ja_half>午前|午後|朝|夜|夕方)?(?:の)?(?P<ja_hour>\d{1,2})時
      (?:(?P<ja_minute>\d{1,2})分|(?P<ja_thirty>半))?
    | (?P<ja_noon>正午)""",
    re.IGNORECASE | re.VERBOSE,
)
_DAY_OFFSETS = {
    "today": 0, "tonight": 0, "tomorrow": 1, "the day after tomorrow": 2,
    "今日": 0, "今晩": 0, "今夜": 0, "明日": 1, "あした": 1, "明後日": 2, "あさって": 2,
}  # fmt: skip
_EVENING = {"tonight": time(20), "今晩": time(20), "今夜": time(20)}


def read(text: str, now: datetime, time_zone: str) -> Found | None:
    """The schedule that `text` names, as seen at `now` by somebody in `time_zone`.

    None when it names no time, one that does not exist ("at 25"), or one that has passed.
    """
    zone = ZoneInfo(time_zone)
    plain = unicodedata.normalize("NFKC", text)
    try:
        found = _relative(plain, now, zone) or _repeating(plain) or _single(plain, now, zone)
    except ValueError:
        return None
    if found is None or found.schedule.next_after(now, zone) is None:
        return None
    return found


def _relative(text: str, now: datetime, zone: ZoneInfo) -> Found | None:
    found = _IN.search(text)
    if found is None:
        return None
    said = " ".join((found["count"] or found["ja_count"]).lower().split())
    count = _NUMBERS.get(said) or float(said)
    unit = (found["unit"] or found["ja_unit"]).lower()
    length = {
        "minute": timedelta(minutes=1), "min": timedelta(minutes=1), "分": timedelta(minutes=1),
        "hour": timedelta(hours=1), "時間": timedelta(hours=1),
        "day": timedelta(days=1), "日": timedelta(days=1),
        "week": timedelta(weeks=1), "週間": timedelta(weeks=1),
    }[unit]  # fmt: skip
    moment = (now.astimezone(UTC) + length * count).astimezone(zone)
    rest = _without(text, found)
    if length >= timedelta(days=1):
        at = _TIME.search(rest)
        if at is not None:
            return Found(Schedule(_time(at), moment.date()), _without(rest, at))
    if moment.second or moment.microsecond:
        moment = moment.replace(second=0, microsecond=0) + timedelta(minutes=1)
    return Found(Schedule(moment.time(), moment.date()), rest)


def _repeating(text: str) -> Found | None:
    found = _REPEAT.search(text)
    if found is None:
        return None
    rest = _without(text, found)
    at = _TIME.search(rest)
    clock = _time(at) if at else _usual_time(found.group())
    rest = _without(rest, at) if at else rest
    monthday = found["monthday"] or found["ja_monthday"]
    if monthday is not None:
        if not 1 <= int(monthday) <= 31:
            return None
        return Found(Schedule(clock, monthday=int(monthday)), rest)
    weekday = found["weekday"] or found["ja_weekday"]
    if weekday is not None:
        return Found(Schedule(clock, weekdays=(_weekday(weekday),)), rest)
    days = 5 if found["workday"] or found.group().startswith("平日") else 7
    return Found(Schedule(clock, weekdays=tuple(range(days))), rest)


def _usual_time(words: str) -> time:
    evening = any(word in words.lower() for word in ("evening", "night", "晩"))
    return time(20) if evening else MORNING


def _single(text: str, now: datetime, zone: ZoneInfo) -> Found | None:
    local = now.astimezone(zone)
    named = _DAY.search(text)
    day, usual, rest = None, MORNING, text
    if named is not None:
        day, usual, rest = _day(named, local.date()), _usual(named), _without(text, named)
    at = _TIME.search(rest)
    if at is None and day is None:
        return None
    clock = _time(at) if at else usual
    rest = _without(rest, at) if at else rest
    if day is None:
        day = local.date()
        if clock <= local.time().replace(tzinfo=None):
            day += timedelta(days=1)
    return Found(Schedule(clock, day), rest)


def _usual(named: re.Match[str]) -> time:
    return _EVENING.get((named["word"] or named["ja_word"] or "").lower(), MORNING)


def _day(named: re.Match[str], today: date) -> date:
    word = named["word"] or named["ja_word"]
    if word:
        return today + timedelta(days=_DAY_OFFSETS[" ".join(word.lower().split())])
    if named["iso"]:
        return date.fromisoformat(named["iso"])
    month = named["month"]
    if month or named["ja_month"]:
        number = _MONTHS.index(month.lower()) + 1 if month else int(named["ja_month"])
        day = date(today.year, number, int(named["dom"] or named["ja_dom"]))
        return day if day >= today else day.replace(year=today.year + 1)
    weekday = _weekday(named["weekday"] or named["ja_weekday"])
    if (named["ja_next"] or "").startswith("来週"):
        return today - timedelta(days=today.weekday()) + timedelta(days=7 + weekday)
    return today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)


def _weekday(name: str) -> int:
    return _JA_DAYS.index(name) if name in _JA_DAYS else _EN_DAYS.index(name[:3].lower())


def _time(found: re.Match[str]) -> time:
    """Raises ValueError for a time that no clock shows."""
    if found["noon"] or found["ja_noon"]:
        return time(0) if (found["noon"] or "").lower() == "midnight" else time(12)
    hour = int(found["hour"] or found["hour2"] or found["hour3"] or found["ja_hour"])
    minute = int(found["minute"] or found["minute2"] or found["minute3"] or found["ja_minute"] or 0)
    if found["ja_thirty"]:
        minute = 30
    if found["half"]:
        if not 1 <= hour <= 12:
            raise ValueError("no such hour")
        hour = hour % 12 + (12 if found["half"].lower() == "p" else 0)
    elif found["ja_half"] in {"午後", "夜", "夕方"} and hour < 12:
        hour += 12
    return time(hour, minute)


def _without(text: str, found: re.Match[str]) -> str:
    return f"{text[: found.start()]} {text[found.end() :]}"
