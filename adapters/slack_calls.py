"""Calls of Slack's Web API, with its errors translated into those of the conversation core."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from bot.errors import PlatformRefused, PlatformUnavailable

Json = dict[str, Any]
Sleep = Callable[[float], Awaitable[None]]

TRANSIENT = frozenset(
    {
        "accesslimited",
        "fatal_error",
        "internal_error",
        "request_timeout",
        "rollup_error",
        "service_unavailable",
        "team_added_to_org",
    }
)
"""Codes after which the same call may succeed; whether it took effect is not known."""

NO_THREAD = frozenset({"thread_not_found", "message_not_found"})
"""What a thread began with, or a message, was deleted."""

RETRY_DELAYS = (0.2, 1.0, 3.0)
"""Seconds before each further attempt of a call that failed for the moment."""

MAX_WAIT_SECONDS = 60.0
"""Longest wait for a rate limit before the work is put off."""

PAGE_SIZE = 200
"""Slack recommends no more than 200 items a page."""


class SlackUnavailable(PlatformUnavailable):
    """Slack did not answer, or not in a way that tells whether the call took effect."""


class SlackBusy(SlackUnavailable):
    """Slack asked to come back after `seconds`: the call did not take effect."""

    def __init__(self, method: str, seconds: float) -> None:
        super().__init__(f"Slack is limiting {method}")
        self.seconds = min(seconds, MAX_WAIT_SECONDS)


class SlackRefused(PlatformRefused):
    """Slack refused the call for good. `code` is Slack's own word for it."""

    def __init__(self, code: str, method: str, *, scope: str = "") -> None:
        if scope:
            super().__init__(
                f"Slack: the app lacks the scope {scope} (for {method})",
                fix=f"Add the bot scope {scope} in the app's settings and install it again.",
            )
        else:
            super().__init__(f"Slack refused {method}: {code}")
        self.code = code


def sdk_logger() -> logging.Logger:
    """A logger that keeps the SDK quiet: it logs whole messages, and a traceback for each
    acknowledgement that a reconnect swallowed. What matters the adapter logs itself."""
    logger = logging.getLogger("adapters.slack.sdk")
    logger.setLevel(logging.CRITICAL)
    return logger


def web_client(token: str, api_url: str) -> AsyncWebClient:
    """A client that never calls twice by itself: `SlackCalls` knows which calls may be.

    The SDK's retries after a broken connection would post a message twice.
    """
    return AsyncWebClient(token=token, base_url=api_url, logger=sdk_logger(), retry_handlers=[])


class SlackCalls:
    """Calls methods by name. Safe to use from several tasks at once."""

    def __init__(self, client: AsyncWebClient, *, sleep: Sleep = asyncio.sleep) -> None:
        self._client = client
        self._sleep = sleep

    @property
    def sleep(self) -> Sleep:
        return self._sleep

    @property
    def client(self) -> AsyncWebClient:
        return self._client

    async def write(self, method: str, **arguments: Any) -> Json:
        """One call, made again only when Slack says that it was too early.

        Raises SlackBusy, SlackUnavailable or SlackRefused.
        """
        for _ in RETRY_DELAYS:
            try:
                return await self.write_now(method, **arguments)
            except SlackBusy as busy:
                await self._sleep(busy.seconds)
        return await self.write_now(method, **arguments)

    async def write_now(self, method: str, **arguments: Any) -> Json:
        """One call, for what is not worth waiting for; raises as `write`."""
        return await self._call(method, json=_given(arguments))

    async def read(self, method: str, **arguments: Any) -> Json:
        """A call that changes nothing, made again when it fails; raises as `write`."""
        for delay in RETRY_DELAYS:
            try:
                # A form, because reading methods do not take JSON.
                return await self._call(method, data=_given(arguments))
            except SlackBusy as busy:
                await self._sleep(busy.seconds)
            except SlackUnavailable:
                await self._sleep(delay)
        return await self._call(method, data=_given(arguments))

    async def _call(
        self, method: str, *, json: Json | None = None, data: Json | None = None
    ) -> Json:
        try:
            response = await self._client.api_call(method, json=json, data=data)
        except SlackApiError as error:
            raise translated(error, method) from error
        except (aiohttp.ClientError, TimeoutError, OSError, SlackClientError) as error:
            raise SlackUnavailable(f"Slack did not answer {method}") from error
        return response.data if isinstance(response.data, dict) else {}

    async def pages(self, method: str, items: str, **arguments: Any) -> AsyncIterator[Any]:
        """Each of the `items` of a method that answers in pages. Raises as `write`."""
        cursor = ""
        while True:
            page = await self.read(
                method, limit=PAGE_SIZE, **({"cursor": cursor} if cursor else {}), **arguments
            )
            for item in page.get(items) or []:
                yield item
            cursor = (page.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return


def _retry_after(headers: Mapping[str, Any]) -> float:
    """Seconds from a Retry-After header; Slack always sends one, and whole seconds."""
    for name, value in headers.items():
        if name.lower() == "retry-after":
            text = str(value[0] if isinstance(value, list) else value)
            return float(text) if text.isdecimal() else 1.0
    return 1.0


def _given(arguments: Json) -> Json:
    return {name: value for name, value in arguments.items() if value is not None}


def translated(error: SlackApiError, method: str) -> PlatformRefused | PlatformUnavailable:
    response = error.response
    code = str(response.get("error") or "unknown_error")
    if response.status_code == 429 or code in ("ratelimited", "rate_limited"):
        return SlackBusy(method, _retry_after(response.headers))
    if response.status_code >= 500 or code in TRANSIENT:
        return SlackUnavailable(f"Slack could not do {method}: {code}")
    scope = str(response.get("needed") or "") if code == "missing_scope" else ""
    return SlackRefused(code, method, scope=scope)
