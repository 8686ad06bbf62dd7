"""The measuring itself: what is measured on is sound, and what is measured is documented."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from memory import lexical
from memory.index import VectorIndex
from memory.types import Kind
from tests.bench import stores, vectors, words
from tests.bench.__main__ import BENCHMARKS, line, record
from tests.bench.measure import Figure, by_turns

DOCUMENT = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def test_every_benchmark_is_documented() -> None:
    text = DOCUMENT.read_text("utf-8")
    assert [name for name in BENCHMARKS if f"`{name}`" not in text] == []


def test_audiences_are_as_uneven_as_promised() -> None:
    sizes = stores.audience_sizes(1_000_000, 10_000)
    assert int(sizes.sum()) == 1_000_000
    assert sizes.min() >= 1
    assert np.median(sizes) == stores.MEDIAN
    assert np.percentile(sizes, 99) == pytest.approx(stores.P99, rel=0.01)
    assert sizes.max() == pytest.approx(100_000, rel=0.01)


async def test_a_filled_store_holds_what_the_product_would_have_stored(tmp_path: Path) -> None:
    store = stores.conversation(tmp_path / "store", 50)
    try:
        assert await store.database.read(lexical.check) == []
        index = VectorIndex(store.database)
        (query,) = stores.query_vectors(1)
        keys, _ = await index.search(store.model, query, [1], 10, [Kind.FACT])
        centred = store.model.calibration.center(query[None, :])[0]
        expected = vectors.product(store.rows(1), centred, 10)
        assert (keys >> 2).tolist() == (expected + 1).tolist()
    finally:
        store.database.close()


@pytest.mark.slow
async def test_a_small_run_gives_figures(tmp_path: Path) -> None:
    shelf = stores.Shelf(tmp_path)
    try:
        figures = await vectors.conversations(shelf, 12_000, 100, turns=20)
        figures += await words.scoped(shelf, 12_000, 100)
    finally:
        shelf.close()
    assert [figure.name for figure in figures] == ["conversations", "keywords", "keywords"]
    assert all(figure.measured > 0 and figure.reference > 0 for figure in figures)


async def test_works_take_turns_and_another_begins_each_time() -> None:
    order: list[str] = []

    async def first(_: int) -> None:
        order.append("first")

    async def second(_: int) -> None:
        order.append("second")

    durations = await by_turns(first, second, repeats=2)
    assert order == ["first", "second", "second", "first"]
    assert [len(each) for each in durations] == [2, 2]


def test_a_figure_says_whether_its_aim_is_met() -> None:
    good = Figure("x", "one / other", measured=2.0, reference=2.0, aim=1.5)
    bad = Figure("x", "one / other", measured=4.0, reference=2.0, aim=1.5)
    assert line(good).startswith("✓")
    assert line(bad).startswith("✗")
    assert record(bad)["ratio"] == 2.0
    assert record(bad)["met"] is False
