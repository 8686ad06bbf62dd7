"""Stopping in time: finish what is being answered, park the rest, be gone within ten seconds.

Everything is on disk before it is acknowledged, so whatever cannot be finished is only begun
again on the next start. That is why a last resort may end the process in the middle of work.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from bot.dispatch import Dispatcher
from bot.ports import Platform

log = logging.getLogger(__name__)

ANSWER_SECONDS = 4.0
"""For answers that are being written when the signal comes."""

PLATFORM_SECONDS = 2.0
"""For platforms to close their connections."""

LAST_RESORT_SECONDS = 8.0
"""A thread that will not end (a long check) is left behind after this."""

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextlib.contextmanager
def on_signals() -> Iterator[asyncio.Event]:
    """An event that SIGTERM and SIGINT set. A second signal acts as if this were not here."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    last_resort = threading.Timer(LAST_RESORT_SECONDS, _leave)
    last_resort.daemon = True

    def handle() -> None:
        if stop.is_set():  # two signals came before either was looked at
            return
        log.info("stopping")
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
        last_resort.start()
        stop.set()

    for number in _SIGNALS:
        loop.add_signal_handler(number, handle)
    try:
        yield stop
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


def _leave() -> None:
    log.warning("work that would not stop is parked: it is begun again on the next start")
    logging.shutdown()
    os._exit(0)


async def serve(platforms: Sequence[Platform], dispatcher: Dispatcher, stop: asyncio.Event) -> None:
    """Run the platforms until `stop`, then let answers come to their end while they still run.

    Raises what a platform raises, after the others have been stopped.
    """
    running = [asyncio.ensure_future(platform.run()) for platform in platforms]
    everything = asyncio.gather(*running)
    stopping = asyncio.ensure_future(stop.wait())
    try:
        either: list[asyncio.Future[Any]] = [everything, stopping]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if everything.done():
            everything.result()
        await dispatcher.finish(ANSWER_SECONDS)
    finally:
        stopping.cancel()
        everything.cancel()
        for task in running:
            task.cancel()
        await asyncio.wait(running, timeout=PLATFORM_SECONDS)
        await asyncio.gather(everything, stopping, return_exceptions=True)
