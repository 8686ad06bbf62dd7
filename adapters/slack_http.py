"""Receives signed HTTP requests from Slack: the alternative to Socket Mode.

See https://docs.slack.dev/authentication/verifying-requests-from-slack.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from http import HTTPStatus

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.signature import SignatureVerifier

from adapters.slack_calls import SlackUnavailable

PATH = "/slack/events"
MAX_BODY_BYTES = 1 << 20
"""Slack's largest bodies hold a message of 40,000 characters in a few copies."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HttpEndpoint:
    """Where to listen. Port 0 takes a free one."""

    signing_secret: str
    host: str = "127.0.0.1"
    port: int = 3000


class SlackHttp:
    """Serves until cancelled."""

    def __init__(self, app: AsyncApp, endpoint: HttpEndpoint) -> None:
        self._app = app
        self._endpoint = endpoint
        self._verifier = SignatureVerifier(endpoint.signing_secret)
        self.address: str | None = None

    @property
    def is_connected(self) -> bool:
        """True while requests can come in."""
        return self.address is not None

    async def run(self) -> None:
        """Raises PlatformUnavailable when the port is taken."""
        server = web.Application(client_max_size=MAX_BODY_BYTES)
        server.router.add_post(PATH, self._receive)
        runner = web.AppRunner(server, access_log=None)
        await runner.setup()
        try:
            site = web.TCPSite(runner, self._endpoint.host, self._endpoint.port)
            await site.start()
            host, port = runner.addresses[0][:2]
            self.address = f"http://{host}:{port}{PATH}"
            log.info("slack: receiving at %s", self.address)
            await asyncio.Event().wait()
        except OSError as error:
            raise SlackUnavailable(f"cannot listen on port {self._endpoint.port}") from error
        finally:
            self.address = None
            await runner.cleanup()

    async def _receive(self, request: web.Request) -> web.Response:
        try:
            body = await request.read()
        except web.HTTPRequestEntityTooLarge:
            log.warning("slack: refused a body that is too long")
            raise
        try:
            text = body.decode()
        except UnicodeDecodeError:
            log.warning("slack: refused a body of %s bytes that is no text", len(body))
            return web.Response(status=400)
        headers: dict[str, str] = {name.lower(): value for name, value in request.headers.items()}
        if not self._is_signed(text, headers):
            log.warning("slack: refused a request of %s bytes with a bad signature", len(body))
            return web.Response(status=401)
        try:
            asked = AsyncBoltRequest(body=text, query=request.query_string, headers=dict(headers))
            answer = await self._app.async_dispatch(asked)
        except (ValueError, LookupError, AttributeError, TypeError, RecursionError):
            # Bolt takes every body to have what Slack's bodies have.
            return _senseless(body)
        if answer.status == HTTPStatus.INTERNAL_SERVER_ERROR:
            return _senseless(body)  # the same, noticed by Bolt's own error handling
        return await to_aiohttp_response(answer)

    def _is_signed(self, text: str, headers: dict[str, str]) -> bool:
        try:
            return self._verifier.is_valid_request(text, headers)
        except (ValueError, TypeError, OverflowError):
            return False  # a timestamp that is no number, a signature that is no ASCII


def _senseless(body: bytes) -> web.Response:
    log.warning("slack: refused a body of %s bytes that makes no sense", len(body))
    return web.Response(status=400)
