"""Starts and stops `tests.faults.feeding` as a process, and looks at what it left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from sqlmodel import col, select

from memory import maintenance
from memory.store import inbox, lease
from memory.store.database import Database
from memory.store.tombstones import Ledger
from memory.tables import FactRow, MessageRow
from tests.faults.feeding import NAMES, is_question, read_lines

ROOT = Path(__file__).parents[2]
SECONDS = 180.0
"""Longest wait for anything; it never decides whether a test passes when things are well."""


@dataclass
class Service:
    """`oboete run` with the feeding platforms, over one folder."""

    folder: Path
    count: int
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def start(self, *command: str, **changed: str) -> subprocess.Popen[bytes]:
        """Start it; `run` unless another command is given."""
        environment = {
            **os.environ,
            "OBOETE_DATA_DIR": str(self.data),
            "FEED_DIR": str(self.folder),
            "FEED_COUNT": str(self.count),
            **self.environment,
            **changed,
        }
        return subprocess.Popen(
            [sys.executable, "-m", "tests.faults.feeding", *(command or ("run",))],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def finish(self, **changed: str) -> str:
        """Run until everything has been handled; gives the log."""
        process = self.start(FEED_QUIT="1", **changed)
        _, err = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, err.decode()
        return err.decode()

    def delivered(self) -> list[str]:
        """Ids of the events that were answered, as often as they were."""
        return [line["event"] for name in NAMES for line in read_lines(self.folder / f"{name}.out")]

    def acknowledged(self) -> int:
        """How many messages have been acknowledged."""
        return sum(len(read_lines(self.folder / f"{name}.ack")) for name in NAMES)

    def wait_for(self, messages: int, process: subprocess.Popen[bytes]) -> None:
        """Wait until that many messages have been acknowledged."""
        end = time.monotonic() + SECONDS
        while self.acknowledged() < messages:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < end, "it takes no messages"
            time.sleep(0.01)

    async def serves(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until that process has the lease."""
        end = time.monotonic() + SECONDS
        database = self.open()
        try:
            while True:
                holder = await database.read(lambda s: lease.current(s, datetime.now(UTC)))
                if holder is not None and holder.pid == process.pid:
                    return
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < end, "it takes no lease"
                await asyncio.sleep(0.05)
        finally:
            database.close()

    def open(self) -> Database:
        return Database(f"sqlite:///{self.data / 'oboete.db'}")

    async def verify(self) -> None:
        """Nothing lost, nothing twice, nothing leaked, everything agrees."""
        expected = {f"{name}-{n}" for name in NAMES for n in range(self.count)}
        counted = Counter(self.delivered())
        assert set(counted) == expected
        assert {event: n for event, n in counted.items() if n > 1} == {}
        for name, other in (NAMES, NAMES[::-1]):
            for line in read_lines(self.folder / f"{name}.out"):
                assert other not in line["text"]
        await self.verify_memory()

    async def verify_memory(self) -> None:
        """Every message and every fact is there once, and everything agrees."""
        expected = {f"{name}-{n}" for name in NAMES for n in range(self.count)}
        database = self.open()
        try:
            said = await database.read(
                lambda s: list(
                    s.exec(select(MessageRow.platform_id).where(col(MessageRow.role) == "user"))
                )
            )
            assert Counter(said) == Counter(expected)
            learned = await database.read(lambda s: list(s.exec(select(FactRow.text))))
            stated = [n for n in range(self.count) if not is_question(n)]
            assert len(learned) == len(set(learned)) == len(NAMES) * len(stated)
            assert await database.read(inbox.depth) == 0
            problems = await database.read(lambda s: maintenance.check(s, Ledger(self.data)))
            assert problems == []
        finally:
            database.close()


def stop(process: subprocess.Popen[bytes]) -> tuple[int, float, str]:
    """SIGTERM; gives the exit code, the seconds it took, and the log."""
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=SECONDS)
    return process.returncode, time.monotonic() - began, err.decode()
