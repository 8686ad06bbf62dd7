"""`/healthz`, `/readyz` and `/metrics` on a local port. Says what is wrong, never what was said."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass

from aiohttp import web

from bot.errors import BadSettings
from bot.jobs import Jobs
from bot.metrics import Metrics
from memory.errors import MemoryFault

log = logging.getLogger(__name__)

HOST = "127.0.0.1"

Ready = Callable[[], Awaitable[list[str]]]
"""What keeps the process from serving, one sentence each; empty when nothing does."""

Connected = Callable[[], Mapping[str, bool]]
"""Whether each platform's connection stands, by name; platforms that cannot tell are left out."""


def connections(platforms: Mapping[str, object]) -> dict[str, bool]:
    """What the platforms that have a `connected` say of themselves."""
    return {
        name: bool(platform.connected)
        for name, platform in platforms.items()
        if hasattr(platform, "connected")
    }


@contextlib.asynccontextmanager
async def listening(
    port: int, metrics: Metrics, jobs: Jobs, connected: Connected, ready: Ready
) -> AsyncIterator[int]:
    """Answer on the port while the block runs; gives the port that was taken.

    Raises BadSettings when the port is in use.
    """
    endpoint = _Endpoint(metrics, jobs, connected, ready)
    app = web.Application()
    app.add_routes(
        [
            web.get("/healthz", endpoint.healthz),
            web.get("/readyz", endpoint.readyz),
            web.get("/metrics", endpoint.metrics),
        ]
    )
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, HOST, port).start()
        except OSError as error:
            raise BadSettings(
                f"The health port {port} cannot be used: {error.strerror}.",
                fix="Set OBOETE_HEALTH_PORT to a free port, or to 0.",
            ) from error
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


@dataclass(frozen=True, slots=True)
class _Endpoint:
    numbers: Metrics
    jobs: Jobs
    connected: Connected
    ready: Ready

    async def healthz(self, _: web.Request) -> web.Response:
        """The event loop turns."""
        return web.json_response({"status": "ok"})

    async def readyz(self, _: web.Request) -> web.Response:
        standing = self.connected().items()
        problems = [f"{name} is not connected" for name, stands in standing if not stands]
        problems += await self.ready()
        status = 503 if problems else 200
        return web.json_response({"ready": not problems, "problems": problems}, status=status)

    async def metrics(self, _: web.Request) -> web.Response:
        try:
            body = await self.numbers.scrape(self.jobs, self.connected())
        except MemoryFault as error:
            log.warning("no metrics: %s", error)
            return web.Response(status=503, text=f"{error}\n")
        return web.Response(body=body, headers={"Content-Type": "text/plain; version=0.0.4"})
