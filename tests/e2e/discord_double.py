"""A double of Discord that real discord.py talks to over sockets: gateway, REST, and people.

Faults are queued in `faults` and used up by the requests that they match.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from tests.e2e.discord_rest import Rest
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

DISPATCH, HEARTBEAT, IDENTIFY, RESUME, RECONNECT, MEMBERS, INVALID, HELLO, ACK = (
    0, 1, 2, 6, 7, 8, 9, 10, 11,
)  # fmt: skip
CONTENT_FLAG, MEMBERS_FLAG = 1 << 19, 1 << 15
PRIVILEGED = {1 << 15: CONTENT_FLAG, 1 << 1: MEMBERS_FLAG}
"""Intent bit → application flag that allows it."""


@dataclass(slots=True)
class Fault:
    """How the next matching requests go wrong."""

    method: str
    path: str
    """Regular expression, searched in the path after /api/v10/."""
    status: int
    body: Json = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 1
    after: bool = False
    """The request takes effect, and only its answer is lost."""


@dataclass(slots=True)
class Request:
    method: str
    path: str
    body: Any
    status: int = 0


@dataclass(slots=True)
class Session:
    id: str
    events: list[Json] = field(default_factory=list)
    socket: web.WebSocketResponse | None = None

    async def send(self, event: Json) -> None:
        self.events.append(event)
        if self.socket is not None and not self.socket.closed:
            await self.socket.send_json(event)


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


class DiscordDouble:
    """A running double. `world` is what it knows; methods named after deeds are people's."""

    def __init__(self) -> None:
        self.world = World()
        self.faults: list[Fault] = []
        self.requests: list[Request] = []
        self.logins: list[Json] = []
        """Every IDENTIFY and RESUME."""
        self.interactions: dict[str, Interaction] = {}
        self.flags = CONTENT_FLAG | MEMBERS_FLAG
        self.token = "x.y.z"
        self.heartbeat_interval = 45.0
        self.is_frozen = False
        """Half-open: the gateway takes everything and says nothing; a login waits for the thaw."""
        self.commands: list[Json] = []
        self.files: dict[str, bytes] = {}
        """By name; served below /cdn/."""
        self._session: Session | None = None
        self._numbers = itertools.count(1)
        self._rest = Rest(self)
        self._runner: web.AppRunner | None = None
        self.port = 0

    @property
    def api_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v10"

    @property
    def gateway_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/"

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[DiscordDouble]:
        app = web.Application(client_max_size=20_000_000)
        app.router.add_route("*", "/api/v10/{path:.*}", self._http)
        app.router.add_get("/", self._gateway)
        app.router.add_get("/cdn/{name}", self._file)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = runner.addresses[0][1]
        try:
            yield self
        finally:
            await self.drop()
            await runner.cleanup()

    # --- the gateway ----------------------------------------------------------------------------

    async def emit(self, event: str, data: Json) -> None:
        """Dispatch an event; it waits for a RESUME while there is no socket."""
        if self._session is not None:
            number = next(self._numbers)
            frame = {"op": DISPATCH, "s": number, "t": event, "d": data}
            if self.is_frozen:
                self._session.events.append(frame)
            else:
                await self._session.send(frame)

    async def ask_to_reconnect(self) -> None:
        await self._say({"op": RECONNECT, "d": None, "s": None, "t": None})

    async def invalidate(self) -> None:
        """The session is over; what it had not delivered is lost."""
        session, self._session = self._session, None
        if session and session.socket:
            await session.socket.send_json({"op": INVALID, "d": False, "s": None, "t": None})

    async def drop(self) -> None:
        """Close the socket as a failing network would."""
        if self._session and self._session.socket:
            await self._session.socket.close(code=1006)

    async def forget_session(self) -> None:
        """As after a long downtime: the next RESUME is refused."""
        self._session = None

    @property
    def is_connected(self) -> bool:
        return bool(self._session and self._session.socket and not self._session.socket.closed)

    async def _say(self, frame: Json) -> None:
        if self._session and self._session.socket:
            await self._session.socket.send_json(frame)

    async def _gateway(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        interval = int(self.heartbeat_interval * 1000)
        await socket.send_json(
            {"op": HELLO, "d": {"heartbeat_interval": interval}, "s": None, "t": None}
        )
        async for message in socket:
            if message.type is not WSMsgType.TEXT:
                continue
            frame = json.loads(message.data)
            if self.is_frozen and frame["op"] not in (IDENTIFY, RESUME):
                continue
            await until(lambda: not self.is_frozen)
            await self._frame(socket, frame["op"], frame["d"])
        return socket

    async def _frame(self, socket: web.WebSocketResponse, op: int, data: Any) -> None:
        if op == HEARTBEAT:
            await socket.send_json({"op": ACK, "d": None, "s": None, "t": None})
        elif op == IDENTIFY:
            self.logins.append({"op": op, **data})
            refused = any(
                data["intents"] & bit and not self.flags & flag for bit, flag in PRIVILEGED.items()
            )
            if data["token"] != self.token or refused:
                await socket.close(code=4014 if refused else 4004)
                return
            await self._begin(socket)
        elif op == RESUME:
            self.logins.append({"op": op, **data})
            session = self._session
            if session is None or session.id != data["session_id"]:
                await socket.send_json({"op": INVALID, "d": False, "s": None, "t": None})
                return
            session.socket = socket
            for event in [e for e in session.events if e["s"] > data["seq"]]:
                await socket.send_json(event)
            await self.emit("RESUMED", {})
        elif op == MEMBERS:
            await self._members(int(data["guild_id"]), data)

    async def _begin(self, socket: web.WebSocketResponse) -> None:
        session = Session(f"session{next(self._numbers)}", socket=socket)
        self._session = session
        guilds = [{"id": str(id_), "unavailable": True} for id_ in self.world.guilds]
        ready = {
            "v": 10,
            "user": self.world.people[BOT].user(),
            "guilds": guilds,
            "session_id": session.id,
            "resume_gateway_url": self.gateway_url,
            "application": {"id": str(BOT), "flags": self.flags},
            "shard": [0, 1],
        }
        await self.emit("READY", ready)
        for guild in self.world.guilds.values():
            await self.emit("GUILD_CREATE", self.world.guild_body(guild))

    async def _members(self, guild_id: int, asked: Json) -> None:
        guild = self.world.guilds[guild_id]
        chunk = {
            "guild_id": str(guild_id),
            "members": [self.world.member_body(guild, user) for user in guild.members],
            "chunk_index": 0,
            "chunk_count": 1,
            "nonce": asked.get("nonce"),
        }
        await self.emit("GUILD_MEMBERS_CHUNK", chunk)

    async def _file(self, request: web.Request) -> web.Response:
        data = self.files.get(request.match_info["name"])
        return web.Response(status=404) if data is None else web.Response(body=data)

    # --- REST -----------------------------------------------------------------------------------

    async def _http(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        body = await _body(request)
        logged = Request(request.method, path, body)
        self.requests.append(logged)
        fault = next((f for f in self.faults if _hits(f, request.method, path)), None)
        if fault is not None:
            fault.times -= 1
            if fault.times == 0:
                self.faults.remove(fault)
            if fault.after:
                await self._rest.answer(request.method, path, dict(request.query), body)
            logged.status = fault.status
            return _json(fault.body, fault.status, fault.headers)
        status, answer = await self._rest.answer(request.method, path, dict(request.query), body)
        logged.status = status
        return _json(answer, status)

    def rate_limit(
        self, method: str, path: str, *, seconds: float = 0.05, is_global: bool = False,
        times: int = 1,
    ) -> None:  # fmt: skip
        """Answer the next matching requests with 429."""
        body = {"message": "slow down", "retry_after": seconds, "global": is_global}
        headers = {"Retry-After": str(seconds), "Via": "1.1 double"}
        if is_global:
            headers["X-RateLimit-Global"] = "true"
        self.faults.append(Fault(method, path, 429, body, headers, times))

    def calls(self, method: str, path: str) -> list[Request]:
        """The requests made so far whose path matches."""
        return [r for r in self.requests if r.method == method and re.search(path, r.path)]

    # --- people ---------------------------------------------------------------------------------

    async def say(self, who: Person, channel: Channel, text: str, **more: Any) -> Json:
        body = self.world.message(channel, who, text, **more)
        await self.emit("MESSAGE_CREATE", self.world.as_event(channel, body))
        return body

    async def mention(self, who: Person, channel: Channel, text: str, **more: Any) -> Json:
        return await self.say(who, channel, f"<@{BOT}> {text}", **more)

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
        del self.world.channels[channel.id]
        event = "THREAD_DELETE" if channel.is_thread else "CHANNEL_DELETE"
        await self.emit(event, self.world.channel_body(channel))

    async def leave(self, guild: Guild, who: Person) -> None:
        del guild.members[who.id]
        await self.emit("GUILD_MEMBER_REMOVE", {"guild_id": str(guild.id), "user": who.user()})

    async def join(self, guild: Guild) -> None:
        """The bot is added to a guild."""
        self.world.guilds[guild.id] = guild
        await self.emit("GUILD_CREATE", self.world.guild_body(guild))

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


async def until(condition: Callable[[], Any], seconds: float = 10.0) -> None:
    """Let everything go on until the condition holds. Raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)


def _hits(fault: Fault, method: str, path: str) -> bool:
    return fault.method == method and re.search(fault.path, path) is not None


async def _body(request: web.Request) -> Any:
    if not request.can_read_body:
        return None
    if request.content_type == "application/json":
        return await request.json()
    form = await request.post()
    payload = form.get("payload_json")
    body = json.loads(payload) if isinstance(payload, str) else {}
    body["files"] = {
        part.filename: part.file.read() for part in form.values() if isinstance(part, web.FileField)
    }
    return body


def _json(answer: Any, status: int, headers: dict[str, str] | None = None) -> web.Response:
    if status == 204:
        return web.Response(status=204)
    return web.Response(
        body=json.dumps(answer).encode(),
        status=status,
        # discord.py reads only this exact content type as JSON.
        headers={"Content-Type": "application/json", **(headers or {})},
    )
