"""Everything that keeps an installation going, put together: jobs, backups, reminders, metrics."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.backup import Backups
from bot.command_registry import Request, Run, private
from bot.consolidate import Consolidator
from bot.i18n import Translator
from bot.jobs import SUNDAY, At, Every, Job, Jobs
from bot.messages import IncomingMessage, Reply
from bot.metrics import Metrics
from bot.model_extract import ModelJudge
from bot.ports import ChatModel
from bot.reminders import Reminders
from bot.summaries import Summaries
from memory import maintenance, statistics
from memory.directory import Directory
from memory.long_term import LongTermMemory
from memory.ports import Clock
from memory.retention import Limits
from memory.statistics import Statistics
from memory.store.database import Database
from memory.store.tombstones import Ledger
from memory.uninstalled import Uninstalled

log = logging.getLogger(__name__)

CONSOLIDATE = At(3, 15)
ERASE = At(2, 45)
CHECK = At(4, 15, SUNDAY)
BACKUP = At(4, 45, SUNDAY)
REMIND = Every(15)
BACKGROUND = Every(5)


@dataclass(frozen=True, slots=True)
class Operations:
    """The parts, as `bot.app` holds them."""

    jobs: Jobs
    """What runs while platforms are served."""
    background: Jobs
    """Its part that also runs while somebody talks in the terminal."""
    consolidator: Consolidator
    summaries: Summaries
    backups: Backups
    reminders: Reminders
    metrics: Metrics
    database: Database
    clock: Clock

    async def statistics(self, workspace: tuple[str, str] | None = None) -> Statistics:
        """Counts over the whole installation, or over one workspace (platform, tenant)."""
        return await self.database.read(lambda s: statistics.gather(s, self.clock(), workspace))

    async def take(self, message: IncomingMessage, say: Translator) -> Reply | None:
        """The reply to what is asked of operations in plain words: reminders; else None."""
        return await self.reminders.take(message, say)

    def runs(self) -> dict[str, Run]:
        """What each command runs, by name."""
        return {"admin": self._admin, "remind": self.reminders.run}

    async def _admin(self, request: Request) -> Reply:
        if request.argument.lower() != "stats":
            return private(request.say("There is one thing to see: {command}", command="stats"))
        actor = request.actor
        # how much is said elsewhere is nothing for who administers one workspace
        workspace = None if actor.everywhere else actor.workspace
        return private(told(await self.statistics(workspace), request.say))


@dataclass(frozen=True, slots=True)
class Options:
    """What the settings say about operations."""

    time_zone: str
    limits: Limits
    backup_folder: Path
    backup_keep: int


def assemble(
    memory: LongTermMemory,
    directory: Directory,
    database: Database,
    ledger: Ledger,
    model: ChatModel | None,
    metrics: Metrics,
    background: Mapping[str, Callable[[], Awaitable[object]]],
    options: Options,
    clock: Clock,
    more: Sequence[Job] = (),
) -> Operations:
    """Put the parts together; `background` is what runs every few seconds, by name, and `more`
    what else is done by the clock while platforms are served.
    """
    summaries = Summaries(database, model, clock)
    judge = ModelJudge(model) if model is not None else None
    consolidator = Consolidator(database, memory.embedding, summaries, judge, options.limits, clock)
    backups = Backups(database, ledger, options.backup_folder, options.backup_keep, clock)
    reminders = Reminders(database, directory, memory, clock)
    often = [*background_jobs(background), Job("remind", REMIND, reminders.post_due)]
    scheduled = scheduled_jobs(consolidator, backups, database, ledger)
    return Operations(
        Jobs([*often, *more, *scheduled], database, clock, options.time_zone),
        Jobs(often, database, clock, options.time_zone),
        consolidator,
        summaries,
        backups,
        reminders,
        metrics,
        database,
        clock,
    )


def background_jobs(work: Mapping[str, Callable[[], Awaitable[object]]]) -> list[Job]:
    """Jobs that run again and again, by name; an int that one gives is what it did."""

    def counted(do: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[Mapping[str, int]]]:
        async def run() -> Mapping[str, int]:
            done = await do()
            if isinstance(done, dict):
                done = len(done)
            return {"done": done} if isinstance(done, int) else {}

        return run

    return [Job(name, BACKGROUND, counted(do)) for name, do in work.items()]


def scheduled_jobs(
    consolidator: Consolidator, backups: Backups, database: Database, ledger: Ledger
) -> list[Job]:
    """The nightly and weekly jobs."""

    async def consolidate() -> Mapping[str, int]:
        return (await consolidator.run()).counts()

    async def check() -> Mapping[str, int]:
        problems = await database.read(lambda s: maintenance.check(s, ledger))
        for problem in problems:
            log.error("check: %s", problem)
        return {"problems": len(problems)}

    jobs = [Job("consolidate", CONSOLIDATE, consolidate), Job("check", CHECK, check)]
    if database.path is not None:
        jobs.append(Job("backup", BACKUP, backups.weekly))
    return jobs


def erasing(uninstalled: Uninstalled) -> Job:
    """The nightly job for those who uninstalled Oboete."""
    return Job("erase uninstalled", ERASE, uninstalled.erase_due)


def told(counted: Statistics, say: Translator) -> str:
    """Statistics for a person to read."""
    lines = [
        say("People: {count}", count=counted.people),
        say("Messages: {count}, {week} this week", count=counted.messages,
            week=counted.messages_this_week),
        say("Facts: {count}, {week} this week, {before} the week before", count=counted.facts,
            week=counted.facts_this_week, before=counted.facts_week_before),
        say("Superseded: {share}, passing: {passing}", share=_percent(counted.superseded),
            passing=_percent(counted.passing)),
        say("Waiting: {events} events, {unread} messages to be read", events=counted.waiting,
            unread=counted.unread),
        say("Answers: {count}, liked {liked}, disliked {disliked}", count=counted.answers,
            liked=counted.liked, disliked=counted.disliked),
        say("Model calls per message: {calls}", calls=_number(counted.calls_per_message)),
    ]  # fmt: skip
    return "\n".join(f"- {line}" for line in lines)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
