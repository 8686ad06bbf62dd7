"""Commands that read: list, search, export, why, help."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace

from bot import export
from bot.citing import label
from bot.command_registry import (
    REGISTRY,
    Request,
    Run,
    identifier,
    join_lines,
    line,
    private,
)
from bot.extract import Extractor
from bot.messages import FileReply, Reply
from memory.long_term import LongTermMemory
from memory.ports import Clock
from memory.store.changes import Change, Entry
from memory.types import Fact, Kind, Person

SEARCH_RESULTS = 10

MOST_LINKS = 5
"""Links to the messages behind a fact that are shown."""

_FACT = re.compile(r"^(?:fact|記憶|事実)\s*#?(?P<number>\d{1,12})$", re.IGNORECASE)


async def finish_reading(memory: LongTermMemory, extractor: Extractor, request: Request) -> str:
    """Read what the person said so far; a sentence when some of it cannot be read yet."""
    person = request.message.author.person
    await extractor.drain(author=person)
    left = await memory.unread(person)
    if not left:
        return ""
    return request.say.plural(
        "{count} message of yours is still being read.",
        "{count} messages of yours are still being read.",
        left,
    )


class ReadingCommands:
    """Shows what is known, under the request's `readable`."""

    def __init__(self, memory: LongTermMemory, extractor: Extractor, clock: Clock) -> None:
        self._memory = memory
        self._extractor = extractor
        self._clock = clock

    def runs(self) -> dict[str, Run]:
        """What each command runs, by name."""
        return {
            "list": self._list,
            "search": self._search,
            "export": self._export,
            "why": self._why,
            "help": self.help,
        }

    async def _list(self, request: Request) -> Reply:
        note = await finish_reading(self._memory, self._extractor, request)
        person, readable = request.message.author.person, request.message.readable
        everything = await self._memory.facts_about(person, readable, past=True)
        if not everything:
            return private(join_lines(request.say("I know nothing about you yet."), note))
        now = self._clock()
        known = [fact for fact in everything if fact.is_current(now)]
        past = [fact for fact in everything if not fact.is_current(now)]
        heading = request.say.plural(
            "I know {count} thing about you:", "I know {count} things about you:", len(known)
        )
        before = request.say("What was so before:") if past else ""
        names = await self._names(everything, request)
        lines = [line(fact, request, names) for fact in known]
        once = [line(fact, request, names) for fact in past]
        told = join_lines(heading if known else "", *lines, before, *once, note)
        return replace(private(told), facts=(*known, *past))

    async def _search(self, request: Request) -> Reply:
        if not request.argument:
            return private(request.say("What shall I search for?"))
        note = await finish_reading(self._memory, self._extractor, request)
        hits = await self._memory.recall(
            request.argument, request.message.readable, SEARCH_RESULTS, kinds=(Kind.FACT,)
        )
        found = [hit.fact for hit in hits if hit.fact is not None]
        if not found:
            return private(join_lines(request.say("I found nothing."), note))
        names = await self._names(found, request)
        lines = [line(fact, request, names) for fact in found]
        return replace(private(join_lines(*lines, note)), facts=tuple(found))

    async def _export(self, request: Request) -> Reply:
        note = await finish_reading(self._memory, self._extractor, request)
        person, readable = request.message.author.person, request.message.readable
        known = await self._memory.facts_about(person, readable, past=True)
        said = await self._memory.messages_of(person, readable)
        if request.argument.lower() in {"markdown", "md"}:
            data = export.to_markdown(person, known, said, request.say, request.time_zone)
            file = FileReply("oboete-export.md", "text/markdown", data.encode())
        else:
            text = json.dumps(export.to_json(person, known, said), ensure_ascii=False, indent=2)
            file = FileReply("oboete-export.json", "application/json", text.encode())
        told = request.say.plural(
            "Here is your export: {count} fact, and your own messages.",
            "Here is your export: {count} facts, and your own messages.",
            len(known),
        )
        return replace(private(join_lines(told, note)), file=file)

    async def _names(self, known: Sequence[Fact], request: Request) -> dict[Person, str]:
        return await self._memory.names({fact.speaker for fact in known}, request.message.readable)

    async def _why(self, request: Request) -> Reply:
        about_fact = _FACT.match(request.argument)
        if about_fact:
            return await self._why_fact(int(about_fact["number"]), request)
        number = identifier(request.argument) if request.argument.isdecimal() else None
        asker, audience = request.message.author.person, request.message.here
        trace = await self._memory.trace(asker, audience, number)
        if trace is None:
            return private(request.say("There is no answer of mine to explain here."))
        hits = trace.steps.get("hits", [])
        ids = [item["id"] for item in hits if item["kind"] == Kind.FACT.name.lower()]
        known = {f.id: f for f in await self._memory.facts_by_id(ids, request.message.readable)}
        pieces = [item["id"] for item in hits if item["kind"] == Kind.CHUNK.name.lower()]
        chunks = await self._memory.chunks_by_id(pieces, request.message.readable)
        # the query is made of words of the conversation: for those who can read that now
        shown = await self._memory.exchange(trace, request.message.readable)
        query = trace.steps.get("query") if shown is not None else ""
        lines = [
            request.say("Searched for: {query}", query=query or "–"),
            request.say("Route: {route}", route=trace.steps.get("route", "–")),
            request.say("Model calls: {calls}", calls=trace.steps.get("calls", 0)),
            request.say("Milliseconds: {ms}", ms=trace.steps.get("ms", 0)),
        ]
        for item in hits:
            mark = "✓" if item["used"] else "·"
            fact = known.get(item["id"]) if item["kind"] == "fact" else None
            chunk = chunks.get(item["id"]) if item["kind"] == "chunk" else None
            text = fact.text if fact else f"{item['kind']} {item['id']}"
            text = label(chunk, request.say) if chunk else text
            lines.append(f"{mark} {item['score']:+.2f} {text}")
        return private("\n".join(f"- {text}" for text in lines))

    async def help(self, request: Request) -> Reply:
        lines = [request.say("Commands, after /memory:")]
        for command in REGISTRY:
            if command.hidden or (command.admin and not request.message.author.is_admin):
                continue
            usage = f"{command.name} {command.argument}".strip()
            lines.append(f"- `{usage}`: {request.say(command.summary)}")
        lines.append(request.say("In plain words: “remember that …”, “forget …”, “undo”."))
        return private("\n".join(lines))

    async def _why_fact(self, number: int, request: Request) -> Reply:
        """What a fact rests on and what changed it; of one that is gone, an admin learns how."""
        say, readable = request.say, request.message.readable
        known = await self._memory.facts_by_id([number], readable)
        changed = await self._memory.changes(number, readable)
        if not known and not (changed and request.actor.is_admin):
            return private(say("I know nothing by that number."))
        lines = []
        for fact in known:
            names = await self._names(known, request)
            lines.append(line(fact, request, names))
            lines.append(say.plural("Said {count} time.", "Said {count} times.", fact.confirmed))
            links = list(dict.fromkeys(e.permalink for e in fact.evidence if e.permalink))
            lines += [f"- {link}" for link in links[:MOST_LINKS]]
        lines += [f"- {_told(entry, request)}" for entry in changed]
        return private("\n".join(lines))


def _told(entry: Entry, request: Request) -> str:
    """One change of a fact, in words."""
    say = request.say
    texts = {
        Change.SUPERSEDED: say("a later value took its place"),
        Change.REVIVED: say("current again: the source of the later value is gone"),
        Change.CLOSED: say("stays in the past: the later value was forgotten"),
        Change.PASSED: say("its time was over"),
        Change.MERGED: say("brought together with the same in other words"),
        Change.FORGOTTEN: say("forgotten"),
        Change.WITHDRAWN: say("gone: its message was edited or deleted"),
        Change.EXPIRED: say("gone: older than is kept"),
        Change.MERGED_AWAY: say("brought together with the same in other words"),
    }
    cause = f" ({entry.cause})" if entry.cause is not None else ""
    return f"{say.date(entry.at, request.time_zone)}: {texts[entry.change]}{cause}"
