"""Commands about places and people: pause, resume, listen."""

from __future__ import annotations

from bot.command_registry import Request, Run, private
from bot.messages import Reply, Surface
from memory.directory import Directory


class PlaceCommands:
    """Changes what is stored where."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def runs(self) -> dict[str, Run]:
        """What each command runs, by name."""
        return {"pause": self._pause, "resume": self._resume, "listen": self._listen}

    async def _pause(self, request: Request) -> Reply:
        if request.argument.lower() in {"me", "私", "自分"}:
            person = request.message.author.person
            await self._directory.change_preferences(person, paused=True)
            return private(request.say("I no longer keep your words, anywhere."))
        await self._directory.change_place(request.message.here, paused=True)
        return _notice(request.say("Paused: I store nothing that is said here."))

    async def _resume(self, request: Request) -> Reply:
        if request.argument.lower() in {"me", "私", "自分"}:
            person = request.message.author.person
            await self._directory.change_preferences(person, paused=False)
            return private(request.say("I keep your words again."))
        await self._directory.change_place(request.message.here, paused=False)
        return _notice(request.say("Resumed: I store again what is addressed to me here."))

    async def _listen(self, request: Request) -> Reply:
        if request.message.surface is Surface.DM:
            return private(request.say("In a direct message I listen anyway."))
        if request.argument.lower() not in {"on", "off"}:
            return private(request.say("Say `listen on` or `listen off`."))
        on = request.argument.lower() == "on"
        await self._directory.change_place(request.message.here, listen=on)
        if on:
            return _notice(
                request.say(
                    "From now on I store and learn from everything people say in this channel."
                    " `/memory pause` stops it, for everybody."
                )
            )
        return _notice(request.say("I store only what is addressed to me again."))


def _notice(text: str) -> Reply:
    """What everybody in the place must see, whoever sees the exchange."""
    return Reply(text, notice=text)
