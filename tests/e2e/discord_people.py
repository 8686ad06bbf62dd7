"""What people do on Discord, as events that the double emits."""

from __future__ import annotations

import mimetypes
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.discord_world import (
    BOT,
    GROUP_DM,
    Channel,
    Guild,
    Json,
    Overwrite,
    Person,
    World,
    iso,
)


@dataclass(slots=True)
class Interaction:
    """What became of one interaction."""

    id: str
    token: str
    channel: Channel
    user: Person
    response: Json | None = None
    """Body of the first answer."""
    original: Json | None = None
    followups: list[Json] = field(default_factory=list)
    late: bool = False

    @property
    def shown(self) -> list[str]:
        first = [self.original["content"]] if self.original else []
        return first + [each["content"] for each in self.followups]

    @property
    def is_ephemeral(self) -> bool:
        return bool((self.response or {}).get("data", {}).get("flags", 0) & 64)


class People(ABC):
    """Acts in a world and tells of it."""

    def __init__(self) -> None:
        self.world = World()
        self.files: dict[str, bytes] = {}
        """Attachments by their last part of the address; served below /cdn/."""
        self.interactions: dict[str, Interaction] = {}

    @property
    @abstractmethod
    def origin(self) -> str:
        """Address of the double, without a slash at the end."""

    @abstractmethod
    async def emit(self, event: str, data: Json) -> None:
        """Dispatch an event of the gateway."""

    async def say(self, who: Person, channel: Channel, text: str, **more: Any) -> Json:
        body = self.world.message(channel, who, text, **more)
        await self.emit("MESSAGE_CREATE", self.world.as_event(channel, body))
        return body

    async def mention(self, who: Person, channel: Channel, text: str, **more: Any) -> Json:
        return await self.say(who, channel, f"<@{BOT}> {text}", **more)

    async def share_file(
        self, who: Person, channel: Channel, text: str, name: str, data: bytes
    ) -> Json:
        """Say something with a file."""
        file_id = str(self.world.new_id())
        self.files[file_id] = data
        url = f"{self.origin}/cdn/{file_id}"
        media_type = mimetypes.guess_type(name)[0]
        file = {
            "id": file_id,
            "filename": name,
            "size": len(data),
            "url": url,
            "proxy_url": url,
            "content_type": media_type or "application/octet-stream",
        }
        return await self.say(who, channel, text, attachments=[file])

    async def take_off_files(self, channel: Channel, message: Json) -> None:
        """Remove the files from a message, which stays: to Discord that is an edit."""
        for file in message["attachments"]:
            del self.files[file["id"]]
        message["attachments"] = []
        await self.edit(channel, message, message["content"])

    async def edit(self, channel: Channel, message: Json, text: str) -> None:
        message |= {"content": text, "edited_timestamp": iso(time.time())}
        await self.emit("MESSAGE_UPDATE", self.world.as_event(channel, message))

    async def delete(self, channel: Channel, *messages: Json) -> None:
        for message in messages:
            del channel.messages[int(message["id"])]
        guild = {"guild_id": str(channel.guild)} if channel.guild else {}
        ids = [message["id"] for message in messages]
        where = {"channel_id": str(channel.id), **guild}
        if len(ids) == 1:
            await self.emit("MESSAGE_DELETE", {"id": ids[0], **where})
        else:
            await self.emit("MESSAGE_DELETE_BULK", {"ids": ids, **where})

    async def react(
        self, who: Person, channel: Channel, message: Json, emoji: str, *, added: bool = True
    ) -> None:
        """Judge a message by an emoji, or take that back."""
        body: Json = {
            "user_id": str(who.id),
            "channel_id": str(channel.id),
            "message_id": message["id"],
            "emoji": {"id": None, "name": emoji},
            "burst": False,
            "type": 0,
        }
        if channel.guild is not None:
            body["guild_id"] = str(channel.guild)
        if added:
            body["message_author_id"] = message["author"]["id"]
            if channel.guild is not None:
                body["member"] = self.world.member_body(self.world.guilds[channel.guild], who.id)
        await self.emit("MESSAGE_REACTION_ADD" if added else "MESSAGE_REACTION_REMOVE", body)

    async def open_thread(self, thread: Channel) -> None:
        await self.emit("THREAD_CREATE", self.world.channel_body(thread))

    async def leave_thread(self, thread: Channel, who: Person) -> None:
        thread.members.discard(who.id)
        body = {
            "id": str(thread.id),
            "guild_id": str(thread.guild),
            "member_count": len(thread.members),
            "removed_member_ids": [str(who.id)],
        }
        await self.emit("THREAD_MEMBERS_UPDATE", body)

    async def set_roles(self, guild: Guild, who: Person, *roles: int) -> None:
        guild.members[who.id] = set(roles)
        body = {**self.world.member_body(guild, who.id), "guild_id": str(guild.id)}
        await self.emit("GUILD_MEMBER_UPDATE", body)

    async def set_role(self, guild: Guild, role: int, permissions: int) -> None:
        guild.roles[role] = permissions
        body = {"guild_id": str(guild.id), "role": self.world.role_body(guild, role)}
        await self.emit("GUILD_ROLE_UPDATE", body)

    async def set_overwrites(self, channel: Channel, *overwrites: Overwrite) -> None:
        channel.overwrites = list(overwrites)
        await self.emit("CHANNEL_UPDATE", self.world.channel_body(channel))

    async def remove_channel(self, channel: Channel) -> None:
        for gone in [c for c in self.world.channels.values() if channel.id in (c.id, c.parent)]:
            del self.world.channels[gone.id]
        event = "THREAD_DELETE" if channel.is_thread else "CHANNEL_DELETE"
        await self.emit(event, self.world.channel_body(channel))

    async def leave(self, guild: Guild, who: Person) -> None:
        del guild.members[who.id]
        await self.emit("GUILD_MEMBER_REMOVE", {"guild_id": str(guild.id), "user": who.user()})

    async def join(self, guild: Guild) -> None:
        """The bot is added to a guild."""
        self.world.guilds[guild.id] = guild
        body = self.world.guild_body(guild)
        del body["unavailable"]  # which only a guild has that comes back after an outage
        await self.emit("GUILD_CREATE", body)

    async def expel(self, guild: Guild) -> None:
        """The bot is removed from a guild."""
        del self.world.guilds[guild.id]
        await self.emit("GUILD_DELETE", {"id": str(guild.id), "unavailable": False})

    async def slash(
        self, who: Person, channel: Channel, name: str, *, locale: str = "en-US",
        late: bool = False, focused: str | None = None, **options: str,
    ) -> Interaction:  # fmt: skip
        """`/memory NAME`; with `focused`, the suggestions for that option are asked for."""
        given = [
            {"name": key, "type": 3, "value": value, "focused": key == focused}
            for key, value in options.items()
        ]
        data = {
            "id": "900",
            "name": "memory",
            "type": 1,
            "options": [{"name": name, "type": 1, "options": given}],
        }
        kind = 4 if focused else 2
        return await self._interact(who, channel, kind, data, locale=locale, late=late)

    async def menu(self, who: Person, channel: Channel, name: str, message: Json) -> Interaction:
        data = {
            "id": "901",
            "name": name,
            "type": 3,
            "target_id": message["id"],
            "resolved": {"messages": {message["id"]: message}},
        }
        return await self._interact(who, channel, 2, data)

    async def press(self, who: Person, channel: Channel, message: Json, label: str) -> Interaction:
        buttons = [b for row in message["components"] for b in row["components"]]
        button = next(b for b in buttons if b["label"] == label)
        data = {"component_type": 2, "custom_id": button["custom_id"]}
        return await self._interact(who, channel, 3, data, message=message)

    async def submit(self, shown: Interaction, text: str) -> Interaction:
        """Fill in the form that an interaction opened."""
        assert shown.response is not None
        form = shown.response["data"]
        rows = [
            {"type": 1, "components": [{**row["components"][0], "value": text}]}
            for row in form["components"]
        ]
        data = {"custom_id": form["custom_id"], "components": rows}
        return await self._interact(shown.user, shown.channel, 5, data)

    async def _interact(
        self, who: Person, channel: Channel, kind: int, data: Json, *, locale: str = "en-US",
        late: bool = False, message: Json | None = None,
    ) -> Interaction:  # fmt: skip
        id_ = str(self.world.new_id())
        made = Interaction(id_, f"token{id_}", channel, who, late=late)
        self.interactions[made.token] = made
        body: Json = {
            "id": id_,
            "application_id": str(BOT),
            "type": kind,
            "token": made.token,
            "version": 1,
            "channel_id": str(channel.id),
            "channel": self.world.channel_body(channel),
            "locale": locale,
            "app_permissions": "0",
            "entitlements": [],
            "authorizing_integration_owners": {"0": str(channel.guild or 0)},
            "context": 0 if channel.guild else 2 if channel.type == GROUP_DM else 1,
            "attachment_size_limit": 10_485_760,
            "data": data,
        }
        if message is not None:
            body["message"] = message
        if channel.guild is None:
            body["user"] = who.user()
        else:
            guild = self.world.guilds.get(channel.guild)
            body["guild_id"] = str(channel.guild)
            body["guild"] = {"id": str(channel.guild), "features": [], "locale": locale}
            member: Json = {"user": who.user(), "roles": [], "flags": 0, "deaf": False}
            member |= {"joined_at": "2026-01-01T00:00:00+00:00", "mute": False}
            if guild is not None:
                member = self.world.member_body(guild, who.id)
            body["member"] = {**member, "permissions": "0"}
        await self.emit("INTERACTION_CREATE", body)
        return made
