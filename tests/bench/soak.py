"""`make bench-soak`: ten minutes, ten messages a second; memory in the last against the second.

Fails when it is more than 1.1 times as much.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path
from statistics import mean

from tests.bench.crowd import gathered

ALLOWED = 1.1
SAMPLE_SECONDS = 5.0


def resident_megabytes() -> float:
    """Resident memory of this process, from Linux's /proc."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def measure(rate: float, minutes: int, people: int, channels: int) -> list[float]:
    """Mean resident megabytes of each minute."""
    by_minute: list[list[float]] = [[] for _ in range(minutes)]
    with tempfile.TemporaryDirectory() as folder:
        async with gathered(Path(folder), people, channels) as crowd:
            feeding = asyncio.create_task(crowd.feed(rate, minutes * 60))
            for sample in range(int(minutes * 60 / SAMPLE_SECONDS)):
                await asyncio.sleep(SAMPLE_SECONDS)
                by_minute[int(sample * SAMPLE_SECONDS // 60)].append(resident_megabytes())
            await feeding
            await crowd.app.dispatcher.idle()
    return [mean(samples) for samples in by_minute]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=10.0)
    parser.add_argument("--minutes", type=int, default=10)
    parser.add_argument("--people", type=int, default=1_000)
    parser.add_argument("--channels", type=int, default=200)
    given = parser.parse_args()
    figures = asyncio.run(measure(given.rate, given.minutes, given.people, given.channels))
    for minute, megabytes in enumerate(figures, start=1):
        print(f"minute {minute:2}  {megabytes:7.1f} MB")
    ratio = figures[-1] / figures[1]
    print(f"last minute / second minute: {ratio:.3f} (allowed: {ALLOWED})")
    sys.exit(ratio > ALLOWED)


if __name__ == "__main__":
    main()
