"""Backups as the jobs and the command line make them: to a folder, checked, and rotated."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from memory import backup
from memory.ports import Clock
from memory.store.database import Database
from memory.store.tombstones import Ledger

WEEK = timedelta(weeks=1)


@dataclass(frozen=True, slots=True)
class Made:
    """A backup that was made."""

    path: Path
    deleted: tuple[Path, ...]
    """Older ones that its rotation let go."""


class Backups:
    """Makes backups of one database."""

    def __init__(
        self, database: Database, ledger: Ledger, folder: Path, keep: int, clock: Clock
    ) -> None:
        self._database = database
        self._ledger = ledger
        self._clock = clock
        self.folder = folder
        self.keep = keep

    async def make(self, target: Path | None = None) -> Made:
        """Copy the database while it is used. Without `target` into the folder, which is rotated.

        Raises BackupFailed or StoreUnavailable.
        """
        # by the writer: no forgetting is half in the ledger and half in the database then
        position = await self._database.write(lambda _: self._ledger.position())
        path = target or self.folder / backup.name_of(self._clock())
        await asyncio.to_thread(backup.copy, self._database, path, position)
        deleted: list[Path] = []
        if target is None:
            deleted = await asyncio.to_thread(backup.rotate, self.folder, self.keep)
        return Made(path, tuple(deleted))

    async def weekly(self) -> dict[str, int]:
        """The weekly job: one more backup, and rotation."""
        made = await self.make()
        return {"made": 1, "deleted": len(made.deleted)}

    def expires(self) -> datetime | None:
        """When the newest backup there is now will have been rotated away; None without any.

        What is forgotten now is in the backups until then.
        """
        if not backup.backups(self.folder):
            return None
        return self._clock() + WEEK * self.keep
