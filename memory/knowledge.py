"""Documents: take them in, list them, take them out. All that `bot` calls for knowledge bases.

A document is stored whole in one short transaction. Making its chunks findable, and taking them
out again, takes seconds for a long one and is done in small steps that end whole, so that the
writer is never kept from acknowledging an event, and a process that is killed goes on from
where it stopped.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from sqlmodel import Session

from memory import forgetting, records
from memory.chunking import Chunk, CountTokens, chunk_document
from memory.embedding import EmbeddingService
from memory.errors import NotPermitted
from memory.forgetting import Receipt
from memory.ports import Clock
from memory.reading import (
    Document,
    MediaType,
    ReadingLimits,
    ReadingWarning,
    Reason,
    UnreadableDocument,
    read_in_subprocess,
)
from memory.redaction import redact
from memory.store import base_means, bases, places, sources, tombstones
from memory.store.bases import KnowledgeBase
from memory.store.database import Database
from memory.store.sources import Contents, NewSource, Source
from memory.store.tombstones import Ledger
from memory.types import Audience, Kind, Person, Readable, Ref

__all__ = ["Added", "Knowledge", "KnowledgeBase", "NewSource", "Outcome", "Source"]

log = logging.getLogger(__name__)
R = TypeVar("R", bound=Receipt | None)

CHUNK_TOKENS = 256
"""Most tokens of a chunk with its title and headings: about a long paragraph. Half of what
multilingual-e5-small reads, so that a vector stands for one thing."""

STEP = 8
"""Chunks made findable with their passages, or taken out, in one transaction: about a tenth of a
second."""

LINEAGE_STEP = 1_000

READERS = 2
"""Files read at the same time: each may take `ReadingLimits.memory_bytes` and a thread."""

Progress = Callable[[int, int], None]
"""Told how many of how many chunks are done."""

ReadFile = Callable[[bytes, str, ReadingLimits], Awaitable[Document]]


def _silent(_done: int, _total: int) -> None:
    return


class Outcome(StrEnum):
    """What adding a document did."""

    NEW = "new"
    REPLACED = "replaced"
    """An earlier state of the same document went."""
    UNCHANGED = "unchanged"
    """The base has these bytes already."""
    FORGOTTEN = "forgotten"
    """It was removed on purpose, and this is a late delivery of it."""


@dataclass(frozen=True, slots=True)
class Added:
    """A document after it was added."""

    outcome: Outcome
    source: Source | None
    """None when it is forgotten."""
    warnings: tuple[ReadingWarning, ...] = ()


class Knowledge:
    """Knowledge bases and their documents, behind audiences."""

    def __init__(
        self,
        database: Database,
        embedding: EmbeddingService,
        ledger: Ledger,
        clock: Clock,
        count_tokens: CountTokens,
        *,
        limits: ReadingLimits | None = None,
        read: ReadFile = read_in_subprocess,
    ) -> None:
        self._database = database
        self._embedding = embedding
        self._ledger = ledger
        self._clock = clock
        self._count_tokens = count_tokens
        self._limits = limits or ReadingLimits()
        self._read = read
        self._collecting: set[Audience] = set()
        self._reading = asyncio.Semaphore(READERS)

    # -- bases -----------------------------------------------------------------------------------

    async def ensure_base(self, name: str, audience: Audience, by: Person) -> KnowledgeBase:
        """The place's base of that name, made now if it is new. Raises ValueError for no name."""
        if not bases.name_key(name):
            raise ValueError("a knowledge base needs a name")
        return await self._database.write(
            lambda s: bases.ensure_base(s, name, audience, by, self._clock())
        )

    async def bases(self, readable: Readable, *, name: str | None = None) -> list[KnowledgeBase]:
        """Readable bases, by name; several may share a name, each in its own place."""
        return await self._database.read(lambda s: bases.bases(s, readable, name=name))

    async def places(self) -> Readable:
        """Every place that has a base: for the owner of the machine, who holds the file anyway."""
        return await self._database.read(bases.places)

    async def collect(self, base: KnowledgeBase, collects: bool) -> None:
        """Choose whether files posted in the base's place are added without being asked for."""
        await self._database.write(lambda s: bases.set_collects(s, base.id, collects))
        await self.load()

    def collects(self, audience: Audience) -> bool:
        """True where every file posted is wanted; answered from memory, so at once."""
        return audience in self._collecting

    async def load(self) -> None:
        """Read what must be known at once."""
        self._collecting = await self._database.read(bases.collecting)

    # -- documents -------------------------------------------------------------------------------

    async def sources(self, readable: Readable, *, base_id: int | None = None) -> list[Source]:
        """Readable documents, oldest first."""
        return await self._database.read(lambda s: sources.listed(s, readable, base_id=base_id))

    async def source_by_id(self, source_id: int, readable: Readable) -> Source | None:
        """A readable document."""
        found = await self._database.read(lambda s: sources.listed(s, readable, ids=[source_id]))
        return found[0] if found else None

    async def add(
        self,
        base: KnowledgeBase,
        new: NewSource,
        data: bytes,
        *,
        again: bool = False,
        progress: Progress = _silent,
    ) -> Added:
        """Read a file and add it to a base, in place of an earlier state of it.

        With `again` a person asks for it, which also lifts an earlier removal; without, a file
        that was removed stays away. When this returns its words are findable; its vectors
        follow in the background. Raises UnreadableDocument, and nothing is stored then.
        """
        digest = await asyncio.to_thread(lambda: hashlib.sha256(data).digest())
        buried = self._ledger.digest(base.audience, _tombstone_id(new.platform_id), digest.hex())
        place = Readable.of(base.audience).for_upkeep()

        def look(session: Session) -> tuple[list[Source], bool]:
            same = sources.listed(session, place, base_id=base.id, digest=digest)
            return same, tombstones.exists(session, buried)

        same, forgotten = await self._database.read(look)
        if forgotten and not again:
            return Added(Outcome.FORGOTTEN, None)
        if same:
            await self.work_off(progress)
            return Added(Outcome.UNCHANGED, same[0])
        async with self._reading:
            document = await self._read(data, new.name, self._limits)
            clean, keeps = await asyncio.to_thread(_redacted, document, data)
            chunks = await asyncio.to_thread(self._chunks, clean)
        if not chunks:
            raise UnreadableDocument(Reason.EMPTY)
        contents = Contents(clean.title, clean.media_type.value, len(clean.pages), digest, chunks)
        # bytes that hold a secret are not kept: only what is left after redaction is
        kept = data if keeps else b""

        def store(session: Session) -> tuple[Source, bool, Receipt]:
            receipt = Receipt()
            earlier = sources.listed(session, place, base_id=base.id, platform_id=new.platform_id)
            for source in earlier:
                _hide(session, source, receipt)
            if forgotten:
                tombstones.lift(session, [buried])
                self._ledger.retract([buried])
            made = sources.add(session, base, new, contents, kept, len(data), self._clock())
            return sources.listed(session, place, ids=[made])[0], bool(earlier), receipt

        source, replaced, _ = await self._database.write(store)
        await self.work_off(progress)
        if replaced:
            await self._leave_no_byte()
        outcome = Outcome.REPLACED if replaced else Outcome.NEW
        log.info("source %d: %s, %d chunks", source.id, outcome.value, source.chunks)
        return Added(outcome, source, document.warnings)

    def _chunks(self, document: Document) -> Sequence[Chunk]:
        """Raises UnreadableDocument for one that takes too long: nobody can stop a thread."""
        last = time.monotonic() + self._limits.seconds

        def count(text: str) -> int:
            if time.monotonic() > last:
                raise UnreadableDocument(Reason.TIMED_OUT)
            return self._count_tokens(text)

        return chunk_document(document, max_tokens=CHUNK_TOKENS, count_tokens=count)

    async def remove(
        self, source_id: int, by: Person, readable: Readable, *, is_admin: bool = False
    ) -> Receipt:
        """Remove a document with all that was made from it: its uploader's or an admin's right.

        Raises NotPermitted, also for what does not exist or is not readable.
        """

        def work(session: Session) -> Receipt:
            found = sources.listed(session, readable.for_upkeep(), ids=[source_id])
            if not found or not (is_admin or found[0].added_by == by):
                raise NotPermitted
            return self._bury(session, found)

        return await self._remove(work)

    async def has(self, audience: Audience, platform_id: str) -> bool:
        """True when a base has this file, or a file of this message. As for `source_deleted`."""
        return bool(
            await self._database.read(lambda s: sources.everywhere(s, audience, platform_id))
        )

    async def files_left(
        self, audience: Audience, message_id: str, files: Collection[str]
    ) -> Receipt | None:
        """The platform says that a message was edited and has these files now: the others it
        came with are gone. None when no base has any of those.
        """

        def work(session: Session) -> Receipt | None:
            brought = sources.everywhere(session, audience, message_id)
            gone = [source for source in brought if source.platform_id not in files]
            return self._bury(session, gone) if gone else None

        return await self._remove(work)

    async def next_to_recheck(self, platform: str, limit: int) -> list[Source]:
        """The documents whose messages are to be looked up on their platform, oldest turn first.

        As `LongTermMemory.next_to_recheck`: goes on where the last call ended.
        """

        def turn(session: Session) -> list[Source]:
            return places.take_turn(
                session,
                f"rechecked_files.{platform}",
                lambda after: sources.to_recheck(session, platform, after, limit),
            )

        return await self._database.write(turn)

    async def source_deleted(self, audience: Audience, platform_id: str) -> Receipt | None:
        """The platform says that a file, or the message it came with, is gone; None when no base
        has it.

        `audience` is a place that knew the file. A file that its uploader allowed into the base
        of another place goes from there too.
        """

        def work(session: Session) -> Receipt | None:
            found = sources.everywhere(session, audience, platform_id)
            return self._bury(session, found) if found else None

        return await self._remove(work)

    def _bury(self, session: Session, gone: Sequence[Source]) -> Receipt:
        receipt = bury(session, gone, self._ledger, self._clock())
        # before the commit: a ledger that names too much is safe, one too little is not
        self._ledger.append(receipt.digests)
        return receipt

    async def _remove(self, work: Callable[[Session], R]) -> R:
        receipt = await self._database.write(work)
        if receipt is not None:
            await self.work_off()
            await self._leave_no_byte()
        return receipt

    async def _leave_no_byte(self) -> None:
        self._embedding.forget_recent()
        await self._database.checkpoint()

    # -- steps -----------------------------------------------------------------------------------

    async def catch_up(self) -> int:
        """What the background does: finish what was begun, and make the means of bases again."""
        return await self.work_off() + await self.refresh_means()

    async def work_off(self, progress: Progress = _silent) -> int:
        """Finish what was begun: make chunks findable, take removed ones out. Gives how many.

        Safe to call at any time, from several processes at once.
        """
        total = await self._database.read(sources.waiting)
        done = 0
        while count := await self._database.write(self._enter):
            done += count
            progress(min(done, total), total)
        while count := await self._database.write(leave):
            done += count
        await self._database.write(sources.finish_removal)
        return done

    async def refresh_means(self) -> int:
        """Make the mean vectors of changed bases again; gives how many."""
        ready = await self._embedding.serving()
        if ready is None:
            return 0
        model = ready.model
        stale = await self._database.read(lambda s: base_means.stale(s, model))
        for base_id, state in stale.items():
            mean = await self._database.read(
                lambda s: base_means.make(s, base_id, model)  # noqa: B023 - awaited at once
            )
            if mean is not None:
                await self._database.write(
                    lambda s: base_means.put(s, base_id, model, state, mean)  # noqa: B023
                )
        return len(stale)

    def _enter(self, session: Session) -> int:
        todo = sources.entering(session, STEP)
        sources.enter(session, [id_ for _, id_ in todo])
        records.index_chunks(session, todo, self._clock())
        return len(todo)


