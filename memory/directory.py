"""What places and people have chosen, and small facts about the installation."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from sqlmodel import Session

from memory.ports import Clock
from memory.privacy import PrivateTimes
from memory.store import access_tokens, locks, places, reminders
from memory.store.database import Database
from memory.store.places import Place, Preferences, Standing
from memory.types import Audience, Person, Readable

__all__ = ["Directory", "Place", "Preferences"]


class Directory:
    """Settings of places and people. Holds nothing that anybody said."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self.privacy = PrivateTimes(database, clock)
        self._listening: set[Audience] = set()
        self._locked: set[tuple[str, str]] = set()

    async def place(self, audience: Audience) -> Place:
        return await self._database.read(lambda s: places.place(s, audience))

    def _note(self, audience: Audience, chosen: Place) -> None:
        if chosen.listen and not chosen.paused:
            self._listening.add(audience)
        else:
            self._listening.discard(audience)

    async def change_place(self, audience: Audience, **changed: bool) -> None:
        """Change some of a place's settings, whatever else changes at the same time.

        Whether it is `public` is kept here for the console's places; others ask their servers.
        """
        if "public" in changed:
            await (self.privacy.opened if changed["public"] else self.privacy.closed)([audience])

        def change(session: Session) -> Place:
            chosen = replace(places.place(session, audience), **changed)
            places.set_place(session, audience, chosen)
            return chosen

        self._note(audience, await self._database.write(change))

    async def change_preferences(self, person: Person, *, paused: bool) -> None:
        """Keep a person's words, or not, whatever else changes at the same time."""
        await self._database.write(
            lambda s: places.set_preferences(
                s, person, replace(places.preferences(s, person), paused=paused)
            )
        )

    async def preferences(self, person: Person) -> Preferences:
        return await self._database.read(lambda s: places.preferences(s, person))

    def standing(self, audience: Audience, person: Person) -> Standing:
        """What is set for a place and for a person, at one moment.

        Two look-ups by key for every message: sooner done than handed to a thread.
        """
        return places.standing(self._database, audience, person)

    async def set_preferences(self, person: Person, chosen: Preferences) -> None:
        await self._database.write(lambda s: places.set_preferences(s, person, chosen))

    async def join(self, audience: Audience, person: Person) -> None:
        """Note that the person is in a private place of the console."""
        await self._database.write(lambda s: places.join(s, audience, person))

    async def readable_in_dm(self, person: Person, dm: Audience) -> Readable:
        """The DM, the tenant's public places, and the private ones the person has joined, with
        their earlier times.

        For platforms whose membership is kept here (the console); others ask their servers.
        """

        def find(session: Session) -> tuple[list[Audience], list[Audience]]:
            public = places.public_places(session, person.platform, person.tenant)
            return public, places.joined(session, person)

        public, joined = await self._database.read(find)
        return Readable(frozenset([dm, *public]) | await self.privacy.of_members(joined))

    async def readable_in(self, channel: Audience) -> Readable:
        """The tenant's public places, and the channel itself, with its earlier times while it is
        private.
        """
        public = await self._database.read(
            lambda s: places.public_places(s, channel.platform, channel.tenant)
        )
        return Readable(frozenset(public) | await self.privacy.of_members([channel]))

    async def get(self, key: str) -> str | None:
        """A value that the installation keeps for itself."""
        return await self._database.read(lambda s: places.get_value(s, key))

    async def put(self, key: str, value: str) -> None:
        await self._database.write(lambda s: places.set_value(s, key, value))

    async def keys(self, prefix: str) -> list[str]:
        """The keys that begin with `prefix`, in order."""
        return await self._database.read(lambda s: places.value_keys(s, prefix))

    def listens(self, audience: Audience) -> bool:
        """True where everything said is wanted; answered from memory, so at once."""
        return audience in self._listening

    async def load(self) -> None:
        """Read what must be known at once."""
        self._listening = set(await self._database.read(places.listening_places))
        self._locked = set(await self._database.read(locks.locked))

    async def lock_tenant(self, platform: str, tenant: str, since: datetime) -> None:
        """Oboete was uninstalled there: nothing is read of its places any more, until it is
        installed again or the tenant is erased (`memory.uninstalled`).
        """
        await self._database.write(lambda s: locks.lock(s, platform, tenant, since))
        self._locked.add((platform, tenant))

    async def unlock_tenant(self, platform: str, tenant: str) -> None:
        """It is used again."""
        await self._database.write(lambda s: locks.unlock(s, platform, tenant))
        self._locked.discard((platform, tenant))

    def is_locked(self, platform: str, tenant: str) -> bool:
        """True while a tenant is locked; answered from memory, so at once."""
        return (platform, tenant) in self._locked

    async def locked_since(self, platform: str, tenant: str) -> datetime | None:
        """When the tenant uninstalled Oboete; None for one that uses it."""
        return (await self._database.read(locks.locked)).get((platform, tenant))

    async def deactivate(self, person: Person) -> None:
        """The person left: their words stop being kept, their DM is closed, tokens are void, and
        nothing is posted for them any more.
        """

        def stop(session: Session) -> None:
            access_tokens.revoke_all(session, person)
            reminders.remove_for_person(session, person)

        await self._database.write(stop)
        await self.change_preferences(person, paused=True)
