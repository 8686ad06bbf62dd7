"""Where Oboete was uninstalled: locked at once, erased after 30 days, as it was when used again.

A tenant (workspace or server) is erased in many small transactions, so that nobody waits long for
the writer. Each step looks at what is left, so that one that a crash ended goes on the next night.
The ledger outside the database names the tenant: a restored backup is erased of it too.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete
from sqlmodel import Session, SQLModel, col, select

from memory import consolidation, forgetting, knowledge
from memory.directory import Directory
from memory.embedding import EmbeddingService
from memory.forgetting import Receipt
from memory.knowledge import Knowledge
from memory.ports import Clock
from memory.store import audiences, inbox, locks, private_times, sources, summaries, tombstones
from memory.store.database import Database
from memory.store.locks import Tenant
from memory.store.tombstones import Ledger
from memory.tables import (
    AudienceRow,
    EvidenceRow,
    FactRow,
    KeyValueRow,
    LineagePlaceRow,
    PersonRow,
    PlaceMemberRow,
    PlaceRow,
    ReminderRow,
    SummaryRow,
    SummarySourceRow,
    TokenRow,
    TraceRow,
)
from memory.types import Audience, Kind, Readable, Ref

log = logging.getLogger(__name__)

KEPT = timedelta(days=30)
"""How long a locked tenant can come back to what it had."""

BATCH = 200
"""Messages per transaction, as for a place that is forgotten (`long_term.PLACE_BATCH`)."""


@dataclass(slots=True)
class Erased:
    """What one round took out."""

    tenants: int = 0
    messages: int = 0
    facts: int = 0

    def counts(self) -> dict[str, int]:
        """By name, for the history."""
        return {"tenants": self.tenants, "messages": self.messages, "facts": self.facts}


class Uninstalled:
    """Erases the tenants whose time is over, and welcomes back those who come before."""

    def __init__(
        self,
        database: Database,
        directory: Directory,
        embedding: EmbeddingService,
        documents: Knowledge,
        ledger: Ledger,
        clock: Clock,
    ) -> None:
        self._database = database
        self._directory = directory
        self._embedding = embedding
        self._documents = documents
        self._ledger = ledger
        self._clock = clock

    async def welcome(self, platform: str, tenant: str, moment: datetime) -> None:
        """Something happened in a tenant at `moment` (UTC): one that was locked before is used
        again. What it had is there again, unless its 30 days are over: then it begins anew.
        """
        if not self._directory.is_locked(platform, tenant):
            return
        since = await self._directory.locked_since(platform, tenant)
        if since is not None and moment <= since:
            return  # it happened before, and was only handled after
        if since is not None and self._clock() - since >= KEPT:
            await self._erase((platform, tenant), Erased())
        await self._directory.unlock_tenant(platform, tenant)
        log.info("%s %s is used again", platform, tenant)

    async def erase_due(self) -> dict[str, int]:
        """Erase every tenant that was locked 30 days ago or longer; gives counts."""
        done, now = Erased(), self._clock()
        for tenant, since in (await self._database.read(locks.locked)).items():
            if now - since >= KEPT:
                await self._erase(tenant, done)
        return done.counts()

    async def _erase(self, tenant: Tenant, done: Erased) -> None:
        def step(session: Session) -> Receipt | None:
            receipt = erase_part(session, tenant, self._ledger, self._clock())
            if receipt is not None:
                # before the commit: a ledger that names too much is safe, one too little is not
                self._ledger.append(receipt.digests)
            return receipt

        while (part := await self._database.write(step)) is not None:
            done.messages += part.messages
            done.facts += part.facts
        await self._directory.unlock_tenant(*tenant)
        await self._directory.load()
        await self._documents.load()
        done.tenants += 1
        self._embedding.forget_recent()
        await self._database.checkpoint()
        log.info("%s %s was erased: it uninstalled Oboete", *tenant)


def erase_part(session: Session, tenant: Tenant, ledger: Ledger, now: datetime) -> Receipt | None:
    """Take out the next part of a tenant; None when nothing was left. For a transaction of its
    own, called until it gives None. The digests are for the ledger outside the database too.
    """
    named = _digest(ledger, tenant)
    if not tombstones.exists(session, named):
        return _named(session, named, now)  # first: from now on no backup brings it back
    here = audiences.of_workspace(session, *tenant)
    documents = sources.listed(session, Readable(frozenset(here.values())).for_upkeep())
    if documents:
        return knowledge.bury(session, documents[:1], ledger, now)
    if knowledge.leave(session):
        return Receipt()
    sources.finish_removal(session)
    for id_, place in here.items():
        part = forgetting.forget_part_of_place(session, place, ledger, now, BATCH)
        if part is None:
            part = _erase_place(session, id_)
        summaries.drop_stale(session)
        return part
    if not _erase_names(session, tenant, now):
        return None
    # once more: a backup of a second life, before a second end, has the first end's name
    return _named(session, named, now)


def reapply(session: Session, since: Collection[bytes], ledger: Ledger, now: datetime) -> Receipt:
    """Take the tenants that the digests name out of a restored backup."""
    receipt = Receipt()
    found = session.exec(select(AudienceRow.name)).all()
    places = [Audience.parse(name) for name in found]
    for tenant in sorted({(place.platform, place.tenant) for place in places}):
        if _digest(ledger, tenant) not in since:
            continue
        tombstones.add(session, [_digest(ledger, tenant)], now)
        while (part := erase_part(session, tenant, ledger, now)) is not None:
            receipt.add(part)
        locks.unlock(session, *tenant)
    return receipt


def _digest(ledger: Ledger, tenant: Tenant) -> bytes:
    """Names a whole tenant on the ledger: no place and no message is called so."""
    return ledger.whole(Audience(*tenant, "*"), "tenant\x1f")


def _named(session: Session, digest: bytes, now: datetime) -> Receipt:
    tombstones.add(session, [digest], now)
    return Receipt(digests=[digest])


def _erase_place(session: Session, id_: int) -> Receipt:
    """What is left of a place without messages and documents, and the place itself."""
    receipt = Receipt()
    made_from = select(LineagePlaceRow.derived).where(LineagePlaceRow.audience_id == id_)
    replies = [
        ref.id for key in session.exec(made_from) if (ref := Ref.from_key(key)).kind is Kind.MESSAGE
    ]
    forgetting.erase_replies(session, replies, receipt)
    known = select(FactRow.id).where(FactRow.audience_id == id_)
    session.execute(delete(EvidenceRow).where(col(EvidenceRow.fact_id).in_(known)))
    made = select(SummaryRow.id).where(SummaryRow.audience_id == id_)
    session.execute(delete(SummarySourceRow).where(col(SummarySourceRow.summary_id).in_(made)))
    # by the schema, not by a list: a table that is added later is not left out
    for table in reversed(SQLModel.metadata.sorted_tables):
        if "audience_id" in table.columns:
            session.execute(delete(table).where(table.columns["audience_id"] == id_))
    mark = consolidation.mark_key(id_)
    session.execute(delete(KeyValueRow).where(col(KeyValueRow.key) == mark))
    audiences.remove(session, id_)
    return receipt


def _erase_names(session: Session, tenant: Tenant, now: datetime) -> int:
    """What is kept by the names of the tenant's people and places, wherever; counts rows."""
    prefix = "{}:{}:".format(*tenant)
    named: tuple[tuple[Any, Any], ...] = (
        (TraceRow, TraceRow.asker),
        (ReminderRow, ReminderRow.person),
        (TokenRow, TokenRow.person),
        (PersonRow, PersonRow.person),
        (PlaceMemberRow, PlaceMemberRow.person),
        (PlaceMemberRow, PlaceMemberRow.audience),
        (PlaceRow, PlaceRow.audience),
    )
    count = private_times.remove(session, prefix)
    for table, name in named:
        theirs = delete(table).where(col(name).startswith(prefix, autoescape=True))
        count += len(session.execute(theirs.returning(col(name))).all())
    return count + inbox.erase_tenant(session, *tenant, now)
