"""The database: one engine, one writer, transactions in worker threads.

What is SQLite's own lives here: pragmas, page size, how a transaction begins, the checkpoint
after forgetting. Measured reasons for each choice are in docs/adr/0002-sqlite.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlmodel import Session

from memory.errors import SchemaMismatch, StoreUnavailable

log = logging.getLogger(__name__)
T = TypeVar("T")

PAGE_SIZE = 16384
"""Bytes. Holds rows of up to 768 float32 dimensions in a clustered table without spilling."""

CACHE_KILOBYTES = 4_096
"""Of each connection, of which there are `READERS` and the writer. The system caches the file as
well, once for all of them."""

BUSY_SECONDS = 30.0
"""How long a writer waits for another process that holds the database."""

TOGETHER = 64
"""At most so many waiting writes share one commit, which waits for the disk."""

TOGETHER_SECONDS = 0.1
"""A commit waits no longer than this for the writes that share it; so does whoever asked first."""

READERS = 4
"""Reading threads. WAL lets them run beside the writer."""


class _Write:
    """Work that waits for the writing thread, and what comes of it."""

    def __init__(self, work: Callable[[Session], Any]) -> None:
        self.work = work
        self.result: Future[Any] = Future()
        self.outcome: Any = None
        """What the result will be, once it is on disk."""


class Database:
    """One database file (or server) and the threads that talk to it.

    All writes go through one thread, in the order in which they were asked for, in
    `BEGIN IMMEDIATE` transactions: a read-then-write can never fail half-way on a lock. Those that
    wait while the disk is busy share the next commit, each in its own savepoint: one that fails
    takes back nothing but its own, and none is done before all of them are on disk.
    """

    def __init__(self, url: str) -> None:
        """Raises StoreUnavailable for an address that is none."""
        try:
            self.url = make_url(url)
            self.is_sqlite = self.url.get_backend_name() == "sqlite"
            self.engine = (
                _sqlite_engine(url) if self.is_sqlite else create_engine(url, hide_parameters=True)
            )
        except (SQLAlchemyError, ImportError, ValueError) as error:
            raise StoreUnavailable(f"This is no usable database address: {error}") from error
        self._asked: deque[_Write] = deque()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="oboete-write")
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="oboete-read")
        self._inline: sqlite3.Connection | None = None

    @property
    def path(self) -> Path | None:
        """The SQLite file; None for a server or a database in memory."""
        name = self.url.database
        return Path(name) if self.is_sqlite and name and name != ":memory:" else None

    def prepare(self) -> None:
        """Make the folder of a new database. Raises StoreUnavailable."""
        if self.path is not None:
            with translated():
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.engine.connect() as connection:
                    connection.exec_driver_sql("SELECT count(*) FROM sqlite_master")

    async def write(self, work: Callable[[Session], T]) -> T:
        """Run `work` in a transaction of the writing thread and commit it.

        On any error everything is rolled back. Raises StoreUnavailable for a database that
        cannot be used, and whatever `work` raises.
        """
        asked = _Write(work)
        self._asked.append(asked)
        self._writer.submit(self._write_asked)
        return cast("T", await asyncio.wrap_future(asked.result))

    async def read(self, work: Callable[[Session], T]) -> T:
        """Run `work` on one consistent snapshot in a reading thread. Raises StoreUnavailable."""
        return await _finish(self._readers, lambda: self._transact(work, writing=False))

    def _transact(self, work: Callable[[Session], T], *, writing: bool) -> T:
        with (
            translated(),
            self.engine.connect().execution_options(oboete_write=writing) as connection,
            Session(bind=connection, expire_on_commit=False) as session,
        ):
            result = work(session)
            if writing:
                session.commit()
            return result

    def _write_asked(self) -> None:
        """Do what waits; what an earlier call did for this one is not there any more."""
        first = self._next_asked()
        if first is None:
            return
        taken = [first]
        try:
            if self._asked:
                self._write_together(taken)
            else:
                first.outcome = self._transact(first.work, writing=True)
        except Exception as error:  # noqa: BLE001 - they are told, who wait for it
            log.debug("a transaction of %d writes failed", len(taken))
            for asked in taken:
                asked.result.set_exception(error)
        else:
            for asked in taken:
                asked.result.set_result(asked.outcome)

    def _next_asked(self) -> _Write | None:
        while self._asked:
            asked = self._asked.popleft()
            if asked.result.set_running_or_notify_cancel():
                return asked
        return None

    def _write_together(self, taken: list[_Write]) -> None:
        """Commit the one that was `taken` with what waits behind it, which is taken too.

        What fails alone is told so at once, and is not among the `taken` any more.
        """
        began = time.monotonic()
        asked: _Write | None = taken[0]
        with (
            translated(),
            self.engine.connect().execution_options(oboete_write=True) as connection,
            connection.begin(),
        ):
            while asked is not None:
                try:
                    asked.outcome = _apart(connection, asked.work)
                except Exception as error:
                    if not self._is_open(connection):
                        raise  # a full disk ends the whole transaction
                    taken.remove(asked)
                    asked.result.set_exception(error)
                late = time.monotonic() - began > TOGETHER_SECONDS
                asked = None if late or len(taken) == TOGETHER else self._next_asked()
                if asked is not None:
                    taken.append(asked)

    def _is_open(self, connection: Connection) -> bool:
        raw: Any = connection.connection.dbapi_connection
        return not self.is_sqlite or bool(raw.in_transaction)

    def inline(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a tiny indexed read on the calling thread: a few microseconds, no thread hop.

        Only for the event loop's thread, and only for reads that touch a handful of rows.
        """
        with translated():
            if not self.is_sqlite:
                with self.engine.connect() as connection:
                    rows = connection.exec_driver_sql(sql, tuple(parameters))
                    return [tuple(row) for row in rows]
            if self._inline is None:
                self._inline = sqlite3.connect(
                    str(self.path), timeout=BUSY_SECONDS, check_same_thread=False
                )
            return self._inline.execute(sql, parameters).fetchall()

    async def checkpoint(self) -> None:
        """Empty the write-ahead log into the file, so that no forgotten byte stays in it."""
        if self.is_sqlite:
            await _finish(self._writer, self._checkpoint)

    def _checkpoint(self) -> None:
        with translated(), self.engine.connect() as connection:
            cursor: Any = connection.connection.cursor()
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            busy = cursor.fetchone()[0]
        if busy:
            log.warning("a reader kept the write-ahead log from being emptied; trying again later")

    def close(self) -> None:
        """Wait for running work and let go of the file."""
        self._writer.shutdown()
        self._readers.shutdown()
        if self._inline is not None:
            self._inline.close()
            self._inline = None
        self.engine.dispose()


