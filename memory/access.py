"""Tokens by which programs ask on behalf of one person."""

from __future__ import annotations

from memory.ports import Clock
from memory.store import access_tokens
from memory.store.access_tokens import AccessToken
from memory.store.database import Database
from memory.types import Person

__all__ = ["Access", "AccessToken"]


class Access:
    """Issues and revokes tokens."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def issue(self, person: Person, label: str) -> str:
        """Make a token; gives its secret, which is never shown again."""
        return await self._database.write(
            lambda s: access_tokens.issue(s, person, label, self._clock())
        )

    async def owner(self, secret: str) -> Person | None:
        """Whose token this is; None for one that is not valid (any more)."""
        return await self._database.write(lambda s: access_tokens.owner(s, secret, self._clock()))

    async def tokens(self) -> list[AccessToken]:
        """All tokens, without their secrets."""
        return await self._database.read(access_tokens.listed)

    async def revoke(self, token_id: int) -> bool:
        """Make a token worthless; False when there is none of that number."""
        return await self._database.write(lambda s: access_tokens.revoke(s, token_id))
