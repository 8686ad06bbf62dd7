"""`oboete run` itself, as a process, and what can be seen of it from outside."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.program import Program
from tests.ollama_double import OllamaDouble

PATIENCE = 60.0
"""Seconds that nothing takes longer than, however busy the machine."""
CHAT = "ollama:qwen3:4b"
"""A chat model that `OllamaDouble` has."""


@dataclass(slots=True)
class Served:
    """The program serving chat platforms, and its data folder."""

    program: Program
    log: Path
    """What it wrote on standard error, over all starts."""
    process: subprocess.Popen[bytes] | None = None

    async def start(self, *arguments: str, ready: Callable[[], Any]) -> None:
        """Start it and wait until `ready()` holds."""
        self.program.folder.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", self.program.module, "run", *arguments],
                env=self.program.environment,
                cwd=self.program.folder.parent,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        await self.until(ready)

    async def stop(self) -> None:
        """End it as an operator does."""
        await self._end(signal.SIGINT)

    async def kill(self) -> None:
        """End it as `kill -9` does, or a power cut."""
        await self._end(signal.SIGKILL)

    async def _end(self, how: signal.Signals) -> None:
        process, self.process = self.process, None
        if process is not None:
            process.send_signal(how)
            await asyncio.to_thread(process.wait, PATIENCE)

    async def until(self, holds: Callable[[], Any], *, seconds: float = PATIENCE) -> None:
        """Wait until `holds()`; fails when the program ends before, or at last."""
        deadline = time.monotonic() + seconds
        while not holds():
            if self.process is not None and self.process.poll() is not None:
                raise AssertionError(f"the program ended:\n{self.log_text()[-3000:]}")
            if time.monotonic() > deadline:
                raise AssertionError(f"nothing came of it:\n{self.log_text()[-3000:]}")
            await asyncio.sleep(0.02)

    def log_text(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    # --- what it has stored -------------------------------------------------------------

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Rows of its database, read beside it."""
        address = f"file:{self.program.folder / 'oboete.db'}?mode=ro"
        with contextlib.closing(sqlite3.connect(address, uri=True, timeout=10)) as connection:
            return connection.execute(sql, values).fetchall()

    def outcome(self, platform: str, delivery: str) -> str | None:
        """What came of an event; None while it is not handled to its end."""
        found = self.rows(
            "SELECT outcome FROM inbox WHERE platform = ? AND delivery = ? AND done_at NOTNULL",
            platform,
            delivery,
        )
        return str(found[0][0]) if found else None

    def open_events(self) -> int:
        """Events that are on disk and not handled to their end."""
        return int(self.rows("SELECT count(*) FROM inbox WHERE done_at IS NULL")[0][0])

    def stored(self, words: str) -> bool:
        """True when the words are in any row of any table."""
        address = f"file:{self.program.folder / 'oboete.db'}?mode=ro"
        with contextlib.closing(sqlite3.connect(address, uri=True, timeout=10)) as connection:
            return any(words in line for line in connection.iterdump())

    def on_disk(self, words: str) -> list[str]:
        """Names of the files in its data folder in which the words are, as UTF-8 or UTF-16."""
        found = []
        for path in sorted(p for p in self.program.folder.rglob("*") if p.is_file()):
            data = path.read_bytes()
            if any(words.encode(coding) in data for coding in ("utf-8", "utf-16-le")):
                found.append(path.name)
        return found


@contextlib.asynccontextmanager
async def served(folder: Path, ollama: OllamaDouble, **settings: str) -> AsyncIterator[Served]:
    """A program that is not started yet, with the double's quick embeddings; ended at last."""
    given = {
        "OBOETE_EMBEDDER": "ollama:bge-m3",
        "OBOETE_CHAT_MODEL": "none",
        "OLLAMA_HOST": ollama.url,
        "OBOETE_LOG_LEVEL": "info",
        **settings,
    }
    program = Served(Program(folder / "data", given), folder / "oboete.log")
    try:
        yield program
    finally:
        await program.stop()
