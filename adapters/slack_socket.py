"""Keeps one Socket Mode connection alive, and notices when it only seems to be."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import aiohttp
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient

from adapters.slack_calls import SlackUnavailable, sdk_logger, translated, web_client
from bot.errors import PlatformRefused, PlatformUnavailable

PATIENCE = 6
"""Pings without a working connection before it is given up and made anew from scratch."""
CLOSE_SECONDS = 2.0
"""A half-open connection never closes politely."""
MAX_RETRY_SECONDS = 60.0

log = logging.getLogger(__name__)


class SlackSocket:
    """Receives through Socket Mode until cancelled."""

    def __init__(
        self,
        app: AsyncApp,
        app_token: str,
        api_url: str,
        *,
        ping_seconds: float,
        on_outage_over: Callable[[], Awaitable[None]],
    ) -> None:
        """`on_outage_over` runs after the first connection and after each outage."""
        self._app = app
        self._token = app_token
        self._api_url = api_url
        self._ping_seconds = ping_seconds
        self._on_outage_over = on_outage_over
        self.is_connected = False

    async def run(self) -> None:
        """Raises PlatformUnavailable or PlatformRefused when the first connection fails."""
        client = await self._connect()
        failures = 0
        while True:
            try:
                await self._watch(client)
            finally:
                self.is_connected = False
                await _close(client)
            log.warning("slack: the socket is dead; connecting from scratch")
            while True:
                try:
                    client = await self._connect()
                    failures = 0
                    break
                except (PlatformUnavailable, PlatformRefused) as error:
                    failures += 1
                    delay = min(MAX_RETRY_SECONDS, self._ping_seconds * 2**failures)
                    log.warning("slack: no connection, again in %.0f s: %s", delay, error)
                    await asyncio.sleep(delay)

    async def _connect(self) -> SocketModeClient:
        handler = AsyncSocketModeHandler(
            self._app,
            self._token,
            logger=sdk_logger(),
            web_client=web_client(self._token, self._api_url),
            ping_interval=self._ping_seconds,
        )
        client = handler.client
        try:
            client.wss_uri = await client.issue_new_wss_url()
            connect: Callable[[], Awaitable[None]] = client.connect
            await connect()
        except SlackApiError as error:
            await _close(client)
            raise translated(error, "apps.connections.open") from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            await _close(client)
            raise SlackUnavailable("Slack cannot be reached") from error
        return client

    async def _watch(self, client: SocketModeClient) -> None:
        """Returns when the SDK did not manage to reconnect by itself."""
        missing, recovered = 0, True
        while missing < PATIENCE:
            self.is_connected = await client.is_connected()
            if not self.is_connected:
                missing, recovered = missing + 1, True
                log.info("slack: not connected (%s of %s)", missing, PATIENCE)
            elif recovered:
                missing, recovered = 0, False
                log.info("slack: connected")
                await self._on_outage_over()
            await asyncio.sleep(self._ping_seconds)


async def _close(client: SocketModeClient) -> None:
    close: Callable[[], Coroutine[Any, Any, None]] = client.close
    try:
        await asyncio.wait_for(close(), CLOSE_SECONDS)
    except TimeoutError:
        # The polite part hangs on the dead peer; the tasks and the connection must go anyway.
        for task in (
            client.message_processor,
            client.current_session_monitor,
            client.message_receiver,
        ):
            if task is not None:
                task.cancel()
        await client.aiohttp_client_session.close()
