"""The terminal: a conversation in it, and a question put on the command line."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TextIO

from adapters.console_platform import DEFAULT_TENANT, ConsolePlatform, dm
from bot.app import App, serving
from bot.messages import Author, EventKind, IncomingMessage, Surface
from memory.redaction import redact
from memory.types import Audience, Person

NOBODY = Person(ConsolePlatform.name, DEFAULT_TENANT, "nobody")
"""Asks where only the channel matters."""


async def chat(
    app: App,
    person: Person,
    channel: Audience | None,
    *,
    private: bool = False,
    trace: bool = False,
    source: TextIO | None = None,
    out: TextIO | None = None,
) -> bool:
    """Talk until the input ends; False when whoever read the answers has gone.

    `source` and `out` are those of the process unless given.
    """

    async def explain(trace_id: int) -> str:
        found = await app.memory.trace(person, channel or dm(person), trace_id)
        return "" if found is None else f"{dict(found.steps)}"

    platform = ConsolePlatform(
        app.dispatcher,
        person,
        channel,
        lambda: app.readable(person, None),
        channel_readable=(lambda: app.readable(None, channel)) if channel else None,
        is_admin=str(person) in app.settings.admins,
        private_channel=private,
        locale=app.settings.locale,
        time_zone=app.settings.time_zone,
        redact=lambda text: redact(text).text,
        trace=explain if trace else None,
        source=source,
        out=out,
    )
    async with serving(app, [platform]):
        if channel is not None and channel.platform == ConsolePlatform.name:
            await app.directory.change_place(channel, public=not private)
            if private:
                await app.directory.join(channel, person)
        talk = asyncio.create_task(platform.run())
        stuck = asyncio.create_task(app.dispatcher.stuck())
        try:
            await asyncio.wait({talk, stuck}, return_when=asyncio.FIRST_COMPLETED)
            if not talk.done():
                raise stuck.result()
            await talk
        finally:
            talk.cancel()
            stuck.cancel()
        await app.extractor.drain()
        await app.memory.embedding.drain()
    return not platform.closed


async def question(
    app: App, text: str, person: Person | None, channel: Audience | None, *, plain: bool = False
) -> IncomingMessage:
    """A question put on the command line, by a person in their DM or by anybody in a channel."""
    place = channel if channel is not None else dm(person or NOBODY)
    asker = person or replace(NOBODY, platform=place.platform, tenant=place.tenant)
    now = app.clock()
    return IncomingMessage(
        platform=place.platform,
        tenant=place.tenant,
        event_id=f"cli-{now.timestamp()}",
        kind=EventKind.MESSAGE,
        surface=Surface.DM if channel is None else Surface.PUBLIC,
        channel=str(place),
        message_id=f"cli-{now.timestamp()}",
        author=Author(
            asker,
            asker.name,
            time_zone=app.settings.time_zone,
            is_admin=str(asker) in app.settings.admins,
        ),
        text=text,
        sent_at=now,
        audience=place,
        readable=await app.readable(person, channel),
        conversation=f"cli-{now.timestamp()}",
        locale=app.settings.locale,
        plain=plain,
    )
