"""`resolve_time`: time words are seen from the sending time, in the author's zone."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from memory.analysis import resolve_time

SAID_AT = datetime(2023, 5, 24, 12, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "language", "start", "end"),
    [
        ("I went to Paris last week", "en", "2023-05-15", "2023-05-22"),
        ("I moved yesterday", "en", "2023-05-23", "2023-05-24"),
        ("three days ago I ate there", "en", "2023-05-21", "2023-05-22"),
        ("next month we ship", "en", "2023-06-01", "2023-07-01"),
        ("We met in May.", "en", "2023-05-01", "2023-06-01"),
        ("We met in March", "en", "2023-03-01", "2023-04-01"),
        ("We met last December", "en", "2022-12-01", "2023-01-01"),
        ("I was there in 2019", "en", "2019-01-01", "2020-01-01"),
        ("The deadline is June 3rd", "en", "2023-06-03", "2023-06-04"),
        ("I arrived on Friday", "en", "2023-05-19", "2023-05-20"),
        ("The launch was moved to June 12.", "en", "2023-06-12", "2023-06-13"),
        ("The release is on Thursday.", "en", "2023-05-25", "2023-05-26"),
        ("The review got postponed to Friday", "en", "2023-05-26", "2023-05-27"),
        ("I moved to Kobe in June.", "en", "2022-06-01", "2022-07-01"),
        ("リリース日は6月10日に決まりました", "ja", "2023-06-10", "2023-06-11"),
        ("会議は木曜日に変更になりました。", "ja", "2023-05-25", "2023-05-26"),
        ("締め切りが12月20日に延びました", "ja", "2023-12-20", "2023-12-21"),
        ("6月に引っ越しました", "ja", "2022-06-01", "2022-07-01"),
        ("It ships next Friday", "en", "2023-05-26", "2023-05-27"),
        ("the day before yesterday", "en", "2023-05-22", "2023-05-23"),
        ("last weekend", "en", "2023-05-20", "2023-05-22"),
        ("on 2023-01-09", "en", "2023-01-09", "2023-01-10"),
        ("先週パリに行った", "ja", "2023-05-15", "2023-05-22"),
        ("昨日引っ越した", "ja", "2023-05-23", "2023-05-24"),
        ("一昨日", "ja", "2023-05-22", "2023-05-23"),
        ("先週の金曜日に会った", "ja", "2023-05-19", "2023-05-20"),
        ("3月に引っ越した", "ja", "2023-03-01", "2023-04-01"),
        ("来月引っ越す", "ja", "2023-06-01", "2023-07-01"),
        ("三日前に会った", "ja", "2023-05-21", "2023-05-22"),
        ("2か月前", "ja", "2023-03-01", "2023-04-01"),
        ("去年の12月", "ja", "2022-12-01", "2023-01-01"),
        ("2020年5月3日", "ja", "2020-05-03", "2020-05-04"),
        ("令和五年", "ja", "2023-01-01", "2024-01-01"),
        ("締め切りは3月3日です", "ja", "2024-03-03", "2024-03-04"),
        ("3月3日に会いました", "ja", "2023-03-03", "2023-03-04"),
    ],
)
def test_resolves_against_the_sending_time(text: str, language: str, start: str, end: str) -> None:
    zone = ZoneInfo("Asia/Tokyo")
    expected = tuple(
        datetime.fromisoformat(day).replace(tzinfo=zone).astimezone(UTC) for day in (start, end)
    )
    assert resolve_time(text, SAID_AT, "Asia/Tokyo", language) == expected


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I may move to Osaka", "en"),
        ("we like cats", "en"),
        ("", "en"),
        ("猫が好き", "ja"),
        ("13月に会う", "ja"),
        ("2月31日", "ja"),
        ("9999999年前", "ja"),
    ],
)
def test_nothing_is_made_up(text: str, language: str) -> None:
    assert resolve_time(text, SAID_AT, "UTC", language) is None


def test_the_day_is_that_of_the_authors_zone() -> None:
    late = datetime(2025, 7, 25, 2, tzinfo=UTC)  # still the 24th in New York
    start, _ = resolve_time("I saw it today", late, "America/New_York", "en") or (None, None)
    assert start == datetime(2025, 7, 24, 4, tzinfo=UTC)
    assert resolve_time("今日", late, "no/such zone", "ja") == (
        datetime(2025, 7, 25, tzinfo=UTC),
        datetime(2025, 7, 26, tzinfo=UTC),
    )


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        resolve_time("today", SAID_AT.replace(tzinfo=None), "UTC", "en")
