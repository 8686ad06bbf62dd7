"""What places and people have chosen, and the little the installation remembers of itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from sqlmodel import Session, col, select

from memory.store.database import Database
from memory.tables import KeyValueRow, PersonRow, PlaceMemberRow, PlaceRow
from memory.types import Audience, Person


class HasId(Protocol):
    """A stored record."""

    @property
    def id(self) -> int: ...


Numbered = TypeVar("Numbered", bound=HasId)


@dataclass(frozen=True, slots=True)
class Place:
    """Settings of one place."""

    public: bool = False
    paused: bool = False
    listen: bool = False
    greeted: bool = False


@dataclass(frozen=True, slots=True)
class Preferences:
    """Settings of one person."""

    paused: bool = False
    quiet: bool = False
    locale: str | None = None
    time_zone: str | None = None


class Standing(NamedTuple):
    """What is set for a place and for a person."""

    place: Place
    person: Preferences

    @property
    def paused(self) -> bool:
        """True when nothing of this person is stored here."""
        return self.place.paused or self.person.paused


def standing(database: Database, audience: Audience, person: Person) -> Standing:
    """What is set for both, read on the event loop's thread (`Database.inline`)."""
    place = database.inline(_PLACE_BY_KEY, (str(audience.now),))
    chosen = database.inline(_PERSON_BY_KEY, (str(person),))
    here = Place(*map(bool, place[0])) if place else Place()
    if not chosen:
        return Standing(here, Preferences())
    paused, quiet, locale, time_zone = chosen[0]
    return Standing(here, Preferences(bool(paused), bool(quiet), locale, time_zone))


def place(session: Session, audience: Audience) -> Place:
    row = session.get(PlaceRow, str(audience.now))
    return Place(row.public, row.paused, row.listen, row.greeted) if row else Place()


def set_place(session: Session, audience: Audience, chosen: Place) -> None:
    session.merge(
        PlaceRow(
            audience=str(audience.now),
            public=chosen.public,
            paused=chosen.paused,
            listen=chosen.listen,
            greeted=chosen.greeted,
        )
    )
    session.flush()


def public_places(session: Session, platform: str, tenant: str) -> list[Audience]:
    """Places of a tenant that are marked public, in order."""
    prefix = f"{platform}:{tenant}:"
    rows = session.exec(select(PlaceRow.audience).where(col(PlaceRow.public)))
    return sorted(Audience.parse(name) for name in rows if name.startswith(prefix))


def join(session: Session, audience: Audience, person: Person) -> None:
    session.merge(PlaceMemberRow(audience=str(audience), person=str(person)))
    session.flush()


def joined(session: Session, person: Person) -> list[Audience]:
    """The private places that the person is in, in order."""
    rows = session.exec(select(PlaceMemberRow.audience).where(PlaceMemberRow.person == str(person)))
    return sorted(Audience.parse(name) for name in rows)


def preferences(session: Session, person: Person) -> Preferences:
    row = session.get(PersonRow, str(person))
    if row is None:
        return Preferences()
    return Preferences(row.paused, row.quiet, row.locale, row.time_zone)


def set_preferences(session: Session, person: Person, chosen: Preferences) -> None:
    session.merge(
        PersonRow(
            person=str(person),
            paused=chosen.paused,
            quiet=chosen.quiet,
            locale=chosen.locale,
            time_zone=chosen.time_zone,
        )
    )
    session.flush()


def get_value(session: Session, key: str) -> str | None:
    row = session.get(KeyValueRow, key)
    return row.value if row else None


def set_value(session: Session, key: str, value: str) -> None:
    session.merge(KeyValueRow(key=key, value=value))
    session.flush()


def take_turn(session: Session, key: str, after: Callable[[int], list[Numbered]]) -> list[Numbered]:
    """The next in a round that has no end: `after` gives what follows an id, in the order of ids.

    Where it stands is kept under `key`; past the last it begins again.
    """
    last = int(get_value(session, key) or 0)
    due = after(last)
    if not due and last:
        due = after(0)
    set_value(session, key, str(due[-1].id if due else 0))
    return due


def value_keys(session: Session, prefix: str) -> list[str]:
    """The keys that begin with `prefix`, in order."""
    rows = session.exec(
        select(KeyValueRow.key)
        .where(col(KeyValueRow.key).startswith(prefix, autoescape=True))
        .order_by(col(KeyValueRow.key))
    )
    return list(rows)


def listening_places(session: Session) -> list[Audience]:
    """Places in which everything said is stored."""
    rows = session.exec(
        select(PlaceRow.audience).where(col(PlaceRow.listen), ~col(PlaceRow.paused))
    )
    return [Audience.parse(name) for name in rows]


_PLACE_BY_KEY = "SELECT public, paused, listen, greeted FROM place WHERE audience = ?"
_PERSON_BY_KEY = "SELECT paused, quiet, locale, time_zone FROM person WHERE person = ?"
