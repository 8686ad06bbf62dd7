"""The history of jobs. A slot of a schedule is claimed once, whatever clocks and crashes do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import delete, update
from sqlmodel import Session, col, select

from memory.tables import JobRunRow

ATTEMPTS = 3
"""How often a run that a crash cut short is begun again."""

KEEP = timedelta(days=90)
"""How long the history is kept."""

BASELINE = "baseline"
"""Outcome of the entry that is made when a job is first known: what was due before is no debt."""


STOPPED = "stopped"
"""Outcome of a run that a stop or a crash cut short: it is begun again on the next start."""


@dataclass(frozen=True, slots=True)
class JobRun:
    """One run of a job."""

    job: str
    slot: str
    attempts: int
    started_at: datetime
    finished_at: datetime | None
    outcome: str | None
    """`done`, `failed`, `stopped` or `baseline`; None while it runs, or after a crash."""
    counts: Mapping[str, int] = field(default_factory=dict)


def baseline(session: Session, job: str, slot: str, now: datetime) -> bool:
    """Note that the job exists as from this slot; False when it has a history already."""
    if latest(session, job) is not None:
        return False
    session.add(JobRunRow(job=job, slot=slot, started_at=now, finished_at=now, outcome=BASELINE))
    session.flush()
    return True


def abandon(session: Session, now: datetime) -> None:
    """Mark runs that nobody finished as stopped: whoever began them does not run any more."""
    session.execute(
        update(JobRunRow)
        .where(col(JobRunRow.finished_at).is_(None))
        .values(finished_at=now, outcome=STOPPED)
    )


def claim(session: Session, job: str, slot: str, now: datetime) -> int | None:
    """Begin the run for a slot; gives its id, or None when the slot has had its run.

    A run that a crash or a stop cut short is begun again, at most `ATTEMPTS` times. Slots are
    ISO dates: when the clock was set back, slots before the last one are not run again.
    """
    later = session.exec(
        select(JobRunRow.id).where(JobRunRow.job == job, JobRunRow.slot > slot).limit(1)
    ).first()
    if later is not None:
        return None
    row = session.exec(
        select(JobRunRow).where(JobRunRow.job == job, JobRunRow.slot == slot)
    ).first()
    if row is None:
        row = JobRunRow(job=job, slot=slot, started_at=now)
    elif row.outcome == STOPPED and row.attempts < ATTEMPTS:
        row.started_at, row.finished_at, row.outcome = now, None, None
    else:
        return None
    row.attempts += 1
    session.add(row)
    session.flush()
    return row.id


def finish(
    session: Session, run_id: int, outcome: str, counts: Mapping[str, int], now: datetime
) -> None:
    """Note how a run ended, and let go of history that is older than `KEEP`."""
    session.execute(
        update(JobRunRow)
        .where(col(JobRunRow.id) == run_id)
        .values(finished_at=now, outcome=outcome, counts=dict(counts))
    )
    session.execute(
        delete(JobRunRow).where(col(JobRunRow.started_at) < now - KEEP, col(JobRunRow.id) != run_id)
    )


def latest(session: Session, job: str) -> JobRun | None:
    """The last run of a job, its baseline included."""
    row = session.exec(
        select(JobRunRow)
        .where(JobRunRow.job == job)
        .order_by(col(JobRunRow.started_at).desc(), col(JobRunRow.id).desc())
        .limit(1)
    ).first()
    return _to_run(row) if row else None


def history(session: Session, limit: int) -> list[JobRun]:
    """The last runs of all jobs, newest first."""
    rows = session.exec(
        select(JobRunRow)
        .where(col(JobRunRow.outcome).is_distinct_from(BASELINE))
        .order_by(col(JobRunRow.started_at).desc(), col(JobRunRow.id).desc())
        .limit(limit)
    )
    return [_to_run(row) for row in rows]


def _to_run(row: JobRunRow) -> JobRun:
    return JobRun(
        row.job, row.slot, row.attempts, row.started_at, row.finished_at, row.outcome, row.counts
    )


LATEST = "latest"
"""Slot of the one entry of a job that runs every few seconds."""


def note(
    session: Session,
    job: str,
    outcome: str,
    counts: Mapping[str, int],
    started_at: datetime,
    finished_at: datetime,
) -> None:
    """Keep the last run of a job that runs every few seconds, in place of the one before."""
    row = session.exec(
        select(JobRunRow).where(JobRunRow.job == job, JobRunRow.slot == LATEST)
    ).first() or JobRunRow(job=job, slot=LATEST, started_at=started_at)
    row.attempts += 1
    row.started_at, row.finished_at = started_at, finished_at
    row.outcome, row.counts = outcome, dict(counts)
    session.add(row)
    session.flush()
