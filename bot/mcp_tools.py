"""What a program may do with the memory on behalf of the person whose token it has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from bot.errors import ToolRefused
from bot.export import instant
from bot.messages import Reply
from memory.access import Access
from memory.long_term import LongTermMemory
from memory.types import Hit, Person, Readable

RunCommand = Callable[[Person, str], Awaitable[Reply]]
"""Runs what would be typed after `/memory`, as the person in their own DM."""

ReadableOf = Callable[[Person], Awaitable[Readable]]


class PersonalTools:
    """Implements `adapters.mcp_server.MemoryTools`.

    The token is looked up, and what is readable computed, at every call: a token that is revoked,
    or a place that is left, counts at once.
    """

    def __init__(
        self,
        access: Access,
        memory: LongTermMemory,
        run: RunCommand,
        readable: ReadableOf,
        token: str,
    ) -> None:
        self._access = access
        self._memory = memory
        self._run = run
        self._readable = readable
        self._token = token

    async def person(self) -> Person:
        """Whose token it is. Raises ToolRefused."""
        owner = await self._access.owner(self._token)
        if owner is None:
            raise ToolRefused
        return owner

    async def search(self, query: str, limit: int) -> list[dict[str, Any]]:
        """See `MemoryTools.search`."""
        person = await self.person()
        readable = await self._readable(person)
        hits = await self._memory.recall(query, readable, limit, asker=person)
        return [_as_data(hit) for hit in hits]

    async def remember(self, text: str) -> str:
        """See `MemoryTools.remember`."""
        # one line: what follows a command is its argument, and nothing of it an option
        words = " ".join(word for word in text.split() if not word.startswith("--"))
        return (await self._run(await self.person(), f"remember {words}")).text

    async def forget(self, numbers: list[int]) -> str:
        """See `MemoryTools.forget`."""
        person = await self.person()
        if not numbers or any(number < 1 for number in numbers):
            raise ToolRefused("Give the numbers of facts.")
        return (await self._run(person, f"forget {' '.join(map(str, numbers))} --yes")).text


def _as_data(hit: Hit) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": hit.ref.kind.name.lower(),
        "number": hit.ref.id,
        "text": hit.text,
        "when": instant(hit.said_at),
        "evidence": round(hit.evidence, 2),
    }
    if hit.fact is not None and hit.fact.valid_until is not None:
        found["until"] = instant(hit.fact.valid_until)
    if hit.chunk is not None:
        found |= {"source": hit.chunk.source, "page": hit.chunk.page}
    return found
