"""One process serves a database, and a dead one holds nobody up."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from datetime import timedelta

import pytest

from memory.errors import LeaseHeld
from memory.store import lease
from memory.store.database import Database
from memory.store.lease import LEASE_SECONDS, Holder
from tests.fakes import NOON

ELSEWHERE = Holder("elsewhere", 4711, "a")


async def acquire(database: Database, holder: Holder, seconds: float = 0) -> None:
    now = NOON + timedelta(seconds=seconds)
    await database.write(lambda s: lease.acquire(s, holder, now))


async def current(database: Database, seconds: float = 0) -> Holder | None:
    now = NOON + timedelta(seconds=seconds)
    return await database.read(lambda s: lease.current(s, now))


def ended_process() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


async def test_the_second_is_refused_and_told_who_holds_it(database: Database) -> None:
    await acquire(database, ELSEWHERE)
    assert await current(database) == ELSEWHERE
    with pytest.raises(LeaseHeld, match=r"process 4711 on elsewhere.*in 2[01] seconds"):
        await acquire(database, Holder.me())
    assert await current(database) == ELSEWHERE


async def test_two_in_one_process_exclude_each_other_too(database: Database) -> None:
    await acquire(database, Holder.me())
    with pytest.raises(LeaseHeld, match=str(os.getpid())):
        await acquire(database, Holder.me())


async def test_the_holder_renews(database: Database) -> None:
    await acquire(database, ELSEWHERE)
    await acquire(database, ELSEWHERE, LEASE_SECONDS - 1)
    with pytest.raises(LeaseHeld):
        await acquire(database, Holder.me(), LEASE_SECONDS + 1)
    assert await current(database, LEASE_SECONDS + 1) == ELSEWHERE


async def test_without_renewal_it_expires_within_thirty_seconds(database: Database) -> None:
    await acquire(database, ELSEWHERE)
    assert LEASE_SECONDS <= 30
    assert await current(database, LEASE_SECONDS) is None
    mine = Holder.me()
    await acquire(database, mine, LEASE_SECONDS)
    assert await current(database, LEASE_SECONDS) == mine
    with pytest.raises(LeaseHeld):
        await acquire(database, ELSEWHERE, LEASE_SECONDS)


async def test_a_killed_process_of_this_machine_is_not_waited_for(database: Database) -> None:
    host = socket.gethostname().replace("|", "-")
    await acquire(database, Holder(host, ended_process(), "a"))
    assert await current(database) is None
    await acquire(database, Holder.me())


async def test_the_same_number_on_another_machine_is_waited_for(database: Database) -> None:
    await acquire(database, Holder("elsewhere", ended_process(), "a"))
    with pytest.raises(LeaseHeld):
        await acquire(database, Holder.me())


async def test_releasing_gives_it_back_unless_another_has_it(database: Database) -> None:
    mine = Holder.me()
    await acquire(database, mine)
    await database.write(lambda s: lease.release(s, ELSEWHERE))
    assert await current(database) == mine
    await database.write(lambda s: lease.release(s, mine))
    assert await current(database) is None
    await acquire(database, ELSEWHERE)


def test_a_holder_survives_being_written_down() -> None:
    assert Holder.parse(ELSEWHERE.token) == ELSEWHERE
    assert Holder.parse(Holder.me().token).pid == os.getpid()
