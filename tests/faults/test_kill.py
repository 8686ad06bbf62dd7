"""kill -9 at any moment: what was acknowledged is there, once, and everything agrees."""

from __future__ import annotations

import json
import os
import random
import select
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory import maintenance
from memory.store.database import Database
from memory.store.tombstones import Ledger
from tests.e2e.program import SECONDS, Program

KILLS = 20
MESSAGES = 1_000

FRUITS = [
    "apples",
    "pears",
    "plums",
    "grapes",
    "lemons",
    "cherries",
    "figs",
    "dates",
    "melons",
    "peaches",
]


def statement(number: int) -> str:
    """Every message says something of its own, English or Japanese."""
    fruit = FRUITS[number % len(FRUITS)]
    if number % 2:
        return f"Item {number} is a box of {number + 7} {fruit}."
    return f"商品{number}は{fruit}が{number + 7}個です。"


class Writer:
    """One run of the program that is fed messages until it is killed."""

    def __init__(self, program: Program) -> None:
        self._process = program.start("chat", "--user", "taro")

    def write(self, texts: list[str]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("".join(f"{text}\n" for text in texts).encode())
        self._process.stdin.flush()

    def acknowledged(self, wanted: int) -> int:
        """Wait for that many answers; gives how many there were, more when it was quick."""
        out = self._process.stdout
        assert out is not None
        seen = b""
        while seen.count(b"\n\n") < wanted:
            ready, _, _ = select.select([out], [], [], SECONDS)
            assert ready, "it stopped answering"
            part = out.read1(65536)  # type: ignore[attr-defined]
            assert part, self._process.communicate()
            seen += part
        return seen.count(b"\n\n")

    def kill(self) -> int:
        """Kill it; gives how many more answers it had given until then."""
        self._process.kill()
        out, err = self._process.communicate(timeout=SECONDS)
        assert b"Traceback" not in err
        return out.count(b"\n\n")

    def end(self) -> int:
        """Let it come to its end; gives how many answers it gave."""
        out, err = self._process.communicate(timeout=SECONDS)
        assert (self._process.returncode, err) == (0, b"")
        return out.count(b"\n\n")


async def problems(folder: Path) -> list[str]:
    database, ledger = Database(f"sqlite:///{folder / 'oboete.db'}"), Ledger(folder)
    try:
        return await database.read(lambda s: maintenance.check(s, ledger))
    finally:
        database.close()


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where there is such a place: a killed process loses nothing by not syncing."""
    shared = Path("/dev/shm")
    place = shared if os.access(shared, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as name:
        yield Path(name) / "data"


@pytest.mark.slow
async def test_killed_twenty_times_while_writing_a_thousand_messages(folder: Path) -> None:
    program = Program(folder, module="tests.faults.chat_with_fake_embedder")
    rng = random.Random(7)
    following = 0
    for kill in range(KILLS):
        writer = Writer(program)
        # always more than it can answer before it is killed
        writer.write([statement(n) for n in range(following, following + 100)])
        acknowledged = following + writer.acknowledged(rng.randint(5, 45))
        acknowledged += writer.kill()
        assert await problems(program.folder) == [], f"after kill {kill + 1}"
        committed = _committed(program.folder)
        assert len(committed) >= acknowledged, f"after kill {kill + 1}"
        assert committed == Counter(range(len(committed))), f"after kill {kill + 1}"
        following = len(committed)
    assert 100 < following < MESSAGES
    rest = Writer(program)
    rest.write([statement(n) for n in range(following, MESSAGES)])
    assert rest.end() == MESSAGES - following
    assert _committed(program.folder) == Counter(range(MESSAGES))

    exported = program.run("facts", "export", "--user", "taro")
    assert exported.code == 0
    facts = Counter(item["text"].rstrip(".。") for item in json.loads(exported.out)["facts"])
    assert facts == Counter(statement(n).rstrip(".。") for n in range(MESSAGES))
    check = program.run("check")
    assert (check.code, check.err) == (0, "")


def _committed(folder: Path) -> Counter[int]:
    """How often each message is on disk, by its number: stored, or waiting in the inbox."""
    database = Database(f"sqlite:///{folder / 'oboete.db'}")
    numbers = {statement(n): n for n in range(MESSAGES + 200)}
    try:
        stored = database.inline("SELECT text FROM message WHERE role = 'user'")
        waiting = database.inline(
            "SELECT json_extract(payload, '$.text') FROM inbox WHERE done_at IS NULL"
            " AND NOT EXISTS (SELECT 1 FROM message WHERE platform_id = inbox.delivery)"
        )
        return Counter(numbers[text] for (text,) in [*stored, *waiting])
    finally:
        database.close()
