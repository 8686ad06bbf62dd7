"""What runs by the clock. APScheduler wakes us; our own table says what has been run.

A nightly or weekly job has one slot per local day or week. The slot is claimed in SQL before the
run, so that it runs once: in the night that has an hour twice, after downtime over many slots
(only the last is made up for), after kill -9, and when the clock is set back.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from datetime import time as dt_time
from typing import Any
from zoneinfo import ZoneInfo

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

from memory.errors import MemoryFault
from memory.ports import Clock
from memory.store import job_runs, queues
from memory.store.database import Database

log = logging.getLogger(__name__)

Work = Callable[[], Awaitable[Mapping[str, int]]]
"""Does a job; gives what it did in numbers."""

WATCH_SECONDS = 5.0
"""How often it is looked whether the clock was set."""

JUMP_SECONDS = 30.0
"""A difference between wall clock and monotonic clock that means: somebody set the clock."""

NOTE_SECONDS = 60.0
"""How often an idle interval job writes its history."""

MONDAY, SUNDAY = 0, 6


@dataclass(frozen=True, slots=True)
class Every:
    """Again and again, some seconds apart."""

    seconds: float


@dataclass(frozen=True, slots=True)
class At:
    """At a time of the day, each day, or on one weekday (0 is Monday)."""

    hour: int
    minute: int
    weekday: int | None = None

    def slot(self, now: datetime, zone: ZoneInfo) -> date:
        """The local day of the last time that is not after `now`.

        Wall time decides: a time that a spring night leaves out counts as soon as the clock has
        passed it, and an hour that comes twice belongs to one slot.
        """
        local = now.astimezone(zone)
        day = local.date()
        if (local.hour, local.minute) < (self.hour, self.minute):
            day -= timedelta(days=1)
        if self.weekday is not None:
            day -= timedelta(days=(day.weekday() - self.weekday) % 7)
        return day


@dataclass(frozen=True, slots=True)
class Job:
    """Something to be done by the clock."""

    name: str
    when: Every | At
    work: Work

    def trigger(self, zone: ZoneInfo) -> Any:
        """The schedule as APScheduler has it."""
        if isinstance(self.when, Every):
            return IntervalTrigger(seconds=self.when.seconds, timezone=zone)
        return CronTrigger(
            hour=self.when.hour,
            minute=self.when.minute,
            day_of_week=self.when.weekday,
            timezone=zone,
        )

    def next_run(self, now: datetime, zone: ZoneInfo) -> datetime:
        """When it runs next, after `now`; aware."""
        moment: datetime = self.trigger(zone).get_next_fire_time(now, now)
        return moment


@dataclass(slots=True)
class State:
    """How a job has fared in this process."""

    runs: int = 0
    failures: int = 0
    finished: float | None = None
    """Monotonic seconds at the end of the last run."""
    noted: float = float("-inf")
    outcome: str | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Jobs:
    """Registers the jobs, runs them, and writes their history."""

    def __init__(
        self, jobs: Sequence[Job], database: Database, clock: Clock, time_zone: str
    ) -> None:
        self.jobs = tuple(jobs)
        self.zone = ZoneInfo(time_zone)
        self.states = {job.name: State() for job in jobs}
        self._database = database
        self._clock = clock
        self._heavy = asyncio.Lock()  # nightly and weekly jobs one after the other
        self._scheduler = AsyncIOScheduler(timezone=self.zone)
        self._running: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Run everything when its time comes, what was missed first; until cancelled."""
        await self._baseline()
        await self._bring_forward()
        self._register()
        self._scheduler.start()
        try:
            self._make_up()
            await self._watch()
        finally:
            self._scheduler.shutdown(wait=False)
            running = list(self._running)
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    def _register(self) -> None:
        for job in self.jobs:
            soon = {"next_run_time": datetime.now(self.zone)} if isinstance(job.when, Every) else {}
            self._scheduler.add_job(
                self._fire,
                job.trigger(self.zone),
                args=[job],
                id=job.name,
                max_instances=1,
                coalesce=True,
                misfire_grace_time=None,  # late is better than never; the slot makes it once
                replace_existing=True,
                **soon,
            )

    async def _fire(self, job: Job) -> None:
        """Called by the scheduler. The work is a task of ours, so that stopping can end it."""
        task = asyncio.ensure_future(self.run_job(job))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        await asyncio.wait([task])

    def _make_up(self) -> None:
        """Run every daily and weekly job whose last slot has not had its run."""
        for job in self.jobs:
            if isinstance(job.when, At):
                task = asyncio.ensure_future(self.run_job(job))
                self._running.add(task)
                task.add_done_callback(self._running.discard)

    async def _watch(self) -> None:
        """Notice when the clock is set: APScheduler would sleep on until the old time."""
        offset = self._clock().timestamp() - time.monotonic()
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            now = self._clock().timestamp() - time.monotonic()
            if abs(now - offset) > JUMP_SECONDS:
                log.warning("the clock was set by %.0f seconds; schedules begin anew", now - offset)
                await self._bring_forward()
                self._register()
                self._make_up()
            offset = now

    async def _bring_forward(self) -> None:
        try:
            await self._database.write(lambda s: queues.bring_forward(s, self._clock()))
        except MemoryFault as error:
            log.warning("the queues keep their times for now: %s", error)

    async def _baseline(self) -> None:
        """Take over from the process before: what it left open is begun again. A job that is
        new has no debts: only slots after its first day are made up for.
        """
        now = self._clock()
        await self._database.write(lambda s: job_runs.abandon(s, now))
        for job in self.jobs:
            if isinstance(job.when, At):
                slot = job.when.slot(now, self.zone).isoformat()
                await self._database.write(
                    lambda s, job=job, slot=slot: job_runs.baseline(  # type: ignore[misc]
                        s, job.name, slot, now
                    )
                )

    async def lags(self) -> dict[str, float]:
        """Seconds by which each job is late; 0 for one that is in time."""
        now = self._clock()
        late: dict[str, float] = {}
        for job in self.jobs:
            late[job.name] = 0.0
            if isinstance(job.when, Every):
                finished = self.states[job.name].finished
                if finished is not None:
                    overdue = time.monotonic() - finished - job.when.seconds
                    late[job.name] = max(0.0, overdue)
                continue
            slot = job.when.slot(now, self.zone)
            last = await self._database.read(lambda s, job=job: job_runs.latest(s, job.name))  # type: ignore[misc]
            if last is not None and last.slot < slot.isoformat():
                due = datetime.combine(slot, dt_time(job.when.hour, job.when.minute), self.zone)
                late[job.name] = max(0.0, (now - due).total_seconds())
        return late

    async def run_job(self, job: Job) -> None:
        """Run a job now if its slot is free. Nothing it raises reaches the scheduler."""
        state = self.states[job.name]
        if state.lock.locked():
            return
        async with state.lock:
            try:
                if isinstance(job.when, At):
                    async with self._heavy:
                        await self._in_slot(job, job.when, state)
                else:
                    await self._again(job, state)
            except MemoryFault as error:
                state.failures += 1
                log.warning("job %s could not keep its history: %s", job.name, error)

    async def _in_slot(self, job: Job, when: At, state: State) -> None:
        slot = when.slot(self._clock(), self.zone).isoformat()
        run_id = await self._database.write(
            lambda s: job_runs.claim(s, job.name, slot, self._clock())
        )
        if run_id is None:
            return
        outcome = job_runs.STOPPED
        counts: dict[str, int] = {}
        try:
            outcome, counts = await self._work(job, state)
        finally:
            await asyncio.shield(
                self._database.write(
                    lambda s: job_runs.finish(s, run_id, outcome, counts, self._clock())
                )
            )

    async def _again(self, job: Job, state: State) -> None:
        started = self._clock()
        before = state.outcome
        outcome, counts = await self._work(job, state)
        idle = outcome == before and not any(counts.values())
        if idle and time.monotonic() - state.noted < NOTE_SECONDS:
            return
        state.noted = time.monotonic()
        await self._database.write(
            lambda s: job_runs.note(s, job.name, outcome, counts, started, self._clock())
        )

    async def _work(self, job: Job, state: State) -> tuple[str, dict[str, int]]:
        """Do it; a job that raises is logged and counted, and its next run still happens."""
        begun = time.monotonic()
        counts: dict[str, int] = {}
        try:
            counts = dict(await job.work())
            outcome = "done"
        except Exception as error:
            state.failures += 1
            outcome = "failed"
            if isinstance(error, MemoryFault):
                log.warning("job %s failed: %s", job.name, error)
            else:
                log.exception("job %s failed", job.name)
        state.runs += 1
        state.outcome = outcome
        state.finished = time.monotonic()
        if any(counts.values()) and isinstance(job.when, At):
            log.info("job %s: %s in %.1f s", job.name, counts, state.finished - begun)
        return outcome, counts
