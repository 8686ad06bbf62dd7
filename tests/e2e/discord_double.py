"""A double of Discord that real discord.py talks to over sockets: gateway, REST, and people.

Faults are queued in `faults` and used up by the requests that they match.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from tests.e2e.discord_people import People
from tests.e2e.discord_rest import Rest
from tests.e2e.discord_world import (
    BOT,
    Json,
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


class DiscordDouble(People):
    """A running double. `world` is what it knows; methods named after deeds are people's."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[Fault] = []
        self.requests: list[Request] = []
        self.logins: list[Json] = []
        """Every IDENTIFY and RESUME."""
        self.flags = CONTENT_FLAG | MEMBERS_FLAG
        self.token = "x.y.z"
        self.heartbeat_interval = 45.0
        self.is_frozen = False
        """Half-open: the gateway takes everything and says nothing; a login waits for the thaw."""
        self.commands: list[Json] = []
        self._session: Session | None = None
        self._numbers = itertools.count(1)
        self._rest = Rest(self)
        self._runner: web.AppRunner | None = None
        self.port = 0

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def api_url(self) -> str:
        return f"{self.origin}/api/v10"

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
