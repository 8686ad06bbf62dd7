"""Limits on how much is answered, which no person reaches."""

from __future__ import annotations

from bot.messages import Surface
from bot.pacing import WINDOW, Limits, Pacing, Verdict
from memory.types import Audience, Person
from tests.fakes import HANAKO, TARO, Desk, SettableClock

LIMITS = Limits(pair=3, person=5, everybody=7)
PLACE = Audience("console", "local", "general")
BUSY = [Verdict.BUSY]
SILENT = [Verdict.SILENT]


def in_thread(
    desk: Desk, pacing: Pacing, thread: str, count: int, who: Person = TARO
) -> list[Verdict]:
    place = {"surface": Surface.PUBLIC, "audience": PLACE, "conversation": thread}
    return [pacing.admit(desk.incoming("hello", who, **place)) for _ in range(count)]


def answers(count: int) -> list[Verdict]:
    return [Verdict.ANSWER] * count


def test_two_bots_that_answer_each_other_stop(desk: Desk, clock: SettableClock) -> None:
    pacing = Pacing(clock, LIMITS)
    assert in_thread(desk, pacing, "a", 6) == answers(3) + BUSY + SILENT * 2
    assert in_thread(desk, pacing, "b", 1) == answers(1), "elsewhere it goes on"
    assert in_thread(desk, pacing, "a", 1, HANAKO) == answers(1), "and so it does with others"
    clock.now += 2 * WINDOW
    assert in_thread(desk, pacing, "a", 4) == answers(3) + BUSY


def test_nobody_keeps_it_busy_for_all(desk: Desk, clock: SettableClock) -> None:
    pacing = Pacing(clock, LIMITS)
    verdicts = [v for thread in "abcdef" for v in in_thread(desk, pacing, thread, 1)]
    assert verdicts == answers(5) + BUSY
    assert in_thread(desk, pacing, "g", 3, HANAKO) == answers(2) + BUSY


def test_a_direct_message_is_no_loop(desk: Desk, clock: SettableClock) -> None:
    pacing = Pacing(clock, LIMITS)
    assert [pacing.admit(desk.incoming("hello")) for _ in range(5)] == answers(5)
