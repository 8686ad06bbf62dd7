"""`oboete run` serving the Discord double, with verbs for what people do and see there."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from tests.e2e.discord_double import DiscordDouble
from tests.e2e.discord_people import Interaction
from tests.e2e.discord_world import BOT, DM, TEXT, Channel, Guild, Json, Person
from tests.e2e.served import Served, served
from tests.ollama_double import OllamaDouble


class DiscordRun:
    """The program and the Discord that it serves."""

    def __init__(self, discord: DiscordDouble, program: Served) -> None:
        self.discord = discord
        self.world = discord.world
        self.program = program

    async def start(self) -> None:
        """Start the program and wait until it receives."""
        before = len(self.discord.logins)
        await self.program.start(
            ready=lambda: len(self.discord.logins) > before and self.discord.is_connected
        )

    async def handled(self, delivery: str) -> str:
        """Wait until an event has been handled to its end; what came of it."""
        await self.program.until(lambda: self.program.outcome("discord", delivery))
        return str(self.program.outcome("discord", delivery))

    # --- people -------------------------------------------------------------------------

    def person(self, name: str) -> Person:
        return self.world.person(name)

    async def guild(self, name: str, *members: Person, locale: str = "en-US") -> Guild:
        """A guild with a public channel `general`, where the bot is and has greeted."""
        guild = self.world.guild(name, *members)
        guild.locale = locale
        self.world.channel(guild, "general")
        await self.discord.join(guild)
        await self.program.until(lambda: self.shown_in(self.channel(guild, "general")))
        return guild

    def channel(self, guild: Guild, name: str) -> Channel:
        return next(
            c for c in self.world.channels.values() if (c.guild, c.name) == (guild.id, name)
        )

    async def open_channel(self, channel: Channel) -> Channel:
        """Tell the program of a channel or thread that was made after the guild."""
        event = "THREAD_CREATE" if channel.is_thread else "CHANNEL_CREATE"
        await self.discord.emit(event, self.world.channel_body(channel))
        return channel

    async def say(self, who: Person, channel: Channel, text: str, **more: Any) -> Json:
        """Say something that is addressed to the bot and wait until that has been handled."""
        said = await self.discord.say(who, channel, text, **more)
        await self.handled(f"message:{said['id']}")
        return said

    async def mention(self, who: Person, channel: Channel, text: str) -> str:
        """Mention the bot (a DM needs no mention); what it answers."""
        return self.answer(channel, await self.ask(who, channel, text))

    async def ask(self, who: Person, channel: Channel, text: str) -> Json:
        """The same, giving what was said."""
        return await self.say(who, channel, text if channel.type == DM else f"<@{BOT}> {text}")

    async def edit(self, channel: Channel, message: Json, text: str) -> None:
        await self.discord.edit(channel, message, text)
        where = "discord", f"edit:{message['id']}:%"
        sql = "SELECT 1 FROM inbox WHERE platform = ? AND delivery LIKE ? AND done_at NOTNULL"
        await self.program.until(lambda: self.program.rows(sql, *where))

    async def delete(self, channel: Channel, *messages: Json) -> None:
        await self.discord.delete(channel, *messages)
        for message in messages:
            await self.handled(f"delete:{message['id']}")

    async def command(
        self, who: Person, channel: Channel, name: str, *, locale: str = "en-US", **options: str
    ) -> Interaction:
        """`/memory NAME`, to its answer."""
        given: dict[str, Any] = dict(options)
        made = await self.discord.slash(who, channel, name, locale=locale, **given)
        await self.handled(f"interaction:{made.id}")
        return made

    async def suggested(self, who: Person, channel: Channel, typed: str) -> list[Json]:
        """What is offered while somebody types after `/memory forget`."""
        made = await self.discord.slash(who, channel, "forget", focused="what", what=typed)
        await self.program.until(lambda: made.response)
        assert made.response is not None
        offered: list[Json] = made.response["data"]["choices"]
        return offered

    async def menu(self, who: Person, channel: Channel, name: str, target: Json) -> Interaction:
        made = await self.discord.menu(who, channel, name, target)
        await self.handled(f"interaction:{made.id}")
        return made

    async def press(self, who: Person, channel: Channel, message: Json, label: str) -> Interaction:
        """Press a button that acts at once."""
        made = await self.discord.press(who, channel, message, label)
        await self.handled(f"interaction:{made.id}")
        return made

    async def confirm(
        self, who: Person, channel: Channel, message: Json, label: str
    ) -> Interaction:
        """Press a button that asks first, and say yes."""
        form = await self.discord.press(who, channel, message, label)
        await self.program.until(lambda: form.response)
        made = await self.discord.submit(form, "yes")
        await self.handled(f"interaction:{made.id}")
        return made

    # --- what is seen -------------------------------------------------------------------

    def answer(self, channel: Channel, said: Json) -> str:
        """All that the bot answered to a message, wherever it did."""
        return "\n".join(map(everything, self.answers(channel, said)))

    def answers(self, channel: Channel, said: Json) -> list[Json]:
        thread = self.world.channels.get(int(said["id"]))
        places = [thread] if thread is not None and channel.type == TEXT else [channel]
        return [m for place in places for m in _bots(place) if int(m["id"]) > int(said["id"])]

    def shown_in(self, channel: Channel) -> str:
        """All that the bot ever posted there."""
        return "\n".join(map(everything, _bots(channel)))

    def mark(self) -> int:
        """A moment, for `sent_since`."""
        return len(self.discord.requests)

    def sent_since(self, mark: int) -> str:
        """All that the program has sent to Discord since then, wherever: text, embeds, buttons,
        suggestions, names of threads, files."""
        return "\n".join(
            json.dumps(request.body, ensure_ascii=False, default=_readable)
            for request in self.discord.requests[mark:]
            if request.method in ("POST", "PUT", "PATCH") and request.body
        )


def _bots(channel: Channel) -> list[Json]:
    return [m for m in channel.messages.values() if m["author"]["id"] == str(BOT)]


def _readable(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else repr(value)


def everything(message: Json) -> str:
    """All that a reader can see of a message: text, embeds, buttons."""
    embeds = [e.get(part, "") for e in message["embeds"] for part in ("title", "description")]
    return "\n".join([message["content"], *embeds, *labels(message)])


def labels(message: Json) -> list[str]:
    """Labels of the buttons that can be pressed."""
    return [
        button["label"]
        for row in message["components"]
        for button in row["components"]
        if not button.get("disabled")
    ]


def addresses(discord: DiscordDouble) -> dict[str, str]:
    """Settings that send the program to the double."""
    return {
        "DISCORD_TOKEN": discord.token,
        "OBOETE_DISCORD_API_URL": discord.api_url,
        "OBOETE_DISCORD_GATEWAY_URL": discord.gateway_url,
    }


@contextlib.asynccontextmanager
async def discord_run(
    folder: Path, ollama: OllamaDouble, *, discord: DiscordDouble | None = None, **settings: str
) -> AsyncIterator[DiscordRun]:
    """The program serving a Discord in which there is nobody yet."""
    discord = discord or DiscordDouble()
    async with discord.serve():
        given = {**addresses(discord), **settings}
        async with served(folder, ollama, **given) as program:
            run = DiscordRun(discord, program)
            await run.start()
            yield run
