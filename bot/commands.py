"""Runs the commands of the registry. A platform hands over what was typed after `/memory`, or a
button's command, and shows the reply.

Everything is read under the request's `readable` and changed under its actor's permissions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bot.changing_commands import ChangingCommands
from bot.command_registry import BY_WORD, YES, Request, Run, private
from bot.extract import Extractor
from bot.forgetting_commands import BackupsUntil, ForgettingCommands
from bot.i18n import Translator
from bot.messages import IncomingMessage, Reply
from bot.place_commands import PlaceCommands
from bot.reading_commands import ReadingCommands
from bot.retracting import Retractions
from bot.undo import UndoStack
from memory.directory import Directory
from memory.long_term import LongTermMemory
from memory.ports import Clock


class Commands:
    """Runs commands."""

    def __init__(
        self,
        memory: LongTermMemory,
        directory: Directory,
        extractor: Extractor,
        clock: Clock,
        more: Mapping[str, Run] | None = None,
        *,
        backups_until: BackupsUntil = lambda: None,
        retractions: Retractions | None = None,
    ) -> None:
        """`more` are the commands of parts that are not always there, by name."""
        retractions = retractions or Retractions(clock)
        undo = UndoStack(clock)
        self._directory = directory
        self._reading = ReadingCommands(memory, extractor, clock)
        self._run: dict[str, Run] = {
            **self._reading.runs(),
            **ChangingCommands(memory, directory, undo).runs(),
            **ForgettingCommands(memory, extractor, undo, clock, backups_until, retractions).runs(),
            **retractions.runs(),
            **PlaceCommands(directory).runs(),
            **(more or {}),
        }

    async def run(
        self, text: str, message: IncomingMessage, say: Translator, *, in_words: bool = False
    ) -> Reply:
        """Run what was typed after `/memory`; an unknown word answers with the help.

        `in_words` is for commands said in plain words, whose name is `text`'s first word too.
        """
        word, _, rest = text.strip().partition(" ")
        words = rest.split()
        confirmed = YES in words
        argument = rest if in_words else " ".join(w for w in words if w != YES)
        command = BY_WORD.get(word.lower())
        name = command.name if command else word
        chosen = await self._directory.preferences(message.author.person)
        request = Request(
            message,
            argument.strip(),
            confirmed,
            in_words,
            say,
            chosen.time_zone or message.author.time_zone,
        )
        known = command is not None or in_words
        if not known or name not in self._run:
            unknown = say("I do not know the command “{word}”.", word=word) if word else ""
            shown = await self._reading.help(request)
            return replace(shown, text=f"{unknown}\n\n{shown.text}".strip())
        if command is not None and command.admin and not message.author.is_admin:
            return private(say("Only an admin can do that."))
        return await self._run[name](request)
