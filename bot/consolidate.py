"""The nightly round: per place, bring near duplicates together, close what has passed, make
profiles and summaries, and let go of what is older than the settings allow.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TypeVar

from sqlmodel import Session

from bot.errors import ModelUnavailable
from bot.summaries import Summaries
from memory import consolidation, retention
from memory.consolidation import Closing, Duplicates, Loaded, Merge
from memory.embedding import EmbeddingService
from memory.ports import Clock, Judge, Pair
from memory.retention import Limits
from memory.store import facts
from memory.store.database import Database
from memory.types import Audience, Verdict

log = logging.getLogger(__name__)
T = TypeVar("T")

JUDGED = 20
"""Pairs put to the model in one call."""

WRITTEN = 200
"""Merges per transaction, so that nobody waits long for the writer."""


@dataclass(slots=True)
class Round:
    """What one round changed, or would change."""

    places: int = 0
    merged: int = 0
    closed: int = 0
    summaries: int = 0
    expired_messages: int = 0
    expired_facts: int = 0

    def counts(self) -> dict[str, int]:
        """By name, for the history and for printing."""
        return asdict(self)


class Consolidator:
    """Runs the round. Never holds a transaction while it thinks."""

    def __init__(
        self,
        database: Database,
        embedding: EmbeddingService,
        summaries: Summaries,
        judge: Judge | None,
        limits: Limits,
        clock: Clock,
    ) -> None:
        self._database = database
        self._embedding = embedding
        self._summaries = summaries
        self._judge = judge
        self._limits = limits
        self._clock = clock

    async def run(self, *, dry: bool = False, full: bool = False) -> Round:
        """One round over every place; with `dry` nothing is changed, with `full` all facts are
        compared, not only those that are new since the last round.
        """
        done = Round()
        if not dry:
            await self._expire(done)
            await self._embedding.drain()
        else:
            await self._count_expired(done)
        for audience in await self._database.read(consolidation.places_to_visit):
            await self._place(audience, done, dry=dry, full=full)
        if not dry and (done.merged or done.expired_facts or done.expired_messages):
            self._embedding.forget_recent()
            await self._database.checkpoint()
        return done

    async def _place(self, audience: Audience, done: Round, *, dry: bool, full: bool) -> None:
        done.places += 1
        loaded = await self._database.read(lambda s: consolidation.load(s, audience))
        merges, closings = await self._plan(loaded, full=full)
        if dry:
            done.merged += len(merges)
            done.closed += len(closings)
            done.summaries += len(await self._summaries.wanted(audience))
            return
        for part in parts(merges, WRITTEN):
            done.merged += await self._database.write(
                lambda s, part=part: consolidation.merge(s, part)  # type: ignore[misc]
            )
        done.closed += await self._database.write(lambda s: consolidation.close(s, closings))
        await self._database.write(lambda s: consolidation.set_mark(s, loaded))
        try:
            done.summaries += await self._summaries.make(audience)
        except ModelUnavailable as error:
            log.warning("summaries wait for the next round: %s", error)

    async def _plan(self, loaded: Loaded, *, full: bool) -> tuple[list[Merge], list[Closing]]:
        """Think in a thread; when this is cancelled the thread ends soon after."""
        stopping = threading.Event()
        try:
            merges = await self._merges(loaded, full, stopping)
            now = self._clock()
            return merges, await asyncio.to_thread(consolidation.passed, loaded, now, stopping)
        finally:
            stopping.set()

    async def _merges(self, loaded: Loaded, full: bool, stopping: threading.Event) -> list[Merge]:
        duplicates = Duplicates(loaded, full, stopping)
        merges = await asyncio.to_thread(duplicates.merges)
        if self._judge is None or not duplicates.open_pairs:
            return merges
        open_pairs = list(duplicates.open_pairs)
        for part in parts(open_pairs, JUDGED):
            asked = [Pair(facts.as_new(new), known) for known, new in part]
            try:
                verdicts = await self._judge.judge(asked)
            except ModelUnavailable as error:
                log.warning("%d pairs stay apart for now: %s", len(open_pairs), error)
                break
            for (known, new), verdict in zip(part, verdicts, strict=True):
                same = verdict is Verdict.SAME
                duplicates.verdicts[known.id, new.id] = verdict if same else Verdict.DIFFERENT
        again = Duplicates(loaded, full, stopping, duplicates.verdicts)
        return await asyncio.to_thread(again.merges)

    async def _expire(self, done: Round) -> None:
        """Messages first: a fact that outlives its message is marked, not lost."""
        done.expired_messages = await self._until_none(
            retention.expired_messages, retention.expire_messages
        )
        done.expired_facts = await self._until_none(retention.expired_facts, retention.expire_facts)

    async def _until_none(
        self,
        find: Callable[[Session, Limits, datetime, int], list[int]],
        expire: Callable[[Session, Sequence[int]], int],
    ) -> int:
        """Expire batch after batch, each in its own transaction. Counts records."""

        def batch(session: Session) -> int:
            return expire(session, find(session, self._limits, self._clock(), retention.BATCH))

        total = 0
        while count := await self._database.write(batch):
            total += count
        return total

    async def _count_expired(self, done: Round) -> None:
        now, everything = self._clock(), 1 << 40
        done.expired_messages = len(
            await self._database.read(
                lambda s: retention.expired_messages(s, self._limits, now, everything)
            )
        )
        done.expired_facts = len(
            await self._database.read(
                lambda s: retention.expired_facts(s, self._limits, now, everything)
            )
        )


def parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Slices of at most `size`, in order."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
