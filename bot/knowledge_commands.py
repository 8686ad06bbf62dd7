"""Commands about knowledge bases and their documents, under the request's `readable`."""

from __future__ import annotations

from bot.citing import extent
from bot.command_registry import Request, Run, identifier, join_lines, private
from bot.messages import Choice, Reply, Surface
from bot.place_names import PlaceNames
from bot.retracting import Retractions
from memory.errors import NotPermitted
from memory.knowledge import Knowledge, KnowledgeBase, Source
from memory.types import Message

SHOWN = 50
"""Most documents in one list."""


class KnowledgeCommands:
    """Lists and changes knowledge bases."""

    def __init__(
        self,
        knowledge: Knowledge,
        names: PlaceNames | None = None,
        retractions: Retractions | None = None,
    ) -> None:
        self._knowledge = knowledge
        self._retractions = retractions
        self._names = names or PlaceNames()

    def runs(self) -> dict[str, Run]:
        """What each command runs, by name."""
        return {"bases": self._bases, "sources": self._sources}

    # -- bases -----------------------------------------------------------------------------------

    async def _bases(self, request: Request) -> Reply:
        word, _, rest = request.argument.partition(" ")
        if word.lower() in {"new", "新規"}:
            return await self._new(request, rest.strip())
        if word.lower() in {"collect", "収集"}:
            return await self._collect(request, rest.strip())
        bases = await self._knowledge.bases(request.message.readable)
        if not bases:
            return private(request.say("There is no knowledge base that you can read here."))
        return private("\n".join([await self._line(base, request) for base in bases]))

    async def _line(self, base: KnowledgeBase, request: Request) -> str:
        say = request.say
        count = say.plural("{count} document", "{count} documents", base.sources)
        collects = ", " + say("collects the files posted there") if base.collects else ""
        readers = await self._names.readers(base.audience, say)
        return f"- **{base.name}**: {count}, {readers}{collects}"

    async def _new(self, request: Request, name: str) -> Reply:
        """A base for this place: anybody's in their DM, an admin's elsewhere."""
        message, say = request.message, request.say
        if message.surface is not Surface.DM and not message.author.is_admin:
            return private(say("Only an admin can do that."))
        if not name:
            return private(say("What shall the knowledge base be called?"))
        base = await self._knowledge.ensure_base(name, message.here, message.author.person)
        return private(
            say(
                "Knowledge base “{base}”: {readers} will be able to read it.",
                base=base.name,
                readers=await self._names.readers(base.audience, say),
            )
        )

    async def _collect(self, request: Request, argument: str) -> Reply:
        message, say = request.message, request.say
        name, _, switch = argument.rpartition(" ")
        if switch.lower() not in {"on", "off"}:
            return private(say("Say `bases collect NAME on` or `bases collect NAME off`."))
        if message.surface is not Surface.DM and not message.author.is_admin:
            return private(say("Only an admin can do that."))
        found = await self._knowledge.bases(message.readable, name=name)
        here = [base for base in found if base.audience == message.here]
        if not here:
            return private(say("This place has no knowledge base “{name}”.", name=name))
        on = switch.lower() == "on"
        await self._knowledge.collect(here[0], on)
        if not on:
            text = say("Files that are posted here stay out of “{base}”.", base=here[0].name)
            return Reply(text, notice=text)
        text = say(
            "From now on every file that is posted here goes into the knowledge base “{base}”.",
            base=here[0].name,
        )
        return Reply(text, notice=text)

    # -- documents -------------------------------------------------------------------------------

    async def _sources(self, request: Request) -> Reply:
        word, _, rest = request.argument.partition(" ")
        if word.lower() in {"remove", "delete", "削除"}:
            return await self._remove(request, rest)
        readable, say = request.message.readable, request.say
        known = await self._knowledge.sources(readable)
        if request.argument:
            named = {
                base.id for base in await self._knowledge.bases(readable, name=request.argument)
            }
            known = [source for source in known if source.base_id in named]
        if not known:
            return private(say("There is no document that you can read here."))
        lines = [_source_line(source, request) for source in known[-SHOWN:]]
        more = len(known) - len(lines)
        note = say.plural("… and {count} older one", "… and {count} older ones", more)
        return private(join_lines(*lines, note if more else ""))

    async def _remove(self, request: Request, argument: str) -> Reply:
        say = request.say
        numbers = argument.replace("#", " ").replace(",", " ").split()
        if not numbers or not all(number.isdecimal() for number in numbers):
            return private(say("Which documents? Give their numbers."))
        ids = [identifier(number) for number in numbers]
        if not request.confirmed:
            return await self._ask_to_remove(request, ids)
        actor, removed = request.actor, 0
        replies: list[Message] = []
        for id_ in ids:
            try:
                receipt = await self._knowledge.remove(
                    id_, actor.person, request.message.readable, is_admin=actor.is_admin
                )
            except NotPermitted:
                return private(say("There is no document {id} that is yours to remove.", id=id_))
            removed += 1
            replies += receipt.replies
        text = say.plural(
            "Removed: {count} document, with everything made from it.",
            "Removed: {count} documents, with everything made from them.",
            removed,
        )
        return self._offered(private(text), request, replies)

    def _offered(self, reply: Reply, request: Request, said: list[Message]) -> Reply:
        if self._retractions is None:
            return reply
        return self._retractions.offer(reply, request, said)

    async def _ask_to_remove(self, request: Request, ids: list[int]) -> Reply:
        known = [
            source
            for id_ in ids
            if (source := await self._knowledge.source_by_id(id_, request.message.readable))
        ]
        say = request.say
        if len(known) < len(ids):
            return private(say("There is no such document that is yours to remove."))
        confirm = Choice(
            say("Remove"), f"sources remove {' '.join(map(str, ids))} --yes", danger=True
        )
        lines = [_source_line(source, request) for source in known]
        how = say("To confirm: {command}", command=f"/memory {confirm.command}")
        return Reply(join_lines(*lines, how), choices=(confirm,), private=True)


def _source_line(source: Source, request: Request) -> str:
    day = request.say.date(source.added_at, request.time_zone)
    pages = extent(source, request.say)
    return f"- **{source.id}** {source.name} ({source.base}, {pages}, {day})"
