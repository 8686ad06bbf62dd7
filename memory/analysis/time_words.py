"""Turns words such as "last week" or 先月 into an interval, seen from when they were said."""

from __future__ import annotations

import re
import threading
import unicodedata
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memory.types import require_aware

Interval = tuple[datetime, datetime]
"""Half-open, both ends UTC-aware."""

_MONTHS: Final = ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"]
_MONTH: Final = r"(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.?"
_DAY: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_COUNT: Final = r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a\s+couple\s+of|a\s+few)"
_UNIT: Final = r"(?:day|week|month|year|hour|minute|fortnight)s?"

# Only these are handed to dateparser: it would read "we" or "may" as dates.
_ENGLISH: Final = re.compile(
    rf"""\b(?:
      the\ day\ (?:before\ yesterday|after\ tomorrow) | yesterday | today | tonight | tomorrow | this\ (?:morning|afternoon|evening)
    | last\ night | (?:last|this|next|past)\ (?:week|month|year|{_DAY}|{_MONTH}|weekend)
    | {_COUNT}\s+{_UNIT}\s+ago | in\s+{_COUNT}\s+{_UNIT}
    | {_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})? | (?:the\s+)?\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:,?\s+\d{{4}})?
    | {_MONTH}\s+\d{{4}} | (?:in|since|during|by|until|of)\s+{_MONTH}(?:\s+\d{{4}})?
    | \d{{4}}-\d\d-\d\d | (?:in|since|during|by|until)\s+(?:19|20)\d\d | (?:on\s+)?{_DAY}
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_LOWER_MAY: Final = re.compile(r"\bmay\b")
_PREPOSITION: Final = re.compile(r"^(?:in|on|since|during|by|until|of|the)\s+(?!\d+\s+(?:day|week|month|year)|an?\s|one\s|two\s|three\s|four\s|five\s|six\s|seven\s|eight\s|nine\s|ten\s)", re.IGNORECASE)
_FUTURE: Final = re.compile(r"\b(?:will|going\s+to|next|tomorrow|due|deadline|by|shall|plan)\b|'ll\b", re.IGNORECASE)

_DIGITS: Final = {c: i for i, c in enumerate("〇一二三四五六七八九")}
_NUMBER: Final = r"[0-9〇一二三四五六七八九十数]+"
_JA_DAYS: Final = {"今日": 0, "本日": 0, "昨日": -1, "きのう": -1, "一昨日": -2, "おととい": -2, "明日": 1, "あした": 1, "明後日": 2, "あさって": 2, "昨夜": -1, "昨晩": -1, "今朝": 0, "今夜": 0, "今晩": 0}
_JA_WEEKS: Final = {"今週": 0, "先週": -1, "先々週": -2, "来週": 1, "再来週": 2}
_JA_MONTHS: Final = {"今月": 0, "先月": -1, "先々月": -2, "来月": 1, "再来月": 2}
_JA_YEARS: Final = {"今年": 0, "去年": -1, "昨年": -1, "一昨年": -2, "おととし": -2, "来年": 1, "再来年": 2}
_JA_WEEKDAYS: Final = "月火水木金土日"
_ERAS: Final = {"令和": 2018, "平成": 1988, "昭和": 1925}
_JA_WORD: Final = re.compile(
    "|".join(sorted((*_JA_DAYS, *_JA_WEEKS, *_JA_MONTHS, *_JA_YEARS), key=len, reverse=True))
)
_JA_WEEK_AND_DAY: Final = re.compile(r"(先々週|先週|今週|来週|再来週)の?([月火水木金土日])曜日?")
_JA_DATE: Final = re.compile(rf"(?:(?P<era>令和|平成|昭和)?(?P<year>{_NUMBER}|元)年|(?P<relative>{'|'.join(_JA_YEARS)})の?)?\s*(?P<month>{_NUMBER})月(?:\s*(?P<day>{_NUMBER})日)?")
_JA_YEAR: Final = re.compile(
    rf"(?P<era>令和|平成|昭和)(?P<year>{_NUMBER}|元)年(?!前|間|後)|(?P<plain>[0-9]{{4}})年(?!前|間|後)"
)
_JA_AGO: Final = re.compile(rf"(?P<count>{_NUMBER})(?P<unit>日|週間|[かヶケカ箇]月|年)(?P<way>前|後)")
_JA_WEEKDAY: Final = re.compile(r"([月火水木金土日])曜日?")


def resolve_time(text: str, said_at: datetime, time_zone: str, language: str) -> Interval | None:
    """The interval that the first time word of `text` means, or None without one.

    Days, weeks (Monday first), months and years are those of `time_zone` (IANA; an unknown
    one counts as UTC). A month or weekday without a year means the latest one not after
    `said_at`, unless the words look ahead. Raises ValueError when `said_at` is naive.
    """
    moment = require_aware(said_at)
    try:
        zone = ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        zone = ZoneInfo("UTC")
    plain = unicodedata.normalize("NFKC", text)
    today = moment.astimezone(zone).date()
    days = _japanese(plain, today) if language == "ja" else None
    if days is None:
        days = _english(plain, moment.astimezone(zone))
    if days is None:
        return None
    return tuple(datetime.combine(d, time(), zone).astimezone(UTC) for d in days)  # type: ignore[return-value]


Days = tuple[date, date]
"""Half-open range of local days."""


def _english(text: str, local: datetime) -> Days | None:
    for match in _ENGLISH.finditer(text):
        words = match.group()
        if _LOWER_MAY.search(words) and not re.match(r"(?:in|since|during|last|this|next)\s", words, re.IGNORECASE):
            continue
        days = _read_english(words, local, bool(_FUTURE.search(text)))
        if days:
            return days
    return None


_parser_lock = threading.Lock()


def _read_english(words: str, local: datetime, ahead: bool) -> Days | None:
    lowered = " ".join(words.lower().split())
    today = local.date()
    if lowered == "the day before yesterday":
        return _span(today - timedelta(2), "day")
    if lowered == "the day after tomorrow":
        return _span(today + timedelta(2), "day")
    if lowered.endswith("weekend"):
        saturday = today - timedelta(today.weekday()) + timedelta(5)
        saturday += timedelta(7 if lowered.startswith("next") else -7 if lowered.startswith(("last", "past")) else 0)
        return saturday, saturday + timedelta(2)
    named = re.fullmatch(rf"(last|this|next|past) ({_MONTH}|{_DAY})", lowered)
    plain = _PREPOSITION.sub("", lowered)
    if named:
        plain = named[2] if re.fullmatch(_MONTH, named[2]) else lowered
        ahead = named[1] == "next"
    plain = re.sub(r"\ba couple of\b", "2", re.sub(r"\ba few\b", "3", plain)).replace("fortnight", "2 weeks")
    with _parser_lock:
        found = _parser().get_date_data(
            plain, "future" if ahead else "past", local.replace(tzinfo=None)
        )
    if found is None:
        return None
    moment, period = found
    if named and named[1] in {"last", "past"} and period == "month" and (moment.year, moment.month) == (today.year, today.month):
        moment = moment.replace(year=moment.year - 1)
    return _span(moment.date(), "day" if re.search(r"hour|minute", plain) else period)


class _Parser:
    """dateparser for English, told the moment from which the words are seen."""

    def get_date_data(self, words: str, prefer: str, base: datetime) -> tuple[datetime, str] | None:
        # Imported late: dateparser takes a tenth of a second to load.
        from dateparser.date import DateDataParser

        parser = DateDataParser(
            languages=["en"],
            settings={"RELATIVE_BASE": base, "PREFER_DATES_FROM": prefer, "PREFER_DAY_OF_MONTH": "first"},
        )
        data: Any = parser.get_date_data(words)
        return (data.date_obj, data.period) if data.date_obj else None


@cache
def _parser() -> _Parser:
    return _Parser()


def _span(day: date, period: str) -> Days:
    if period == "week":
        monday = day - timedelta(day.weekday())
        return monday, monday + timedelta(7)
    if period == "month":
        return _months(day, 0)
    if period == "year":
        return date(day.year, 1, 1), date(day.year + 1, 1, 1)
    return day, day + timedelta(1)


def _months(day: date, offset: int) -> Days:
    first, following = (
        date(day.year + (day.month - 1 + n) // 12, (day.month - 1 + n) % 12 + 1, 1)
        for n in (offset, offset + 1)
    )
    return first, following


def _japanese(text: str, today: date) -> Days | None:
    ahead = bool(re.search(r"予定|つもり|まで|締|〆|期限|来|ます(?:。|$)", text)) and not re.search(r"(?:た|でした)[。.!]*$", text)
    match = _JA_WEEK_AND_DAY.search(text)
    if match:
        monday = today - timedelta(today.weekday()) + timedelta(weeks=_JA_WEEKS[match[1]])
        return _span(monday + timedelta(_JA_WEEKDAYS.index(match[2])), "day")
    try:
        return _japanese_date(text, today, ahead)
    except (ValueError, OverflowError):  # 13月, 2月31日, 9999999年前
        return None


def _japanese_date(text: str, today: date, ahead: bool) -> Days | None:
    match = _JA_DATE.search(text)
    if match:
        month, day = _number(match["month"]), _number(match["day"]) if match["day"] else None
        if match["relative"]:
            year: int | None = today.year + _JA_YEARS[match["relative"]]
        else:
            year = _year(match["era"], match["year"]) if match["year"] else None
        start = date(year or today.year, month, day or 1)
        if year is None and ahead and _span(start, "day" if day else "month")[1] <= today:
            start = start.replace(year=today.year + 1)
        elif year is None and not ahead and start > today:
            start = start.replace(year=today.year - 1)
        return _span(start, "day" if day else "month")
    match = _JA_AGO.search(text)
    if match and "数" not in match["count"]:
        count = _number(match["count"]) * (-1 if match["way"] == "前" else 1)
        if match["unit"] == "日":
            return _span(today + timedelta(count), "day")
        if match["unit"] == "週間":
            return _span(today + timedelta(weeks=count), "week")
        if match["unit"] == "年":
            return _span(date(today.year + count, 1, 1), "year")
        return _months(today, count)
    match = _JA_WORD.search(text)
    if match:
        word = match.group()
        if word in _JA_DAYS:
            return _span(today + timedelta(_JA_DAYS[word]), "day")
        if word in _JA_WEEKS:
            return _span(today + timedelta(weeks=_JA_WEEKS[word]), "week")
        if word in _JA_MONTHS:
            return _months(today, _JA_MONTHS[word])
        return _span(date(today.year + _JA_YEARS[word], 1, 1), "year")
    match = _JA_YEAR.search(text)
    if match:
        return _span(date(_year(match["era"], match["year"] or match["plain"]), 1, 1), "year")
    match = _JA_WEEKDAY.search(text)
    if match:
        offset = (_JA_WEEKDAYS.index(match[1]) - today.weekday()) % 7
        if not ahead and offset:
            offset -= 7
        return _span(today + timedelta(offset), "day")
    return None


def _year(era: str | None, digits: str) -> int:
    number = 1 if digits == "元" else _number(digits)
    return _ERAS[era] + number if era else number


def _number(text: str) -> int:
    """十二 → 12, 二〇二三 → 2023, 12 → 12. Raises ValueError for anything else."""
    if text.isascii():
        return int(text)
    if "十" in text:
        tens, _, ones = text.partition("十")
        return (_number(tens) if tens else 1) * 10 + (_number(ones) if ones else 0)
    return int("".join(str(_DIGITS[c]) if c in _DIGITS else c for c in text))
