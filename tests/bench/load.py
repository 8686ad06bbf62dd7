"""`make bench-load`: 1,000 people, 200 channels, 50 messages a second for two minutes.

The model answers at once: what is measured is Oboete's own work, from when an event is due to the
end of its reply. Events come whether or not earlier ones are done.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

import numpy as np

from tests.bench.crowd import gathered


async def measure(
    rate: float, seconds: float, people: int, channels: int, *, real_embedder: bool
) -> dict[str, float]:
    """Feed at a steady rate, then wait until the queue is empty."""
    with tempfile.TemporaryDirectory() as folder:
        async with gathered(Path(folder), people, channels, real_embedder=real_embedder) as crowd:
            depths: list[int] = []

            async def watch() -> None:
                while True:
                    depths.append(await crowd.app.dispatcher.depth())
                    await asyncio.sleep(1)

            watching = asyncio.create_task(watch())
            cpu = time.process_time()
            count = await crowd.feed(rate, seconds)
            fed = time.perf_counter()
            await crowd.app.dispatcher.idle()
            drained = time.perf_counter() - fed
            cpu = time.process_time() - cpu
            watching.cancel()
            left = await crowd.app.dispatcher.depth()
    p50, p95, p99 = np.percentile(crowd.seconds, [50, 95, 99]) * 1000
    return {
        "events": count,
        "answered": len(crowd.seconds),
        "failed": crowd.failed,
        "p50 ms": round(float(p50), 1),
        "p95 ms": round(float(p95), 1),
        "p99 ms": round(float(p99), 1),
        "deepest queue": max(depths),
        "drained after s": round(drained, 1),
        "left in the queue": left,
        "CPU ms per event": round(cpu / count * 1000, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--people", type=int, default=1_000)
    parser.add_argument("--channels", type=int, default=200)
    parser.add_argument("--real-embedder", action="store_true")
    given = parser.parse_args()
    figures = asyncio.run(
        measure(
            given.rate,
            given.seconds,
            given.people,
            given.channels,
            real_embedder=given.real_embedder,
        )
    )
    for name, value in figures.items():
        print(f"{name:20} {value}")


if __name__ == "__main__":
    main()
