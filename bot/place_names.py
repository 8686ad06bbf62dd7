"""What people call places, for sentences that tell who will read something."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from bot.admin_places import ADMINS
from bot.i18n import Translator
from memory.types import Audience


@runtime_checkable
class Naming(Protocol):
    """A platform whose places have names."""

    async def place_name(self, place: Audience, locale: str) -> str:
        """As people see it, such as `#general`; empty when it is not known."""
        ...


class PlaceNames:
    """Asks the platforms that are served. A place whose name is not known is called by its id."""

    def __init__(self) -> None:
        self._platforms: dict[str, Naming] = {}

    def attach(self, platforms: Mapping[str, object]) -> None:
        """From now on these platforms are asked, where their places have names."""
        self._platforms = {n: p for n, p in platforms.items() if isinstance(p, Naming)}

    async def readers(self, place: Audience, say: Translator) -> str:
        """Who can read a place, in words."""
        if place == ADMINS:
            return say("only administrators")
        platform = self._platforms.get(place.platform)
        name = await platform.place_name(place, say.language) if platform is not None else ""
        return say("everybody who can read {place}", place=name or place.name)
