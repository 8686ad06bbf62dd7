"""Writes that wait for the disk share a commit, and stay apart in all else."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, text
from sqlmodel import Session

from memory.errors import StoreUnavailable
from memory.store.database import TOGETHER, Database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(f"sqlite:///{tmp_path / 'oboete.db'}")
    made.prepare()
    with made.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE number (n INTEGER PRIMARY KEY)")
    yield made
    made.close()


def add(session: Session, number: int) -> int:
    """Adds the number; gives how many there are with it."""
    session.execute(text("INSERT INTO number VALUES (:n)"), {"n": number})
    return int(session.execute(text("SELECT count(*) FROM number")).scalar_one())


async def together(database: Database, *works: Callable[[Session], Any]) -> list[Any]:
    """What came of works that all waited while the writing thread was busy."""
    busy = threading.Event()
    first = asyncio.create_task(database.write(lambda _: busy.wait(30)))
    await asyncio.sleep(0.02)  # it is with the thread now
    waiting = [asyncio.create_task(database.write(work)) for work in works]
    await asyncio.sleep(0)
    busy.set()
    await first
    return await asyncio.gather(*waiting, return_exceptions=True)


def stored(database: Database) -> set[int]:
    """As another program sees it: only what is committed."""
    assert database.path is not None
    connection = sqlite3.connect(database.path)
    try:
        return {n for (n,) in connection.execute("SELECT n FROM number")}
    finally:
        connection.close()


class Refused(Exception):
    pass


def refuse(session: Session, number: int) -> None:
    add(session, number)
    raise Refused(number)


async def test_all_that_waits_is_done_in_the_order_in_which_it_was_asked(
    database: Database,
) -> None:
    works = [partial(add, number=n) for n in range(2 * TOGETHER + 3)]
    assert await together(database, *works) == list(range(1, 2 * TOGETHER + 4))
    assert stored(database) == set(range(2 * TOGETHER + 3))


async def test_they_share_a_commit(database: Database) -> None:
    commits: list[int] = []
    event.listen(database.engine, "commit", lambda _: commits.append(1))
    await together(database, *(partial(add, number=n) for n in range(20)))
    assert len(commits) == 1


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(fails=st.lists(st.booleans(), min_size=2, max_size=12))
def test_what_fails_takes_back_its_own_and_nothing_else(
    database: Database, fails: list[bool]
) -> None:
    async def run() -> list[object]:
        await database.write(lambda s: s.execute(text("DELETE FROM number")) and None)
        return await together(
            database,
            *(partial(refuse if failing else add, number=n) for n, failing in enumerate(fails)),
        )

    outcomes = asyncio.run(run())
    assert [isinstance(outcome, Refused) for outcome in outcomes] == fails
    assert stored(database) == {n for n, failing in enumerate(fails) if not failing}


async def test_an_error_of_the_database_is_told_to_whom_it_belongs(database: Database) -> None:
    first, double, last = await together(
        database, lambda s: add(s, 1), lambda s: add(s, 1), lambda s: add(s, 2)
    )
    assert (first, last) == (1, 2)
    assert isinstance(double, StoreUnavailable)
    assert stored(database) == {1, 2}


async def test_a_transaction_that_the_database_gives_up_fails_for_all_that_shared_it(
    database: Database,
) -> None:
    def give_up(session: Session) -> None:
        session.connection().exec_driver_sql("ROLLBACK")  # what SQLite does when the disk is full
        raise Refused

    first, second = await together(database, lambda s: add(s, 1), give_up)
    assert isinstance(first, Exception)
    assert isinstance(second, Exception)
    assert stored(database) == set()
    assert await database.write(lambda s: add(s, 5)) == 1


async def test_nobody_is_told_before_it_is_on_disk(database: Database) -> None:
    seen: list[bool] = []

    async def say(number: int) -> None:
        await database.write(lambda s: add(s, number))
        seen.append(number in stored(database))

    await asyncio.gather(*(say(n) for n in range(50)))
    assert seen == [True] * 50


async def test_one_that_is_cancelled_while_it_waits_is_not_begun(database: Database) -> None:
    busy = threading.Event()
    first = asyncio.create_task(database.write(lambda _: busy.wait(30)))
    await asyncio.sleep(0.02)
    unwanted = asyncio.create_task(database.write(lambda s: add(s, 1)))
    wanted = asyncio.create_task(database.write(lambda s: add(s, 2)))
    await asyncio.sleep(0)
    unwanted.cancel()
    await asyncio.sleep(0)
    busy.set()
    await first
    assert await wanted == 1
    assert stored(database) == {2}


async def test_all_of_them_hear_that_the_database_cannot_be_used(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unusable() -> None:
        raise sqlite3.OperationalError("disk I/O error")

    busy = threading.Event()
    first = asyncio.create_task(database.write(lambda _: busy.wait(30)))
    await asyncio.sleep(0.02)
    waiting = [asyncio.create_task(database.write(partial(add, number=n))) for n in range(3)]
    await asyncio.sleep(0)
    monkeypatch.setattr(database.engine, "connect", unusable)
    busy.set()
    await first
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(outcome, StoreUnavailable) for outcome in outcomes)
