"""An answer that grows while it is written: Slack's own streaming, or one edited message."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from adapters.markdown_parts import split_markdown, utf8_length
from adapters.slack_calls import SlackBusy, SlackCalls, SlackUnavailable
from adapters.slack_format import (
    POST_CHARACTERS,
    UPDATE_BYTES,
    body_blocks,
    fallback,
    neutralised,
)
from adapters.slack_marks import Stamp
from adapters.slack_posts import Destination
from bot.errors import PlatformRefused, PlatformUnavailable

Json = dict[str, Any]

STREAM_CHARACTERS = 8_000
"""Shown while an answer is written; the rest comes with its end. Leaves room for a good break."""
EDIT_BYTES = 3_000
"""The same for an edited message, in UTF-8."""

log = logging.getLogger(__name__)


class LiveMessage(Protocol):
    """One message that shows an unfinished answer."""

    @property
    def ts(self) -> str:
        """Slack's id of the message."""
        ...

    async def show(self, text: str) -> None:
        """Show more: `text` is everything so far. A failure is made good by `finish`."""
        ...

    async def finish(self, text: str, end: list[Json], stamp: Stamp) -> list[str] | None:
        """Show the first part of the final text, followed by the blocks `end` if it is all.

        Returns the parts that are still to be posted; None when the message could not be
        completed, so that everything has to be posted anew.
        """
        ...


class StreamedMessage:
    """chat.startStream, appendStream, stopStream: text can only be added."""

    def __init__(
        self, calls: SlackCalls, to: Destination, ts: str, shown: str, pace: float
    ) -> None:
        self._calls = calls
        self._to = to
        self._ts = ts
        self._shown = shown
        self._pace = _Pace(pace)
        self._broken = False

    @classmethod
    async def start(
        cls, calls: SlackCalls, to: Destination, text: str, pace: float
    ) -> StreamedMessage:
        """Raises PlatformRefused where streaming is not possible, or PlatformUnavailable."""
        shown = _streamable(text)
        answer = await calls.write(
            "chat.startStream",
            channel=to.channel,
            thread_ts=to.thread,
            markdown_text=shown or None,
            recipient_user_id=to.recipient,
            recipient_team_id=to.tenant,
        )
        return cls(calls, to, str(answer["ts"]), shown, pace)

    @property
    def ts(self) -> str:
        return self._ts

    async def show(self, text: str) -> None:
        if self._broken or not self._pace.is_due():
            return
        more = _streamable(text)
        if len(more) <= len(self._shown):
            return
        if not more.startswith(self._shown):
            self._broken = True
            return
        try:
            await self._calls.write_now(
                "chat.appendStream",
                channel=self._to.channel,
                ts=self._ts,
                markdown_text=more[len(self._shown) :],
            )
            self._shown = more
        except SlackBusy:
            return  # nothing was added: the next call brings it
        except (PlatformRefused, PlatformUnavailable) as error:
            log.info("slack: a stream broke off: %s", error)
            self._broken = True

    async def finish(self, text: str, end: list[Json], stamp: Stamp) -> list[str] | None:
        parts = split_markdown(text, POST_CHARACTERS, keep=len(self._shown))
        whole = not self._broken and parts and parts[0].startswith(self._shown)
        try:
            await self._calls.write(
                "chat.stopStream",
                channel=self._to.channel,
                ts=self._ts,
                markdown_text=(parts[0][len(self._shown) :] or None) if whole else None,
                blocks=(end if len(parts) == 1 else []) if whole else None,
                metadata=stamp(0, len(parts)),
            )
        except (PlatformRefused, PlatformUnavailable) as error:
            log.info("slack: a stream could not be ended: %s", error)
            whole = False
        if whole:
            return parts[1:]
        return await EditedMessage(self._calls, self._to, self._ts, 0).finish(text, end, stamp)


class EditedMessage:
    """One message, replaced about every `pace` seconds by a longer one."""

    def __init__(self, calls: SlackCalls, to: Destination, ts: str, pace: float) -> None:
        self._calls = calls
        self._to = to
        self._ts = ts
        self._pace = _Pace(pace)

    @property
    def ts(self) -> str:
        return self._ts

    async def show(self, text: str) -> None:
        if not self._pace.is_due():
            return
        first = split_markdown(text, EDIT_BYTES, measure=utf8_length)[:1]
        try:
            if first:
                await self._update(self._calls.write_now, f"{first[0]} …", [], None)
        except (PlatformRefused, PlatformUnavailable) as error:
            log.info("slack: an edit failed, the next one brings it: %s", error)

    async def finish(self, text: str, end: list[Json], stamp: Stamp) -> list[str] | None:
        parts = split_markdown(text, UPDATE_BYTES, measure=utf8_length)
        for _ in range(2 if parts else 0):
            try:
                await self._update(
                    self._calls.write,
                    parts[0],
                    end if len(parts) == 1 else [],
                    stamp(0, len(parts)),
                )
                return parts[1:]
            except SlackUnavailable as error:
                log.info("slack: the end of an answer did not arrive: %s", error)
            except PlatformRefused as error:
                log.info("slack: an answer could not be edited in: %s", error)
                break
        return None

    async def _update(
        self,
        call: Callable[..., Awaitable[Json]],
        text: str,
        end: list[Json],
        metadata: Json | None,
    ) -> None:
        await call(
            "chat.update",
            channel=self._to.channel,
            ts=self._ts,
            text=fallback(text),
            blocks=[*body_blocks(text), *end],
            metadata=metadata,
        )


def _streamable(text: str) -> str:
    """As much as may be shown before the end is known, neutralised like the end."""
    return neutralised(text.lstrip("\n"))[:STREAM_CHARACTERS].rstrip()


class _Pace:
    """Lets something happen once in `seconds`."""

    def __init__(self, seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._monotonic = monotonic
        self._last = monotonic()

    def is_due(self) -> bool:
        now = self._monotonic()
        if now - self._last < self._seconds:
            return False
        self._last = now
        return True