def bury(session: Session, gone: Sequence[Source], ledger: Ledger, now: datetime) -> Receipt:
    """Make documents unfindable for good; `leave` takes out their chunks. The digests are for the
    ledger outside the database too.
    """
    receipt = Receipt()
    for source in gone:
        _hide(session, source, receipt)
        receipt.digests.append(
            ledger.digest(source.audience, _tombstone_id(source.platform_id), source.digest.hex())
        )
    tombstones.add(session, receipt.digests, now)
    return receipt


def _hide(session: Session, source: Source, receipt: Receipt) -> None:
    """Make it unfindable now, erase the replies made from it; its chunks go step by step."""
    sources.hide(session, source.id)
    base_means.drop(session, source.base_id)
    ids = sources.chunk_ids(session, source.id)
    for start in range(0, len(ids), LINEAGE_STEP):
        refs = [Ref(Kind.CHUNK, id_) for id_ in ids[start : start + LINEAGE_STEP]]
        forgetting.erase_derived(session, refs, receipt)


def leave(session: Session) -> int:
    """Take out the next chunks of documents that were buried; gives how many."""
    todo = sources.leaving(session, STEP)
    for audience_id, id_ in todo:
        records.unindex_chunk(session, audience_id, id_)
    sources.delete_chunks(session, [id_ for _, id_ in todo])
    return len(todo)


def _tombstone_id(platform_id: str) -> str:
    """Apart from the ids of messages."""
    return f"source\x1f{platform_id}"


def _redacted(document: Document, data: bytes) -> tuple[Document, bool]:
    """The document without credentials and numbers that must not be stored, and whether there
    were none, in its bytes neither: a comment of a web page is no part of its text.
    """
    pages = tuple(
        replace(
            page,
            text=redact(page.text).text,
            headings=tuple(redact(heading).text for heading in page.headings),
        )
        for page in document.pages
    )
    clean = replace(document, title=redact(document.title).text, pages=pages)
    if clean != document:
        return clean, False
    if document.media_type is not MediaType.HTML:
        return clean, True
    source = data.decode("utf-8", "replace")
    return clean, redact(source).text == source
