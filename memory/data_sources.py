"""Which databases are registered, and for whom. What is in them is never stored here."""

from __future__ import annotations

from memory.ports import Clock
from memory.store import data_sources
from memory.store.data_sources import DataSource
from memory.store.database import Database
from memory.types import Audience, Person, Readable

__all__ = ["DataSource", "DataSources"]


class DataSources:
    """The registered databases, each for one audience."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def register(
        self, name: str, location: str, audience: Audience, by: Person
    ) -> DataSource:
        """Register a database, in place of one of the same name and audience."""
        return await self._database.write(
            lambda s: data_sources.put(s, name, location, audience, by, self._clock())
        )

    async def listed(self, readable: Readable, *, name: str | None = None) -> list[DataSource]:
        """Readable databases, by name."""
        return await self._database.read(lambda s: data_sources.listed(s, readable, name))

    async def places(self) -> Readable:
        """Every place that has a database: for the owner of the machine."""
        return await self._database.read(data_sources.places)

    async def remove(self, source: DataSource) -> None:
        """Forget that the database is registered; the database itself stays as it is."""
        await self._database.write(lambda s: data_sources.remove(s, source.id))
