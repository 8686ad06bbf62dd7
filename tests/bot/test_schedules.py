"""Times in plain words, in both languages, and when they come next."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot import schedules
from bot.schedules import Schedule
from tests.fakes import NOON

TOKYO = "Asia/Tokyo"  # at NOON it is Monday, 2 March 2026, 21:00 there


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("tomorrow at 9", "2026-03-03 09:00"),
        ("at 9:30pm", "2026-03-02 21:30"),
        ("at 5pm", "2026-03-03 17:00"),
        ("at 12am tomorrow", "2026-03-03 00:00"),
        ("in 10 minutes", "2026-03-02 21:10"),
        ("in an hour", "2026-03-02 22:00"),
        ("in 3 days at 8", "2026-03-05 08:00"),
        ("on Friday", "2026-03-06 09:00"),
        ("next Monday at noon", "2026-03-09 12:00"),
        ("on 2026-05-01 at 7:15", "2026-05-01 07:15"),
        ("Jan 5", "2027-01-05 09:00"),
        ("明日の9時に", "2026-03-03 09:00"),
        ("明後日の午後3時半", "2026-03-04 15:30"),
        ("10分後に", "2026-03-02 21:10"),
        ("2時間後", "2026-03-02 23:00"),
        ("金曜に", "2026-03-06 09:00"),
        ("来週の火曜日の正午", "2026-03-10 12:00"),
        ("5月1日の7時15分", "2026-05-01 07:15"),
        ("１８時に", "2026-03-03 18:00"),
    ],
)
def test_once(said: str, expected: str) -> None:
    found = schedules.read(said, NOON, TOKYO)
    assert found is not None
    assert not found.schedule.repeats
    moment = found.schedule.next_after(NOON, ZoneInfo(TOKYO))
    assert moment is not None
    assert f"{moment.astimezone(ZoneInfo(TOKYO)):%Y-%m-%d %H:%M}" == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("every Monday at 9", Schedule(time(9), weekdays=(0,))),
        ("every weekday at 18:00", Schedule(time(18), weekdays=(0, 1, 2, 3, 4))),
        ("every day", Schedule(time(9), weekdays=tuple(range(7)))),
        ("each evening", Schedule(time(20), weekdays=tuple(range(7)))),
        ("every month on the 25th at 3pm", Schedule(time(15), monthday=25)),
        ("毎週月曜9時", Schedule(time(9), weekdays=(0,))),
        ("平日の18時に", Schedule(time(18), weekdays=(0, 1, 2, 3, 4))),
        ("毎日18時半", Schedule(time(18, 30), weekdays=tuple(range(7)))),
        ("毎月25日の午後3時", Schedule(time(15), monthday=25)),
    ],
)
def test_again_and_again(said: str, expected: Schedule) -> None:
    found = schedules.read(said, NOON, TOKYO)
    assert found is not None
    assert found.schedule == expected


@pytest.mark.parametrize(
    "said", ["at 25", "tomorrow at 13pm", "2025-01-01", "some day", "いつか", "", "Feb 31"]
)
def test_what_is_no_time_or_has_passed(said: str) -> None:
    assert schedules.read(said, NOON, TOKYO) is None


def test_a_month_that_is_too_short_uses_its_last_day() -> None:
    schedule = Schedule(time(9), monthday=31)
    days, moment = [], datetime(2026, 1, 31, 12, tzinfo=UTC)
    for _ in range(3):
        following = schedule.next_after(moment, ZoneInfo("UTC"))
        assert following is not None
        moment = following
        days.append(moment.date())
    assert days == [date(2026, 2, 28), date(2026, 3, 31), date(2026, 4, 30)]


@pytest.mark.parametrize("night", [date(2026, 3, 8), date(2026, 11, 1)])
def test_a_night_when_clocks_change_has_each_time_once(night: date) -> None:
    zone = ZoneInfo("America/New_York")
    for at in (time(1, 30), time(2, 30)):
        schedule = Schedule(at, weekdays=tuple(range(7)))
        moment = datetime.combine(night, time(), zone).astimezone(UTC)
        found = []
        while moment < datetime.combine(night + timedelta(1), time(), zone):
            following = schedule.next_after(moment, zone)
            assert following is not None
            found.append(following)
            moment = following
        assert len([m for m in found if m.astimezone(zone).date() == night]) == 1


@given(
    at=st.times(), moment=st.datetimes(timezones=st.just(UTC),
    min_value=datetime(2020, 1, 1), max_value=datetime(2037, 1, 1)),  # noqa: DTZ001
    weekdays=st.sets(st.integers(0, 6), min_size=1),
    zone=st.sampled_from(["UTC", TOKYO, "America/New_York", "Australia/Lord_Howe"]),
)  # fmt: skip
def test_the_next_time_is_later_on_a_named_day_and_survives_storing(
    at: time, moment: datetime, weekdays: set[int], zone: str
) -> None:
    schedule = Schedule(at, weekdays=tuple(sorted(weekdays)))
    assert Schedule.from_data(schedule.as_data()) == schedule
    following = schedule.next_after(moment, ZoneInfo(zone))
    assert following is not None
    assert moment < following <= moment + timedelta(days=8)


@given(st.text())
def test_any_text_is_read_or_not_without_an_error(text: str) -> None:
    found = schedules.read(text, NOON, TOKYO)
    assert found is None or found.schedule.next_after(NOON, ZoneInfo(TOKYO)) is not None


@given(st.text(alphabet="0123456789 :apmeverymondintou月曜日時分半後毎週明午前", max_size=30))
def test_texts_made_of_time_words_are_read_or_not_without_an_error(text: str) -> None:
    schedules.read(text, NOON, TOKYO)