def _apart(connection: Connection, work: Callable[[Session], T]) -> T:
    """Run `work` in a savepoint of its own."""
    with (
        translated(),
        Session(
            bind=connection, join_transaction_mode="create_savepoint", expire_on_commit=False
        ) as session,
    ):
        result = work(session)
        session.commit()
        return result


async def _finish(pool: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    """Run `work` in `pool`. A cancelled caller stops waiting; a transaction still ends whole."""
    return await asyncio.wrap_future(pool.submit(work))


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Turn driver errors into StoreUnavailable with a sentence for the person."""
    try:
        yield
    except DBAPIError as error:
        raise _explain(error.orig or error) from error
    except sqlite3.Error as error:
        raise _explain(error) from error
    except OSError as error:
        raise StoreUnavailable(f"The database cannot be used: {error}") from error


_REASONS = (
    ("not a database", "The database file is not a SQLite database."),
    ("malformed", "The database file is damaged; restore a backup."),
    ("disk is full", "The disk that holds the database is full."),
    ("readonly", "The database is read-only."),
    ("unable to open", "The database file cannot be opened or created."),
    ("locked", "Another program keeps the database locked."),
    ("no such table", "The database has not been set up; run `oboete migrate`."),
    ("no such column", "The database was written by another version; run `oboete migrate`."),
    ("disk i/o error", "The disk that holds the database cannot be read or written."),
)


def _explain(error: BaseException) -> StoreUnavailable:
    said = str(error).lower()
    for sign, sentence in _REASONS:
        if sign in said:
            kind = SchemaMismatch if sign.startswith("no such") else StoreUnavailable
            return kind(sentence)
    return StoreUnavailable(f"The database cannot be used: {str(error).splitlines()[0]}")


def _sqlite_engine(url: str) -> Engine:
    # hidden parameters: an error's text must not carry somebody's words into the log
    engine = create_engine(
        url,
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
        hide_parameters=True,
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: object) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA page_size = {PAGE_SIZE}")
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute("PRAGMA secure_delete = ON")
        cursor.execute("PRAGMA temp_store = MEMORY")
        cursor.execute(f"PRAGMA cache_size = {-CACHE_KILOBYTES}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writing = connection.get_execution_options().get("oboete_write", True)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def integrity(session: Session) -> list[str]:
    """What the database itself finds wrong with its file; empty when nothing."""
    if session.get_bind().dialect.name != "sqlite":
        return []
    rows = [str(row[0]) for row in session.execute(text("PRAGMA integrity_check(20)"))]
    orphans = session.execute(text("PRAGMA foreign_key_check"))
    broken = [f"{table}: row {id_} refers to nothing" for table, id_, *_ in orphans]
    return [row for row in rows if row != "ok"] + broken
