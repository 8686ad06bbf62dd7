"""From an event of the inbox to an `IncomingMessage`, with what may be read worked out live."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import discord

from adapters.discord_audiences import (
    DIRECT,
    PLATFORM,
    Audiences,
    GuildChannel,
    Where,
    direct_place,
    is_guest,
    person,
)
from adapters.discord_events import Self, moment
from adapters.discord_interactions import LOCALE
from adapters.discord_recorder import Recorder
from adapters.discord_state import KeyValue, Rules
from bot.messages import (
    Attachment,
    Author,
    EventKind,
    InboxEvent,
    IncomingMessage,
    Mention,
    Surface,
    Turn,
)
from memory.types import Audience, Readable

CONTEXT_MESSAGES = 20
"""How many messages of a thread, before the bot was first mentioned there, go with a question."""

NOBODY = "0"
"""Stands for the author of a message that is gone, and of what happens to a guild."""

Channel = GuildChannel | discord.Thread


class Incoming:
    """Reads events of the inbox for one connected client."""

    def __init__(
        self,
        client: discord.Client,
        *,
        audiences: Audiences,
        recorder: Recorder,
        keep: KeyValue,
        rules: Rules,
        me: Callable[[], Self],
    ) -> None:
        self._client = client
        self._audiences = audiences
        self._recorder = recorder
        self._keep = keep
        self._rules = rules
        self._me = me

    async def read(self, event: InboxEvent) -> IncomingMessage:
        """Normalise an event. Raises KeyError or ValueError for a payload that is not ours."""
        body = event.payload
        kind = EventKind(body["type"])
        guild_id = int(body["guild"]) if body["guild"] else None
        guild = self._client.get_guild(guild_id) if guild_id else None
        channel = await self._channel(guild, int(body["channel"]))
        where = await self._where(body, guild_id, channel)
        author, language = await self._author(body, guild)
        thread = channel if isinstance(channel, discord.Thread) else None
        message = IncomingMessage(
            platform=PLATFORM,
            tenant=event.tenant,
            event_id=event.delivery,
            kind=kind,
            surface=where.surface,
            channel=body["channel"],
            message_id=body["id"],
            author=author,
            text=body.get("text", ""),
            sent_at=moment(body["sent_at"]),
            audience=where.audience,
            readable=where.readable,
            conversation=body["conversation"],
            parent_channel=str(thread.parent_id) if thread else None,
            thread=str(thread.id) if thread else None,
            revision=body.get("revision", ""),
            mention=Mention(body.get("mention", "none")),
            addressed=body.get("addressed", True),
            answer=not body.get("gap", False),
            references=tuple((name, person(user)) for name, user in body.get("references", ())),
            attachments=tuple(Attachment(**a) for a in body.get("attachments", ())),
            reply_to=body.get("reply_to"),
            locale=body.get("locale") or language,
            permalink=f"https://discord.com/channels/{body['guild'] or DIRECT}"
            f"/{body['channel']}/{body['id']}",
            quoted=body.get("quoted", ""),
            arguments=dict(body.get("arguments", {})),
        )
        if "token" in body:
            return await self._for_asker_alone(message, guild_id, where)
        if thread and message.addressed and kind is not EventKind.DELETE:
            return replace(message, context=await self._context(thread))
        return message

    async def readable_now(self, message: IncomingMessage) -> Readable:
        """What the answer to a message may draw on at this moment."""
        guild_id = None if message.tenant == DIRECT else int(message.tenant)
        if message.private_reply or message.surface is Surface.DM:
            return await self._audiences.of_asker(int(message.author.person.name), guild_id)
        if guild_id is None:
            return Readable.of(message.audience)
        return await self.readable_in(guild_id, int(message.thread or message.channel))

    async def readable_in(self, guild_id: int, channel_id: int) -> Readable:
        """What an answer that everybody in a channel or thread sees may draw on now."""
        channel = await self._channel(self._client.get_guild(guild_id), channel_id)
        return (await self._audiences.of_channel(guild_id, channel_id, channel)).readable

    async def _for_asker_alone(
        self,
        message: IncomingMessage,
        guild_id: int | None,
        where: Where,
    ) -> IncomingMessage:
        """A command and its answer are seen by the asker alone, so they belong to their DM.

        `place` is the channel's own, for commands that concern the channel.
        """
        user = int(message.author.person.name)
        arguments = dict(message.arguments)
        quoted = arguments.pop("quoted", "")
        reply_to = arguments.pop("quoted_id", None)
        if author := arguments.get("quoted_author"):
            arguments["quoted_author"] = str(person(author))
            arguments["quoted_audience"] = str(where.audience)
        return replace(
            message,
            audience=direct_place(user),
            place=where.audience,
            readable=await self._audiences.of_asker(user, guild_id),
            private_reply=True,
            permalink=None,
            quoted=quoted,
            reply_to=reply_to,
            arguments=arguments,
        )

    async def _where(
        self, body: dict[str, Any], guild_id: int | None, channel: Channel | None
    ) -> Where:
        if guild_id is not None:
            where = await self._audiences.of_channel(guild_id, int(body["channel"]), channel)
            known = Audience(PLATFORM, str(guild_id), body.get("place", where.audience.name))
            # a thread that is gone meanwhile does not tell its channel any more
            return where if where.audience == known else Where.alone(Surface.UNKNOWN, known)
        if body.get("in_group"):
            return Where.alone(Surface.GROUP_DM, Audience(PLATFORM, DIRECT, body["channel"]))
        user = int(body["author"]["id"])
        readable = await self._audiences.of_person(user, None)
        return Where(Surface.DM, direct_place(user), readable)

    async def _author(
        self, body: dict[str, Any], guild: discord.Guild | None
    ) -> tuple[Author, str]:
        """Who it was, and their language as far as it is known."""
        user, name = body["author"]["id"], body["author"]["name"]
        someone = person(user)
        known = guild is not None and user != NOBODY
        member = await self._audiences.member(guild, int(user)) if guild and known else None
        manages = member is not None and member.guild_permissions.manage_guild
        author = Author(
            person=someone,
            display_name=name,
            is_external=bool(body["guild"]) and (member is None or is_guest(member)),
            is_admin=someone in self._rules.admins or manages,
        )
        locale = await self._keep.get(f"{LOCALE}{user}")
        return author, locale or (str(guild.preferred_locale) if guild else "en")

    async def _channel(self, guild: discord.Guild | None, channel_id: int) -> Channel | None:
        if guild is None:
            return None
        found = guild.get_channel_or_thread(channel_id)
        if found is None:  # an archived thread
            try:
                found = await guild.fetch_channel(channel_id)
            except discord.HTTPException:
                return None
        return None if isinstance(found, discord.CategoryChannel) else found

    async def _context(self, thread: discord.Thread) -> tuple[Turn, ...]:
        """The root and the replies before the bot was first mentioned in a thread."""
        first = await self._recorder.followed_since(thread.id)
        if first is None or first == str(thread.id):
            return ()  # the bot's own thread begins with the mention
        found: list[discord.Message] = []
        try:
            before = discord.Object(int(first))
            found += [m async for m in thread.history(limit=CONTEXT_MESSAGES, before=before)]
            found.reverse()
            if isinstance(thread.parent, discord.TextChannel):
                found.insert(0, await thread.parent.fetch_message(thread.id))
        except discord.NotFound:
            pass  # a thread that was not opened on a message has no root
        except discord.HTTPException:
            return ()
        return tuple(self._turn(message) for message in found if message.content)

    def _turn(self, message: discord.Message) -> Turn:
        text = self._me().says(message).text
        if message.author.id == self._me().user_id:
            return Turn.assistant(text)
        return Turn.user(text, message.author.display_name)
