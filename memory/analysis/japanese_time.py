"""The days that a Japanese time word means."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Final

from memory.analysis.periods import Days, months_from, span_of

_DIGITS: Final = {c: i for i, c in enumerate("〇一二三四五六七八九")}
_DIGIT: Final = "[0-9〇一二三四五六七八九十数]"
_NUMBER: Final = rf"(?<!{_DIGIT}){_DIGIT}{{1,12}}+"
"""A whole run of digits; no time needs more of them, and nothing is tried at each place of one."""
_JA_DAYS: Final = {
    "今日": 0,
    "本日": 0,
    "昨日": -1,
    "きのう": -1,
    "一昨日": -2,
    "おととい": -2,
    "明日": 1,
    "あした": 1,
    "明後日": 2,
    "あさって": 2,
    "昨夜": -1,
    "昨晩": -1,
    "今朝": 0,
    "今夜": 0,
    "今晩": 0,
}
_JA_WEEKS: Final = {"今週": 0, "先週": -1, "先々週": -2, "来週": 1, "再来週": 2}
_JA_MONTHS: Final = {"今月": 0, "先月": -1, "先々月": -2, "来月": 1, "再来月": 2}
_JA_YEARS: Final = {
    "今年": 0,
    "去年": -1,
    "昨年": -1,
    "一昨年": -2,
    "おととし": -2,
    "来年": 1,
    "再来年": 2,
}
_JA_WEEKDAYS: Final = "月火水木金土日"
_ERAS: Final = {"令和": 2018, "平成": 1988, "昭和": 1925}
_JA_WORD: Final = re.compile(
    "|".join(sorted((*_JA_DAYS, *_JA_WEEKS, *_JA_MONTHS, *_JA_YEARS), key=len, reverse=True))
)
_JA_WEEK_AND_DAY: Final = re.compile(r"(先々週|先週|今週|来週|再来週)の?([月火水木金土日])曜日?")
_JA_DATE: Final = re.compile(
    rf"(?:(?:(?P<era>令和|平成|昭和)?(?P<year>{_NUMBER}|元)年|(?P<relative>{'|'.join(_JA_YEARS)})の?)\s*+)?(?P<month>{_NUMBER})月(?:\s*(?P<day>{_NUMBER})日)?"
)
_JA_YEAR: Final = re.compile(
    rf"(?P<era>令和|平成|昭和)(?P<year>{_NUMBER}|元)年(?!前|間|後)|(?P<plain>[0-9]{{4}})年(?!前|間|後)"
)
_JA_AGO: Final = re.compile(
    rf"(?P<count>{_NUMBER})(?P<unit>日|週間|[かヶケカ箇]月|年)(?P<way>前|後)"
)
_JA_WEEKDAY: Final = re.compile(r"([月火水木金土日])曜日?")
_AHEAD: Final = re.compile(r"予定|つもり|まで|締|〆|期限|来|ます(?:。|$)")
_OVER: Final = re.compile(r"(?:た|でした)[。.!]*$")
_SET: Final = re.compile(
    r"(?:決ま|決定|変更|変わ|延期|延び|ずれ|移動|移り|移っ|繰り[上下]げ)[^。、]{0,8}た[。.!]*$"
)
"""決まりました is over, and the day that was set lies ahead."""


def japanese_days(text: str, today: date) -> Days | None:
    """The days that the first time word of `text` means, or None.

    A month, date or weekday without a year is the latest one, unless the words look ahead.
    """
    ahead = bool(_SET.search(text) or (_AHEAD.search(text) and not _OVER.search(text)))
    try:
        return (
            _weekday_of_week(text, today)
            or _date_in_year(text, today, ahead=ahead)
            or _so_long_ago(text, today)
            or _word(text, today)
            or _year_alone(text)
            or _weekday(text, today, ahead=ahead)
        )
    except (ValueError, OverflowError):  # 13月, 2月31日, 9999999年前
        return None


def _weekday_of_week(text: str, today: date) -> Days | None:
    match = _JA_WEEK_AND_DAY.search(text)
    if match is None:
        return None
    monday = today - timedelta(today.weekday()) + timedelta(weeks=_JA_WEEKS[match[1]])
    return span_of(monday + timedelta(_JA_WEEKDAYS.index(match[2])), "day")


def _date_in_year(text: str, today: date, *, ahead: bool) -> Days | None:
    match = _JA_DATE.search(text)
    if match is None:
        return None
    month, day = _number(match["month"]), _number(match["day"]) if match["day"] else None
    year: int | None = None
    if match["relative"]:
        year = today.year + _JA_YEARS[match["relative"]]
    elif match["year"]:
        year = _year(match["era"], match["year"])
    period = "day" if day else "month"
    start = date(year or today.year, month, day or 1)
    if year is None and ahead and span_of(start, period)[1] <= today:
        start = start.replace(year=today.year + 1)
    elif year is None and not ahead and start > today:
        start = start.replace(year=today.year - 1)
    return span_of(start, period)


def _so_long_ago(text: str, today: date) -> Days | None:
    match = _JA_AGO.search(text)
    if match is None or "数" in match["count"]:
        return None
    count = _number(match["count"]) * (-1 if match["way"] == "前" else 1)
    if match["unit"] == "日":
        return span_of(today + timedelta(count), "day")
    if match["unit"] == "週間":
        return span_of(today + timedelta(weeks=count), "week")
    if match["unit"] == "年":
        return span_of(date(today.year + count, 1, 1), "year")
    return months_from(today, count)


def _word(text: str, today: date) -> Days | None:
    match = _JA_WORD.search(text)
    if match is None:
        return None
    word = match.group()
    if word in _JA_DAYS:
        return span_of(today + timedelta(_JA_DAYS[word]), "day")
    if word in _JA_WEEKS:
        return span_of(today + timedelta(weeks=_JA_WEEKS[word]), "week")
    if word in _JA_MONTHS:
        return months_from(today, _JA_MONTHS[word])
    return span_of(date(today.year + _JA_YEARS[word], 1, 1), "year")


def _year_alone(text: str) -> Days | None:
    match = _JA_YEAR.search(text)
    if match is None:
        return None
    return span_of(date(_year(match["era"], match["year"] or match["plain"]), 1, 1), "year")


def _weekday(text: str, today: date, *, ahead: bool) -> Days | None:
    match = _JA_WEEKDAY.search(text)
    if match is None:
        return None
    offset = (_JA_WEEKDAYS.index(match[1]) - today.weekday()) % 7
    return span_of(today + timedelta(offset - 7 if offset and not ahead else offset), "day")


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
