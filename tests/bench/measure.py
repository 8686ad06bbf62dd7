"""Timing by turns, and ratios beside their aims.

A machine that others use is faster at one moment than at the next, so milliseconds of two runs
cannot be compared. Here the measured work and its reference take turns within one run, each
going first as often as the other, and only their ratio is judged.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Seconds = npt.NDArray[np.float64]
"""One duration per repeat."""

Work = Callable[[int], Awaitable[object]]
"""What is timed; takes the number of the repeat, from 0."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A ratio, what it compares and what it should be."""

    name: str
    """Of the benchmark, as `--only` takes it."""
    title: str
    measured: float
    """Seconds."""
    reference: float
    """Seconds."""
    aim: float
    """The ratio should be at most this."""
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.measured / self.reference

    @property
    def met(self) -> bool:
        return self.ratio <= self.aim


async def seconds(work: Awaitable[object]) -> float:
    """How long it takes."""
    started = time.perf_counter()
    await work
    return time.perf_counter() - started


async def by_turns(*works: Work, repeats: int) -> list[Seconds]:
    """Time each of the works `repeats` times, by turns; another one begins each time."""
    spent: list[list[float]] = [[] for _ in works]
    for repeat in range(repeats):
        for turn in range(len(works)):
            chosen = (repeat + turn) % len(works)
            spent[chosen].append(await seconds(works[chosen](repeat)))
    return [np.array(each) for each in spent]


def median(durations: Seconds) -> float:
    return float(np.median(durations))


def p95(durations: Seconds) -> float:
    return float(np.percentile(durations, 95))
