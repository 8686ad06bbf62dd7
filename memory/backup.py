"""Backup and restore of a SQLite database, online and proven.

A backup is a copy by SQLite's backup API: one consistent moment, while everything goes on. It is
examined before it counts. A restore goes into an empty place: a copy beside it, out of which is
taken what was forgotten since (the ledger knows) and which must pass the same check as
`oboete check`, moves there last.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

from sqlalchemy import delete
from sqlmodel import Session, SQLModel, col, select

from memory import forgetting, maintenance, records, uninstalled
from memory.errors import MemoryFault
from memory.forgetting import Receipt
from memory.store import (
    audiences,
    extraction,
    facts,
    messages,
    places,
    summaries,
    tombstones,
    traces,
)
from memory.store.database import Database, translated
from memory.store.tombstones import Ledger
from memory.tables import EvidenceRow, LeaseRow, MessageRow
from memory.types import Kind, Message, Readable, Ref

PREFIX, SUFFIX = "oboete-", ".backup.db"
LEDGER_FILES = ("forgotten.key", "forgotten.ledger")
POSITION = "backup.ledger_position"
"""Key under which a backup keeps how far the ledger had come."""

BATCH = 500


class BackupFailed(MemoryFault):
    """The backup could not be made, or it did not pass its check."""


class RestoreRefused(MemoryFault):
    """The backup cannot be restored here."""


def name_of(now: datetime) -> str:
    """A backup's file name, such as `oboete-20261130T064500Z.backup.db`: sorts by time."""
    return f"{PREFIX}{now:%Y%m%dT%H%M%SZ}{SUFFIX}"


def backups(folder: Path) -> list[Path]:
    """The backups in a folder, oldest first."""
    return sorted(folder.glob(f"{PREFIX}*{SUFFIX}"))


def copy(database: Database, target: Path, position: int) -> None:
    """Copy the whole database to `target` as it is at one moment, and examine the copy.

    `position` is how far the ledger had come by then (`Ledger.position`, read by the writer).
    The file appears under its name only when it is complete, examined and on the disk, and
    replaces none. Raises BackupFailed, or StoreUnavailable for a full disk and the like.
    """
    if database.path is None:
        raise BackupFailed("Only a SQLite file can be copied; use pg_dump for PostgreSQL.")
    partial = _partial(target)
    with translated():
        if target.exists():
            raise BackupFailed(f"There is a file already: {target}")
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.unlink(missing_ok=True)
    try:
        with translated():
            _copy(database.path, partial, position)
        _examine(partial)
        with translated():
            os.replace(partial, target)
            _sync_folder(target.parent)
    except BaseException:
        for left in (partial, *_side_files(partial)):
            left.unlink(missing_ok=True)
        raise


def _copy(source: Path, target: Path, position: int) -> None:
    # all pages in one step: a snapshot of the write-ahead log, that writers do not disturb
    with closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as original:
        original.execute("PRAGMA busy_timeout = 30000")
        target.touch(mode=0o600)
        with closing(sqlite3.connect(target)) as copied:
            original.backup(copied, pages=-1)
            copied.execute("PRAGMA journal_mode = DELETE")
            copied.execute(
                "INSERT OR REPLACE INTO key_value (key, value) VALUES (?, ?)",
                (POSITION, str(position)),
            )
            copied.commit()
    _sync_file(target)


def _examine(path: Path) -> None:
    with translated(), closing(sqlite3.connect(path)) as copied:
        said = [row[0] for row in copied.execute("PRAGMA integrity_check(1)")]
    if said != ["ok"]:
        raise BackupFailed(f"The copy is damaged: {said[0]}")


def _partial(path: Path) -> Path:
    return path.with_name(path.name + ".partial")


def _side_files(path: Path) -> list[Path]:
    return [path.with_name(path.name + end) for end in ("-journal", "-wal", "-shm")]


