"""A wire double of Slack: real Bolt talks to it over real sockets.

It serves the Web API, Socket Mode and response URLs on one local port, posts signed HTTP
events, delivers again what was not acknowledged, and fails on demand. What it knows of the
workspace is in `slack_workspace`, what people do there in `slack_people`, what each method does
in `slack_methods`.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import io
import json
import random
import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlencode

import aiohttp
from aiohttp import WSMsgType, web

from tests.e2e.slack_methods import METHODS
from tests.e2e.slack_people import Envelope, SlackPeople
from tests.e2e.slack_workspace import APP_ID, BOT_USER, TEAM, ApiError, Json, Workspace

SIGNING_SECRET = "8f742231b10e8888abcd9900112285a5"
TOKEN = "xoxb-1"
"""Bot token of the one installation."""
POLL_SECONDS = 0.005


@dataclass(frozen=True)
class Fault:
    """How one call fails: a code with `ok: false`, a 429, or a connection that breaks."""

    error: str = ""
    retry_after: int | None = None
    reset: bool = False
    after: bool = False
    """The call takes effect all the same."""
    details: Json = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    """One call of the Web API, with its arguments decoded."""

    method: str
    arguments: Json


class SlackDouble(SlackPeople):
    """Start with `async with SlackDouble() as slack:`; then point the app at `slack.api_url`."""

    def __init__(self, workspace: Workspace | None = None) -> None:
        super().__init__(workspace or Workspace())
        self.calls: list[Call] = []
        self.faults: dict[str, deque[Fault]] = defaultdict(deque)
        self.failure_rate = 0.0
        """Share of writing calls that fail, half with 429 and half with `ok: false`."""
        self.missing_scopes: dict[str, str] = {}
        """By method, the scope that the token does not have."""
        self.envelopes: dict[str, Envelope] = {}
        self.responses: list[Json] = []
        """What was posted to response URLs."""
        self.sockets: list[web.WebSocketResponse] = []
        self.connections = 0
        """How many sockets were opened so far."""
        self.frozen = False
        """True: sockets stay open and nothing is read from or written to them any more."""
        self.http_url: str | None = None
        """Where events go over HTTP; None: Socket Mode."""
        self._random = random.Random(7)  # the same failures in every run

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=64 << 20)
        application.router.add_route("*", "/api/{method}", self._answer_call)
        application.router.add_get("/link", self._answer_socket)
        application.router.add_post("/respond/{id}", self._answer_response_url)
        application.router.add_post("/upload/{id}", self._answer_upload)
        application.router.add_get("/files/{id}", self._answer_download)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.origin = f"http://{host}:{port}"
        self.api_url = f"{self.origin}/api/"
        self.session = aiohttp.ClientSession()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.session.close()
        await self.stop()

    async def stop(self) -> None:
        """Slack is gone: every connection is closed and none is taken."""
        for socket in self.sockets:
            await asyncio.wait_for(socket.close(), 1)
        await self._runner.cleanup()

    # --- faults -------------------------------------------------------------------------

    def fail(self, method: str, *faults: Fault) -> None:
        """The next calls of `method` fail in this way, one fault each."""
        self.faults[method].extend(faults)

    def freeze(self) -> None:
        """Make the open sockets half-open: no pong, no event, no close."""
        self.frozen = True

    async def request_disconnect(self) -> None:
        """Ask the app to reconnect, as Slack does about once an hour."""
        for socket in self._open_sockets():
            await socket.send_json({"type": "disconnect", "reason": "refresh_requested"})

    async def drop_sockets(self) -> None:
        """Close every connection without notice."""
        for socket in self._open_sockets():
            await socket.close(code=1011)

    async def redeliver(self, *, everything: bool = False) -> None:
        """Send again what was not acknowledged; with `everything`, also what was."""
        for envelope in list(self.envelopes.values()):
            if everything or envelope.acknowledged is None:
                envelope.attempts += 1
                await self._send(envelope)

    # --- deliveries ---------------------------------------------------------------------

    async def emit(self, *events: Json) -> None:
        for event in events:
            event_id = f"Ev{self.workspace.next_id()}"
            await self.send_payload("events_api", event_callback(event, event_id))

    async def send_payload(self, kind: str, payload: Json) -> Envelope:
        envelope_id = f"env-{self.workspace.next_id()}"
        envelope = Envelope(envelope_id, kind, payload, time.monotonic())
        self.envelopes[envelope_id] = envelope
        await self._send(envelope)
        return envelope

    async def _send(self, envelope: Envelope) -> None:
        if self.http_url:
            await self._send_http(envelope)
        elif sockets := self._open_sockets():
            await self._send_socket(envelope, sockets[-1])

    async def _send_socket(self, envelope: Envelope, socket: web.WebSocketResponse) -> None:
        if self.frozen:
            return
        await socket.send_json(
            {
                "type": envelope.kind,
                "envelope_id": envelope.id,
                "payload": envelope.payload,
                "accepts_response_payload": envelope.kind != "events_api",
                "retry_attempt": envelope.attempts - 1,
                "retry_reason": "timeout" if envelope.attempts > 1 else "",
            }
        )

    async def _send_http(self, envelope: Envelope) -> None:
        headers: dict[str, str] = {}
        if envelope.attempts > 1:
            headers |= {"x-slack-retry-num": str(envelope.attempts - 1)}
        if envelope.kind == "events_api":
            body, headers["Content-Type"] = json.dumps(envelope.payload), "application/json"
        else:
            form = envelope.payload
            if envelope.kind == "interactive":
                form = {"payload": json.dumps(envelope.payload)}
            body, headers["Content-Type"] = urlencode(form), "application/x-www-form-urlencoded"
        status, text = await self.post_signed(body.encode(), headers)
        if status == 200:
            envelope.acknowledged = time.monotonic()
            envelope.response = json.loads(text) if text.startswith("{") else {}

    async def post_signed(
        self, body: bytes, headers: dict[str, str], *, secret: str = SIGNING_SECRET, age: float = 0
    ) -> tuple[int, str]:
        """POST a body signed as Slack does, `age` seconds ago. Returns status and text."""
        assert self.http_url
        stamp = str(int(time.time() - age))
        digest = hmac.new(secret.encode(), b"v0:%s:%s" % (stamp.encode(), body), hashlib.sha256)
        signed = headers | {
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": f"v0={digest.hexdigest()}",
        }
        async with self.session.post(
            self.http_url, data=io.BytesIO(body), headers=signed
        ) as response:
            return response.status, await response.text()

    def _open_sockets(self) -> list[web.WebSocketResponse]:
        return [socket for socket in self.sockets if not socket.closed]

    @property
    def unacknowledged(self) -> list[Envelope]:
        return [e for e in self.envelopes.values() if e.acknowledged is None]

    # --- waiting ------------------------------------------------------------------------

    async def until(self, holds: Callable[[], object], *, seconds: float = 10) -> None:
        """Wait until `holds()` is true; fails the test after `seconds`."""
        deadline = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > deadline:
                raise AssertionError(f"did not happen within {seconds} s")
            await asyncio.sleep(POLL_SECONDS)

    async def connected(self, *, beyond: int = 0) -> None:
        """Wait until a socket is open, after more than `beyond` connections."""
        await self.until(lambda: self.connections > beyond and self._open_sockets())

    def called(self, method: str) -> list[Json]:
        """Arguments of each call of `method`, oldest first."""
        return [call.arguments for call in self.calls if call.method == method]

    # --- what the app calls -------------------------------------------------------------

    async def _answer_call(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        arguments = await _arguments(request)
        self.calls.append(Call(method, arguments))
        fault = self._next_fault(method)
        if fault and fault.after:
            METHODS[method](self.workspace, arguments)
        if fault and fault.reset:
            if request.transport:
                request.transport.abort()
            return web.Response()
        if fault and fault.retry_after is not None:
            headers = {"Retry-After": str(fault.retry_after)}
            return web.json_response(
                {"ok": False, "error": "ratelimited"}, status=429, headers=headers
            )
        if fault:
            return web.json_response({"ok": False, "error": fault.error} | fault.details)
        if method == "apps.connections.open":
            url = f"{self.origin.replace('http', 'ws')}/link?ticket={self.workspace.next_id()}"
            return web.json_response({"ok": True, "url": url})
        answer = METHODS.get(method)
        if answer is None:
            return web.json_response({"ok": False, "error": "unknown_method"})
        try:
            body = answer(self.workspace, arguments)
        except ApiError as error:
            return web.json_response({"ok": False, "error": error.code} | error.details)
        if method == "files.getUploadURLExternal":
            body["upload_url"] = f"{self.origin}/upload/{body['file_id']}"
        return web.json_response({"ok": True} | body)

    def _next_fault(self, method: str) -> Fault | None:
        if scope := self.missing_scopes.get(method):
            return Fault("missing_scope", details={"needed": scope, "provided": "chat:write"})
        if self.faults[method]:
            return self.faults[method].popleft()
        if method.startswith("chat.") and self._random.random() < self.failure_rate:
            return self._random.choice([Fault(retry_after=0), Fault("internal_error")])
        return None

    async def _answer_socket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(autoping=False)
        await socket.prepare(request)
        await socket.send_json({"type": "hello", "num_connections": 1})
        self.sockets.append(socket)
        self.connections += 1
        self.frozen = False
        async for frame in socket:
            if self.frozen:
                continue
            if frame.type == WSMsgType.PING:
                await socket.pong(frame.data)
            elif frame.type == WSMsgType.TEXT:
                self._acknowledge(json.loads(frame.data))
        return socket

    def _acknowledge(self, frame: Json) -> None:
        envelope = self.envelopes[frame["envelope_id"]]
        if envelope.acknowledged is None:
            envelope.acknowledged = time.monotonic()
        envelope.response = frame.get("payload") or {}

    async def _answer_response_url(self, request: web.Request) -> web.Response:
        self.responses.append(await request.json())
        return web.Response(text="ok")

    async def _answer_upload(self, request: web.Request) -> web.Response:
        self.workspace.uploads[request.match_info["id"]] = await request.read()
        return web.Response(text="OK")

    async def _answer_download(self, request: web.Request) -> web.StreamResponse:
        """A file for whoever shows the token; for anybody else the sign-in page."""
        data = self.workspace.uploads.get(request.match_info["id"])
        if data is None:
            return web.Response(status=404)
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return web.Response(text="<html>Sign in</html>", content_type="text/html")
        return web.Response(body=data, content_type="application/octet-stream")


def event_callback(event: Json, event_id: str) -> Json:
    """The body around an event."""
    return {
        "token": "verification",
        "team_id": TEAM,
        "api_app_id": APP_ID,
        "type": "event_callback",
        "event_id": event_id,
        "event_time": int(time.time()),
        "event": event,
        "authorizations": [
            {"enterprise_id": None, "team_id": TEAM, "user_id": BOT_USER, "is_bot": True}
        ],
    }


async def _arguments(request: web.Request) -> Json:
    """Arguments of a call, from the address, a form or JSON; nested JSON decoded."""
    if request.content_type == "application/json":
        given: Json = await request.json()
    else:
        given = {**request.query, **await request.post()}
    return {name: _decoded(value) for name, value in given.items()}


def _decoded(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
