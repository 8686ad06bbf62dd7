"""Jobs: once per slot, whatever clocks, crashes and errors do."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot import jobs as module
from bot.jobs import MONDAY, SUNDAY, At, Every, Job, Jobs
from memory.errors import StoreUnavailable
from memory.store import job_runs
from memory.store.database import Database
from tests.fakes import NOON, SettableClock

NEW_YORK = ZoneInfo("America/New_York")


class Counted:
    """Work that counts how often it is done."""

    def __init__(self, error: Exception | None = None) -> None:
        self.runs = 0
        self.error = error

    async def __call__(self) -> Mapping[str, int]:
        self.runs += 1
        if self.error is not None:
            raise self.error
        return {"did": self.runs}


def nightly(work: module.Work, hour: int = 3, minute: int = 15) -> Job:
    return Job("nightly", At(hour, minute), work)


async def started(jobs: Jobs) -> asyncio.Task[None]:
    task = asyncio.create_task(jobs.run())
    await asyncio.sleep(0.05)
    return task


async def stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def one_life(database: Database, clock: SettableClock, *jobs: Job, zone: str = "UTC") -> None:
    """Start, wait until what was missed is done, and stop."""
    running = Jobs(jobs, database, clock, zone)
    task = await started(running)
    for _ in range(100):
        await asyncio.sleep(0.01)
        if not running._running:
            break
    await stopped(task)


async def test_a_new_job_has_no_debts(database: Database, clock: SettableClock) -> None:
    work = Counted()
    await one_life(database, clock, nightly(work))
    assert work.runs == 0


async def test_missed_slots_are_made_up_for_once_on_start(
    database: Database, clock: SettableClock
) -> None:
    work = Counted()
    await one_life(database, clock, nightly(work))
    clock.advance(days=5)
    await one_life(database, clock, nightly(work))
    assert work.runs == 1
    await one_life(database, clock, nightly(work))
    assert work.runs == 1


async def test_every_missed_job_runs_once_and_never_two_at_a_time(
    database: Database, clock: SettableClock
) -> None:
    busy: list[str] = []

    def work(name: str) -> module.Work:
        async def run() -> Mapping[str, int]:
            assert not busy
            busy.append(name)
            await asyncio.sleep(0.01)
            busy.remove(name)
            done.append(name)
            return {}

        return run

    done: list[str] = []
    three = [Job(name, At(3, 0), work(name)) for name in ("a", "b", "c")]
    await one_life(database, clock, *three)
    clock.advance(days=1)
    await one_life(database, clock, *three)
    assert sorted(done) == ["a", "b", "c"]


async def test_a_job_that_raises_is_counted_and_runs_again_next_night(
    database: Database, clock: SettableClock, caplog: pytest.LogCaptureFixture
) -> None:
    work = Counted(ValueError("broken"))
    jobs = Jobs([nightly(work)], database, clock, "UTC")
    with caplog.at_level(logging.ERROR):
        await jobs.run_job(jobs.jobs[0])
    assert "job nightly failed" in caplog.text
    assert jobs.states["nightly"].failures == 1
    await jobs.run_job(jobs.jobs[0])
    assert work.runs == 1
    clock.advance(days=1)
    await jobs.run_job(jobs.jobs[0])
    assert work.runs == 2
    history = await database.read(lambda s: job_runs.history(s, 9))
    assert [run.outcome for run in history] == ["failed", "failed"]


async def test_a_run_that_a_crash_cut_short_is_begun_again_at_most_three_times(
    database: Database, clock: SettableClock
) -> None:
    for _ in range(job_runs.ATTEMPTS):
        claimed = await database.write(lambda s: job_runs.claim(s, "j", "2026-03-02", NOON))
        assert claimed is not None
        await database.write(lambda s: job_runs.abandon(s, NOON))
    assert await database.write(lambda s: job_runs.claim(s, "j", "2026-03-02", NOON)) is None


async def test_a_run_that_was_stopped_is_resumed_on_the_next_start(
    database: Database, clock: SettableClock
) -> None:
    finished: list[bool] = []

    async def long() -> Mapping[str, int]:
        if not finished:
            finished.append(False)
            await asyncio.sleep(60)
        finished.append(True)
        return {}

    jobs = [nightly(long)]
    await one_life(database, clock, nightly(Counted()))
    clock.advance(days=1)
    task = await started(Jobs(jobs, database, clock, "UTC"))
    await stopped(task)
    (run, *_) = await database.read(lambda s: job_runs.history(s, 9))
    assert run.outcome == "stopped"
    await one_life(database, clock, *jobs)
    assert finished == [False, True]


async def test_two_processes_run_a_slot_once(database: Database, clock: SettableClock) -> None:
    work = Counted()
    other = Database(str(database.url))
    two = [Jobs([nightly(work)], each, clock, "UTC") for each in (database, other)]
    await asyncio.gather(*(jobs.run_job(jobs.jobs[0]) for jobs in two))
    other.close()
    assert work.runs == 1


@pytest.mark.parametrize("at", [At(1, 30), At(2, 30), At(3, 0)])
@pytest.mark.parametrize("night", [date(2026, 3, 8), date(2026, 11, 1), date(2026, 6, 1)])
async def test_every_night_runs_once_also_when_clocks_change(
    database: Database, clock: SettableClock, at: At, night: date
) -> None:
    work = Counted()
    jobs = Jobs([Job("n", at, work)], database, clock, "America/New_York")
    clock.now = datetime(night.year, night.month, night.day, tzinfo=UTC)
    await jobs._baseline()
    for _ in range(12 * 60 // 10):
        clock.advance(minutes=10)
        await jobs.run_job(jobs.jobs[0])
    assert work.runs == 1


@given(
    moment=st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    hour=st.integers(0, 23),
    weekday=st.sampled_from([None, MONDAY, SUNDAY]),
    zone=st.sampled_from(["UTC", "America/New_York", "Asia/Tokyo", "Australia/Lord_Howe"]),
)
def test_a_slot_is_the_last_local_day_that_has_come(
    moment: datetime, hour: int, weekday: int | None, zone: str
) -> None:
    place = ZoneInfo(zone)
    slot = At(hour, 0, weekday).slot(moment, place)
    local = moment.astimezone(place)
    assert weekday is None or slot.weekday() == weekday
    assert datetime.combine(slot, datetime.min.time()).replace(hour=hour) <= local.replace(
        tzinfo=None
    )
    assert (local.date() - slot).days <= (1 if weekday is None else 7)


def test_the_next_run_is_after_now_in_the_zone() -> None:
    job = Job("j", At(3, 15, SUNDAY), Counted())
    following = job.next_run(NOON, NEW_YORK)
    assert following > NOON
    assert following.astimezone(NEW_YORK).strftime("%a %H:%M") == "Sun 03:15"
    assert Job("i", Every(5), Counted()).next_run(NOON, NEW_YORK) > NOON


async def test_an_interval_job_runs_again_and_again_and_keeps_one_entry(
    database: Database,
) -> None:
    work = Counted()
    jobs = Jobs([Job("often", Every(0.05), work)], database, lambda: datetime.now(UTC), "UTC")
    task = await started(jobs)
    for _ in range(200):
        await asyncio.sleep(0.02)
        if work.runs >= 3:
            break
    await stopped(task)
    assert work.runs >= 3
    assert len(await database.read(lambda s: job_runs.history(s, 9))) == 1


async def test_an_interval_job_survives_errors(database: Database, clock: SettableClock) -> None:
    work = Counted(StoreUnavailable("full"))
    jobs = Jobs([Job("often", Every(1), work)], database, clock, "UTC")
    for _ in range(3):
        await jobs.run_job(jobs.jobs[0])
    assert (work.runs, jobs.states["often"].failures) == (3, 3)


async def test_a_clock_that_is_set_starts_the_schedules_anew(
    database: Database, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Back by a day: nothing runs twice. Ahead by three: what was skipped runs once."""
    monkeypatch.setattr(module, "WATCH_SECONDS", 0.01)
    work = Counted()
    jobs = Jobs([nightly(work)], database, clock, "UTC")
    task = await started(jobs)
    clock.advance(days=-1)
    await asyncio.sleep(0.1)
    assert work.runs == 0
    clock.advance(days=4)
    await asyncio.sleep(0.1)
    assert work.runs == 1
    clock.advance(days=-2)
    await asyncio.sleep(0.1)
    await stopped(task)
    assert work.runs == 1


async def test_history_is_let_go_after_ninety_days(
    database: Database, clock: SettableClock
) -> None:
    jobs = Jobs([nightly(Counted())], database, clock, "UTC")
    for _ in range(3):
        await jobs.run_job(jobs.jobs[0])
        clock.advance(days=60)
    await jobs.run_job(jobs.jobs[0])
    assert len(await database.read(lambda s: job_runs.history(s, 9))) == 2
