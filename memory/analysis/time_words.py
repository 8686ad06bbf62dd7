"""Turns words such as "last week" or 先月 into an interval, seen from when they were said."""

from __future__ import annotations

import re
import threading
import unicodedata
from datetime import UTC, datetime, time, timedelta
from functools import cache
from itertools import islice
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memory.analysis.japanese_time import japanese_days
from memory.analysis.periods import Days, span_of
from memory.types import require_aware

Interval = tuple[datetime, datetime]
"""Half-open, both ends UTC-aware."""

_MONTHS: Final = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
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
_PREPOSITION: Final = re.compile(
    r"^(?:in|on|since|during|by|until|of|the)\s+(?!\d+\s+(?:day|week|month|year)|an?\s|one\s|two\s|three\s|four\s|five\s|six\s|seven\s|eight\s|nine\s|ten\s)",
    re.IGNORECASE,
)
_MOST_TRIED: Final = 12
"""Times of one text that are tried: each that does not exist ("February 31") costs milliseconds."""
_FUTURE: Final = re.compile(
    r"\b(?:will|going\s+to|next|tomorrow|due|deadline|by|shall|plan)\b|'ll\b"
    r"|\b(?:is|are|was|were|been|got)\s+(?:now\s+)?(?:moved|postponed|rescheduled|pushed|delayed|set)\b"
    r"|\b(?:postponed|rescheduled|scheduled|brought\s+forward)\s+(?:to|for|until)\b"
    r"|\b(?:is|are|'s)\s+on\b",
    re.IGNORECASE,
)


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
    days = japanese_days(plain, today) if language == "ja" else None
    if days is None:
        days = _english(plain, moment.astimezone(zone))
    if days is None:
        return None
    return tuple(datetime.combine(d, time(), zone).astimezone(UTC) for d in days)  # type: ignore[return-value]


def _english(text: str, local: datetime) -> Days | None:
    for match in islice(_ENGLISH.finditer(text), _MOST_TRIED):
        words = match.group()
        if _LOWER_MAY.search(words) and not re.match(
            r"(?:in|since|during|last|this|next)\s", words, re.IGNORECASE
        ):
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
        return span_of(today - timedelta(2), "day")
    if lowered == "the day after tomorrow":
        return span_of(today + timedelta(2), "day")
    if lowered.endswith("weekend"):
        saturday = today - timedelta(today.weekday()) + timedelta(5)
        saturday += timedelta(
            7 if lowered.startswith("next") else -7 if lowered.startswith(("last", "past")) else 0
        )
        return saturday, saturday + timedelta(2)
    named = re.fullmatch(rf"(last|this|next|past) ({_MONTH}|{_DAY})", lowered)
    plain = _PREPOSITION.sub("", lowered)
    if named:
        plain = named[2] if re.fullmatch(_MONTH, named[2]) else lowered
        ahead = named[1] == "next"
    plain = re.sub(r"\ba couple of\b", "2", re.sub(r"\ba few\b", "3", plain)).replace(
        "fortnight", "2 weeks"
    )
    with _parser_lock:
        found = _parser().get_date_data(
            plain, "future" if ahead else "past", local.replace(tzinfo=None)
        )
    if found is None:
        return None
    moment, period = found
    if (
        named
        and named[1] in {"last", "past"}
        and period == "month"
        and (moment.year, moment.month) == (today.year, today.month)
    ):
        moment = moment.replace(year=moment.year - 1)
    return span_of(moment.date(), "day" if re.search(r"hour|minute", plain) else period)


class _Parser:
    """dateparser for English, told the moment from which the words are seen."""

    def get_date_data(self, words: str, prefer: str, base: datetime) -> tuple[datetime, str] | None:
        # Imported late: dateparser takes a tenth of a second to load.
        from dateparser.date import DateDataParser

        parser = DateDataParser(
            languages=["en"],
            settings={
                "RELATIVE_BASE": base,
                "PREFER_DATES_FROM": prefer,
                "PREFER_DAY_OF_MONTH": "first",
            },
        )
        data: Any = parser.get_date_data(words)
        return (data.date_obj, data.period) if data.date_obj else None


@cache
def _parser() -> _Parser:
    return _Parser()