def _sync_file(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def rotate(folder: Path, keep: int) -> list[Path]:
    """Delete all but the newest `keep` backups (at least one); gives what was deleted."""
    old = backups(folder)[: -max(keep, 1)]
    for path in old:
        path.unlink()
    return old


# -- restoring -----------------------------------------------------------------------------------


@contextmanager
def restoring(backup: Path, target: Path, ledger_folder: Path) -> Iterator[Path]:
    """A copy of a backup beside the empty place `target`, to be brought up to date in the block.

    Only when the block ends well does it move into place, behind the ledger and its key, as the
    last step: whatever stands under the name `target` has had taken out what was forgotten. An
    error, or a kill, leaves no database: at most a `.partial` file that nobody opens, and the
    ledger, both of which the next restore replaces.

    Raises RestoreRefused when something is there already, when the backup is none, or when
    there is no ledger: without it, what was forgotten would come back. Raises StoreUnavailable
    for a full disk and the like.
    """
    _require_room(backup, target, ledger_folder)
    partial = _partial(target)
    left = (partial, *_side_files(partial))
    try:
        with translated():
            target.parent.mkdir(parents=True, exist_ok=True)
            for file in left:
                file.unlink(missing_ok=True)
            _copy_file(backup, partial)
        _require_backup(partial, backup)
        yield partial
        with translated():
            _close_journal(partial)
            for name in LEDGER_FILES:
                _put_beside(ledger_folder / name, target.parent / name)
            os.replace(partial, target)
            _sync_folder(target.parent)
    finally:
        for file in left:
            file.unlink(missing_ok=True)


def _require_room(backup: Path, target: Path, ledger_folder: Path) -> None:
    if target.exists():
        raise RestoreRefused(f"There is a database already: {target}")
    if not backup.is_file():
        raise RestoreRefused(f"There is no such backup: {backup}")
    if not (ledger_folder / LEDGER_FILES[0]).is_file():
        raise RestoreRefused(
            f"{ledger_folder} does not hold the ledger of what was forgotten ({LEDGER_FILES[0]});"
            " name its folder with --ledger."
        )
    for name in LEDGER_FILES:
        source, there = ledger_folder / name, target.parent / name
        with translated():
            # one that only lacks what was added since is what a killed restore left
            if there.exists() and not (
                source.is_file() and source.read_bytes().startswith(there.read_bytes())
            ):
                raise RestoreRefused(f"There is a ledger already: {there}")


def _require_backup(copied: Path, backup: Path) -> None:
    """Raises RestoreRefused for what is no whole database of Oboete."""
    try:
        with closing(sqlite3.connect(copied)) as opened:
            said = str(opened.execute("PRAGMA integrity_check(1)").fetchone()[0])
            tables = {row[0] for row in opened.execute("SELECT name FROM sqlite_master")}
            foreign = _foreign(opened)
    except sqlite3.DatabaseError as error:
        raise RestoreRefused(f"This is no backup: {backup} ({error})") from error
    if said != "ok":
        raise RestoreRefused(f"This backup is damaged: {backup} ({said})")
    if not tables >= {"message", "key_value"}:
        raise RestoreRefused(f"This is no backup of Oboete: {backup}")
    if foreign:
        raise RestoreRefused(f"This backup holds what Oboete never made: {', '.join(foreign)}")


def _foreign(opened: sqlite3.Connection) -> list[str]:
    """Triggers, views and tables of somebody else: forgetting would not reach what they hold."""
    known = {*SQLModel.metadata.tables, "alembic_version"}
    rows = opened.execute("SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")
    return sorted(
        name for kind, name in rows if kind != "index" and (kind != "table" or name not in known)
    )


def _copy_file(source: Path, target: Path) -> None:
    target.touch(mode=0o600)
    shutil.copyfile(source, target)


def _close_journal(path: Path) -> None:
    """Bring everything into the one file that is moved, and onto the disk."""
    with closing(sqlite3.connect(path)) as opened:
        opened.execute("PRAGMA journal_mode = DELETE")
    _sync_file(path)


def _put_beside(source: Path, target: Path) -> None:
    if not source.is_file() or source.absolute() == target.absolute():
        return
    partial = _partial(target)
    partial.unlink(missing_ok=True)
    _copy_file(source, partial)
    _sync_file(partial)
    os.replace(partial, target)


def reapply(session: Session, ledger: Ledger, now: datetime) -> Receipt:
    """Take out whatever the ledger says was forgotten, as when it was forgotten.

    The ledger names messages, not words in them: a message of which a part was forgotten goes
    whole, with everything that rests on it alone. Too much is safe, too little is not.
    """
    digests = ledger.digests()
    position = int(places.get_value(session, POSITION) or 0)
    since = ledger.digests(position)
    # a message of which other words were forgotten before the backup has its tombstone already
    since |= {digest for digest in digests if not tombstones.exists(session, digest)}
    receipt = Receipt()
    session.execute(delete(LeaseRow))
    for message in _every_message(session):
        place, id_ = message.audience, message.platform_id
        if since & {ledger.digest(place, id_, message.revision), ledger.whole(place, id_)}:
            _take_out(session, message, receipt)
    receipt.add(uninstalled.reapply(session, since, ledger, now))
    tombstones.add(session, digests, now)
    summaries.drop_stale(session)
    return receipt


def _every_message(session: Session) -> Iterable[Message]:
    ids = session.exec(select(MessageRow.id).order_by(col(MessageRow.id))).all()
    for start in range(0, len(ids), BATCH):
        part = [id_ for id_ in ids[start : start + BATCH] if id_ is not None]
        rows = session.exec(select(MessageRow).where(col(MessageRow.id).in_(part))).all()
        found = audiences.names(session, [row.audience_id for row in rows])
        yield from [messages.to_message(row, found[row.audience_id]) for row in rows]


def _take_out(session: Session, message: Message, receipt: Receipt) -> None:
    place = Readable.of(message.audience).for_upkeep()
    gone = [Ref(Kind.MESSAGE, message.id)]
    for fact in facts.supported_by(session, message.id, place):
        if facts.drop_evidence(session, fact.id, message.id):
            continue
        facts.close_for_good(session, fact.id)
        ref = Ref(Kind.FACT, fact.id)
        records.unindex(session, audiences.ensure_id(session, fact.audience), ref)
        facts.remove(session, fact.id)
        gone.append(ref)
        receipt.facts += 1
    forgetting.erase_derived(session, gone, receipt)
    extraction.finish(session, [message.id])
    records.unindex(session, audiences.ensure_id(session, message.audience), gone[0])
    traces.remove_for(session, [message.id])
    session.execute(delete(EvidenceRow).where(col(EvidenceRow.message_id) == message.id))
    session.execute(delete(MessageRow).where(col(MessageRow.id) == message.id))
    receipt.messages += 1


def prove(session: Session, ledger: Ledger) -> Sequence[str]:
    """The same check as `oboete check`; empty when everything agrees."""
    return maintenance.check(session, ledger)
