"""Days, weeks, months and years of the calendar."""

from __future__ import annotations

from datetime import date, timedelta

Days = tuple[date, date]
"""Half-open range of local days."""


def span_of(day: date, period: str) -> Days:
    """The `day`, `week` (Monday first), `month` or `year` that `day` is in."""
    if period == "week":
        monday = day - timedelta(day.weekday())
        return monday, monday + timedelta(7)
    if period == "month":
        return months_from(day, 0)
    if period == "year":
        return date(day.year, 1, 1), date(day.year + 1, 1, 1)
    return day, day + timedelta(1)


def months_from(day: date, offset: int) -> Days:
    """The month `offset` months after that of `day`."""
    first, following = (
        date(day.year + (day.month - 1 + n) // 12, (day.month - 1 + n) % 12 + 1, 1)
        for n in (offset, offset + 1)
    )
    return first, following
