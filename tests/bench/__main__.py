"""How fast is it, in ratios: `make bench`, or

    python -m tests.bench [--only NAME]... [--json]

Prints each figure beside its aim. What they mean, and how to read them on a machine that has other
things to do, is in docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

from tests.bench import vectors, whole, words
from tests.bench.measure import Figure
from tests.bench.stores import Shelf

MILLION, TEN_THOUSAND = 1_000_000, 10_000

Benchmark = Callable[[Shelf], Awaitable[list[Figure]]]

BENCHMARKS: dict[str, Benchmark] = {
    "search-1000": partial(vectors.warm_search, facts=1_000, aim=3.0),
    "search-10000": partial(vectors.warm_search, facts=10_000, aim=1.3),
    "build": partial(vectors.building, facts=10_000),
    "conversations": partial(vectors.conversations, facts=MILLION, audiences=TEN_THOUSAND),
    "keywords": partial(words.scoped, facts_in_all=MILLION, audiences=TEN_THOUSAND),
    "start": partial(whole.start, facts=(1_000, 10_000, 100_000)),
    "message-10000": partial(whole.message, facts=10_000),
    "message-100000": partial(whole.message, facts=100_000),
    "commit": partial(words.commit, facts_before=10_000),
}
"""In the order in which they run: what changes a store comes after what only reads it."""


async def run(names: Sequence[str], folder: Path) -> list[Figure]:
    """The figures of these benchmarks, on stores that are built in `folder`."""
    shelf = Shelf(folder, _tell)
    figures: list[Figure] = []
    try:
        for name in names:
            _tell(f"measuring {name}")
            figures += await BENCHMARKS[name](shelf)
    finally:
        shelf.close()
    return figures


def line(figure: Figure) -> str:
    """One figure for a person."""
    mark = "✓" if figure.met else "✗"
    spent = f"{figure.measured * 1e3:.3g} / {figure.reference * 1e3:.3g} ms"
    note = f"  ({figure.note})" if figure.note else ""
    ratio = f"{figure.ratio:.3g}"
    return (
        f"{mark} {figure.name:<15}{ratio:>7}  ≤ {figure.aim:<5g}{spent:>22}  {figure.title}{note}"
    )


def record(figure: Figure) -> dict[str, object]:
    """One figure for a program; seconds."""
    return {
        "name": figure.name,
        "title": figure.title,
        "ratio": round(figure.ratio, 4),
        "aim": figure.aim,
        "met": figure.met,
        "measured": figure.measured,
        "reference": figure.reference,
        "note": figure.note,
    }


def _tell(text: str) -> None:
    print(f"… {text}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure ratios.")
    parser.add_argument(
        "--only",
        action="append",
        choices=BENCHMARKS,
        metavar="NAME",
        help="one or more of: " + ", ".join(BENCHMARKS),
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(arguments)
    logging.disable(logging.WARNING)
    names = [name for name in BENCHMARKS if given.only is None or name in given.only]
    with tempfile.TemporaryDirectory(prefix="oboete-bench-") as folder:
        figures = asyncio.run(run(names, Path(folder)))
    if given.json:
        print(json.dumps({"figures": [record(figure) for figure in figures]}, ensure_ascii=False))
        return
    for figure in figures:
        print(line(figure))
    print(f"{sum(figure.met for figure in figures)} of {len(figures)} within their aims")


if __name__ == "__main__":
    main()
